//! Cuts the ranges of a read into shares of about the same size, neighbours together, in order. A task reads one share.
//!
//! Shares are put together from pieces, so that their sizes differ by no more than a piece. Batches of files are never
//! cut, and no record is read. A range without files is cut by offsets, as if every record had the same size.

use std::collections::BTreeMap;

use super::{PlannedPartition, ReadMethod, ReadOptions, Result};
use base::place::LeaderEpoch;
use scan::{Isolation, Remote, Split};

/// A share smaller than this is not cut for more cores: starting a task costs Spark more than reading the share.
const SMALL_SHARE_BYTES: u64 = 8 << 20;
/// Pieces of a share.
const PIECES_PER_SHARE: u64 = 8;

/// What one task reads, in order.
#[derive(Debug, Clone)]
pub struct TaskShare {
    /// Never empty.
    pub splits: Vec<Split>,
}

impl TaskShare {
    /// Bytes that the task reads at most.
    pub fn size_bytes(&self) -> u64 {
        self.splits.iter().map(Split::size_bytes).sum()
    }

    /// Hosts that have the partition of most of its bytes, the leader's first; none without brokers.
    pub fn hosts(&self, plans: &[PlannedPartition]) -> Vec<String> {
        let largest = self.splits.iter().max_by_key(|split| split.size_bytes());
        let plan = largest.and_then(|split| {
            let is_its = |plan: &&PlannedPartition| {
                plan.partition.partition == split.partition && plan.partition.topic == split.topic
            };
            plans.iter().find(is_its)
        });
        let live = plan.and_then(|plan| plan.live.as_ref());
        live.map_or_else(Vec::new, |live| live.hosts.clone())
    }
}

/// How many shares to cut: few and large, a multiple of the cores if there are more; at least `minPartitions`.
pub fn share_count(options: &ReadOptions, total_bytes: u64, cores: usize) -> usize {
    let cores = cores.max(1) as u64;
    let by_size = total_bytes.div_ceil(options.split_bytes.max(1));
    let by_core = total_bytes.div_ceil(SMALL_SHARE_BYTES).min(cores);
    let count = by_size.max(by_core).max(1);
    let count = if count > cores {
        count.div_ceil(cores).saturating_mul(cores)
    } else {
        count
    };
    usize::try_from(count)
        .unwrap_or(usize::MAX)
        .max(options.min_shares.unwrap_or(1))
}

/// At most `count` shares, none empty.
pub fn cut(plans: &[PlannedPartition], isolation: Isolation, count: usize) -> Result<Vec<TaskShare>> {
    let total: u64 = plans.iter().map(PlannedPartition::size_bytes).sum();
    let count = count.max(1) as u64;
    let piece = if count > 1 {
        (total / count.saturating_mul(PIECES_PER_SHARE)).max(1)
    } else {
        i64::MAX as u64
    };
    let mut pieces = Vec::new();
    for plan in plans {
        match &plan.way {
            ReadMethod::Files(files) => {
                let splits = files.splits(piece)?.into_iter();
                pieces.extend(splits.map(|split| Split {
                    remote: plan.remote.as_ref().map(|remote| Remote {
                        size_bytes: split.size_bytes(),
                        ..remote.clone()
                    }),
                    ..split
                }));
            }
            ReadMethod::Network { .. } => pieces.extend(by_offsets(plan, isolation, piece)),
        }
    }
    let total = pieces.iter().map(Split::size_bytes).sum::<u64>().max(1);
    let mut shares: BTreeMap<u64, Vec<Split>> = BTreeMap::new();
    let mut before = 0;
    for split in pieces {
        let size = split.size_bytes();
        let middle = u128::from(before + size / 2);
        let at = (middle * u128::from(count) / u128::from(total)).min(u128::from(count - 1));
        shares.entry(at as u64).or_default().push(split);
        before += size;
    }
    Ok(shares.into_values().map(|splits| TaskShare { splits }).collect())
}

/// A range without files in pieces of about `piece` bytes.
fn by_offsets(plan: &PlannedPartition, isolation: Isolation, piece: u64) -> Vec<Split> {
    let Some(remote) = &plan.remote else { return Vec::new() };
    let (start, end) = (plan.start_offset, plan.end_offset);
    let offsets = u64::try_from(end - start).unwrap_or_default();
    let count = remote.size_bytes.div_ceil(piece.max(1)).clamp(1, offsets.max(1));
    let at = |number: u64| start + (u128::from(offsets) * u128::from(number) / u128::from(count)) as i64;
    let split_of = |number: u64| Split {
        topic: plan.partition.topic.clone(),
        partition: plan.partition.partition,
        start_offset: at(number),
        end_offset: at(number + 1),
        slices: Vec::new(),
        leader_epoch: LeaderEpoch::NONE,
        remote: Some(Remote {
            size_bytes: remote.size_bytes / count,
            ..remote.clone()
        }),
        aborted: (isolation == Isolation::ReadCommitted).then(Vec::new),
    };
    (0..count).map(split_of).collect()
}

#[cfg(test)]
#[path = "shares_tests.rs"]
mod tests;
