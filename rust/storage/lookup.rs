//! From a timestamp to an offset. spec: R4.3
//!
//! The first segment whose greatest timestamp is late enough, two binary searches in its indexes, then a scan of the
//! headers from there; only the one batch that holds the record is read and, when compressed, inflated.
//! As with reads, [`Log::lookup_timestamp`] runs under the lock and [`TimestampPlan::resolve`] without.

use std::sync::Arc;

use super::header_scan::HeaderScan;
use super::log::Log;
use super::segment::{Segment, SegmentFile};
use crate::error::{Error, Result};
use crate::record::{Batch, BatchHeader};

/// The most bytes that a batch is inflated to.
const INFLATE_LIMIT: usize = 256 * 1024 * 1024;

/// A record found by its timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundTimestamp {
    /// Its timestamp in milliseconds.
    pub timestamp: i64,
    /// Its offset.
    pub offset: i64,
    /// The leader epoch of its batch; -1 for none.
    pub leader_epoch: i32,
}

enum Wanted {
    /// The first record at or after this time.
    AtLeast(i64),
    /// The record that has this, the greatest timestamp.
    Greatest(i64),
}

/// Where to look; see the module.
pub struct TimestampPlan(Option<Place>);

struct Place {
    log: Arc<SegmentFile>,
    position: u64,
    end: u64,
    start_offset: i64,
    wanted: Wanted,
}

impl Log {
    /// The first record, from the log start offset on, whose timestamp is at least `target`.
    pub fn lookup_timestamp(&self, target: i64) -> Result<TimestampPlan> {
        let fs = &*self.context.fs;
        for segment in &self.segments {
            if segment.size() > 0 && segment.max_timestamp(fs)?.timestamp >= target {
                let from = segment.time_index.lookup(fs, target.saturating_sub(1))?.offset;
                return self.timestamp_plan(segment, from.max(self.log_start_offset), Wanted::AtLeast(target));
            }
        }
        Ok(TimestampPlan(None))
    }

    /// The record with the greatest timestamp, the earliest of them.
    pub fn max_timestamp(&self) -> Result<TimestampPlan> {
        let fs = &*self.context.fs;
        let mut best: Option<(i64, i64, &Segment)> = None;
        for segment in &self.segments {
            let max = segment.max_timestamp(fs)?;
            if max.timestamp >= 0 && best.is_none_or(|(timestamp, ..)| max.timestamp > timestamp) {
                best = Some((max.timestamp, max.offset, segment));
            }
        }
        match best {
            Some((timestamp, offset, segment)) => self.timestamp_plan(segment, offset, Wanted::Greatest(timestamp)),
            None => Ok(TimestampPlan(None)),
        }
    }

    fn timestamp_plan(&self, segment: &Segment, from: i64, wanted: Wanted) -> Result<TimestampPlan> {
        let position = u64::from(segment.offset_index.lookup(&*self.context.fs, from)?.position);
        let (log, end) = (Arc::clone(segment.log()), segment.size());
        Ok(TimestampPlan(Some(Place {
            log,
            position,
            end,
            start_offset: self.log_start_offset,
            wanted,
        })))
    }
}

impl TimestampPlan {
    /// Reads until the record is found.
    pub fn resolve(self) -> Result<Option<FoundTimestamp>> {
        let Some(place) = self.0 else { return Ok(None) };
        match place.search(place.position) {
            // A damaged index names a place where no batch begins.
            Err(Error::CorruptFile { .. }) if place.position > 0 => place.search(0),
            found => found,
        }
    }
}

impl Place {
    fn search(&self, position: u64) -> Result<Option<FoundTimestamp>> {
        let target = match self.wanted {
            Wanted::AtLeast(target) | Wanted::Greatest(target) => target,
        };
        let mut scan = HeaderScan::new(&*self.log.file, &self.log.path, position, self.end);
        while let Some((position, header)) = scan.next_header()? {
            if header.max_timestamp < target || header.last_offset() < self.start_offset {
                continue;
            }
            if let Some(found) = self.search_batch(position, &header, target)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn search_batch(&self, position: u64, header: &BatchHeader, target: i64) -> Result<Option<FoundTimestamp>> {
        let corrupt = |reason: String| Error::CorruptFile {
            path: self.log.path.clone(),
            position,
            reason,
        };
        let mut bytes = vec![0; header.size_bytes()];
        let read = self.log.file.read_exact_at(&mut bytes, position);
        read.map_err(|error| Error::io("read", &self.log.path, error))?;
        let batch = Batch::split_first(&bytes).map_err(|error| corrupt(error.to_string()))?;
        let Some((batch, _)) = batch else { return Ok(None) };
        let mut scratch = Vec::new();
        let records = batch
            .records(&mut scratch, INFLATE_LIMIT)
            .map_err(|error| corrupt(error.to_string()))?;
        for record in records {
            let record = record.map_err(|error| corrupt(error.to_string()))?;
            if record.timestamp >= target && record.offset >= self.start_offset {
                return Ok(Some(FoundTimestamp {
                    timestamp: record.timestamp,
                    offset: record.offset,
                    leader_epoch: header.partition_leader_epoch,
                }));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
