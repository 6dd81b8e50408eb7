//! Walks the batches of a segment file and goes on behind bad batches.
//!
//! The walk reads large pieces into one buffer, which grows only for a larger batch. Bytes that are not a good batch
//! are read once more before they count as bad: a broker may be writing the file. A step returns:
//! - (a) a batch whose CRC holds;
//! - (b) a bad batch, behind which the next batch was found by its length;
//! - (c) a bad batch behind which no batch can be found: the walk is over;
//! - (d) the file ends within a batch; (e) only zeros follow; (f) the end.
//!
//! Of a bad batch only the length is trusted, and only when a batch with a later offset begins at its end.

use std::path::Path;

use ::io::File;
use base::error::Result;
use base::place::{Offset, Position};
use index::entry_file::array_at;
use record::{Batch, BatchError, LOG_OVERHEAD};
use storage::batch_walk::{self, BatchWalk, Piece};

/// Small enough to stay in the cache between the read and the CRC.
pub const BUFFER_BYTES: usize = 1024 * 1024;
/// A batch of a larger length is read only after a batch was found behind it.
const LARGE_BATCH: u64 = 16 * 1024 * 1024;

/// What the walk found at a position.
pub enum Step<'b> {
    /// (a)
    Batch(Batch<'b>),
    /// (b)
    Bad {
        /// The base offset in its first 8 bytes.
        base_offset: Offset,
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
    batches: BatchWalk<&'a dyn File, &'a mut Vec<u8>>,
    path: &'a Path,
    end: Position,
}

impl<'a> Walk<'a> {
    /// Over `file` from the start to `end`.
    pub fn new(file: &'a dyn File, path: &'a Path, end: Position, buffer: &'a mut Vec<u8>) -> Self {
        Self {
            batches: BatchWalk::new(file, Position::START..end, Piece::of_batches(BUFFER_BYTES), buffer),
            path,
            end,
        }
    }

    /// The position of the last step.
    pub fn position(&self) -> Position {
        self.batches.position()
    }

    /// The position of the next step.
    pub fn next_position(&self) -> Position {
        self.batches.next_position()
    }

    /// The next step; after (c), (d), (e) and (f) the walk is over.
    pub fn step(&mut self) -> Result<Step<'_>> {
        let header = match self.batches.step().map_err(|error| error.at(self.path))? {
            batch_walk::Step::Batch(header) => header,
            batch_walk::Step::End => return Ok(Step::End), // (f)
            batch_walk::Step::Short(_) => return self.zeros_or(Step::Torn), // (d), (e)
            batch_walk::Step::Invalid(error) => return self.invalid(&error),
        };
        let (base_offset, size) = (header.base_offset, header.size_bytes());
        let length = header.batch_length;
        if size as u64 > LARGE_BATCH && !self.is_batch_after(self.next_position(), base_offset)? {
            return Ok(lost(&format!("batch length {length} leads to no batch")));
        }
        let mut verdict = self.verify()?;
        if verdict.is_err() {
            self.batches.forget();
            verdict = self.verify()?;
        }
        if let Err(error) = verdict {
            if !self.is_batch_after(self.next_position(), base_offset)? {
                return Ok(lost(&format!("{error}, and its length {length} leads to no batch")));
            }
            let reason = error.to_string();
            return Ok(Step::Bad { base_offset, reason }); // (b)
        }
        Ok(self.batches.held_batch().map_or(Step::Torn, Step::Batch)) // (a)
    }

    fn verify(&mut self) -> Result<std::result::Result<(), BatchError>> {
        self.batches.hold_batch().map_err(|error| error.at(self.path))?;
        Ok(self.batches.held_batch().and_then(|batch| batch.verify_crc()))
    }

    /// Handles a header with an invalid magic or length.
    fn invalid(&mut self, error: &BatchError) -> Result<Step<'static>> {
        let reason = error.to_string();
        if self.batches.is_rest_zero().map_err(|error| error.at(self.path))? {
            return Ok(Step::Zeros); // (e)
        }
        let base_offset = Offset(i64::from_be_bytes(array_at(self.batches.held(), 0)));
        let length = i32::from_be_bytes(array_at(self.batches.held(), 8));
        if let Ok(length) = u64::try_from(length)
            && self.position() + LOG_OVERHEAD as u64 + length <= self.end
            && self.is_batch_after(self.position() + LOG_OVERHEAD as u64 + length, base_offset)?
        {
            self.batches.go_to(self.position() + LOG_OVERHEAD as u64 + length);
            return Ok(Step::Bad { base_offset, reason }); // (b)
        }
        Ok(lost(&reason))
    }

    /// Whether the file ends at `at`, or a batch with a later offset begins there.
    fn is_batch_after(&self, at: Position, base_offset: Offset) -> Result<bool> {
        if at == self.end {
            return Ok(true);
        }
        let header = self.batches.peek_header(at).map_err(|error| error.at(self.path))?;
        Ok(header.is_some_and(|header| header.base_offset > base_offset))
    }

    fn zeros_or(&self, step: Step<'static>) -> Result<Step<'static>> {
        let is_zero = self.batches.is_rest_zero().map_err(|error| error.at(self.path))?;
        Ok(if is_zero { Step::Zeros } else { step })
    }
}

/// (c)
fn lost(reason: &str) -> Step<'static> {
    Step::Lost(format!("{reason}; what follows in the file was not checked"))
}
