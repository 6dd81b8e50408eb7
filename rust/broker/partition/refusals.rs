//! Batches of idempotent producers that were refused before anybody looked at them: this broker did not lead yet, or
//! too few replicas were in sync (spec: R3.4). And those that never came here: the leader before this one had them.
//!
//! What a producer has sent behind such a batch is read next, and the reason may be gone by then. It would be judged
//! out of order, though nothing is lost; a client may then begin a new epoch for all partitions (librdkafka), and what
//! other logs have taken without having acknowledged it is sent to them again, as something new. So it is refused in
//! the same way until the first one has come again, or nobody has heard of it for [`REMEMBERED_MS`]. Nothing is kept
//! over a restart, and nothing is refused that Kafka would take, but from a producer whose earlier batch is still to
//! come.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::Partition;
use crate::broker::lease::Lease;
use crate::error::{Error, ErrorCode};
use crate::record::{BatchHeader, next_sequence};
use crate::storage::{AppendError, Log};

/// Longer than a client waits before it tries again.
const REMEMBERED_MS: i64 = 10_000;
/// Of one partition: beyond it the next ones are judged as Kafka does.
const MAX_PRODUCERS: usize = 1000;

/// The first one that is still to come.
struct Refused {
    epoch: i16,
    sequence: i32,
    code: ErrorCode,
    at_ms: i64,
}

/// By producer id.
#[derive(Default)]
pub(super) struct Refusals {
    by_producer: Mutex<HashMap<i64, Refused>>,
    /// So that an append with nothing to look up takes no lock.
    has_any: AtomicBool,
}

impl Refusals {
    /// `(epoch, sequence)` is of the first that is to come.
    fn note(&self, producer_id: i64, (epoch, sequence): (i16, i32), code: ErrorCode, now_ms: i64) {
        let mut known = self.by_producer.lock();
        if known.len() >= MAX_PRODUCERS {
            known.retain(|_, refused| now_ms.saturating_sub(refused.at_ms) < REMEMBERED_MS);
        }
        let is_full = known.len() >= MAX_PRODUCERS;
        match known.get_mut(&producer_id) {
            Some(refused) if refused.epoch == epoch && refused.sequence <= sequence => {
                if refused.sequence == sequence {
                    (refused.code, refused.at_ms) = (code, now_ms);
                }
            }
            None if is_full => return,
            _ => {
                let refused = Refused {
                    epoch,
                    sequence,
                    code,
                    at_ms: now_ms,
                };
                known.insert(producer_id, refused);
            }
        }
        self.has_any.store(true, Ordering::Release);
    }

    /// Why this batch has to wait for another one; forgets what is settled.
    fn hold_back(&self, log: &Log, header: &BatchHeader, now_ms: i64) -> Option<ErrorCode> {
        let mut known = self.by_producer.lock();
        let refused = known.get(&header.producer_id)?;
        let entry = log.producers().entry(header.producer_id);
        let is_there =
            entry.is_some_and(|e| e.producer_epoch == refused.epoch && e.last_sequence() >= refused.sequence);
        let is_behind = header.producer_epoch == refused.epoch && header.base_sequence > refused.sequence;
        if is_behind && !is_there && now_ms.saturating_sub(refused.at_ms) < REMEMBERED_MS {
            return Some(refused.code);
        }
        if !is_behind || is_there {
            known.remove(&header.producer_id);
            self.has_any.store(!known.is_empty(), Ordering::Release);
        }
        None
    }

    /// Whether the batch of this sequence, which is missing before the one in hand, has been waited for already.
    fn has_waited_for(&self, header: &BatchHeader, sequence: i32) -> bool {
        let known = self.by_producer.lock();
        let refused = known.get(&header.producer_id);
        refused.is_some_and(|refused| (refused.epoch, refused.sequence) == (header.producer_epoch, sequence))
    }
}

impl Partition {
    /// Notes that a batch is refused, and says how. One that the log has already is no new one: that too few have it is
    /// all there is to say.
    pub(super) fn turn_away(&self, log: &Log, batch: &[u8], error: Error, now_ms: i64) -> AppendError {
        let Some(header) = idempotent(batch) else {
            return error.into();
        };
        let entry = log.producers().entry(header.producer_id);
        let found = entry.and_then(|entry| {
            entry.find_duplicate(header.producer_epoch, header.base_sequence, header.last_sequence())
        });
        if error.code() == ErrorCode::NOT_ENOUGH_REPLICAS && found.is_some() {
            let message = format!("{}-{} has it, on too few replicas", self.topic, self.index);
            return Error::rejected(ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND, message).into();
        }
        let first = (header.producer_epoch, header.base_sequence);
        self.refusals.note(header.producer_id, first, error.code(), now_ms);
        error.into()
    }

    /// What to say of a batch that the log did not take. One with a gap before it, of a producer from which this leader
    /// has taken nothing yet: a client that has heard of the new leader sends to it while what it sent before is still
    /// with the old one (librdkafka), which refuses that, and the client sends it here. So it has not found the leader
    /// of that batch yet.
    pub(super) fn judge_gap(
        &self,
        log: &Log,
        lease: &Lease,
        batch: &[u8],
        error: AppendError,
        now_ms: i64,
    ) -> AppendError {
        if error.code() != ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER || lease.replicas.len() == 1 {
            return error;
        }
        let known = idempotent(batch).and_then(|header| Some((header, log.producers().entry(header.producer_id)?)));
        let Some((header, entry)) = known else {
            return error;
        };
        let missing = next_sequence(entry.last_sequence(), 1);
        let is_new_here = entry.last_data_offset() < self.leadership.term_start();
        let is_ahead = header.producer_epoch == entry.producer_epoch && header.base_sequence > missing;
        if !is_new_here || !is_ahead || self.refusals.has_waited_for(&header, missing) {
            return error;
        }
        let first = (header.producer_epoch, missing);
        self.refusals
            .note(header.producer_id, first, ErrorCode::NOT_LEADER_OR_FOLLOWER, now_ms);
        self.still_to_come(ErrorCode::NOT_LEADER_OR_FOLLOWER).into()
    }

    /// An error while an earlier batch of its producer is to come.
    pub(super) fn check_turn(&self, log: &Log, batch: &[u8], now_ms: i64) -> Result<(), AppendError> {
        if !self.refusals.has_any.load(Ordering::Acquire) {
            return Ok(());
        }
        let code = idempotent(batch).and_then(|header| self.refusals.hold_back(log, &header, now_ms));
        code.map_or(Ok(()), |code| Err(self.still_to_come(code).into()))
    }

    fn still_to_come(&self, code: ErrorCode) -> Error {
        let message = format!(
            "an earlier batch for {}-{} was refused and is to come again",
            self.topic, self.index
        );
        Error::rejected(code, message)
    }
}

fn idempotent(batch: &[u8]) -> Option<BatchHeader> {
    BatchHeader::parse(batch).ok().filter(BatchHeader::is_idempotent)
}
