//! How much may be inflated to judge batches.

/// Inflated bytes that are left: for a turn of a network loop, or for a request on a thread of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub(super) bytes: usize,
    pub(super) kind: Kind,
}

/// Who looks at the batch, and what becomes of one that needs more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A network loop: what may be slow is left at once.
    Here,
    /// A thread of its own, for little: the rest is left.
    Little,
    /// A thread of its own, for all that the request may have.
    Request,
}

impl Room {
    /// So much, here and now; a batch that needs more is not judged, and its caller finds another place for it.
    pub const fn here(bytes: usize) -> Self {
        let kind = Kind::Here;
        Self { bytes, kind }
    }

    /// So much on a thread of its own; a batch that needs more is not judged, whatever it is.
    pub const fn little(bytes: usize) -> Self {
        let kind = Kind::Little;
        Self { bytes, kind }
    }

    /// So much for all batches of a request; one that needs more is refused.
    pub const fn of_request(bytes: usize) -> Self {
        let kind = Kind::Request;
        Self { bytes, kind }
    }

    /// As much as the rules allow.
    pub const fn unlimited() -> Self {
        Self::of_request(usize::MAX)
    }

    /// What is left.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_final(&self) -> bool {
        self.kind == Kind::Request
    }

    pub(super) fn take(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}
