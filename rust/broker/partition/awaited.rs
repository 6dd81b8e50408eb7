//! What a produce waits for after its append: the high watermark, or the disk, within one term of
//! the leader.

use super::Partition;
use super::leadership::min_in_sync_replicas;
use base::error::{Error, ErrorCode, Result};
use base::place::{LeaderEpoch, Offset};

/// What must happen before a produce is answered, beyond the local append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Awaited {
    /// The high watermark must reach this (acks = -1).
    pub high_watermark: Option<Offset>,
    /// This much must be on disk (`flush.messages`).
    pub flushed: Option<Offset>,
    /// A flush should begin: for the above, or since a segment was sealed.
    pub wants_flush: bool,
    /// The term of this broker as the leader in which the batch was appended.
    pub(super) term: u64,
}

impl Awaited {
    /// Whether the local append was enough, so that nothing is left to wait for.
    pub fn is_nothing(self) -> bool {
        self.high_watermark.is_none() && self.flushed.is_none()
    }
}

impl Partition {
    /// Whether everything that a produce waits for has happened; an error when it never will.
    pub fn is_satisfied(&self, awaited: Awaited) -> Result<bool> {
        let reached = |wanted: Option<Offset>, now: Offset| wanted.is_none_or(|wanted| now >= wanted);
        // The offsets are read before the lease is checked: the offsets of a later leader's records say nothing about
        // this produce.
        let is_reached = reached(awaited.flushed, self.offsets.flushed())
            && reached(awaited.high_watermark, self.offsets.high_watermark());
        let lease = self.leading(LeaderEpoch::NONE)?;
        if awaited.term != self.leadership.term() {
            let message = format!("another broker has led {}-{} meanwhile", self.topic, self.index);
            return Err(Error::rejected(ErrorCode::NOT_LEADER_OR_FOLLOWER, message));
        }
        let in_sync = lease.in_sync_replicas.len();
        // When all replicas are in sync they are always enough; then the configuration, which needs the log's lock, is
        // not read.
        let may_lack = awaited.high_watermark.is_some() && in_sync < lease.replicas.len();
        if may_lack && in_sync < min_in_sync_replicas(&self.log.lock(), &lease) {
            return Err(Error::rejected(
                ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND,
                format!("{}-{} lost in-sync replicas while it waited", self.topic, self.index),
            ));
        }
        Ok(is_reached)
    }
}
