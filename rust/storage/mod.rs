//! One partition's log: segments of record batches with their indexes, and the state files beside them.
//!
//! Knows files, not clusters: no leases, high watermarks are passed in, nothing here opens a socket.

pub mod checkpoint;
pub mod clean_shutdown;
pub mod config;
pub mod format;
pub mod leader_epochs;
pub mod log_dir;
pub mod log_loader;
pub mod meta_properties;
pub mod partition_metadata;
pub mod producer_state;
pub mod state_file;
pub mod topic_partition;
pub mod uuid;

pub use config::{Compression, LogConfig};
pub use leader_epochs::EpochCache;
pub use producer_state::{ProducerState, ProducerStateConfig};
pub use topic_partition::TopicPartition;
pub use uuid::Uuid;

#[cfg(test)]
pub(crate) mod test_fixtures;
