//! Defaults and checks as Kafka's `LogConfig` has them.

use super::{Compression, LogConfig};
use base::error::ErrorCode;
use record::{Codec, TimestampType};

#[test]
fn pairs_change_the_named_keys_and_leave_the_rest() {
    let config = LogConfig::from_pairs([
        ("cleanup.policy", "compact, delete"),
        ("compression.type", "zstd"),
        ("segment.bytes", "1048576"),
        ("message.timestamp.type", "LogAppendTime"),
        ("some.other.key", "anything"),
    ])
    .unwrap();
    assert!(config.is_compacted && config.is_deleted);
    assert_eq!(config.compression_type, Compression::Codec(Codec::Zstd));
    assert_eq!(config.codec(), Some((Codec::Zstd, 3)));
    assert_eq!(config.message_timestamp_type, TimestampType::LogAppendTime);
    let rest = LogConfig {
        segment_bytes: 1_048_576,
        ..LogConfig::default()
    };
    assert_eq!(
        (config.segment_bytes, config.retention_ms),
        (rest.segment_bytes, rest.retention_ms)
    );
}

#[test]
fn a_wrong_value_is_refused_and_named() {
    for (key, value) in [
        ("cleanup.policy", "shrink"),
        ("compression.type", "rar"),
        ("compression.gzip.level", "0"),
        ("segment.bytes", "-1"),
        ("retention.ms", "-2"),
        ("min.cleanable.dirty.ratio", "1.5"),
        ("preallocate", "yes"),
        ("max.message.bytes", "99999999999"),
    ] {
        let error = LogConfig::from_pairs([(key, value)]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_CONFIG);
        let text = error.to_string();
        assert!(text.contains(key) && text.contains(value), "{text}");
    }
}

#[test]
fn producer_compression_leaves_batches_alone() {
    assert_eq!(LogConfig::default().codec(), None);
}

#[test]
fn throttled_replicas_are_those_named_or_all() {
    // KIP-73
    let key = "leader.replication.throttled.replicas";
    let of = |value| LogConfig::from_pairs([(key, value)]).map(|config| config.leader_throttled);
    let some = of("0:1, 2:3").unwrap();
    assert!(some.has(0, 1) && some.has(2, 3) && !some.has(0, 3));
    assert!(of("*").unwrap().has(7, 8));
    for none in ["", "none"] {
        assert!(!of(none).unwrap().has(0, 1));
    }
    for wrong in ["0", "0:", "a:b", "*,0:1"] {
        assert!(of(wrong).is_err(), "{wrong}");
    }
}
