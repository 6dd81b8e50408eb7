//! [`LogDirs`]: the log directories of a broker: which are open, which have failed, and their checkpoint files.
//!
//! A storage failure takes a directory offline, once and until the next start; the others go on. Every call may block
//! on the disk; no network loop makes these calls but to report a failure.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::corrupt_places::CorruptPlaces;
use super::stale_rows::{HARMFUL, StaleRows};
use crate::node::Node;
use crate::partition::{FutureLog, Partition};
use crate::threads::events::Event;
use base::error::shortage::is_removed;
use base::error::{Error, ErrorCode, Result};
use base::place::{Offset, Position};
use storage::log_dir::{Checkpoint, LogDir};
use storage::{AppendError, Log, TopicPartition};

/// The shortest time between two log lines about a shortage of descriptors or memory.
const LOG_SHORTAGE_AGAIN: Duration = Duration::from_secs(10);

/// A load's directory in which nothing has changed for a day, in ms, belongs to no load any more: its tasks write all
/// the time until they ask for the adoption.
pub(super) const STALE_LOAD_MS: i64 = 24 * 60 * 60 * 1000;

/// A log directory, as `DescribeLogDirs` answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDirDescription {
    /// Path.
    pub log_dir: PathBuf,
    /// `NONE`, or `KAFKA_STORAGE_ERROR` when it is offline.
    pub error: ErrorCode,
    /// Size of the file system, -1 when unknown.
    pub total_bytes: i64,
    /// Bytes that can still be written, -1 when unknown.
    pub usable_bytes: i64,
    /// (topic, partition, bytes, offset lag, is future).
    pub replicas: Vec<(Arc<str>, i32, u64, i64, bool)>,
}

/// See the module.
pub struct LogDirs {
    node: Arc<Node>,
    open: Mutex<Vec<LogDir>>,
    failed: Mutex<HashSet<PathBuf>>,
    /// Rows of deleted logs that the checkpoint files may still have.
    stale_rows: StaleRows,
    /// When a shortage of descriptors or memory was last logged.
    shortage_logged_at: Mutex<Option<Instant>>,
    corrupt_places: Mutex<CorruptPlaces>,
}

impl LogDirs {
    /// None are open yet.
    pub(super) fn new(node: &Arc<Node>) -> Self {
        Self {
            node: Arc::clone(node),
            open: Mutex::default(),
            failed: Mutex::default(),
            stale_rows: StaleRows::default(),
            shortage_logged_at: Mutex::default(),
            corrupt_places: Mutex::default(),
        }
    }

    /// Those that are open. While they are locked no checkpoint is written.
    pub(super) fn open(&self) -> MutexGuard<'_, Vec<LogDir>> {
        self.open.lock()
    }

    /// Rows of deleted logs that the checkpoint files may still have.
    pub(super) fn stale_rows(&self) -> &StaleRows {
        &self.stale_rows
    }

    /// Releases the locks of the directories, as the death of the process does.
    pub fn abandon(&self) {
        self.open.lock().clear();
    }

    /// Takes a log directory offline after a storage failure; the others go on. The control plane gets one event for
    /// each directory.
    pub fn fail(&self, log_dir: &Path, reason: &str) {
        if !self.failed.lock().insert(log_dir.to_path_buf()) {
            return;
        }
        for topic in self.node.registry().snapshot().iter() {
            for partition in topic.partitions() {
                if *partition.log_dir() == log_dir {
                    partition.set_offline();
                }
                if partition
                    .future()
                    .get()
                    .is_some_and(|future| future.log_dir() == log_dir)
                {
                    partition.future().abandon();
                }
            }
        }
        self.node.events().push(Event::LogDirFailed {
            log_dir: log_dir.to_path_buf(),
            reason: reason.to_owned(),
        });
    }

    /// The log directories that failed.
    pub fn failed(&self) -> Vec<PathBuf> {
        self.failed.lock().iter().cloned().collect()
    }

    /// Whether a log directory failed.
    pub fn is_failed(&self, log_dir: &Path) -> bool {
        self.failed.lock().contains(log_dir)
    }

    /// Directories without logs get an empty recovery-point checkpoint. A checkpoint that is missing at a later start
    /// was therefore lost.
    pub(super) fn begin_checkpoint(&self, new: &[PathBuf]) {
        let dirs = self.open.lock();
        for dir in dirs.iter().filter(|dir| new.iter().any(|path| path == dir.path())) {
            if dir.checkpoint_written_ms(Checkpoint::RecoveryPoint).is_none()
                && let Err(error) = dir.write_checkpoint(Checkpoint::RecoveryPoint, &[])
            {
                self.storage_failed_in(dir.path(), &error);
            }
        }
    }

    /// Takes the log directory of the file that failed offline, when the error is a disk failure. Does nothing when the
    /// log was deleted meanwhile, since its files are gone too. A move may have put the partition into another
    /// directory since the read began; a file that is missing in the directory before was renamed by the swap. The
    /// caller holds no lock of the partition.
    pub fn storage_failed(&self, partition: &Partition, error: &Error) {
        if partition.log().is_closed() {
            return;
        }
        let here = partition.log_dir();
        match self.log_dir_of(error).filter(|failed| *failed != *here) {
            None => self.storage_failed_in(&here, error),
            Some(_) if matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::NotFound) => {}
            Some(before) => self.storage_failed_in(&before, error),
        }
    }

    /// Returns the error of an append that the broker itself made. A disk failure takes the log directory offline.
    pub fn append_failed(&self, partition: &Partition, error: AppendError) -> Error {
        match error {
            AppendError::Rejected(rejection) => Error::rejected(rejection.code, rejection.message),
            AppendError::Storage(error) => {
                self.storage_failed(partition, &error);
                error
            }
        }
    }

    /// The log directory of the file that failed, if the error names one.
    fn log_dir_of(&self, error: &Error) -> Option<PathBuf> {
        let (Error::Io { path, .. } | Error::Poisoned { path }) = error else {
            return None;
        };
        let dirs = self.open.lock();
        let holding = dirs.iter().map(LogDir::path).filter(|dir| path.starts_with(dir));
        holding
            .max_by_key(|dir| dir.components().count())
            .map(Path::to_path_buf)
    }

    /// See [`Self::storage_failed`]. A shortage and a corrupt file are only logged: the operation that met the error
    /// fails, and the directory stays online.
    pub fn storage_failed_in(&self, log_dir: &Path, error: &Error) {
        if error.is_shortage() {
            self.log_shortage(error);
        } else if let Error::CorruptFile { path, position, .. } = error {
            if self.corrupt_places.lock().is_news(path, *position, Instant::now()) {
                self.node.log(&format!(
                    "{error}; who reads there is told CORRUPT_MESSAGE, the log directory serves on"
                ));
            }
        } else if let Error::Taken { path } = error {
            if self.corrupt_places.lock().is_news(path, Position(0), Instant::now()) {
                self.node.log(&format!(
                    "{error}. Until then its partition is offline, the log directory serves on"
                ));
            }
        } else if !matches!(error, Error::Rejected { .. } | Error::Closed { .. }) {
            self.fail(log_dir, &error.to_string());
        }
    }

    /// Logs a shortage at most every [`LOG_SHORTAGE_AGAIN`], since every request may meet it.
    fn log_shortage(&self, error: &Error) {
        if matches!(error, Error::Io { source, .. } if is_removed(source)) {
            return; // a reader came after the file was removed, which is no shortage
        }
        let mut logged_at = self.shortage_logged_at.lock();
        if logged_at.is_some_and(|at| at.elapsed() < LOG_SHORTAGE_AGAIN) {
            return;
        }
        *logged_at = Some(Instant::now());
        self.node.log(&format!(
            "{error}; this was refused or is tried again, the log directory serves on. If it lasts, raise the limit of \
             descriptors (ulimit -n) or of memory"
        ));
    }

    /// Removes the directories of loads whose process ended without removing them.
    pub(super) fn remove_stale_loads(&self) {
        let paths: Vec<PathBuf> = self.open.lock().iter().map(|dir| dir.path().to_path_buf()).collect();
        let (fs, now_ms) = (&self.node.context().fs, self.node.context().clock.now_ms());
        let changed_ms = |path: &Path| fs.metadata(path).map_or(now_ms, |metadata| metadata.modified_ms);
        for entry in paths.iter().flat_map(|path| fs.read_dir(path).unwrap_or_default()) {
            if !entry.is_dir || !TopicPartition::is_load_dir_name(&entry.name) {
                continue;
            }
            let files = fs.read_dir(&entry.path).unwrap_or_default();
            let newest = files
                .iter()
                .map(|file| changed_ms(&file.path))
                .fold(changed_ms(&entry.path), i64::max);
            if now_ms.saturating_sub(newest) >= STALE_LOAD_MS {
                // What cannot be removed now goes with the next start.
                let _ = fs.remove_dir_all(&entry.path);
            }
        }
    }

    /// Writes these checkpoints of every log directory. A directory that fails goes offline; the others are written.
    pub fn write_checkpoints(&self, which: &[Checkpoint]) -> Result<()> {
        let dirs = self.open.lock();
        let stale = self.stale_rows.snapshot();
        // The partitions are listed under the lock: else a later write could have a log that was deleted before an
        // earlier write.
        let by_dir = self.node.registry().online_by_log_dir();
        let mut failed = None;
        for dir in dirs.iter().filter(|d| !self.is_failed(d.path())) {
            let empty = Vec::new();
            let partitions = by_dir.get(dir.path()).unwrap_or(&empty);
            for &checkpoint in which {
                let mut rows = checkpoint_rows(partitions, checkpoint);
                let moving = by_dir.values().flatten();
                rows.extend(moving.filter_map(|p| future_row(p, dir.path(), checkpoint)));
                match dir.write_checkpoint(checkpoint, &rows) {
                    Ok(()) if matches!(checkpoint, Checkpoint::RecoveryPoint) => {
                        for partition in partitions {
                            partition.log().note_listed();
                        }
                    }
                    Ok(()) => {}
                    Err(error) => {
                        self.storage_failed_in(dir.path(), &error);
                        failed = Some(error);
                    }
                }
            }
        }
        if failed.is_none() {
            failed = self
                .write_deleted_logs(&dirs, &self.stale_rows.by_dir_after(&stale, which))
                .err();
        }
        if let Some(error) = failed {
            return Err(error);
        }
        self.stale_rows.written(&stale, which);
        Ok(())
    }

    /// Makes durable which logs were deleted since the last write of the checkpoints: after a crash the next start does
    /// not miss them. Called after deletions, before they are reported as done.
    ///
    /// # Errors
    /// A file cannot be written. The directory goes offline, except for a shortage.
    pub fn note_deletions(&self) -> Result<()> {
        let dirs = self.open.lock();
        self.write_deleted_logs(&dirs, &self.stale_rows.by_dir())
    }

    fn write_deleted_logs(&self, dirs: &[LogDir], deleted: &HashMap<PathBuf, Vec<TopicPartition>>) -> Result<()> {
        let mut failed = None;
        for dir in dirs.iter().filter(|dir| !self.is_failed(dir.path())) {
            let Some(partitions) = deleted.get(dir.path()) else {
                continue;
            };
            match dir.write_deleted_logs(partitions) {
                Ok(()) => self.stale_rows.note_file(dir.path(), partitions.is_empty()),
                Err(error) => {
                    self.storage_failed_in(dir.path(), &error);
                    failed = Some(error);
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Removes the rows of deleted logs from the checkpoint files, if there may be any.
    ///
    /// # Errors
    /// A checkpoint cannot be written; the rows are tried again with the next write.
    pub fn write_stale_checkpoints(&self) -> Result<()> {
        if self.stale_rows.is_any() {
            self.write_checkpoints(&HARMFUL)?;
        }
        Ok(())
    }

    /// The log directories and the replicas in them.
    pub fn describe(&self) -> Vec<LogDirDescription> {
        let partitions: Vec<_> = self
            .node
            .registry()
            .snapshot()
            .iter()
            .flat_map(|t| t.partitions().cloned().collect::<Vec<_>>())
            .collect();
        // Read each partition's directory and its future directory at one moment: else a move that ends in between
        // would show the replica in two directories, or in none.
        let places: Vec<(PathBuf, Option<Arc<FutureLog>>)> = partitions
            .iter()
            .map(|partition| {
                let _no_swap = partition.log();
                (partition.log_dir().to_path_buf(), partition.future().get())
            })
            .collect();
        let with_places = || partitions.iter().zip(&places);
        let mut paths: Vec<PathBuf> = self.open.lock().iter().map(|d| d.path().to_path_buf()).collect();
        let failed: Vec<_> = self.failed().into_iter().filter(|p| !paths.contains(p)).collect();
        paths.extend(failed);
        let describe = |log_dir: PathBuf| {
            let is_failed = self.is_failed(&log_dir);
            let space = rustix::fs::statvfs(&log_dir).ok().filter(|_| !is_failed);
            let of_dir = with_places().filter(|(_, (at, _))| *at == log_dir && !is_failed);
            let coming = with_places().filter_map(|(partition, (_, future))| Some((partition, future.as_ref()?)));
            LogDirDescription {
                error: if is_failed {
                    ErrorCode::KAFKA_STORAGE_ERROR
                } else {
                    ErrorCode::NONE
                },
                total_bytes: space.as_ref().map_or(-1, |s| (s.f_blocks * s.f_frsize) as i64),
                usable_bytes: space.as_ref().map_or(-1, |s| (s.f_bavail * s.f_frsize) as i64),
                replicas: of_dir
                    .map(|(p, _)| {
                        (
                            Arc::clone(p.topic()),
                            p.index(),
                            p.log().segments().size_bytes(),
                            0,
                            false,
                        )
                    })
                    .chain(
                        coming
                            .filter(|(_, future)| future.log_dir() == log_dir)
                            .map(|(p, future)| future_description(p, future)),
                    )
                    .collect(),
                log_dir,
            }
        };
        paths.into_iter().map(describe).collect()
    }
}

/// Describes the future replica of a partition that moves; the lag is the number of offsets that are not copied yet.
fn future_description(partition: &Partition, future: &FutureLog) -> (Arc<str>, i32, u64, i64, bool) {
    let (end, log) = (partition.offsets().log_end(), future.log());
    let has_taken_its_place = log.is_closed();
    let (size_bytes, lag) = if has_taken_its_place {
        drop(log);
        (partition.log().segments().size_bytes(), 0)
    } else {
        (log.segments().size_bytes(), end - log.log_end_offset())
    };
    (Arc::clone(partition.topic()), partition.index(), size_bytes, lag, true)
}

fn checkpoint_rows(partitions: &[Arc<Partition>], checkpoint: Checkpoint) -> Vec<(TopicPartition, Offset)> {
    let row = |p: &Arc<Partition>| {
        let (high_watermark, log) = (p.offsets().high_watermark(), p.log());
        Some((
            log.topic_partition().clone(),
            checkpointed(&log, high_watermark, checkpoint)?,
        ))
    };
    partitions.iter().filter_map(row).collect()
}

/// The checkpoint row of a future log in `log_dir`: after a crash the next start must open the future log with its
/// present offsets.
fn future_row(partition: &Partition, log_dir: &Path, checkpoint: Checkpoint) -> Option<(TopicPartition, Offset)> {
    let future = partition.future().get().filter(|future| future.log_dir() == log_dir)?;
    let (high_watermark, log) = (partition.offsets().high_watermark(), future.log());
    let offset = checkpointed(&log, high_watermark.min(log.log_end_offset()), checkpoint)?;
    Some((log.topic_partition().clone(), offset))
}

/// The offset that a checkpoint has for a log, if any.
fn checkpointed(log: &Log, high_watermark: Offset, checkpoint: Checkpoint) -> Option<Offset> {
    let start = log.log_start_offset();
    match checkpoint {
        Checkpoint::RecoveryPoint => Some(log.recovery_point()),
        Checkpoint::Replication => Some(high_watermark),
        // As in Kafka: only when the log does not start at its first segment's base offset.
        Checkpoint::LogStart => (start > log.segments().first().base_offset()).then_some(start),
        Checkpoint::Cleaner => log.contents().offsets().first_dirty(),
    }
}
