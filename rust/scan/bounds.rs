//! The range of a partition that may be read, and the offsets that the caller's bounds mean.
//!
//! The upper limit is the high watermark: given by a broker, or from the checkpoint of the log directory (up to 5 s old
//! beside a live broker, never too high; what a cleaner has passed is below it too), or, in a directory without that
//! file (a bare copy), the end of the log. The limit is never past the last whole batch. Timestamps mean the same as in
//! `ListOffsets`: the first offset whose timestamp is at least the one given.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use super::chain::{ChainEnd, Damage};
use super::segments::{Listing, OpenSegment};
use super::{Result, ScanError};
use ::io::FileSystem;
use base::place::{Offset, Position};
use storage::TopicPartition;
use storage::checkpoint::read_offset_checkpoint;
use storage::format::{CLEANER_OFFSET_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT, REPLICATION_OFFSET_CHECKPOINT};

/// One end of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The log start offset.
    Earliest,
    /// The end of the range that may be read.
    Latest,
    /// This offset.
    Offset(Offset),
    /// The first offset whose timestamp is at least this, in ms; the end when there is none.
    Timestamp(i64),
}

impl Bound {
    /// A bound as Python writes it: ("offset", n), -2 for the earliest and -1 for the latest, or ("timestamp", ms).
    /// `which` is "start" or "end", for the message.
    pub fn parse(which: &str, kind: &str, value: i64) -> Result<Self> {
        match (kind, value) {
            ("offset", -2) => Ok(Self::Earliest),
            ("offset", -1) => Ok(Self::Latest),
            ("offset", 0..) => Ok(Self::Offset(Offset(value))),
            ("timestamp", _) => Ok(Self::Timestamp(value)),
            ("offset", _) => Err(ScanError::Invalid(format!(
                "{which}: {value} is no offset; give one from 0, -2 for the earliest or -1 for the latest"
            ))),
            _ => Err(ScanError::Invalid(format!(
                "{which}: {kind} is no kind of bound; give \"offset\" or \"timestamp\""
            ))),
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Earliest => f.write_str("earliest"),
            Self::Latest => f.write_str("latest"),
            Self::Offset(offset) => write!(f, "offset {offset}"),
            Self::Timestamp(ms) => write!(f, "timestamp {ms}"),
        }
    }
}

/// The offsets that a broker reports for a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermarks {
    /// First offset that may be read.
    pub log_start_offset: Offset,
    /// One past the last offset that may be read under `read_uncommitted`.
    pub high_watermark: Offset,
    /// One past the last offset that may be read under `read_committed`.
    pub last_stable_offset: Offset,
}

/// The checkpoints of one log directory.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    log_starts: HashMap<TopicPartition, Offset>,
    /// `None` without a file: it is not known which records are committed.
    high_watermarks: Option<HashMap<TopicPartition, Offset>>,
    /// Up to where logs were cleaned: committed records, which may be all that is left of their keys.
    cleaned: HashMap<TopicPartition, Offset>,
}

impl Checkpoints {
    /// Reads both checkpoints before the segments are listed, so that the segments of their offsets are on disk by
    /// then.
    pub fn read(fs: &dyn FileSystem, log_dir: &Path) -> Result<Self> {
        let read = |path: &Path| Ok::<_, ScanError>(read_offset_checkpoint(fs, path)?.into_iter().collect());
        let path = log_dir.join(REPLICATION_OFFSET_CHECKPOINT);
        Ok(Self {
            high_watermarks: if fs.exists(&path) { Some(read(&path)?) } else { None },
            log_starts: read(&log_dir.join(LOG_START_OFFSET_CHECKPOINT))?,
            cleaned: read(&log_dir.join(CLEANER_OFFSET_CHECKPOINT))?,
        })
    }

    fn log_start(&self, partition: &TopicPartition) -> Offset {
        self.log_starts.get(partition).copied().unwrap_or_default()
    }

    /// `Offset::MAX` when unknown. A partition that is not in the file yet has nothing committed.
    pub fn high_watermark(&self, partition: &TopicPartition) -> Offset {
        let in_file = |file: &HashMap<_, _>| file.get(partition).copied().unwrap_or_default();
        let known = self.high_watermarks.as_ref();
        known.map_or(Offset::MAX, |known| in_file(known).max(in_file(&self.cleaned)))
    }
}

/// The range that may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// First offset.
    pub log_start_offset: Offset,
    /// One past the last whole batch below the high watermark.
    pub end: Offset,
    /// How far the log must reach, at least `end`: the records between are lost. `end` where that is not known.
    pub due: Offset,
}

impl Limits {
    /// The range of a partition, from the watermarks of a broker or from its files; with the damage, if any, that ends
    /// it before it is due.
    pub(super) fn of(
        fs: &dyn FileSystem,
        listing: &Listing,
        checkpoints: &Checkpoints,
        partition: &TopicPartition,
        given: Option<Watermarks>,
    ) -> Result<(Self, Option<Damage>)> {
        let (log_start, high_watermark) = match given {
            Some(given) => (given.log_start_offset, given.high_watermark),
            None => (checkpoints.log_start(partition), checkpoints.high_watermark(partition)),
        };
        let first = listing
            .segments
            .first()
            .map_or(Offset(0), |segment| segment.base_offset);
        let log_start_offset = log_start.max(first);
        let reach = Reach::below(fs, listing, high_watermark)?;
        let end = reach.end.max(log_start_offset);
        let limits = Self {
            log_start_offset,
            end,
            due: reach.due.max(end),
        };
        Ok((limits, reach.damage.filter(|_| limits.is_short())))
    }

    /// Whether records are missing below the high watermark.
    pub const fn is_short(&self) -> bool {
        self.end.get() < self.due.get()
    }
}

/// How far a log reaches below a high watermark.
struct Reach {
    /// One past the last whole batch below it.
    end: Offset,
    /// How far the log must reach.
    due: Offset,
    /// The damage that hides what follows.
    damage: Option<Damage>,
}

impl Reach {
    /// In a segment that is sealed offsets may be missing at the end: compaction. In the active one none are missing
    /// below the high watermark.
    fn below(fs: &dyn FileSystem, listing: &Listing, high_watermark: Offset) -> Result<Self> {
        let Some(at) = listing.index_of(high_watermark) else {
            return Ok(Self::whole(Offset(0)));
        };
        let segment = listing.segments[at].open(fs)?;
        if high_watermark == Offset::MAX {
            return Ok(Self::whole(segment.last_good()?));
        }
        if high_watermark <= segment.segment.base_offset {
            return Ok(Self::whole(high_watermark));
        }
        let place = segment.locate(high_watermark, high_watermark)?;
        if let Some(header) = place.header {
            return Ok(Self::whole(header.base_offset.min(high_watermark)));
        }
        if place.end == ChainEnd::Neighbour || place.end == ChainEnd::Bytes && !segment.segment.is_last() {
            return Ok(Self::whole(high_watermark));
        }
        Ok(Self {
            end: place.next_offset.min(high_watermark),
            due: high_watermark,
            damage: place.damage.filter(|_| place.end == ChainEnd::Damage),
        })
    }

    const fn whole(end: Offset) -> Self {
        Self {
            end,
            due: end,
            damage: None,
        }
    }
}

/// A search for a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeSearch {
    /// The least timestamp.
    pub target: i64,
    /// The offset found is where reading begins, and not where it ends.
    pub is_start: bool,
    /// Batches that cannot be read are passed over; in front of a start they are read, so that the reader names them.
    pub ignores_damage: bool,
}

/// The first offset in `limits` whose timestamp is at least that of the search, if any.
pub(super) fn first_at_least(
    fs: &dyn FileSystem,
    listing: &Listing,
    partition: &TopicPartition,
    limits: Limits,
    search: TimeSearch,
) -> Result<Option<Offset>> {
    for segment in &listing.segments {
        if segment.next_base_offset <= limits.log_start_offset || segment.base_offset >= limits.end {
            continue;
        }
        let segment = segment.open(fs)?;
        let end = end_position(&segment, limits.end, limits.end)?;
        match segment.max_timestamp(fs, end) {
            Ok(max) if max < search.target => continue,
            Ok(_) | Err(ScanError::Corrupt { .. }) => {}
            Err(error) => return Err(error),
        }
        if let Some(found) = first_in(fs, &segment, partition, (limits, end), search)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Where the readable bytes of a segment end; no batch below `limit` is being written any more.
pub(super) fn end_position(segment: &OpenSegment<'_>, end_offset: Offset, limit: Offset) -> Result<Position> {
    if segment.segment.next_base_offset <= end_offset {
        return Ok(segment.end());
    }
    segment.end_position_of(end_offset, limit)
}

fn first_in(
    fs: &dyn FileSystem,
    segment: &OpenSegment<'_>,
    partition: &TopicPartition,
    (limits, end): (Limits, Position),
    search: TimeSearch,
) -> Result<Option<Offset>> {
    let wanted = limits.log_start_offset..limits.end;
    let damaged = |damage: Damage| {
        if !search.ignores_damage {
            return Err(damage.error(partition));
        }
        let from = damage.offset.max(wanted.start);
        Ok(Some(from).filter(|from| search.is_start && *from < wanted.end))
    };
    let start = segment.start_for_timestamp(fs, search.target)?;
    let mut chain = segment.chain(start, end, limits.end);
    loop {
        let next = chain.next_header()?;
        if let Some(damage) = chain.take_damage().filter(|_| chain.end() != Some(ChainEnd::Neighbour))
            && let Some(from) = damaged(damage)?
        {
            return Ok(Some(from));
        }
        let Some((position, header)) = next else {
            return Ok(None);
        };
        let is_wanted = header.max_timestamp >= search.target && header.last_offset() >= wanted.start;
        if !is_wanted || header.base_offset >= wanted.end && !header.is_wrapper() {
            continue;
        }
        let mut found = None;
        let read = segment.each_record(position, &header, |offset, timestamp| {
            if timestamp >= search.target && wanted.contains(&offset) {
                found = Some(offset);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        match read {
            Err(ScanError::Corrupt { path, position, reason }) => {
                let offset = header.base_offset;
                found = damaged(Damage {
                    path,
                    position,
                    offset,
                    reason,
                })?;
            }
            read => read?,
        }
        if found.is_some() {
            return Ok(found);
        }
    }
}

#[cfg(test)]
#[path = "bounds_tests.rs"]
mod tests;
