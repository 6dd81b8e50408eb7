//! The one walk over batches in a file: from a position to an end, header by header, their bytes on demand.
//!
//! Each step stands on a batch or says what stops the walk there: the end, too little for a batch, or bytes that are
//! none. A step believes length and magic; whoever wants more asks for the bytes and checks the CRC. Every reader of
//! segment files goes by it and adds what it must know besides:
//!
//! - `header_scan`: headers alone, beside a writer, also without waiting for the disk;
//! - `recovery::check`: each CRC, and what a crash has left at the end;
//! - `scan::check::walk`: each CRC, and goes on behind a bad batch;
//! - `scan::reader`: the records of a range, as Arrow;
//! - `scan::batch_list`: every batch of a file, for showing.
//!
//! What is read goes into a [`Window`] that the reader lends, in pieces that suit what it wants of each batch
//! ([`Piece`]). Reads nothing at or beyond the end, which the reader knows. Never writes; never maps a file (a
//! truncation would be SIGBUS).

mod window;

use std::io;
use std::path::Path;
use std::sync::Arc;

pub use self::window::{Room, Window};
use super::wait::Wait;
use crate::error::Error;
use crate::io::File;
use crate::place::Position;
use crate::record::{BATCH_HEADER, Batch, BatchError, BatchHeader};

/// What stands where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A batch that ends within the walk's end, by its header.
    Batch(BatchHeader),
    /// The end.
    End,
    /// Less than a header, also behind the end; or, with its header, less than the batch.
    Short(Option<BatchHeader>),
    /// Bytes that are no header.
    Invalid(BatchError),
}

/// How much a read brings.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    /// Bytes of a read, unless more are asked for. From a quarter of it on a read brings what is asked for and no more:
    /// else half a batch would move to the window's front again and again.
    bytes: usize,
    /// A header so far behind the window follows a batch larger than it, and is read alone.
    far: u64,
}

impl Piece {
    /// For readers of headers. It holds what lies between two index entries at the default interval, so that most
    /// lookups are one read. Behind a larger batch a whole piece would hold no second header, and each line of the page
    /// cache that is copied is waited for.
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
    /// They are not in memory, and the walk may not wait.
    NotAtHand,
    /// The system's error; of kind `UnexpectedEof` when the file ends before.
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
    /// Where the step that was given last stands.
    position: Position,
    /// Where the next one will.
    next: Position,
    end: Position,
    window: Window<R>,
}

impl<F: Readable, R: Room> BatchWalk<F, R> {
    /// Begins at `position`, where a batch begins, and ends before `end`. Nothing is read yet.
    #[inline]
    pub fn new(file: F, (position, end): (Position, Position), piece: Piece, room: R) -> Self {
        Self {
            file,
            wait: Wait::Yes,
            piece,
            position,
            next: position,
            end,
            window: Window::new(room),
        }
    }

    /// With [`Wait::No`] what is not in memory is [`ReadError::NotAtHand`].
    #[must_use]
    #[inline]
    pub fn waiting(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// Goes to another range, of the same or another file; the room stays.
    pub fn restart(&mut self, file: F, (position, end): (Position, Position)) {
        self.file = file;
        self.window.forget();
        (self.position, self.next, self.end) = (position, position, end);
    }

    /// The next step. After anything but a batch it is the same again.
    #[inline]
    pub fn step(&mut self) -> Result<Step, ReadError> {
        self.position = self.next;
        let rest = self.rest();
        if rest < BATCH_HEADER as u64 {
            let is_end = self.position == self.end;
            return Ok(if is_end { Step::End } else { Step::Short(None) });
        }
        self.hold(BATCH_HEADER)?;
        Ok(match BatchHeader::parse(self.held()) {
            Ok(header) if header.size_bytes() as u64 <= rest => {
                self.next = self.position + header.size_bytes() as u64;
                Step::Batch(header)
            }
            Ok(header) => Step::Short(Some(header)),
            Err(error) => Step::Invalid(error),
        })
    }

    /// Where the step that was given last stands.
    #[inline]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Where the next step will stand: behind the batch that was given last, or where the walk stopped.
    #[inline]
    pub fn next_position(&self) -> Position {
        self.next
    }

    /// Bytes from where the walk stands to its end.
    #[inline]
    pub fn rest(&self) -> u64 {
        self.position.bytes_to(self.end)
    }

    /// Bytes from where the next step will stand to the walk's end.
    pub fn rest_behind(&self) -> u64 {
        self.next.bytes_to(self.end)
    }

    /// The next step is at `position`, in the place of the one behind the batch.
    pub fn go_to(&mut self, position: Position) {
        self.next = position;
    }

    /// Has `len` bytes from where the walk stands in the window; at most [`Self::rest`].
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
            .read(self.file.file(), self.position, (len, wanted), self.wait)
    }

    /// The bytes in the window from where the walk stands: those that [`Self::hold`] has brought, or more.
    #[inline]
    pub fn held(&self) -> &[u8] {
        self.window.held_from(self.position)
    }

    /// Has the whole batch that was given last in the window.
    #[inline]
    pub fn hold_batch(&mut self) -> Result<(), ReadError> {
        self.hold(self.size())
    }

    /// The whole batch that was given last, after [`Self::hold_batch`].
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

    /// Reads the batch that was given last again when its bytes are asked for: its writer may have been at work.
    pub fn forget(&mut self) {
        self.window.forget();
    }

    /// The header that stands at `position`, if one does before the end. The walk stays where it is.
    pub fn peek_header(&self, position: Position) -> Result<Option<BatchHeader>, ReadError> {
        if position.bytes_to(self.end) < BATCH_HEADER as u64 {
            return Ok(None);
        }
        let mut head = [0; BATCH_HEADER];
        let read = self.file.file().read_exact_at(&mut head, position.get());
        read.map_err(ReadError::Io)?;
        Ok(BatchHeader::parse(&head).ok())
    }

    /// Whether nothing but zeros follows up to the end: preallocated, or lost in a power failure.
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

/// Reads the whole batch that `header` was read of, for those who walked over headers alone.
pub fn read_batch(file: &dyn File, position: Position, header: &BatchHeader, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.resize(header.size_bytes(), 0);
    file.read_exact_at(bytes, position.get())
}

#[cfg(test)]
mod tests;
