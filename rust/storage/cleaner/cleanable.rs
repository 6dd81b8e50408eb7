//! Which part of a log is dirty, and whether it is time to clean it.
//!
//! ```text
//! log start … first dirty offset … first uncleanable offset … log end
//!             clean              dirty and cleanable
//! ```
//! The first uncleanable offset is the base offset of a segment: of the active segment, of the segment that holds the
//! last stable offset, or of the first segment with a record younger than `min.compaction.lag.ms`, whichever is first.
//! A segment that holds the first dirty offset counts as clean and as dirty, as in Kafka. Reads memory, and the first
//! header of dirty segments when the topic has a `max.compaction.lag.ms`.

use crate::log::Log;
use crate::offsets::Offsets;
use crate::segment::Segment;
use crate::segments::Segments;
use base::error::Result;
use base::place::Offset;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cleanable {
    /// The log is compacted below it.
    pub first_dirty: Offset,
    /// Nothing is cleaned from there on.
    pub first_uncleanable: Offset,
    /// Where followers have to get to.
    pub high_watermark: Offset,
    /// Bytes of the segments that begin below the first dirty offset.
    pub clean_bytes: u64,
    /// Bytes of the segments that are dirty and may be cleaned.
    pub cleanable_bytes: u64,
    /// For how long the oldest dirty record is older than `max.compaction.lag.ms`, in ms; 0 when none is.
    pub delay_ms: i64,
    /// Why the checkpoint's offset is no offset of this log any more; the log is then dirty from its start.
    pub reset: Option<Reset>,
}

/// Why a log is dirty from its start although it was cleaned before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// The log starts above the checkpoint's offset.
    BelowStart,
    /// The log ends below it.
    AboveEnd,
}

impl Cleanable {
    /// The dirty part of a log; see the module.
    pub fn of(log: &Log, now_ms: i64, high_watermark: Offset) -> Result<Self> {
        let segments = log.segments();
        let (first_dirty, reset) = first_dirty(log.contents().offsets());
        let first_uncleanable = first_uncleanable(log, first_dirty, now_ms, high_watermark)?;
        let bytes = |from: Offset, to: Offset| -> u64 {
            let within = segments.all().filter(|it| (from..to).contains(&it.base_offset()));
            within.map(Segment::size).sum()
        };
        let dirty_from = segments.holding(first_dirty).base_offset().min(first_uncleanable);
        Ok(Self {
            first_dirty,
            first_uncleanable,
            high_watermark,
            clean_bytes: bytes(Offset(0), first_dirty),
            cleanable_bytes: bytes(dirty_from, first_uncleanable),
            delay_ms: compaction_delay_ms(log, first_dirty, now_ms)?,
            reset,
        })
    }

    /// The share of dirty bytes, 0 to 1: Kafka's cleanable ratio.
    pub fn ratio(&self) -> f64 {
        let total = self.clean_bytes + self.cleanable_bytes;
        if total == 0 {
            return 0.0;
        }
        self.cleanable_bytes as f64 / total as f64
    }

    /// Whether the log is to be cleaned: enough of it is dirty, or a dirty record is too old.
    pub fn is_due(&self, min_cleanable_dirty_ratio: f64) -> bool {
        self.cleanable_bytes > 0 && (self.delay_ms > 0 || self.ratio() > min_cleanable_dirty_ratio)
    }
}

/// The first dirty offset, and why it is not the checkpoint's.
fn first_dirty(offsets: &Offsets) -> (Offset, Option<Reset>) {
    let start = offsets.start();
    match offsets.first_dirty() {
        None => (start, None),
        Some(offset) if offset < start => (start, Some(Reset::BelowStart)),
        Some(offset) if offset > offsets.end() => (start, Some(Reset::AboveEnd)),
        Some(offset) => (offset, None),
    }
}

fn first_uncleanable(log: &Log, first_dirty: Offset, now_ms: i64, high_watermark: Offset) -> Result<Offset> {
    let (contents, segments) = (log.contents(), log.segments());
    let mut limit = contents
        .last_stable_offset(high_watermark)
        .min(segments.active().base_offset());
    let lag_ms = log.config().min_compaction_lag_ms;
    if lag_ms > 0 {
        for segment in sealed_from_offset(segments, first_dirty) {
            if segment.largest_timestamp(contents.fs())? > now_ms.saturating_sub(lag_ms) {
                limit = limit.min(segment.base_offset());
                break;
            }
        }
    }
    Ok(segments.holding(limit.max(first_dirty)).base_offset())
}

fn compaction_delay_ms(log: &Log, first_dirty: Offset, now_ms: i64) -> Result<i64> {
    let lag_ms = log.config().max_compaction_lag_ms;
    if lag_ms == i64::MAX {
        return Ok(0);
    }
    let mut oldest = i64::MAX;
    for segment in sealed_from_offset(log.segments(), first_dirty) {
        if let Some(first) = segment.first_batch_timestamp()?.filter(|timestamp| *timestamp > 0) {
            oldest = oldest.min(first);
        }
    }
    Ok(now_ms.saturating_sub(lag_ms).saturating_sub(oldest).max(0))
}

/// The sealed segments from the one that holds `offset` on.
fn sealed_from_offset(segments: &Segments, offset: Offset) -> &[Segment] {
    segments.sealed_from(segments.place_of(offset))
}
