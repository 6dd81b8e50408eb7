//! The bytes of a slice, read by `pread` into one window that all slices of a reader share.
//!
//! The window is [`WINDOW_BYTES`] and grows only for a batch that is larger, never beyond what the slice has left: no length
//! field of a file makes it allocate more than the file can fill. What stands in it is consumed from the front; the rest of a
//! batch that is cut by the window's end moves to the front before the next read. It never maps a file (a truncation would be
//! SIGBUS) and knows nothing of batches.

use std::io;
use std::sync::Arc;

use crate::io::File;

/// Bytes per read: small enough that the batch read last is still in the second-level cache when it is checked and decoded, large
/// enough that the call costs nothing beside the copy.
pub(super) const WINDOW_BYTES: usize = 256 * 1024;

/// From so many bytes on, a read brings what is asked for and no more: else half a batch would move to the front again and again.
const EXACT_FROM_BYTES: usize = WINDOW_BYTES / 4;

/// Why bytes of a slice are not there.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The file ends before the slice does.
    Truncated,
    /// The system refused the read.
    Io(io::Error),
}

/// A window over one slice at a time.
#[derive(Default)]
pub(super) struct Source {
    file: Option<Arc<dyn File>>,
    buffer: Vec<u8>,
    /// What of `buffer` is filled and not consumed.
    at: usize,
    filled: usize,
    /// Position in the file of `buffer[at]`.
    position: u64,
    end: u64,
}

impl Source {
    /// Goes to bytes `[start, end)` of `file`; nothing is read yet.
    pub(super) fn start(&mut self, file: Arc<dyn File>, start: u64, end: u64) {
        file.advise_sequential(start, end);
        self.file = Some(file);
        self.at = 0;
        self.filled = 0;
        self.position = start;
        self.end = end;
    }

    /// Closes the file; the window stays for the next slice.
    pub(super) fn close(&mut self) {
        self.file = None;
    }

    /// File position of the first byte not consumed.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// Bytes of the slice not consumed.
    pub(super) const fn remaining(&self) -> u64 {
        self.end.saturating_sub(self.position)
    }

    /// Bytes that the window takes.
    #[cfg(test)]
    pub(super) const fn capacity(&self) -> usize {
        self.buffer.len()
    }

    /// Has the first `len` bytes in the window; `len` must not exceed [`Self::remaining`].
    #[inline]
    pub(super) fn fill(&mut self, len: usize) -> Result<(), ReadError> {
        if self.filled - self.at >= len {
            return Ok(());
        }
        self.read_until(len)
    }

    /// The first `len` bytes; those that [`Self::fill`] brought.
    #[inline]
    pub(super) fn bytes(&self, len: usize) -> &[u8] {
        &self.buffer[self.at..self.at + len]
    }

    /// The big-endian 64-bit integer `at` bytes from the front, where that much is in the window.
    #[inline]
    pub(super) fn peek_i64(&self, at: usize) -> Option<i64> {
        let window = self.buffer.get(self.at..self.filled)?;
        Some(i64::from_be_bytes(*window.get(at..)?.first_chunk()?))
    }

    /// Drops `len` bytes from the front, be they in the window or not.
    pub(super) fn consume(&mut self, len: usize) {
        self.at = (self.at + len).min(self.filled);
        self.position += len as u64;
        // Beyond the window the next read starts at `position`, with an empty window.
        if self.at == self.filled {
            self.at = 0;
            self.filled = 0;
        }
    }

    fn read_until(&mut self, len: usize) -> Result<(), ReadError> {
        self.buffer.copy_within(self.at..self.filled, 0);
        self.filled -= self.at;
        self.at = 0;
        let most = usize::try_from(self.remaining()).unwrap_or(usize::MAX);
        let wanted = if len < EXACT_FROM_BYTES { WINDOW_BYTES } else { len };
        let wanted = wanted.min(most);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        let Some(file) = &self.file else {
            return Err(ReadError::Truncated);
        };
        while self.filled < len {
            let position = self.position + self.filled as u64;
            match file.read_at(&mut self.buffer[self.filled..wanted], position) {
                Ok(0) => return Err(ReadError::Truncated),
                Ok(read) => self.filled += read,
                Err(error) => return Err(ReadError::Io(error)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
