//! Segments to Arrow: a topic's files read as columns, beside a live broker or without one.
//!
//! The steps of a scan: `plan` fixes a closed range of offsets for each partition and cuts it into [`Split`]s; a
//! `SplitReader` turns one split into record batches. A split is self-contained: it may be sent to another process that
//! sees the same disk. A scan never writes to a log, takes no lock, talks to no broker, and knows no Python.

#![forbid(unsafe_code)]

mod batch_list;
mod bounds;
mod buffers;
mod builder;
mod byte_strings;
mod chain;
pub mod check;
mod closed_range;
mod column;
mod current;
mod cut;
mod decode;
mod error;
#[cfg(test)]
mod legacy_tests;
mod links;
mod options;
mod parallel;
mod plan;
mod predicate;
mod reader;
mod remote;
mod segments;
mod split;
mod stream;
mod summary;
#[cfg(test)]
mod test_batches;
#[cfg(any(test, feature = "testing"))]
#[allow(missing_docs, clippy::expect_used, clippy::unwrap_used, clippy::pedantic)]
pub mod testing;
mod topics;
mod transactions;
mod typed_values;

pub use batch_list::{BatchList, Listed};
pub use bounds::{Bound, Limits, Watermarks};
pub use closed_range::{AllowedLoss, ClosedRange, closed_range, refuse_reversed};
pub use column::{Column, schema};
pub use error::{Result, ScanError};
pub use options::ScanOptions;
pub use parallel::ScanReader;
pub use plan::{Isolation, MAX_OPEN_FILES, PartitionPlan, ScanRequest, plan_scan};
pub use predicate::Predicate;
pub use reader::{LostRange, LostRanges, SplitReader};
pub use remote::{Remote, RemoteBatches, RemoteLog, RemotePiece};
pub use split::{AbortedRange, Slice, Split};
pub use stream::{Failure, ScanStream};
pub use summary::{Summary, TimeLimits};
pub use topics::{TopicPartitionFiles, find_partitions, list_partitions};
