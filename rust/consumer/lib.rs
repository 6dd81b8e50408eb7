//! A consumer without a group: the caller assigns partitions with offsets, and gets their records.
//!
//! The map: [`ConsumerOptions`] are read out of properties; [`Consumer`] drives all, in the caller's thread alone.
//! `consumer/questions` decides what is asked of which broker, `link` carries one question at a time over a connection
//! that never waits, `requests` writes and reads what goes over it, `consumer/answers` says what an answer means for a
//! `partition`, whose fetched `chunk`s are handed over as [`FetchedRecords`].
//!
//! Never: commits an offset, waits longer than its caller says, makes a thread.

#![forbid(unsafe_code)]

mod chunk;
mod consumer;
mod error;
mod link;
mod options;
mod partition;
mod records;
mod requests;

#[cfg(test)]
mod tests;

pub use consumer::Consumer;
pub use error::{ConsumerError, Result};
pub use options::{ConsumerOptions, Reset};
pub use records::{FetchedRecords, Run};
