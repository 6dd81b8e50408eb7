//! Bringing a partition's log to disk: flushes beside appends, the flush of a stop, and when a flush is due.
//!
//! Flush jobs of one log run one after the other, without the log's lock; the lock that orders them is taken before the
//! log's lock.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::{Partition, WaitKind};
use base::error::{Error, Result};
use storage::{FlushJob, Flushed};

/// The state of a log's flushes.
#[derive(Default)]
pub(super) struct Flushing {
    running: Mutex<()>,
    is_queued: AtomicBool,
    /// When the oldest unflushed batch was appended, ms; 0 for none.
    unflushed_since_ms: AtomicI64,
}

impl Flushing {
    /// No flush runs while the guard is held.
    pub(super) fn none_runs(&self) -> MutexGuard<'_, ()> {
        self.running.lock()
    }

    /// Notes that a batch was appended that is not on disk yet.
    pub(super) fn note_unflushed(&self, now_ms: i64) {
        if self.unflushed_since_ms.load(Ordering::Relaxed) == 0 {
            self.unflushed_since_ms.store(now_ms, Ordering::Relaxed);
        }
    }

    /// Begins a flush. Returns the append time of the oldest batch that it brings to disk.
    fn begin(&self) -> i64 {
        self.is_queued.store(false, Ordering::Release);
        self.unflushed_since_ms.swap(0, Ordering::Relaxed)
    }
}

impl Partition {
    /// Notes that a flush is wanted; false when one is queued already.
    pub fn mark_flush_queued(&self) -> bool {
        !self.flushing.is_queued.swap(true, Ordering::AcqRel)
    }

    /// Brings everything appended so far to disk; appends go on meanwhile. A failure poisons the log.
    pub fn flush(&self) -> Result<()> {
        let _one_at_a_time = self.flushing.none_runs();
        let since_ms = self.flushing.begin();
        let job = {
            let log = self.log.lock();
            if log.is_closed() {
                return Ok(());
            }
            if log.is_poisoned() {
                // After a failed sync a later sync proves nothing: the kernel may have dropped the pages that it could
                // not write.
                return Err(Error::Poisoned {
                    path: log.dir().to_path_buf(),
                });
            }
            log.begin_flush()
        };
        let flushed = job.run();
        let mut log = self.log.lock();
        if log.is_closed() {
            return Ok(()); // the log was deleted meanwhile: its files have other names now
        }
        log.complete_flush(flushed)
            .inspect_err(|_| self.flushing.note_unflushed(since_ms))?;
        let has_risen = self.publish_offsets(&log);
        drop(log);
        self.waiters.wake_all(WaitKind::Produce);
        if has_risen {
            self.waiters.wake_all(WaitKind::Fetch);
        }
        Ok(())
    }

    /// First half of closing the log: waits for a running flush, and refuses appends from then on; see
    /// [`storage::Log::begin_close`].
    pub fn begin_close(&self) -> Result<Option<FlushJob>> {
        let _one_at_a_time = self.flushing.none_runs();
        self.log.lock().begin_close()
    }

    /// Second half of closing the log; wakes all operations that wait for the partition.
    pub fn complete_close(&self, flushed: Result<Flushed>) -> Result<()> {
        let closed = self.log.lock().complete_close(flushed);
        self.refresh();
        closed
    }

    /// Both halves of closing, for a log whose first attempt met a shortage.
    pub fn close(&self) -> Result<()> {
        match self.begin_close()? {
            Some(job) => self.complete_close(job.run()),
            None => Ok(()),
        }
    }

    /// Makes the directory of a log that was created and not written since. False when there was nothing to do.
    pub fn materialise(&self) -> Result<bool> {
        let mut log = self.log.lock();
        if log.is_materialised() || log.is_closed() || self.is_offline() {
            return Ok(false);
        }
        log.materialise().map(|()| true)
    }

    /// Whether a batch has been unflushed for longer than `flush.ms`.
    pub fn is_flush_due(&self, now_ms: i64) -> bool {
        let since = self.flushing.unflushed_since_ms.load(Ordering::Relaxed);
        since > 0 && now_ms.saturating_sub(since) >= self.log.lock().config().flush_ms
    }
}
