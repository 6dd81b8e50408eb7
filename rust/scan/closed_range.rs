//! What the bounds of a partition mean, whether its files or its brokers have told how far it may be read.
//!
//! Loss is what Spark's `failOnDataLoss` means by it: a start below the log start, an end beyond what can be read.

use super::bounds::{Bound, Limits};
use super::{Result, ScanError};
use base::place::Offset;
use storage::TopicPartition;

/// The range of a partition, in offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedRange {
    /// First offset to read.
    pub start: Offset,
    /// One past the last.
    pub end: Offset,
    /// Requested ranges that are lost; only when loss is allowed.
    pub lost: Vec<(Offset, Offset)>,
}

/// What loss is allowed.
#[derive(Debug, Clone, Copy)]
pub struct AllowedLoss {
    /// Offsets that were asked for and are gone: [`ClosedRange::lost`] has them.
    pub of_requested: bool,
    /// Offsets that the log should have and has not.
    pub of_due: bool,
}

/// The range between two bounds, `resolved` to offsets. In letters:
///
/// - (a) a start below the log start: the offsets between are lost;
/// - (b) an end beyond the limit: the offsets between are lost;
/// - (c) a start beyond the limit: a mistake, or nothing to read;
/// - (d) a time after all records: nothing to read;
/// - (e) the limit itself, when the log ends before it is due: the offsets between are lost.
pub fn closed_range(
    partition: &TopicPartition,
    (from, to): (Bound, Bound),
    resolved: (Offset, Offset),
    limits: Limits,
    allowed: AllowedLoss,
) -> Result<ClosedRange> {
    let (mut start, mut end) = resolved;
    let mut lost = Vec::new();
    let is_offset = |bound| matches!(bound, Bound::Offset(_));
    if matches!(to, Bound::Latest | Bound::Timestamp(_)) && end == limits.end {
        end = limits.due; // (e)
    }
    if is_offset(from) && start > limits.due {
        if !allowed.of_requested {
            return Err(ScanError::Invalid(format!(
                "start: {from} of {partition} is above {}, where what can be read ends; give a lower one",
                limits.due
            )));
        }
        start = limits.due; // (c)
    }
    if is_offset(from) && start < limits.log_start_offset && start < end {
        lost.push((start, end.min(limits.log_start_offset))); // (a)
    }
    start = start.max(limits.log_start_offset);
    let (missing_from, missing_to) = (start.max(limits.end), end.min(limits.due));
    if missing_from < missing_to {
        lost.push((missing_from, missing_to)); // (e)
    }
    if is_offset(to) && end > limits.due {
        lost.push((start.max(limits.due), end)); // (b)
    }
    end = end.min(limits.end).max(start); // (d)
    let is_of_due = |(from, to): (Offset, Offset)| from >= limits.end && to <= limits.due;
    let is_allowed = |range| {
        if is_of_due(range) {
            allowed.of_due
        } else {
            allowed.of_requested
        }
    };
    let Some((from, to)) = lost.iter().copied().find(|range| !is_allowed(*range)) else {
        return Ok(ClosedRange { start, end, lost });
    };
    let reason = if to <= limits.log_start_offset {
        format!("the log starts at {} by now", limits.log_start_offset)
    } else if is_of_due((from, to)) {
        format!(
            "the files end at {}, and records were committed up to {}",
            limits.end, limits.due
        )
    } else {
        format!("what can be read ends at {}", limits.end)
    };
    Err(ScanError::Lost {
        topic: partition.topic.to_string(),
        partition: partition.partition,
        from,
        to,
        reason,
    })
}

/// Refuses two offsets or two times in reversed order.
pub fn refuse_reversed(partition: &TopicPartition, start: Bound, end: Bound) -> Result<()> {
    let is_reversed = match (start, end) {
        (Bound::Offset(start), Bound::Offset(end)) => start > end,
        (Bound::Timestamp(start), Bound::Timestamp(end)) => start > end,
        (Bound::Latest, Bound::Earliest) => true,
        _ => false,
    };
    if is_reversed {
        return Err(ScanError::Invalid(format!(
            "start: {start} is above the end, {end}, of {partition}; give them the other way round"
        )));
    }
    Ok(())
}
