//! Which partition of `__consumer_offsets` keeps a group: as Kafka's brokers choose it, for ever.

/// `String.hashCode` of Java: over UTF-16 code units, wrapping.
pub fn java_string_hash(text: &str) -> i32 {
    text.encode_utf16()
        .fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// The partition of a group among `count`, which is not 0. Kafka takes `Utils.abs(hashCode) % count`, where `Utils.abs`
/// maps the one integer without a positive twin to 0.
pub fn partition_for(group_id: &str, count: i32) -> i32 {
    let hash = java_string_hash(group_id);
    hash.checked_abs().unwrap_or(0) % count.max(1)
}

#[cfg(test)]
mod tests;
