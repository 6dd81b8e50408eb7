//! The threads that move partitions between log directories: a queue of moves, a piece of each in turn.
//!
//! A move is in the queue, with one thread, or finished. The caller's functions copy one piece of a move, say whether
//! more is left, and say how long to pause before the next piece. No request waits for a move. After a stop, the next
//! start copies the rest.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::partition::Move;

#[derive(Default)]
struct State {
    queue: VecDeque<Move>,
    is_stopping: bool,
}

/// The queue of moves; the number of hosted logs bounds it.
#[derive(Default)]
pub struct Mover {
    state: Mutex<State>,
    changed: Condvar,
}

impl Mover {
    /// Queues a move that has begun. Call it once for each move.
    pub fn add(&self, one: Move) {
        self.state.lock().queue.push_back(one);
        self.changed.notify_one();
    }

    /// Copies pieces of moves until [`Mover::stop`]. `pause` returns how long nothing may be copied; `step` copies one
    /// piece and returns whether more is left.
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

    /// Copies one piece of the first move. The move goes to the end of the queue if more is left to copy.
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

    /// Waits until the pause has passed, another move is added, or [`Mover::stop`] is called.
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

    /// Ends the threads after the pieces that they copy now, and empties the queue.
    pub fn stop(&self) {
        let mut state = self.state.lock();
        state.is_stopping = true;
        state.queue.clear();
        self.changed.notify_all();
    }
}
