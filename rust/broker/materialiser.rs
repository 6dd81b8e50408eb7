//! New logs come to disk in the background, one after the other, with rests: thousands of them may be created at once,
//! and making files is work for the processor that requests need.
//!
//! A log waits [`LINGER`] first, so that it is not in the way of what follows its creation, and so that one that is
//! deleted again soon costs the disk nothing. It never makes a log that was written or closed meanwhile, and nobody
//! waits for it: an append to a log that is still here makes it by itself.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::partition::Partition;
use crate::error::Error;

/// How long a log stays in memory only, when nobody writes it.
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

    /// Works until [`Materialiser::stop`]; `failed` hears of logs that could not be made; after a
    /// shortage one is queued again.
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

    /// Ends the worker; what is left comes to disk with its first write or when it is closed.
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
mod tests;
