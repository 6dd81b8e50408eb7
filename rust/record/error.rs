//! What can be wrong with a batch, and which Kafka error a client gets for it.

use super::Codec;
use base::error::{Error, ErrorCode};

/// Why bytes are not a good record batch. Never carries record contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// Fewer bytes than the fixed header.
    #[error("a batch header needs {needed} bytes, but only {available} are left")]
    TooShort {
        /// Bytes that the header takes.
        needed: usize,
        /// Bytes there are.
        available: usize,
    },
    /// The declared length cannot hold a batch header.
    #[error("batch length {length} is less than the minimum of {minimum}")]
    InvalidSize {
        /// The `batch_length` field.
        length: i32,
        /// The least that is legal.
        minimum: i32,
    },
    /// A message format other than v0, v1 and v2, or other than v2 where only v2 may stand.
    #[error("magic {0} is not supported here")]
    UnsupportedMagic(i8),
    /// The stored checksum is not that of the bytes.
    #[error("record batch is corrupt (stored crc = {stored}, computed crc = {computed})")]
    Crc {
        /// What the header says.
        stored: u32,
        /// What the bytes give.
        computed: u32,
    },
    /// Compression ids 5, 6 and 7 mean nothing.
    #[error("unknown compression type id {0}")]
    UnknownCodec(u8),
    /// A record's bytes do not follow the grammar.
    #[error("record {index}: {reason}")]
    InvalidRecord {
        /// Position in the batch, from 0.
        index: i32,
        /// What is wrong.
        reason: &'static str,
    },
    /// The compressed payload cannot be inflated.
    #[error("the {codec} payload cannot be inflated: {reason}")]
    Inflate {
        /// Its codec.
        codec: Codec,
        /// What is wrong.
        reason: &'static str,
    },
    /// The payload inflates to more than the caller allows.
    #[error("the payload inflates to more than {limit} bytes")]
    InflateLimit {
        /// The most that was allowed.
        limit: usize,
    },
    /// A zstd frame whose window is too large to inflate it piece by piece.
    #[error("the zstd frame needs a window of more than 32 MiB; compress smaller batches, or at a lower level")]
    InflateWindow,
    /// The codec's library refused to compress.
    #[error("cannot compress with {codec}")]
    Deflate {
        /// The codec.
        codec: Codec,
    },
    /// The old formats have no such codec.
    #[error("records that are compressed with {codec} cannot be sent as messages of magic 0 or 1")]
    NotInLegacy {
        /// The batch's codec.
        codec: Codec,
    },
    /// A control record's key or value is not one.
    #[error("invalid control record: {0}")]
    InvalidControlRecord(&'static str),
}

impl BatchError {
    /// The code that Kafka 4.4 gives a producer for it.
    ///
    /// A payload that cannot be inflated, or of an unknown codec, is an unexpected exception in Kafka. One that grows
    /// beyond the limit gets `MESSAGE_TOO_LARGE`, on which clients split the batch; Kafka has no such limit.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::TooShort { .. } | Self::InvalidSize { .. } | Self::UnsupportedMagic(_) | Self::Crc { .. } => {
                ErrorCode::CORRUPT_MESSAGE
            }
            Self::InvalidRecord { .. } | Self::InvalidControlRecord(_) => ErrorCode::INVALID_RECORD,
            Self::InflateLimit { .. } | Self::InflateWindow => ErrorCode::MESSAGE_TOO_LARGE,
            Self::NotInLegacy { .. } => ErrorCode::UNSUPPORTED_COMPRESSION_TYPE,
            Self::UnknownCodec(_) | Self::Inflate { .. } | Self::Deflate { .. } => ErrorCode::UNKNOWN_SERVER_ERROR,
        }
    }
}

impl From<BatchError> for Error {
    fn from(error: BatchError) -> Self {
        Self::rejected(error.code(), error.to_string())
    }
}
