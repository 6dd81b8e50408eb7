//! Producer ids that this broker may give out: blocks that the control plane claimed for it alone.
//!
//! A network loop or the control plane takes an id, and each id is given once. When few ids are left, an event asks the
//! control plane for the next block, so that no request waits for a block.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use parking_lot::Mutex;

use crate::threads::events::{Event, EventQueue};

/// With fewer ids left, the broker asks for the next block; Kafka asks when a tenth of a block of 1,000 is left.
const FEW: i64 = 100;

#[derive(Default)]
struct Blocks {
    blocks: VecDeque<RangeInclusive<i64>>,
    is_asked: bool,
}

impl Blocks {
    fn left(&self) -> i64 {
        self.blocks.iter().map(|block| block.end() - block.start() + 1).sum()
    }
}

/// See the module.
#[derive(Default)]
pub struct ProducerIds(Mutex<Blocks>);

impl ProducerIds {
    /// An id that was never given before; `None` when none is left. Asks for more in time, once for each block.
    pub fn take(&self, events: &EventQueue) -> Option<i64> {
        let mut ids = self.0.lock();
        let taken = loop {
            match ids.blocks.front_mut() {
                None => break None,
                Some(block) => match block.next() {
                    Some(id) => break Some(id),
                    None => ids.blocks.pop_front(),
                },
            };
        };
        // With no id left the request itself goes to the control plane.
        if taken.is_some() && !ids.is_asked && ids.left() < FEW {
            ids.is_asked = true;
            events.push(Event::ProducerIdsLow);
        }
        taken
    }

    /// Whether an id is left.
    pub fn has_any(&self) -> bool {
        self.0.lock().left() > 0
    }

    /// Adds a block that was claimed: its first and its last id.
    pub fn add(&self, first: i64, last: i64) {
        let mut ids = self.0.lock();
        ids.blocks.push_back(first..=last);
        ids.is_asked = false;
    }
}

#[cfg(test)]
#[path = "producer_ids_tests.rs"]
mod tests;
