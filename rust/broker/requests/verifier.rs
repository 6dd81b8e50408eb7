//! The contract between the APIs that write transactional batches (Produce, `TxnOffsetCommit`) and the transaction
//! coordinator (KIP-890): before the first batch of a transaction is written to a partition, the coordinator is asked
//! whether the partition is in the transaction.
//!
//! Place: below the coordinators, which this layer cannot name; the engine sets one [`Verifier`] before the first
//! request. An answer that comes later is a [`Verifying`], which its request watches as a delayed answer watches its
//! partitions. This module asks nobody by itself and writes nothing.

use std::sync::Arc;
use std::time::Instant;

use crate::Broker;
use crate::partition::Partition;
use crate::planted;
use crate::requests::api::Attempt;
use crate::requests::waiters::Waiter;
use base::error::ErrorCode;
use record::BatchHeader;
use storage::AppendError;
use storage::producer_state::VerificationGuard;

/// What a broker asks about one transaction before it writes the transaction's first batch to a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerificationRequest {
    /// The transaction's transactional id.
    pub transactional_id: Arc<str>,
    /// The producer id of the batches.
    pub producer_id: i64,
    /// The producer epoch of the batches.
    pub producer_epoch: i16,
    /// The partitions, by topic name and index. A partition may stand here twice.
    pub partitions: Vec<(Arc<str>, i32)>,
    /// Whether the coordinator adds the partitions to the transaction (transaction version 2); else it only tells
    /// whether they are in the transaction.
    pub is_added: bool,
}

/// The answer: an error code for each partition, in the order of [`VerificationRequest::partitions`]; NONE where the
/// batch may be written.
pub enum Verified {
    /// The coordinator has answered.
    Now(Vec<ErrorCode>),
    /// The coordinator has yet to answer.
    Later(Box<dyn Verifying>),
}

/// A question to which the coordinator has yet to answer. Dropping it drops the question.
pub trait Verifying: Send {
    /// Has `waiter` woken when the answer comes. The caller must poll once more afterwards.
    fn watch(&self, waiter: &Waiter);

    /// Removes `waiter`.
    fn forget(&self, waiter: &Waiter);

    /// The answer, as in [`Verified::Now`]; `None` while there is none yet. An attempt that is due must be answered.
    fn poll(&mut self, attempt: &Attempt<'_>) -> Option<Vec<ErrorCode>>;

    /// When the question is to be polled as due, if that is not left to the request that asked.
    fn deadline(&self) -> Option<Instant> {
        None
    }
}

/// The way to the transaction coordinators. It must not wait for another broker.
pub trait Verifier: Send + Sync {
    /// Asks the coordinator of a transaction; it may be on this broker or on another broker.
    fn ask(&self, broker: &Broker, asked: VerificationRequest, now: Instant, now_ms: i64) -> Verified;
}

impl Broker {
    /// Begins to verify the transaction of a batch for a partition. `is_added`: the coordinator adds the partition.
    ///
    /// # Errors
    /// As an append: another leader, a fenced producer.
    pub fn begin_verification(
        &self,
        partition: &Partition,
        header: &BatchHeader,
        is_added: bool,
        now_ms: i64,
    ) -> Result<VerificationGuard, AppendError> {
        if !is_added && (!self.options().verifies_transactions || planted::verifies_nothing()) {
            return Ok(VerificationGuard::WAIVED);
        }
        partition.begin_verification(header, is_added, now_ms)
    }

    /// Asks the coordinator of a transaction whether batches may be written. The answer is `COORDINATOR_NOT_AVAILABLE`
    /// for every partition while no verifier is set.
    pub fn verify(&self, asked: VerificationRequest, now: Instant, now_ms: i64) -> Verified {
        match self.verifier().get() {
            Some(verifier) => verifier.ask(self, asked, now, now_ms),
            None => Verified::Now(vec![ErrorCode::COORDINATOR_NOT_AVAILABLE; asked.partitions.len()]),
        }
    }
}
