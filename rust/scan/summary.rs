//! Counts, extents and times of a plan, from batch headers alone where the headers suffice.
//!
//! A header tells how many records a batch has and its greatest timestamp, but not its least. So records are read only
//! of batches that an end of the range cuts, that a timestamp limit may cut, and (for the exact extent) of compacted
//! batches at both ends of the range, and of old wrapper messages, whose headers tell neither the number of records nor
//! the first offset. Control batches and aborted batches do not count.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::Result;
use super::chain::{ChainEnd, at_offset};
use super::plan::PartitionPlan;
use super::segments::OpenSegment;
use base::place::{Offset, Position};
use record::{BatchHeader, TimestampType};

/// The summary of a range; all fields but `records` are `None` when the range holds no records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// How many records it holds.
    pub records: u64,
    /// Least and greatest offset.
    pub offsets: Option<(Offset, Offset)>,
    /// Least first timestamp of a batch and greatest timestamp, in ms. Where records were read, of the records.
    pub timestamps: Option<(i64, i64)>,
    /// Some batch's header did not tell its least timestamp, so a record may be earlier than `timestamps` begin.
    pub may_begin_earlier: bool,
}

/// Only records with `min_ms <= timestamp < end_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeLimits {
    /// Inclusive.
    pub min_ms: Option<i64>,
    /// Exclusive.
    pub end_ms: Option<i64>,
}

impl TimeLimits {
    fn wants(&self, timestamp: i64) -> bool {
        self.min_ms.is_none_or(|min| timestamp >= min) && self.end_ms.is_none_or(|end| timestamp < end)
    }
}

/// How a batch counts.
enum Share {
    None,
    Whole,
    Some,
}

/// A batch whose extent was taken from its header, though compaction may have taken its first or last record.
type Doubt = (usize, Position, BatchHeader);

impl PartitionPlan {
    /// Walks the headers of the range once.
    pub fn summary(&self, limits: TimeLimits) -> Result<Summary> {
        let aborted = self.aborted_by_producer();
        let mut summary = Summary::default();
        let (mut first, mut last): (Option<Doubt>, Option<Doubt>) = (None, None);
        for (at, planned) in self.segments.iter().enumerate() {
            let segment = self.open(planned)?;
            let mut chain = segment.chain(planned.start, planned.end, self.limit);
            while let Some((position, header)) = chain.next_header()? {
                let is_aborted = header.is_transactional()
                    && aborted.get(&header.producer_id).is_some_and(|ranges| {
                        let holds = |range: &(Offset, Offset)| (range.0..=range.1).contains(&header.base_offset);
                        ranges.iter().any(holds)
                    });
                if header.is_control() || header.record_count <= 0 || is_aborted {
                    continue;
                }
                match self.share(&header, limits) {
                    Share::None => {}
                    Share::Whole => {
                        if summary.records == 0 {
                            first = is_doubtful(&header).then_some((at, position, header));
                        }
                        last = is_doubtful(&header).then_some((at, position, header));
                        summary.add_batch(&header);
                    }
                    Share::Some => self.add_some(&segment, position, &header, limits, &mut summary, &mut last)?,
                }
            }
            let is_of_next = chain.end() == Some(ChainEnd::Neighbour);
            let is_damaged = !is_of_next || chain.is_foreign_end() && planned.segment.is_followed(&*self.fs);
            if let Some(damage) = chain.take_damage().filter(|_| is_damaged) {
                return Err(damage.error(&self.partition));
            }
        }
        self.settle(&mut summary, first, last)?;
        Ok(summary)
    }

    fn aborted_by_producer(&self) -> HashMap<i64, Vec<(Offset, Offset)>> {
        let mut by_producer: HashMap<i64, Vec<(Offset, Offset)>> = HashMap::new();
        for range in self.aborted.iter().flatten() {
            let ranges = by_producer.entry(range.producer_id).or_default();
            ranges.push((range.first_offset, range.last_offset));
        }
        by_producer
    }

    fn share(&self, header: &BatchHeader, limits: TimeLimits) -> Share {
        let is_wrapper = header.is_wrapper();
        let is_outside =
            header.last_offset() < self.start_offset || header.base_offset >= self.end_offset && !is_wrapper;
        if is_outside || limits.min_ms.is_some_and(|min| header.max_timestamp < min) {
            return Share::None;
        }
        if is_wrapper {
            return Share::Some;
        }
        let is_inside = header.base_offset >= self.start_offset && header.last_offset() < self.end_offset;
        if header.timestamp_type() == TimestampType::LogAppendTime {
            return match (is_inside, limits.wants(header.max_timestamp)) {
                (_, false) => Share::None,
                (true, true) => Share::Whole,
                (false, true) => Share::Some,
            };
        }
        let is_wanted = limits.min_ms.is_none() && limits.wants(header.max_timestamp);
        if is_inside && is_wanted && !header.has_delete_horizon() {
            Share::Whole
        } else {
            Share::Some
        }
    }

    fn add_some(
        &self,
        segment: &OpenSegment<'_>,
        position: Position,
        header: &BatchHeader,
        limits: TimeLimits,
        so_far: &mut Summary,
        last: &mut Option<Doubt>,
    ) -> Result<()> {
        let range = self.start_offset..self.end_offset;
        let read = segment.each_record(position, header, |offset, timestamp| {
            if range.contains(&offset) && limits.wants(timestamp) {
                so_far.add(1, offset, offset, timestamp, timestamp);
                *last = None;
            }
            ControlFlow::Continue(())
        });
        read.map_err(|error| at_offset(error, header.base_offset, &self.partition))
    }

    /// Reads the batches at both ends whose headers may give too wide an extent.
    fn settle(&self, summary: &mut Summary, first: Option<Doubt>, last: Option<Doubt>) -> Result<()> {
        let Some((mut lowest, mut highest)) = summary.offsets else {
            return Ok(());
        };
        if let Some((at, position, header)) = first {
            let segment = self.open(&self.segments[at])?;
            segment.each_record(position, &header, |offset, _| {
                lowest = offset;
                ControlFlow::Break(())
            })?;
        }
        if let Some((at, position, header)) = last {
            let segment = self.open(&self.segments[at])?;
            segment.each_record(position, &header, |offset, _| {
                highest = offset;
                ControlFlow::Continue(())
            })?;
        }
        summary.offsets = Some((lowest, highest));
        Ok(())
    }
}

impl Summary {
    fn add_batch(&mut self, header: &BatchHeader) {
        let least = match header.timestamp_type() {
            TimestampType::CreateTime if header.record_count > 1 => {
                self.may_begin_earlier = true;
                header.base_timestamp
            }
            TimestampType::CreateTime | TimestampType::LogAppendTime => header.max_timestamp,
        };
        let (records, greatest) = (header.record_count as u64, header.max_timestamp);
        self.add(records, header.base_offset, header.last_offset(), least, greatest);
    }

    fn add(&mut self, records: u64, first: Offset, last: Offset, least_timestamp: i64, greatest_timestamp: i64) {
        self.records += records;
        widen(&mut self.offsets, first, last);
        widen(&mut self.timestamps, least_timestamp, greatest_timestamp);
    }
}

fn widen<T: Ord + Copy>(range: &mut Option<(T, T)>, least: T, greatest: T) {
    let (from, to) = range.unwrap_or((least, greatest));
    *range = Some((from.min(least), to.max(greatest)));
}

/// Whether a batch has fewer records than offsets, so that its first or last record may be gone.
fn is_doubtful(header: &BatchHeader) -> bool {
    i64::from(header.record_count) != i64::from(header.last_offset_delta) + 1
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
