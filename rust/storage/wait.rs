//! Whether a read may wait for the disk.
//!
//! A network loop may not: every connection of the loop would wait with it (KAFKA-7504). Its reads are of what is in
//! memory, the page cache included, by the same system calls (`preadv2` with `RWF_NOWAIT` in the place of `pread`);
//! what is not is [`Error::NotAtHand`](crate::error::Error::NotAtHand), and the request goes on where it may wait.

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// For as long as the disk takes.
    Yes,
    /// Not at all.
    No,
}
