//! Moves of partitions between the log directories of this broker (KIP-113): begun, resumed after a
//! restart, cancelled, finished. `partition/moving.rs` has the partition's part of a move.
//!
//! A future log that the start finds before its partition is hosted waits for the partition (whose log may never have
//! come to disk, or whose directory is offline). A future log that is of no use is discarded. No network loop makes
//! these calls.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::cleaner::Cleaner;
use super::dirs::LogDirs;
use crate::node::Node;
use crate::partition::{FutureLog, Move, MoveFailure, MoveProgress, Partition};
use crate::published::topic_id::TopicId;
use crate::replication::throttle::{Throttle, UNLIMITED};
use crate::threads::events::Event;
use crate::threads::mover::Mover;
use crate::threads::pools::Threads;
use base::error::{Error, ErrorCode, Result};
use storage::log_dir::Checkpoint;
use storage::log_loader::{LoadRequest, remove_deleted};
use storage::partition_metadata::PartitionMetadata;
use storage::patience::{REST, patiently};
use storage::{Extent, LoadArgs, Log, LogConfig, OnLoss, RecoveryProgress, TopicPartition, Uuid};

/// A future log of an earlier run whose partition is not hosted yet.
struct LooseFuture {
    partition: TopicPartition,
    topic_id: TopicId,
    log: Arc<FutureLog>,
}

/// See the module.
pub struct Moves {
    node: Arc<Node>,
    threads: Arc<Threads>,
    dirs: Arc<LogDirs>,
    cleaner: Arc<Cleaner>,
    mover: Mover,
    loose: Mutex<Vec<LooseFuture>>,
    throttle: Throttle,
}

impl Moves {
    /// No partition moves yet.
    pub(super) fn new(node: &Arc<Node>, threads: &Arc<Threads>, dirs: &Arc<LogDirs>, cleaner: &Arc<Cleaner>) -> Self {
        let window = node.options().alter_log_dirs_quota;
        Self {
            node: Arc::clone(node),
            threads: Arc::clone(threads),
            dirs: Arc::clone(dirs),
            cleaner: Arc::clone(cleaner),
            mover: Mover::default(),
            loose: Mutex::default(),
            throttle: Throttle::new(window.samples, window.sample),
        }
    }

    /// Copies pieces of moves until [`Self::stop`].
    pub(crate) fn run(&self) {
        self.mover.run(|| self.pause(Instant::now()), |one| self.move_on(one));
    }

    /// Ends the threads in [`Self::run`] after the pieces that they copy now.
    pub(crate) fn stop(&self) {
        self.mover.stop();
    }

    #[cfg(test)]
    pub(crate) fn throttle(&self) -> &Throttle {
        &self.throttle
    }

    /// Moves a partition to `log_dir`. A move to another directory is cancelled first. When the partition is in
    /// `log_dir` already, no new move begins.
    pub fn alter_log_dir(&self, partition: &Arc<Partition>, log_dir: &Path) -> Result<()> {
        let name = partition.name();
        if self.dirs.is_failed(log_dir) || partition.leadership().is_offline() {
            let message = format!("{name} cannot move to {}: storage is offline", log_dir.display());
            return Err(Error::rejected(ErrorCode::KAFKA_STORAGE_ERROR, message));
        }
        loop {
            self.cleaner.abort(name);
            let goes_there = |future: Arc<FutureLog>| future.log_dir() == log_dir;
            if partition.future().get().is_some_and(|future| !goes_there(future)) {
                self.cancel(partition);
            }
            if *partition.log_dir() == log_dir {
                return Ok(());
            }
            match Move::begin(Arc::clone(partition), self.node.context(), log_dir) {
                Ok(Some(begun)) => {
                    if self.dirs.is_failed(log_dir) {
                        partition.future().abandon(); // the directory failed before it could find this future log
                    }
                    self.mover.add(begun);
                    return Ok(());
                }
                Ok(None) if partition.future().get().is_some_and(goes_there) => return Ok(()),
                Ok(None) => {} // another call began a move to another target first; the next round cancels that move
                Err(error) => {
                    self.dirs.storage_failed_in(log_dir, &error);
                    return Err(error);
                }
            }
        }
    }

    /// Cancels a partition's move, if there is one, and removes the copy.
    pub(super) fn cancel(&self, partition: &Partition) {
        if let Some(future) = partition.future().take() {
            self.discard(&future);
            // A later log of that name must not get the recovery point or the log start of this one from the
            // checkpoints.
            let _ = self.dirs.write_checkpoints(&Checkpoint::ALL); // an error here has been reported
        }
    }

    fn discard(&self, future: &FutureLog) {
        match future.discard() {
            Ok(removed) => self.remove_later(removed, Duration::ZERO),
            Err(error) => self.dirs.storage_failed_in(future.log_dir(), &error),
        }
    }

    fn remove_later(&self, removed: Option<PathBuf>, delay: Duration) {
        if let Some(path) = removed {
            let fs = Arc::clone(&self.node.context().fs);
            self.threads
                .reaper()
                .after(delay, move || drop(remove_deleted(&*fs, &[path])));
        }
    }

    /// How long copying must pause, when the recent rate is above `replica.alter.log.dirs.io.max.bytes.per.second`.
    pub(crate) fn pause(&self, now: Instant) -> Option<Duration> {
        let options = self.node.options();
        let is_exceeded = self.throttle.is_exceeded(options.alter_log_dirs_rate, now);
        is_exceeded.then_some(options.replica_fetch_backoff)
    }

    /// Copies the next piece of the first move, as a mover's thread does. Returns whether a move is left.
    pub fn move_one(&self) -> bool {
        self.mover.run_one(|one| self.move_on(one));
        self.mover.is_busy()
    }

    /// Whether a move is in the queue.
    pub fn has_any(&self) -> bool {
        self.mover.is_busy()
    }

    /// Copies the next piece of a move; false when the move is over.
    pub(crate) fn move_on(&self, one: &Move) -> bool {
        let outcome = match one.copy_piece() {
            Ok(MoveProgress::Copied(bytes)) => {
                if self.node.options().alter_log_dirs_rate != UNLIMITED {
                    self.throttle.record(bytes, Instant::now());
                }
                return true;
            }
            Ok(MoveProgress::CaughtUp) => {
                // After a crash during the swap, the checkpoints must have the log start and the recovery point that
                // the future log has now.
                let _ = self.dirs.write_checkpoints(&Checkpoint::ALL); // an error here has been reported
                one.swap()
            }
            outcome => outcome,
        };
        match outcome {
            Ok(MoveProgress::Copied(_) | MoveProgress::CaughtUp) => true,
            Ok(MoveProgress::Over) => false,
            Ok(MoveProgress::Swapped(replaced)) => {
                self.note_moved(one, replaced);
                false
            }
            Err(failure) if failure.error.is_shortage() && *one.partition().log_dir() != *one.future().log_dir() => {
                self.dirs.storage_failed_in(&failure.log_dir, &failure.error);
                thread::sleep(REST);
                true
            }
            Err(failure) => {
                self.move_failed(one, &failure);
                false
            }
        }
    }

    fn note_moved(&self, one: &Move, replaced: Option<PathBuf>) {
        let partition = one.partition();
        let delay = partition.log().config().file_delete_delay_ms;
        self.remove_later(replaced, Duration::from_millis(u64::try_from(delay).unwrap_or(0)));
        let log_dir = one.future().log_dir().to_path_buf();
        if self.dirs.is_failed(&log_dir) {
            partition.set_offline(); // the directory failed before the partition was in it
        }
        let _ = self.dirs.write_checkpoints(&Checkpoint::ALL); // an error here has been reported
        self.threads.flusher().enqueue(partition);
        self.node
            .log(&format!("{} is in {} now", partition.name(), log_dir.display()));
        self.node.events().push(Event::ReplicaMoved {
            topic: Arc::clone(partition.topic()),
            index: partition.index(),
            log_dir,
        });
    }

    fn move_failed(&self, one: &Move, failure: &MoveFailure) {
        let (partition, future) = (one.partition(), one.future());
        let is_swapped = *partition.log_dir() == future.log_dir();
        if !is_swapped && future.log().is_closed() {
            return; // cancelled meanwhile, its files are gone
        }
        if is_swapped {
            self.note_moved(one, None);
        }
        self.node.log(&format!(
            "The move of {} to {} has stopped: {}",
            partition.name(),
            future.log_dir().display(),
            failure.error
        ));
        if failure.error.is_disk_failure() {
            self.dirs.storage_failed_in(&failure.log_dir, &failure.error);
        }
    }

    /// Resumes the moves that an earlier run has begun.
    pub(super) fn resume(
        &self,
        found: Vec<LoadRequest>,
        configs: &HashMap<String, Arc<LogConfig>>,
        default: &Arc<LogConfig>,
        progress: &RecoveryProgress,
    ) {
        for request in found {
            let config = configs.get(&*request.partition.topic).unwrap_or(default);
            let log_dir = request.path.parent().unwrap_or(&request.path).to_path_buf();
            match patiently(&*self.node.context().fs, || {
                self.open_future(&request, config, progress)
            }) {
                Ok((topic_id, log)) => self.loose.lock().push(LooseFuture {
                    partition: request.partition,
                    topic_id,
                    log: Arc::new(FutureLog::new(log_dir, log)),
                }),
                Err(error @ (Error::Io { .. } | Error::Poisoned { .. })) => {
                    self.dirs.storage_failed_in(&log_dir, &error);
                }
                Err(error) => self
                    .node
                    .log(&format!("{} is left alone: {error}", request.path.display())),
            }
        }
        for topic in self.node.registry().snapshot().iter() {
            self.resume_of(topic.partitions());
        }
    }

    fn open_future(
        &self,
        request: &LoadRequest,
        config: &Arc<LogConfig>,
        progress: &RecoveryProgress,
    ) -> Result<(TopicId, Log)> {
        let metadata = PartitionMetadata::read(&*self.node.context().fs, &request.path)?;
        let id = metadata.map_or(Uuid::ZERO, |metadata| metadata.topic_id);
        let args = LoadArgs {
            recovery_point: request.recovery_point,
            log_start_offset: request.log_start_offset,
            first_dirty_offset: request.first_dirty_offset,
            clean_shutdown: request.is_clean,
            // The future log is a copy: records that it lacks are copied again.
            extent: Extent {
                on_loss: OnLoss::Ignore,
                ..Extent::default()
            },
            progress,
        };
        let partition = request.partition.clone();
        let log = Log::open(self.node.context(), &request.path, partition, Arc::clone(config), args)?;
        Ok((id.0, log))
    }

    /// Gives partitions that are hosted now the future logs that waited for them. A future log is discarded when it is
    /// in the partition's own directory, has another topic id, or is one of two for the partition.
    pub(super) fn resume_of<'a>(&self, partitions: impl Iterator<Item = &'a Arc<Partition>>) {
        if self.loose.lock().is_empty() {
            return;
        }
        for partition in partitions {
            let is_its = |one: &mut LooseFuture| one.partition == *partition.name();
            let found: Vec<LooseFuture> = self.loose.lock().extract_if(.., is_its).collect();
            for one in found {
                let is_of_use = one.topic_id == partition.topic_id() && *partition.log_dir() != one.log.log_dir();
                let resumed = is_of_use.then(|| Move::resume(partition, &one.log)).flatten();
                match resumed {
                    Some(resumed) => self.mover.add(resumed),
                    None => self.discard(&one.log),
                }
            }
        }
    }

    /// Takes the future logs whose partitions are not hosted.
    pub(super) fn take_loose(&self) -> Vec<Arc<FutureLog>> {
        self.loose.lock().drain(..).map(|one| one.log).collect()
    }
}

#[cfg(test)]
#[path = "moves_tests.rs"]
mod tests;
