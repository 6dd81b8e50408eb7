//! Whether a read may wait for the disk.
//!
//! A network loop must not wait: every connection of the loop would wait with it (KAFKA-7504). It reads only bytes that
//! are in memory, the page cache included (`preadv2` with `RWF_NOWAIT` instead of `pread`). Other bytes are
//! [`Error::NotAtHand`](base::error::Error::NotAtHand), and the request goes on in a thread that may wait.

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// For as long as the disk takes.
    Yes,
    /// Not at all.
    No,
}
