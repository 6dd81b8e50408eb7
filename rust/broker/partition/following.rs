//! A partition that follows a leader: it applies the answers to its fetches (KIP-101, KIP-279, KIP-595).
//!
//! A follower's change names the leader epoch of its fetch, and is refused when the lease has another leader epoch. The
//! check and the change are under one lock, so bytes of a deposed leader never reach the log. A log is cut by leader
//! epochs only, never to the high watermark.

use std::time::Instant;

use parking_lot::MutexGuard;

use super::Partition;
use crate::metrics::Count;
use crate::requests::waiters::WaitKind;
use base::error::Result;
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
pub struct PartitionData<'a> {
    /// Whole batches, maybe cut short at the end.
    pub records: &'a [u8],
    /// The leader's.
    pub high_watermark: Offset,
    /// The leader's.
    pub log_start: Offset,
}

/// The log of a partition that follows, locked: its lease is that of the fetch.
pub struct Following<'p> {
    partition: &'p Partition,
    log: MutexGuard<'p, Log>,
}

impl Partition {
    /// The log, if the lease has this broker follow in that leader epoch; else the error is `FENCED_LEADER_EPOCH`.
    pub fn following(&self, leader_epoch: LeaderEpoch) -> Result<Following<'_>> {
        self.leadership().check_online()?;
        let log = self.log();
        self.leadership().check_following(leader_epoch)?;
        Ok(Following { partition: self, log })
    }

    /// Whether consumers read from this follower: then its fetches ask the leader to send a new high watermark at once.
    pub fn has_readers(&self, now: Instant) -> bool {
        self.waiters().len(WaitKind::Fetch) > 0 || self.readers().has_any(now)
    }
}

impl Following<'_> {
    /// The position to fetch from.
    pub fn position(&self) -> FetchPosition {
        FetchPosition {
            log_end: self.log.log_end_offset(),
            last_epoch: self.log.epochs().latest_epoch().unwrap_or(LeaderEpoch::NONE),
            log_start: self.log.log_start_offset(),
            high_watermark: self.partition.offsets().high_watermark(),
        }
    }

    /// Appends the leader's batches, byte for byte, and takes over its high watermark and log start.
    /// The log start comes first: `DeleteRecords` may have moved it into a batch, and a leader epoch that has lost its
    /// first records to it begins there, so a diverging log is cut there. The leader's first batch then begins before
    /// the end of this log, which takes that batch only when all its own records are deleted.
    ///
    /// # Errors
    /// Rejected with `CORRUPT_MESSAGE` when the bytes are no batches that follow the log; a storage failure, for which
    /// the caller takes the log directory offline.
    pub fn append(mut self, data: &PartitionData<'_>, now_ms: i64) -> Result<WantsFlush, AppendError> {
        if data.log_start > self.log.log_start_offset() {
            let start = data.log_start.min(self.log.log_end_offset());
            self.log.advance_log_start_offset(start, start)?;
        }
        let wants_flush = self.append_records(data.records, now_ms)?;
        let Self { partition, mut log } = self;
        let high_watermark = data.high_watermark.min(log.log_end_offset());
        partition.offsets().raise_high_watermark(high_watermark);
        partition.publish_offsets(&log);
        log.producers_mut()
            .on_high_watermark(partition.offsets().high_watermark());
        drop(log);
        partition.waiters().wake_all(WaitKind::Fetch);
        Ok(wants_flush)
    }

    fn append_records(&mut self, records: &[u8], now_ms: i64) -> Result<WantsFlush, AppendError> {
        if records.is_empty() {
            return Ok(WantsFlush::No);
        }
        let (segments, flushed) = (self.log.segments().count(), self.log.recovery_point());
        self.log.append_as_follower(records)?;
        self.partition
            .meter()
            .add(Count::ReplicationBytesIn, records.len() as u64);
        self.partition.flushing().note_unflushed(now_ms);
        // A log that began anew within its first batch must reach the recovery point that the checkpoint still has.
        Ok(if self.log.is_flush_due() || self.log.recovery_point() < flushed {
            WantsFlush::BeforeNextFetch
        } else if self.log.segments().count() > segments {
            WantsFlush::Soon
        } else {
            WantsFlush::No
        })
    }

    /// Cuts the log where it diverges from the leader's, see [`Log::truncate_to_epoch`].
    pub fn truncate_to_leader(self, end_of_epoch: (LeaderEpoch, Offset)) -> Result<Cut> {
        self.cut(|log| log.truncate_to_epoch(end_of_epoch.0, end_of_epoch.1).map(drop))
    }

    /// Cuts the log at the leader's log end, which is before this log's end: the leader was elected without these
    /// records (unclean).
    pub fn truncate_to_end_of_leader(self, offset: Offset) -> Result<Cut> {
        self.cut(|log| log.truncate_to(offset).map(drop))
    }

    fn cut(mut self, cut: impl FnOnce(&mut Log) -> Result<()>) -> Result<Cut> {
        let flushed = self.log.recovery_point();
        cut(&mut self.log)?;
        self.partition.publish_offsets(&self.log);
        let at = self.log.log_end_offset();
        Ok(Cut {
            at,
            is_below_flushed: at < flushed,
        })
    }

    /// Empties the log and starts it at the leader's first offset: this log ends before it.
    pub fn restart_at(mut self, offset: Offset) -> Result<()> {
        self.log.truncate_fully_and_start_at(offset)?;
        self.partition.publish_offsets(&self.log);
        Ok(())
    }
}
