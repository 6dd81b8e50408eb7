//! One cleaning of a partition, step by step: the keys of the dirty part, then group after group.
//!
//! The log's lock is held for the plan, for the inputs of a group and for the swap, never while a segment is read or
//! written. A panic in between is caught: the log is uncleanable then, and nothing of it has changed. Other threads may
//! do anything to the log between two steps; the swap finds out.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Chosen, Cleaner, CleanerConfig, CleanerOutcome, CleanerReport, CleaningRate, outcome_of};
use crate::partition::Partition;
use crate::threads::guard::message_of;
use storage::TopicPartition;
use storage::cleaner::cleaning::{Buffers, Inputs};
use storage::cleaner::plan::Plan;
use storage::cleaner::swap::Cleaned;
use storage::cleaner::{Cleanable, Cleaning, Interrupted, OffsetMap, Pace};
use storage::log_dir::Checkpoint;

/// What a step has left to do.
pub enum Step {
    /// Call again.
    More,
    /// The cleaning has ended.
    Ended(Box<CleanerReport>),
}

/// See the module.
pub struct CleanerRun {
    partition: Arc<Partition>,
    name: TopicPartition,
    log_dir: PathBuf,
    cleanable: Cleanable,
    is_aborted: Arc<AtomicBool>,
    /// `None` before the first step.
    cleaning: Option<Cleaning>,
    map: OffsetMap,
    buffers: Buffers,
    began: Instant,
    indexed: Duration,
}

impl CleanerRun {
    pub(super) fn new(chosen: Chosen, config: &CleanerConfig) -> Self {
        Self {
            log_dir: chosen.partition.log_dir().to_path_buf(),
            partition: chosen.partition,
            name: chosen.name,
            cleanable: chosen.cleanable,
            is_aborted: chosen.is_aborted,
            cleaning: None,
            map: OffsetMap::new(config.map_bytes(), config.load_factor),
            buffers: Buffers::new(config.piece_bytes()),
            began: Instant::now(),
            indexed: Duration::ZERO,
        }
    }

    /// The next step. Not to be called after [`Step::Ended`].
    pub fn step(&mut self, cleaner: &Cleaner) -> Step {
        let stepped = if cleaner.begin_step(&self.name) {
            let stepped = self.go_on(cleaner);
            cleaner.end_step(&self.name);
            stepped
        } else {
            Err(Interrupted::Stopped)
        };
        match stepped {
            Ok(true) => Step::More,
            Ok(false) => self.end(cleaner, CleanerOutcome::Cleaned),
            Err(Interrupted::Stopped) => self.end(cleaner, CleanerOutcome::Stopped),
            Err(Interrupted::Panicked(message)) => self.end(cleaner, CleanerOutcome::Uncleanable(message)),
            Err(Interrupted::Failed(_)) if !self.is_current() => self.end(cleaner, CleanerOutcome::Stopped),
            Err(Interrupted::Failed(error)) => {
                let outcome = outcome_of(&error);
                if matches!(outcome, CleanerOutcome::Failed(_)) {
                    cleaner.dirs().storage_failed(&self.partition, &error);
                }
                self.end(cleaner, outcome)
            }
        }
    }

    /// Whether the partition has the log that the cleaning began with.
    fn is_current(&self) -> bool {
        let log = self.partition.log();
        self.cleaning.as_ref().is_none_or(|cleaning| cleaning.is_of(&log))
    }

    /// False when the log is clean.
    fn go_on(&mut self, cleaner: &Cleaner) -> Result<bool, Interrupted> {
        let now_ms = cleaner.node().context().clock.now_ms();
        let pace = RunPace {
            rate: cleaner.rate(),
            is_aborted: &self.is_aborted,
        };
        pace.pass(0)?;
        let Some(cleaning) = &mut self.cleaning else {
            let plan = Plan::of(&self.partition.log(), self.cleanable, now_ms)?;
            let mut cleaning = Cleaning::new(plan);
            let (map, buffers) = (&mut self.map, &mut self.buffers);
            unpanicked(|| cleaning.index_keys(map, buffers, &pace))?;
            // What is about to lose older records is durable, so that a start knows its gaps from those that a power
            // loss leaves, and counts as committed for whoever reads the files alone.
            if self.partition.log().recovery_point() < cleaning.reach() {
                self.partition.flush()?;
            }
            cleaner
                .dirs()
                .write_checkpoints(&[Checkpoint::RecoveryPoint, Checkpoint::Replication])?;
            self.indexed = self.began.elapsed();
            self.cleaning = Some(cleaning);
            return Ok(true);
        };
        let Some(group) = cleaning.next_group() else {
            cleaning.note_cleaned(&mut self.partition.log());
            return Ok(false);
        };
        let inputs = Inputs::of(&self.partition.log(), group, cleaning.truncations())?;
        let (map, buffers) = (&self.map, &mut self.buffers);
        if let Some(rewritten) = unpanicked(|| cleaning.clean_next(&inputs, map, buffers, &pace))? {
            pace.pass(0)?;
            self.swap(cleaner, rewritten, now_ms)?;
        }
        Ok(true)
    }

    fn swap(&self, cleaner: &Cleaner, rewritten: Cleaned, now_ms: i64) -> Result<(), Interrupted> {
        let swapped = {
            let mut log = self.partition.log();
            if self.partition.future().get().is_some() {
                return Err(Interrupted::Stopped); // what is copied to the other directory already would not be cleaned
            }
            rewritten.swap_into(&mut log, now_ms)?
        };
        let deletion = swapped.sync()?;
        let delay_ms = u64::try_from(deletion.due_ms().saturating_sub(now_ms)).unwrap_or(0);
        cleaner.remove_later(deletion, Duration::from_millis(delay_ms));
        Ok(())
    }

    fn end(&mut self, cleaner: &Cleaner, outcome: CleanerOutcome) -> Step {
        self.map.end();
        let report = CleanerReport {
            partition: self.name.clone(),
            log_dir: self.log_dir.clone(),
            outcome,
            cleanable: self.cleanable,
            end: self.cleaning.as_ref().map_or(self.cleanable.first_dirty, Cleaning::end),
            stats: self
                .cleaning
                .as_ref()
                .map(|cleaning| *cleaning.stats())
                .unwrap_or_default(),
            indexing: self.indexed,
            elapsed: self.began.elapsed(),
        };
        cleaner.end_cleaning(&self.partition, &report);
        Step::Ended(Box::new(report))
    }
}

/// Calls a part that reads and writes files and holds no lock; a panic becomes an error of the log.
fn unpanicked<T>(call: impl FnOnce() -> Result<T, Interrupted>) -> Result<T, Interrupted> {
    let called = catch_unwind(AssertUnwindSafe(call));
    called.unwrap_or_else(|panic| {
        let message = format!("the cleaner panicked: {}", message_of(&*panic));
        Err(Interrupted::Panicked(message))
    })
}

/// The rate of all cleanings, and the end of this one.
struct RunPace<'a> {
    rate: &'a CleaningRate,
    is_aborted: &'a AtomicBool,
}

impl Pace for RunPace<'_> {
    fn pass(&self, bytes: u64) -> Result<(), Interrupted> {
        if self.is_aborted.load(Ordering::Acquire) {
            return Err(Interrupted::Stopped);
        }
        self.rate.pass(bytes)
    }
}
