//! Writes new logs to disk in the background, one after the other, with rests: thousands of logs may be created at
//! once, and making files takes processor time that requests need.
//!
//! A log waits [`LINGER`] first: so it does not delay the requests that follow its creation, and a log that is soon
//! deleted again costs the disk nothing. The materialiser skips a log that was written or closed meanwhile. No request
//! waits for it: an append to a log in the queue makes the log's files itself.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::partition::Partition;
use base::error::Error;

/// How long a log stays in memory only, when nothing is appended to it.
const LINGER: Duration = Duration::from_secs(1);
/// Rests are this many times as long as the work before them: a fifth of one processor at most.
const REST_FACTOR: u32 = 4;

struct New {
    partition: Arc<Partition>,
    due: Instant,
}

#[derive(Default)]
struct State {
    /// In the order of their times.
    queue: VecDeque<New>,
    rest_until: Option<Instant>,
    is_stopping: bool,
}

/// The queue of logs to make. It is bounded by the number of hosted logs.
#[derive(Default)]
pub struct Materialiser {
    state: Mutex<State>,
    changed: Condvar,
}

impl Materialiser {
    /// Queues logs that were created.
    pub fn add(&self, created: impl IntoIterator<Item = Arc<Partition>>) {
        let due = Instant::now() + LINGER;
        let news = created.into_iter().map(|partition| New { partition, due });
        self.state.lock().queue.extend(news);
        self.changed.notify_one();
    }

    /// Makes logs until [`Materialiser::stop`]. `failed` is called for each log that could not be made; after a
    /// shortage the log is queued again.
    pub fn run(&self, failed: impl Fn(&Arc<Partition>, &Error)) {
        while let Some(partition) = self.next() {
            let begin = Instant::now();
            match partition.materialise() {
                Ok(true) => {
                    let end = Instant::now();
                    self.state.lock().rest_until = Some(end + (end - begin) * REST_FACTOR);
                }
                Ok(false) => {}
                Err(error) => {
                    failed(&partition, &error);
                    if error.is_shortage() {
                        self.add([partition]);
                    }
                }
            }
        }
    }

    fn next(&self) -> Option<Arc<Partition>> {
        let mut state = self.state.lock();
        loop {
            if state.is_stopping {
                return None;
            }
            let begin = state.queue.front().map(|new| Some(new.due).max(state.rest_until));
            match begin.flatten() {
                None => self.changed.wait(&mut state),
                Some(begin) if begin > Instant::now() => drop(self.changed.wait_until(&mut state, begin)),
                Some(_) => return state.queue.pop_front().map(|new| new.partition),
            }
        }
    }

    /// Ends the thread. The logs that are left come to disk with their first write or when they are closed.
    pub fn stop(&self) {
        let mut state = self.state.lock();
        state.is_stopping = true;
        state.queue.clear();
        self.changed.notify_all();
    }

    /// How many logs wait.
    pub fn len(&self) -> usize {
        self.state.lock().queue.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
#[path = "materialiser_tests.rs"]
mod tests;
