//! The threads that move partitions between log directories: a queue of moves, a piece of each in turn.
//!
//! A move is in the queue, or with one thread, or over. What a piece is, and when it is over, the caller's
//! function says; nobody waits for it. Stopping leaves what is not copied yet to the next start.

use std::collections::VecDeque;
use std::sync::Arc;

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

    /// Works until [`Mover::stop`]; `step` says whether there is more to do.
    pub fn run(&self, step: impl Fn(&Move) -> bool) {
        while let Some(one) = self.next() {
            if step(&one) {
                self.add(one);
            }
        }
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
