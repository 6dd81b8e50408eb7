//! Chooses the loop that serves a connection.
//!
//! When there is a loop for every core, the loops leave no core to clients on the same machine, the control plane and
//! fsyncs. Then small requests wait for a time slice of the processor (measured on two cores with 16 connections: the
//! 99th percentile is 0.8 ms with one loop and 3.5 ms with two, for 7 % fewer requests). Large requests and answers are
//! bound by copying, for which a second loop gives 1.3 to 1.8 times the rate. So new connections share all loops but
//! the last when there is a loop for every core, and a connection with large requests or answers is handed, once, to
//! one of all the loops in turn.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::outbox::Outbox;

/// A request or an answer of so many bytes makes its connection heavy: half a producer's default batch.
pub const HEAVY_BYTES: usize = 8 << 10;

/// Whether the bytes that wait to be sent make the connection heavy.
pub fn is_heavy_answer(outbox: &Outbox) -> bool {
    outbox.has_files() || outbox.buffered_bytes() >= HEAVY_BYTES
}

/// See the module.
#[derive(Debug)]
pub struct Spread {
    loops: usize,
    light: usize,
    next_new: AtomicUsize,
    next_heavy: AtomicUsize,
}

impl Spread {
    /// A spread over `loops` loops on `cores` cores.
    pub fn new(loops: usize, cores: usize) -> Self {
        let light = if loops >= cores { loops - 1 } else { loops };
        Self {
            loops,
            light: light.max(1),
            next_new: AtomicUsize::new(0),
            next_heavy: AtomicUsize::new(0),
        }
    }

    /// The loop of a new connection.
    pub fn for_new(&self) -> usize {
        self.next_new.fetch_add(1, Ordering::Relaxed) % self.light
    }

    /// The loop for a connection that has become heavy, the last loop first; `None` to leave it in its loop.
    pub fn for_heavy(&self) -> Option<usize> {
        (self.light < self.loops).then(|| self.loops - 1 - self.next_heavy.fetch_add(1, Ordering::Relaxed) % self.loops)
    }
}

#[cfg(test)]
#[path = "spread_tests.rs"]
mod tests;
