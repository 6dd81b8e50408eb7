//! The transaction coordinator: transactional ids, whose state is the fold of `__transaction_state` (KIP-98, KIP-890).
//!
//! Place: requests of producers come through the APIs of `coordinator`; the control plane begins, activates and closes
//! partitions. The map: [`transaction`](Transaction) is the state of one id, `table` the state machine, `records` its
//! records, `loading` the fold, `shard` one partition, [`Transactions`] all partitions; `transit` is the way of a
//! request (decide, append, wait for replicas, answer); `ends` writes the markers of decided transactions; `verifier`
//! answers the partitions' question whether they are in a transaction, `batches` asks other brokers; `expiry` aborts
//! and forgets by the clock; `marker_append` writes a marker to a partition of this broker, for `ends` and for
//! `write_markers`, which answers the coordinators of other brokers. The state machine does no I/O; only `transit`,
//! `ends` and `marker_append` append.

mod add_offsets;
mod add_partitions;
mod batches;
mod end_txn;
mod ends;
mod expiry;
mod init_producer_id;
mod list;
mod loading;
mod marker_append;
#[doc(hidden)] // for tests/fuzz
pub mod records;
mod service;
mod shard;
mod table;
mod transaction;
mod transit;
mod verifier;
mod write_markers;

#[cfg(test)]
pub(super) mod testing;

pub use add_offsets::AddOffsetsToTxn;
pub use add_partitions::AddPartitionsToTxn;
pub use end_txn::EndTxn;
pub use ends::Rounds;
pub use init_producer_id::serve as init_producer_id;
pub use list::{Listed, Selection, describe, list};
pub use loading::{LoadedTransactions, load};
pub use marker_append::{MarkerBy, append_marker};
pub use service::{STATE_TOPIC, TransactionHome, TransactionSettings, Transactions};
pub use transaction::{Transaction, TransactionState};
pub use verifier::CoordinatorVerifier;
pub use write_markers::WriteTxnMarkers;
