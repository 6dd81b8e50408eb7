//! Which partition of an internal topic keeps a key, as Kafka's brokers choose it. Every choice of the broker is made
//! here or in the control plane's `partitioning.py`.

use broker::TopicRow;

/// `String.hashCode` of Java: over UTF-16 code units, wrapping.
pub fn java_string_hash(text: &str) -> i32 {
    text.encode_utf16()
        .fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// The partition of a key. Kafka takes `Utils.abs(hashCode) % count`, where `Utils.abs` maps the one integer without a
/// positive twin to 0.
pub fn partition_for(key: &str, topic: &TopicRow) -> i32 {
    let hash = java_string_hash(key);
    hash.checked_abs().unwrap_or(0) % topic.keys_over.max(1)
}

#[cfg(test)]
#[path = "partitioning_tests.rs"]
mod tests;
