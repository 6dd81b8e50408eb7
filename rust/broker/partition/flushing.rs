//! The state of a log's flushes: whether one runs, whether one is queued, and since when a batch is unflushed.
//!
//! Flush jobs of one log run one after the other, without the log's lock; the lock that orders them is taken before the
//! log's lock.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use parking_lot::{Mutex, MutexGuard};

/// See the module.
#[derive(Default)]
pub struct Flushing {
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
    pub(super) fn begin(&self) -> i64 {
        self.is_queued.store(false, Ordering::Release);
        self.unflushed_since_ms.swap(0, Ordering::Relaxed)
    }

    /// Notes that a flush is wanted; false when one is queued already.
    pub fn mark_queued(&self) -> bool {
        !self.is_queued.swap(true, Ordering::AcqRel)
    }

    /// When the oldest unflushed batch was appended, ms.
    pub(super) fn unflushed_since_ms(&self) -> Option<i64> {
        let since_ms = self.unflushed_since_ms.load(Ordering::Relaxed);
        (since_ms > 0).then_some(since_ms)
    }
}
