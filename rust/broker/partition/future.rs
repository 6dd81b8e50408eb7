//! The future log of a partition that moves to another log directory, and its place (KIP-113).
//!
//! A cancel takes the future log out of its slot and closes it; the mover then finds it closed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use base::error::Result;
use storage::topic_partition::DirKind;
use storage::{Log, Uuid};

/// The copy of a partition's log in another log directory, which will take the log's place.
pub struct FutureLog {
    log_dir: PathBuf,
    /// Closed when the move is over, whether it succeeded or not.
    log: Mutex<Log>,
}

/// The place of a partition's future log, if it has one. A thread that locks both locks the log first.
#[derive(Default)]
pub struct FutureSlot(Mutex<Option<Arc<FutureLog>>>);

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
        log.rename_away(DirKind::Deleted, Uuid::random())
    }
}

impl FutureSlot {
    /// The future log, while the partition moves.
    pub fn get(&self) -> Option<Arc<FutureLog>> {
        self.0.lock().clone()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Arc<FutureLog>>> {
        self.0.lock()
    }

    /// Resumes a move that an earlier run began; false when the partition moves already.
    pub fn resume(&self, future: &Arc<FutureLog>) -> bool {
        let mut slot = self.0.lock();
        let is_free = slot.is_none();
        if is_free {
            *slot = Some(Arc::clone(future));
        }
        is_free
    }

    /// Takes the future log away, so that the move ends; the caller discards it.
    pub fn take(&self) -> Option<Arc<FutureLog>> {
        self.0.lock().take()
    }

    /// Ends the move to a directory that has failed: nothing more is copied there. The next start finds the copy, if
    /// its disk is mended.
    pub fn abandon(&self) {
        if let Some(future) = self.take() {
            future.log().abandon();
        }
    }
}
