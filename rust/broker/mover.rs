//! The threads that move partitions between log directories: a queue of moves, a piece of each in turn.
//!
//! A move is in the queue, or with one thread, or over. What a piece is, when it is over, and how long to wait before
//! the next one the caller's functions say; nobody waits for it. Stopping leaves what is not copied yet to the next
//! start.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::partition::{FutureLog, Partition};

/// A partition and the log that will take its place.
pub struct Move {
    /// The partition.
    pub partition: Arc<Partition>,
    /// The copy.
    pub future: Arc<FutureLog>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Move>,
    is_stopping: bool,
}

/// The queue; bounded by the number of hosted logs.
#[derive(Default)]
pub struct Mover {
    state: Mutex<State>,
    changed: Condvar,
}

impl Mover {
    /// Queues a move that has begun, once.
    pub fn add(&self, one: Move) {
        self.state.lock().queue.push_back(one);
        self.changed.notify_one();
    }

    /// Works until [`Mover::stop`]; `pause` says how long nothing may be copied, `step` whether there is more to do.
    pub fn run(&self, pause: impl Fn() -> Option<Duration>, step: impl Fn(&Move) -> bool) {
        while let Some(one) = self.next() {
            let has_more = match pause() {
                None => step(&one),
                Some(pause) => self.rest(pause),
            };
            if has_more {
                self.add(one);
            }
        }
    }

    /// One piece of the first move, which goes to the end of the queue if there is more to do.
    pub fn run_one(&self, step: impl Fn(&Move) -> bool) {
        let first = self.state.lock().queue.pop_front();
        if let Some(one) = first
            && step(&one)
        {
            self.add(one);
        }
    }

    /// Whether a move waits.
    pub fn is_busy(&self) -> bool {
        !self.state.lock().queue.is_empty()
    }

    /// Until it is over, or there is another move, or the end.
    fn rest(&self, pause: Duration) -> bool {
        let mut state = self.state.lock();
        if !state.is_stopping {
            self.changed.wait_for(&mut state, pause);
        }
        true
    }

    fn next(&self) -> Option<Move> {
        let mut state = self.state.lock();
        loop {
            if state.is_stopping {
                return None;
            }
            match state.queue.pop_front() {
                None => self.changed.wait(&mut state),
                one => return one,
            }
        }
    }

    /// Ends the workers after the pieces at hand.
    pub fn stop(&self) {
        let mut state = self.state.lock();
        state.is_stopping = true;
        state.queue.clear();
        self.changed.notify_all();
    }
}
