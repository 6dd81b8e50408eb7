//! The marker that ends a transaction on one partition.

/// The end of a transaction on one partition, as its coordinator decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// The transaction's producer.
    pub producer_id: i64,
    /// The producer epoch of the marker: that of the transaction, or the epoch after it (transaction version 2).
    pub producer_epoch: i16,
    /// Committed, not aborted.
    pub is_commit: bool,
    /// The leader epoch of the coordinator's partition of `__transaction_state`.
    pub coordinator_epoch: i32,
    /// The transaction version, 0 to 2.
    pub transaction_version: i16,
}
