//! Reads a segment's batches one after the other, in large pieces, and checks each.
//!
//! Recovery and compaction read so. In recovery each thread has one buffer, reused from log to log: small enough to
//! stay in the cache between the read and the CRC. It grows only for a batch that is larger, and never beyond the rest
//! of the file.

use std::cell::RefCell;
use std::path::Path;

use crate::batch_walk::{self as walk, BatchWalk, Piece};
use ::io::File;
use base::error::Result;
use base::place::Position;
use record::Batch;

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

/// What the reader found at a position.
pub enum Step<'b> {
    /// A whole batch with a right CRC.
    Batch(Batch<'b>),
    /// The end of the file.
    End,
    /// The file ends within a batch.
    Torn,
    /// Only zeros up to the end: the file was preallocated, or a power failure lost its bytes.
    Zeros,
    /// Bytes that are no batch, or a batch with a wrong CRC.
    Bad(String),
}

/// See the module.
pub struct BatchReader<'a> {
    walk: BatchWalk<&'a dyn File, &'a mut Vec<u8>>,
    path: &'a Path,
}

impl<'a> BatchReader<'a> {
    /// Reads `file` from the start to `end`, in pieces as large as `buffer` is now.
    pub fn new(file: &'a dyn File, path: &'a Path, end: Position, buffer: &'a mut Vec<u8>) -> Self {
        let piece = Piece::of_batches(buffer.len());
        Self {
            walk: BatchWalk::new(file, Position::START..end, piece, buffer),
            path,
        }
    }

    /// The position of the next batch: after the last good batch.
    pub fn position(&self) -> Position {
        self.walk.next_position()
    }

    /// The position of the last batch.
    pub fn batch_position(&self) -> Position {
        self.walk.position()
    }

    /// Moves back before the last batch, which the caller has found invalid.
    pub fn step_back(&mut self) {
        self.walk.go_to(self.walk.position());
    }

    /// The next step; after a step that is no batch, the next call repeats that step.
    pub fn next_batch(&mut self) -> Result<Step<'_>> {
        match self.walk.step().map_err(|error| error.at(self.path))? {
            walk::Step::Batch(_) => {}
            walk::Step::End => return Ok(Step::End),
            walk::Step::Short(_) => return self.zeros_or(Step::Torn),
            walk::Step::Invalid(error) => return self.zeros_or(Step::Bad(error.to_string())),
        }
        self.walk.hold_batch().map_err(|error| error.at(self.path))?;
        if let Err(error) = self.walk.held_batch().and_then(|batch| batch.verify_crc()) {
            self.step_back();
            return Ok(Step::Bad(error.to_string()));
        }
        Ok(match self.walk.held_batch() {
            Ok(batch) => Step::Batch(batch),
            Err(error) => Step::Bad(error.to_string()),
        })
    }

    fn zeros_or(&self, step: Step<'static>) -> Result<Step<'static>> {
        let is_zero = self.walk.is_rest_zero().map_err(|error| error.at(self.path))?;
        Ok(if is_zero { Step::Zeros } else { step })
    }
}
