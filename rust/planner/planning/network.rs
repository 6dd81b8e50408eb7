//! The range of a partition whose files are not seen, from what its leader tells.

use std::collections::BTreeMap;

use super::super::Result;
use super::super::brokers::{LivePartition, OffsetLookup};
use super::{PartitionBounds, PlannedPartition, ReadMethod};
use base::place::Offset;
use scan::{AllowedLoss, Bound, ClosedRange, Isolation, Limits, closed_range, refuse_reversed};
use storage::TopicPartition;

/// The partitions of one topic that are read over the network.
pub(super) struct OverNetwork<'a> {
    pub(super) ask: &'a dyn OffsetLookup,
    pub(super) topic: &'a str,
    pub(super) live: &'a BTreeMap<i32, LivePartition>,
    pub(super) isolation: Isolation,
    pub(super) fail_on_data_loss: bool,
}

impl OverNetwork<'_> {
    /// Plans these partitions between bounds; `start` and `end` have each of them, or -1 for every one.
    pub(super) fn plan(
        &self,
        partitions: &[i32],
        start: &PartitionBounds,
        end: &PartitionBounds,
    ) -> Result<Vec<PlannedPartition>> {
        let begins = self.first_at(partitions, start)?;
        let ends = self.first_at(partitions, end)?;
        let mut planned = Vec::new();
        for partition in partitions {
            let Some(live) = self.live.get(partition) else { continue };
            let topic_partition = TopicPartition {
                topic: self.topic.into(),
                partition: *partition,
            };
            let limits = self.limits(live);
            let (from, to) = (bound_of(start, *partition), bound_of(end, *partition));
            let (from, to) = (from.unwrap_or(Bound::Earliest), to.unwrap_or(Bound::Latest));
            refuse_reversed(&topic_partition, from, to)?;
            let resolve = |bound, times: &BTreeMap<i32, Offset>| match bound {
                Bound::Earliest => limits.log_start_offset,
                Bound::Latest => limits.end,
                Bound::Offset(offset) => offset,
                Bound::Timestamp(_) => times.get(partition).copied().unwrap_or(limits.end),
            };
            let resolved = resolve(from, &begins)..resolve(to, &ends);
            let allowed = AllowedLoss {
                of_requested: !self.fail_on_data_loss,
                of_due: true, // a leader has all that is due
            };
            let range = closed_range(&topic_partition, from, to, resolved, limits, allowed)?;
            planned.push(planned_partition(topic_partition, range, limits, live));
        }
        Ok(planned)
    }

    /// How far a partition may be read.
    pub(super) fn limits(&self, live: &LivePartition) -> Limits {
        let end = match self.isolation {
            Isolation::ReadUncommitted => live.watermarks.high_watermark,
            Isolation::ReadCommitted => live.watermarks.last_stable_offset,
        };
        Limits {
            log_start_offset: live.watermarks.log_start_offset,
            end,
            due: end,
        }
    }

    /// The first offsets of those bounds that are times.
    fn first_at(&self, partitions: &[i32], bounds: &PartitionBounds) -> Result<BTreeMap<i32, Offset>> {
        let time_of = |partition: &i32| match bound_of(bounds, *partition) {
            Some(Bound::Timestamp(ms)) => Some((*partition, ms)),
            _ => None,
        };
        let times: BTreeMap<i32, i64> = partitions.iter().filter_map(time_of).collect();
        if times.is_empty() {
            return Ok(BTreeMap::new());
        }
        self.ask.first_at(self.topic, &times)
    }
}

fn bound_of(bounds: &PartitionBounds, partition: i32) -> Option<Bound> {
    bounds.get(&partition).or_else(|| bounds.get(&super::EVERY)).copied()
}

fn planned_partition(
    partition: TopicPartition,
    range: ClosedRange,
    limits: Limits,
    live: &LivePartition,
) -> PlannedPartition {
    PlannedPartition {
        partition,
        start_offset: range.start,
        end_offset: range.end,
        log_start_offset: limits.log_start_offset,
        end_limit: limits.end,
        lost: range.lost,
        way: ReadMethod::Network { size_bytes: 0 },
        live: Some(live.clone()),
        remote: None,
    }
}
