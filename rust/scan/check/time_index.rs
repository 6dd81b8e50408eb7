//! A time index against the batches of its log.
//!
//! - (a) An entry (T, O): the batch that holds offset O has T as its greatest timestamp, and no batch before it has a
//!   later timestamp. (Kafka writes the batch's last offset; versions before 3.7 wrote the record's.)
//! - (b) The last entry of a sealed segment has the segment's greatest timestamp.
//! - (c) Entries that are right by themselves ascend.
//!
//! Behind a bad batch the greatest timestamp is not known, so entries there are checked for neither (a) nor (b).

use std::path::Path;

use super::finding::Finding;
use base::place::Offset;
use index::entry_file::array_at;
use index::time_index::ENTRY;

#[derive(Debug, Clone, Copy)]
struct Entry {
    index: usize,
    timestamp: i64,
    offset: Offset,
}

/// See the module.
pub struct TimeEntries<'a> {
    path: &'a Path,
    /// By offset.
    entries: Vec<Entry>,
    next: usize,
    good: Vec<Entry>,
    found: Vec<Finding>,
    /// The timestamp of the file's last entry.
    last_timestamp: Option<i64>,
    /// The greatest timestamp of the batches so far; `None` behind a bad batch.
    greatest: Option<i64>,
}

impl<'a> TimeEntries<'a> {
    /// A check of the entries in `bytes`, which holds whole entries.
    pub fn new(path: &'a Path, bytes: &[u8], base_offset: Offset) -> Self {
        let entry = |index: usize| Entry {
            index,
            timestamp: i64::from_be_bytes(array_at(bytes, index * ENTRY)),
            offset: base_offset + i64::from(u32::from_be_bytes(array_at(bytes, index * ENTRY + 8))),
        };
        let mut entries: Vec<Entry> = (0..bytes.len() / ENTRY).map(entry).collect();
        let last_timestamp = entries.last().map(|entry| entry.timestamp);
        entries.sort_by_key(|entry| entry.offset);
        Self {
            path,
            good: Vec::with_capacity(entries.len()),
            entries,
            next: 0,
            found: Vec::new(),
            last_timestamp,
            greatest: Some(-1),
        }
    }

    /// The next batch.
    #[inline]
    pub fn batch(&mut self, base_offset: Offset, last_offset: Offset, max_timestamp: i64) {
        let is_new = self.greatest.is_some_and(|greatest| max_timestamp > greatest);
        if is_new {
            self.greatest = Some(max_timestamp);
        }
        if self
            .entries
            .get(self.next)
            .is_some_and(|entry| entry.offset <= last_offset)
        {
            self.compare(base_offset, last_offset, max_timestamp);
        }
    }

    fn compare(&mut self, base_offset: Offset, last_offset: Offset, max_timestamp: i64) {
        while let Some(entry) = self
            .entries
            .get(self.next)
            .copied()
            .filter(|entry| entry.offset <= last_offset)
        {
            self.next += 1;
            if self.greatest.is_none() {
                self.good.push(entry); // not known to be wrong
            } else if entry.offset < base_offset {
                self.wrong(entry, "no batch holds that offset");
            } else if let Some(greatest) = self.greatest.filter(|it| *it != entry.timestamp) {
                self.wrong(entry, &format!("the greatest up to there is {greatest}"));
            } else if max_timestamp != entry.timestamp {
                self.wrong(entry, &format!("that of the batch there is {max_timestamp}"));
            } else {
                self.good.push(entry); // (a)
            }
        }
    }

    /// Notes a bad batch: its greatest timestamp is not known.
    pub fn unknown(&mut self) {
        self.greatest = None;
    }

    fn wrong(&mut self, entry: Entry, why: &str) {
        let (timestamp, offset) = (entry.timestamp, entry.offset);
        let message =
            format!("the entry says that {timestamp} is the greatest timestamp up to offset {offset}, but {why}");
        let at = (entry.index * ENTRY) as u64;
        self.found.push(Finding::fault(self.path, at, message));
    }

    /// Ends the check after the last batch; `is_whole` when all of the log was walked.
    pub fn finish(mut self, is_whole: bool, is_sealed: bool) -> Vec<Finding> {
        let count = self.entries.len();
        if is_whole && self.greatest.is_some() {
            while let Some(entry) = self.entries.get(self.next).copied() {
                self.next += 1;
                self.wrong(entry, "the log ends before it");
            }
        }
        self.good.sort_by_key(|entry| entry.index);
        let mut previous: Option<Entry> = None;
        for entry in std::mem::take(&mut self.good) {
            if let Some(before) = previous.filter(|it| it.timestamp >= entry.timestamp || it.offset > entry.offset) {
                let message = format!(
                    "the entry (timestamp {}, offset {}) does not ascend from the one before it ({}, {})",
                    entry.timestamp, entry.offset, before.timestamp, before.offset
                );
                let at = (entry.index * ENTRY) as u64;
                self.found.push(Finding::fault(self.path, at, message)); // (c)
                continue;
            }
            previous = Some(entry);
        }
        let greatest = self
            .greatest
            .filter(|it| *it >= 0 && is_whole && is_sealed && self.found.is_empty());
        if let Some(greatest) = greatest.filter(|it| self.last_timestamp != Some(*it)) {
            let at = (count.saturating_sub(1) * ENTRY) as u64;
            let message = format!("the last entry must have the segment's greatest timestamp, {greatest}");
            self.found.push(Finding::fault(self.path, at, message)); // (b)
        }
        self.found
    }
}
