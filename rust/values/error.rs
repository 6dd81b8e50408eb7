//! What is wrong with the options of values, with a schema, or with the registry that has it.

/// One sentence that names the option, its value and the fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A mistake in an option or a schema.
    #[error("{0}")]
    Invalid(String),
    /// The schema registry cannot be asked, or has no such schema.
    #[error("{0}")]
    Registry(String),
}

/// A result of this folder.
pub type Result<T, E = ValueError> = std::result::Result<T, E>;

/// An [`ValueError::Invalid`].
pub(super) fn invalid<T>(sentence: impl Into<String>) -> Result<T> {
    Err(ValueError::Invalid(sentence.into()))
}
