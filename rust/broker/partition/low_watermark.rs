//! The low watermark, for which the control plane waits: no live replica has records below it (KIP-107).
//!
//! `DeleteRecords` moves the leader's log start. Followers learn the new log start from a fetch response and report
//! their own in the next fetch. The control plane asks for the low watermark, and one event tells it when the low
//! watermark may have moved. The image says which brokers are live; when that changes, the control plane asks again. No
//! call here blocks or touches a log.

use std::sync::Arc;

use crate::Broker;
use crate::requests::waiters::{WaitKind, Waiter, Wake};
use crate::threads::events::{Event, EventQueue};
use base::error::Result;
use base::place::Offset;

/// Sends the control plane one [`Event::LowWatermarkMoved`] for one partition.
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
    /// [`Event::LowWatermarkMoved`] comes the next time that it may have moved: one event, however often the control
    /// plane has called this.
    pub fn watch_low_watermark(&self, topic: &str, index: i32, offset: Offset) -> Result<Offset> {
        let partition = self.partition(topic, index)?;
        let low_watermark = || {
            let image = self.image().load();
            let log_start = partition.offsets().log_start();
            let is_alive = |node_id| image.broker(node_id).is_some();
            partition.leadership().low_watermark(log_start, is_alive)
        };
        let reached = low_watermark()?;
        if reached >= offset {
            return Ok(reached);
        }
        if partition.waiters().len(WaitKind::LowWatermark) == 0 {
            let watch = Watch {
                events: Arc::clone(self.events()),
                topic: Arc::clone(partition.topic()),
                index,
            };
            let waiter = Waiter {
                owner: Arc::new(watch),
                operation: 0,
            };
            partition.waiters().watch(WaitKind::LowWatermark, waiter);
        }
        low_watermark() // the low watermark may have moved before the waiter was added
    }
}

#[cfg(test)]
#[path = "low_watermark_tests.rs"]
mod tests;
