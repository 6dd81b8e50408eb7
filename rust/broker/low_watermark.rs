//! The low watermark as the control plane waits for it: below it no replica that lives has anything left (KIP-107).
//!
//! Whoever deletes records has moved the leader's log start; followers learn it by their fetches, and their next ones
//! say so. The control plane asks how far that is and is told by one event when it may be further. Which brokers live
//! is the image's to say: the control plane asks again when that has changed. Nothing waits here, and no log is
//! touched.

use std::sync::Arc;

use super::Broker;
use super::events::{Event, EventQueue};
use super::waiters::{WaitKind, Waiter, Wake};
use crate::error::Result;

/// Tells the control plane of one partition, once.
struct Watch {
    events: Arc<EventQueue>,
    topic: Arc<str>,
    index: i32,
}

impl Wake for Watch {
    fn wake(&self, _operation: u64) {
        self.events.push(Event::LowWatermarkMoved {
            topic: Arc::clone(&self.topic),
            index: self.index,
        });
    }
}

impl Broker {
    /// The low watermark of a partition that this broker leads. While it is below `offset`,
    /// [`Event::LowWatermarkMoved`] comes the next time that it may have moved: one event, however often this was
    /// called.
    pub fn watch_low_watermark(&self, topic: &str, index: i32, offset: i64) -> Result<i64> {
        let partition = self.partition(topic, index)?;
        let low_watermark = || {
            let image = self.image.load();
            partition.low_watermark(|node_id| image.broker(node_id).is_some())
        };
        let reached = low_watermark()?;
        if reached >= offset {
            return Ok(reached);
        }
        if partition.waiters().len(WaitKind::LowWatermark) == 0 {
            let watch = Watch {
                events: Arc::clone(&self.events),
                topic: Arc::clone(partition.topic()),
                index,
            };
            let waiter = Waiter {
                owner: Arc::new(watch),
                operation: 0,
            };
            partition.waiters().watch(WaitKind::LowWatermark, waiter);
        }
        low_watermark() // it may have moved before it was watched
    }
}

#[cfg(test)]
mod tests;
