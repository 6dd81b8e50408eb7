//! Walks the batches of a segment file and goes on behind bad ones.
//!
//! Reads large pieces into one buffer, grown only for a batch that is larger. Bytes that do not fit are read once more
//! before they are called bad: a broker may be writing beside us. What a step gives:
//! - (a) a batch whose CRC holds;
//! - (b) a bad one, behind which the next was found by its length;
//! - (c) a bad one behind which nothing can be found: the walk is over;
//! - (d) the file ends within a batch; (e) nothing but zeros follow; (f) the end.
//!
//! Never believes a field of a bad batch but its length, and that only when a batch with a later offset stands there.

use std::path::Path;

use crate::error::{Error, Result};
use crate::io::File;
use crate::record::{BATCH_HEADER, Batch, BatchHeader, LOG_OVERHEAD};

/// Stays in the cache between the read and the CRC.
pub const BUFFER_BYTES: usize = 1024 * 1024;
/// A length beyond it is believed only when a batch stands behind, before so much is read.
const LARGE_BATCH: u64 = 16 * 1024 * 1024;
const ZEROS_PIECE: usize = 4096;

/// What stands at a position.
pub enum Step<'b> {
    /// (a)
    Batch(Batch<'b>),
    /// (b)
    Bad {
        /// What its first 8 bytes say.
        base_offset: i64,
        /// What is wrong.
        reason: String,
    },
    /// (c)
    Lost(String),
    /// (d)
    Torn,
    /// (e)
    Zeros,
    /// (f)
    End,
}

/// See the module.
pub struct Walk<'a> {
    file: &'a dyn File,
    path: &'a Path,
    len: u64,
    buffer: &'a mut Vec<u8>,
    /// File position of the buffer's first byte, and how many bytes it holds.
    buffer_at: u64,
    filled: usize,
    position: u64,
    next: u64,
}

impl<'a> Walk<'a> {
    /// Over the first `len` bytes of `file`.
    pub fn new(file: &'a dyn File, path: &'a Path, len: u64, buffer: &'a mut Vec<u8>) -> Self {
        if buffer.len() < BUFFER_BYTES {
            buffer.resize(BUFFER_BYTES, 0);
        }
        Self {
            file,
            path,
            len,
            buffer,
            buffer_at: 0,
            filled: 0,
            position: 0,
            next: 0,
        }
    }

    /// Where the step that was given last stands.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Where the step after it will stand.
    pub fn next_position(&self) -> u64 {
        self.next
    }

    /// The next step; after (c), (d), (e) and (f) there is none.
    pub fn step(&mut self) -> Result<Step<'_>> {
        self.position = self.next;
        let rest = self.len - self.position;
        if rest == 0 {
            return Ok(Step::End); // (f)
        }
        if rest < BATCH_HEADER as u64 {
            return self.zeros_or(Step::Torn);
        }
        self.hold(BATCH_HEADER)?;
        let size = match BatchHeader::parse(self.held()) {
            Ok(header) => header.size_bytes(),
            Err(error) => return self.bad_head(error.to_string()),
        };
        let base_offset = self.base_offset();
        if size as u64 > rest {
            return self.zeros_or(Step::Torn); // (d)
        }
        let next = self.position + size as u64;
        if size as u64 > LARGE_BATCH && !self.is_batch_after(next, base_offset)? {
            return Ok(lost(&format!("batch length {} leads to no batch", size - LOG_OVERHEAD)));
        }
        self.hold(size)?;
        let mut verdict = self.verify(size);
        if verdict.is_err() {
            self.filled = 0;
            self.hold(size)?;
            verdict = self.verify(size);
        }
        if let Err(reason) = verdict {
            if !self.is_batch_after(next, base_offset)? {
                let length = size - LOG_OVERHEAD;
                return Ok(lost(&format!("{reason}, and its length {length} leads to no batch")));
            }
            self.next = next;
            return Ok(Step::Bad { base_offset, reason }); // (b)
        }
        self.next = next;
        match Batch::split_first(self.held()) {
            Ok(Some((batch, _))) => Ok(Step::Batch(batch)), // (a)
            _ => Ok(Step::Torn),
        }
    }

    fn verify(&self, size: usize) -> Result<(), String> {
        match Batch::split_first(self.held().get(..size).unwrap_or_default()) {
            Ok(Some((batch, _))) => batch.verify_crc().map_err(|error| error.to_string()),
            Ok(None) => Err("the batch is shorter than its header".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// A header whose magic or length means nothing.
    fn bad_head(&mut self, reason: String) -> Result<Step<'static>> {
        if self.is_zero_from(self.position)? {
            return Ok(Step::Zeros); // (e)
        }
        let base_offset = self.base_offset();
        let length = i32::from_be_bytes(crate::index::entry_file::array_at(self.held(), 8));
        if let Ok(length) = u64::try_from(length)
            && self.position + LOG_OVERHEAD as u64 + length <= self.len
            && self.is_batch_after(self.position + LOG_OVERHEAD as u64 + length, base_offset)?
        {
            self.next = self.position + LOG_OVERHEAD as u64 + length;
            return Ok(Step::Bad { base_offset, reason }); // (b)
        }
        Ok(lost(&reason))
    }

    fn base_offset(&self) -> i64 {
        i64::from_be_bytes(crate::index::entry_file::array_at(self.held(), 0))
    }

    /// Whether the file ends at `at`, or a batch with a later offset stands there.
    fn is_batch_after(&self, at: u64, base_offset: i64) -> Result<bool> {
        if at == self.len {
            return Ok(true);
        }
        if self.len - at < BATCH_HEADER as u64 {
            return Ok(false);
        }
        let mut head = [0; BATCH_HEADER];
        self.read(&mut head, at)?;
        Ok(BatchHeader::parse(&head).is_ok_and(|header| header.base_offset > base_offset))
    }

    fn zeros_or(&self, step: Step<'static>) -> Result<Step<'static>> {
        Ok(if self.is_zero_from(self.position)? {
            Step::Zeros
        } else {
            step
        })
    }

    fn held(&self) -> &[u8] {
        let at = (self.position - self.buffer_at) as usize;
        self.buffer.get(at..self.filled).unwrap_or_default()
    }

    /// Makes the buffer hold `needed` bytes from the position; the file has them.
    fn hold(&mut self, needed: usize) -> Result<()> {
        let kept = if self.filled == 0 {
            0..0
        } else {
            (self.position - self.buffer_at) as usize..self.filled
        };
        if kept.len() >= needed {
            return Ok(());
        }
        self.buffer.copy_within(kept.clone(), 0);
        (self.buffer_at, self.filled) = (self.position, kept.len());
        if self.buffer.len() < needed {
            self.buffer.resize(needed, 0);
        }
        let from = self.buffer_at + self.filled as u64;
        let wanted = (self.len - from).min((self.buffer.len() - self.filled) as u64) as usize;
        let target = self
            .buffer
            .get_mut(self.filled..self.filled + wanted)
            .unwrap_or_default();
        self.file
            .read_exact_at(target, from)
            .map_err(|error| Error::io("read", self.path, error))?;
        self.filled += wanted;
        Ok(())
    }

    fn read(&self, target: &mut [u8], at: u64) -> Result<()> {
        let read = self.file.read_exact_at(target, at);
        read.map_err(|error| Error::io("read", self.path, error))
    }

    fn is_zero_from(&self, mut position: u64) -> Result<bool> {
        let mut piece = [0; ZEROS_PIECE];
        while position < self.len {
            let len = (self.len - position).min(piece.len() as u64) as usize;
            let target = &mut piece[..len];
            self.read(target, position)?;
            if target.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            position += len as u64;
        }
        Ok(true)
    }
}

/// (c)
fn lost(reason: &str) -> Step<'static> {
    Step::Lost(format!("{reason}; what follows in the file was not checked"))
}
