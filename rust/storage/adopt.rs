//! Adopting a segment that a bulk load has built: an append of a whole file, by a rename.
//!
//! The caller holds the log's lock; the file was checked before, without the lock ([`super::staged`]). Steps:
//!
//! - (a) the producer: the segment must continue what the log has of the load, else it is refused;
//! - (b) the active segment's indexes are written, and a snapshot of the producers is taken at the log's end, as for a
//!   roll; nothing of this step when the active segment is empty;
//! - (c) the batches get their offsets and the leader epoch; nothing of this step when they have both already;
//! - (d) the file gets its name in the log's directory. The file of an empty active segment has the same name, and is
//!   replaced;
//! - (e) in memory the segment becomes the active one, with index entries made from its headers. They are written when
//!   the segment is sealed. Nothing of this step can fail.
//!
//! A crash before (d) leaves the log as it was, and a staged directory that the next start removes. A crash after (d)
//! leaves a log whose last segment is the adopted one, without index files: above the recovery point a start reads
//! every batch and builds the indexes from them. There is no state in between, since a rename is atomic. An error
//! before (d) changes nothing that an append relies on, so the call may be repeated.
//!
//! Durability: that of an append: none on return. The next flush syncs the file and the directory before it moves the
//! recovery point.

use std::io::ErrorKind;
use std::sync::Arc;

use super::append::{AppendError, Appended};
use super::contents::Contents;
use super::header_scan::HeaderScan;
use super::producer_state::ProducerState;
use super::segment::{Segment, SegmentFile};
use super::segments::Segments;
use super::settings::Settings;
use super::staged::{StagedSegment, failed};
use base::error::{Error, ErrorCode, Result};
use base::place::{LeaderEpoch, Offset, Position};
use record::{BatchHeader, Rejection};

/// What a log has of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loaded {
    /// The epoch of the load's producer that wrote last.
    pub producer_epoch: i16,
    /// Records of the load in the log: the next record has this sequence.
    pub records: i32,
    /// The offset of the load's last record; -1 without records.
    pub last_offset: Offset,
}

impl Loaded {
    /// Nothing.
    pub const NOTHING: Self = Self {
        producer_epoch: -1,
        records: 0,
        last_offset: Offset::NONE,
    };

    /// What the log has of the load of this producer; `None` when the producer is not known: it has not written here,
    /// or was idle for `producer.id.expiration.ms` by the timestamps of its records.
    pub fn of(producers: &ProducerState, producer_id: i64) -> Option<Self> {
        producers.entry(producer_id).map(|entry| Self {
            producer_epoch: entry.producer_epoch,
            records: entry.last_sequence() + 1,
            last_offset: entry.last_data_offset(),
        })
    }

    /// Refuses a load that was begun again since, with a later producer epoch.
    pub fn check_epoch(&self, producer_epoch: i16) -> Result<(), Rejection> {
        if producer_epoch >= self.producer_epoch {
            return Ok(());
        }
        let message = format!(
            "the load's producer epoch is {producer_epoch}, but the load was begun again with epoch {}",
            self.producer_epoch
        );
        Err(Rejection::new(ErrorCode::INVALID_PRODUCER_EPOCH, message))
    }
}

/// Step (a) of the module: the segment must be the next of its load. `before` is what the log has of the load, for a
/// producer that it does not know any more.
pub(super) fn check_next(staged: &StagedSegment, producers: &ProducerState, before: Loaded) -> Result<(), Rejection> {
    let (producer_id, producer_epoch) = staged.producer();
    let loaded = Loaded::of(producers, producer_id).unwrap_or(before);
    loaded.check_epoch(producer_epoch)?;
    let (records, first_sequence) = (loaded.records, staged.first_sequence());
    if first_sequence != records {
        let message =
            format!("the log has {records} records of the load, and the segment begins with record {first_sequence}");
        return Err(Rejection::new(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, message));
    }
    Ok(())
}

/// The segments in which to look for the records of a load, by the headers of all batches; needs no lock.
pub struct LoadSearch {
    producer_id: i64,
    /// Newest first.
    segments: Vec<(Arc<SegmentFile>, Position)>,
}

impl LoadSearch {
    /// The segments in which the records of this producer's load may be.
    pub fn of(segments: &Segments, producer_id: i64) -> Self {
        let with_end = |segment: &Segment| (Arc::clone(segment.log()), segment.end());
        Self {
            producer_id,
            segments: segments.all().rev().map(with_end).collect(),
        }
    }

    /// What these segments have of the load, and the offset of the first of its records that they have. A file that was
    /// deleted meanwhile has nothing. May wait for the disk.
    pub fn run(self) -> Result<Option<(Loaded, Offset)>> {
        let mut found = None;
        for (log, end) in &self.segments {
            let Some((first, last)) = self.ends_in(log, *end)? else {
                continue;
            };
            let (loaded, _) = found.unwrap_or((
                Loaded {
                    producer_epoch: last.producer_epoch,
                    records: last.last_sequence() + 1,
                    last_offset: last.last_offset(),
                },
                first.base_offset,
            ));
            found = Some((loaded, first.base_offset));
            if first.base_sequence == 0 {
                break;
            }
        }
        Ok(found)
    }

    /// The load's first and last batch in a segment.
    fn ends_in(&self, log: &SegmentFile, end: Position) -> Result<Option<(BatchHeader, BatchHeader)>> {
        let mut scan = HeaderScan::new(&*log.file, &log.path, Position::START, end);
        let mut ends: Option<(BatchHeader, BatchHeader)> = None;
        loop {
            match scan.next_header() {
                Ok(Some((_, header))) if header.producer_id == self.producer_id => {
                    ends = Some((ends.map_or(header, |(first, _)| first), header));
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(ends),
                Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Steps (b) to (e) of the module, for a log that has its files.
pub(super) fn take_in(
    staged: &mut StagedSegment,
    leader_epoch: LeaderEpoch,
    now_ms: i64,
    contents: &mut Contents,
    settings: &Settings,
) -> Result<Appended, AppendError> {
    let first_offset = contents.offsets().end();
    if contents.segments().active().base_offset() != first_offset {
        contents.prepare_roll(first_offset)?; // (b)
    }
    staged.place(first_offset, leader_epoch)?; // (c)
    let (fs, dir) = (Arc::clone(contents.dir().fs()), contents.dir().path());
    let mut segment = Segment::of_file(dir, first_offset, staged.file(), now_ms);
    for (position, header) in staged.placed_at(first_offset, leader_epoch) {
        segment.note(&header, position, settings.config().index_interval_bytes);
    }
    let names = fs.hold_names();
    let renamed = fs.rename(staged.path(), &segment.log().path); // (d)
    renamed.map_err(|error| failed("rename", staged.path(), error))?;
    staged.file().moved_to(&segment.log().path);
    drop(names);
    let headers = staged.placed_at(first_offset, leader_epoch).map(|(_, header)| header);
    contents.take_in(segment, headers); // (e)
    let offsets = contents.offsets();
    Ok(Appended {
        first_offset,
        last_offset: offsets.end() - 1,
        log_append_time_ms: -1,
        log_start_offset: offsets.start(),
        is_duplicate: false,
        needs_flush: settings.is_flush_due(offsets),
    })
}

#[cfg(test)]
#[path = "adopt_tests.rs"]
mod tests;
