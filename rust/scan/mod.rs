//! Segments to Arrow: a topic's files read as columns, beside a live broker or without one (spec R5.3).
//!
//! The way of a scan: `plan` fixes a closed range of offsets for each partition and cuts it into [`Split`]s; a
//! `SplitReader` turns one split into record batches. A split is self-contained: it may be sent to another process that
//! sees the same disk. Nothing here writes to a log, takes its lock, talks to a broker, or knows Python.

mod builder;
mod column;
mod decode;
mod error;
mod parallel;
mod predicate;
mod reader;
mod source;
mod split;
#[cfg(test)]
mod test_batches;

pub use column::{Column, schema};
pub use error::{Result, ScanError};
pub use parallel::ScanReader;
pub use predicate::Predicate;
pub use reader::{LostRange, LostRanges, ScanOptions, SplitReader};
pub use split::{AbortedRange, Slice, Split};
