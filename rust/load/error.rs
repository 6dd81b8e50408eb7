//! Why a load cannot be built.

use base::error::Error;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A row or an argument is wrong; the sentence names it and the way out.
    #[error("{0}")]
    Invalid(String),
    /// The stream of rows ended with an error.
    #[error("the rows cannot be read: {0}")]
    Rows(String),
    /// The disk or the system failed.
    #[error("{0}")]
    Storage(#[from] Error),
}

/// A result of this folder.
pub type Result<T> = std::result::Result<T, LoadError>;
