//! The part of a file that a walk has read, in memory that its reader lends.
//!
//! The requested bytes are contiguous in memory. Bytes that are still needed move to the front before the next read.
//! The memory grows only for a batch that is larger than it, and never beyond the rest of the walk's range: no length
//! field of a file makes the window allocate more than the file can fill.

use std::io::ErrorKind;

use super::ReadError;
use crate::wait::Wait;
use ::io::File;
use base::place::Position;

/// Memory that a walk reads into.
pub trait Room {
    /// All of it.
    fn bytes(&self) -> &[u8];
    /// At least `len` bytes of it.
    fn at_least(&mut self, len: usize) -> &mut [u8];
}

/// On the stack; for walks that never hold more than a piece.
impl<const N: usize> Room for [u8; N] {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self
    }

    #[inline]
    fn at_least(&mut self, len: usize) -> &mut [u8] {
        debug_assert!(len <= N, "a piece is larger than its room");
        self
    }
}

impl Room for Vec<u8> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self
    }

    fn at_least(&mut self, len: usize) -> &mut [u8] {
        if self.len() < len {
            self.resize(len, 0);
        }
        self
    }
}

impl<R: Room> Room for &mut R {
    #[inline]
    fn bytes(&self) -> &[u8] {
        (**self).bytes()
    }

    fn at_least(&mut self, len: usize) -> &mut [u8] {
        (**self).at_least(len)
    }
}

/// See the module.
pub struct Window<R> {
    room: R,
    /// File position of the first byte.
    start: Position,
    /// Bytes that are filled; 0 for a window that holds nothing.
    filled: usize,
}

impl<R: Room> Window<R> {
    /// Holds nothing yet.
    #[inline]
    pub fn new(room: R) -> Self {
        Self {
            room,
            start: Position::START,
            filled: 0,
        }
    }

    /// Bytes of the room.
    pub fn room_bytes(&self) -> usize {
        self.room.bytes().len()
    }

    /// Holds nothing any more.
    pub fn forget(&mut self) {
        self.filled = 0;
    }

    /// The file position behind the last byte; `None` while nothing is held.
    pub fn end(&self) -> Option<Position> {
        (self.filled > 0).then(|| self.start + self.filled as u64)
    }

    /// How many bytes are held from a file position on.
    #[inline]
    pub fn len_from(&self, position: Position) -> usize {
        match position.get().checked_sub(self.start.get()) {
            Some(at) if at < self.filled as u64 => self.filled - at as usize,
            _ => 0,
        }
    }

    /// The bytes that are held from a file position on.
    #[inline]
    pub fn held_from(&self, position: Position) -> &[u8] {
        let at = self.filled - self.len_from(position);
        self.room.bytes().get(at..self.filled).unwrap_or_default()
    }

    /// Reads so that the window holds at least `needed` bytes from `position` on, and `wanted` bytes where the file has
    /// them. After an error the window still holds the bytes from `position` on that it held before.
    pub fn read(
        &mut self,
        file: &dyn File,
        position: Position,
        needed: usize,
        wanted: usize,
        wait: Wait,
    ) -> Result<(), ReadError> {
        let kept = self.len_from(position);
        let from = self.filled - kept;
        let room = self.room.at_least(wanted);
        room.copy_within(from..from + kept, 0);
        (self.start, self.filled) = (position, kept);
        let target = room.get_mut(kept..wanted).unwrap_or_default();
        let at = (position + kept as u64).get();
        let read = match wait {
            Wait::Yes => file.read_exact_at(target, at).map(|()| true),
            Wait::No => file.read_exact_if_cached(target, at),
        };
        match read {
            Ok(true) => self.filled = wanted,
            Ok(false) => return Err(ReadError::NotAtHand),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof && needed < wanted => {
                // The file may have been cut behind the needed bytes.
                let target = target.get_mut(..needed.saturating_sub(kept)).unwrap_or_default();
                file.read_exact_at(target, at).map_err(ReadError::Io)?;
                self.filled = needed;
            }
            Err(error) => return Err(ReadError::Io(error)),
        }
        Ok(())
    }
}
