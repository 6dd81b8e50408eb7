//! The crate's one error type, and Kafka's error codes.
//!
//! Variants are told apart by what the caller can do; nothing matches on text. An [`ErrorCode`] is what a client gets.

mod codes;
pub mod shortage;

use std::io;
use std::path::{Path, PathBuf};

pub use self::codes::{ERRORS, ErrorCode, ErrorFact};
use self::shortage::{is_shortage, is_shortage_before_sync};
use crate::place::{Offset, Position};

/// What may go wrong below the wire.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request or batch was refused and nothing was written; tell the client the code.
    #[error("{message}")]
    Rejected {
        /// What the client gets.
        code: ErrorCode,
        /// One sentence for people.
        message: String,
    },
    /// The operating system refused an operation (`KAFKA_STORAGE_ERROR`); the log directory goes offline, unless it
    /// [is a shortage](Self::is_shortage).
    #[error("{op} of {path} failed: {source}")]
    Io {
        /// The verb, as in "write" or "rename".
        op: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// What was to be made exists and is not ours: only the partition of that name is out of service, until it is gone.
    #[error("{path} is not of this broker and stands where a log must be made; move it away")]
    Taken {
        /// The file or directory.
        path: PathBuf,
    },
    /// An earlier fsync failed; what is in memory and on disk may differ, so nothing more is accepted.
    #[error("{path} is closed to writes since an fsync of it failed; restart the broker after the disk is mended")]
    Poisoned {
        /// The partition directory.
        path: PathBuf,
    },
    /// Bytes on disk that must be good are not: a start is refused, a client gets `CORRUPT_MESSAGE`. The log directory
    /// serves on.
    #[error("{path} is corrupt at position {position}: {reason}")]
    CorruptFile {
        /// The file.
        path: PathBuf,
        /// Byte position in it.
        position: Position,
        /// What is wrong.
        reason: String,
    },
    /// A log lacks what was durable; the start is refused, or the log set aside.
    #[error("{path}: {reason}")]
    Lost {
        /// The file, or the partition's directory.
        path: PathBuf,
        /// What is missing and how that is known.
        reason: String,
        /// Where the log would end without it.
        log_end_offset: Offset,
    },
    /// A small state file (checkpoint, properties) that cannot be understood.
    #[error("{path}: {reason}")]
    BadFormat {
        /// The file.
        path: PathBuf,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// Another process holds the directory.
    #[error("log.dirs: {path} is in use by another broker; stop that broker or name another directory")]
    InUse {
        /// The log directory.
        path: PathBuf,
    },
    /// It would have to be read from the disk, and the caller does not wait for that.
    #[error("{path} is not in memory")]
    NotAtHand {
        /// The file.
        path: PathBuf,
    },
    /// The log was closed or deleted meanwhile.
    #[error("{path} is closed")]
    Closed {
        /// The partition directory.
        path: PathBuf,
    },
}

impl Error {
    /// A refused request or batch.
    pub fn rejected(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Rejected {
            code,
            message: message.into(),
        }
    }

    /// Wraps a system error with what was tried and where.
    pub fn io(op: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            op,
            path: path.to_path_buf(),
            source,
        }
    }

    /// Whether only this operation failed, for want of descriptors, memory or a thread: nothing is wrong with the disk,
    /// and the same may succeed a moment later. Clients get `KAFKA_STORAGE_ERROR`, which they retry. A failed fsync is
    /// none, but for the opening of what it was to sync. See [`crate::error::shortage`].
    pub fn is_shortage(&self) -> bool {
        match self {
            Self::Io {
                op: "fsync" | "syncfs",
                source,
                ..
            } => is_shortage_before_sync(source),
            Self::Io { source, .. } => is_shortage(source),
            _ => false,
        }
    }

    /// Whether the log directory failed: not the request, and not the process for a moment.
    pub fn is_disk_failure(&self) -> bool {
        matches!(self, Self::Io { .. } | Self::Poisoned { .. }) && !self.is_shortage()
    }

    /// The code that a client gets for it.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Rejected { code, .. } => *code,
            Self::Closed { .. } => ErrorCode::NOT_LEADER_OR_FOLLOWER,
            Self::CorruptFile { .. } => ErrorCode::CORRUPT_MESSAGE,
            _ => ErrorCode::KAFKA_STORAGE_ERROR,
        }
    }
}

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;
