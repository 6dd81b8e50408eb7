//! The configuration of a log, and what follows from it: the rules for batches and the jitter of the next roll.

use std::path::Path;
use std::sync::Arc;

use super::config::LogConfig;
use super::offsets::Offsets;
use super::segment::{RollCheck, Segment};
use record::{BatchHeader, Rules};

/// See the module.
pub struct Settings {
    config: Arc<LogConfig>,
    rules: Rules,
    /// Subtracted from `segment.ms` for the active segment.
    roll_jitter_ms: i64,
}

impl Settings {
    /// Without a jitter; see [`Self::choose_jitter`].
    pub fn new(config: Arc<LogConfig>) -> Self {
        let rules = Rules {
            max_message_bytes: config.max_message_bytes,
            timestamp_type: config.message_timestamp_type,
            timestamp_before_max_ms: config.message_timestamp_before_max_ms,
            timestamp_after_max_ms: config.message_timestamp_after_max_ms,
            compacted: config.is_compacted,
            codec: config.codec(),
            ..Rules::default()
        };
        Self {
            config,
            rules,
            roll_jitter_ms: 0,
        }
    }

    /// The configuration.
    #[inline]
    pub fn config(&self) -> &Arc<LogConfig> {
        &self.config
    }

    /// The rules that validate a batch.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Chooses a jitter up to `segment.jitter.ms` for the segment that is active now, different for every segment, so
    /// that not all partitions roll at once.
    pub fn choose_jitter(&mut self, dir: &Path, active: &Segment) {
        let max_jitter_ms = self.config.segment_jitter_ms.min(self.config.segment_ms);
        if max_jitter_ms <= 0 {
            self.roll_jitter_ms = 0;
            return;
        }
        let mut hash = u64::from(record::crc32c(dir.as_os_str().as_encoded_bytes()));
        hash = (hash ^ active.base_offset().get() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.roll_jitter_ms = ((hash >> 1) % max_jitter_ms as u64) as i64;
    }

    /// The values that decide whether the active segment is rolled before a write of `bytes` that ends with the batch
    /// `last`.
    pub fn roll_check(&self, bytes: usize, last: &BatchHeader, now_ms: i64) -> RollCheck<'_> {
        RollCheck {
            config: &self.config,
            jitter_ms: self.roll_jitter_ms,
            now_ms,
            begun: None,
            bytes: bytes as u64,
            last_offset: last.last_offset(),
            max_timestamp: last.max_timestamp,
        }
    }

    /// Whether the number of unflushed records has reached `flush.messages`.
    pub fn is_flush_due(&self, offsets: &Offsets) -> bool {
        offsets.end() - offsets.recovery_point() >= self.config.flush_messages
    }
}
