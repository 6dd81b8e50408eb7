//! Timestamp → an offset below which no record has a later timestamp.
//!
//! ```text
//! file  := entry*
//! entry := timestamp:i64  relative_offset:u32       both ascend
//! ```
//! An entry (T, O) says that T is the greatest timestamp of the segment up to the batch that ends with offset O, which
//! holds it. The last entry of a sealed segment is the segment's greatest timestamp.

use super::entry_file::{EntryFile, Peek, array_at};
use super::search::{first_index_where, last_at_most};
use ::io::FileSystem;
use base::error::Result;
use base::place::Offset;

/// Bytes of an entry.
pub const ENTRY: usize = 12;

/// A timestamp and the last offset of the batch that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimestampOffset {
    /// Milliseconds; -1 when there is none.
    pub timestamp: i64,
    /// Last offset of its batch.
    pub offset: Offset,
}

/// See the module.
pub struct TimeIndex {
    base_offset: Offset,
    file: EntryFile<ENTRY>,
}

fn entry(bytes: &[u8], base_offset: Offset, index: usize) -> TimestampOffset {
    let relative = u32::from_be_bytes(array_at(bytes, index * ENTRY + 8));
    TimestampOffset {
        timestamp: timestamp(bytes, index),
        offset: base_offset + i64::from(relative),
    }
}

fn timestamp(bytes: &[u8], index: usize) -> i64 {
    i64::from_be_bytes(array_at(bytes, index * ENTRY))
}

impl TimeIndex {
    /// Over the entries of the segment at `base_offset`.
    pub fn new(file: EntryFile<ENTRY>, base_offset: Offset) -> Self {
        Self { base_offset, file }
    }

    /// The file of entries.
    pub fn file(&mut self) -> &mut EntryFile<ENTRY> {
        &mut self.file
    }

    /// The greatest entry whose timestamp is at most `target`; without one, (-1, base offset).
    pub fn lookup(&self, fs: &dyn FileSystem, target: i64) -> Result<TimestampOffset> {
        let bytes = self.file.bytes(fs)?;
        Ok(
            last_at_most(bytes.len() / ENTRY, &target, |index| timestamp(bytes, index))
                .map_or(self.none(), |index| entry(bytes, self.base_offset, index)),
        )
    }

    /// The last entry, that is the greatest timestamp noted; without one, (-1, base offset).
    pub fn last_entry(&self, fs: &dyn FileSystem) -> Result<TimestampOffset> {
        let bytes = self.file.bytes(fs)?;
        Ok((bytes.len() / ENTRY)
            .checked_sub(1)
            .map_or(self.none(), |index| entry(bytes, self.base_offset, index)))
    }

    fn none(&self) -> TimestampOffset {
        TimestampOffset {
            timestamp: -1,
            offset: self.base_offset,
        }
    }

    /// Adds an entry when its timestamp is later than the last one's.
    pub fn maybe_append(&mut self, timestamp_ms: i64, offset: Offset) {
        let Some(bytes) = self.file.active_bytes() else { return };
        let last = (bytes.len() / ENTRY)
            .checked_sub(1)
            .map_or(-1, |index| timestamp(bytes, index));
        if timestamp_ms > last {
            let mut raw = [0; ENTRY];
            raw[..8].copy_from_slice(&timestamp_ms.to_be_bytes());
            raw[8..].copy_from_slice(&((offset - self.base_offset) as u32).to_be_bytes());
            self.file.push(raw);
        }
    }

    /// Whether `max_bytes` has no room left but the entry that is reserved for the segment's final timestamp.
    pub fn is_full(&self, max_bytes: u32) -> bool {
        let max_entries = max_bytes as usize / ENTRY;
        self.file
            .active_bytes()
            .is_some_and(|bytes| bytes.len() / ENTRY + 1 >= max_entries)
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
    pub fn entries(&self, fs: &dyn FileSystem) -> Result<impl Iterator<Item = TimestampOffset> + '_> {
        let bytes = self.file.bytes(fs)?;
        Ok((0..bytes.len() / ENTRY).map(move |index| entry(bytes, self.base_offset, index)))
    }

    /// The last entry, when the file's length and its first and last entry are valid; else `None`. Checks no other
    /// entry.
    pub fn sane_last_entry(&self, fs: &dyn FileSystem) -> Result<Option<TimestampOffset>> {
        Ok(match self.file.peek(fs)? {
            Peek::Missing | Peek::Partial => None,
            Peek::Empty => Some(self.none()),
            Peek::Ends { first, last, count } => {
                let (first, last) = (entry(&first, self.base_offset, 0), entry(&last, self.base_offset, 0));
                let ascends = first.timestamp < last.timestamp && first.offset < last.offset;
                (last.timestamp >= 0 && (count == 1 || ascends)).then_some(last)
            }
        })
    }
}
