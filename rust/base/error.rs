//! The crate's one error type, and Kafka's error codes.
//!
//! Variants are told apart by what the caller can do; nothing matches on text. An [`ErrorCode`] is what a client gets.

pub mod shortage;

use std::io;
use std::path::{Path, PathBuf};

use self::shortage::{is_shortage, is_shortage_before_sync};
use crate::place::{Offset, Position};

/// A Kafka protocol error code; 0 is success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ErrorCode(pub i16);

macro_rules! codes {
    ($($name:ident = $value:literal),+ $(,)?) => {
        impl ErrorCode {
            $(#[doc = concat!("Kafka's `", stringify!($name), "`.")] pub const $name: Self = Self($value);)+

            /// Kafka's name of the code, for messages and logs.
            pub const fn name(self) -> &'static str {
                match self { $(Self($value) => stringify!($name),)+ _ => "UNKNOWN" }
            }
        }
    };
}

codes! {
    UNKNOWN_SERVER_ERROR = -1, NONE = 0, OFFSET_OUT_OF_RANGE = 1, CORRUPT_MESSAGE = 2, UNKNOWN_TOPIC_OR_PARTITION = 3,
    INVALID_FETCH_SIZE = 4, LEADER_NOT_AVAILABLE = 5, NOT_LEADER_OR_FOLLOWER = 6, REQUEST_TIMED_OUT = 7,
    BROKER_NOT_AVAILABLE = 8, REPLICA_NOT_AVAILABLE = 9, MESSAGE_TOO_LARGE = 10, STALE_CONTROLLER_EPOCH = 11,
    OFFSET_METADATA_TOO_LARGE = 12, NETWORK_EXCEPTION = 13, COORDINATOR_LOAD_IN_PROGRESS = 14,
    COORDINATOR_NOT_AVAILABLE = 15, NOT_COORDINATOR = 16, INVALID_TOPIC_EXCEPTION = 17, RECORD_LIST_TOO_LARGE = 18,
    NOT_ENOUGH_REPLICAS = 19, NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, INVALID_REQUIRED_ACKS = 21,
    ILLEGAL_GENERATION = 22, INVALID_GROUP_ID = 24, UNKNOWN_MEMBER_ID = 25, REBALANCE_IN_PROGRESS = 27,
    INVALID_COMMIT_OFFSET_SIZE = 28,
    TOPIC_AUTHORIZATION_FAILED = 29, GROUP_AUTHORIZATION_FAILED = 30,
    CLUSTER_AUTHORIZATION_FAILED = 31, INVALID_TIMESTAMP = 32,
    UNSUPPORTED_SASL_MECHANISM = 33, ILLEGAL_SASL_STATE = 34, UNSUPPORTED_VERSION = 35, INVALID_PARTITIONS = 37,
    INVALID_CONFIG = 40, NOT_CONTROLLER = 41, INVALID_REQUEST = 42,
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, POLICY_VIOLATION = 44, OUT_OF_ORDER_SEQUENCE_NUMBER = 45,
    DUPLICATE_SEQUENCE_NUMBER = 46, INVALID_PRODUCER_EPOCH = 47, INVALID_TXN_STATE = 48,
    INVALID_PRODUCER_ID_MAPPING = 49, INVALID_TRANSACTION_TIMEOUT = 50, CONCURRENT_TRANSACTIONS = 51,
    TRANSACTION_COORDINATOR_FENCED = 52, TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53,
    OPERATION_NOT_ATTEMPTED = 55, KAFKA_STORAGE_ERROR = 56, LOG_DIR_NOT_FOUND = 57,
    SASL_AUTHENTICATION_FAILED = 58, UNKNOWN_PRODUCER_ID = 59,
    GROUP_ID_NOT_FOUND = 69, FETCH_SESSION_ID_NOT_FOUND = 70,
    INVALID_FETCH_SESSION_EPOCH = 71, LISTENER_NOT_FOUND = 72, FENCED_LEADER_EPOCH = 74, UNKNOWN_LEADER_EPOCH = 75,
    UNSUPPORTED_COMPRESSION_TYPE = 76, OFFSET_NOT_AVAILABLE = 78, FENCED_INSTANCE_ID = 82, INVALID_RECORD = 87,
    UNSTABLE_OFFSET_COMMIT = 88,
    THROTTLING_QUOTA_EXCEEDED = 89, PRODUCER_FENCED = 90, UNKNOWN_TOPIC_ID = 100, INCONSISTENT_TOPIC_ID = 103,
    TRANSACTIONAL_ID_NOT_FOUND = 105, FETCH_SESSION_TOPIC_ID_ERROR = 106, TRANSACTION_ABORTABLE = 120,
    INVALID_REGULAR_EXPRESSION = 128,
}

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
