//! `replica.selector.class` (KIP-392): which brokers are closer to a consumer than this one, by their racks.
//!
//! Who of them holds what the consumer wants is the partition's to say. Nothing is looked at for a consumer that names
//! no rack, nor without a selector. It never chooses for a follower.

use super::image::Image;

/// Kafka's selector by racks; the other one, like none at all, leaves every consumer with the leader.
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
mod tests;
