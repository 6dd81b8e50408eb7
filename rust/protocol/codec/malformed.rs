//! What may be wrong with bytes. No variant carries what the bytes say.

/// Why bytes are not the message that they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A field or a declared length runs past the end.
    #[error("the bytes end inside a field")]
    Truncated,
    /// A length below -1.
    #[error("a length is negative")]
    NegativeLength,
    /// Null where the table has no null.
    #[error("a field that must not be null is null")]
    UnexpectedNull,
    /// More elements declared than the bytes that follow can hold.
    #[error("more elements are declared than the bytes that follow can hold")]
    CountTooLarge,
    /// More elements than one message may have, however long it is.
    #[error("the request has more elements than the limit of one request")]
    TooManyElements,
    /// More rows than this API takes in one request.
    #[error("the request has more rows than this API takes at once")]
    TooManyRows,
    /// A varint of more than five bytes, or of more than 32 bits.
    #[error("a variable-length integer is too long")]
    VarintTooLong,
    /// A string longer than 32767 bytes.
    #[error("a string is longer than 32767 bytes")]
    StringTooLong,
    /// A string that is not UTF-8 and is too long as the text that Java reads.
    #[error("a string is not UTF-8")]
    InvalidUtf8,
    /// A marker of a nullable struct that is neither -1 nor 1.
    #[error("a field has a value outside of its type")]
    InvalidValue,
    /// Tags not in ascending order, or the same tag twice.
    #[error("tagged fields are not in ascending order")]
    UnsortedTags,
    /// A tagged field whose content is shorter or longer than its declared size.
    #[error("a tagged field differs from its declared size")]
    TagSizeMismatch,
    /// Bytes after the last field.
    #[error("bytes follow the last field")]
    TrailingBytes,
}
