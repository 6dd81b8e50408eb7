//! The leader epochs of one partition: which epoch starts at which offset.
//!
//! Followers and consumers ask the leader where an epoch ends ([`EpochCache::end_offset_for`]) to find the offset where
//! their log and the leader's diverge (KIP-101, KIP-279, KIP-320). The entries are kept in memory, ascending in both
//! epoch and start offset.
//!
//! File `leader-epoch-checkpoint`: the frame of [`super::checkpoint`] with lines `epoch " " start_offset "\n"`.
//!
//! Durability: changes are in memory until [`EpochCache::flush`] (or an [`EpochFlush`] taken from
//! [`EpochCache::begin_flush`]) returns. The log flushes the cache before its recovery point moves. The epochs that a
//! crash loses are those of batches above the recovery point, and recovery assigns them again from these batches.
//! Flushes of one partition may not overlap. Never decides about leadership.

use std::fmt::Write as _;
use std::path::Path;

use super::checkpoint::{decode_lines, encode_lines};
use super::format::LEADER_EPOCH_CHECKPOINT;
use super::state_file::{self, Durability};
use ::io::FileSystem;
use base::error::{Error, Result};
use base::place::{LeaderEpoch, Offset};

/// An epoch and the offset of its first batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEntry {
    /// Leader epoch, from 0.
    pub epoch: LeaderEpoch,
    /// Offset of the first batch that its leader wrote.
    pub start_offset: Offset,
}

/// The epochs of one partition. An empty cache owns no memory.
#[derive(Debug, Default)]
pub struct EpochCache {
    entries: Vec<EpochEntry>,
    /// Counts changes; the file holds the revision `saved_revision`.
    revision: u64,
    saved_revision: u64,
    must_rebuild: bool,
}

/// The state of a cache at one moment, to be written without holding the log's lock.
#[derive(Debug)]
pub struct EpochFlush {
    text: String,
    revision: u64,
}

impl EpochFlush {
    /// The first half of [`run`](Self::run): the new file beside the old one, not synced.
    pub fn write_aside(&self, fs: &dyn FileSystem, dir: &Path) -> Result<()> {
        state_file::write_aside(fs, &dir.join(LEADER_EPOCH_CHECKPOINT), self.text.as_bytes()).map(drop)
    }

    /// The second half of [`run`](Self::run), once the new file is durable: renames it, without syncing the name.
    pub fn put_in_place(&self, fs: &dyn FileSystem, dir: &Path) -> Result<()> {
        state_file::put_in_place(fs, &dir.join(LEADER_EPOCH_CHECKPOINT))
    }

    /// Replaces the file in `dir`; durable when it returns.
    pub fn run(&self, fs: &dyn FileSystem, dir: &Path) -> Result<()> {
        state_file::replace(
            fs,
            &dir.join(LEADER_EPOCH_CHECKPOINT),
            self.text.as_bytes(),
            Durability::Synced,
        )
    }
}

impl EpochCache {
    /// Reads the file of a partition directory; a missing file gives an empty cache. A file that cannot be parsed also
    /// gives an empty cache with [`must_rebuild`](Self::must_rebuild) set: the caller assigns the epochs of every
    /// batch.
    pub fn open(fs: &dyn FileSystem, dir: &Path) -> Result<Self> {
        let mut cache = Self::default();
        match state_file::read_text(fs, &dir.join(LEADER_EPOCH_CHECKPOINT)) {
            Ok(None) => {}
            Ok(Some(text)) => match decode_epochs(&text) {
                Ok(entries) => {
                    for entry in entries {
                        cache.assign(entry.epoch, entry.start_offset);
                    }
                    cache.saved_revision = cache.revision;
                }
                Err(_) => cache.must_rebuild = true,
            },
            Err(Error::BadFormat { .. }) => cache.must_rebuild = true,
            Err(error) => return Err(error),
        }
        Ok(cache)
    }

    /// The cache of a log whose file is gone, though one was written: [`must_rebuild`](Self::must_rebuild) is set.
    pub fn lost() -> Self {
        Self {
            must_rebuild: true,
            ..Self::default()
        }
    }

    /// The file was unreadable or lost; see [`open`](Self::open).
    pub const fn must_rebuild(&self) -> bool {
        self.must_rebuild
    }

    /// Notes that `epoch` starts at `start_offset`, and says whether that changed anything. A known latest epoch
    /// keeps its start unless the new one is lower; entries that contradict the new one (same or later epoch, same or
    /// later start) are dropped. Negative epochs and offsets (batches from before epochs) are ignored.
    pub fn assign(&mut self, epoch: LeaderEpoch, start_offset: Offset) -> bool {
        if epoch.is_none() || start_offset.is_none() {
            return false;
        }
        if let Some(last) = self.entries.last() {
            if last.epoch == epoch && last.start_offset <= start_offset {
                return false;
            }
            let keep = |entry: &EpochEntry| entry.epoch < epoch && entry.start_offset < start_offset;
            let kept = self.entries.iter().rposition(keep).map_or(0, |at| at + 1);
            self.entries.truncate(kept);
        }
        self.entries.reserve_exact(1);
        self.entries.push(EpochEntry { epoch, start_offset });
        self.revision += 1;
        true
    }

    /// The latest epoch.
    pub fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|entry| entry.epoch)
    }

    /// The earliest entry: epoch and start of the first batch in the log.
    pub fn earliest(&self) -> Option<EpochEntry> {
        self.entries.first().copied()
    }

    /// Where an epoch ends: the greatest known epoch ≤ `epoch`, and the first offset after it.
    ///
    /// - (a) the latest epoch: the log's end;
    /// - (b) later than all known, or negative, or nothing known: `None` (Kafka answers −1, −1);
    /// - (c) earlier than all known: the requested epoch itself and the start of the earliest: the epochs before are
    ///   gone;
    /// - (d) else the floor epoch and the start of the epoch after it.
    pub fn end_offset_for(&self, epoch: LeaderEpoch, log_end_offset: Offset) -> Option<(LeaderEpoch, Offset)> {
        let latest = self.latest_epoch()?;
        if epoch == latest {
            return Some((epoch, log_end_offset)); // (a)
        }
        if epoch.is_none() || epoch > latest {
            return None; // (b)
        }
        let after = self.entries.partition_point(|entry| entry.epoch <= epoch);
        let next = self.entries.get(after)?;
        let floor = after.checked_sub(1).and_then(|at| self.entries.get(at));
        Some((floor.map_or(epoch, |entry| entry.epoch), next.start_offset)) // (c), (d)
    }

    /// The epoch of the batch at `offset`; `None` before the first known epoch.
    pub fn epoch_for_offset(&self, offset: Offset) -> Option<LeaderEpoch> {
        let after = self.entries.partition_point(|entry| entry.start_offset <= offset);
        after
            .checked_sub(1)
            .and_then(|at| self.entries.get(at))
            .map(|entry| entry.epoch)
    }

    /// Drops the epochs that start at or after `end_offset`, and says whether there were any.
    pub fn truncate_from_end(&mut self, end_offset: Offset) -> bool {
        let kept = self.entries.partition_point(|entry| entry.start_offset < end_offset);
        if end_offset.is_none() || kept == self.entries.len() {
            return false;
        }
        self.entries.truncate(kept);
        self.revision += 1;
        true
    }

    /// Drops the epochs that end at or before `start_offset` and lets the epoch that holds `start_offset` start there;
    /// returns whether anything changed.
    pub fn truncate_from_start(&mut self, start_offset: Offset) -> bool {
        let before = self.entries.partition_point(|entry| entry.start_offset <= start_offset);
        let Some(at) = before.checked_sub(1) else { return false };
        let is_same = at == 0
            && self
                .entries
                .first()
                .is_some_and(|entry| entry.start_offset == start_offset);
        if is_same {
            return false;
        }
        self.entries.drain(..at);
        if let Some(first) = self.entries.first_mut() {
            first.start_offset = start_offset;
        }
        self.revision += 1;
        true
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries = Vec::new();
        self.revision += 1;
    }

    /// All entries, ascending.
    pub fn entries(&self) -> &[EpochEntry] {
        &self.entries
    }

    /// Whether the file lacks changes of the cache.
    pub const fn is_dirty(&self) -> bool {
        self.revision != self.saved_revision || self.must_rebuild
    }

    /// The state to write, when the file lacks changes; run the flush without the lock, then call
    /// [`complete_flush`](Self::complete_flush).
    pub fn begin_flush(&self) -> Option<EpochFlush> {
        self.is_dirty().then(|| EpochFlush {
            text: encode_epochs(&self.entries),
            revision: self.revision,
        })
    }

    /// Notes that `flush` is on disk.
    pub fn complete_flush(&mut self, flush: &EpochFlush) {
        self.saved_revision = self.saved_revision.max(flush.revision);
        self.must_rebuild = false;
    }

    /// Writes the file when it lacks changes; durable on return.
    pub fn flush(&mut self, fs: &dyn FileSystem, dir: &Path) -> Result<()> {
        if let Some(flush) = self.begin_flush() {
            flush.run(fs, dir)?;
            self.complete_flush(&flush);
        }
        Ok(())
    }
}

/// The text of an epoch checkpoint.
pub fn encode_epochs(entries: &[EpochEntry]) -> String {
    encode_lines(entries.len(), |text| {
        for entry in entries {
            let _ = writeln!(text, "{} {}", entry.epoch, entry.start_offset);
        }
    })
}

/// Reads the text of an epoch checkpoint; the error says what is wrong and where.
pub fn decode_epochs(text: &str) -> Result<Vec<EpochEntry>, String> {
    decode_lines(text, |line| {
        let mut words = line.split_ascii_whitespace();
        let entry = EpochEntry {
            epoch: LeaderEpoch(words.next()?.parse().ok()?),
            start_offset: Offset(words.next()?.parse().ok()?),
        };
        (words.next().is_none() && entry.epoch.is_some() && entry.start_offset.is_some()).then_some(entry)
    })
}

#[cfg(test)]
#[path = "leader_epochs_tests.rs"]
mod tests;
