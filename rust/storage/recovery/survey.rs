//! Counts the whole batches behind bytes that are no batch: the batches that a cut would drop.
//!
//! The next batch may begin at any byte, since a damaged length says nothing. A batch counts when its header can be
//! parsed, its offsets do not go back and its CRC is right; the bytes between batches are skipped. Records may contain
//! bytes that look like headers of large batches, so the number of bytes that are read for candidates with a wrong CRC
//! is bounded, and a survey may end early. Reads only.

use std::ops::Range;
use std::path::Path;

use ::io::File;
use base::error::{Error, Result};
use base::place::{Offset, Position};
use record::{BATCH_HEADER, Batch, BatchHeader, LEAST_BATCH};

const WINDOW: usize = 1 << 20;
/// The position of the magic byte in a header.
const MAGIC_AT: usize = 16;
const MAX_MAGIC: u8 = 2;
/// The bytes that may be read for candidates with a wrong CRC, as a multiple of the surveyed bytes.
const IN_VAIN: u64 = 16;
/// The most bytes that an old wrapper message is inflated to, to count its records.
const INFLATE_LIMIT: usize = 64 << 20;

/// The batches that were found behind a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Survey {
    /// Whole batches.
    pub batches: u64,
    /// Records in them.
    pub records: u64,
    /// The offset after the last found batch, or the expected offset when none was found.
    pub end_offset: Offset,
    /// The survey ended early: there may be more batches.
    pub is_cut_short: bool,
    /// Bytes that may still be read for candidates with a wrong CRC.
    allowed: u64,
}

impl Survey {
    /// Nothing found yet behind a log that ends at `expected`.
    pub fn new(expected: Offset) -> Self {
        Self {
            batches: 0,
            records: 0,
            end_offset: expected,
            is_cut_short: false,
            allowed: 0,
        }
    }

    /// Adds the batches in `range` of a file.
    pub fn look(&mut self, file: &dyn File, path: &Path, range: Range<Position>) -> Result<()> {
        let (from, end) = (range.start, range.end);
        let io = |error| Error::io("read", path, error);
        let mut window = vec![0; WINDOW.min(from.bytes_to(end) as usize)];
        let mut batch = Vec::new();
        let mut at = from;
        self.allowed += IN_VAIN * from.bytes_to(end);
        while at.bytes_to(end) >= LEAST_BATCH as u64 {
            let read = window.len().min((end - at) as usize);
            let held = window.get_mut(..read).unwrap_or_default();
            file.read_exact_at(held, at.get()).map_err(io)?;
            let mut inside = 0;
            while let Some((skipped, size)) =
                self.candidate(held.get(inside..).unwrap_or_default(), end - at - inside as u64)
            {
                inside += skipped;
                batch.resize(size, 0);
                file.read_exact_at(&mut batch, (at + inside as u64).get()).map_err(io)?;
                let counted = self.count(&batch);
                if counted.is_none() {
                    let Some(left) = self.allowed.checked_sub(size as u64) else {
                        self.is_cut_short = true;
                        return Ok(());
                    };
                    self.allowed = left;
                }
                inside += counted.unwrap_or(1);
            }
            let is_last = at + read as u64 >= end;
            let searched = if is_last {
                read
            } else {
                read.saturating_sub(BATCH_HEADER - 1)
            };
            at += inside.max(searched).max(1) as u64;
        }
        Ok(())
    }

    /// The first index in `bytes` where a batch may begin that ends within `rest`, and the batch's size.
    fn candidate(&self, bytes: &[u8], rest: u64) -> Option<(usize, usize)> {
        // Where a whole v2 header no longer fits, only an old message can begin, and only at the end of the file.
        let least = if bytes.len() as u64 >= rest {
            LEAST_BATCH
        } else {
            BATCH_HEADER
        };
        let places = bytes.len().checked_sub(least - 1)?;
        (0..places).find_map(|at| {
            if *bytes.get(at + MAGIC_AT)? > MAX_MAGIC {
                return None;
            }
            let header = BatchHeader::parse(bytes.get(at..)?).ok()?;
            let size = header.size_bytes();
            let distance = header.base_offset.get().checked_sub(self.end_offset.get())?;
            let is_plausible = (0..=i64::from(i32::MAX)).contains(&distance) && header.last_offset_delta >= 0;
            (is_plausible && (at + size) as u64 <= rest).then_some((at, size))
        })
    }

    /// Counts the batch that fills `bytes`; returns its size, or `None` when its CRC is wrong.
    fn count(&mut self, bytes: &[u8]) -> Option<usize> {
        let (batch, _) = Batch::split_first(bytes).ok()??;
        batch.verify_crc().ok()?;
        self.batches += 1;
        let header = batch.full_header(&mut Vec::new(), INFLATE_LIMIT);
        self.records += u64::try_from(header.map_or(0, |header| header.record_count)).unwrap_or(0);
        self.end_offset = batch.header().next_offset();
        Some(bytes.len())
    }
}
