//! Which loop serves which connection.
//!
//! Loops that together have every core leave none to the rest: to clients on the same machine, the control plane,
//! fsyncs. Then small requests wait for a turn of the processor and not for work (measured on two cores with 16
//! connections: the 99th percentile is 0.8 ms with one loop and 3.5 ms with two, for 7 % fewer requests). Large
//! requests and answers are bound by copying, for which a second loop gives 1.3 to 1.8 times the rate. So new
//! connections share all loops but the last when there is one a core, and a connection that shows itself heavy is
//! handed, once, to any of the loops in turn.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::outbox::Outbox;

/// A request or an answer of so many bytes makes its connection heavy: half a producer's default batch.
pub const HEAVY_BYTES: usize = 8 << 10;

/// Whether what waits to be sent is a heavy answer.
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
    /// Over so many loops on so many cores.
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

    /// The loop of a connection that has shown itself heavy, the last loop first; `None` to leave it where it is.
    pub fn for_heavy(&self) -> Option<usize> {
        (self.light < self.loops).then(|| self.loops - 1 - self.next_heavy.fetch_add(1, Ordering::Relaxed) % self.loops)
    }
}

#[cfg(test)]
mod tests;
