//! Logs of keyed records, and cleanings of them from begin to end, for the tests of this folder.

use std::collections::BTreeMap;

use super::Cleanable;
use super::cleaning::{Buffers, Cleaning, CleaningStats, Inputs, Interrupted, Pace};
use super::offset_map::OffsetMap;
use super::plan::Plan;
use crate::Log;
use crate::testing::{Bench, marker};
use base::place::{LeaderEpoch, Offset};
use record::{Batch, BatchBuilder, Batches, Codec, Origin};

/// Goes on as fast as it can.
pub struct AtOnce;

impl Pace for AtOnce {
    fn pass(&self, _bytes: u64) -> Result<(), Interrupted> {
        Ok(())
    }
}

/// A record as a reader sees it: key and value.
pub type Pair = (Option<String>, Option<String>);

/// Appends one batch of these records at the bench's time.
pub fn append(bench: &Bench, log: &mut Log, codec: Codec, pairs: &[(&str, Option<&str>)]) -> Offset {
    append_of(bench, log, BatchBuilder::new(codec), pairs)
}

/// As [`append`], with a builder that has a producer.
pub fn append_of(bench: &Bench, log: &mut Log, mut builder: BatchBuilder, pairs: &[(&str, Option<&str>)]) -> Offset {
    for (key, value) in pairs {
        builder.append(bench.now_ms(), Some(key.as_bytes()), value.map(str::as_bytes), &[]);
    }
    let mut bytes = builder.build(Offset(0), LeaderEpoch::NONE);
    let appended = log.append_as_leader(&mut bytes, LeaderEpoch(0), Origin::Client, bench.now_ms());
    appended.unwrap().first_offset
}

/// A batch of a transactional producer of epoch 0.
pub fn in_transaction(producer_id: i64, sequence: i32) -> BatchBuilder {
    BatchBuilder::new(Codec::None)
        .producer(producer_id, 0, sequence)
        .transactional(true)
}

/// Ends the producer's transaction.
pub fn end(bench: &Bench, log: &mut Log, producer_id: i64, commit: bool) -> Offset {
    marker(log, producer_id, commit, bench.now_ms()).first_offset
}

/// Cleans with a map of so many bytes; every record counts as replicated.
pub fn clean_within(bench: &Bench, log: &mut Log, map_bytes: usize) -> Result<CleaningStats, Interrupted> {
    let (now_ms, end) = (bench.now_ms(), log.log_end_offset());
    let mut map = OffsetMap::new(map_bytes, 0.9);
    let mut buffers = Buffers::new(4096);
    let cleanable = Cleanable::of(log, now_ms, end)?;
    let mut cleaning = Cleaning::new(Plan::of(log, cleanable, now_ms)?);
    cleaning.index_keys(&mut map, &mut buffers, &AtOnce)?;
    if log.recovery_point() < cleaning.reach() {
        log.flush()?; // as the broker does
    }
    while let Some(group) = cleaning.next_group() {
        let inputs = Inputs::of(log, group, cleaning.truncations())?;
        let cleaned = cleaning.clean_next(&inputs, &map, &mut buffers, &AtOnce)?;
        cleaned.unwrap().swap_into(log, now_ms)?.sync()?.run()?;
    }
    cleaning.note_cleaned(log);
    Ok(*cleaning.stats())
}

/// Cleans the whole dirty part.
pub fn clean(bench: &Bench, log: &mut Log) -> CleaningStats {
    clean_within(bench, log, 1 << 20).unwrap()
}

/// Seals the active segment, so that it can be cleaned.
pub fn roll(bench: &Bench, log: &mut Log) {
    log.roll(bench.now_ms()).unwrap();
}

/// The bytes of every batch, in order.
pub fn batches(log: &Log) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let (mut offset, end) = (log.log_start_offset(), log.log_end_offset());
    while offset < end {
        let slice = log.plan_read(offset, end).unwrap().resolve(1 << 20, true).unwrap();
        let mut bytes = vec![0; slice.len];
        slice.file.read_exact_at(&mut bytes, slice.position.get()).unwrap();
        let before = offset;
        for batch in Batches::new(&bytes) {
            let batch = batch.unwrap();
            batch.verify_crc().unwrap();
            offset = batch.header().next_offset();
            found.push(batch.bytes().to_vec());
        }
        if offset == before {
            break;
        }
    }
    found
}

/// Every data record by its offset, as a reader of uncommitted records sees it.
pub fn records(log: &Log) -> BTreeMap<i64, Pair> {
    let text = |bytes: Option<&[u8]>| bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let mut found = BTreeMap::new();
    let mut scratch = Vec::new();
    for bytes in batches(log) {
        let (batch, _) = Batch::split_first(&bytes).unwrap().unwrap();
        if batch.header().is_control() {
            continue;
        }
        for record in batch.records(&mut scratch, 1 << 24).unwrap() {
            let record = record.unwrap();
            found.insert(record.offset.get(), (text(record.key), text(record.value)));
        }
    }
    found
}

/// Offsets of the control batches that have their record.
pub fn markers(log: &Log) -> Vec<i64> {
    let is_marker = |bytes: &Vec<u8>| {
        let (batch, _) = Batch::split_first(bytes).unwrap().unwrap();
        (batch.header().is_control() && batch.header().record_count == 1).then(|| batch.header().base_offset.get())
    };
    batches(log).iter().filter_map(is_marker).collect()
}
