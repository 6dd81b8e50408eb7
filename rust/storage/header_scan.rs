//! Walks the batch headers of a segment with few reads: one window serves every header that lies in it.
//!
//! Payloads are skipped, so a scan costs at most one small read a batch. It checks what a header can show (length,
//! magic), not the CRC. Never reads at or beyond `end`, which the caller knows to be written completely.
//!
//! An index entry names a batch by its last offset. Kafka before 0.11 gave it the first offset instead. The header of a
//! wrapper message of that time has only the last offset, so the wrapper is read to learn whether it holds the entry's.

use std::path::Path;

use super::batch_walk::{BatchWalk, HEADER_PIECE, Piece, Step, read_batch};
use super::wait::Wait;
use ::io::File;
use base::error::{Error, Result};
use base::place::Position;
use index::OffsetPosition;
use record::{BATCH_HEADER, Batch, BatchHeader};

/// See the module.
pub struct HeaderScan<'a> {
    walk: BatchWalk<&'a dyn File, [u8; HEADER_PIECE]>,
    file: &'a dyn File,
    path: &'a Path,
    end: Position,
    wait: Wait,
    is_whole: bool,
}

/// The most bytes that a wrapper message is inflated to.
const INFLATE_LIMIT: usize = 64 << 20;

/// The batch that an index entry names, if one that ends with the entry's offset begins at its position and ends before
/// `end`; or a wrapper message that holds the entry's offset. Only its header is read, but for a wrapper.
pub fn named_by(
    file: &dyn File,
    path: &Path,
    entry: OffsetPosition,
    end: Position,
    wait: Wait,
) -> Result<Option<BatchHeader>> {
    let range = entry.position..end;
    let walk = BatchWalk::new(file, range, Piece::of_batches(BATCH_HEADER), [0; BATCH_HEADER]);
    match walk.waiting(wait).step().map_err(|error| error.at(path))? {
        Step::Batch(header) if header.last_offset() == entry.offset => Ok(Some(header)),
        Step::Batch(header) if header.is_wrapper() => {
            let is_held = holds(file, path, entry, &header, wait)?;
            Ok(is_held.then_some(header))
        }
        _ => Ok(None),
    }
}

/// Whether the wrapper at the entry's position holds the entry's offset. Without waiting the wrapper is not inflated.
#[cold]
fn holds(file: &dyn File, path: &Path, entry: OffsetPosition, header: &BatchHeader, wait: Wait) -> Result<bool> {
    if entry.offset > header.last_offset() {
        return Ok(false);
    }
    if wait == Wait::No {
        return Err(Error::NotAtHand {
            path: path.to_path_buf(),
        });
    }
    let mut bytes = Vec::new();
    let read = read_batch(file, entry.position, header, &mut bytes);
    read.map_err(|error| Error::io("read", path, error))?;
    let Ok(Some((batch, _))) = Batch::split_first(&bytes) else {
        return Ok(false);
    };
    let full = batch.full_header(&mut Vec::new(), INFLATE_LIMIT);
    Ok(full.is_ok_and(|full| full.base_offset <= entry.offset))
}

/// The position that an index entry names, if a batch that ends with the entry's offset begins there; else the start. A
/// damaged index then costs a longer scan and never a wrong answer.
pub fn believed(file: &dyn File, path: &Path, entry: OffsetPosition, end: Position, wait: Wait) -> Result<Position> {
    if entry.position == Position::START {
        return Ok(Position::START);
    }
    let named = named_by(file, path, entry, end, wait)?;
    Ok(named.map_or(Position::START, |_| entry.position))
}

impl<'a> HeaderScan<'a> {
    /// Begins at `position`, where a batch begins, and ends before `end`.
    pub fn new(file: &'a dyn File, path: &'a Path, position: Position, end: Position) -> Self {
        Self {
            walk: BatchWalk::new(file, position..end, Piece::HEADERS, [0; HEADER_PIECE]),
            file,
            path,
            end,
            wait: Wait::Yes,
            is_whole: false,
        }
    }

    /// With [`Wait::No`] a header that is not in memory is [`Error::NotAtHand`].
    #[must_use]
    pub fn waiting(mut self, wait: Wait) -> Self {
        self.walk = self.walk.waiting(wait);
        self.wait = wait;
        self
    }

    /// A batch that is cut short at the end is corrupt: `end` is where a batch ends.
    #[must_use]
    pub fn of_whole_batches(mut self) -> Self {
        self.is_whole = true;
        self
    }

    /// The next batch: where it begins and its header. `None` at the end, and at a batch that is cut short there.
    pub fn next_header(&mut self) -> Result<Option<(Position, BatchHeader)>> {
        match self.walk.step().map_err(|error| error.at(self.path))? {
            Step::Batch(header) => Ok(Some((self.walk.position(), header))),
            Step::Invalid(error) => Err(self.corrupt(error.to_string())),
            Step::Short(_) if self.is_whole => {
                Err(self.corrupt(format!("no whole batch begins there before position {}", self.end)))
            }
            Step::Short(_) | Step::End => Ok(None),
        }
    }

    /// Goes to the first batch after an index entry's; to the entry's batch when that is a wrapper message with offsets
    /// behind the entry's; or to the segment's beginning when the entry names no batch at its position: a damaged index
    /// costs a longer scan and never a wrong answer.
    pub fn skip_entry(&mut self, entry: OffsetPosition) -> Result<()> {
        self.walk.go_to(entry.position);
        if entry.position == Position::START {
            return Ok(());
        }
        match self.next_header() {
            Ok(Some((_, header))) if header.last_offset() == entry.offset => Ok(()),
            Ok(Some((_, header))) if header.is_wrapper() => {
                let is_held = holds(self.file, self.path, entry, &header, self.wait)?;
                self.walk.go_to(if is_held { entry.position } else { Position::START });
                Ok(())
            }
            Err(error @ (Error::Io { .. } | Error::NotAtHand { .. })) => Err(error),
            _ => {
                self.walk.go_to(Position::START);
                Ok(())
            }
        }
    }

    /// The position where the next batch begins, whole or cut short.
    pub fn position(&self) -> Position {
        self.walk.next_position()
    }

    fn corrupt(&self, reason: String) -> Error {
        Error::CorruptFile {
            path: self.path.to_path_buf(),
            position: self.walk.position(),
            reason,
        }
    }
}
