//! The limit of inflated bytes for the validation of batches.

/// Inflated bytes that are left: for a turn of a network loop, or for a request on a thread of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub(super) bytes: usize,
    pub(super) kind: Kind,
}

/// Where a batch is validated, and what happens to a batch that needs more room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// On a network loop: a batch that may be slow is left to another thread at once.
    Here,
    /// On a thread of its own with little room: a batch that needs more is left.
    Little,
    /// On a thread of its own with all the room of the request: a batch that needs more is refused.
    Request,
}

impl Room {
    /// Room on a network loop. A batch that needs more is not validated; the caller hands it to another thread.
    pub const fn here(bytes: usize) -> Self {
        let kind = Kind::Here;
        Self { bytes, kind }
    }

    /// Room on a thread of its own. A batch that needs more is not validated.
    pub const fn little(bytes: usize) -> Self {
        let kind = Kind::Little;
        Self { bytes, kind }
    }

    /// Room for all batches of a request; a batch that needs more is refused.
    pub const fn of_request(bytes: usize) -> Self {
        let kind = Kind::Request;
        Self { bytes, kind }
    }

    /// As much as the rules allow.
    pub const fn unlimited() -> Self {
        Self::of_request(usize::MAX)
    }

    /// The bytes that are left.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether a batch that needs more is refused, not left.
    pub fn is_final(&self) -> bool {
        self.kind == Kind::Request
    }

    /// Notes that `bytes` were inflated.
    pub fn take(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}
