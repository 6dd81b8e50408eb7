//! Reads a segment's batches one after the other, in large pieces, and checks each.
//!
//! The buffer is the thread's, reused from log to log: small enough to stay in the cache between the read and the CRC,
//! grown only for a batch that is larger, which is never more than what the file still has.

use std::cell::RefCell;
use std::path::Path;

use crate::error::{Error, Result};
use crate::io::File;
use crate::record::{BATCH_HEADER, Batch, BatchHeader};

const BUFFER: usize = 256 * 1024;
/// A buffer that had to grow beyond this is given back.
const KEEP: usize = 4 * 1024 * 1024;

thread_local! {
    static SHARED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Lends the thread's buffer.
pub fn with_reader<T>(read: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    SHARED.with_borrow_mut(|buffer| {
        if buffer.len() < BUFFER {
            buffer.resize(BUFFER, 0);
        }
        let result = read(buffer);
        if buffer.len() > KEEP {
            *buffer = Vec::new();
        }
        result
    })
}

/// What stands at a position.
pub enum Step<'b> {
    /// A whole batch with a right CRC.
    Batch(Batch<'b>),
    /// The end of the file.
    End,
    /// The file ends within a batch.
    Torn,
    /// Nothing but zeros up to the end: preallocated, or lost in a power failure.
    Zeros,
    /// Bytes that are no batch, or one whose CRC is wrong.
    Bad(String),
}

/// See the module.
pub struct BatchReader<'a> {
    file: &'a dyn File,
    path: &'a Path,
    len: u64,
    buffer: &'a mut Vec<u8>,
    /// File position of the buffer's first byte, and how many bytes it holds.
    buffer_at: u64,
    filled: usize,
    position: u64,
    previous: u64,
}

impl<'a> BatchReader<'a> {
    /// Reads `len` bytes of `file` from the start.
    pub fn new(file: &'a dyn File, path: &'a Path, len: u64, buffer: &'a mut Vec<u8>) -> Self {
        Self {
            file,
            path,
            len,
            buffer,
            buffer_at: 0,
            filled: 0,
            position: 0,
            previous: 0,
        }
    }

    /// Where the next batch begins: after the last good one.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Where the batch that was given last begins.
    pub fn batch_position(&self) -> u64 {
        self.previous
    }

    /// Takes the last batch back: it was no good after all.
    pub fn step_back(&mut self) {
        self.position = self.previous;
    }

    /// The next step; after anything but a batch it is the same again.
    pub fn next_batch(&mut self) -> Result<Step<'_>> {
        let rest = self.len - self.position;
        if rest == 0 {
            return Ok(Step::End);
        }
        if rest < BATCH_HEADER as u64 {
            return Ok(if self.is_zero_from(self.position)? {
                Step::Zeros
            } else {
                Step::Torn
            });
        }
        self.hold(BATCH_HEADER)?;
        let size = match BatchHeader::parse(self.held()) {
            Ok(header) => header.size_bytes(),
            Err(error) => return self.bad(error.to_string()),
        };
        if size as u64 > rest {
            return Ok(Step::Torn);
        }
        self.hold(size)?;
        let at = (self.position - self.buffer_at) as usize;
        let verified = match Batch::split_first(self.held()) {
            Ok(Some((batch, _))) => batch.verify_crc().map_err(|error| error.to_string()),
            Ok(None) => Err("the batch is shorter than its header".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(reason) = verified {
            return self.bad(reason);
        }
        (self.previous, self.position) = (self.position, self.position + size as u64);
        match Batch::split_first(self.buffer.get(at..at + size).unwrap_or_default()) {
            Ok(Some((batch, _))) => Ok(Step::Batch(batch)),
            _ => Ok(Step::Torn),
        }
    }

    fn bad(&self, reason: String) -> Result<Step<'static>> {
        Ok(if self.is_zero_from(self.position)? {
            Step::Zeros
        } else {
            Step::Bad(reason)
        })
    }

    fn held(&self) -> &[u8] {
        let at = (self.position - self.buffer_at) as usize;
        self.buffer.get(at..self.filled).unwrap_or_default()
    }

    /// Makes the buffer hold `needed` bytes from the position; the file has them.
    fn hold(&mut self, needed: usize) -> Result<()> {
        let at = (self.position - self.buffer_at) as usize;
        if at + needed <= self.filled {
            return Ok(());
        }
        self.buffer.copy_within(at..self.filled, 0);
        (self.buffer_at, self.filled) = (self.position, self.filled - at);
        if self.buffer.len() < needed {
            self.buffer.resize(needed, 0);
        }
        let file_rest = self.len - self.buffer_at - self.filled as u64;
        let read = file_rest.min((self.buffer.len() - self.filled) as u64) as usize;
        let target = self.buffer.get_mut(self.filled..self.filled + read).unwrap_or_default();
        let result = self.file.read_exact_at(target, self.buffer_at + self.filled as u64);
        result.map_err(|error| Error::io("read", self.path, error))?;
        self.filled += read;
        Ok(())
    }

    fn is_zero_from(&self, mut position: u64) -> Result<bool> {
        let mut piece = [0; 4096];
        while position < self.len {
            let read = (self.len - position).min(piece.len() as u64) as usize;
            let target = &mut piece[..read];
            self.file
                .read_exact_at(target, position)
                .map_err(|error| Error::io("read", self.path, error))?;
            if target.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            position += read as u64;
        }
        Ok(true)
    }
}
