//! Moves of partitions between the log directories of this broker (KIP-113): begun, resumed after a
//! restart, cancelled, finished. `partition/future.rs` has the partition's part of a move.
//!
//! A future log that the start finds before its partition is hosted waits for the partition (whose log may never have
//! come to disk, or whose directory is offline). A future log that is of no use is discarded. No network loop makes
//! these calls.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::Broker;
use crate::partition::{FutureLog, MoveFailure, Moved, Partition};
use crate::replication::throttle::UNLIMITED;
use crate::threads::events::Event;
use crate::threads::mover::Move;
use base::error::{Error, ErrorCode, Result};
use storage::log_dir::Checkpoint;
use storage::log_loader::{LoadRequest, remove_deleted};
use storage::partition_metadata::PartitionMetadata;
use storage::patience::{REST, patiently};
use storage::{Extent, LoadArgs, Log, LogConfig, OnLoss, RecoveryProgress, Uuid};

impl Broker {
    /// Moves a partition to `log_dir`. A move to another directory is cancelled first. When the partition is in
    /// `log_dir` already, no new move begins.
    pub fn alter_log_dir(&self, topic: &str, index: i32, log_dir: &Path) -> Result<()> {
        let partition = self.partition(topic, index)?;
        if self.is_failed(log_dir) || partition.is_offline() {
            let message = format!(
                "{topic}-{index} cannot move to {}: storage is offline",
                log_dir.display()
            );
            return Err(Error::rejected(ErrorCode::KAFKA_STORAGE_ERROR, message));
        }
        let name = partition.log().topic_partition().clone();
        loop {
            self.cleaner.abort(&name);
            if partition.future().is_some_and(|future| future.log_dir() != log_dir) {
                self.cancel_move(&partition);
            }
            if *partition.log_dir() == log_dir {
                return Ok(());
            }
            match partition.create_future(&self.context, log_dir) {
                Ok(Some(future)) => {
                    self.begin_move(partition, future);
                    return Ok(());
                }
                Ok(None) if partition.future().is_some_and(|future| future.log_dir() == log_dir) => return Ok(()),
                Ok(None) => {} // another call began a move to another target first; the next round cancels that move
                Err(error) => {
                    self.storage_failed_in(log_dir, &error);
                    return Err(error);
                }
            }
        }
    }

    fn begin_move(&self, partition: Arc<Partition>, future: Arc<FutureLog>) {
        if self.is_failed(future.log_dir()) {
            partition.abandon_future(); // the directory failed before it could find this future log
        }
        self.mover.add(Move { partition, future });
    }

    /// Cancels a partition's move, if there is one, and removes the copy.
    pub(crate) fn cancel_move(&self, partition: &Partition) {
        if let Some(future) = partition.take_future() {
            self.discard(&future);
            // A later log of that name must not get the recovery point or the log start of this one from the
            // checkpoints.
            let _ = self.write_checkpoints(&Checkpoint::ALL); // an error here has been reported
        }
    }

    fn discard(&self, future: &FutureLog) {
        match future.discard() {
            Ok(removed) => self.remove_later(removed, Duration::ZERO),
            Err(error) => self.storage_failed_in(future.log_dir(), &error),
        }
    }

    fn remove_later(&self, removed: Option<PathBuf>, delay: Duration) {
        if let Some(path) = removed {
            let fs = Arc::clone(&self.context.fs);
            self.reaper.after(delay, move || drop(remove_deleted(&*fs, &[path])));
        }
    }

    /// How long copying must pause, when the recent rate is above `replica.alter.log.dirs.io.max.bytes.per.second`.
    pub(crate) fn pause_of_moves(&self, now: Instant) -> Option<Duration> {
        let options = self.options();
        let is_exceeded = self.throttles.log_dirs.is_exceeded(options.alter_log_dirs_rate, now);
        is_exceeded.then_some(options.replica_fetch_backoff)
    }

    /// Copies the next piece of the first move, as a mover's thread does. Returns whether a move is left.
    pub fn move_one(&self) -> bool {
        self.mover.run_one(|one| self.move_on(one));
        self.mover.is_busy()
    }

    /// Whether a move is in the queue.
    pub fn has_moves(&self) -> bool {
        self.mover.is_busy()
    }

    /// Copies the next piece of a move; false when the move is over.
    pub(crate) fn move_on(&self, one: &Move) -> bool {
        let outcome = match one.partition.copy_piece(&one.future) {
            Ok(Moved::Copied(bytes)) => {
                if self.options().alter_log_dirs_rate != UNLIMITED {
                    self.throttles.log_dirs.record(bytes, Instant::now());
                }
                return true;
            }
            Ok(Moved::CaughtUp) => {
                // After a crash during the swap, the checkpoints must have the log start and the recovery point that
                // the future log has now.
                let _ = self.write_checkpoints(&Checkpoint::ALL); // an error here has been reported
                one.partition.swap(&one.future)
            }
            outcome => outcome,
        };
        match outcome {
            Ok(Moved::Copied(_) | Moved::CaughtUp) => true,
            Ok(Moved::Over) => false,
            Ok(Moved::Swapped(replaced)) => {
                self.note_moved(one, replaced);
                false
            }
            Err(failure) if failure.error.is_shortage() && *one.partition.log_dir() != *one.future.log_dir() => {
                self.storage_failed_in(&failure.log_dir, &failure.error);
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
        let partition = &one.partition;
        let delay = partition.log().config().file_delete_delay_ms;
        self.remove_later(replaced, Duration::from_millis(u64::try_from(delay).unwrap_or(0)));
        let log_dir = one.future.log_dir().to_path_buf();
        if self.is_failed(&log_dir) {
            partition.set_offline(); // the directory failed before the partition was in it
        }
        let _ = self.write_checkpoints(&Checkpoint::ALL); // an error here has been reported
        self.flusher.enqueue(partition);
        self.log(&format!(
            "{}-{} is in {} now",
            partition.topic(),
            partition.index(),
            log_dir.display()
        ));
        self.events.push(Event::ReplicaMoved {
            topic: Arc::clone(partition.topic()),
            index: partition.index(),
            log_dir,
        });
    }

    fn move_failed(&self, one: &Move, failure: &MoveFailure) {
        let (partition, future) = (&one.partition, &one.future);
        let is_swapped = *partition.log_dir() == future.log_dir();
        if !is_swapped && future.log().is_closed() {
            return; // cancelled meanwhile, its files are gone
        }
        if is_swapped {
            self.note_moved(one, None);
        }
        self.log(&format!(
            "The move of {}-{} to {} has stopped: {}",
            partition.topic(),
            partition.index(),
            future.log_dir().display(),
            failure.error
        ));
        if failure.error.is_disk_failure() {
            self.storage_failed_in(&failure.log_dir, &failure.error);
        }
    }

    /// Resumes the moves that an earlier run has begun.
    pub(crate) fn resume_moves(
        &self,
        found: Vec<LoadRequest>,
        configs: &HashMap<String, Arc<LogConfig>>,
        default: &Arc<LogConfig>,
        progress: &RecoveryProgress,
    ) {
        for request in found {
            let config = configs.get(&*request.partition.topic).unwrap_or(default);
            let log_dir = request.path.parent().unwrap_or(&request.path).to_path_buf();
            match patiently(&*self.context.fs, || self.open_future(&request, config, progress)) {
                Ok((id, log)) => {
                    let future = Arc::new(FutureLog::new(log_dir, log));
                    self.loose_futures.lock().push((request.partition, id, future));
                }
                Err(error @ (Error::Io { .. } | Error::Poisoned { .. })) => self.storage_failed_in(&log_dir, &error),
                Err(error) => self.log(&format!("{} is left alone: {error}", request.path.display())),
            }
        }
        for topic in self.registry.snapshot().iter() {
            self.resume_moves_of(topic.partitions());
        }
    }

    fn open_future(
        &self,
        request: &LoadRequest,
        config: &Arc<LogConfig>,
        progress: &RecoveryProgress,
    ) -> Result<([u8; 16], Log)> {
        let metadata = PartitionMetadata::read(&*self.context.fs, &request.path)?;
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
        let log = Log::open(&self.context, &request.path, partition, Arc::clone(config), args)?;
        Ok((id.0, log))
    }

    /// Gives partitions that are hosted now the future logs that waited for them. A future log is discarded when it is
    /// in the partition's own directory, has another topic id, or is one of two for the partition.
    pub(crate) fn resume_moves_of<'a>(&self, partitions: impl Iterator<Item = &'a Arc<Partition>>) {
        if self.loose_futures.lock().is_empty() {
            return;
        }
        for partition in partitions {
            let is_its =
                |one: &storage::TopicPartition| one.topic == *partition.topic() && one.partition == partition.index();
            let found: Vec<_> = self
                .loose_futures
                .lock()
                .extract_if(.., |(one, ..)| is_its(one))
                .collect();
            for (_, id, future) in found {
                let is_of_use = id == partition.topic_id() && *partition.log_dir() != future.log_dir();
                if is_of_use && partition.resume_future(&future) {
                    let partition = Arc::clone(partition);
                    self.mover.add(Move { partition, future });
                } else {
                    self.discard(&future);
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "moves_tests.rs"]
mod tests;
