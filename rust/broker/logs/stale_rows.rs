//! Rows of the checkpoint files whose log was deleted.
//!
//! A checkpoint file is written whole, so each deletion would cost a write of all rows; thousands of topics that are
//! deleted one after the other would cost as many writes. The rows therefore stay until the next write of the file.
//! Until then their partitions are noted here and in a small file of their log directory
//! ([`LogDir::write_deleted_logs`](storage::log_dir::LogDir::write_deleted_logs)), which the next start reads
//! after a crash: it must not miss the log. Invariant: no log is created while a file may have a row of an older log
//! of the same name, or names it as deleted. After a crash the new log would get the older log's start and recovery
//! point, and lose the records below them. Nothing here reads or writes a file.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use storage::TopicPartition;
use storage::log_dir::Checkpoint;

/// The checkpoints whose stale rows would harm a new log. A high watermark is never taken for more than the log's end.
pub const HARMFUL: [Checkpoint; 3] = [Checkpoint::RecoveryPoint, Checkpoint::LogStart, Checkpoint::Cleaner];

/// A deleted log.
#[derive(Debug, Clone)]
struct Row {
    log_dir: PathBuf,
    /// The checkpoints that may still have its row; never empty.
    left: Vec<Checkpoint>,
}

#[derive(Default)]
struct State {
    rows: HashMap<TopicPartition, Row>,
    /// Log directories whose file of deleted logs is not empty.
    noted_dirs: HashSet<PathBuf>,
}

/// See the module.
#[derive(Default)]
pub struct StaleRows {
    state: Mutex<State>,
}

/// The deleted logs when a write of checkpoints begins.
pub struct Snapshot(Vec<TopicPartition>);

impl StaleRows {
    /// Notes a log that is deleted. The caller has removed the partition from the registry: a write of the checkpoints
    /// that begins after this call has no row of the log.
    pub fn note(&self, partition: &TopicPartition, log_dir: &Path) {
        let row = Row {
            log_dir: log_dir.to_path_buf(),
            left: HARMFUL.to_vec(),
        };
        self.state.lock().rows.insert(partition.clone(), row);
    }

    /// Whether a file may have a row of a deleted log of this name.
    pub fn has(&self, partition: &TopicPartition) -> bool {
        self.state.lock().rows.contains_key(partition)
    }

    /// Whether any file may have a row of a deleted log.
    pub fn is_any(&self) -> bool {
        !self.state.lock().rows.is_empty()
    }

    /// The deleted logs by log directory; a directory whose file names deleted logs is there, too.
    pub fn by_dir(&self) -> HashMap<PathBuf, Vec<TopicPartition>> {
        let state = self.state.lock();
        let mut found: HashMap<PathBuf, Vec<TopicPartition>> =
            state.noted_dirs.iter().map(|dir| (dir.clone(), Vec::new())).collect();
        for (partition, row) in &state.rows {
            found.entry(row.log_dir.clone()).or_default().push(partition.clone());
        }
        for partitions in found.values_mut() {
            partitions.sort_unstable();
        }
        found
    }

    /// Notes whether the file of a log directory names deleted logs.
    pub fn note_file(&self, log_dir: &Path, is_empty: bool) {
        let noted = &mut self.state.lock().noted_dirs;
        if is_empty {
            noted.remove(log_dir);
        } else {
            noted.insert(log_dir.to_path_buf());
        }
    }

    /// The deleted logs whose rows a write of checkpoints, which begins now, removes.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.state.lock().rows.keys().cloned().collect())
    }

    /// As [`Self::by_dir`], after a write of these checkpoints.
    pub fn by_dir_after(&self, snapshot: &Snapshot, which: &[Checkpoint]) -> HashMap<PathBuf, Vec<TopicPartition>> {
        let mut found = self.by_dir();
        let state = self.state.lock();
        let done: HashSet<&TopicPartition> = snapshot.0.iter().filter(|one| state.ends_with(one, which)).collect();
        for partitions in found.values_mut() {
            partitions.retain(|partition| !done.contains(partition));
        }
        found
    }

    /// These checkpoints were written without the rows of the snapshot's logs.
    pub fn written(&self, snapshot: &Snapshot, which: &[Checkpoint]) {
        let mut state = self.state.lock();
        for partition in &snapshot.0 {
            if state.ends_with(partition, which) {
                state.rows.remove(partition);
            } else if let Some(row) = state.rows.get_mut(partition) {
                row.left.retain(|checkpoint| !which.contains(checkpoint));
            }
        }
    }
}

impl State {
    /// Whether no checkpoint has the row any more once these are written.
    fn ends_with(&self, partition: &TopicPartition, which: &[Checkpoint]) -> bool {
        let row = self.rows.get(partition);
        row.is_some_and(|row| row.left.iter().all(|checkpoint| which.contains(checkpoint)))
    }
}
