//! One partition's log: segments of record batches with their indexes, and the state files beside them.
//!
//! This folder knows files and no clusters: callers pass high watermarks in, and no code here uses leases or sockets.

#![forbid(unsafe_code)]

pub mod aborted;
pub mod adopt;
pub mod append;
pub mod batch_walk;
pub mod checkpoint;
pub mod clean_shutdown;
pub mod cleaner;
pub mod close;
pub mod closed_logs;
pub mod config;
pub mod contents;
mod context;
pub mod cut_files;
pub mod flush;
pub mod format;
pub mod future;
pub mod header_scan;
mod last_batches;
pub mod leader_epochs;
pub mod log;
pub mod log_dir;
pub mod log_loader;
pub mod lookup;
mod materialise;
pub mod meta_properties;
pub mod offsets;
pub mod partition_dir;
pub mod partition_metadata;
pub mod patience;
mod peaks;
pub mod producer_state;
pub mod read;
pub mod recovery;
mod replay;
pub mod retention;
pub mod segment;
pub mod segments;
mod settings;
pub mod staged;
mod standing;
pub mod state_file;
pub mod swap_rules;
mod syncs;
pub mod topic_partition;
pub mod uuid;
pub mod wait;

pub use append::{AppendError, AppendOptions, Appended};
pub use close::sync_together;
pub use config::{Compression, LogConfig, ThrottledReplicas};
pub use contents::Contents;
pub use context::LogContext;
pub use flush::{FlushJob, Flushed};
pub use index::AbortedTxn;
pub use leader_epochs::EpochCache;
pub use log::Log;
pub use lookup::{FoundTimestamp, TimestampPlan};
pub use producer_state::{ProducerState, ProducerStateConfig};
pub use read::{FileSlice, ReadPlan};
pub use recovery::{Extent, LoadArgs, Note, OnLoss, RecoveryProgress, RecoveryReport};
pub use retention::Deletion;
pub use topic_partition::TopicPartition;
pub use uuid::Uuid;
pub use wait::Wait;

#[cfg(test)]
mod legacy_tests;
#[cfg(test)]
mod roll_tests;
#[cfg(any(test, feature = "testing"))]
#[allow(missing_docs, clippy::expect_used, clippy::unwrap_used, clippy::pedantic)]
pub mod test_fixtures;
#[cfg(any(test, feature = "testing"))]
#[allow(missing_docs, clippy::expect_used, clippy::unwrap_used, clippy::pedantic)]
pub mod testing;
#[cfg(test)]
mod truncate_tests;
