//! Cuts the ranges of a read into shares of about the same size, neighbours together, in order. A task reads one share.
//!
//! Shares are put together from pieces, so that their sizes differ by no more than a piece. Batches are never cut, and
//! no record is read.

use std::collections::BTreeMap;

use super::{ReadOptions, Result};
use crate::scan::{PartitionPlan, Split};

/// A share smaller than this is not cut for more cores: starting a task costs Spark more than reading the share.
const SMALL_SHARE_BYTES: u64 = 8 << 20;
/// Pieces of a share.
const PIECES_PER_SHARE: u64 = 8;

/// What one task reads, in order.
#[derive(Debug, Clone)]
pub struct Share {
    /// Never empty.
    pub splits: Vec<Split>,
}

impl Share {
    /// Bytes that the task reads at most.
    pub fn size_bytes(&self) -> u64 {
        self.splits.iter().map(Split::size_bytes).sum()
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
pub fn cut(plans: &[PartitionPlan], count: usize) -> Result<Vec<Share>> {
    let total: u64 = plans.iter().map(PartitionPlan::size_bytes).sum();
    let count = count.max(1) as u64;
    let piece = if count > 1 {
        (total / count.saturating_mul(PIECES_PER_SHARE)).max(1)
    } else {
        i64::MAX as u64
    };
    let mut pieces = Vec::new();
    for plan in plans {
        pieces.extend(plan.splits(piece)?);
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
    Ok(shares.into_values().map(|splits| Share { splits }).collect())
}

#[cfg(test)]
mod tests;
