//! Validates a batch of an idempotent or transactional producer before it is written; changes nothing.
//!
//! In Kafka's order:
//! - (a) a client's batch equal in epoch and sequences to one of the producer's last five is a duplicate, and gets the
//!   first append's answer;
//! - (b) a client's or coordinator's transactional batch needs an open transaction or a verified guard;
//! - (c) the producer's epoch may not go back; for markers of transaction version 2 it must go up;
//! - (d) a client's sequences follow on, or start at 0 in a new epoch; a producer that is not known here may start
//!   anywhere (KIP-360);
//! - (e) a producer with an open transaction writes nothing outside of it;
//! - (f) a marker comes from no coordinator older than the last one.
//!
//! Batches that come by replication are not validated: the leader has validated them.

use super::entry::{NO_PRODUCER_EPOCH, ProducerEntry};
use super::state::ProducerState;
use super::verification::{VerificationGuard, stale_epoch};
use crate::topic_partition::TopicPartition;
use base::error::ErrorCode;
use base::place::Offset;
use record::{BatchHeader, ControlRecord, Origin, Rejection};

/// From this transaction version on, coordinators raise the epoch before they write a marker.
pub(super) const TRANSACTION_VERSION_2: i16 = 2;

/// A batch that is about to be appended.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its header, with the base offset that it will get.
    pub header: &'a BatchHeader,
    /// Where the batch comes from.
    pub origin: Origin,
    /// The partition, for error messages.
    pub partition: &'a TopicPartition,
    /// The control record of a control batch; `None` for data.
    pub control: Option<ControlRecord>,
    /// The version of transactions that a marker was written for, 0 to 2; 0 for data.
    pub transaction_version: i16,
    /// The guard of a verified transaction, or the sentinel.
    pub guard: VerificationGuard,
}

/// What to do with a batch that is not refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// The batch is new: write it.
    Append,
    /// The log holds the batch already; the answer has these values.
    Duplicate {
        /// Offset of its first record.
        base_offset: Offset,
        /// Offset of its last record.
        last_offset: Offset,
        /// Its timestamp, in ms.
        timestamp: i64,
    },
}

impl<'a> Candidate<'a> {
    /// A data batch without verification.
    pub const fn data(header: &'a BatchHeader, origin: Origin, partition: &'a TopicPartition) -> Self {
        Self {
            header,
            origin,
            partition,
            control: None,
            transaction_version: 0,
            guard: VerificationGuard::SENTINEL,
        }
    }

    fn reject(&self, code: ErrorCode, what: &str, detail: &str) -> Rejection {
        let (header, partition) = (self.header, self.partition);
        let message = format!(
            "{what} producer {} at offset {} in partition {partition}: {detail}",
            header.producer_id, header.base_offset
        );
        Rejection::new(code, message)
    }
}

impl ProducerState {
    /// Validates a batch; see the module. Cheap for batches without producer id.
    pub fn check(&self, candidate: &Candidate<'_>) -> Result<Check, Rejection> {
        let header = candidate.header;
        if !header.is_idempotent() || candidate.origin == Origin::Replication {
            return Ok(Check::Append);
        }
        let known = self.entry(header.producer_id);
        if candidate.origin == Origin::Client
            && let Some(entry) = known
            && let Some(batch) =
                entry.find_duplicate(header.producer_epoch, header.base_sequence, header.last_sequence())
        {
            let (base_offset, last_offset) = (batch.first_offset(), batch.last_offset);
            return Ok(Check::Duplicate {
                base_offset,
                last_offset,
                timestamp: batch.timestamp,
            }); // (a)
        }
        self.check_transaction(candidate, known)?;
        let entry = known.unwrap_or(&ProducerEntry::EMPTY);
        if header.is_control() {
            if let Some(control) = candidate.control {
                check_epoch(candidate, entry)?;
                check_coordinator(candidate, entry, control)?;
            }
            return Ok(Check::Append);
        }
        check_epoch(candidate, entry)?;
        if candidate.origin == Origin::Client {
            self.check_verified_sequence(candidate, entry)?;
            check_sequence(candidate, entry)?;
        }
        if entry.current_txn_first_offset.is_some() && !header.is_transactional() {
            // (e)
            let detail = "a transaction is open, but the batch is not transactional";
            return Err(candidate.reject(
                ErrorCode::INVALID_TXN_STATE,
                "Expected transactional write from",
                detail,
            ));
        }
        Ok(Check::Append)
    }

    /// (b)
    fn check_transaction(&self, candidate: &Candidate<'_>, known: Option<&ProducerEntry>) -> Result<(), Rejection> {
        let header = candidate.header;
        let (producer_id, epoch) = (header.producer_id, header.producer_epoch);
        if !header.is_transactional() || self.has_ongoing_transaction(producer_id, epoch) {
            return Ok(());
        }
        if let Some(entry) = known.filter(|entry| epoch < entry.producer_epoch) {
            return Err(stale_epoch(producer_id, epoch, entry.producer_epoch));
        }
        let is_asked = self.config.is_transaction_verification_enabled && !header.is_control();
        if is_asked && !self.verifications.is_verified(producer_id, epoch, candidate.guard) {
            let message = "Record was not part of an ongoing transaction";
            return Err(Rejection::new(ErrorCode::INVALID_TXN_STATE, message));
        }
        Ok(())
    }

    /// (d), while a verification is pending: no batch may overtake the transaction's first batch.
    fn check_verified_sequence(&self, candidate: &Candidate<'_>, entry: &ProducerEntry) -> Result<(), Rejection> {
        let header = candidate.header;
        let sequence = header.base_sequence;
        let Some(pending) = self.verifications.get(header.producer_id, header.producer_epoch) else {
            return Ok(());
        };
        if pending.supports_epoch_bump && sequence != 0 && entry.batches.last().is_none() {
            let detail = format!(
                "{sequence} (incoming seq. number). Expected sequence 0 for transactions v2 idempotent producer with \
                 no existing state."
            );
            return Err(out_of_order(candidate, "Invalid sequence number for", &detail));
        }
        if sequence > pending.lowest_sequence {
            let lowest = pending.lowest_sequence;
            let detail = format!("{sequence} (incoming seq. number), {lowest} (earliest seen sequence)");
            return Err(out_of_order(candidate, "Out of order sequence number for", &detail));
        }
        Ok(())
    }
}

/// (c)
fn check_epoch(candidate: &Candidate<'_>, entry: &ProducerEntry) -> Result<(), Rejection> {
    let (epoch, last_seen) = (candidate.header.producer_epoch, entry.producer_epoch);
    let must_rise = candidate.control.is_some() && candidate.transaction_version >= TRANSACTION_VERSION_2;
    // A marker that the coordinator repeats (after a restart or a lost answer) finds its transaction ended.
    let is_marker_retry = must_rise && epoch == last_seen && entry.current_txn_first_offset.is_none();
    if epoch > last_seen || (epoch == last_seen && !must_rise) || is_marker_retry {
        return Ok(());
    }
    let comparison = if must_rise { "not above" } else { "below" };
    let detail = format!("{epoch} (request epoch) is {comparison} the last seen epoch {last_seen}");
    Err(candidate.reject(ErrorCode::INVALID_PRODUCER_EPOCH, "Invalid epoch for", &detail))
}

/// (d)
fn check_sequence(candidate: &Candidate<'_>, entry: &ProducerEntry) -> Result<(), Rejection> {
    let (epoch, sequence) = (candidate.header.producer_epoch, candidate.header.base_sequence);
    if entry.producer_epoch == NO_PRODUCER_EPOCH {
        return Ok(());
    }
    if epoch != entry.producer_epoch {
        if sequence == 0 {
            return Ok(());
        }
        let current = entry.producer_epoch;
        let detail = format!("{epoch} (request epoch), {sequence} (seq. number), {current} (current producer epoch)");
        return Err(out_of_order(
            candidate,
            "Invalid sequence number for new epoch of",
            &detail,
        ));
    }
    let last = entry.last_sequence();
    if i64::from(sequence) == i64::from(last) + 1 || (sequence == 0 && last == i32::MAX) {
        return Ok(());
    }
    let detail = format!("{sequence} (incoming seq. number), {last} (current end sequence number)");
    Err(out_of_order(candidate, "Out of order sequence number for", &detail))
}

/// (f)
fn check_coordinator(
    candidate: &Candidate<'_>,
    entry: &ProducerEntry,
    control: ControlRecord,
) -> Result<(), Rejection> {
    let (epoch, current) = (control.coordinator_epoch, entry.coordinator_epoch);
    if current <= epoch {
        return Ok(());
    }
    let detail = format!("{epoch} (zombie), {current} (current)");
    Err(candidate.reject(
        ErrorCode::TRANSACTION_COORDINATOR_FENCED,
        "Invalid coordinator epoch for",
        &detail,
    ))
}

fn out_of_order(candidate: &Candidate<'_>, what: &str, detail: &str) -> Rejection {
    candidate.reject(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, what, detail)
}
