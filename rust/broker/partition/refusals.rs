//! Batches of idempotent producers that were refused before they were validated: this broker did not lead yet, did not
//! have the partition yet (`published::absent`), or too few replicas were in sync. Also batches that never came to this
//! broker, since the client sent them to the leader before.
//!
//! The producer's later batches are read next, and the reason for the refusal may have passed by then. The later
//! batches would be refused as out of order, though nothing is lost. A client may then begin a new producer epoch for
//! all partitions (librdkafka) and send batches again, as new ones, that other logs have taken without an
//! acknowledgement yet. So the later batches get the same error as the first until the first batch has come again, or
//! until [`REMEMBERED_MS`] after its last refusal. Nothing is kept over a restart. A batch that Kafka would take is
//! refused only while an earlier batch of its producer is still to come.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::partition::lease::Lease;
use base::error::{Error, ErrorCode};
use base::place::Offset;
use record::{BatchHeader, next_sequence};
use storage::{AppendError, Log};

/// How long a refusal is remembered: longer than a client waits before it tries again.
const REMEMBERED_MS: i64 = 10_000;
/// The most producers that a partition remembers; batches of further producers are handled as Kafka does.
const MAX_PRODUCERS: usize = 1000;

/// The first batch of a producer that is still to come.
struct Refused {
    epoch: i16,
    sequence: i32,
    code: ErrorCode,
    at_ms: i64,
}

impl Refused {
    /// False as well when the clock was put back since.
    fn is_remembered(&self, now_ms: i64) -> bool {
        (0..REMEMBERED_MS).contains(&now_ms.saturating_sub(self.at_ms))
    }
}

/// The refused batches, by producer id.
#[derive(Default)]
pub(crate) struct Refusals {
    by_producer: Mutex<HashMap<i64, Refused>>,
    /// Whether there are any refusals: while there are none, an append takes no lock.
    has_any: AtomicBool,
}

impl Refusals {
    /// Notes that the batch with this sequence was refused; it is the first that is to come.
    fn note(&self, producer_id: i64, epoch: i16, sequence: i32, code: ErrorCode, now_ms: i64) {
        let mut known = self.by_producer.lock();
        if known.len() >= MAX_PRODUCERS {
            known.retain(|_, refused| refused.is_remembered(now_ms));
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

    /// Notes that the batch with this header was refused.
    fn note_batch(&self, header: &BatchHeader, code: ErrorCode, now_ms: i64) {
        let (producer_id, epoch) = (header.producer_id, header.producer_epoch);
        self.note(producer_id, epoch, header.base_sequence, code, now_ms);
    }

    /// Notes that a batch was refused since its partition was not on this broker.
    pub(crate) fn note_absent(&self, header: &BatchHeader, now_ms: i64) {
        self.note_batch(header, ErrorCode::NOT_LEADER_OR_FOLLOWER, now_ms);
    }

    /// Notes all that `others` has noted.
    pub(crate) fn take_over(&self, others: Self) {
        for (producer_id, it) in others.by_producer.into_inner() {
            self.note(producer_id, it.epoch, it.sequence, it.code, it.at_ms);
        }
    }

    /// Forgets what is older than [`REMEMBERED_MS`]. Returns the number of producers that are left.
    pub(crate) fn forget_old(&self, now_ms: i64) -> usize {
        let mut known = self.by_producer.lock();
        known.retain(|_, refused| refused.is_remembered(now_ms));
        known.len()
    }

    /// The error for this batch, if an earlier batch of its producer is to come first. Forgets a refusal that is
    /// settled.
    fn hold_back(&self, log: &Log, header: &BatchHeader, now_ms: i64) -> Option<ErrorCode> {
        let mut known = self.by_producer.lock();
        let refused = known.get(&header.producer_id)?;
        let entry = log.producers().entry(header.producer_id);
        let is_there =
            entry.is_some_and(|e| e.producer_epoch == refused.epoch && e.last_sequence() >= refused.sequence);
        let is_behind = header.producer_epoch == refused.epoch && header.base_sequence > refused.sequence;
        if is_behind && !is_there && refused.is_remembered(now_ms) {
            return Some(refused.code);
        }
        if !is_behind || is_there {
            known.remove(&header.producer_id);
            self.has_any.store(!known.is_empty(), Ordering::Release);
        }
        None
    }

    /// Whether this broker has already refused a batch because the batch with this sequence is missing before it.
    fn has_waited_for(&self, header: &BatchHeader, sequence: i32) -> bool {
        let known = self.by_producer.lock();
        let refused = known.get(&header.producer_id);
        refused.is_some_and(|refused| (refused.epoch, refused.sequence) == (header.producer_epoch, sequence))
    }

    /// Notes that a batch is refused, and returns the error. A batch that the log has already is not refused as new:
    /// when too few replicas are in sync, its error is `NOT_ENOUGH_REPLICAS_AFTER_APPEND`.
    pub(super) fn turn_away(&self, log: &Log, batch: &[u8], error: Error, now_ms: i64) -> AppendError {
        self.turn_away_header(log, idempotent(batch).as_ref(), error, now_ms)
    }

    /// As [`Self::turn_away`], for the header of the batch.
    pub(super) fn turn_away_header(
        &self,
        log: &Log,
        header: Option<&BatchHeader>,
        error: Error,
        now_ms: i64,
    ) -> AppendError {
        let Some(header) = header.filter(|header| has_sequence(header)) else {
            return error.into();
        };
        let entry = log.producers().entry(header.producer_id);
        let found = entry.and_then(|entry| {
            entry.find_duplicate(header.producer_epoch, header.base_sequence, header.last_sequence())
        });
        if error.code() == ErrorCode::NOT_ENOUGH_REPLICAS && found.is_some() {
            let message = format!("{} has it, on too few replicas", log.topic_partition());
            return Error::rejected(ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND, message).into();
        }
        self.note_batch(header, error.code(), now_ms);
        error.into()
    }

    /// The error for a batch that the log refused. A batch may come with a gap before it from a producer of which this
    /// leader has taken nothing yet: librdkafka sends to the new leader while its earlier batches are still on their
    /// way to the old leader. The old leader refuses these, and the client sends them here. So the batch gets
    /// `NOT_LEADER_OR_FOLLOWER`; if the missing batch has not come after [`REMEMBERED_MS`], the next attempt gets the
    /// log's error. The leader's term began at `term_start`.
    pub(super) fn judge_gap(
        &self,
        log: &Log,
        lease: &Lease,
        term_start: Offset,
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
        let is_new_here = entry.last_data_offset() < term_start;
        let is_ahead = header.producer_epoch == entry.producer_epoch && header.base_sequence > missing;
        if !is_new_here || !is_ahead || self.has_waited_for(&header, missing) {
            return error;
        }
        let code = ErrorCode::NOT_LEADER_OR_FOLLOWER;
        self.note(header.producer_id, header.producer_epoch, missing, code, now_ms);
        still_to_come(log, code).into()
    }

    /// Refuses the batch while an earlier batch of its producer is to come.
    pub(super) fn check_turn(&self, log: &Log, batch: &[u8], now_ms: i64) -> Result<(), AppendError> {
        if !self.has_any.load(Ordering::Acquire) {
            return Ok(());
        }
        let code = idempotent(batch).and_then(|header| self.hold_back(log, &header, now_ms));
        code.map_or(Ok(()), |code| Err(still_to_come(log, code).into()))
    }
}

fn still_to_come(log: &Log, code: ErrorCode) -> Error {
    let message = format!(
        "an earlier batch for {} was refused and is to come again",
        log.topic_partition()
    );
    Error::rejected(code, message)
}

/// The header of a batch of an idempotent producer that has a sequence.
pub(crate) fn idempotent(batch: &[u8]) -> Option<BatchHeader> {
    BatchHeader::parse(batch).ok().filter(has_sequence)
}

/// Whether the order of the producer's batches can be told: coordinators write markers, and the offsets of a
/// transaction, without sequences.
fn has_sequence(header: &BatchHeader) -> bool {
    header.is_idempotent() && header.base_sequence >= 0
}
