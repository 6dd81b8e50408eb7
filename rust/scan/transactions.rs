//! Which transactions are open and which were aborted, read from the files of a broker that may be running.
//!
//! The last stable offset is in no file: the newest producer snapshot has the transactions that were open at its
//! offset, and the batches from there to the high watermark have the changes since. Aborted transactions are in the
//! transaction index of the segment that holds their marker; markers behind the snapshot are read from the log itself,
//! for a broker may write its index later than its log. spec: R4.2, R4.4

use std::path::Path;

use super::bounds::end_position;
use super::segments::Listing;
use super::{AbortedRange, Result};
use crate::error::Error;
use crate::index::AbortedTxn;
use crate::io::FileSystem;
use crate::place::Offset;
use crate::record::{Batch, ControlRecord};
use crate::storage::ProducerState;
use crate::storage::format::{SNAPSHOT_SUFFIX, file_path};

/// The transactions below a high watermark.
pub(super) struct Transactions {
    /// First offset of the earliest open transaction, or the high watermark.
    pub last_stable_offset: Offset,
    /// Transactions that were aborted by a marker in the log behind the snapshot.
    aborted: Vec<AbortedRange>,
}

impl Transactions {
    /// Reads the snapshot and the log from there to `end`, the high watermark.
    pub fn read(
        fs: &dyn FileSystem,
        dir: &Path,
        listing: &Listing,
        log_start_offset: Offset,
        end: Offset,
    ) -> Result<Self> {
        let mut state = newest_snapshot(fs, dir, listing, end)?.unwrap_or_default();
        let from = state.map_end_offset().max(log_start_offset.min(first_offset(listing)));
        let mut aborted = Vec::new();
        for segment in &listing.segments {
            if segment.next_base_offset <= from || segment.base_offset >= end {
                continue;
            }
            let segment = segment.open(fs)?;
            let mut scan = segment.headers_to(segment.position_of(from)?, end_position(&segment, end)?);
            let mut bytes = Vec::new();
            while let Some((position, header)) = scan.next_header()? {
                if header.base_offset >= end {
                    break;
                }
                if header.base_offset < from || !header.is_transactional() {
                    continue;
                }
                let mut control = None;
                if header.is_control() {
                    segment.read_batch(position, &header, &mut bytes)?;
                    let corrupt = |error: crate::record::BatchError| segment.corrupt(position, error.to_string());
                    if let Some((batch, _)) = Batch::split_first(&bytes).map_err(corrupt)? {
                        batch.verify_crc().map_err(corrupt)?;
                        control = ControlRecord::of_batch(&batch).map_err(corrupt)?;
                    }
                }
                let completed = state.update(&header, control).filter(|it| it.is_aborted);
                aborted.extend(completed.map(|it| AbortedRange {
                    producer_id: it.producer_id,
                    first_offset: it.first_offset,
                    last_offset: it.last_offset,
                }));
            }
        }
        let undecided = state.first_undecided_offset().unwrap_or(end);
        Ok(Self {
            last_stable_offset: undecided.min(end).max(log_start_offset.min(end)),
            aborted,
        })
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
mod tests;
