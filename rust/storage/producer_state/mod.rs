//! Producer state of one partition: each producer's last batches, which transactions are open, which batch is a retry.
//!
//! The files: [`entry`] is one producer, `state` all producers; `check` validates a batch before it is written,
//! `update` records it afterwards; `transactions` holds the open transactions, `verification` the transactions that
//! wait for the transaction coordinator; [`snapshot`] is the bytes of a `.snapshot` file and `snapshots` the files of a
//! partition.
//!
//! Invariants: the state is a function of the log's batches up to [`ProducerState::map_end_offset`] (except expired
//! producers), so a lost snapshot costs time, never correctness. The caller holds the partition's lock. An empty state
//! owns no memory. Never reads the log.

mod check;
pub mod entry;
pub mod snapshot;
mod snapshots;
mod state;
mod transactions;
mod update;
mod verification;

pub use check::{Candidate, Check};
pub use entry::{BATCHES_TO_RETAIN, BatchMetadata, ProducerEntry};
pub use state::{ProducerState, ProducerStateConfig};
pub use update::CompletedTxn;
pub use verification::VerificationGuard;

#[cfg(test)]
mod tests;
