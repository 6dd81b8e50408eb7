//! The state machine of transactions: for each event the next value, the answer, or the error (Kafka's
//! `TransactionCoordinator`; KIP-98, KIP-360, KIP-447, KIP-890).
//!
//! | event | allowed in | next state |
//! |---|---|---|
//! | `InitProducerId` | Empty, `CompleteCommit`, `CompleteAbort` | Empty |
//! | `InitProducerId`, timeout | Ongoing | `PrepareAbort`, with a raised epoch |
//! | partitions are added | Empty, Ongoing, `CompleteCommit`, `CompleteAbort` | Ongoing |
//! | `EndTxn` | Ongoing; version 2 aborts in Empty and Complete too | `PrepareCommit`, `PrepareAbort` |
//! | all markers are written | `PrepareCommit`, `PrepareAbort` | `CompleteCommit`, `CompleteAbort` |
//!
//! Pure functions over values: no I/O, no locks; time and new producer ids are passed in. A request that meets a
//! decided transaction whose markers are being written gets `CONCURRENT_TRANSACTIONS`.

use std::collections::BTreeSet;

use super::transaction::{
    NO_EPOCH, NO_PRODUCER_ID, NO_TIME, TRANSACTION_VERSION_2, TopicPartition, Transaction, TransactionState,
    is_exhausted,
};
use base::error::ErrorCode;

/// What an event leads to, unless it is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing changes; the client gets the present producer id and epoch.
    Nothing,
    /// This value is to be written; when its record is replicated, it is the state, and the client is answered.
    Write(Transaction),
    /// This value, an abort that no client asked for, is to be written; the request is then decided anew.
    Abort(Transaction),
}

type Decided = Result<Step, ErrorCode>;

/// The producer as a request names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Producer {
    /// The producer id.
    pub id: i64,
    /// The producer epoch.
    pub epoch: i16,
}

/// `InitProducerId`. `claimed` is the producer with which the client began (KIP-360). `new_producer_id` is called when
/// the epochs of the present producer id are used up.
pub fn init_producer_id(
    now: &Transaction,
    claimed: Option<Producer>,
    timeout_ms: i32,
    now_ms: i64,
    new_producer_id: impl FnOnce() -> Result<i64, ErrorCode>,
) -> Decided {
    if !claimed.is_none_or(|claimed| is_known(now, claimed) || is_next(now, claimed)) {
        return Err(ErrorCode::PRODUCER_FENCED);
    }
    match now.state {
        TransactionState::PrepareCommit | TransactionState::PrepareAbort => Err(ErrorCode::CONCURRENT_TRANSACTIONS),
        TransactionState::Ongoing => {
            if claimed.is_some_and(|claimed| claimed.epoch != now.producer_epoch && claimed.id == now.producer_id) {
                return Err(ErrorCode::PRODUCER_FENCED);
            }
            Ok(Step::Abort(fence(now, now_ms)))
        }
        TransactionState::Dead | TransactionState::PrepareEpochFence => Err(ErrorCode::UNKNOWN_SERVER_ERROR),
        _ => {
            let mut next = Transaction {
                state: TransactionState::Empty,
                timeout_ms,
                next_producer_id: NO_PRODUCER_ID,
                start_ms: NO_TIME,
                last_update_ms: now_ms,
                client_version: 0,
                partitions: BTreeSet::new(),
                ..now.clone()
            };
            next.previous_producer_id = now.producer_id;
            let is_current = claimed.is_none_or(|claimed| claimed.epoch == now.producer_epoch);
            if now.is_epoch_exhausted() && is_current {
                next.producer_id = new_producer_id()?;
                next.producer_epoch = 0;
                next.last_producer_epoch = if claimed.is_some() {
                    now.producer_epoch
                } else {
                    NO_EPOCH
                };
                return Ok(Step::Write(next));
            }
            (next.producer_epoch, next.last_producer_epoch) = match claimed {
                None => (now.producer_epoch.wrapping_add(1), NO_EPOCH),
                Some(_) if is_current || now.producer_epoch == NO_EPOCH => {
                    (now.producer_epoch.wrapping_add(1), now.producer_epoch)
                }
                // the answer to the request that raised the epoch was lost
                Some(claimed) if claimed.epoch == now.last_producer_epoch => {
                    (now.producer_epoch, now.last_producer_epoch)
                }
                Some(_) => return Err(ErrorCode::PRODUCER_FENCED),
            };
            Ok(Step::Write(next))
        }
    }
}

fn is_known(now: &Transaction, claimed: Producer) -> bool {
    now.producer_epoch == NO_EPOCH
        || claimed.id == now.producer_id
        || (claimed.id == now.previous_producer_id && is_exhausted(claimed.epoch))
}

/// Adds partitions to the producer's transaction, which begins if it is not open yet.
pub fn add_partitions(
    now: &Transaction,
    producer: Producer,
    partitions: impl Iterator<Item = TopicPartition> + Clone,
    now_ms: i64,
) -> Decided {
    check_producer(now, producer)?;
    if now.state.is_prepared() {
        return Err(ErrorCode::CONCURRENT_TRANSACTIONS);
    }
    if now.producer_epoch == i16::MAX {
        return Err(ErrorCode::PRODUCER_FENCED); // the end of the transaction could not raise the epoch
    }
    let is_open = now.state == TransactionState::Ongoing;
    if is_open && partitions.clone().all(|partition| now.partitions.contains(&partition)) {
        return Ok(Step::Nothing);
    }
    let mut next = now.clone();
    next.partitions.extend(partitions);
    next.state = TransactionState::Ongoing;
    next.next_producer_id = NO_PRODUCER_ID;
    next.last_update_ms = now_ms;
    if !is_open {
        next.start_ms = now_ms;
        next.client_version = 0;
    }
    Ok(Step::Write(next))
}

/// Whether each partition is in the producer's open transaction; `TRANSACTION_ABORTABLE` for the other partitions.
pub fn verify(
    now: &Transaction,
    producer: Producer,
    partitions: impl Iterator<Item = TopicPartition>,
) -> Result<Vec<ErrorCode>, ErrorCode> {
    check_producer(now, producer)?;
    if now.state.is_prepared() {
        return Err(ErrorCode::CONCURRENT_TRANSACTIONS);
    }
    let code = |partition| {
        if now.partitions.contains(&partition) {
            ErrorCode::NONE
        } else {
            ErrorCode::TRANSACTION_ABORTABLE
        }
    };
    Ok(partitions.map(code).collect())
}

fn check_producer(now: &Transaction, producer: Producer) -> Result<(), ErrorCode> {
    if is_next(now, producer) {
        return Err(ErrorCode::CONCURRENT_TRANSACTIONS);
    }
    if now.producer_id != producer.id {
        return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    }
    if now.producer_epoch != producer.epoch {
        return Err(ErrorCode::PRODUCER_FENCED);
    }
    Ok(())
}

/// Whether the producer goes on with the producer id that the end of its transaction gives it, which is not recorded
/// yet.
fn is_next(now: &Transaction, producer: Producer) -> bool {
    now.state.is_prepared()
        && now.next_producer_id != NO_PRODUCER_ID
        && (producer.id, producer.epoch) == (now.next_producer_id, 0)
}

/// `EndTxn`. `version` is the transaction version of the client: 0, or 2 when the epoch is raised at the end.
pub fn end(
    now: &Transaction,
    producer: Producer,
    is_commit: bool,
    version: i16,
    now_ms: i64,
    new_producer_id: impl FnOnce() -> Result<i64, ErrorCode>,
) -> Decided {
    if is_next(now, producer) {
        return Err(ErrorCode::CONCURRENT_TRANSACTIONS);
    }
    let is_version_2 = version >= TRANSACTION_VERSION_2;
    let is_retry = is_version_2 && is_retried_end(now, producer);
    let has_wrapped = is_retry && now.producer_id != producer.id;
    if now.producer_id != producer.id && !has_wrapped {
        return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    }
    let is_valid = match now.state {
        TransactionState::PrepareCommit
        | TransactionState::PrepareAbort
        | TransactionState::CompleteCommit
        | TransactionState::CompleteAbort
            if now.is_version_2() =>
        {
            is_retry || producer.epoch == now.producer_epoch
        }
        _ => producer.epoch == now.producer_epoch,
    };
    if !is_valid {
        return Err(ErrorCode::PRODUCER_FENCED);
    }
    let refused = Err(ErrorCode::INVALID_TXN_STATE);
    match (now.state, is_commit) {
        (TransactionState::Ongoing, _) => prepare(now, is_commit, version, now_ms, new_producer_id),
        (TransactionState::PrepareCommit, true) | (TransactionState::PrepareAbort, false) => {
            Err(ErrorCode::CONCURRENT_TRANSACTIONS)
        }
        // the end of the next transaction
        (TransactionState::PrepareCommit | TransactionState::PrepareAbort, _) if now.is_version_2() && !is_retry => {
            Err(ErrorCode::CONCURRENT_TRANSACTIONS)
        }
        (TransactionState::CompleteCommit, true) | (TransactionState::CompleteAbort, false)
            if is_retry || !is_version_2 =>
        {
            Ok(Step::Nothing)
        }
        // a transaction of version 2 to which no partition was added
        (TransactionState::Empty | TransactionState::CompleteCommit | TransactionState::CompleteAbort, false)
            if is_version_2 && !is_retry =>
        {
            let begun = Transaction {
                start_ms: now_ms,
                ..now.clone()
            };
            prepare(&begun, false, version, now_ms, new_producer_id)
        }
        _ => refused,
    }
}

/// Whether the producer repeats an `EndTxn` that has raised the epoch already, since the answer was lost.
fn is_retried_end(now: &Transaction, producer: Producer) -> bool {
    if !now.is_version_2() {
        return false;
    }
    let is_bumped = now.producer_id == producer.id && i32::from(now.producer_epoch) == i32::from(producer.epoch) + 1;
    let is_wrapped = now.previous_producer_id == producer.id
        && now.producer_epoch == 0
        && is_exhausted(producer.epoch)
        && now.state.is_complete();
    is_bumped || is_wrapped
}

fn prepare(
    now: &Transaction,
    is_commit: bool,
    version: i16,
    now_ms: i64,
    new_producer_id: impl FnOnce() -> Result<i64, ErrorCode>,
) -> Decided {
    let mut next = now.clone();
    next.state = if is_commit {
        TransactionState::PrepareCommit
    } else {
        TransactionState::PrepareAbort
    };
    next.client_version = version;
    next.last_update_ms = now_ms;
    next.next_producer_id = NO_PRODUCER_ID;
    if version >= TRANSACTION_VERSION_2 {
        if now.is_epoch_exhausted() {
            next.next_producer_id = new_producer_id()?;
        }
        next.producer_epoch = now.producer_epoch.saturating_add(1);
        next.last_producer_epoch = now.producer_epoch;
    }
    Ok(Step::Write(next))
}

/// The abort of an open transaction that no client asked for: it exceeded its timeout, or a new producer took over the
/// transactional id. The raised epoch fences the producer.
pub fn fence(now: &Transaction, now_ms: i64) -> Transaction {
    Transaction {
        state: TransactionState::PrepareAbort,
        producer_epoch: now.producer_epoch.saturating_add(1),
        last_producer_epoch: now.producer_epoch,
        next_producer_id: NO_PRODUCER_ID,
        client_version: TRANSACTION_VERSION_2,
        last_update_ms: now_ms,
        ..now.clone()
    }
}

/// The end of a decided transaction, all markers of which are written; `None` in any other state.
pub fn complete(now: &Transaction, now_ms: i64) -> Option<Transaction> {
    let state = match now.state {
        TransactionState::PrepareCommit => TransactionState::CompleteCommit,
        TransactionState::PrepareAbort => TransactionState::CompleteAbort,
        _ => return None,
    };
    let mut next = Transaction {
        state,
        partitions: BTreeSet::new(),
        last_update_ms: now_ms,
        ..now.clone()
    };
    if now.next_producer_id != NO_PRODUCER_ID {
        next.previous_producer_id = now.producer_id;
        next.producer_id = now.next_producer_id;
        next.producer_epoch = 0;
        next.next_producer_id = NO_PRODUCER_ID;
    }
    Some(next)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
