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
use super::format::{LOG_SUFFIX, file_path};
use super::header_scan::HeaderScan;
use super::log::Log;
use super::producer_state::ProducerEntry;
use super::segment::{Segment, SegmentFile};
use super::staged::{StagedSegment, failed};
use super::state_file::Durability;
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

    fn of(entry: &ProducerEntry) -> Self {
        Self {
            producer_epoch: entry.producer_epoch,
            records: entry.last_sequence() + 1,
            last_offset: entry.last_data_offset(),
        }
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

    /// Whether a segment of this producer epoch that begins with this sequence is next.
    fn check_next(&self, producer_epoch: i16, first_sequence: i32) -> Result<(), Rejection> {
        self.check_epoch(producer_epoch)?;
        if first_sequence != self.records {
            let message = format!(
                "the log has {} records of the load, and the segment begins with record {first_sequence}",
                self.records
            );
            return Err(Rejection::new(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, message));
        }
        Ok(())
    }
}

/// The segments in which to look for the records of a load, by the headers of all batches; needs no lock.
pub struct LoadSearch {
    producer_id: i64,
    /// Newest first.
    segments: Vec<(Arc<SegmentFile>, Position)>,
}

impl LoadSearch {
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

impl Log {
    /// The segments in which the records of this producer's load may be.
    pub fn search_load(&self, producer_id: i64) -> LoadSearch {
        let with_end = |segment: &Segment| (Arc::clone(segment.log()), segment.end());
        LoadSearch {
            producer_id,
            segments: self.segments.all().rev().map(with_end).collect(),
        }
    }

    /// What the log has of the load of this producer; `None` when the producer is not known: it has not written here,
    /// or was idle for `producer.id.expiration.ms` by the timestamps of its records.
    pub fn loaded(&self, producer_id: i64) -> Option<Loaded> {
        self.producers.entry(producer_id).map(Loaded::of)
    }

    /// Adopts the segment, as the partition's leader; see the module. `before` is what the log has of the load, for a
    /// producer that the log does not know any more.
    pub fn adopt(
        &mut self,
        staged: &mut StagedSegment,
        before: Loaded,
        leader_epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<Appended, AppendError> {
        self.settle()?;
        let (producer_id, producer_epoch) = staged.producer();
        let loaded = self.loaded(producer_id).unwrap_or(before);
        loaded.check_next(producer_epoch, staged.first_sequence())?; // (a)
        if !self.is_materialised() {
            self.materialise()?;
        }
        let first_offset = self.offsets.end();
        let replaces_active = self.segments.active().base_offset() == first_offset;
        let fs = self.fs();
        if !replaces_active {
            self.segments.active_mut().write_indexes(&*fs)?; // (b)
            self.producers
                .take_snapshot(&*fs, &self.dir, first_offset, Durability::Lazy)?;
        }
        staged.place(first_offset, leader_epoch)?; // (c)
        let segment = self.adopted(staged, first_offset, leader_epoch, now_ms);
        let path = file_path(&self.dir, first_offset, LOG_SUFFIX);
        let names = fs.hold_names();
        let renamed = fs.rename(staged.path(), &path); // (d)
        renamed.map_err(|error| failed("rename", staged.path(), error))?;
        staged.file().moved_to(&path);
        drop(names);
        self.take_in(staged, segment, replaces_active, leader_epoch); // (e)
        Ok(Appended {
            first_offset,
            last_offset: self.offsets.end() - 1,
            log_append_time_ms: -1,
            log_start_offset: self.offsets.start(),
            is_duplicate: false,
            needs_flush: self.is_flush_due(),
        })
    }

    /// The segment as it is to be in memory.
    fn adopted(&self, staged: &StagedSegment, base_offset: Offset, leader_epoch: LeaderEpoch, now_ms: i64) -> Segment {
        let mut segment = Segment::of_file(&self.dir, base_offset, staged.file(), now_ms);
        for (position, header) in staged.placed_at(base_offset, leader_epoch) {
            segment.note(&header, position, self.config.index_interval_bytes);
        }
        segment
    }

    /// (e)
    fn take_in(
        &mut self,
        staged: &StagedSegment,
        mut segment: Segment,
        replaces_active: bool,
        leader_epoch: LeaderEpoch,
    ) {
        let (first_offset, fs) = (segment.base_offset(), self.fs());
        if replaces_active {
            // It knows whether a file of that name is to be cut.
            std::mem::swap(&mut segment.txn_index, &mut self.segments.active_mut().txn_index);
            self.segments.replace_active(segment).log().file.retire();
        } else {
            self.segments.active_mut().seal();
            self.segments.push(&*fs, segment, self.offsets.start());
        }
        if Some(leader_epoch) != self.epochs.latest_epoch() {
            self.epochs.assign(leader_epoch, first_offset);
        }
        for (_, header) in staged.placed_at(first_offset, leader_epoch) {
            self.offsets.end_at(header.next_offset());
            self.producers.update(&header, None);
        }
        self.syncs.note_name();
        self.choose_jitter();
    }
}

#[cfg(test)]
#[path = "adopt_tests.rs"]
mod tests;
