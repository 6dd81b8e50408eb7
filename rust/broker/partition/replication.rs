//! A partition among its replicas: a leader notes the fetches of its followers, and a follower applies the answers to
//! its fetches (KIP-101, KIP-279, KIP-595).
//!
//! A follower's change names the leader epoch of its fetch, and is refused when the lease has another leader epoch. The
//! check and the change are under one lock, so bytes of a deposed leader never reach the log. A log is cut by leader
//! epochs only, never to the high watermark. It sends nothing, and decides nothing about leadership.

use std::time::Instant;

use parking_lot::MutexGuard;

use super::Partition;
use crate::metrics::Count;
use crate::partition::followers::{FollowerFetch, Proposal};
use crate::partition::lease::Lease;
use crate::requests::waiters::WaitKind;
use base::error::{Error, ErrorCode, Result};
use base::place::{LeaderEpoch, Offset};
use storage::{AppendError, Log};

/// The position from which a follower fetches next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchPosition {
    /// The next offset.
    pub log_end: Offset,
    /// The leader epoch of the last record, -1 in an empty log.
    pub last_epoch: LeaderEpoch,
    /// First offset.
    pub log_start: Offset,
    /// The high watermark, as this replica knows it.
    pub high_watermark: Offset,
}

/// The flush that a log needs after it took a leader's batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantsFlush {
    /// Nothing.
    No,
    /// In the background: a segment was sealed.
    Soon,
    /// Before the next fetch, which tells the leader that this follower has the batches (`flush.messages`).
    BeforeNextFetch,
}

/// Where a log was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The log's end since.
    pub at: Offset,
    /// The log was cut below its flushed offset, which the recovery-point checkpoint may still have. The checkpoint
    /// must be written before the next append: else a start after a crash takes the new records for flushed.
    pub is_below_flushed: bool,
}

/// A leader's answer to a follower, for one partition.
#[derive(Debug, Clone, Copy)]
pub struct Fetched<'a> {
    /// The leader epoch of the lease under which the follower fetched.
    pub leader_epoch: LeaderEpoch,
    /// Whole batches, maybe cut short at the end.
    pub records: &'a [u8],
    /// The leader's.
    pub high_watermark: Offset,
    /// The leader's.
    pub log_start: Offset,
}

// ---- leading
impl Partition {
    /// Notes a follower's fetch: moves the high watermark, and proposes the follower for the in-sync set when
    /// it has caught up.
    pub fn note_follower(&self, fetch: FollowerFetch, now: Instant) -> Option<Proposal> {
        let leader_end = self.offsets.log_end();
        let before = self.offsets.high_watermark();
        let (may_move, has_new_start) = {
            let mut followers = self.leadership.followers();
            let known = followers.as_mut()?;
            let start_before = known.log_start_of(fetch.node_id);
            if !known.note_fetch(fetch, leader_end, now) {
                return None;
            }
            let may_move = known.high_watermark(before, leader_end, 0) > before;
            (may_move, start_before != Some(fetch.log_start))
        };
        if has_new_start {
            self.waiters.wake_all(WaitKind::LowWatermark);
        }
        if may_move {
            let has_risen = self.publish_offsets(&self.log.lock());
            if has_risen {
                self.wake_everyone();
            }
        }
        let high_watermark = self.offsets.high_watermark();
        let mut followers = self.leadership.followers();
        followers.as_mut()?.propose_joining(fetch.node_id, high_watermark)
    }

    /// The low watermark: the least log start of this leader and of its live followers. -1 while one of them has not
    /// fetched.
    pub fn low_watermark(&self, is_alive: impl Fn(i32) -> bool) -> Result<Offset> {
        let lease = self.leading(LeaderEpoch::NONE)?;
        let start = self.offsets.log_start();
        match &*self.leadership.followers() {
            Some(followers) => Ok(followers.low_watermark(start, is_alive)),
            None if lease.replicas.len() == 1 => Ok(start),
            // A change of leadership removes the followers before it replaces the lease.
            None => Err(self.not_leading()),
        }
    }

    /// Whether a follower whose log starts at `known` (-1: its fetch does not say) and ends at `log_end` would take
    /// over a later log start.
    pub fn has_log_start_past(&self, known: Offset, log_end: Offset) -> bool {
        known.is_some() && known < self.offsets.log_start().min(log_end)
    }

    /// Whether the high watermark has reached the start of this leader's epoch: until then the records that an earlier
    /// leader committed may end above it (KIP-207).
    pub fn is_end_known(&self) -> bool {
        let high_watermark = self.offsets.high_watermark();
        let followers = self.leadership.followers();
        followers
            .as_ref()
            .is_none_or(|known| known.epoch_start() <= high_watermark)
    }

    /// Proposes to remove followers that lag from the in-sync set. Time alone may raise the high watermark: it
    /// waits for a follower that may still come no longer than that may lag.
    pub fn propose_leaving(&self, now: Instant) -> Option<Proposal> {
        let leader_end = self.offsets.log_end();
        let proposal = self.leadership.followers().as_mut()?.propose_leaving(leader_end, now);
        if self.publish_offsets(&self.log.lock()) {
            self.wake_everyone();
        }
        proposal
    }

    /// The proposal for this partition epoch was refused.
    pub fn withdraw_proposal(&self, partition_epoch: i32) {
        if let Some(followers) = self.leadership.followers().as_mut() {
            followers.withdraw(partition_epoch);
        }
        self.refresh();
    }
}

// ---- throttled
impl Partition {
    /// Whether this broker's replica is in sync by its lease.
    pub fn is_in_sync_by_lease(&self) -> bool {
        self.lease()
            .is_some_and(|lease| lease.in_sync_replicas.contains(&self.node_id()))
    }

    /// Whether `leader.replication.throttled.replicas` names this broker's replica.
    pub fn is_throttled_leader(&self) -> bool {
        self.log
            .lock()
            .config()
            .leader_throttled
            .has(self.index, self.node_id())
    }

    /// Whether `follower.replication.throttled.replicas` names this broker's replica.
    pub fn is_throttled_follower(&self) -> bool {
        self.log
            .lock()
            .config()
            .follower_throttled
            .has(self.index, self.node_id())
    }
}

// ---- following
impl Partition {
    /// The log, if the lease has this broker follow in that leader epoch.
    fn following(&self, leader_epoch: LeaderEpoch) -> Result<MutexGuard<'_, Log>> {
        self.check_online()?;
        let log = self.log.lock();
        let lease = self.leadership.lease();
        let is_follower = |l: &Lease| l.leader != self.node_id() && l.leader_epoch == leader_epoch;
        if lease.as_deref().is_some_and(is_follower) {
            return Ok(log);
        }
        let message = format!(
            "{}-{} does not follow in leader epoch {leader_epoch} any more",
            self.topic, self.index
        );
        Err(Error::rejected(ErrorCode::FENCED_LEADER_EPOCH, message))
    }

    /// The position to fetch from, in that leader epoch.
    pub fn fetch_position(&self, leader_epoch: LeaderEpoch) -> Result<FetchPosition> {
        let log = self.following(leader_epoch)?;
        Ok(FetchPosition {
            log_end: log.log_end_offset(),
            last_epoch: log.epochs().latest_epoch().unwrap_or(LeaderEpoch::NONE),
            log_start: log.log_start_offset(),
            high_watermark: self.offsets.high_watermark(),
        })
    }

    /// Appends the leader's batches, byte for byte, and takes over its high watermark and log start.
    /// The log start comes first: `DeleteRecords` may have moved it into a batch, and a leader epoch that has lost its
    /// first records to it begins there, so a diverging log is cut there. The leader's first batch then begins before
    /// the end of this log, which takes that batch only when all its own records are deleted.
    ///
    /// # Errors
    /// Rejected with `FENCED_LEADER_EPOCH` when the lease has changed; with `CORRUPT_MESSAGE` when the bytes are no
    /// batches that follow the log; a storage failure, for which the caller takes the log directory offline.
    pub fn append_fetched(&self, fetched: &Fetched<'_>, now_ms: i64) -> Result<WantsFlush, AppendError> {
        let mut log = self.following(fetched.leader_epoch)?;
        if fetched.log_start > log.log_start_offset() {
            let start = fetched.log_start.min(log.log_end_offset());
            log.advance_log_start_offset(start, start)?;
        }
        let wants_flush = self.append_records(&mut log, fetched.records, now_ms)?;
        let high_watermark = fetched.high_watermark.min(log.log_end_offset());
        self.offsets.raise_high_watermark(high_watermark);
        self.publish_offsets(&log);
        log.producers_mut().on_high_watermark(self.offsets.high_watermark());
        drop(log);
        self.waiters.wake_all(WaitKind::Fetch);
        Ok(wants_flush)
    }

    fn append_records(&self, log: &mut Log, records: &[u8], now_ms: i64) -> Result<WantsFlush, AppendError> {
        if records.is_empty() {
            return Ok(WantsFlush::No);
        }
        let (segments, flushed) = (log.segment_count(), log.recovery_point());
        log.append_as_follower(records)?;
        self.meter.add(Count::ReplicationBytesIn, records.len() as u64);
        self.flushing.note_unflushed(now_ms);
        // A log that began anew within its first batch must reach the recovery point that the checkpoint still has.
        Ok(if log.is_flush_due() || log.recovery_point() < flushed {
            WantsFlush::BeforeNextFetch
        } else if log.segment_count() > segments {
            WantsFlush::Soon
        } else {
            WantsFlush::No
        })
    }

    /// Cuts the log where it diverges from the leader's, see [`Log::truncate_to_epoch`].
    pub fn truncate_to_leader(&self, leader_epoch: LeaderEpoch, end_of_epoch: (LeaderEpoch, Offset)) -> Result<Cut> {
        self.cut(leader_epoch, |log| log.truncate_to_epoch(end_of_epoch).map(drop))
    }

    fn cut(&self, leader_epoch: LeaderEpoch, cut: impl FnOnce(&mut Log) -> Result<()>) -> Result<Cut> {
        let mut log = self.following(leader_epoch)?;
        let flushed = log.recovery_point();
        cut(&mut log)?;
        self.publish_offsets(&log);
        Ok(Cut {
            at: log.log_end_offset(),
            is_below_flushed: log.log_end_offset() < flushed,
        })
    }

    /// Empties the log and starts it at the leader's first offset: this log ends before it.
    pub fn restart_at(&self, leader_epoch: LeaderEpoch, offset: Offset) -> Result<()> {
        let mut log = self.following(leader_epoch)?;
        log.truncate_fully_and_start_at(offset)?;
        self.publish_offsets(&log);
        Ok(())
    }

    /// Cuts the log at the leader's log end, which is before this log's end: the leader was elected without these
    /// records (unclean).
    pub fn truncate_to_end_of_leader(&self, leader_epoch: LeaderEpoch, offset: Offset) -> Result<Cut> {
        self.cut(leader_epoch, |log| log.truncate_to(offset).map(drop))
    }
}
