//! The log cleaner: which log is cleaned next, and the state of all cleanings.
//!
//! The control plane's cleaner threads call [`Broker::clean_filthiest`], one log for each call. Of all compacted logs
//! that are due the one with the greatest dirty ratio is chosen, as in Kafka. A log is in one cleaning at most, and
//! retention leaves it alone meanwhile. A log whose cleaning met a corrupt batch is *uncleanable* until the next start:
//! it is named, and every other log goes on. Where the disk is full or descriptors are short the log rests for
//! [`REST`].
//!
//! The parts: `pace` is the rate that all cleanings share and the wish to stop, `run` one cleaning.

mod pace;
mod run;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

pub use self::pace::Rate;
pub use self::run::{CleanerRun, Step};
use crate::Broker;
use crate::partition::Partition;
use base::error::Error;
use base::place::Offset;
use storage::TopicPartition;
use storage::cleaner::cleanable::Reset;
use storage::cleaner::{Cleanable, CleaningStats};
use storage::log_dir::Checkpoint;

/// How long a log rests after its cleaning met a full disk or a shortage of descriptors or memory.
pub const REST: Duration = Duration::from_mins(1);

/// The `log.cleaner.*` keys that a cleaning needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CleanerConfig {
    /// `log.cleaner.threads`; the memory below is for all of them.
    pub threads: usize,
    /// `log.cleaner.dedupe.buffer.size`.
    pub dedupe_buffer_bytes: usize,
    /// `log.cleaner.io.buffer.load.factor`.
    pub load_factor: f64,
    /// `log.cleaner.io.buffer.size`: half of it for reading, half for writing.
    pub io_buffer_bytes: usize,
    /// `log.cleaner.io.max.bytes.per.second`, read and written.
    pub max_bytes_per_second: f64,
}

impl Default for CleanerConfig {
    /// Kafka's defaults.
    fn default() -> Self {
        Self {
            threads: 1,
            dedupe_buffer_bytes: 128 << 20,
            load_factor: 0.9,
            io_buffer_bytes: 512 << 10,
            max_bytes_per_second: f64::MAX,
        }
    }
}

impl CleanerConfig {
    /// Bytes of one thread's map; Kafka's limit of 2 GB holds for it, too.
    fn map_bytes(&self) -> usize {
        (self.dedupe_buffer_bytes / self.threads.max(1)).min(i32::MAX as usize)
    }

    /// Bytes of one thread's buffer for reading, and of its buffer for writing.
    fn piece_bytes(&self) -> usize {
        self.io_buffer_bytes / self.threads.max(1) / 2
    }
}

/// How a cleaning ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CleanerOutcome {
    /// The log is clean up to `CleanerReport::end`.
    Cleaned,
    /// The broker stops, or the log was truncated, deleted or moved meanwhile.
    Stopped,
    /// A batch is corrupt: the log is not cleaned again before the next start.
    Uncleanable(String),
    /// The disk is full or descriptors are short; the log rests for [`REST`].
    Resting(String),
    /// The disk failed; the log directory is offline.
    Failed(String),
}

/// One cleaning that has ended.
#[derive(Debug, Clone)]
pub struct CleanerReport {
    /// The log.
    pub partition: TopicPartition,
    /// Its log directory.
    pub log_dir: PathBuf,
    /// How it ended.
    pub outcome: CleanerOutcome,
    /// The dirty part when the cleaning began.
    pub cleanable: Cleanable,
    /// The offset up to which the log is clean.
    pub end: Offset,
    /// Read and written.
    pub stats: CleaningStats,
    /// How long the dirty part was read.
    pub indexing: Duration,
    /// How long the whole took.
    pub elapsed: Duration,
}

/// The figures of Kafka's `LogCleanerManager`, at the last look at all logs.
#[derive(Debug, Clone, Default)]
pub struct CleanerFigures {
    /// The greatest dirty ratio of a log, 0 to 1.
    pub max_dirty_ratio: f64,
    /// For how long the oldest dirty record of any log is older than `max.compaction.lag.ms`.
    pub max_compaction_delay_ms: i64,
    /// When logs were looked at last, in ms since the Unix epoch; 0 before the first look.
    pub last_run_ms: i64,
    /// By log directory: uncleanable logs, and their bytes that should be cleaned.
    pub uncleanable: Vec<(PathBuf, usize, u64)>,
    /// Dirty logs by topic and partition, with their dirty ratio.
    pub dirty_ratios: Vec<(Arc<str>, i32, f64)>,
}

/// A cleaning that is under way.
#[derive(Default)]
struct InProgress {
    is_aborted: Arc<AtomicBool>,
    /// Whether a thread is in one of its steps.
    is_stepping: bool,
}

#[derive(Default)]
struct State {
    in_progress: HashMap<TopicPartition, InProgress>,
    uncleanable: HashMap<TopicPartition, Weak<Partition>>,
    resting: HashMap<TopicPartition, Instant>,
    figures: CleanerFigures,
}

/// See the module.
#[derive(Default)]
pub struct Cleaner {
    state: Mutex<State>,
    /// A step has ended.
    stepped: Condvar,
    /// The rate of all cleanings, and whether the broker stops.
    pub rate: Rate,
}

impl Cleaner {
    /// Whether a log is being cleaned.
    pub fn is_cleaning(&self, partition: &TopicPartition) -> bool {
        self.state.lock().in_progress.contains_key(partition)
    }

    /// Ends the cleaning of a log, if there is one. When it returns no step of it runs, and none will: the caller may
    /// rename the log's directory. Waits for some 100 KB to be read or written, or for a sync.
    pub fn abort(&self, partition: &TopicPartition) {
        let mut state = self.state.lock();
        while let Some(cleaning) = state.in_progress.get(partition) {
            cleaning.is_aborted.store(true, Ordering::Release);
            if !cleaning.is_stepping {
                return;
            }
            self.stepped.wait(&mut state);
        }
    }

    /// Claims the dirtiest of the logs that are due, unless it is being cleaned, rests or is uncleanable. Notes the
    /// figures of all logs.
    fn claim(&self, dirty: Vec<Dirty>, now_ms: i64) -> Option<Chosen> {
        let mut state = self.state.lock();
        state.uncleanable.retain(|_, partition| partition.strong_count() > 0);
        state.resting.retain(|_, since| since.elapsed() < REST);
        let mut figures = CleanerFigures {
            last_run_ms: now_ms,
            ..CleanerFigures::default()
        };
        let mut best: Option<Dirty> = None;
        for one in dirty {
            let cleanable = &one.cleanable;
            let is_this = |known: &Weak<Partition>| known.ptr_eq(&Arc::downgrade(&one.partition));
            if state.uncleanable.get(&one.name).is_some_and(is_this) {
                figures.add_uncleanable(&one.partition.log_dir(), cleanable.cleanable_bytes);
                continue;
            }
            if cleanable.cleanable_bytes > 0 {
                let row = (
                    Arc::clone(one.partition.topic()),
                    one.partition.index(),
                    cleanable.ratio(),
                );
                figures.dirty_ratios.push(row);
            }
            figures.max_compaction_delay_ms = figures.max_compaction_delay_ms.max(cleanable.delay_ms);
            figures.max_dirty_ratio = figures.max_dirty_ratio.max(cleanable.ratio());
            let is_free = !state.in_progress.contains_key(&one.name) && !state.resting.contains_key(&one.name);
            let is_dirtier = |best: &Dirty| cleanable.ratio() > best.cleanable.ratio();
            if one.is_due && is_free && best.as_ref().is_none_or(is_dirtier) {
                best = Some(one);
            }
        }
        state.figures = figures;
        let Dirty {
            partition,
            name,
            cleanable,
            ..
        } = best?;
        let in_progress = InProgress::default();
        let is_aborted = Arc::clone(&in_progress.is_aborted);
        state.in_progress.insert(name.clone(), in_progress);
        Some(Chosen {
            partition,
            name,
            cleanable,
            is_aborted,
        })
    }

    /// A step begins; false when the cleaning was aborted.
    fn begin_step(&self, partition: &TopicPartition) -> bool {
        let mut state = self.state.lock();
        let cleaning = state.in_progress.get_mut(partition);
        cleaning.is_some_and(|cleaning| {
            cleaning.is_stepping = !cleaning.is_aborted.load(Ordering::Acquire);
            cleaning.is_stepping
        })
    }

    fn end_step(&self, partition: &TopicPartition) {
        if let Some(cleaning) = self.state.lock().in_progress.get_mut(partition) {
            cleaning.is_stepping = false;
        }
        self.stepped.notify_all();
    }

    fn release(&self, partition: &TopicPartition) {
        self.state.lock().in_progress.remove(partition);
        self.stepped.notify_all();
    }
}

/// A compacted log, its dirty part, and whether it is to be cleaned.
struct Dirty {
    partition: Arc<Partition>,
    name: TopicPartition,
    cleanable: Cleanable,
    is_due: bool,
}

/// A log that was chosen, and its dirty part.
struct Chosen {
    partition: Arc<Partition>,
    name: TopicPartition,
    cleanable: Cleanable,
    is_aborted: Arc<AtomicBool>,
}

impl Broker {
    /// Cleans the compacted log that needs it most; `None` when no log is due. Blocks for as long as it takes.
    pub fn clean_filthiest(&self) -> Option<CleanerReport> {
        let mut run = self.begin_cleaning()?;
        loop {
            match run.step(self) {
                Step::More => {}
                Step::Ended(report) => return Some(*report),
            }
        }
    }

    /// Chooses the log that needs cleaning most and begins to clean it.
    pub fn begin_cleaning(&self) -> Option<CleanerRun> {
        let config = self.options().cleaner;
        self.cleaner.rate.set(config.max_bytes_per_second);
        let chosen = self.choose_log()?;
        Some(CleanerRun::new(chosen, &config))
    }

    /// No lock of a log is taken under the cleaner's own: retention takes them the other way round.
    fn choose_log(&self) -> Option<Chosen> {
        loop {
            let now_ms = self.context.clock.now_ms();
            let dirty = |partition: Arc<Partition>| self.dirty_part(partition, now_ms);
            let dirty: Vec<Dirty> = self.all_partitions().into_iter().filter_map(dirty).collect();
            let chosen = self.cleaner.claim(dirty, now_ms)?;
            // Between the look and the claim another thread may have cleaned the log, or begun to delete it: a deletion
            // takes the partition out of the registry, then aborts its cleaning.
            let hosted = self.partition(&chosen.name.topic, chosen.name.partition);
            let is_hosted = hosted.is_ok_and(|hosted| Arc::ptr_eq(&hosted, &chosen.partition));
            match self.dirty_part(Arc::clone(&chosen.partition), now_ms) {
                Some(dirty) if dirty.is_due && is_hosted => {
                    return Some(Chosen {
                        cleanable: dirty.cleanable,
                        ..chosen
                    });
                }
                _ => self.cleaner.release(&chosen.name),
            }
        }
    }

    /// The dirty part of a compacted log that may be cleaned: it is online, has its files, and does not move.
    fn dirty_part(&self, partition: Arc<Partition>, now_ms: i64) -> Option<Dirty> {
        let high_watermark = partition.offsets().high_watermark;
        let mut log = partition.log();
        if !log.config().is_compacted || log.is_closed() || log.is_poisoned() || partition.future().is_some() {
            return None;
        }
        let (name, config, known) = (
            log.topic_partition().clone(),
            Arc::clone(log.config()),
            log.first_dirty_offset(),
        );
        let cleanable = match log.cleanable(now_ms, high_watermark) {
            Ok(cleanable) => cleanable,
            Err(error) => {
                drop(log);
                self.storage_failed(&partition, &error);
                return None;
            }
        };
        if let (Some(reset), Some(known)) = (cleanable.reset, known) {
            log.reset_first_dirty(cleanable.first_dirty);
            // Retention moves the log start past the first dirty offset all the time.
            if reset == Reset::AboveEnd || !config.is_deleted {
                self.say_reset(&name, known, cleanable.first_dirty, reset);
            }
        }
        drop(log);
        Some(Dirty {
            is_due: cleanable.is_due(config.min_cleanable_dirty_ratio),
            partition,
            name,
            cleanable,
        })
    }

    fn say_reset(&self, name: &TopicPartition, known: Offset, first: Offset, reset: Reset) {
        let reason = match reset {
            Reset::BelowStart => "below the log start offset",
            Reset::AboveEnd => "above the log end offset",
        };
        self.log(&format!(
            "{name} is cleaned from offset {first} on: its offset in cleaner-offset-checkpoint, {known}, is {reason}"
        ));
    }

    /// Notes the end of a cleaning: what it means for the log, and for the next choice.
    fn end_cleaning(&self, partition: &Arc<Partition>, report: &CleanerReport) {
        let name = &report.partition;
        match &report.outcome {
            CleanerOutcome::Cleaned => {
                let _ = self.write_checkpoints(&[Checkpoint::Cleaner]); // an error here has been reported
            }
            CleanerOutcome::Uncleanable(_) => {
                let known = Arc::downgrade(partition);
                self.cleaner.state.lock().uncleanable.insert(name.clone(), known);
            }
            CleanerOutcome::Resting(_) => {
                self.cleaner.state.lock().resting.insert(name.clone(), Instant::now());
            }
            CleanerOutcome::Stopped | CleanerOutcome::Failed(_) => {}
        }
        self.cleaner.release(name);
        self.run_retention_of(partition);
    }

    /// The figures of the last look at all logs.
    pub fn cleaner_figures(&self) -> CleanerFigures {
        self.cleaner.state.lock().figures.clone()
    }
}

impl CleanerFigures {
    fn add_uncleanable(&mut self, log_dir: &Path, bytes: u64) {
        match self.uncleanable.iter_mut().find(|(path, ..)| path == log_dir) {
            Some((_, count, total)) => (*count, *total) = (*count + 1, *total + bytes),
            None => self.uncleanable.push((log_dir.to_path_buf(), 1, bytes)),
        }
    }
}

/// The outcome that an error of a cleaning means.
fn outcome_of(error: &Error) -> CleanerOutcome {
    let is_full = matches!(error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull);
    match error {
        _ if error.is_shortage() || is_full => CleanerOutcome::Resting(error.to_string()),
        Error::CorruptFile { .. } => CleanerOutcome::Uncleanable(error.to_string()),
        Error::Closed { .. } => CleanerOutcome::Stopped,
        _ => CleanerOutcome::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
