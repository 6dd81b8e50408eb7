//! `replica.selector.class` (KIP-392): which brokers are closer to a consumer than this one, by their racks.
//!
//! The partition chooses among these brokers by the offset that the consumer wants. A consumer without a rack, or a
//! broker without a selector, gets no nearer brokers. It never chooses for a follower.

use crate::published::image::Image;

/// Kafka's selector by racks. With Kafka's other selector, or with none, every consumer reads from the leader.
pub const RACK_AWARE: &str = "org.apache.kafka.common.replica.RackAwareReplicaSelector";

/// The live brokers in `rack` that can be reached on `listener`; none when this one is among them.
pub fn nearer_brokers(image: &Image, node_id: i32, rack: &str, listener: &str) -> Vec<i32> {
    if rack.is_empty() || image.broker(node_id).is_some_and(|b| b.rack.as_deref() == Some(rack)) {
        return Vec::new();
    }
    let in_rack = image.brokers.iter().filter(|b| b.rack.as_deref() == Some(rack));
    in_rack
        .filter(|b| b.endpoint(listener).is_some())
        .map(|b| b.node_id)
        .collect()
}

#[cfg(test)]
#[path = "replica_selector_tests.rs"]
mod tests;
