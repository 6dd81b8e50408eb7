//! Appending to a partition as its leader: whether the lease allows it, how a batch is validated, what an
//! answer waits for; and the partition's side of transactions (KIP-890): verifications and markers.
//!
//! A batch is validated under the log's lock when that is cheap. A batch that inflates to many bytes is validated on
//! another thread, without the lock; then the lock is taken for the write, and the batch is validated again when the
//! topic's rules have changed.

use std::sync::Arc;

use parking_lot::MutexGuard;

use super::{Awaited, Marker, Partition};
use crate::metrics::Count;
use crate::partition::lease::Lease;
use crate::planted;
use crate::requests::waiters::WaitKind;
use base::error::ErrorCode;
use base::place::LeaderEpoch;
use record::{BatchHeader, Origin, Rejection, Room, Validated, end_transaction_marker, validate, validate_within};
use storage::producer_state::VerificationGuard;
use storage::{AppendError, AppendOptions, Appended, Log};

/// The result of an append, and what a produce must still wait for.
pub(super) type Done = (Appended, Awaited);

/// How a batch is appended.
#[derive(Clone, Copy)]
struct How {
    acks: i16,
    origin: Origin,
    now_ms: i64,
    guard: VerificationGuard,
    transaction_version: i16,
}

impl How {
    /// A data batch with this guard.
    const fn data(acks: i16, origin: Origin, guard: VerificationGuard, now_ms: i64) -> Self {
        Self {
            acks,
            origin,
            now_ms,
            guard,
            transaction_version: 0,
        }
    }
}

impl Partition {
    /// Appends one batch as the leader, patched in place. Returns what a produce with these `acks` must
    /// still wait for.
    ///
    /// # Errors
    /// `AppendError::Rejected` has the error code for the client; `AppendError::Storage` is a refusal by the lease or a
    /// storage failure, for which the caller takes the log directory offline.
    pub fn append(&self, batch: &mut [u8], acks: i16, origin: Origin, now_ms: i64) -> Result<Done, AppendError> {
        let how = How::data(acks, origin, VerificationGuard::SENTINEL, now_ms);
        self.append_in_place(batch, how, |_| Ok(()))
    }

    /// As [`Self::append`], for a coordinator whose state is that of this leader epoch. Under another leader epoch the
    /// batch is refused, since another broker may have written to the partition since. The guard is that of
    /// [`Self::begin_verification`] for a transactional batch, else the sentinel.
    pub fn append_in_epoch(
        &self,
        batch: &mut [u8],
        leader_epoch: LeaderEpoch,
        guard: VerificationGuard,
        now_ms: i64,
    ) -> Result<Done, AppendError> {
        let how = How::data(-1, Origin::Coordinator, guard, now_ms);
        self.append_in_place(batch, how, |lease| {
            if lease.leader_epoch == leader_epoch {
                return Ok(());
            }
            let message = format!("{} is led in another epoch", self.name());
            Err(Rejection::new(ErrorCode::NOT_LEADER_OR_FOLLOWER, message))
        })
    }

    /// Appends the marker that ends a producer's transaction on this partition, and returns what the coordinator must
    /// wait for. A partition without records of the transaction gets the marker, too.
    ///
    /// # Errors
    /// As [`Self::append`]: `INVALID_PRODUCER_EPOCH` for a marker of a fenced producer epoch,
    /// `TRANSACTION_COORDINATOR_FENCED` for a marker of an earlier coordinator.
    pub fn append_marker(&self, marker: &Marker, now_ms: i64) -> Result<Done, AppendError> {
        let marker = planted::marker_after(marker, || {
            let log = self.log();
            let mut producers = log.producers().active_producers();
            let (_, last) = producers.find(|(id, _)| *id == marker.producer_id)?;
            Some((last.producer_epoch, last.coordinator_epoch))
        });
        let mut batch = end_transaction_marker(
            marker.is_commit,
            marker.producer_id,
            marker.producer_epoch,
            marker.coordinator_epoch,
            now_ms,
        );
        let how = How {
            transaction_version: marker.transaction_version,
            ..How::data(-1, Origin::Coordinator, VerificationGuard::SENTINEL, now_ms)
        };
        self.append_in_place(&mut batch, how, |_| Ok(()))
    }

    /// As [`Self::append_marker`], for a client that aborts a transaction which its coordinator has forgotten
    /// (KIP-664): in the producer's epoch, and with the epoch of the coordinator that is known here. Epochs of the
    /// future would fence the producer and its coordinator.
    ///
    /// # Errors
    /// As [`Self::append_marker`], and `INVALID_TXN_STATE` when no transaction of the producer is open here.
    pub fn append_abort(&self, asked: &Marker, now_ms: i64) -> Result<Done, AppendError> {
        let entry = self.log().producers().entry(asked.producer_id).copied();
        let refuse = |code, what: String| {
            let of = format!("of producer {} in {}", asked.producer_id, self.name());
            AppendError::Rejected(Rejection::new(code, format!("{what} {of}")))
        };
        let Some(entry) = entry.filter(|entry| entry.current_txn_first_offset.is_some()) else {
            return Err(refuse(
                ErrorCode::INVALID_TXN_STATE,
                "no transaction is open".to_owned(),
            ));
        };
        if asked.producer_epoch != entry.producer_epoch {
            let what = format!("{} is not the epoch {}", asked.producer_epoch, entry.producer_epoch);
            return Err(refuse(ErrorCode::INVALID_PRODUCER_EPOCH, what));
        }
        let marker = Marker {
            is_commit: false,
            coordinator_epoch: asked.coordinator_epoch.min(entry.coordinator_epoch.max(0)),
            transaction_version: 0,
            ..*asked
        };
        self.append_marker(&marker, now_ms)
    }

    /// As [`Self::append`], for a client's batch on a network loop. `None` when its validation takes more than `room`;
    /// then nothing was appended. The guard is that of [`Self::begin_verification`] for a transactional batch, else the
    /// sentinel.
    pub fn append_within(
        &self,
        batch: &mut [u8],
        acks: i16,
        guard: VerificationGuard,
        now_ms: i64,
        room: &mut Room,
    ) -> Result<Option<Done>, AppendError> {
        let how = How::data(acks, Origin::Client, guard, now_ms);
        self.append_judged(batch, how, |log, _, batch| {
            validate_within(batch, log.rules(), Origin::Client, now_ms, room)
        })
    }

    /// As [`Self::append_within`], on another thread: the batch is validated without the log's lock.
    pub fn append_elsewhere(
        &self,
        batch: &mut [u8],
        acks: i16,
        guard: VerificationGuard,
        now_ms: i64,
        room: &mut Room,
    ) -> Result<Option<Done>, AppendError> {
        let how = How::data(acks, Origin::Client, guard, now_ms);
        loop {
            let rules = {
                let log = self.log();
                if let Err(error) = self
                    .leadership()
                    .admitting(&log, self.leadership().load().as_ref(), acks)
                {
                    return Err(self.refusals().turn_away(&log, batch, error, now_ms));
                }
                *log.rules()
            };
            let mut judged = validate_within(batch, &rules, Origin::Client, now_ms, room)?;
            if judged.is_none() {
                return Ok(None);
            }
            let judge = |log: &Log, _: &Lease, _: &[u8]| Ok(judged.take().filter(|_| *log.rules() == rules));
            if let Some(done) = self.append_judged(batch, how, judge)? {
                return Ok(Some(done));
            }
        }
    }

    /// Begins to verify the transaction of a batch, before the transaction coordinator is asked whether this partition
    /// is in the transaction. `header` is the header of a transactional batch with a producer id. The batch is appended
    /// with the returned guard once the coordinator has agreed; a marker in between makes the guard invalid. The
    /// sentinel means that there is nothing to ask: the transaction is open here already, or
    /// `transaction.partition.verification.enable` is off.
    ///
    /// # Errors
    /// As [`Self::append`]: a refusal by the lease, or `INVALID_PRODUCER_EPOCH` for a fenced producer.
    pub fn begin_verification(
        &self,
        header: &BatchHeader,
        supports_epoch_bump: bool,
        now_ms: i64,
    ) -> Result<VerificationGuard, AppendError> {
        let mut log = self.log();
        if let Err(error) = self
            .leadership()
            .leading_by(self.leadership().load().as_ref(), LeaderEpoch::NONE)
        {
            return Err(self.refusals().turn_away_header(&log, Some(header), error, now_ms));
        }
        let guard = log
            .producers_mut()
            .begin_verification(header, supports_epoch_bump, now_ms)?;
        Ok(guard)
    }

    /// Appends a batch that is validated under the log's lock, whatever it inflates to. `check` looks at the lease
    /// before.
    fn append_in_place(
        &self,
        batch: &mut [u8],
        how: How,
        check: impl FnOnce(&Lease) -> Result<(), Rejection>,
    ) -> Result<Done, AppendError> {
        let done = self.append_judged(batch, how, |log, lease, batch| {
            check(lease)?;
            validate(batch, log.rules(), how.origin, how.now_ms).map(Some)
        })?;
        done.ok_or_else(|| Rejection::new(ErrorCode::UNKNOWN_SERVER_ERROR, "the batch was not judged").into())
    }

    /// Appends a batch that `judge` validates under the log's lock. When `judge` returns `None`, nothing is appended.
    fn append_judged(
        &self,
        batch: &mut [u8],
        how: How,
        judge: impl FnOnce(&Log, &Lease, &[u8]) -> Result<Option<Validated>, Rejection>,
    ) -> Result<Option<Done>, AppendError> {
        let (acks, now_ms) = (how.acks, how.now_ms);
        let mut log = self.log();
        let loaded = self.leadership().load(); // the lease stays while the log is locked
        let lease = match self.leadership().admitting(&log, loaded.as_ref(), acks) {
            Ok(lease) => lease,
            Err(error) => return Err(self.refusals().turn_away(&log, batch, error, now_ms)),
        };
        self.refusals().check_turn(&log, batch, now_ms)?;
        let Some(validated) = judge(&log, lease, batch)? else {
            return Ok(None);
        };
        let segments = log.segments().count();
        let options = AppendOptions {
            guard: how.guard,
            transaction_version: how.transaction_version,
            ..AppendOptions::plain(lease.leader_epoch, how.origin, now_ms)
        };
        let appended = match log.append_validated(batch, validated, options) {
            Ok(appended) => appended,
            Err(error) => {
                let term_start = self.leadership().term_start();
                return Err(self.refusals().judge_gap(&log, lease, term_start, batch, error, now_ms));
            }
        };
        if !appended.is_duplicate {
            let records = appended.last_offset - appended.first_offset + 1;
            self.meter().add(Count::MessagesIn, u64::try_from(records).unwrap_or(0));
            self.meter().add(Count::BytesIn, batch.len() as u64);
        }
        let has_rolled = log.segments().count() != segments;
        let term = self.leadership().term();
        self.publish_appended(log, lease, now_ms);
        let next = appended.last_offset + 1;
        let high_watermark = acks == -1 && self.offsets().high_watermark() < next;
        let flushed = appended.needs_flush && self.offsets().flushed() < next;
        let awaited = Awaited {
            high_watermark: high_watermark.then_some(next),
            flushed: flushed.then_some(next),
            wants_flush: flushed || has_rolled,
            term,
        };
        Ok(Some((appended, awaited)))
    }

    /// Publishes what was appended under the lease, unlocks the log, and wakes the operations that wait for it.
    pub(super) fn publish_appended(&self, mut log: MutexGuard<'_, Log>, lease: &Arc<Lease>, now_ms: i64) {
        let has_risen = self.publish_offsets_under(Some(lease), &log);
        log.producers_mut().on_high_watermark(self.offsets().high_watermark());
        drop(log);
        self.flushing().note_unflushed(now_ms);
        self.waiters().wake_all(WaitKind::Fetch);
        if has_risen {
            self.waiters().wake_all(WaitKind::Produce);
        }
    }
}
