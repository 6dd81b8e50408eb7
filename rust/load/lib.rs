//! Bulk load: rows become segments that a broker adopts as an append (`docs/bulk-load.md`).
//!
//! The map: `rows` reads Arrow columns, `topic` hands each row to its partition, `builder` writes the batches of one
//! partition into files, as [`storage::staged`] describes. `mark` says whose a directory is that a task fills.
//! It talks to no broker, takes no lock of a log, and writes only into the directories of its load.

#![forbid(unsafe_code)]

mod builder;
mod error;
mod mark;
mod rows;
mod topic;

pub use builder::{BuildSettings, BuiltPartition, PartitionBuilder, RecordRow, codec_of, record_bytes};
pub use error::{LoadError, Result};
pub use mark::{make_staging_dir, sweep_staged};
pub use rows::append_rows;
pub use topic::{RowValues, SegmentTarget, TopicBuilder};
