//! From a timestamp to an offset.
//!
//! A binary search in [`super::peaks`] finds the first segment whose greatest timestamp is late enough, two more in the
//! segment's indexes find a position, and a scan of the headers from there finds the batch. Only a batch that may hold
//! the record is read and, when compressed, inflated. The segment that holds the log start offset is checked
//! separately, since the record with its greatest timestamp may lie before that offset. As with reads,
//! [`Log::lookup_timestamp`] runs under the lock and [`TimestampPlan::resolve`] without it.

use std::sync::Arc;

use super::batch_walk::read_batch;
use super::header_scan::HeaderScan;
use super::log::Log;
use super::peaks::Peaks;
use super::segment::{Segment, SegmentFile};
use base::error::{Error, Result};
use base::place::{LeaderEpoch, Offset, Position};
use record::{Batch, BatchHeader};

/// The most bytes that a batch is inflated to.
const INFLATE_LIMIT: usize = 256 * 1024 * 1024;

/// A record found by its timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundTimestamp {
    /// Its timestamp in milliseconds.
    pub timestamp: i64,
    /// Its offset.
    pub offset: Offset,
    /// The leader epoch of its batch; -1 for none.
    pub leader_epoch: LeaderEpoch,
}

#[derive(Clone, Copy)]
enum Wanted {
    /// The first record at or after this time.
    AtLeast(i64),
    /// The record with this timestamp, which is the greatest.
    Greatest(i64),
    /// The record with the greatest timestamp, which is unknown before the search.
    Latest,
}

/// Where to look; see the module.
#[derive(Default)]
pub struct TimestampPlan {
    place: Option<Place>,
    /// Searched when `place` has no match, or no record as late as the one wanted here.
    otherwise: Option<Place>,
}

struct Place {
    log: Arc<SegmentFile>,
    position: Position,
    end: Position,
    start_offset: Offset,
    wanted: Wanted,
}

impl Log {
    /// The first record, from the log start offset on, whose timestamp is at least `target`.
    pub fn lookup_timestamp(&self, target: i64) -> Result<TimestampPlan> {
        let wanted = Wanted::AtLeast(target);
        let is_late =
            |segment: &Segment| -> Result<bool> { Ok(segment.size() > 0 && self.greatest_of(segment)? >= target) };
        let plan = |segment: &Segment| {
            let from = segment
                .time_index
                .lookup(&*self.context.fs, target.saturating_sub(1))?
                .offset;
            self.place_in(segment, from.max(self.offsets.start()), wanted)
        };
        let mut places = TimestampPlan::default();
        let (first, at) = self.first_readable();
        if is_late(first)? {
            places.place = Some(plan(first)?);
            if first.base_offset() >= self.offsets.start() {
                return Ok(places);
            }
        }
        let later = match self.peaks()?.first_at_least(target) {
            Some(base_offset) => Some(self.segments.holding(base_offset)),
            None => self.later_active(at),
        };
        if let Some(segment) = later
            && is_late(segment)?
        {
            places.otherwise = Some(plan(segment)?);
        }
        Ok(places)
    }

    /// The record with the greatest timestamp from the log start offset on, the earliest of them.
    pub fn max_timestamp(&self) -> Result<TimestampPlan> {
        let (first, at) = self.first_readable();
        let mut later: Option<(i64, &Segment)> = None;
        let peak = self.peaks()?.greatest();
        let peak = peak.map(|base_offset| self.segments.holding(base_offset));
        for segment in peak.into_iter().chain(self.later_active(at)) {
            let timestamp = self.greatest_of(segment)?;
            if timestamp >= 0 && later.is_none_or(|best| timestamp > best.0) {
                later = Some((timestamp, segment));
            }
        }
        let mut places = TimestampPlan::default();
        let greatest = self.greatest_of(first)?;
        let is_cut = first.base_offset() < self.offsets.start();
        if greatest >= 0 && later.is_none_or(|best| greatest >= best.0) {
            let wanted = if is_cut {
                Wanted::Latest
            } else {
                Wanted::Greatest(greatest)
            };
            let from = if is_cut {
                self.offsets.start()
            } else {
                self.offset_of_greatest(first)?
            };
            places.place = Some(self.place_in(first, from, wanted)?);
            if !is_cut {
                return Ok(places);
            }
        }
        if let Some((timestamp, segment)) = later {
            let from = self.offset_of_greatest(segment)?;
            places.otherwise = Some(self.place_in(segment, from, Wanted::Greatest(timestamp))?);
        }
        Ok(places)
    }

    /// The segment that holds the log start offset, and where it stands.
    fn first_readable(&self) -> (&Segment, usize) {
        let at = self.segments.place_of(self.offsets.start());
        (self.segments.at(at), at)
    }

    /// The active segment, when it stands behind the one at `at`.
    fn later_active(&self, at: usize) -> Option<&Segment> {
        self.segments.all_from(at + 1).next_back()
    }

    fn greatest_of(&self, segment: &Segment) -> Result<i64> {
        Ok(segment.max_timestamp(&*self.context.fs)?.timestamp)
    }

    fn offset_of_greatest(&self, segment: &Segment) -> Result<Offset> {
        Ok(segment.max_timestamp(&*self.context.fs)?.offset)
    }

    fn peaks(&self) -> Result<&Peaks> {
        self.segments.peaks(&*self.context.fs, self.offsets.start())
    }

    fn place_in(&self, segment: &Segment, from: Offset, wanted: Wanted) -> Result<Place> {
        let position = segment.offset_index.lookup(&*self.context.fs, from)?.position;
        let (log, end) = (Arc::clone(segment.log()), segment.end());
        Ok(Place {
            log,
            position,
            end,
            start_offset: self.offsets.start(),
            wanted,
        })
    }
}

impl TimestampPlan {
    /// Reads until the record is found.
    pub fn resolve(self) -> Result<Option<FoundTimestamp>> {
        let found = self.place.as_ref().map_or(Ok(None), Place::resolve)?;
        let Some(otherwise) = self.otherwise else {
            return Ok(found);
        };
        match (found, otherwise.wanted) {
            (Some(found), Wanted::AtLeast(_)) => Ok(Some(found)),
            (Some(found), Wanted::Greatest(greatest)) if found.timestamp >= greatest => Ok(Some(found)),
            _ => otherwise.resolve(),
        }
    }
}

impl Place {
    fn resolve(&self) -> Result<Option<FoundTimestamp>> {
        match self.search(self.position) {
            // A damaged index names a place where no batch begins.
            Err(Error::CorruptFile { .. }) if self.position > Position::START => self.search(Position::START),
            found => found,
        }
    }

    fn search(&self, position: Position) -> Result<Option<FoundTimestamp>> {
        match self.wanted {
            Wanted::AtLeast(target) | Wanted::Greatest(target) => self.search_for(target, position),
            Wanted::Latest => self.search_latest(position),
        }
    }

    fn scan(&self, position: Position) -> HeaderScan<'_> {
        HeaderScan::new(&*self.log.file, &self.log.path, position, self.end).of_whole_batches()
    }

    fn search_for(&self, target: i64, position: Position) -> Result<Option<FoundTimestamp>> {
        let mut scan = self.scan(position);
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

    /// Compares the headers' timestamps. In the batch that holds the log start offset some records may be deleted: its
    /// records are compared one by one. The header of an old wrapper message does not tell its first offset: the first
    /// wrapper may hold the log start offset.
    fn search_latest(&self, position: Position) -> Result<Option<FoundTimestamp>> {
        let mut best: Option<FoundTimestamp> = None;
        let mut whole: Option<(Position, BatchHeader)> = None;
        let mut is_first = true;
        let mut scan = self.scan(position);
        while let Some((position, header)) = scan.next_header()? {
            if header.last_offset() < self.start_offset {
                continue;
            }
            let is_cut = header.base_offset < self.start_offset || header.is_wrapper() && is_first;
            is_first = false;
            if is_cut {
                let mut target = 0;
                while let Some(found) = self.search_batch(position, &header, target)? {
                    best = Some(found);
                    target = found.timestamp.saturating_add(1);
                }
            } else if header.max_timestamp > whole.map_or(-1, |best| best.1.max_timestamp) {
                whole = Some((position, header));
            }
        }
        match whole {
            Some((position, header)) if best.is_none_or(|best| header.max_timestamp > best.timestamp) => {
                self.search_batch(position, &header, header.max_timestamp)
            }
            _ => Ok(best),
        }
    }

    fn search_batch(&self, position: Position, header: &BatchHeader, target: i64) -> Result<Option<FoundTimestamp>> {
        let corrupt = |reason: String| Error::CorruptFile {
            path: self.log.path.clone(),
            position,
            reason,
        };
        let mut bytes = Vec::new();
        let read = read_batch(&*self.log.file, position, header, &mut bytes);
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
