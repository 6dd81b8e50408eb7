//! One transactional id: its producer, the state of its transaction, the partitions in it.
//!
//! A [`Transaction`] is a plain value, as its record in `__transaction_state` has it: `table` makes the next value,
//! `records` encodes it. It knows no locks, no clock and no log.

use std::collections::BTreeSet;
use std::sync::Arc;

/// No producer id.
pub const NO_PRODUCER_ID: i64 = -1;
/// No producer epoch.
pub const NO_EPOCH: i16 = -1;
/// No transaction has begun.
pub const NO_TIME: i64 = -1;
/// From this version on the coordinator raises the producer epoch at each end of a transaction (KIP-890).
pub const TRANSACTION_VERSION_2: i16 = 2;
/// The last epoch with which a producer may begin a transaction; the one after it is left for fencing.
const LAST_USABLE_EPOCH: i16 = i16::MAX - 1;

/// A partition: topic and index.
pub type TopicPartition = (Arc<str>, i32);

/// The state of a transactional id; Kafka's names and ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransactionState {
    /// The producer is initialised and has begun no transaction.
    Empty,
    /// A transaction is open.
    Ongoing,
    /// The commit is decided; markers are being written.
    PrepareCommit,
    /// The abort is decided; markers are being written.
    PrepareAbort,
    /// All commit markers are written.
    CompleteCommit,
    /// All abort markers are written.
    CompleteAbort,
    /// The id expired.
    Dead,
    /// The producer epoch was raised to abort a transaction; Kafka never writes this state.
    PrepareEpochFence,
}

impl TransactionState {
    /// All states, by id.
    pub const ALL: [Self; 8] = [
        Self::Empty,
        Self::Ongoing,
        Self::PrepareCommit,
        Self::PrepareAbort,
        Self::CompleteCommit,
        Self::CompleteAbort,
        Self::Dead,
        Self::PrepareEpochFence,
    ];

    /// Kafka's id, as the record has it.
    pub fn id(self) -> i8 {
        let at = Self::ALL.iter().position(|state| *state == self);
        at.and_then(|at| i8::try_from(at).ok()).unwrap_or(-1)
    }

    /// The state with this id.
    pub fn from_id(id: i8) -> Option<Self> {
        Self::ALL.get(usize::try_from(id).ok()?).copied()
    }

    /// Kafka's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Ongoing => "Ongoing",
            Self::PrepareCommit => "PrepareCommit",
            Self::PrepareAbort => "PrepareAbort",
            Self::CompleteCommit => "CompleteCommit",
            Self::CompleteAbort => "CompleteAbort",
            Self::Dead => "Dead",
            Self::PrepareEpochFence => "PrepareEpochFence",
        }
    }

    /// Whether the outcome is decided and markers are left to write.
    pub const fn is_prepared(self) -> bool {
        matches!(self, Self::PrepareCommit | Self::PrepareAbort)
    }

    /// Whether all markers of the last transaction are written.
    pub const fn is_complete(self) -> bool {
        matches!(self, Self::CompleteCommit | Self::CompleteAbort)
    }

    /// Whether an id in this state may expire.
    pub const fn may_expire(self) -> bool {
        matches!(self, Self::Empty | Self::CompleteCommit | Self::CompleteAbort)
    }
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// The producer id.
    pub producer_id: i64,
    /// The producer id before the last change of the id, or [`NO_PRODUCER_ID`].
    pub previous_producer_id: i64,
    /// The producer id from the end of this transaction on, when the epochs of the present id are used up; else
    /// [`NO_PRODUCER_ID`].
    pub next_producer_id: i64,
    /// The producer epoch.
    pub producer_epoch: i16,
    /// The epoch before the last raise, or [`NO_EPOCH`]. The record does not have it: it is lost with the coordinator.
    pub last_producer_epoch: i16,
    /// How long a transaction may stay open, ms.
    pub timeout_ms: i32,
    /// The state.
    pub state: TransactionState,
    /// The partitions in the transaction.
    pub partitions: BTreeSet<TopicPartition>,
    /// When the transaction began, or [`NO_TIME`].
    pub start_ms: i64,
    /// When the state changed last.
    pub last_update_ms: i64,
    /// The transaction version of the request that ended the last transaction: 0 or 2.
    pub client_version: i16,
}

impl Transaction {
    /// A transactional id that has just been seen for the first time; it has no epoch yet.
    pub fn new(producer_id: i64, timeout_ms: i32, now_ms: i64) -> Self {
        Self {
            producer_id,
            previous_producer_id: NO_PRODUCER_ID,
            next_producer_id: NO_PRODUCER_ID,
            producer_epoch: NO_EPOCH,
            last_producer_epoch: NO_EPOCH,
            timeout_ms,
            state: TransactionState::Empty,
            partitions: BTreeSet::new(),
            start_ms: NO_TIME,
            last_update_ms: now_ms,
            client_version: 0,
        }
    }

    /// Whether this producer id has no epoch left for another transaction.
    pub const fn is_epoch_exhausted(&self) -> bool {
        is_exhausted(self.producer_epoch)
    }

    /// Whether the last transaction was ended with a raised epoch.
    pub const fn is_version_2(&self) -> bool {
        self.client_version >= TRANSACTION_VERSION_2
    }

    /// Whether a transaction that is open at this time has exceeded its timeout.
    pub fn is_timed_out(&self, now_ms: i64) -> bool {
        self.state == TransactionState::Ongoing && self.start_ms.saturating_add(i64::from(self.timeout_ms)) < now_ms
    }

    /// Whether the id has not been used for so long that it is forgotten.
    pub fn is_expired(&self, now_ms: i64, expiration_ms: i64) -> bool {
        self.state.may_expire() && self.last_update_ms.saturating_add(expiration_ms) <= now_ms
    }
}

/// Whether a producer with this epoch needs a new producer id before its next transaction.
pub const fn is_exhausted(epoch: i16) -> bool {
    epoch >= LAST_USABLE_EPOCH
}
