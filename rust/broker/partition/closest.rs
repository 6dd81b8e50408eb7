//! A partition and consumers that fetch from the closest replica (KIP-392): the follower to which a leader
//! sends a consumer, and the reads that a follower serves.
//!
//! A follower serves records up to the high watermark that it knows, so a consumer never gets records there that the
//! leader would not send. The follower's high watermark lags behind the leader's; while consumers read from the
//! follower, the leader sends it a new one at once: see [`Partition::has_readers`]. A follower never serves another
//! follower, and serves nothing but records.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{Isolation, Partition};
use crate::requests::waiters::WaitKind;
use base::error::{Error, ErrorCode, Result};
use base::place::{LeaderEpoch, Offset};

/// How long a consumer counts as a reader of this follower after its last fetch: longer than most consumers pause
/// between two fetches.
const READER_STAYS: Duration = Duration::from_secs(10);

/// Which replicas may serve a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedBy {
    /// The leader alone: followers, and consumers before version 11.
    Leader,
    /// Any replica.
    AnyReplica,
}

/// The consumers that read from this broker while it is a follower.
#[derive(Default)]
pub(super) struct Readers {
    /// The time of the last read by any of them.
    seen: Mutex<Option<Instant>>,
}

impl Partition {
    /// Whether this broker may serve a reader with that leader epoch; true when it does so as a follower.
    pub fn check_reader(&self, current_leader_epoch: LeaderEpoch, served_by: ServedBy) -> Result<bool> {
        self.check_online()?;
        let lease = self.leadership.lease();
        let Some(lease) = lease.as_deref() else {
            return Err(self.no_reader());
        };
        lease.check_epoch(current_leader_epoch)?;
        if lease.leader == self.node_id() {
            return Ok(false);
        }
        // Without a leader this may be a replica that was stopped, which would never get new records.
        if served_by == ServedBy::AnyReplica && lease.source_for(self.node_id()).is_some() {
            return Ok(true);
        }
        Err(self.no_reader())
    }

    #[cold]
    fn no_reader(&self) -> Error {
        let message = format!("this broker does not serve {}-{}", self.topic, self.index);
        Error::rejected(ErrorCode::NOT_LEADER_OR_FOLLOWER, message)
    }

    /// The broker among those `near` a consumer to which this leader sends it. `None` when this broker is a follower,
    /// or when the consumer should read from the leader.
    pub fn closest_replica(&self, near: &[i32], offset: Offset) -> Option<i32> {
        self.leadership.followers().as_ref()?.closest(near, offset)
    }

    /// Notes that a consumer has read from this follower.
    pub fn note_reader(&self, now: Instant) {
        *self.readers.seen.lock() = Some(now);
    }

    /// Whether consumers read from this follower: then its fetches ask the leader to send a new high watermark at once.
    pub fn has_readers(&self, now: Instant) -> bool {
        let stays = |seen: Instant| now.saturating_duration_since(seen) < READER_STAYS;
        self.waiters.len(WaitKind::Fetch) > 0 || self.readers.seen.lock().is_some_and(stays)
    }

    /// Whether a follower whose log ends at `log_end` would get a newer high watermark than `known`.
    pub fn has_watermark_past(&self, known: Offset, log_end: Offset) -> bool {
        known < self.bound(Isolation::ReadUncommitted).min(log_end)
    }
}

#[cfg(test)]
#[path = "closest_tests.rs"]
mod tests;
