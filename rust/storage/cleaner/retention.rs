//! What a cleaning keeps of each batch.
//!
//! | batch | goes | stays |
//! |---|---|---|
//! | (a) of an aborted transaction | all its records | |
//! | (b) marker of a transaction without records | from its delete horizon on | before; without one it gets one |
//! | (c) any other marker | | whole |
//! | (d) record behind the map's last offset | | yes |
//! | (e) record without a key | yes | |
//! | (f) record whose key has a later offset in the map | yes | |
//! | (g) last record of its key, without value | from its batch's delete horizon on | before; the batch gets one |
//! | (h) last record of its key, with a value | | yes |
//! | (i) as (g), of magic 0 or 1 | when its segment and those behind it were clean for `delete.retention.ms` | before |
//!
//! A batch of which no record stays is left out, unless it is the last of a producer (its sequence and epoch are needed
//! to recognise the next batch), or ends at the high watermark (the log's end must be readable even when the active
//! segment is empty): then it stays without records.

use std::collections::HashMap;
use std::iter::Take;

use super::offset_map::{KeyHash, OffsetMap};
use super::planted::ignores_delete_horizon;
use super::transactions::Transactions;
use crate::producer_state::ProducerState;
use base::place::Offset;
use record::{Batch, BatchError, BatchHeader, ControlRecord, Record, RecordFilter, RecordIter, Selector, empty_batch};

use super::source::INFLATE_LIMIT;

/// The last record of each active producer: the offset of its last data batch, or, without one in its epoch, the epoch.
pub struct LastRecords(HashMap<i64, (Option<Offset>, i16)>);

impl LastRecords {
    /// Of the producers that are known now.
    pub fn of(producers: &ProducerState) -> Self {
        let last = producers.active_producers().map(|(producer_id, entry)| {
            let offset = Some(entry.last_data_offset()).filter(|offset| offset.is_some());
            (producer_id, (offset, entry.producer_epoch))
        });
        Self(last.collect())
    }

    fn is_last(&self, header: &BatchHeader) -> bool {
        match self.0.get(&header.producer_id) {
            Some((Some(offset), _)) => header.last_offset() == *offset,
            Some((None, epoch)) => header.is_control() && header.producer_epoch == *epoch,
            None => false,
        }
    }
}

/// The rules of one cleaning.
pub(super) struct Rules<'a> {
    pub(super) map: &'a OffsetMap,
    pub(super) last_records: &'a LastRecords,
    /// Of the log when the cleaning began.
    pub(super) high_watermark: Offset,
    pub(super) now_ms: i64,
    pub(super) delete_retention_ms: i64,
    /// Whether the tombstones of magic 0 and 1 in the present segment stay: it was changed too lately.
    pub(super) keeps_old_tombstones: bool,
}

/// What stays of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Nothing.
    Nothing,
    /// The batch as it is.
    Whole,
    /// The batch that was appended to `out`, with this header.
    Changed(BatchHeader),
}

/// Records that were looked at.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) read: u64,
    pub(super) kept: u64,
    pub(super) without_key: u64,
}

impl Rules<'_> {
    /// Decides about a batch. What stays of a batch that changes is appended to `out`.
    pub(super) fn keep(
        &self,
        batch: &Batch<'_>,
        transactions: &mut Transactions,
        filter: &mut RecordFilter,
        out: &mut Vec<u8>,
        counts: &mut Counts,
    ) -> Result<Kept, BatchError> {
        let header = batch.header();
        counts.read += u64::try_from(header.record_count).unwrap_or(0);
        let is_unneeded = if header.is_control() {
            transactions.is_marker_unneeded(header, ControlRecord::of_batch(batch)?)
        } else {
            transactions.is_aborted(header)
        };
        let horizon_ms = header.delete_horizon_ms();
        let is_past_horizon = horizon_ms.is_some_and(|horizon_ms| horizon_ms <= self.now_ms);
        let has_no_record = is_unneeded && (!header.is_control() || is_past_horizon); // (a), (b)
        if has_no_record {
            return Ok(self.without_records(header, out));
        }
        let asked = Asked {
            rules: self,
            header,
            counts,
            hashes: Vec::new(),
            at: 0,
        };
        let selection = filter.select(batch, INFLATE_LIMIT, asked)?;
        if selection.selected == 0 {
            return Ok(self.without_records(header, out));
        }
        counts.kept += u64::try_from(selection.selected).unwrap_or(0);
        let needs_horizon = !header.is_legacy() && (selection.has_tombstone || is_unneeded); // (g), (b)
        let new_horizon_ms =
            (needs_horizon && horizon_ms.is_none()).then(|| self.now_ms.saturating_add(self.delete_retention_ms));
        if selection.is_whole && new_horizon_ms.is_none() {
            return Ok(Kept::Whole);
        }
        filter.write(batch, new_horizon_ms, out).map(Kept::Changed)
    }

    fn without_records(&self, header: &BatchHeader, out: &mut Vec<u8>) -> Kept {
        let is_last = header.is_idempotent() && self.last_records.is_last(header);
        if !is_last && header.next_offset() != self.high_watermark {
            return Kept::Nothing;
        }
        let (header, bytes) = empty_batch(header);
        out.extend_from_slice(&bytes);
        Kept::Changed(header)
    }

    /// Whether a record stays whose key has this hash.
    fn is_kept(&self, header: &BatchHeader, record: &Record<'_>, hash: Option<KeyHash>, counts: &mut Counts) -> bool {
        if record.offset > self.map.latest() {
            return true; // (d)
        }
        let Some(hash) = hash else {
            counts.without_key += 1;
            return false; // (e)
        };
        if self.map.get(hash).is_some_and(|last| record.offset < last) {
            return false; // (f)
        }
        if record.value.is_some() {
            return true; // (h)
        }
        if header.is_legacy() {
            return self.keeps_old_tombstones; // (i)
        }
        let horizon_ms = header.delete_horizon_ms();
        !ignores_delete_horizon() && horizon_ms.is_none_or(|horizon_ms| self.now_ms < horizon_ms) // (g)
    }
}

/// The rules asked about one batch's records: their keys are hashed, and the map's slots read, some records ahead.
struct Asked<'a, 'm> {
    rules: &'a Rules<'m>,
    header: &'a BatchHeader,
    counts: &'a mut Counts,
    /// Of the records that were looked at, in order.
    hashes: Vec<Option<KeyHash>>,
    /// The next record's place in them.
    at: usize,
}

impl Selector for Asked<'_, '_> {
    fn look_ahead(&mut self, records: Take<RecordIter<'_>>) {
        if self.header.is_control() {
            return;
        }
        let map = self.rules.map;
        self.hashes.clear();
        self.at = 0;
        let hash = |record: Record<'_>| record.key.map(|key| map.hash(key));
        self.hashes.extend(records.map_while(Result::ok).map(hash));
        map.touch(self.hashes.iter().flatten().copied());
    }

    fn is_selected(&mut self, record: &Record<'_>) -> bool {
        if self.header.is_control() {
            return true; // (b), (c)
        }
        let hash = self.hashes.get(self.at).copied().flatten();
        self.at += 1;
        self.rules.is_kept(self.header, record, hash, self.counts)
    }
}
