//! Why records cannot be read, in one sentence.

use base::error::ErrorCode;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct ConsumerError {
    /// The sentence.
    pub sentence: String,
    /// Kafka's error, where a broker answered one.
    pub code: Option<ErrorCode>,
    /// Whether the same call may succeed later.
    pub is_retriable: bool,
}

/// A consumer's result.
pub type Result<T, E = ConsumerError> = std::result::Result<T, E>;

impl ConsumerError {
    /// What asking again does not mend.
    pub(super) fn lasting(sentence: String) -> Self {
        Self {
            sentence,
            code: None,
            is_retriable: false,
        }
    }

    /// The same, as what asking again does not mend.
    pub(super) fn lasting_too(self) -> Self {
        Self {
            is_retriable: false,
            ..self
        }
    }

    /// What a broker refused.
    pub(super) fn of_code(code: ErrorCode, sentence: String) -> Self {
        Self {
            sentence,
            code: Some(code),
            is_retriable: code.is_retriable(),
        }
    }
}
