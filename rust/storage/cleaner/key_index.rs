//! Reads the dirty part of a log into an [`OffsetMap`]: of each key the last offset.
//!
//! Records of aborted transactions do not count, nor do records without a key. Every batch is checked; a corrupt one
//! ends the cleaning before anything is changed.

use super::cleaning::{Buffers, CleaningStats, Interrupted, Pace};
use super::offset_map::{MAX_SPAN, OffsetMap};
use super::plan::Plan;
use super::source::{INFLATE_LIMIT, for_each_batch};
use super::transactions::Transactions;
use base::error::Error;
use base::place::Offset;
use record::{Batch, BatchError, ControlRecord, LOOK_AHEAD};

/// Fills the map from the first dirty offset on, as far as it has room. [`OffsetMap::latest`] then says how far.
pub(super) fn index_keys(
    plan: &Plan,
    map: &mut OffsetMap,
    buffers: &mut Buffers,
    stats: &mut CleaningStats,
    pace: &dyn Pace,
) -> Result<(), Interrupted> {
    let (first, end) = (plan.cleanable.first_dirty, plan.cleanable.first_uncleanable);
    map.begin(first, (end - first).clamp(0, MAX_SPAN))
        .map_err(|error| Error::io("getrandom for", &plan.dir, error))?;
    let mut transactions = Transactions::default();
    transactions.add(&plan.aborted);
    let dirty = plan.sources.iter().filter(|source| source.next_base > first);
    for source in dirty {
        let (mut is_full, Buffers { read, inflated, .. }) = (false, &mut *buffers);
        for_each_batch(source, read, pace, |batch| {
            is_full = index_batch(batch, first, &mut transactions, map, inflated)?;
            stats.indexed_bytes += batch.bytes().len() as u64;
            Ok(!is_full)
        })?;
        if is_full {
            return Ok(());
        }
        map.note_latest((source.next_base - 1).min(first + (MAX_SPAN - 1)));
    }
    Ok(())
}

/// True when the map is full.
fn index_batch(
    batch: &Batch<'_>,
    first: Offset,
    transactions: &mut Transactions,
    map: &mut OffsetMap,
    inflated: &mut Vec<u8>,
) -> Result<bool, BatchError> {
    let header = batch.header();
    if header.is_control() {
        transactions.is_marker_unneeded(header, ControlRecord::of_batch(batch)?);
    } else if !transactions.is_aborted(header) && header.last_offset() >= first {
        let mut records = batch.records(inflated, INFLATE_LIMIT)?;
        let mut is_over = false;
        while !is_over {
            let (mut keys, mut seen) = (Vec::with_capacity(LOOK_AHEAD), 0);
            for record in records.by_ref().take(LOOK_AHEAD) {
                let record = record?;
                let key = record.key.filter(|_| record.offset >= first);
                keys.extend(key.map(|key| (map.hash(key), record.offset)));
                seen += 1;
            }
            map.touch(keys.iter().map(|(hash, _)| *hash));
            if keys.iter().any(|(hash, offset)| map.put(*hash, *offset).is_err()) {
                return Ok(true);
            }
            is_over = seen < LOOK_AHEAD;
        }
    }
    if header.last_offset() >= first {
        map.note_latest(header.last_offset());
    }
    Ok(false)
}
