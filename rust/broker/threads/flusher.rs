//! Group commit: threads that bring logs to disk while appends go on (`flush.messages`).
//!
//! A partition is queued at most once; one fdatasync acknowledges every produce that was appended before it began.
//! Sealed segments are flushed here too. The flusher sends no answers: it moves the flushed offset and wakes the
//! produces that wait.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

use parking_lot::{Condvar, Mutex};

use crate::partition::Partition;
use base::error::Error;
use storage::patience::REST;

#[derive(Default)]
struct State {
    queue: VecDeque<Arc<Partition>>,
    is_stopping: bool,
}

/// The queue of partitions to flush.
#[derive(Default)]
pub struct Flusher {
    state: Mutex<State>,
    changed: Condvar,
}

impl Flusher {
    /// Queues a partition, unless it is queued already.
    pub fn enqueue(&self, partition: &Arc<Partition>) {
        if partition.mark_flush_queued() {
            self.state.lock().queue.push_back(Arc::clone(partition));
            self.changed.notify_one();
        }
    }

    /// Flushes partitions until [`Flusher::stop`]. `failed` is called for each partition that could not be flushed.
    /// After a shortage the partition is queued again, since a produce may wait for the flush.
    pub fn run(&self, failed: impl Fn(&Arc<Partition>, &Error)) {
        while let Some(partition) = self.next() {
            if let Err(error) = partition.flush() {
                failed(&partition, &error);
                if error.is_shortage() && !self.state.lock().is_stopping {
                    thread::sleep(REST);
                    self.enqueue(&partition);
                }
            }
        }
    }

    /// Whether a partition is queued.
    pub fn has_queued(&self) -> bool {
        !self.state.lock().queue.is_empty()
    }

    /// Flushes the partitions that are queued now, on the caller's thread.
    pub fn flush_queued(&self, failed: impl Fn(&Arc<Partition>, &Error)) {
        let queued = std::mem::take(&mut self.state.lock().queue);
        for partition in queued {
            if let Err(error) = partition.flush() {
                failed(&partition, &error);
            }
        }
    }

    fn next(&self) -> Option<Arc<Partition>> {
        let mut state = self.state.lock();
        loop {
            if let Some(partition) = state.queue.pop_front() {
                return Some(partition);
            }
            if state.is_stopping {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }

    /// Lets the workers finish the queue and end.
    pub fn stop(&self) {
        self.state.lock().is_stopping = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
#[path = "flusher_tests.rs"]
mod tests;
