//! The errors of a scan, by what the caller can do about them.

use std::io;
use std::path::PathBuf;

use base::error::Error;
use base::place::{Offset, Position};

/// Why a plan or a read failed. A scan that fails has given no wrong row.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The caller's mistake: one sentence naming what was given, its value and the fix.
    #[error("{0}")]
    Invalid(String),
    /// No such topic, partition or directory; one sentence.
    #[error("{0}")]
    NotFound(String),
    /// Bytes that must be valid are not.
    #[error("{path} is corrupt at position {position}: {reason}")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Byte position in it.
        position: Position,
        /// What is wrong.
        reason: String,
    },
    /// A batch that cannot be read.
    #[error(
        "{topic}-{partition}: the batch at offset {offset} cannot be read: {path} is corrupt at position {position}: \
         {reason}; ignore_corrupt_batches (Spark: ignoreCorruptBatches) goes on behind it"
    )]
    CorruptBatch {
        /// The topic.
        topic: String,
        /// The partition.
        partition: i32,
        /// The batch has this offset, or follows it.
        offset: Offset,
        /// The file.
        path: PathBuf,
        /// Byte position in it.
        position: Position,
        /// What is wrong.
        reason: String,
    },
    /// Records of the planned range are gone (retention, truncation, deletion): Spark's `failOnDataLoss`.
    #[error("{topic}-{partition}: offsets {from} to {to} are lost: {reason}")]
    Lost {
        /// The topic.
        topic: String,
        /// The partition.
        partition: i32,
        /// First offset that is gone.
        from: Offset,
        /// One past the last.
        to: Offset,
        /// How it was noticed.
        reason: String,
    },
    /// The operating system refused an operation.
    #[error("{op} of {path} failed: {source}")]
    Io {
        /// The verb, as in "read" or "open".
        op: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A value that does not fit its schema, in the mode FAILFAST.
    #[error(
        "{topic}-{partition}: the value at offset {offset} is malformed: {reason}; set mode to PERMISSIVE or \
         DROPMALFORMED to go on"
    )]
    BadValue {
        /// The topic.
        topic: String,
        /// The partition.
        partition: i32,
        /// The record's offset.
        offset: Offset,
        /// What does not fit.
        reason: String,
    },
    /// Values cannot be parsed at all: their schema cannot be had; one sentence.
    #[error("{0}")]
    Values(String),
    /// A state file beside the segments that cannot be understood.
    #[error(transparent)]
    Storage(Error),
}

impl From<Error> for ScanError {
    fn from(error: Error) -> Self {
        match error {
            Error::Io { op, path, source } => Self::Io { op, path, source },
            Error::CorruptFile { path, position, reason } => Self::Corrupt { path, position, reason },
            other => Self::Storage(other),
        }
    }
}

/// A scan's result.
pub type Result<T, E = ScanError> = std::result::Result<T, E>;
