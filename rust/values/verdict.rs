//! Whether a value fits its schema, and why one does not.

/// What became of a value. Either way one row was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecodeOutcome {
    Good,
    /// What does not fit is null in the row; all of it, when the value cannot be read.
    Bad,
}

/// The first reason why a value is bad; texts are made only for a caller that wants to fail.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    wants_text: bool,
    first: Option<String>,
}

impl Reasons {
    pub(super) fn new(wants_text: bool) -> Self {
        Self {
            wants_text,
            first: None,
        }
    }

    #[inline]
    pub(super) fn add(&mut self, text: impl FnOnce() -> String) {
        if self.wants_text && self.first.is_none() {
            self.first = Some(text());
        }
    }

    pub(super) fn take(&mut self) -> Option<String> {
        self.first.take()
    }
}
