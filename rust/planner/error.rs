//! Why a read cannot be planned, by what the caller can do about it. Every error is one sentence.

use scan::ScanError;
use values::ValueError;

/// Why a read cannot be planned.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A mistake in an option: the sentence names the option, its value and the fix.
    #[error("{0}")]
    Invalid(String),
    /// No such topic or partition; the sentence names the option to correct.
    #[error("{0}")]
    NotFound(String),
    /// The broker of `kafka.bootstrap.servers` gave no answer that could be used.
    #[error("{0}")]
    Unreachable(String),
    /// The broker refuses to describe the topic.
    #[error("{0}")]
    Forbidden(String),
    /// The files cannot be planned, or records are gone.
    #[error(transparent)]
    Scan(#[from] ScanError),
}

impl From<ValueError> for PlanError {
    fn from(error: ValueError) -> Self {
        match error {
            ValueError::Invalid(sentence) => Self::Invalid(sentence),
            ValueError::Registry(sentence) => Self::Unreachable(sentence),
        }
    }
}

/// A planner's result.
pub type Result<T, E = PlanError> = std::result::Result<T, E>;
