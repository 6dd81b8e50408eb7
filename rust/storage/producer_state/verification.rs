//! Transactions that the coordinator must verify before their first batch is written (KIP-890).
//!
//! The broker gets a [`VerificationGuard`], asks the coordinator whether the partition is in the transaction, and
//! appends with the guard. What ends the transaction or opens it in between invalidates the guard, so that a late
//! answer of the coordinator cannot open a transaction that would never end. Each epoch of a producer has a guard of
//! its own: the first batch of a transaction of version 2 may come before the marker of the producer's last
//! transaction, whose epoch is the same, and that marker leaves its guard valid. Kept in memory only.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::check::TRANSACTION_VERSION_2;
use super::state::ProducerState;
use base::error::ErrorCode;
use record::{BatchHeader, Rejection};

/// Proof that a verification was begun; no two are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerificationGuard(u64);

static NEXT_GUARD: AtomicU64 = AtomicU64::new(1);

impl VerificationGuard {
    /// No verification: the transaction is open already, or none is asked for.
    pub const SENTINEL: Self = Self(0);
    /// The broker does not verify transactions: the batch is taken without a question.
    pub const WAIVED: Self = Self(u64::MAX);

    /// Whether the coordinator is to be asked before the append.
    pub fn is_question(self) -> bool {
        self != Self::SENTINEL && self != Self::WAIVED
    }

    fn next() -> Self {
        Self(NEXT_GUARD.fetch_add(1, Ordering::Relaxed))
    }
}

/// One producer's pending verification.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verification {
    began_ms: i64,
    guard: VerificationGuard,
    pub(super) lowest_sequence: i32,
    /// The client uses transactions of version 2.
    pub(super) supports_epoch_bump: bool,
}

/// Pending verifications by producer id and epoch.
#[derive(Debug, Default)]
pub(super) struct Verifications(BTreeMap<(i64, i16), Verification>);

impl Verifications {
    pub(super) fn get(&self, producer_id: i64, epoch: i16) -> Option<&Verification> {
        self.0.get(&(producer_id, epoch))
    }

    /// Whether `guard` is the guard of the pending verification of this producer and epoch.
    pub(super) fn is_verified(&self, producer_id: i64, epoch: i16, guard: VerificationGuard) -> bool {
        guard == VerificationGuard::WAIVED
            || (guard.is_question()
                && self
                    .get(producer_id, epoch)
                    .is_some_and(|pending| pending.guard == guard))
    }

    /// Invalidates the guards that end with this batch of a transaction: a batch of records has opened the transaction
    /// of its epoch, a marker has ended it. A marker of version 2 has the epoch that follows its transaction's: the
    /// transaction of its own epoch is the producer's next.
    pub(super) fn end(&mut self, header: &BatchHeader, transaction_version: i16) {
        if self.0.is_empty() {
            return;
        }
        let (producer_id, epoch) = (header.producer_id, header.producer_epoch);
        let is_before = header.is_control() && transaction_version >= TRANSACTION_VERSION_2;
        let last = if is_before { epoch.saturating_sub(1) } else { epoch };
        let ended = self.0.range((producer_id, i16::MIN)..=(producer_id, last));
        for key in ended.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.0.remove(&key);
        }
    }

    pub(super) fn remove_expired(&mut self, now_ms: i64, expiration_ms: i64) {
        self.0
            .retain(|_, pending| now_ms.saturating_sub(pending.began_ms) < expiration_ms);
    }
}

impl ProducerState {
    /// Begins to verify the transaction that `header` belongs to, before the broker asks the coordinator. Returns the
    /// sentinel when the transaction is open in this partition already, or when transactions are not verified: the
    /// broker need not ask then. `INVALID_PRODUCER_EPOCH` for a fenced producer.
    pub fn begin_verification(
        &mut self,
        header: &BatchHeader,
        supports_epoch_bump: bool,
        now_ms: i64,
    ) -> Result<VerificationGuard, Rejection> {
        let (producer_id, epoch) = (header.producer_id, header.producer_epoch);
        if let Some(entry) = self.entry(producer_id) {
            if epoch < entry.producer_epoch {
                return Err(stale_epoch(producer_id, epoch, entry.producer_epoch));
            }
            if entry.producer_epoch == epoch && entry.current_txn_first_offset.is_some() {
                return Ok(VerificationGuard::SENTINEL);
            }
        }
        if !self.config.is_transaction_verification_enabled {
            return Ok(VerificationGuard::SENTINEL);
        }
        let sequence = header.base_sequence;
        let pending = self.verifications.0.entry((producer_id, epoch));
        let pending = pending.or_insert_with(|| Verification {
            began_ms: now_ms,
            guard: VerificationGuard::next(),
            lowest_sequence: sequence,
            supports_epoch_bump,
        });
        // The lowest sequence seen is kept, so that a later batch cannot overtake a batch that the client must send
        // again.
        pending.lowest_sequence = pending.lowest_sequence.min(sequence);
        Ok(pending.guard)
    }
}

/// Kafka's error for a batch whose producer epoch is below the last one seen.
pub(super) fn stale_epoch(producer_id: i64, epoch: i16, last_seen: i16) -> Rejection {
    let message =
        format!("Epoch of producer {producer_id} is {epoch}, which is smaller than the last seen epoch {last_seen}");
    Rejection::new(ErrorCode::INVALID_PRODUCER_EPOCH, message)
}
