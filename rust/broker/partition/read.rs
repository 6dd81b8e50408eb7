//! Reading a partition: records up to the reader's bound, timestamps, ends of epochs.
//!
//! The log's lock is held for the index search only; files are read after it. So the log may be cut during the read,
//! when this broker has become a follower: the reader must ask again, and the disk is not at fault. A read never waits
//! for more records, and never changes the log. An index file that is not in memory is read without the lock first; it
//! is read under the lock only when it left the memory again and again.

use super::{Partition, ServedBy};
use base::error::{Error, ErrorCode, Result};
use base::place::{LeaderEpoch, Offset};
use protocol::list_offsets::timestamp;
use storage::{AbortedTxn, FileSlice, Log, Wait};

/// The bound up to which a reader may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Up to the log end; only for followers.
    LogEnd,
    /// Up to the high watermark.
    ReadUncommitted,
    /// Up to the last stable offset, with the aborted transactions.
    ReadCommitted,
}

/// A request to read one partition.
#[derive(Debug, Clone, Copy)]
pub struct ReadRequest<'a> {
    /// First offset wanted.
    pub offset: Offset,
    /// The leader epoch that the reader knows, or -1.
    pub current_leader_epoch: LeaderEpoch,
    /// The epoch of the last record that the reader has, or -1.
    pub last_fetched_epoch: LeaderEpoch,
    /// Bytes at most.
    pub max_bytes: usize,
    /// Return the first batch even when it alone is larger (KIP-74).
    pub at_least_one_batch: bool,
    /// The bound.
    pub isolation: Isolation,
    /// Which replicas may serve the read.
    pub served_by: ServedBy,
    /// Whether the read may wait for the disk; if not, a read that needs the disk fails with [`Error::NotAtHand`].
    pub wait: Wait,
    /// Brokers that are closer to the reader; a leader sends the reader to one of them rather than serve it (KIP-392).
    pub nearer: &'a [i32],
}

/// The result of a read of one partition.
#[derive(Default)]
pub struct ReadResult {
    /// Offsets at the time of the read, -1 where unknown.
    pub high_watermark: Offset,
    /// Last stable offset.
    pub last_stable: Offset,
    /// Log start offset.
    pub log_start: Offset,
    /// The bytes, where there are any.
    pub slice: Option<FileSlice>,
    /// Transactions aborted within the slice (`read_committed` only).
    pub aborted: Option<Vec<AbortedTxn>>,
    /// Where the reader's log diverges from this log: (epoch, end offset) (KIP-595).
    pub diverging_epoch: Option<(LeaderEpoch, Offset)>,
    /// The broker that serves the reader instead (KIP-392).
    pub preferred_read_replica: Option<i32>,
    /// This broker is a follower: the leader sent the reader, a consumer, here.
    pub is_by_follower: bool,
}

/// How often an index is read into memory without the log's lock before it is read under the lock.
const WARMED: usize = 3;

impl Partition {
    /// Whether a read at `offset` would give anything; no lock, no file access.
    pub fn has_data_past(&self, offset: Offset, isolation: Isolation) -> bool {
        offset < self.bound(isolation)
    }

    /// First offset that a reader may not see.
    pub fn bound(&self, isolation: Isolation) -> Offset {
        self.offsets.bound(isolation)
    }

    /// Reads. The lock is held for the index search only; file access comes after it.
    pub fn read(&self, request: &ReadRequest<'_>) -> Result<ReadResult> {
        let is_by_follower = self.check_reader(request.current_leader_epoch, request.served_by)?;
        if !request.nearer.is_empty() {
            let preferred_read_replica = self.closest_replica(request.nearer, request.offset);
            if preferred_read_replica.is_some() {
                return Ok(ReadResult {
                    preferred_read_replica,
                    ..self.empty_result()
                });
            }
        }
        let mut result = self.read_here(request)?;
        result.is_by_follower = is_by_follower;
        Ok(result)
    }

    fn read_here(&self, request: &ReadRequest<'_>) -> Result<ReadResult> {
        if request.last_fetched_epoch.is_some()
            && let Some(diverging) = self.diverging_epoch(request)?
        {
            return Ok(ReadResult {
                diverging_epoch: Some(diverging),
                ..self.empty_result()
            });
        }
        let bound = self.bound(request.isolation);
        let mut result = self.empty_result();
        if request.offset == bound && request.offset >= result.log_start {
            return Ok(result);
        }
        let plan = self.plan(request.wait, |log, wait| {
            if request.offset > bound
                && request.offset <= log.log_end_offset()
                && request.offset >= log.log_start_offset()
            {
                return Ok(None); // past the high watermark but not past the log: wait for it
            }
            let plan = match wait {
                Wait::No => log.plan_read_at_once(request.offset, bound, request.wait)?,
                Wait::Yes => log.plan_read(request.offset, bound)?,
            };
            Ok(Some((plan, log.truncations())))
        })?;
        let Some((plan, truncations)) = plan else {
            return Ok(result);
        };
        let slice = plan.resolve(request.max_bytes, request.at_least_one_batch);
        let slice = slice.map_err(|error| self.unless_cut(error, truncations))?;
        if request.isolation == Isolation::ReadCommitted {
            let plan = self.plan(request.wait, |log, wait| {
                log.plan_aborted(request.offset, bound, &slice, (wait, request.wait))
            })?;
            result.aborted = Some(plan.resolve()?);
        }
        result.slice = (slice.len > 0).then_some(slice);
        Ok(result)
    }

    /// The error of a read that failed; `truncations` was the log's count when the read was planned.
    #[cold]
    fn unless_cut(&self, error: Error, truncations: u64) -> Error {
        if matches!(error, Error::NotAtHand { .. }) || self.log.lock().truncations() == truncations {
            return error;
        }
        let message = format!("{}-{} was cut while it was read", self.topic, self.index);
        Error::rejected(ErrorCode::NOT_LEADER_OR_FOLLOWER, message)
    }

    /// Makes a plan under the log's lock. A file that is not in memory is read without the lock, since other threads
    /// wait for the lock.
    fn plan<T>(&self, wait: Wait, make: impl Fn(&Log, Wait) -> Result<T>) -> Result<T> {
        for _ in 0..WARMED {
            let (planned, fs) = {
                let log = self.log.lock();
                (make(&log, Wait::No), log.file_system())
            };
            match planned {
                // An error shows again when it is read under the lock.
                Err(Error::NotAtHand { path }) if wait == Wait::Yes => drop(fs.read_to_vec(&path)),
                planned => return planned,
            }
        }
        make(&self.log.lock(), Wait::Yes)
    }

    fn empty_result(&self) -> ReadResult {
        let offsets = self.offsets();
        ReadResult {
            high_watermark: offsets.high_watermark,
            last_stable: offsets.last_stable,
            log_start: offsets.log_start,
            ..ReadResult::default()
        }
    }

    /// Where the reader's log diverges from this log, by the epoch of the reader's last record (KIP-595).
    fn diverging_epoch(&self, request: &ReadRequest<'_>) -> Result<Option<(LeaderEpoch, Offset)>> {
        let log = self.log.lock();
        let asked = request.last_fetched_epoch;
        let Some((epoch, end_offset)) = log.epochs().end_offset_for(asked, log.log_end_offset()) else {
            let message = format!("{}-{} knows nothing of leader epoch {asked}", self.topic, self.index);
            return Err(Error::rejected(ErrorCode::OFFSET_OUT_OF_RANGE, message));
        };
        Ok((epoch < asked || end_offset < request.offset).then_some((epoch, end_offset)))
    }

    /// The first record at or after a timestamp, or with [`timestamp::MAX`] the record with the greatest timestamp,
    /// below the reader's bound: (timestamp, offset, leader epoch). Reads files.
    pub fn lookup_timestamp(&self, target: i64, isolation: Isolation) -> Result<Option<(i64, Offset, LeaderEpoch)>> {
        let (plan, truncations) = {
            let log = self.log.lock();
            let plan = if target == timestamp::MAX {
                log.max_timestamp()?
            } else {
                log.lookup_timestamp(target)?
            };
            (plan, log.truncations())
        };
        let found = plan.resolve().map_err(|error| self.unless_cut(error, truncations))?;
        let found = found.filter(|f| f.offset < self.bound(isolation));
        Ok(found.map(|f| (f.timestamp, f.offset, f.leader_epoch)))
    }

    /// The end of a leader epoch in this log: (epoch, end offset), both -1 when it is not known (KIP-101, KIP-279).
    pub fn end_offset_for_epoch(
        &self,
        current_leader_epoch: LeaderEpoch,
        leader_epoch: LeaderEpoch,
    ) -> Result<(LeaderEpoch, Offset)> {
        let lease = self.leading(current_leader_epoch)?;
        let log = self.log.lock();
        if leader_epoch == lease.leader_epoch {
            return Ok((leader_epoch, log.log_end_offset()));
        }
        Ok(log
            .epochs()
            .end_offset_for(leader_epoch, log.log_end_offset())
            .unwrap_or((LeaderEpoch::NONE, Offset::NONE)))
    }
}
