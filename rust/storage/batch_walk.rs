//! The walk over batches in a file: from a position to an end, header by header, with their bytes on demand.
//!
//! Each step gives a batch, or the reason why the walk stops: the end, too few bytes for a batch, or bytes that are no
//! batch. A step checks length and magic only; a reader that needs more asks for the bytes and checks the CRC. Every
//! reader of segment files uses this walk:
//!
//! - `header_scan`: headers alone, beside a writer, also without waiting for the disk;
//! - `recovery::check`: each CRC, and the bytes that a crash has left at the end;
//! - `scan::check::walk`: each CRC, and goes on behind a bad batch;
//! - `scan::reader`: the records of a range, as Arrow;
//! - `scan::batch_list`: every batch of a file, for showing.
//!
//! The walk reads into a [`Window`] whose memory the reader lends, in pieces that suit the reader's use of each batch
//! ([`Piece`]). It reads nothing at or beyond the end that the reader gives. It never writes, and never maps a file (a
//! truncation would be SIGBUS).

mod window;

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

pub use self::window::{Room, Window};
use super::wait::Wait;
use ::io::File;
use base::error::Error;
use base::place::Position;
use record::{BATCH_HEADER, Batch, BatchError, BatchHeader, LEAST_BATCH};

/// What the walk found at the position of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A batch that ends within the walk's end, by its header.
    Batch(BatchHeader),
    /// The end.
    End,
    /// Fewer bytes than a header has, also when the walk stands behind the end; or, with the header, fewer bytes than
    /// the batch has.
    Short(Option<BatchHeader>),
    /// Bytes that are no header.
    Invalid(BatchError),
}

/// How much a read brings.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    /// Bytes of one read, unless the caller asks for more. When the caller asks for a quarter of it or more, a read
    /// brings no byte beyond the request: else half a batch would move to the window's front again and again.
    bytes: usize,
    /// A header that lies at least this many bytes behind the window follows a large batch, and is read alone.
    far: u64,
}

impl Piece {
    /// For readers of headers. One piece holds the batches between two index entries at the default interval, so that
    /// most lookups are one read. Behind a larger batch a header is read alone: a whole piece would hold no second
    /// header, and copying it from the page cache costs time.
    pub const HEADERS: Self = Self {
        bytes: HEADER_PIECE,
        far: 512,
    };

    /// For readers of all bytes.
    pub const fn of_batches(bytes: usize) -> Self {
        Self { bytes, far: u64::MAX }
    }
}

/// Bytes of [`Piece::HEADERS`].
pub const HEADER_PIECE: usize = 8192;

/// Why bytes could not be read.
#[derive(Debug)]
pub enum ReadError {
    /// The bytes are not in memory, and the walk may not wait for the disk.
    NotAtHand,
    /// The system's error; of kind `UnexpectedEof` when the file ends before the bytes do.
    Io(io::Error),
}

impl ReadError {
    /// As an error of the file at `path`.
    pub fn at(self, path: &Path) -> Error {
        match self {
            Self::NotAtHand => Error::NotAtHand {
                path: path.to_path_buf(),
            },
            Self::Io(error) => Error::io("read", path, error),
        }
    }
}

/// An open file, lent or shared.
pub trait Readable {
    /// The file.
    fn file(&self) -> &dyn File;
}

impl Readable for &dyn File {
    #[inline]
    fn file(&self) -> &dyn File {
        *self
    }
}

impl Readable for Arc<dyn File> {
    #[inline]
    fn file(&self) -> &dyn File {
        self.as_ref()
    }
}

/// See the module.
pub struct BatchWalk<F, R> {
    file: F,
    wait: Wait,
    piece: Piece,
    /// The position of the last step.
    position: Position,
    /// The position of the next step.
    next: Position,
    end: Position,
    window: Window<R>,
}

impl<F: Readable, R: Room> BatchWalk<F, R> {
    /// The batches in `range`, at whose start a batch begins. Nothing is read yet.
    #[inline]
    pub fn new(file: F, range: Range<Position>, piece: Piece, room: R) -> Self {
        Self {
            file,
            wait: Wait::Yes,
            piece,
            position: range.start,
            next: range.start,
            end: range.end,
            window: Window::new(room),
        }
    }

    /// With [`Wait::No`] a read of bytes that are not in memory fails with [`ReadError::NotAtHand`].
    #[must_use]
    #[inline]
    pub fn waiting(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// Goes to another range, of the same or another file; the room stays.
    pub fn restart(&mut self, file: F, range: Range<Position>) {
        self.file = file;
        self.window.forget();
        (self.position, self.next, self.end) = (range.start, range.start, range.end);
    }

    /// The next step. After a step that is no batch, the next call repeats that step.
    #[inline]
    pub fn step(&mut self) -> Result<Step, ReadError> {
        self.position = self.next;
        let rest = self.rest();
        if rest < BATCH_HEADER as u64 {
            return self.last_step(rest);
        }
        self.hold(BATCH_HEADER)?;
        Ok(match BatchHeader::parse(self.held()) {
            Ok(header) => self.step_of(header, rest),
            Err(error) => Step::Invalid(error),
        })
    }

    #[inline]
    fn step_of(&mut self, header: BatchHeader, rest: u64) -> Step {
        if header.size_bytes() as u64 > rest {
            return Step::Short(Some(header));
        }
        self.next = self.position + header.size_bytes() as u64;
        Step::Batch(header)
    }

    /// The step where fewer bytes are left than a v2 header has: a message of magic 0 or 1 may be as short.
    #[cold]
    fn last_step(&mut self, rest: u64) -> Result<Step, ReadError> {
        if self.position == self.end {
            return Ok(Step::End);
        }
        if rest < LEAST_BATCH as u64 {
            return Ok(Step::Short(None));
        }
        self.hold(rest as usize)?;
        let header = BatchHeader::parse(self.held()).ok().filter(BatchHeader::is_legacy);
        Ok(header.map_or(Step::Short(None), |header| self.step_of(header, rest)))
    }

    /// The position of the last step.
    #[inline]
    pub fn position(&self) -> Position {
        self.position
    }

    /// The position of the next step: behind the last batch, or where the walk stopped.
    #[inline]
    pub fn next_position(&self) -> Position {
        self.next
    }

    /// Bytes from the last step's position to the walk's end.
    #[inline]
    pub fn rest(&self) -> u64 {
        self.position.bytes_to(self.end)
    }

    /// Bytes from the next step's position to the walk's end.
    pub fn rest_behind(&self) -> u64 {
        self.next.bytes_to(self.end)
    }

    /// Moves the next step to `position`.
    pub fn go_to(&mut self, position: Position) {
        self.next = position;
    }

    /// Ensures that the window holds `len` bytes from the last step's position; `len` is at most [`Self::rest`].
    #[inline]
    pub fn hold(&mut self, len: usize) -> Result<(), ReadError> {
        if self.window.len_from(self.position) >= len {
            return Ok(());
        }
        self.read(len)
    }

    #[cold]
    fn read(&mut self, len: usize) -> Result<(), ReadError> {
        let is_far = self
            .window
            .end()
            .is_some_and(|end| self.position >= end.saturating_add(self.piece.far));
        let is_large = len >= self.piece.bytes / 4;
        let wanted = if is_far || is_large { len } else { self.piece.bytes };
        let wanted = wanted.min(usize::try_from(self.rest()).unwrap_or(usize::MAX)).max(len);
        self.window
            .read(self.file.file(), self.position, len, wanted, self.wait)
    }

    /// The bytes in the window from the last step's position: at least the bytes that [`Self::hold`] has read.
    #[inline]
    pub fn held(&self) -> &[u8] {
        self.window.held_from(self.position)
    }

    /// Ensures that the window holds the whole batch of the last step.
    #[inline]
    pub fn hold_batch(&mut self) -> Result<(), ReadError> {
        self.hold(self.size())
    }

    /// The whole batch of the last step, after [`Self::hold_batch`].
    pub fn held_batch(&self) -> Result<Batch<'_>, BatchError> {
        let size = self.size();
        let bytes = self.held();
        let bytes = bytes.get(..size).unwrap_or(bytes);
        Batch::split_first(bytes)?.map_or(
            Err(BatchError::TooShort {
                needed: size,
                available: bytes.len(),
            }),
            |(batch, _)| Ok(batch),
        )
    }

    /// Bytes of the batch that was given last.
    #[inline]
    fn size(&self) -> usize {
        (self.next - self.position) as usize
    }

    /// Bytes that the window takes.
    pub fn room_bytes(&self) -> usize {
        self.window.room_bytes()
    }

    /// Empties the window, so that the last step's bytes are read again: a writer may have changed them.
    pub fn forget(&mut self) {
        self.window.forget();
    }

    /// The header at `position`, if a valid header stands there before the end. The walk stays where it is.
    pub fn peek_header(&self, position: Position) -> Result<Option<BatchHeader>, ReadError> {
        let mut head = [0; BATCH_HEADER];
        let len = position.bytes_to(self.end).min(BATCH_HEADER as u64) as usize;
        let head = head.get_mut(..len).unwrap_or_default();
        let read = self.file.file().read_exact_at(head, position.get());
        read.map_err(ReadError::Io)?;
        Ok(BatchHeader::parse(head).ok())
    }

    /// Whether only zeros follow up to the end: the file was preallocated, or a power failure lost its bytes.
    pub fn is_rest_zero(&self) -> Result<bool, ReadError> {
        let mut piece = [0; ZEROS_PIECE];
        let mut position = self.position;
        while position < self.end {
            let len = (self.end - position).min(piece.len() as u64) as usize;
            let held = &mut piece[..len];
            self.file
                .file()
                .read_exact_at(held, position.get())
                .map_err(ReadError::Io)?;
            if held.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            position += len as u64;
        }
        Ok(true)
    }
}

/// Bytes that are compared with zeros at once.
const ZEROS_PIECE: usize = 4096;

/// Reads the whole batch of `header`, for readers that walked over headers alone.
pub fn read_batch(file: &dyn File, position: Position, header: &BatchHeader, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.resize(header.size_bytes(), 0);
    file.read_exact_at(bytes, position.get())
}

#[cfg(test)]
mod tests;
