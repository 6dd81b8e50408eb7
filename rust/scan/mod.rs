//! Segments to Arrow: a topic's files read as columns, beside a live broker or without one (spec R5.3).
//!
//! The way of a scan: `plan` fixes a closed range of offsets for each partition and cuts it into [`Split`]s; a
//! `SplitReader` turns one split into record batches. A split is self-contained: it may be sent to another process that
//! sees the same disk. Nothing here writes to a log, takes its lock, talks to a broker, or knows Python.

mod bounds;
mod column;
mod cut;
mod error;
mod links;
mod plan;
mod predicate;
mod segments;
mod split;
mod summary;
mod topics;
mod transactions;

pub use bounds::{Bound, Watermarks};
pub use column::{Column, schema};
pub use error::{Result, ScanError};
pub use links::remove_links;
pub use plan::{Isolation, MAX_OPEN_FILES, PartitionPlan, ScanRequest, plan_scan};
pub use predicate::Predicate;
pub use split::{AbortedRange, Slice, Split};
pub use summary::{Summary, TimeLimits};
pub use topics::{TopicPartitionFiles, list_partitions};

#[cfg(test)]
mod testing;
