//! Offset → position of the batch that ends with that offset.
//!
//! ```text
//! file  := entry*
//! entry := relative_offset:u32  position:u32        both ascend
//! ```
//! An entry names the *last* offset of a batch and the position where the batch begins, as Kafka writes it, one for
//! every `index.interval.bytes` of log. A lookup gives where to start scanning for an offset.

use super::entry_file::{EntryFile, Peek, array_at};
use super::search::first_index_where;
use ::io::FileSystem;
use base::error::Result;
use base::place::{Offset, Position};

/// Bytes of an entry.
pub const ENTRY: usize = 8;

/// An offset and the position of its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetPosition {
    /// Last offset of the batch, or the segment's base offset.
    pub offset: Offset,
    /// Where the batch begins in the segment's file.
    pub position: Position,
}

/// See the module.
pub struct OffsetIndex {
    base_offset: Offset,
    file: EntryFile<ENTRY>,
}

fn entry(bytes: &[u8], base_offset: Offset, index: usize) -> OffsetPosition {
    let raw = u64::from_be_bytes(array_at(bytes, index * ENTRY));
    OffsetPosition {
        offset: base_offset + (raw >> 32) as i64,
        position: Position(u64::from(raw as u32)),
    }
}

impl OffsetIndex {
    /// Over the entries of the segment at `base_offset`.
    pub fn new(file: EntryFile<ENTRY>, base_offset: Offset) -> Self {
        Self { base_offset, file }
    }

    /// The file of entries.
    pub fn file(&mut self) -> &mut EntryFile<ENTRY> {
        &mut self.file
    }

    /// The greatest entry whose offset is at most `target`, or the segment's beginning.
    pub fn lookup(&self, fs: &dyn FileSystem, target: Offset) -> Result<OffsetPosition> {
        Ok(self.lookup_pair(fs, target)?.0)
    }

    /// The entry of [`Self::lookup`], and the next entry.
    pub fn lookup_pair(&self, fs: &dyn FileSystem, target: Offset) -> Result<(OffsetPosition, Option<OffsetPosition>)> {
        let bytes = self.file.bytes(fs)?;
        let relative = target.get().saturating_sub(self.base_offset.get());
        let count = bytes.len() / ENTRY;
        let key = |index: usize| i64::from(u32::from_be_bytes(array_at(bytes, index * ENTRY)));
        let behind = first_index_where(count, |index| key(index) > relative);
        let at = |index: usize| entry(bytes, self.base_offset, index);
        let found = behind.checked_sub(1).map_or(
            OffsetPosition {
                offset: self.base_offset,
                position: Position::START,
            },
            at,
        );
        Ok((found, (behind < count).then(|| at(behind))))
    }

    /// Checks that [`Self::lookup_pair`] reads memory only; else an error names the file.
    pub fn check_lookup_at_hand(&self, target: Offset) -> Result<()> {
        let relative = target.get().saturating_sub(self.base_offset.get());
        let key = |bytes: &[u8], index: usize| i64::from(u32::from_be_bytes(array_at(bytes, index * ENTRY)));
        self.file.check_at_hand(|bytes, index| key(bytes, index) > relative)
    }

    /// Checks that [`Self::first_from_position`] reads memory only; else an error names the file.
    pub fn check_position_at_hand(&self, from: Position) -> Result<()> {
        let at = |bytes: &[u8], index: usize| entry(bytes, self.base_offset, index).position;
        self.file.check_at_hand(|bytes, index| at(bytes, index) >= from)
    }

    /// The first entry whose batch begins at or after `from`.
    pub fn first_from_position(&self, fs: &dyn FileSystem, from: Position) -> Result<Option<OffsetPosition>> {
        let bytes = self.file.bytes(fs)?;
        let count = bytes.len() / ENTRY;
        let at = |index: usize| entry(bytes, self.base_offset, index);
        let first = first_index_where(count, |index| at(index).position >= from);
        Ok((first < count).then(|| at(first)))
    }

    /// Adds the batch at `position` that ends with `last_offset`; both are at most `i32::MAX` above the segment's
    /// beginning.
    pub fn append(&mut self, last_offset: Offset, position: Position) {
        let relative = (last_offset - self.base_offset) as u64;
        self.file
            .push(((relative << 32) | u64::from(position.get() as u32)).to_be_bytes());
    }

    /// Whether another entry would go beyond `max_bytes`; sealed indexes take none anyway.
    pub fn is_full(&self, max_bytes: u32) -> bool {
        self.file
            .active_bytes()
            .is_some_and(|bytes| bytes.len() + ENTRY > max_bytes as usize / ENTRY * ENTRY)
    }

    /// Drops entries at or above `offset`; only while active.
    pub fn truncate_to(&mut self, offset: Offset) {
        if let Some(bytes) = self.file.active_bytes() {
            let base = self.base_offset;
            let keep = first_index_where(bytes.len() / ENTRY, |index| entry(bytes, base, index).offset >= offset);
            self.file.truncate(keep);
        }
    }

    /// All entries in order.
    pub fn entries(&self, fs: &dyn FileSystem) -> Result<impl Iterator<Item = OffsetPosition> + '_> {
        let bytes = self.file.bytes(fs)?;
        Ok((0..bytes.len() / ENTRY).map(move |index| entry(bytes, self.base_offset, index)))
    }

    /// Whether the file's first and last entry are possible for a segment that ends at `log_end`. Checks no other
    /// entry.
    pub fn is_sane(&self, fs: &dyn FileSystem, log_end: Position) -> Result<bool> {
        Ok(match self.file.peek(fs)? {
            Peek::Missing | Peek::Partial => false,
            Peek::Empty => true,
            Peek::Ends { first, last, count } => {
                let (first, last) = (entry(&first, self.base_offset, 0), entry(&last, self.base_offset, 0));
                let ascends = first.offset < last.offset && first.position < last.position;
                last.position < log_end && last.offset >= self.base_offset && (count == 1 || ascends)
            }
        })
    }
}
