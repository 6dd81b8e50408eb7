//! An offset index against the batches of its log.
//!
//! - (a) A batch begins at an entry's position and ends with the entry's offset.
//! - (b) Brokers before Kafka 4.1 made one entry for several batches appended together: the position of the first batch
//!   with the offset of the last. So an entry is also right when a later batch, before the next entry's position, ends
//!   with its offset.
//! - (c) Entries that are right by themselves ascend.
//! - (d) Brokers before Kafka 0.11 gave an entry the first offset. Compaction may have removed that record since, so
//!   any offset of a wrapper message of that time is right.
//!
//! The check gets the batches in order of position; it never reads the log itself.

use std::path::Path;

use super::finding::Finding;
use base::place::{Offset, Position};
use index::entry_file::array_at;
use index::offset_index::ENTRY;

#[derive(Debug, Clone, Copy)]
struct Entry {
    index: usize,
    offset: Offset,
    position: Position,
}

/// See the module.
pub struct OffsetEntries<'a> {
    path: &'a Path,
    /// By position.
    entries: Vec<Entry>,
    next: usize,
    /// An entry that may still be right by (b).
    pending: Option<Entry>,
    /// Entries that are right by themselves, in the order of the file.
    good: Vec<Entry>,
    found: Vec<Finding>,
}

impl<'a> OffsetEntries<'a> {
    /// A check of the entries in `bytes`, which holds whole entries.
    pub fn new(path: &'a Path, bytes: &[u8], base_offset: Offset) -> Self {
        let entry = |index: usize| Entry {
            index,
            offset: base_offset + i64::from(u32::from_be_bytes(array_at(bytes, index * ENTRY))),
            position: Position(u64::from(u32::from_be_bytes(array_at(bytes, index * ENTRY + 4)))),
        };
        let mut entries: Vec<Entry> = (0..bytes.len() / ENTRY).map(entry).collect();
        entries.sort_by_key(|entry| entry.position);
        Self {
            path,
            good: Vec::with_capacity(entries.len()),
            entries,
            next: 0,
            pending: None,
            found: Vec::new(),
        }
    }

    /// The next batch: the least offset that its entry may have, and its last offset; `None` when it is bad.
    #[inline]
    pub fn batch(&mut self, position: Position, offsets: Option<(Offset, Offset)>) {
        if self.pending.is_none()
            && self
                .entries
                .get(self.next)
                .is_none_or(|entry| entry.position > position)
        {
            return;
        }
        self.compare(position, offsets);
    }

    fn compare(&mut self, position: Position, offsets: Option<(Offset, Offset)>) {
        let last_offset = offsets.map(|it| it.1);
        if let Some(pending) = self.pending.take() {
            let is_over = self
                .entries
                .get(self.next)
                .is_some_and(|entry| entry.position <= position);
            match last_offset {
                None => self.good.push(pending),
                Some(last) if last == pending.offset && !is_over => self.good.push(pending), // (b)
                Some(last) if last < pending.offset && !is_over => self.pending = Some(pending),
                Some(_) => self.wrong(pending, "no batch there ends with it"),
            }
        }
        while let Some(entry) = self
            .entries
            .get(self.next)
            .copied()
            .filter(|entry| entry.position <= position)
        {
            self.next += 1;
            if entry.position < position {
                self.wrong(entry, "no batch begins there");
                continue;
            }
            match last_offset {
                Some(_) if offsets.is_some_and(|it| (it.0..it.1).contains(&entry.offset)) => {
                    self.good.push(entry); // (d)
                }
                Some(last) if last < entry.offset && self.pending.is_none() => self.pending = Some(entry),
                Some(last) if last != entry.offset => {
                    self.wrong(entry, &format!("the batch there ends with offset {last}"));
                }
                _ => self.good.push(entry), // (a)
            }
        }
    }

    fn wrong(&mut self, entry: Entry, why: &str) {
        let (offset, position) = (entry.offset, entry.position);
        let message = format!("the entry says that the batch of offset {offset} begins at {position}, but {why}");
        let at = (entry.index * ENTRY) as u64;
        self.found.push(Finding::fault(self.path, at, message));
    }

    /// Ends the check after the last batch; `is_whole` when all of the log was walked, up to `end`.
    pub fn finish(mut self, is_whole: bool, end: Position) -> Vec<Finding> {
        if is_whole {
            if let Some(pending) = self.pending.take() {
                self.wrong(pending, "no batch there ends with it");
            }
            while let Some(entry) = self.entries.get(self.next).copied() {
                self.next += 1;
                let why = if entry.position >= end {
                    format!("the log has only {end} bytes")
                } else {
                    "no batch begins there".to_owned()
                };
                self.wrong(entry, &why);
            }
        }
        self.good.sort_by_key(|entry| entry.index);
        let mut previous: Option<Entry> = None;
        for entry in std::mem::take(&mut self.good) {
            if let Some(before) = previous.filter(|it| it.offset >= entry.offset || it.position >= entry.position) {
                let message = format!(
                    "the entry (offset {}, position {}) does not ascend from the one before it ({}, {})",
                    entry.offset, entry.position, before.offset, before.position
                );
                let at = (entry.index * ENTRY) as u64;
                self.found.push(Finding::fault(self.path, at, message)); // (c)
                continue;
            }
            previous = Some(entry);
        }
        self.found
    }
}
