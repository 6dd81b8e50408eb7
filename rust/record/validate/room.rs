//! How much may be inflated to judge batches.

/// Inflated bytes that are left: for a turn of a network loop, or for a request on a thread of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub(super) bytes: usize,
    pub(super) is_final: bool,
}

impl Room {
    /// So much, here and now; a batch that needs more is not judged, and its caller finds another place for it.
    pub const fn here(bytes: usize) -> Self {
        Self { bytes, is_final: false }
    }

    /// So much for all batches of a request; one that needs more is refused.
    pub const fn of_request(bytes: usize) -> Self {
        Self { bytes, is_final: true }
    }

    /// As much as the rules allow.
    pub const fn unlimited() -> Self {
        Self::of_request(usize::MAX)
    }

    /// What is left.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn take(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}
