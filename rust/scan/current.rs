//! The batch at a reader's position, while its records are decoded.

use std::ops::Range;

use super::decode::{Frame, Walk};
use base::place::Offset;
use record::{BatchHeader, TimestampType};

/// See the module.
pub(super) struct Current {
    pub(super) frame: Frame,
    pub(super) walk: Walk,
    pub(super) record_count: i32,
    /// Bytes of the batch.
    pub(super) size: usize,
    /// Its records are in the workspace's `inflated`, not in the window.
    pub(super) is_inflated: bool,
    /// As Kafka's consumer, and so Spark's Kafka source, gives it: −1 for messages of magic 0, which have no timestamp.
    pub(super) timestamp_type: i32,
}

impl Current {
    /// Before the first record of the batch with `header`; `wanted` are the offsets to give.
    pub(super) fn new(header: &BatchHeader, size: usize, is_inflated: bool, wanted: Range<Offset>) -> Self {
        let timestamp_type = header.timestamp_type();
        Self {
            frame: Frame {
                base_offset: header.base_offset.get(),
                base_timestamp: header.base_timestamp,
                log_append_time: (timestamp_type == TimestampType::LogAppendTime).then_some(header.max_timestamp),
                from: wanted.start.get(),
                to: wanted.end.get(),
            },
            walk: Walk::new(header.record_count),
            record_count: header.record_count,
            size,
            is_inflated,
            timestamp_type: match timestamp_type {
                _ if header.magic == 0 => -1,
                TimestampType::CreateTime => 0,
                TimestampType::LogAppendTime => 1,
            },
        }
    }
}
