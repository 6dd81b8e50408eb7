//! A partition that moves to another log directory: its future log is filled, then takes the current one's place
//! (KIP-113).
//!
//! One mover at a time copies and swaps. A cancel takes the future log out of its slot and closes it; the mover then
//! finds it closed. Locks, in this order: `flushing`, the log, the slot, the future log. Nothing is synced under the
//! log's lock. The current log serves until the moment of the swap; from then on the future log serves, under the same
//! lock. Records that were acknowledged as flushed (`flush.messages`) are on disk before and after the swap: the swap
//! holds `flushing` until it is durable.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::Partition;
use base::error::{Error, ErrorCode, Result};
use storage::future::NameSync;
use storage::topic_partition::DirKind;
use storage::{AppendError, Log, LogContext, ReadPlan, TopicPartition, Uuid};

/// The most bytes of one piece, which comes from one segment.
const COPY_BYTES: usize = 1 << 20;
/// The most pieces that a swap copies under a lock; small segments make small pieces.
const LAST_PIECES: usize = 8;

/// The copy of a partition's log in another log directory, which will take the log's place.
pub struct FutureLog {
    log_dir: PathBuf,
    /// Closed when the move is over, whether it succeeded or not.
    log: Mutex<Log>,
}

/// The place of a partition's future log, if it has one. A thread that locks both locks the log first.
#[derive(Default)]
pub(super) struct FutureSlot(Mutex<Option<Arc<FutureLog>>>);

/// How far a move has come.
#[derive(Debug, PartialEq, Eq)]
pub enum Moved {
    /// This many bytes were copied; there may be more to copy.
    Copied(usize),
    /// Everything is copied: [`Partition::swap`] may be called.
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

impl FutureLog {
    /// An open future log in `log_dir`.
    pub fn new(log_dir: PathBuf, log: Log) -> Self {
        let log = Mutex::new(log);
        Self { log_dir, log }
    }

    /// The log directory that the partition moves to.
    pub fn log_dir(&self) -> &Path {
        &self.log_dir
    }

    /// The log, locked; never held over a wait.
    pub fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock()
    }

    /// Brings the future log to disk; only the mover flushes it.
    pub fn flush(&self) -> Result<()> {
        let job = {
            let log = self.log.lock();
            if log.is_closed() {
                return Ok(());
            }
            log.begin_flush()
        };
        let flushed = job.run();
        let mut log = self.log.lock();
        if log.is_closed() {
            return Ok(());
        }
        log.complete_flush(flushed)
    }

    /// Closes the future log and renames its directory. Returns the path to remove, if any.
    pub fn discard(&self) -> Result<Option<PathBuf>> {
        let mut log = self.log.lock();
        if log.is_closed() {
            return Ok(None);
        }
        log.rename_away(DirKind::Deleted)
    }

    fn failed(&self, error: Error) -> MoveFailure {
        MoveFailure {
            log_dir: self.log_dir.clone(),
            error,
        }
    }

    fn refused(&self, error: AppendError) -> MoveFailure {
        self.failed(match error {
            AppendError::Storage(error) => error,
            AppendError::Rejected(rejection) => Error::rejected(rejection.code, rejection.message),
        })
    }
}

impl Partition {
    /// The future log, while the partition moves.
    pub fn future(&self) -> Option<Arc<FutureLog>> {
        self.future.0.lock().clone()
    }

    /// Begins a move to `log_dir`; `None` when the partition moves already.
    pub fn create_future(&self, context: &LogContext, log_dir: &Path) -> Result<Option<Arc<FutureLog>>> {
        let config = {
            let log = self.log.lock();
            if log.is_closed() {
                return Err(Error::Closed {
                    path: log.dir().to_path_buf(),
                });
            }
            Arc::clone(log.config())
        };
        let mut slot = self.future.0.lock();
        if slot.is_some() {
            return Ok(None);
        }
        let partition = TopicPartition::new(Arc::clone(&self.topic), self.index);
        let topic_id = Some(Uuid(self.topic_id())).filter(|id| *id != Uuid::ZERO);
        let log = Log::create_future(context, log_dir, partition, topic_id, config)?;
        let future = Arc::new(FutureLog::new(log_dir.to_path_buf(), log));
        *slot = Some(Arc::clone(&future));
        Ok(Some(future))
    }

    /// Resumes a move that an earlier run began; false when the partition moves already.
    pub fn resume_future(&self, future: &Arc<FutureLog>) -> bool {
        let mut slot = self.future.0.lock();
        let is_free = slot.is_none();
        if is_free {
            *slot = Some(Arc::clone(future));
        }
        is_free
    }

    /// Takes the future log away, so that the move ends; the caller discards it.
    pub fn take_future(&self) -> Option<Arc<FutureLog>> {
        self.future.0.lock().take()
    }

    /// Ends the move to a directory that has failed: nothing more is copied there. The next start finds the copy, if
    /// its disk is mended.
    pub fn abandon_future(&self) {
        if let Some(future) = self.take_future() {
            future.log().abandon();
        }
    }

    /// Copies a piece of the log to its future log.
    pub fn copy_piece(&self, future: &Arc<FutureLog>) -> Result<Moved, MoveFailure> {
        let (plan, truncations) = {
            let current = self.log.lock();
            if current.is_closed() || self.is_offline() {
                return Ok(Moved::Over);
            }
            let mut copy = future.log.lock();
            if copy.is_closed() {
                return Ok(Moved::Over);
            }
            let plan = copy.plan_copy(&current).map_err(|error| future.failed(error))?;
            (plan, current.truncations())
        };
        let Some(plan) = plan else { return Ok(Moved::CaughtUp) };
        let is_cut = || self.log.lock().truncations() != truncations;
        let piece = match read(plan) {
            Ok(piece) => piece,
            Err(_) if is_cut() => return Ok(Moved::Copied(0)), // the log was cut during the read
            Err(error) => return Err(self.source_failed(error)),
        };
        if piece.is_empty() && !is_cut() {
            return Err(self.source_failed(self.nothing_to_copy()));
        }
        let is_sealed = match append(future, &piece) {
            Ok(is_sealed) => is_sealed,
            Err(AppendError::Storage(Error::Closed { .. })) => return Ok(Moved::Over),
            Err(AppendError::Rejected(_)) if is_cut() => return Ok(Moved::Copied(0)),
            Err(error) => return Err(future.refused(error)),
        };
        if is_sealed {
            future.flush().map_err(|error| future.failed(error))?;
        }
        Ok(Moved::Copied(piece.len()))
    }

    fn nothing_to_copy(&self) -> Error {
        let message = format!("{}-{} has no batch before its log end", self.topic, self.index);
        Error::rejected(ErrorCode::CORRUPT_MESSAGE, message)
    }

    fn source_failed(&self, error: Error) -> MoveFailure {
        MoveFailure {
            log_dir: self.log_dir().to_path_buf(),
            error,
        }
    }

    /// Puts the future log in the current log's place, in the steps (a) to (c) of [`storage::future`]. Returns
    /// [`Moved::Copied`] when too much was appended meanwhile. After an error [`Self::log_dir`] says whether the future
    /// log is in its place.
    pub fn swap(&self, future: &Arc<FutureLog>) -> Result<Moved, MoveFailure> {
        future.flush().map_err(|error| future.failed(error))?; // most of it while produces may be flushed too
        let swapped = self.exchange(future);
        self.wake_everyone();
        swapped
    }

    fn exchange(&self, future: &Arc<FutureLog>) -> Result<Moved, MoveFailure> {
        let _no_flush = self.flushing.none_runs();
        // Records that are flushed in the current log must be flushed in the future log too; from here on no flush of
        // the current log runs.
        for _ in 0..LAST_PIECES {
            match self.copy_piece(future)? {
                Moved::Copied(_) => {}
                Moved::CaughtUp => break,
                otherwise => return Ok(otherwise),
            }
        }
        future.flush().map_err(|error| future.failed(error))?;
        let old_dir = self.log_dir().to_path_buf();
        let (old_name, replaced) = match self.replace(future)? {
            Ok(taken_out) => taken_out, // (a)
            Err(otherwise) => return Ok(otherwise),
        };
        let synced = old_name.run(); // (b)
        self.take_plain_name().map_err(|error| future.failed(error))?; // (c)
        match synced {
            Ok(()) => Ok(Moved::Swapped(replaced)),
            Err(error) => Err(MoveFailure {
                log_dir: old_dir,
                error,
            }),
        }
    }

    /// Step (a), and the exchange in memory: from here on the future log serves. Records that it lacks are copied
    /// first, if they are few.
    fn replace(&self, future: &Arc<FutureLog>) -> Result<Result<(NameSync, Option<PathBuf>), Moved>, MoveFailure> {
        let mut current = self.log.lock();
        if current.is_closed() || current.is_poisoned() || self.is_offline() {
            return Ok(Err(Moved::Over));
        }
        let mut slot = self.future.0.lock();
        if !slot.as_ref().is_some_and(|now| Arc::ptr_eq(now, future)) {
            return Ok(Err(Moved::Over));
        }
        let mut copy = future.log.lock();
        if !self.has_all(future, &current, &mut copy)? || copy.recovery_point() < current.recovery_point() {
            return Ok(Err(Moved::Copied(0)));
        }
        let Some(unique) = copy.unique() else {
            return Ok(Err(Moved::Over));
        };
        let replaced = current.rename_away_as(DirKind::Deleted, unique);
        let replaced = replaced.map_err(|error| self.source_failed(error))?;
        copy.set_config(Arc::clone(current.config()));
        std::mem::swap(&mut *current, &mut *copy); // the old log is closed, which ends every use of the future log
        *slot = None;
        self.log_dir.store(Arc::new(future.log_dir.clone()));
        let lease = self.leadership.lease();
        if let Some(lease) = self.leadership.led(lease.as_ref()) {
            current.begin_epoch(lease.leader_epoch);
        }
        self.publish_offsets(&current);
        Ok(Ok((copy.name_sync(), replaced)))
    }

    /// Copies the records that are left, if they are few. Returns whether none are left then.
    fn has_all(&self, future: &FutureLog, current: &Log, copy: &mut Log) -> Result<bool, MoveFailure> {
        for _ in 0..LAST_PIECES {
            let plan = copy.plan_copy(current).map_err(|error| future.failed(error))?;
            let Some(plan) = plan else { return Ok(true) };
            let piece = read(plan).map_err(|error| self.source_failed(error))?;
            let appended = copy.append_as_follower(&piece);
            appended.map_err(|error| future.refused(error))?;
        }
        Ok(copy.log_end_offset() == current.log_end_offset())
    }

    /// Step (c), unless the topic was deleted meanwhile.
    fn take_plain_name(&self) -> Result<()> {
        let name = {
            let mut log = self.log.lock();
            if log.is_closed() {
                return Ok(());
            }
            log.become_current()?;
            log.name_sync()
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
    let mut log = future.log.lock();
    let segments = log.segment_count();
    log.append_as_follower(piece)?;
    Ok(log.segment_count() != segments)
}
