//! The report of opening one log.

/// The repairs and findings of opening one log.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Segments of which every batch was checked.
    pub segments_checked: u64,
    /// Batches in them.
    pub batches_checked: u64,
    /// Bytes cut off the end, including the bytes of removed segments.
    pub bytes_cut: u64,
    /// Why bytes were cut off.
    pub cut_reason: Option<String>,
    /// The log lacks durable records at its end, and another replica has them.
    pub is_short: bool,
    /// The log lacks durable records, and the operator has accepted the loss.
    pub is_accepted: bool,
    /// Notes for the operator.
    pub notes: Vec<Note>,
    /// Segments below the recovery point whose indexes were rebuilt.
    pub indexes_rebuilt: u64,
}

/// One sentence about what opening a log found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Records are or may be gone; false for the ordinary result of a crash.
    pub is_loss: bool,
    /// The sentence, which names the partition.
    pub text: String,
}

impl Note {
    pub(super) fn loss(text: String) -> Self {
        Self { is_loss: true, text }
    }

    pub(super) fn ordinary(text: String) -> Self {
        Self { is_loss: false, text }
    }
}
