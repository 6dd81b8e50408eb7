//! The work that the control plane schedules (retention, checkpoints, flushes by time, producer expiry) and its calls
//! on single partitions. Every call may block on the disk; no network loop makes these calls.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Broker;
use crate::logs::stale_rows::HARMFUL;
use crate::partition::followers::Proposal;
use crate::partition::{FutureLog, Partition};
use crate::threads::events::Event;
use base::error::shortage::is_removed;
use base::error::{Error, ErrorCode, Result};
use base::place::{Offset, Position};
use record::{Batches, ControlType};
use storage::log_dir::{Checkpoint, LogDir};
use storage::{AppendError, Log, TopicPartition};

/// Most bytes that the records of one batch may inflate to when the control plane's own topics are read.
pub const INFLATE_LIMIT_BYTES: usize = 128 << 20;

/// The shortest time between two log lines about a shortage of descriptors or memory.
const SAY_SHORTAGE_AGAIN: Duration = Duration::from_secs(10);

/// A load's directory in which nothing has changed for a day, in ms, belongs to no load any more: its tasks write all
/// the time until they ask for the adoption.
const STALE_LOAD_MS: i64 = 24 * 60 * 60 * 1000;

/// One record of a control-plane topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRecord {
    /// Offset.
    pub offset: Offset,
    /// Timestamp, ms.
    pub timestamp: i64,
    /// Key.
    pub key: Option<Vec<u8>>,
    /// Value; `None` is a tombstone.
    pub value: Option<Vec<u8>>,
    /// The producer whose transaction it belongs to, or ends; -1 outside of transactions.
    pub producer_id: i64,
    /// The type of a control record; `None` for any other record.
    pub control: Option<ControlType>,
}

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

impl Broker {
    pub(crate) fn all_partitions(&self) -> Vec<Arc<Partition>> {
        let topics = self.registry.snapshot();
        let online = |t: &Arc<crate::Topic>| t.partitions().filter(|p| !p.is_offline()).cloned().collect::<Vec<_>>();
        topics.iter().flat_map(online).collect()
    }

    /// Asks the control plane to change the in-sync set.
    pub(crate) fn propose(&self, partition: &Partition, proposal: Proposal) {
        self.events.push(Event::IsrChange {
            topic: Arc::clone(partition.topic()),
            index: partition.index(),
            proposal,
        });
    }

    /// Proposes to remove the followers that lag from the in-sync set, for every partition that this
    /// broker leads.
    pub fn shrink_isrs(&self, now: Instant) {
        for partition in self.all_partitions() {
            if let Some(proposal) = partition.propose_leaving(now) {
                self.propose(&partition, proposal);
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
        let dirs = self.log_dirs.lock();
        let holding = dirs.iter().map(LogDir::path).filter(|dir| path.starts_with(dir));
        holding
            .max_by_key(|dir| dir.components().count())
            .map(Path::to_path_buf)
    }

    /// See [`Broker::storage_failed`]. A shortage and a corrupt file are only logged: the operation that met the error
    /// fails, and the directory stays online.
    pub fn storage_failed_in(&self, log_dir: &Path, error: &Error) {
        if error.is_shortage() {
            self.say_shortage(error);
        } else if let Error::CorruptFile { path, position, .. } = error {
            if self.corrupt_said.lock().is_news(path, *position, Instant::now()) {
                self.log(&format!(
                    "{error}; who reads there is told CORRUPT_MESSAGE, the log directory serves on"
                ));
            }
        } else if let Error::Taken { path } = error {
            if self.corrupt_said.lock().is_news(path, Position(0), Instant::now()) {
                self.log(&format!(
                    "{error}. Until then its partition is offline, the log directory serves on"
                ));
            }
        } else if !matches!(error, Error::Rejected { .. } | Error::Closed { .. }) {
            self.fail_log_dir(log_dir, &error.to_string());
        }
    }

    /// Logs a shortage at most every [`SAY_SHORTAGE_AGAIN`], since every request may meet it.
    fn say_shortage(&self, error: &Error) {
        if matches!(error, Error::Io { source, .. } if is_removed(source)) {
            return; // a reader came after the file was removed, which is no shortage
        }
        let mut said = self.shortage_said.lock();
        if said.is_some_and(|at| at.elapsed() < SAY_SHORTAGE_AGAIN) {
            return;
        }
        *said = Some(Instant::now());
        self.log(&format!(
            "{error}; this was refused or is tried again, the log directory serves on. If it lasts, raise the limit of \
             descriptors (ulimit -n) or of memory"
        ));
    }

    /// Deletes old segments of every log by its configuration; returns how many. A log that is being
    /// cleaned waits for the end of its cleaning. Removes directories that bulk loads have left, too.
    pub fn run_retention(&self) -> usize {
        self.remove_stale_loads();
        let all = self.all_partitions();
        all.iter().map(|partition| self.run_retention_of(partition)).sum()
    }

    /// Removes the directories of loads whose process ended without removing them.
    fn remove_stale_loads(&self) {
        let paths: Vec<PathBuf> = self
            .log_dirs
            .lock()
            .iter()
            .map(|dir| dir.path().to_path_buf())
            .collect();
        let (fs, now_ms) = (&self.context.fs, self.context.clock.now_ms());
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

    /// As [`Self::run_retention`], for one log.
    pub(crate) fn run_retention_of(&self, partition: &Arc<Partition>) -> usize {
        let now_ms = self.context.clock.now_ms();
        let high_watermark = partition.offsets().high_watermark;
        let outcome = {
            let mut log = partition.log();
            if log.config().is_compacted && self.cleaner.is_cleaning(log.topic_partition()) {
                return 0;
            }
            let delay = Duration::from_millis(u64::try_from(log.config().file_delete_delay_ms).unwrap_or(0));
            log.delete_old_segments(now_ms, high_watermark)
                .map(|deletion| (deletion, delay))
        };
        match outcome {
            Ok((deletion, delay)) if deletion.segments() > 0 => {
                let deleted = deletion.segments();
                // A file that cannot be removed now keeps its suffix, and the next start removes it.
                self.reaper.after(delay, move || drop(deletion.run()));
                partition.refresh();
                deleted
            }
            Ok(_) => 0,
            Err(error) => {
                self.storage_failed(partition, &error);
                0
            }
        }
    }

    /// Flushes logs whose oldest unflushed record is older than `flush.ms`; returns how many.
    pub fn flush_due(&self) -> usize {
        let now_ms = self.context.clock.now_ms();
        let due = |p: &Arc<Partition>| p.is_flush_due(now_ms);
        let due: Vec<_> = self.all_partitions().into_iter().filter(due).collect();
        for partition in &due {
            self.flusher.enqueue(partition);
        }
        due.len()
    }

    /// Forgets idle producers (`producer.id.expiration.ms`); returns how many.
    pub fn expire_producers(&self) -> usize {
        let now_ms = self.context.clock.now_ms();
        self.all_partitions()
            .iter()
            .map(|p| {
                let mut log = p.log();
                let before = log.producers().producer_id_count();
                log.producers_mut().remove_expired(now_ms);
                before - log.producers().producer_id_count()
            })
            .sum()
    }

    /// Writes these checkpoints of every log directory. A directory that fails goes offline; the others are written.
    pub fn write_checkpoints(&self, which: &[Checkpoint]) -> Result<()> {
        let dirs = self.log_dirs.lock();
        let stale = self.stale_rows.snapshot();
        // The partitions are listed under the lock: else a later write could have a log that was deleted before an
        // earlier write.
        let mut by_dir: HashMap<PathBuf, Vec<Arc<Partition>>> = HashMap::new();
        for partition in self.all_partitions() {
            by_dir
                .entry(partition.log_dir().to_path_buf())
                .or_default()
                .push(partition);
        }
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
        let dirs = self.log_dirs.lock();
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
    pub fn describe_log_dirs(&self) -> Vec<LogDirDescription> {
        let partitions: Vec<_> = self
            .registry
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
                (partition.log_dir().to_path_buf(), partition.future())
            })
            .collect();
        let with_places = || partitions.iter().zip(&places);
        let mut paths: Vec<PathBuf> = self.log_dirs.lock().iter().map(|d| d.path().to_path_buf()).collect();
        let failed: Vec<_> = self
            .failed_log_dirs()
            .into_iter()
            .filter(|p| !paths.contains(p))
            .collect();
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
                    .map(|(p, _)| (Arc::clone(p.topic()), p.index(), p.log().size_bytes(), 0, false))
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

    /// Reads records from `offset` on, about `max_bytes` of batches, up to the log end. Returns them with the offset to
    /// go on from.
    pub fn read_records(
        &self,
        topic: &str,
        index: i32,
        offset: Offset,
        max_bytes: usize,
    ) -> Result<(Vec<ReadRecord>, Offset)> {
        let partition = self.partition(topic, index)?;
        let end = partition.offsets().log_end;
        let start = offset.max(partition.offsets().log_start);
        let mut records = Vec::new();
        if start >= end {
            return Ok((records, end));
        }
        let mut bytes = Vec::new();
        read_batches(&partition, start, end, max_bytes, &mut bytes)?;
        if bytes.is_empty() {
            return Ok((records, end));
        }
        let mut next = start;
        let mut scratch = Vec::new();
        for batch in Batches::new(&bytes) {
            let corrupt = |e: record::BatchError| Error::rejected(ErrorCode::CORRUPT_MESSAGE, e.to_string());
            let batch = batch.map_err(corrupt)?;
            let header = batch.header();
            let producer_id = if header.is_transactional() {
                header.producer_id
            } else {
                -1
            };
            for record in batch.records(&mut scratch, INFLATE_LIMIT_BYTES).map_err(corrupt)? {
                let record = record.map_err(corrupt)?;
                if record.offset >= start {
                    records.push(ReadRecord {
                        offset: record.offset,
                        timestamp: record.timestamp,
                        key: record.key.map(<[u8]>::to_vec),
                        value: record.value.map(<[u8]>::to_vec),
                        producer_id,
                        control: header.is_control().then(|| control_type(record.key)),
                    });
                }
            }
            next = header.next_offset();
        }
        Ok((records, next))
    }
}

/// Reads whole batches, from the batch with `start` on, and replaces the content of `bytes`: about `max_bytes` and at
/// least one batch; none when there are none before `end`. Blocks on the disk.
pub fn read_batches(
    partition: &Partition,
    start: Offset,
    end: Offset,
    max_bytes: usize,
    bytes: &mut Vec<u8>,
) -> Result<()> {
    let plan = partition.log().plan_read(start, end)?;
    let slice = plan.resolve(max_bytes, true)?;
    bytes.clear();
    bytes.resize(slice.len, 0);
    slice
        .file
        .read_exact_at(bytes, slice.position.get())
        .map_err(|e| Error::io("read", &partition.log_dir(), e))
}

/// Describes the future replica of a partition that moves; the lag is the number of offsets that are not copied yet.
fn future_description(partition: &Partition, future: &FutureLog) -> (Arc<str>, i32, u64, i64, bool) {
    let (end, log) = (partition.offsets().log_end, future.log());
    let has_taken_its_place = log.is_closed();
    let (size_bytes, lag) = if has_taken_its_place {
        drop(log);
        (partition.log().size_bytes(), 0)
    } else {
        (log.size_bytes(), end - log.log_end_offset())
    };
    (Arc::clone(partition.topic()), partition.index(), size_bytes, lag, true)
}

/// The type of a control record, by its key. A key that cannot be parsed counts as an unknown type.
fn control_type(key: Option<&[u8]>) -> ControlType {
    ControlType::parse_key(key.unwrap_or_default()).unwrap_or(ControlType::Other(-1))
}

fn checkpoint_rows(partitions: &[Arc<Partition>], checkpoint: Checkpoint) -> Vec<(TopicPartition, Offset)> {
    let row = |p: &Arc<Partition>| {
        let (high_watermark, log) = (p.offsets().high_watermark, p.log());
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
    let future = partition.future().filter(|future| future.log_dir() == log_dir)?;
    let (high_watermark, log) = (partition.offsets().high_watermark, future.log());
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
        Checkpoint::LogStart => log.segments().next().filter(|(base, ..)| start > *base).map(|_| start),
        Checkpoint::Cleaner => log.first_dirty_offset(),
    }
}

#[cfg(test)]
#[path = "housekeeping_tests.rs"]
mod tests;
