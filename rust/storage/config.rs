//! The keys of a topic's configuration that storage needs, with Kafka's names, defaults and checks.
//!
//! A [`LogConfig`] is immutable and shared; a change makes a new [`LogConfig`] that replaces the old one.

use base::error::{Error, ErrorCode, Result};
use record::{Codec, TimestampType};

/// `compression.type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// `producer`: batches stay as they come.
    Producer,
    /// Every batch is stored with this codec (`uncompressed` is [`Codec::None`]).
    Codec(Codec),
}

/// Topic configuration. Field names are Kafka's keys with dots as underscores.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "each field is Kafka's key of the same name")]
#[expect(clippy::struct_excessive_bools, reason = "as many switches as Kafka has")]
pub struct LogConfig {
    /// `cleanup.policy` names `compact`.
    pub is_compacted: bool,
    /// `cleanup.policy` names `delete`.
    pub is_deleted: bool,
    pub compression_type: Compression,
    pub compression_gzip_level: i32,
    pub compression_lz4_level: i32,
    pub compression_zstd_level: i32,
    pub delete_retention_ms: i64,
    pub file_delete_delay_ms: i64,
    pub flush_messages: i64,
    pub flush_ms: i64,
    pub index_interval_bytes: u32,
    pub max_compaction_lag_ms: i64,
    pub max_message_bytes: u32,
    pub message_timestamp_after_max_ms: i64,
    pub message_timestamp_before_max_ms: i64,
    pub message_timestamp_type: TimestampType,
    pub min_cleanable_dirty_ratio: f64,
    pub min_compaction_lag_ms: i64,
    pub min_insync_replicas: i32,
    /// Accepted; files grow as they are written (preallocation gained nothing when measured).
    pub preallocate: bool,
    pub retention_bytes: i64,
    pub retention_ms: i64,
    pub segment_bytes: u32,
    pub segment_index_bytes: u32,
    pub segment_jitter_ms: i64,
    pub segment_ms: i64,
    pub unclean_leader_election_enable: bool,
    /// `leader.replication.throttled.replicas`.
    pub leader_throttled: ThrottledReplicas,
    /// `follower.replication.throttled.replicas`.
    pub follower_throttled: ThrottledReplicas,
}

/// Which replicas of a topic are copied no faster than the broker's throttled rate (KIP-73).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ThrottledReplicas {
    /// None is named.
    #[default]
    None,
    /// All of them: `*`.
    All,
    /// These: partition and broker.
    Some(Vec<(i32, i32)>),
}

impl ThrottledReplicas {
    /// Whether it names the replica of `partition` on `broker`.
    pub fn has(&self, partition: i32, broker: i32) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Some(named) => named.contains(&(partition, broker)),
        }
    }
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            is_compacted: false,
            is_deleted: true,
            compression_type: Compression::Producer,
            compression_gzip_level: -1,
            compression_lz4_level: 9,
            compression_zstd_level: 3,
            delete_retention_ms: 86_400_000,
            file_delete_delay_ms: 60_000,
            flush_messages: i64::MAX,
            flush_ms: i64::MAX,
            index_interval_bytes: 4_096,
            max_compaction_lag_ms: i64::MAX,
            max_message_bytes: 1_048_588,
            message_timestamp_after_max_ms: 3_600_000,
            message_timestamp_before_max_ms: i64::MAX,
            message_timestamp_type: TimestampType::CreateTime,
            min_cleanable_dirty_ratio: 0.5,
            min_compaction_lag_ms: 0,
            min_insync_replicas: 1,
            preallocate: false,
            retention_bytes: -1,
            retention_ms: 604_800_000,
            segment_bytes: 1_073_741_824,
            segment_index_bytes: 10_485_760,
            segment_jitter_ms: 0,
            segment_ms: 604_800_000,
            unclean_leader_election_enable: false,
            leader_throttled: ThrottledReplicas::None,
            follower_throttled: ThrottledReplicas::None,
        }
    }
}

impl LogConfig {
    /// Kafka's defaults with these changes. `Error::Rejected(INVALID_CONFIG)` names the key and the value.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        Self::default().with_pairs(pairs)
    }

    /// This configuration (a broker's defaults, say) with these changes. Keys that storage does not need are ignored:
    /// the caller checks whether a key may be set.
    pub fn with_pairs<'a>(&self, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let mut config = self.clone();
        for (key, value) in pairs {
            config.set(key, value.trim())?;
        }
        Ok(config)
    }

    /// The age in ms at which a segment is sealed: `segment.ms`, or the lower `max.compaction.lag.ms` of a compacted
    /// topic, since only sealed segments are compacted.
    pub fn max_segment_ms(&self) -> i64 {
        if self.is_compacted && self.max_compaction_lag_ms > 0 {
            self.segment_ms.min(self.max_compaction_lag_ms)
        } else {
            self.segment_ms
        }
    }

    /// The codec and level that batches must be stored with; `None` leaves them as they come.
    pub fn codec(&self) -> Option<(Codec, i32)> {
        match self.compression_type {
            Compression::Producer => None,
            Compression::Codec(codec) => Some((codec, self.level_of(codec))),
        }
    }

    fn level_of(&self, codec: Codec) -> i32 {
        match codec {
            Codec::None | Codec::Snappy => 0,
            Codec::Gzip => self.compression_gzip_level,
            Codec::Lz4 => self.compression_lz4_level,
            Codec::Zstd => self.compression_zstd_level,
        }
    }

    #[rustfmt::skip] // one key a line
    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "cleanup.policy" => self.set_cleanup_policy(value)?,
            "compression.type" => self.compression_type = compression(value)?,
            "compression.gzip.level" => self.compression_gzip_level = gzip_level(value)?,
            "compression.lz4.level" => self.compression_lz4_level = int(key, value, 1, 17)? as i32,
            "compression.zstd.level" => self.compression_zstd_level = int(key, value, -131_072, 22)? as i32,
            "delete.retention.ms" => self.delete_retention_ms = int(key, value, 0, i64::MAX)?,
            "file.delete.delay.ms" => self.file_delete_delay_ms = int(key, value, 0, i64::MAX)?,
            "flush.messages" => self.flush_messages = int(key, value, 1, i64::MAX)?,
            "flush.ms" => self.flush_ms = int(key, value, 0, i64::MAX)?,
            "index.interval.bytes" => self.index_interval_bytes = int(key, value, 0, I32_MAX)? as u32,
            "max.compaction.lag.ms" => self.max_compaction_lag_ms = int(key, value, 1, i64::MAX)?,
            "max.message.bytes" => self.max_message_bytes = int(key, value, 0, I32_MAX)? as u32,
            "message.timestamp.after.max.ms" => self.message_timestamp_after_max_ms = int(key, value, 0, i64::MAX)?,
            "message.timestamp.before.max.ms" => self.message_timestamp_before_max_ms = int(key, value, 0, i64::MAX)?,
            "message.timestamp.type" => self.message_timestamp_type = timestamp_type(value)?,
            "min.cleanable.dirty.ratio" => self.min_cleanable_dirty_ratio = ratio(key, value)?,
            "min.compaction.lag.ms" => self.min_compaction_lag_ms = int(key, value, 0, i64::MAX)?,
            "min.insync.replicas" => self.min_insync_replicas = int(key, value, 1, I32_MAX)? as i32,
            "preallocate" => self.preallocate = boolean(key, value)?,
            "retention.bytes" => self.retention_bytes = int(key, value, i64::MIN, i64::MAX)?,
            "retention.ms" => self.retention_ms = int(key, value, -1, i64::MAX)?,
            "segment.bytes" => self.segment_bytes = int(key, value, MIN_SEGMENT_BYTES, I32_MAX)? as u32,
            "segment.index.bytes" => self.segment_index_bytes = int(key, value, 4, I32_MAX)? as u32,
            "segment.jitter.ms" => self.segment_jitter_ms = int(key, value, 0, i64::MAX)?,
            "segment.ms" => self.segment_ms = int(key, value, 1, i64::MAX)?,
            "leader.replication.throttled.replicas" => self.leader_throttled = throttled(key, value)?,
            "follower.replication.throttled.replicas" => self.follower_throttled = throttled(key, value)?,
            "unclean.leader.election.enable" => self.unclean_leader_election_enable = boolean(key, value)?,
            _ => {}
        }
        Ok(())
    }

    fn set_cleanup_policy(&mut self, value: &str) -> Result<()> {
        (self.is_compacted, self.is_deleted) = (false, false);
        for policy in value.split(',').map(str::trim).filter(|policy| !policy.is_empty()) {
            match policy {
                "compact" => self.is_compacted = true,
                "delete" => self.is_deleted = true,
                _ => return Err(invalid("cleanup.policy", value, "a list of: compact, delete")),
            }
        }
        Ok(())
    }
}

const I32_MAX: i64 = i32::MAX as i64;
/// Kafka 4 wants 1 MiB of users; its own tests and ours go below, so the engine's floor is that of a small batch.
const MIN_SEGMENT_BYTES: i64 = 14;

fn invalid(key: &str, value: &str, wanted: &str) -> Error {
    Error::rejected(
        ErrorCode::INVALID_CONFIG,
        format!("Invalid value {value} for configuration {key}: it must be {wanted}"),
    )
}

fn int(key: &str, value: &str, least: i64, most: i64) -> Result<i64> {
    match value.parse::<i64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(invalid(key, value, &format!("a whole number from {least} to {most}"))),
    }
}

fn throttled(key: &str, value: &str) -> Result<ThrottledReplicas> {
    let items = || value.split(',').map(str::trim).filter(|item| !item.is_empty());
    if items().next().is_none() || value == "none" {
        return Ok(ThrottledReplicas::None);
    }
    if value == "*" {
        return Ok(ThrottledReplicas::All);
    }
    let replica = |item: &str| {
        let (partition, broker) = item.split_once(':')?;
        Some((partition.parse().ok()?, broker.parse().ok()?))
    };
    let named: Option<Vec<(i32, i32)>> = items().map(replica).collect();
    let named =
        named.ok_or_else(|| invalid(key, value, "[partitionId]:[brokerId],[partitionId]:[brokerId],... or *"))?;
    Ok(ThrottledReplicas::Some(named))
}

fn boolean(key: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(invalid(key, value, "true or false")),
    }
}

fn ratio(key: &str, value: &str) -> Result<f64> {
    match value.parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(number),
        _ => Err(invalid(key, value, "a number from 0 to 1")),
    }
}

fn gzip_level(value: &str) -> Result<i32> {
    match value.parse::<i32>() {
        Ok(level @ (-1 | 1..=9)) => Ok(level),
        _ => Err(invalid(
            "compression.gzip.level",
            value,
            "-1 or a whole number from 1 to 9",
        )),
    }
}

fn compression(value: &str) -> Result<Compression> {
    Ok(match value {
        "producer" => Compression::Producer,
        "uncompressed" => Compression::Codec(Codec::None),
        "gzip" => Compression::Codec(Codec::Gzip),
        "snappy" => Compression::Codec(Codec::Snappy),
        "lz4" => Compression::Codec(Codec::Lz4),
        "zstd" => Compression::Codec(Codec::Zstd),
        _ => {
            let wanted = "one of: uncompressed, zstd, lz4, snappy, gzip, producer";
            return Err(invalid("compression.type", value, wanted));
        }
    })
}

fn timestamp_type(value: &str) -> Result<TimestampType> {
    match value {
        "CreateTime" => Ok(TimestampType::CreateTime),
        "LogAppendTime" => Ok(TimestampType::LogAppendTime),
        _ => Err(invalid("message.timestamp.type", value, "CreateTime or LogAppendTime")),
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
