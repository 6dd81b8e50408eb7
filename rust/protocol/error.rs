//! What may be wrong with bytes. In a request every variant but [`WireError::TooManyRows`] closes the connection; none
//! carries what the bytes say.

/// The bytes are not a well-formed frame, header or body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A field or a declared length runs past the end.
    #[error("the bytes end inside a field")]
    Truncated,
    /// A length below -1, or -1 where null is not allowed.
    #[error("a length is negative")]
    NegativeLength,
    /// Null where the schema has no null.
    #[error("a field that must not be null is null")]
    UnexpectedNull,
    /// More elements declared than the bytes that follow can hold.
    #[error("more elements are declared than the bytes that follow can hold")]
    CountTooLarge,
    /// More elements than this broker takes in one request, however large the frame.
    #[error("the request has more elements than the limit of one request")]
    TooManyElements,
    /// More rows than this API takes in one request.
    #[error("the request has more rows than this API takes at once")]
    TooManyRows,
    /// A varint of more than five bytes, or one that overflows 32 bits.
    #[error("a variable-length integer is too long")]
    VarintTooLong,
    /// A string longer than 32767 bytes.
    #[error("a string is longer than 32767 bytes")]
    StringTooLong,
    /// A string that is not UTF-8; [`super::mended`] makes it text.
    #[error("a string is not UTF-8")]
    InvalidUtf8 {
        /// Where its length stands in the bytes that are decoded.
        length_at: u32,
        /// Whether the length is a varint.
        is_flexible: bool,
    },
    /// Tags not in ascending order, or the same tag twice.
    #[error("tagged fields are not in ascending order")]
    UnsortedTags,
    /// A tagged field whose content is shorter or longer than its declared size.
    #[error("a tagged field differs from its declared size")]
    TagSizeMismatch,
    /// A marker of a nullable struct that is neither -1 nor 1.
    #[error("a field has a value outside of its type")]
    InvalidValue,
    /// Bytes after the last field.
    #[error("bytes follow the last field")]
    TrailingBytes,
    /// A version that this decoder does not support.
    #[error("the version is not supported")]
    UnsupportedVersion,
}
