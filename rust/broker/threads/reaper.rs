//! Deletion in the background: files and directories that were renamed away, after `file.delete.delay.ms`.
//!
//! The files in this queue are out of the log already: readers that have a file open go on reading it. After a crash
//! before a deletion, the next start finds the files by their suffix and deletes them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Removes the files, and reports its own errors.
type Job = Box<dyn FnOnce() + Send>;

struct Due {
    at: Instant,
    number: u64,
    job: Job,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

#[derive(Default)]
struct State {
    queue: BinaryHeap<Reverse<Due>>,
    next: u64,
    is_stopping: bool,
}

/// The queue of deletions.
#[derive(Default)]
pub struct Reaper {
    state: Mutex<State>,
    changed: Condvar,
}

impl Reaper {
    /// Queues a deletion.
    pub fn after(&self, delay: Duration, job: impl FnOnce() + Send + 'static) {
        let mut state = self.state.lock();
        state.next += 1;
        let due = Due {
            at: Instant::now() + delay,
            number: state.next,
            job: Box::new(job),
        };
        state.queue.push(Reverse(due));
        self.changed.notify_one();
    }

    /// Runs the deletions as they become due, until [`Reaper::stop`].
    pub fn run(&self) {
        while let Some(job) = self.next() {
            job();
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock();
        loop {
            if state.is_stopping {
                return None;
            }
            let now = Instant::now();
            match state.queue.peek() {
                None => self.changed.wait(&mut state),
                Some(Reverse(due)) if due.at > now => {
                    let at = due.at;
                    self.changed.wait_until(&mut state, at);
                }
                Some(_) => return state.queue.pop().map(|Reverse(due)| due.job),
            }
        }
    }

    /// Ends the thread. The files of deletions that are not due yet stay on disk until the next start.
    pub fn stop(&self) {
        self.state.lock().is_stopping = true;
        self.changed.notify_all();
    }

    /// How many deletions wait.
    pub fn len(&self) -> usize {
        self.state.lock().queue.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
#[path = "reaper_tests.rs"]
mod tests;
