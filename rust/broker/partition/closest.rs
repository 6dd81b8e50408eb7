//! A partition and consumers that fetch from the closest replica (spec: R3.5; KIP-392): whom a leader sends them to,
//! and what a follower serves.
//!
//! A follower serves what it knows to be committed, so a consumer never sees there what the leader would not show; it
//! lags by the time that the high watermark takes to come. It is told sooner while somebody reads here: see
//! [`Partition::has_readers`]. It never serves another follower, and nothing but records.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{Isolation, Partition};
use crate::broker::waiters::WaitKind;
use crate::error::{Error, ErrorCode, Result};
use crate::place::LeaderEpoch;

/// How long a consumer counts as reading here after its last fetch: longer than most pause between two.
const READER_STAYS: Duration = Duration::from_secs(10);

/// Which replicas may serve a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedBy {
    /// The leader alone: followers, and consumers before version 11.
    Leader,
    /// Any.
    AnyReplica,
}

/// The consumers that read here while another broker leads.
#[derive(Default)]
pub(super) struct Readers {
    /// When one of them read last.
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
        // Without a leader it may be a replica that was stopped: nothing would ever come to it.
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

    /// Of the brokers `near` a consumer, whom this leader sends it to; `None` as a follower, or when it should read
    /// here.
    pub fn closest_replica(&self, near: &[i32], offset: i64) -> Option<i32> {
        self.leadership.followers().as_ref()?.closest(near, offset)
    }

    /// A consumer has read here while another broker leads.
    pub fn note_reader(&self, now: Instant) {
        *self.readers.seen.lock() = Some(now);
    }

    /// Whether consumers read here while another broker leads: then the leader is asked to tell a new high watermark at
    /// once.
    pub fn has_readers(&self, now: Instant) -> bool {
        let stays = |seen: Instant| now.saturating_duration_since(seen) < READER_STAYS;
        self.waiters.len(WaitKind::Fetch) > 0 || self.readers.seen.lock().is_some_and(stays)
    }

    /// Whether a follower whose log ends at `log_end` would learn of a newer high watermark than `known`.
    pub fn has_watermark_past(&self, known: i64, log_end: i64) -> bool {
        known < self.bound(Isolation::ReadUncommitted).min(log_end)
    }
}

#[cfg(test)]
mod tests;
