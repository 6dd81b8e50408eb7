//! Which transactions are open and which were aborted, read from the files of a broker that may be running.
//!
//! The last stable offset is in no file: the newest producer snapshot has the transactions that were open at its
//! offset, and the batches from there to the high watermark have the changes since. Aborted transactions are in the
//! transaction index of the segment that holds their marker; markers behind the snapshot are read from the log itself,
//! for a broker may write its index later than its log.

use std::path::Path;

use super::bounds::{Limits, end_position};
use super::chain::{ChainEnd, at_offset};
use super::segments::{Listing, OpenSegment};
use super::{AbortedRange, Result, ScanError};
use ::io::FileSystem;
use base::error::Error;
use base::place::{Offset, Position};
use index::AbortedTxn;
use record::{Batch, BatchError, BatchHeader, ControlRecord, ControlType};
use storage::format::{SNAPSHOT_SUFFIX, file_path};
use storage::{ProducerState, TopicPartition};

/// Stands for a marker that cannot be read: whether it commits is not known, so its records are not given.
const UNREADABLE: ControlRecord = ControlRecord {
    control_type: ControlType::Abort,
    coordinator_epoch: -1,
};

/// The transactions below a high watermark.
pub(super) struct Transactions {
    /// First offset of the earliest open transaction, or the high watermark.
    pub last_stable_offset: Offset,
    /// Transactions that were aborted by a marker in the log behind the snapshot.
    aborted: Vec<AbortedRange>,
    /// Transactions whose marker cannot be read; they are among the aborted ones, too.
    undecided: Vec<AbortedRange>,
    /// Batches were passed over, which may have held markers.
    is_damaged: bool,
}

impl Transactions {
    /// Reads the snapshot and the log from there to `end`, the high watermark. Damage is an error unless it is ignored.
    pub fn read(
        fs: &dyn FileSystem,
        dir: &Path,
        listing: &Listing,
        log_start_offset: Offset,
        end: Offset,
        (partition, ignores_damage): (&TopicPartition, bool),
    ) -> Result<Self> {
        let mut state = newest_snapshot(fs, dir, listing, end)?.unwrap_or_default();
        let from = state.map_end_offset().max(log_start_offset.min(first_offset(listing)));
        let (mut aborted, mut undecided, mut is_damaged) = (Vec::new(), Vec::new(), false);
        for segment in &listing.segments {
            if segment.next_base_offset <= from || segment.base_offset >= end {
                continue;
            }
            let segment = segment.open(fs)?;
            let (start, to) = (segment.position_of(from, end)?, end_position(&segment, end, end)?);
            let mut chain = segment.chain(start, to, end);
            while let Some((position, header)) = chain.next_header()? {
                if header.base_offset >= end {
                    break;
                }
                if header.base_offset < from || !header.is_transactional() {
                    continue;
                }
                let (control, is_readable) = match read_control(&segment, position, &header) {
                    Err(ScanError::Corrupt { .. }) if ignores_damage => (Some(UNREADABLE), false),
                    read => (
                        read.map_err(|error| at_offset(error, header.base_offset, partition))?,
                        true,
                    ),
                };
                is_damaged |= !is_readable;
                let completed = state.update(&header, control).filter(|it| it.is_aborted);
                let ranges = completed.map(|it| AbortedRange {
                    producer_id: it.producer_id,
                    first_offset: it.first_offset,
                    last_offset: it.last_offset,
                });
                undecided.extend(ranges.filter(|_| !is_readable));
                aborted.extend(ranges);
            }
            let is_of_next = chain.end() == Some(ChainEnd::Neighbour);
            if let Some(damage) = chain.take_damage().filter(|_| !is_of_next) {
                if !ignores_damage {
                    return Err(damage.error(partition));
                }
                is_damaged = true;
            }
        }
        let stable = state.first_undecided_offset().unwrap_or(end);
        Ok(Self {
            last_stable_offset: stable.min(end).max(log_start_offset.min(end)),
            aborted,
            undecided,
            is_damaged,
        })
    }

    /// The limits under `read_committed`; `stable` is the last stable offset that a broker has told. A marker that
    /// cannot be read may be why a transaction seems open.
    pub fn limit(&self, limits: Limits, stable: Offset) -> Limits {
        let end = self.last_stable_offset.min(stable).max(limits.log_start_offset);
        let is_decided = self.last_stable_offset >= limits.end;
        let due = if is_decided || self.is_damaged || limits.is_short() || stable != Offset::MAX {
            limits.due.min(stable)
        } else {
            end
        };
        let end = limits.end.min(end);
        Limits {
            end,
            due: due.max(end),
            ..limits
        }
    }

    /// The offsets in `[start, end)` of transactions of which no marker tells whether they were committed.
    pub fn undecided_within(&self, start: Offset, end: Offset) -> impl Iterator<Item = (Offset, Offset)> {
        let within = move |it: &AbortedRange| (it.first_offset.max(start), (it.last_offset + 1).min(end));
        self.undecided.iter().map(within).filter(|(from, to)| from < to)
    }

    /// The aborted transactions that touch `[start, end)`, in the order of their markers.
    pub fn aborted(
        self,
        fs: &dyn FileSystem,
        listing: &Listing,
        start: Offset,
        end: Offset,
    ) -> Result<Vec<AbortedRange>> {
        let mut found = self.aborted;
        let from = listing.index_of(start).unwrap_or(0);
        'segments: for segment in listing.segments.get(from..).unwrap_or_default() {
            for entry in AbortedTxn::decode_all(&segment.read_txn_index(fs)?) {
                found.push(AbortedRange {
                    producer_id: entry.producer_id,
                    first_offset: entry.first_offset,
                    last_offset: entry.last_offset,
                });
                // No transaction with offsets below the end was open any more.
                if entry.last_stable_offset >= end {
                    break 'segments;
                }
            }
        }
        found.retain(|range| range.last_offset >= start && range.first_offset < end);
        found.sort_unstable_by_key(|range| (range.last_offset, range.producer_id));
        found.dedup();
        Ok(found)
    }
}

/// The control record of a batch, if it has one.
fn read_control(segment: &OpenSegment<'_>, position: Position, header: &BatchHeader) -> Result<Option<ControlRecord>> {
    if !header.is_control() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    segment.read_batch(position, header, &mut bytes)?;
    let corrupt = |error: BatchError| segment.corrupt(position, error.to_string());
    let Some((batch, _)) = Batch::split_first(&bytes).map_err(corrupt)? else {
        return Ok(None);
    };
    batch.verify_crc().map_err(corrupt)?;
    ControlRecord::of_batch(&batch).map_err(corrupt)
}

fn first_offset(listing: &Listing) -> Offset {
    listing
        .segments
        .first()
        .map_or(Offset(0), |segment| segment.base_offset)
}

/// The state at the newest sound snapshot at or below `end`; a snapshot that vanishes or is damaged costs a longer
/// walk.
fn newest_snapshot(fs: &dyn FileSystem, dir: &Path, listing: &Listing, end: Offset) -> Result<Option<ProducerState>> {
    for offset in listing.snapshots.iter().rev().filter(|offset| **offset <= end) {
        let path = file_path(dir, *offset, SNAPSHOT_SUFFIX);
        match fs.read_to_vec(&path) {
            Ok(bytes) => {
                if let Ok(state) = ProducerState::from_snapshot(&bytes, *offset) {
                    return Ok(Some(state));
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("read", &path, error).into()),
        }
    }
    Ok(None)
}

#[cfg(test)]
#[path = "transactions_tests.rs"]
mod tests;
