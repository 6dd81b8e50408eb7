//! The length of a thread's turn, which macOS chooses by itself.

use std::io;

/// Refuses: nobody can ask for it.
pub fn ask_for_turns_of(_nanoseconds: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
