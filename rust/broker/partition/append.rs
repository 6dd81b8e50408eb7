//! Appending to a partition as its leader (spec: R3.1): whether the lease allows it, how a batch is validated, and what
//! an answer waits for.
//!
//! A batch is validated under the log's lock when that is cheap. A batch that inflates to many bytes is validated on
//! another thread, without the lock; then the lock is taken for the write, and the batch is validated again when the
//! topic's rules have changed.

use std::sync::Arc;

use super::leadership::min_in_sync_replicas;
use super::{Awaited, Lease, Partition, WaitKind};
use crate::broker::metrics::Count;
use crate::error::{Error, ErrorCode, Result};
use crate::place::LeaderEpoch;
use crate::record::{Origin, Rejection, Room, Validated, validate, validate_within};
use crate::storage::{AppendError, AppendOptions, Appended, Log};

/// The result of an append, and what a produce must still wait for.
type Done = (Appended, Awaited);

impl Partition {
    /// Appends one batch as the leader, patched in place (spec: R3.1). Returns what a produce with these `acks` must
    /// still wait for.
    ///
    /// # Errors
    /// `AppendError::Rejected` has the error code for the client; `AppendError::Storage` is a refusal by the lease or a
    /// storage failure, for which the caller takes the log directory offline.
    pub fn append(&self, batch: &mut [u8], acks: i16, origin: Origin, now_ms: i64) -> Result<Done, AppendError> {
        let judge = |log: &Log, batch: &[u8]| validate(batch, log.rules(), origin, now_ms).map(Some);
        let done = self.append_judged(batch, acks, origin, now_ms, judge)?;
        done.ok_or_else(|| Rejection::new(ErrorCode::UNKNOWN_SERVER_ERROR, "the batch was not judged").into())
    }

    /// As [`Self::append`], for a coordinator whose state is that of this leader epoch. Under another leader epoch the
    /// batch is refused, since another broker may have written to the partition since.
    pub fn append_in_epoch(
        &self,
        batch: &mut [u8],
        leader_epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<Done, AppendError> {
        let judge = |log: &Log, batch: &[u8]| {
            let lease = self.leadership.lease(); // the lease stays while the log is locked
            if lease.as_ref().is_none_or(|lease| lease.leader_epoch != leader_epoch) {
                let message = format!("{}-{} is led in another epoch", self.topic, self.index);
                return Err(Rejection::new(ErrorCode::NOT_LEADER_OR_FOLLOWER, message));
            }
            validate(batch, log.rules(), Origin::Coordinator, now_ms).map(Some)
        };
        let done = self.append_judged(batch, -1, Origin::Coordinator, now_ms, judge)?;
        done.ok_or_else(|| Rejection::new(ErrorCode::UNKNOWN_SERVER_ERROR, "the batch was not judged").into())
    }

    /// As [`Self::append`], for a client's batch on a network loop. `None` when its validation takes more than `room`;
    /// then nothing was appended.
    pub fn append_within(
        &self,
        batch: &mut [u8],
        acks: i16,
        now_ms: i64,
        room: &mut Room,
    ) -> Result<Option<Done>, AppendError> {
        let judge = |log: &Log, batch: &[u8]| validate_within(batch, log.rules(), Origin::Client, now_ms, room);
        self.append_judged(batch, acks, Origin::Client, now_ms, judge)
    }

    /// As [`Self::append_within`], on another thread: the batch is validated without the log's lock.
    pub fn append_elsewhere(
        &self,
        batch: &mut [u8],
        acks: i16,
        now_ms: i64,
        room: &mut Room,
    ) -> Result<Option<Done>, AppendError> {
        loop {
            let rules = {
                let log = self.log.lock();
                if let Err(error) = self.admitting(&log, self.leadership.lease().as_ref(), acks) {
                    return Err(self.turn_away(&log, batch, error, now_ms));
                }
                *log.rules()
            };
            let mut judged = validate_within(batch, &rules, Origin::Client, now_ms, room)?;
            if judged.is_none() {
                return Ok(None);
            }
            let judge = |log: &Log, _: &[u8]| Ok(judged.take().filter(|_| *log.rules() == rules));
            if let Some(done) = self.append_judged(batch, acks, Origin::Client, now_ms, judge)? {
                return Ok(Some(done));
            }
        }
    }

    /// The loaded lease, if it allows an append with these `acks`.
    fn admitting<'a>(&self, log: &Log, lease: Option<&'a Arc<Lease>>, acks: i16) -> Result<&'a Arc<Lease>> {
        let lease = self.leading_by(lease, LeaderEpoch::NONE)?;
        let (in_sync, needed) = (lease.in_sync_replicas.len(), min_in_sync_replicas(log, lease));
        if acks == -1 && in_sync < needed {
            let (topic, index) = (&self.topic, self.index);
            return Err(Error::rejected(
                ErrorCode::NOT_ENOUGH_REPLICAS,
                format!("{topic}-{index} has {in_sync} in-sync replicas, min.insync.replicas is {needed}"),
            ));
        }
        Ok(lease)
    }

    /// Appends a batch that `judge` validates under the log's lock. When `judge` returns `None`, nothing is appended.
    fn append_judged(
        &self,
        batch: &mut [u8],
        acks: i16,
        origin: Origin,
        now_ms: i64,
        judge: impl FnOnce(&Log, &[u8]) -> Result<Option<Validated>, Rejection>,
    ) -> Result<Option<Done>, AppendError> {
        let mut log = self.log.lock();
        let loaded = self.leadership.lease(); // the lease stays while the log is locked
        let lease = match self.admitting(&log, loaded.as_ref(), acks) {
            Ok(lease) => lease,
            Err(error) => return Err(self.turn_away(&log, batch, error, now_ms)),
        };
        self.check_turn(&log, batch, now_ms)?;
        let Some(validated) = judge(&log, batch)? else {
            return Ok(None);
        };
        let segments = log.segment_count();
        let options = AppendOptions::plain(lease.leader_epoch, origin, now_ms);
        let appended = match log.append_validated(batch, validated, options) {
            Ok(appended) => appended,
            Err(error) => return Err(self.judge_gap(&log, lease, batch, error, now_ms)),
        };
        if !appended.is_duplicate {
            let records = appended.last_offset - appended.first_offset + 1;
            self.meter.add(Count::MessagesIn, u64::try_from(records).unwrap_or(0));
            self.meter.add(Count::BytesIn, batch.len() as u64);
        }
        let has_rolled = log.segment_count() != segments;
        self.publish_offsets_under(Some(lease), &log);
        let term = self.leadership.term();
        drop(log);
        self.flushing.note_unflushed(now_ms);
        self.waiters.wake_all(WaitKind::Fetch);
        let next = appended.last_offset + 1;
        let high_watermark = acks == -1 && self.offsets.high_watermark() < next;
        let flushed = appended.needs_flush && self.offsets.flushed() < next;
        let awaited = Awaited {
            high_watermark: high_watermark.then_some(next),
            flushed: flushed.then_some(next),
            wants_flush: flushed || has_rolled,
            term,
        };
        Ok(Some((appended, awaited)))
    }
}
