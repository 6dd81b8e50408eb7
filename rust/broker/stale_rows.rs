//! Rows of the checkpoint files whose log was deleted.
//!
//! A checkpoint file is written whole, so each deletion would cost a write of all rows; thousands of topics that are
//! deleted one after the other would cost as many writes. The rows therefore stay until the next write of the file,
//! and their partitions are noted here. Invariant: no log is created while a row of an older log of the same name may
//! be in a file. After a crash the new log would get the older log's start and recovery point, and lose the records
//! below them. Nothing here reads or writes a file.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;

use crate::storage::TopicPartition;
use crate::storage::log_dir::Checkpoint;

/// The checkpoints whose stale rows would harm a new log. A high watermark is never taken for more than the log's end.
pub const HARMFUL: [Checkpoint; 2] = [Checkpoint::RecoveryPoint, Checkpoint::LogStart];

/// See the module.
#[derive(Default)]
pub struct StaleRows {
    rows: Mutex<HashMap<Checkpoint, HashSet<TopicPartition>>>,
}

impl StaleRows {
    /// Notes a log that is deleted. The caller has removed the partition from the registry: a write of the checkpoints
    /// that begins after this call has no row of the log.
    pub fn note(&self, partition: &TopicPartition) {
        let mut rows = self.rows.lock();
        for checkpoint in HARMFUL {
            rows.entry(checkpoint).or_default().insert(partition.clone());
        }
    }

    /// Whether a checkpoint file may have a row of a deleted log of this name.
    pub fn has(&self, partition: &TopicPartition) -> bool {
        self.rows.lock().values().any(|rows| rows.contains(partition))
    }

    /// Whether any checkpoint file may have a row of a deleted log.
    pub fn is_any(&self) -> bool {
        self.rows.lock().values().any(|rows| !rows.is_empty())
    }

    /// Takes out the rows that a write of this checkpoint, which begins now, removes from the files.
    pub fn take(&self, checkpoint: Checkpoint) -> HashSet<TopicPartition> {
        self.rows.lock().remove(&checkpoint).unwrap_or_default()
    }

    /// Puts back the rows that a write did not remove, because it failed.
    pub fn put_back(&self, checkpoint: Checkpoint, rows: HashSet<TopicPartition>) {
        self.rows.lock().entry(checkpoint).or_default().extend(rows);
    }
}
