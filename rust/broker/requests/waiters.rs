//! The operations that wait for a partition: the watch lists of the delayed-operation purgatory.
//!
//! The owner (a network loop) keeps a parked operation; a watch list has only the owner and the operation's number. A
//! wake-up removes all waiters of one kind and calls their owners; an owner whose operation is still not complete adds
//! its waiter again. So an operation completes exactly once, at its owner. This module reads no clock: the owner
//! handles timeouts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::planted;

/// An owner of parked operations. `wake` is called with no lock held and must not block.
pub trait Wake: Send + Sync {
    /// The operation may be able to complete now.
    fn wake(&self, operation: u64);
}

/// One parked operation, by its owner and its number there.
#[derive(Clone)]
pub struct Waiter {
    /// The owner to call.
    pub owner: Arc<dyn Wake>,
    /// The operation's number at its owner.
    pub operation: u64,
}

/// Which event an operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitKind {
    /// A delayed fetch: more bytes below the reader's bound.
    Fetch,
    /// A delayed produce: the high watermark or the flushed offset moves.
    Produce,
    /// A delayed deletion of records: the low watermark moves.
    LowWatermark,
}

#[derive(Default)]
struct Lists {
    fetch: Vec<Waiter>,
    produce: Vec<Waiter>,
    low_watermark: Vec<Waiter>,
}

impl Lists {
    fn of(&mut self, kind: WaitKind) -> &mut Vec<Waiter> {
        match kind {
            WaitKind::Fetch => &mut self.fetch,
            WaitKind::Produce => &mut self.produce,
            WaitKind::LowWatermark => &mut self.low_watermark,
        }
    }
}

/// The watch lists of one partition.
#[derive(Default)]
pub struct Waiters {
    fetch_count: AtomicUsize,
    produce_count: AtomicUsize,
    low_watermark_count: AtomicUsize,
    lists: Mutex<Lists>,
}

impl Waiters {
    fn count(&self, kind: WaitKind) -> &AtomicUsize {
        match kind {
            WaitKind::Fetch => &self.fetch_count,
            WaitKind::Produce => &self.produce_count,
            WaitKind::LowWatermark => &self.low_watermark_count,
        }
    }

    /// Adds a waiter. The caller then tries its operation once more, since the event may have come before the waiter
    /// was added.
    pub fn watch(&self, kind: WaitKind, waiter: Waiter) {
        let mut lists = self.lists.lock();
        let list = lists.of(kind);
        list.push(waiter);
        self.count(kind).store(list.len(), Ordering::SeqCst);
    }

    /// Removes the waiters of one operation, which completed elsewhere or timed out.
    pub fn forget(&self, kind: WaitKind, operation: u64, owner: &Arc<dyn Wake>) {
        if self.count(kind).load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut lists = self.lists.lock();
        let list = lists.of(kind);
        list.retain(|w| w.operation != operation || !Arc::ptr_eq(&w.owner, owner));
        self.count(kind).store(list.len(), Ordering::SeqCst);
    }

    /// Removes all waiters of the kind and calls their owners.
    pub fn wake_all(&self, kind: WaitKind) {
        if self.count(kind).load(Ordering::SeqCst) == 0 {
            return;
        }
        let called = {
            let mut lists = self.lists.lock();
            self.count(kind).store(0, Ordering::SeqCst);
            std::mem::take(lists.of(kind))
        };
        if planted::loses_wake_up(kind) {
            return;
        }
        for waiter in called {
            waiter.owner.wake(waiter.operation);
        }
    }

    /// How many operations wait (the purgatory gauge).
    pub fn len(&self, kind: WaitKind) -> usize {
        self.count(kind).load(Ordering::Relaxed)
    }
}

#[cfg(test)]
#[path = "waiters_tests.rs"]
mod tests;
