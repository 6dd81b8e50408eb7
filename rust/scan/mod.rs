//! Segments to Arrow: a topic's files read as columns, beside a live broker or without one (spec R5.3).
//!
//! The way of a scan: `plan` fixes a closed range of offsets for each partition and cuts it into [`Split`]s; a
//! `SplitReader` turns one split into record batches. A split is self-contained: it may be sent to another process that
//! sees the same disk. Nothing here writes to a log, takes its lock, talks to a broker, or knows Python.

pub mod check;
mod column;
mod error;
mod predicate;
mod split;

pub use column::{Column, schema};
pub use error::{Result, ScanError};
pub use predicate::Predicate;
pub use split::{AbortedRange, Slice, Split};
