//! The segments of one log, in the order of their base offsets.
//!
//! The last segment is *active*: appends go into it. All others are sealed. Two caches live here too, so that each
//! operation on the list also drops what it makes stale: the places of the last batches of the active segment, and the
//! peaks of the sealed segments' timestamps.
//!
//! Invariants: there is always an active segment; base offsets ascend strictly. Callers change a single segment through
//! [`Segments::get_mut`] and [`Segments::active_mut`], and the list only through [`Segments::push`],
//! [`Segments::pop`], [`Segments::remove_first`], [`Segments::restart`] and [`Segments::replace`]. Each of these is
//! one step for readers, who plan under the log's lock and go on with the files that they hold. The only file that this
//! module touches is the time index of a segment whose greatest timestamp is not in memory.

use std::iter::once;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use super::last_batches::{LastBatch, LastBatches};
use super::peaks::Peaks;
use super::segment::Segment;
use ::io::FileSystem;
use base::error::Result;
use base::place::{Offset, Position};
use record::BatchHeader;

/// See the module.
pub struct Segments {
    sealed: Vec<Segment>,
    active: Segment,
    /// The peaks of the sealed segments' timestamps; built by the first lookup of a timestamp.
    peaks: OnceLock<Peaks>,
    /// The last batches of the active segment.
    last_batches: LastBatches,
}

impl Segments {
    /// One segment, which is active.
    pub fn new(active: Segment) -> Self {
        Self {
            sealed: Vec::new(),
            active,
            peaks: OnceLock::new(),
            last_batches: LastBatches::default(),
        }
    }

    /// Segments whose base offsets ascend, of which the last one becomes active; `None` without any.
    pub fn from_ascending(mut segments: Vec<Segment>) -> Option<Self> {
        let active = segments.pop()?;
        debug_assert!(ascend(segments.iter().chain(once(&active))), "base offsets ascend");
        Some(Self {
            sealed: segments,
            ..Self::new(active)
        })
    }

    /// The segment that is written.
    #[inline]
    pub fn active(&self) -> &Segment {
        &self.active
    }

    /// The segment that is written.
    #[inline]
    pub fn active_mut(&mut self) -> &mut Segment {
        &mut self.active
    }

    /// The place of the active segment, which is the last.
    pub fn active_place(&self) -> usize {
        self.sealed.len()
    }

    /// The oldest segment.
    pub fn first(&self) -> &Segment {
        self.sealed.first().unwrap_or(&self.active)
    }

    /// How many there are; at least one.
    pub fn count(&self) -> usize {
        self.sealed.len() + 1
    }

    /// The segment at a place, the oldest at 0.
    pub fn get(&self, at: usize) -> Option<&Segment> {
        if at == self.sealed.len() {
            return Some(&self.active);
        }
        self.sealed.get(at)
    }

    /// The segment at a place; the active segment at every place behind the sealed segments.
    pub fn at(&self, at: usize) -> &Segment {
        self.sealed.get(at).unwrap_or(&self.active)
    }

    /// The segment at a place, the oldest at 0.
    pub fn get_mut(&mut self, at: usize) -> Option<&mut Segment> {
        if at == self.sealed.len() {
            return Some(&mut self.active);
        }
        self.sealed.get_mut(at)
    }

    /// The segments, oldest first.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Segment> {
        self.sealed.iter().chain(once(&self.active))
    }

    /// The segments from a place on.
    pub fn all_from(&self, at: usize) -> impl DoubleEndedIterator<Item = &Segment> {
        let active = (at <= self.sealed.len()).then_some(&self.active);
        self.sealed_from(at).iter().chain(active)
    }

    /// The sealed segments from a place on.
    pub fn sealed_from(&self, at: usize) -> &[Segment] {
        self.sealed.get(at..).unwrap_or_default()
    }

    /// The base offset of the segment behind the one at a place; `None` behind the active segment.
    pub fn next_base(&self, at: usize) -> Option<Offset> {
        self.get(at + 1).map(Segment::base_offset)
    }

    /// The place of the last segment whose base offset is at most `offset`, or 0.
    pub fn place_of(&self, offset: Offset) -> usize {
        if offset >= self.active.base_offset() {
            return self.sealed.len();
        }
        self.sealed
            .partition_point(|segment| segment.base_offset() <= offset)
            .saturating_sub(1)
    }

    /// The segment at [`Self::place_of`].
    pub fn holding(&self, offset: Offset) -> &Segment {
        self.at(self.place_of(offset))
    }

    /// Bytes of record batches in all of them.
    pub fn size_bytes(&self) -> u64 {
        self.all().map(Segment::size).sum()
    }

    /// Updates the active segment's size, timestamps and indexes for a batch that was written at `position`.
    #[inline]
    pub fn note(&mut self, header: &BatchHeader, position: Position, index_interval_bytes: u32) {
        self.active.note(header, position, index_interval_bytes);
        self.last_batches.push(header, position);
    }

    /// The batch of the active segment that holds `offset`, when it is one of the last that were written.
    pub fn last_batch_with(&self, offset: Offset) -> Option<LastBatch> {
        self.last_batches.find(offset)
    }

    /// Drops the last batches and the peaks, which a truncation makes stale.
    pub fn forget_batches(&mut self) {
        self.peaks.take();
        self.last_batches = LastBatches::default();
    }

    /// Makes the empty `segment` the active one and seals the segment that was active. The caller has sealed the
    /// latter's indexes.
    pub fn push(&mut self, fs: &dyn FileSystem, segment: Segment, log_start_offset: Offset) {
        debug_assert!(self.active.base_offset() < segment.base_offset(), "base offsets ascend");
        self.sealed.push(std::mem::replace(&mut self.active, segment));
        self.last_batches = LastBatches::default();
        self.cover_last_sealed(fs, log_start_offset);
    }

    /// Puts `segment` in the place of the active segment, which is empty, and returns that one. Both have the same base
    /// offset.
    pub fn replace_active(&mut self, segment: Segment) -> Segment {
        debug_assert!(self.active.size() == 0, "an empty segment is replaced");
        self.last_batches = LastBatches::default();
        std::mem::replace(&mut self.active, segment)
    }

    /// Removes the active segment; the segment before it becomes active. Does nothing and returns `None` when the log
    /// has only one segment.
    pub fn pop(&mut self) -> Option<Segment> {
        let last = self.sealed.pop()?;
        self.forget_batches();
        Some(std::mem::replace(&mut self.active, last))
    }

    /// Removes the oldest sealed segment, which must lie below the log start offset. Does nothing and returns `None`
    /// when only the active segment is left.
    pub fn remove_first(&mut self) -> Option<Segment> {
        (!self.sealed.is_empty()).then(|| self.sealed.remove(0))
    }

    /// Replaces all segments with `segment`.
    pub fn restart(&mut self, segment: Segment) {
        *self = Self::new(segment);
    }

    /// Puts `new` in the place of the sealed segments whose base offsets are in `old`, and returns the replaced
    /// segments, oldest first. Appends may go on meanwhile: the active segment is never replaced.
    ///
    /// Refuses, and returns `new`, unless (a) `old` names at least one sealed segment and not the active one; (b) `new`
    /// is not empty, and its base offsets ascend; (c) its base offsets lie in `old`, from the first replaced segment's
    /// on, so that every other segment keeps its place.
    pub fn replace(&mut self, old: Range<Offset>, new: Vec<Segment>) -> Result<Vec<Segment>, Vec<Segment>> {
        let at = |offset: Offset| self.sealed.partition_point(|segment| segment.base_offset() < offset);
        let replaced = at(old.start)..at(old.end);
        let Some(lowest) = self.sealed.get(replaced.clone()).and_then(<[Segment]>::first) else {
            return Err(new); // (a)
        };
        let allowed = lowest.base_offset()..old.end;
        let is_within = new.iter().all(|segment| allowed.contains(&segment.base_offset())); // (c)
        if old.contains(&self.active.base_offset()) || new.is_empty() || !ascend(&new) || !is_within {
            return Err(new); // (a), (b), (c)
        }
        self.peaks.take();
        Ok(self.sealed.splice(replaced, new).collect())
    }

    /// Takes over the new name of the segments' directory.
    pub fn move_to(&mut self, dir: &Path) {
        self.sealed
            .iter_mut()
            .chain(once(&mut self.active))
            .for_each(|it| it.move_to(dir));
    }

    /// The peaks of the sealed segments behind the segment that holds the log start offset; built when they are
    /// missing.
    pub(super) fn peaks(&self, fs: &dyn FileSystem, log_start_offset: Offset) -> Result<&Peaks> {
        if let Some(peaks) = self.peaks.get() {
            return Ok(peaks);
        }
        let covered = self.sealed_from(self.place_of(log_start_offset) + 1);
        let peaks = peaks_of(fs, covered)?;
        Ok(self.peaks.get_or_init(|| peaks))
    }

    /// Adds the segment that was just sealed to the peaks.
    fn cover_last_sealed(&mut self, fs: &dyn FileSystem, log_start_offset: Offset) {
        let Some(mut peaks) = self.peaks.take() else { return };
        let last = self.sealed.len().saturating_sub(1);
        let is_covered = last > self.place_of(log_start_offset);
        if let Some(segment) = self.sealed.get(last).filter(|_| is_covered) {
            let Ok(max) = segment.max_timestamp(fs) else {
                return; // the next lookup fails likewise, and names the file
            };
            peaks.push_back(segment.base_offset(), max.timestamp);
        }
        self.peaks = peaks.into();
    }

    /// Updates the peaks after the log start offset has moved up: they no longer cover the segment that holds it.
    pub fn on_log_start_offset_incremented(&mut self, fs: &dyn FileSystem, log_start_offset: Offset) {
        let Some(mut peaks) = self.peaks.take() else { return };
        let at = self.place_of(log_start_offset);
        peaks.drop_front(self.holding(log_start_offset).base_offset());
        let until = peaks
            .first()
            .map_or(self.sealed.len(), |base_offset| self.place_of(base_offset));
        let uncovered = self.sealed.get(at + 1..until).unwrap_or_default();
        if let Ok(uncovered) = peaks_of(fs, uncovered) {
            peaks.put_in_front(uncovered);
            self.peaks = peaks.into();
        }
    }
}

fn peaks_of(fs: &dyn FileSystem, segments: &[Segment]) -> Result<Peaks> {
    let mut peaks = Peaks::default();
    for segment in segments {
        peaks.push_back(segment.base_offset(), segment.max_timestamp(fs)?.timestamp);
    }
    Ok(peaks)
}

fn ascend<'s>(segments: impl IntoIterator<Item = &'s Segment>) -> bool {
    segments
        .into_iter()
        .map(Segment::base_offset)
        .is_sorted_by(|a, b| a < b)
}

#[cfg(test)]
#[path = "segments_tests.rs"]
mod tests;
