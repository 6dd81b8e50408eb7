//! The `.snapshot` files of one partition.
//!
//! A snapshot is taken when a segment is sealed and when the log closes. A start loads the newest valid snapshot and
//! reads only the log behind it. A snapshot carries a checksum and its loss costs only time, so a roll may write it
//! without fsync ([`Durability::Lazy`]). Corrupt files are unlinked and the next older snapshot is used. Calls for the
//! same partition may not overlap.

use std::path::{Path, PathBuf};

use super::entry::ProducerEntry;
use super::snapshot::{self, SnapshotError};
use super::state::{ProducerState, is_expired};
use crate::format::{SNAPSHOT_SUFFIX, file_path, parse_file_name};
use crate::state_file::{self, Durability};
use ::io::FileSystem;
use base::error::{Error, Result};
use base::place::Offset;

impl ProducerState {
    /// The producers and open transactions in the bytes of the snapshot at `offset`, for readers that do not own the
    /// log.
    pub fn from_snapshot(bytes: &[u8], offset: Offset) -> Result<Self, SnapshotError> {
        let mut state = Self::default();
        state.adopt(snapshot::decode(bytes)?);
        state.map_end_offset = offset;
        Ok(state)
    }

    fn adopt(&mut self, producers: Vec<(i64, ProducerEntry)>) {
        for (producer_id, entry) in producers {
            if let Some(first_offset) = entry.current_txn_first_offset {
                self.transactions.start(first_offset, producer_id);
            }
            self.producers.insert(producer_id, entry);
        }
    }

    /// Sets the known snapshots from a listing of the directory's names.
    pub fn set_snapshots<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        let offset = |name| parse_file_name(name).filter(|(_, suffix)| *suffix == SNAPSHOT_SUFFIX);
        self.snapshots = names.filter_map(offset).map(|(offset, _)| offset).collect();
        self.snapshots.sort_unstable();
    }

    /// Sets the known snapshots by listing the directory.
    pub fn scan_snapshots(&mut self, fs: &dyn FileSystem, dir: &Path) -> Result<()> {
        let entries = fs.read_dir(dir).map_err(|error| Error::io("list", dir, error))?;
        self.set_snapshots(entries.iter().map(|entry| entry.name.as_str()));
        Ok(())
    }

    /// Offsets of the known snapshots, ascending.
    pub fn snapshot_offsets(&self) -> &[Offset] {
        &self.snapshots
    }

    /// Offset of the newest snapshot.
    pub fn latest_snapshot_offset(&self) -> Option<Offset> {
        self.snapshots.last().copied()
    }

    /// The bytes of a snapshot of the present state, producers in ascending order.
    pub fn encode_snapshot(&self) -> Vec<u8> {
        let mut producers: Vec<_> = self.active_producers().collect();
        producers.sort_unstable_by_key(|(producer_id, _)| *producer_id);
        snapshot::encode(producers.into_iter())
    }

    /// Sets the map's end to `offset` and writes a snapshot there, unless one at or above `offset` exists; returns
    /// whether it wrote.
    pub fn take_snapshot(
        &mut self,
        fs: &dyn FileSystem,
        dir: &Path,
        offset: Offset,
        durability: Durability,
    ) -> Result<bool> {
        self.map_end_offset = offset;
        if offset <= self.last_snapshot_offset {
            return Ok(false);
        }
        state_file::replace(
            fs,
            &file_path(dir, offset, SNAPSHOT_SUFFIX),
            &self.encode_snapshot(),
            durability,
        )?;
        self.last_snapshot_offset = offset;
        if let Err(at) = self.snapshots.binary_search(&offset) {
            self.snapshots.insert(at, offset);
        }
        Ok(true)
    }

    /// Loads the newest valid snapshot in [`first_offset`, `log_end_offset`], and unlinks the snapshots outside of that
    /// range. `first_offset` is the first offset of the log's files. Afterwards the caller passes every batch from
    /// [`map_end_offset`](Self::map_end_offset) to the log's end to [`update`](Self::update). No snapshot is read when
    /// the state already ends at `log_end_offset`.
    pub fn truncate_and_reload(
        &mut self,
        fs: &dyn FileSystem,
        dir: &Path,
        first_offset: Offset,
        log_end_offset: Offset,
        now_ms: i64,
    ) -> Result<()> {
        self.delete_snapshots(fs, dir, |offset| offset > log_end_offset || offset < first_offset)?;
        if self.map_end_offset == log_end_offset {
            self.on_log_start_offset_incremented(first_offset);
            return Ok(());
        }
        self.clear();
        self.load_latest(fs, dir, first_offset, now_ms)
    }

    fn load_latest(&mut self, fs: &dyn FileSystem, dir: &Path, first_offset: Offset, now_ms: i64) -> Result<()> {
        self.last_snapshot_offset = first_offset;
        self.map_end_offset = first_offset;
        while let Some(offset) = self.latest_snapshot_offset() {
            let path = file_path(dir, offset, SNAPSHOT_SUFFIX);
            let bytes = state_file::read(fs, &path)?.unwrap_or_default();
            let Ok(mut producers) = snapshot::decode(&bytes) else {
                state_file::remove(fs, &path)?;
                self.snapshots.pop();
                continue;
            };
            producers.retain(|(_, entry)| !is_expired(entry, now_ms, self.config.producer_id_expiration_ms));
            self.adopt(producers);
            self.last_snapshot_offset = offset;
            self.map_end_offset = offset;
            break;
        }
        Ok(())
    }

    /// Empties the state, unlinks every snapshot, and starts at `offset`.
    pub fn truncate_fully_and_start_at(&mut self, fs: &dyn FileSystem, dir: &Path, offset: Offset) -> Result<()> {
        self.clear();
        self.map_end_offset = offset;
        self.last_snapshot_offset = Offset(0);
        self.delete_snapshots(fs, dir, |_| true)
    }

    /// Unlinks the snapshots at or above `offset`.
    pub fn delete_snapshots_from(&mut self, fs: &dyn FileSystem, dir: &Path, offset: Offset) -> Result<()> {
        self.delete_snapshots(fs, dir, |snapshot| snapshot >= offset)
    }

    /// After a start: unlinks the snapshots that belong to no segment, but keeps the newest of them when it lies above
    /// every segment's base offset: a clean stop wrote it.
    pub fn remove_stray_snapshots(
        &mut self,
        fs: &dyn FileSystem,
        dir: &Path,
        segment_base_offsets: &[Offset],
    ) -> Result<()> {
        let is_stray = |offset: &Offset| !segment_base_offsets.contains(offset);
        let newest_base = segment_base_offsets.iter().copied().max();
        let latest = self.snapshots.iter().copied().rfind(is_stray);
        let kept = latest.filter(|latest| newest_base.is_none_or(|base| *latest >= base));
        self.delete_snapshots(fs, dir, |offset| is_stray(&offset) && Some(offset) != kept)
    }

    /// Drops the snapshot at `offset` from the list and renames its file to `.deleted`, which is unlinked later
    /// together with its segment. `None` when there is no such snapshot.
    pub fn mark_snapshot_deleted(
        &mut self,
        fs: &dyn FileSystem,
        dir: &Path,
        offset: Offset,
    ) -> Result<Option<PathBuf>> {
        let Ok(at) = self.snapshots.binary_search(&offset) else {
            return Ok(None);
        };
        self.snapshots.remove(at);
        state_file::rename_to_deleted(fs, &file_path(dir, offset, SNAPSHOT_SUFFIX))
    }

    fn delete_snapshots(&mut self, fs: &dyn FileSystem, dir: &Path, is_doomed: impl Fn(Offset) -> bool) -> Result<()> {
        // A snapshot that cannot be unlinked stays in the list for the next attempt.
        let mut removed = Ok(());
        self.snapshots.retain(|offset| {
            if removed.is_ok() && is_doomed(*offset) {
                removed = state_file::remove(fs, &file_path(dir, *offset, SNAPSHOT_SUFFIX));
                return removed.is_err();
            }
            true
        });
        removed
    }
}
