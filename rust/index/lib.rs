//! The index files beside a segment.
//!
//! - `entry_file`: fixed-size entries, in memory while the segment is active, read from the file once it is sealed.
//! - `offset_index`: offset → position; `time_index`: timestamp → offset; `transaction_index`: aborted transactions.
//! - `search`: the binary search that all of them use.
//!
//! An index only says where to start scanning the log. A wrong or missing index costs time, never correctness, and is
//! rebuilt from the log.

#![forbid(unsafe_code)]

pub mod entry_file;
pub mod offset_index;
pub mod search;
pub mod time_index;
pub mod transaction_index;

pub use offset_index::{OffsetIndex, OffsetPosition};
pub use time_index::{TimeIndex, TimestampOffset};
pub use transaction_index::{AbortedTxn, TransactionIndex};

#[cfg(test)]
mod tests;
