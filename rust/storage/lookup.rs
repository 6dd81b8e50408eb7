//! From a timestamp to an offset. spec: R4.3
//!
//! The first segment whose greatest timestamp is late enough (a binary search in [`super::peaks`]), two more in its indexes, then a
//! scan of the headers from there; only the one batch that holds the record is read and, when compressed, inflated. The segment that
//! holds the log start offset is looked at by itself, since its greatest timestamp may lie before that offset.
//! As with reads, [`Log::lookup_timestamp`] runs under the lock and [`TimestampPlan::resolve`] without.

use std::sync::Arc;

use super::header_scan::HeaderScan;
use super::log::Log;
use super::peaks::Peaks;
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

#[derive(Clone, Copy)]
enum Wanted {
    /// The first record at or after this time.
    AtLeast(i64),
    /// The record that has this, the greatest timestamp.
    Greatest(i64),
    /// The record with the greatest timestamp, which is not known.
    Latest,
}

/// Where to look; see the module.
#[derive(Default)]
pub struct TimestampPlan {
    place: Option<Place>,
    /// When `place` has nothing, or nothing as late as what is wanted here.
    otherwise: Option<Place>,
}

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
        let wanted = Wanted::AtLeast(target);
        let is_late =
            |segment: &Segment| -> Result<bool> { Ok(segment.size() > 0 && self.greatest_of(segment)? >= target) };
        let plan = |segment: &Segment| {
            let from = segment
                .time_index
                .lookup(&*self.context.fs, target.saturating_sub(1))?
                .offset;
            self.place_in(segment, from.max(self.log_start_offset), wanted)
        };
        let mut places = TimestampPlan::default();
        let (first, at) = self.first_readable();
        if is_late(first)? {
            places.place = Some(plan(first)?);
            if first.base_offset() >= self.log_start_offset {
                return Ok(places);
            }
        }
        let later = match self.peaks()?.first_at_least(target) {
            Some(base_offset) => self.segments.get(self.segment_at(base_offset)),
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
        let peak = peak.and_then(|base_offset| self.segments.get(self.segment_at(base_offset)));
        for segment in peak.into_iter().chain(self.later_active(at)) {
            let timestamp = self.greatest_of(segment)?;
            if timestamp >= 0 && later.is_none_or(|best| timestamp > best.0) {
                later = Some((timestamp, segment));
            }
        }
        let mut places = TimestampPlan::default();
        let greatest = self.greatest_of(first)?;
        let is_cut = first.base_offset() < self.log_start_offset;
        if greatest >= 0 && later.is_none_or(|best| greatest >= best.0) {
            let wanted = if is_cut {
                Wanted::Latest
            } else {
                Wanted::Greatest(greatest)
            };
            let from = if is_cut {
                self.log_start_offset
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
        let at = self.segment_at(self.log_start_offset);
        (self.segments.get(at).unwrap_or(self.active()), at)
    }

    /// The active segment, when it stands behind the one at `at`.
    fn later_active(&self, at: usize) -> Option<&Segment> {
        self.segments.get(at + 1..).unwrap_or_default().last()
    }

    fn greatest_of(&self, segment: &Segment) -> Result<i64> {
        Ok(segment.max_timestamp(&*self.context.fs)?.timestamp)
    }

    fn offset_of_greatest(&self, segment: &Segment) -> Result<i64> {
        Ok(segment.max_timestamp(&*self.context.fs)?.offset)
    }

    /// Made anew when it is missing.
    fn peaks(&self) -> Result<&Peaks> {
        if let Some(peaks) = self.peaks.get() {
            return Ok(peaks);
        }
        let (_, at) = self.first_readable();
        let peaks = self.peaks_of(self.segments.get(at + 1..self.segments.len() - 1).unwrap_or_default())?;
        Ok(self.peaks.get_or_init(|| peaks))
    }

    fn peaks_of(&self, segments: &[Segment]) -> Result<Peaks> {
        let mut peaks = Peaks::default();
        for segment in segments {
            peaks.push_back((segment.base_offset(), self.greatest_of(segment)?));
        }
        Ok(peaks)
    }

    /// A segment was sealed, and the active one stands behind it.
    pub(super) fn note_sealed(&mut self) {
        let Some(mut peaks) = self.peaks.take() else { return };
        let sealed = self.segments.len().saturating_sub(2);
        let is_covered = sealed > self.first_readable().1;
        if let Some(segment) = self.segments.get(sealed).filter(|_| is_covered) {
            let Ok(timestamp) = self.greatest_of(segment) else {
                return;
            }; // the next lookup tells of it
            peaks.push_back((segment.base_offset(), timestamp));
        }
        self.peaks = peaks.into();
    }

    /// The log start offset has moved up.
    pub(super) fn uncover_peaks(&mut self) {
        let Some(mut peaks) = self.peaks.take() else { return };
        let (first, at) = self.first_readable();
        peaks.drop_front(first.base_offset());
        let until = peaks
            .first()
            .map_or(self.segments.len() - 1, |base_offset| self.segment_at(base_offset));
        if let Ok(uncovered) = self.peaks_of(self.segments.get(at + 1..until).unwrap_or_default()) {
            peaks.put_in_front(uncovered);
            self.peaks = peaks.into();
        }
    }

    fn place_in(&self, segment: &Segment, from: i64, wanted: Wanted) -> Result<Place> {
        let position = u64::from(segment.offset_index.lookup(&*self.context.fs, from)?.position);
        let (log, end) = (Arc::clone(segment.log()), segment.size());
        Ok(Place {
            log,
            position,
            end,
            start_offset: self.log_start_offset,
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
            Err(Error::CorruptFile { .. }) if self.position > 0 => self.search(0),
            found => found,
        }
    }

    fn search(&self, position: u64) -> Result<Option<FoundTimestamp>> {
        match self.wanted {
            Wanted::AtLeast(target) | Wanted::Greatest(target) => self.search_for(target, position),
            Wanted::Latest => self.search_latest(position),
        }
    }

    fn scan(&self, position: u64) -> HeaderScan<'_> {
        HeaderScan::new(&*self.log.file, &self.log.path, position, self.end).of_whole_batches()
    }

    fn search_for(&self, target: i64, position: u64) -> Result<Option<FoundTimestamp>> {
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

    /// By the headers. Only of the batch that holds the log start offset some records may be gone: they are looked at one by one.
    fn search_latest(&self, position: u64) -> Result<Option<FoundTimestamp>> {
        let mut best: Option<FoundTimestamp> = None;
        let mut whole: Option<(u64, BatchHeader)> = None;
        let mut scan = self.scan(position);
        while let Some((position, header)) = scan.next_header()? {
            if header.last_offset() < self.start_offset {
                continue;
            }
            if header.base_offset < self.start_offset {
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
