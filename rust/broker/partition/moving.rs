//! The move of a partition to another log directory: its future log is filled, then takes the current log's place
//! (KIP-113).
//!
//! One mover at a time copies and swaps. Locks, in this order: `flushing`, the log, the slot, the future log. Nothing
//! is synced under the log's lock. The current log serves until the moment of the swap; from then on the future log
//! serves, under the same lock. Records that were acknowledged as flushed (`flush.messages`) are on disk before and
//! after the swap: the swap holds `flushing` until it is durable.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{FutureLog, Partition};
use base::error::{Error, ErrorCode, Result};
use storage::future::{self, NameSync};
use storage::topic_partition::DirKind;
use storage::{AppendError, Log, LogContext, ReadPlan, Uuid};

/// The most bytes of one piece, which comes from one segment.
const COPY_BYTES: usize = 1 << 20;
/// The most pieces that a swap copies under a lock; small segments make small pieces.
const LAST_PIECES: usize = 8;

/// How far a move has come.
#[derive(Debug, PartialEq, Eq)]
pub enum MoveProgress {
    /// This many bytes were copied; there may be more to copy.
    Copied(usize),
    /// Everything is copied: [`Move::swap`] may be called.
    CaughtUp,
    /// The partition's log is in the other directory now. The path is that of the old log's directory, which can be
    /// removed; `None` when the old log was never on disk.
    Swapped(Option<PathBuf>),
    /// The move was cancelled or replaced, or the partition is not served any more.
    Over,
}

/// Why a move cannot go on.
#[derive(Debug)]
pub struct MoveFailure {
    /// The log directory in which the error occurred.
    pub log_dir: PathBuf,
    /// The error.
    pub error: Error,
}

/// A partition and the log that will take its place.
pub struct Move {
    partition: Arc<Partition>,
    future: Arc<FutureLog>,
}

impl Move {
    /// Begins a move to `log_dir`; `None` when the partition moves already.
    pub fn begin(partition: Arc<Partition>, context: &LogContext, log_dir: &Path) -> Result<Option<Self>> {
        let config = {
            let log = partition.log();
            if log.is_closed() {
                return Err(Error::Closed {
                    path: log.dir().to_path_buf(),
                });
            }
            Arc::clone(log.config())
        };
        let future = {
            let mut slot = partition.future().lock();
            if slot.is_some() {
                return Ok(None);
            }
            let topic_id = Some(Uuid(partition.topic_id())).filter(|id| *id != Uuid::ZERO);
            let log = future::create(context, log_dir, partition.name().clone(), topic_id, config)?;
            let future = Arc::new(FutureLog::new(log_dir.to_path_buf(), log));
            *slot = Some(Arc::clone(&future));
            future
        };
        Ok(Some(Self { partition, future }))
    }

    /// Resumes a move that an earlier run began; `None` when the partition moves already.
    pub fn resume(partition: &Arc<Partition>, future: &Arc<FutureLog>) -> Option<Self> {
        partition.future().resume(future).then(|| Self {
            partition: Arc::clone(partition),
            future: Arc::clone(future),
        })
    }

    /// The partition.
    pub fn partition(&self) -> &Arc<Partition> {
        &self.partition
    }

    /// The copy.
    pub fn future(&self) -> &FutureLog {
        &self.future
    }

    fn future_failed(&self, error: Error) -> MoveFailure {
        MoveFailure {
            log_dir: self.future.log_dir().to_path_buf(),
            error,
        }
    }

    fn refused(&self, error: AppendError) -> MoveFailure {
        self.future_failed(match error {
            AppendError::Storage(error) => error,
            AppendError::Rejected(rejection) => Error::rejected(rejection.code, rejection.message),
        })
    }

    /// Copies a piece of the log to its future log.
    pub fn copy_piece(&self) -> Result<MoveProgress, MoveFailure> {
        let (plan, truncations) = {
            let current = self.partition.log();
            if current.is_closed() || self.partition.leadership().is_offline() {
                return Ok(MoveProgress::Over);
            }
            let mut copy = self.future.log();
            if copy.is_closed() {
                return Ok(MoveProgress::Over);
            }
            let plan = future::plan_copy(&mut copy, &current).map_err(|error| self.future_failed(error))?;
            (plan, current.truncations())
        };
        let Some(plan) = plan else {
            return Ok(MoveProgress::CaughtUp);
        };
        let is_cut = || self.partition.log().truncations() != truncations;
        let piece = match read(plan) {
            Ok(piece) => piece,
            Err(_) if is_cut() => return Ok(MoveProgress::Copied(0)), // the log was cut during the read
            Err(error) => return Err(self.source_failed(error)),
        };
        if piece.is_empty() && !is_cut() {
            return Err(self.source_failed(self.nothing_to_copy()));
        }
        let is_sealed = match append(&self.future, &piece) {
            Ok(is_sealed) => is_sealed,
            Err(AppendError::Storage(Error::Closed { .. })) => return Ok(MoveProgress::Over),
            Err(AppendError::Rejected(_)) if is_cut() => return Ok(MoveProgress::Copied(0)),
            Err(error) => return Err(self.refused(error)),
        };
        if is_sealed {
            self.future.flush().map_err(|error| self.future_failed(error))?;
        }
        Ok(MoveProgress::Copied(piece.len()))
    }

    fn nothing_to_copy(&self) -> Error {
        let message = format!("{} has no batch before its log end", self.partition.name());
        Error::rejected(ErrorCode::CORRUPT_MESSAGE, message)
    }

    fn source_failed(&self, error: Error) -> MoveFailure {
        MoveFailure {
            log_dir: self.partition.log_dir().to_path_buf(),
            error,
        }
    }

    /// Puts the future log in the current log's place, in the steps (a) to (c) of [`storage::future`]. Returns
    /// [`MoveProgress::Copied`] when too much was appended meanwhile. After an error [`Partition::log_dir`] says
    /// whether the future log is in its place.
    pub fn swap(&self) -> Result<MoveProgress, MoveFailure> {
        self.future.flush().map_err(|error| self.future_failed(error))?; // most of it while produces may be flushed too
        let swapped = self.exchange();
        self.partition.wake_everyone();
        swapped
    }

    fn exchange(&self) -> Result<MoveProgress, MoveFailure> {
        let _no_flush = self.partition.flushing().none_runs();
        // Records that are flushed in the current log must be flushed in the future log too; from here on no flush of
        // the current log runs.
        for _ in 0..LAST_PIECES {
            match self.copy_piece()? {
                MoveProgress::Copied(_) => {}
                MoveProgress::CaughtUp => break,
                otherwise => return Ok(otherwise),
            }
        }
        self.future.flush().map_err(|error| self.future_failed(error))?;
        let old_dir = self.partition.log_dir().to_path_buf();
        let (old_name, replaced) = match self.replace()? {
            Ok(taken_out) => taken_out, // (a)
            Err(otherwise) => return Ok(otherwise),
        };
        let synced = old_name.run(); // (b)
        self.take_plain_name().map_err(|error| self.future_failed(error))?; // (c)
        match synced {
            Ok(()) => Ok(MoveProgress::Swapped(replaced)),
            Err(error) => Err(MoveFailure {
                log_dir: old_dir,
                error,
            }),
        }
    }

    /// Step (a), and the exchange in memory: from here on the future log serves. Records that it lacks are copied
    /// first, if they are few.
    fn replace(&self) -> Result<Result<(NameSync, Option<PathBuf>), MoveProgress>, MoveFailure> {
        let mut current = self.partition.log();
        if current.is_closed() || current.is_poisoned() || self.partition.leadership().is_offline() {
            return Ok(Err(MoveProgress::Over));
        }
        let mut slot = self.partition.future().lock();
        if !slot.as_ref().is_some_and(|now| Arc::ptr_eq(now, &self.future)) {
            return Ok(Err(MoveProgress::Over));
        }
        let mut copy = self.future.log();
        if !self.has_all(&current, &mut copy)? || copy.recovery_point() < current.recovery_point() {
            return Ok(Err(MoveProgress::Copied(0)));
        }
        let Some(unique) = future::unique_of(&copy) else {
            return Ok(Err(MoveProgress::Over));
        };
        let replaced = current.rename_away(DirKind::Deleted, unique);
        let replaced = replaced.map_err(|error| self.source_failed(error))?;
        copy.set_config(Arc::clone(current.config()));
        std::mem::swap(&mut *current, &mut *copy); // the old log is closed, which ends every use of the future log
        *slot = None;
        self.partition.set_log_dir(self.future.log_dir().to_path_buf());
        let leadership = self.partition.leadership();
        if let Some(lease) = leadership.led(leadership.load().as_ref()) {
            current.begin_epoch(lease.leader_epoch);
        }
        self.partition.publish_offsets(&current);
        Ok(Ok((NameSync::of(&copy), replaced)))
    }

    /// Copies the records that are left, if they are few. Returns whether none are left then.
    fn has_all(&self, current: &Log, copy: &mut Log) -> Result<bool, MoveFailure> {
        for _ in 0..LAST_PIECES {
            let plan = future::plan_copy(copy, current).map_err(|error| self.future_failed(error))?;
            let Some(plan) = plan else { return Ok(true) };
            let piece = read(plan).map_err(|error| self.source_failed(error))?;
            let appended = copy.append_as_follower(&piece);
            appended.map_err(|error| self.refused(error))?;
        }
        Ok(copy.log_end_offset() == current.log_end_offset())
    }

    /// Step (c), unless the topic was deleted meanwhile.
    fn take_plain_name(&self) -> Result<()> {
        let name = {
            let mut log = self.partition.log();
            if log.is_closed() {
                return Ok(());
            }
            log.become_current()?;
            NameSync::of(&log)
        };
        name.run()
    }
}

/// Reads batches of the current log; the last batch may be cut short.
fn read(plan: ReadPlan) -> Result<Vec<u8>> {
    let slice = plan.resolve(COPY_BYTES, true)?;
    let mut batches = vec![0; slice.len];
    let read = slice.file.read_exact_at(&mut batches, slice.position.get());
    read.map_err(|error| Error::io("read", Path::new("a segment"), error))?;
    Ok(batches)
}

/// Appends a piece to the future log. True when that sealed a segment.
fn append(future: &FutureLog, piece: &[u8]) -> Result<bool, AppendError> {
    let mut log = future.log();
    let segments = log.segments().count();
    log.append_as_follower(piece)?;
    Ok(log.segments().count() != segments)
}
