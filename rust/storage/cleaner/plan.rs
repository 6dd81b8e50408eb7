//! The segments that a cleaning reads, and the groups in which it replaces them.
//!
//! The plan is made under the log's lock and holds the open files, so that the cleaning reads without the lock. Small
//! neighbours are grouped, so that segments do not shrink for ever. Groups never change the order of records.

use std::path::PathBuf;
use std::sync::Arc;

use super::cleanable::Cleanable;
use crate::config::LogConfig;
use crate::format::{INDEX_ENTRY, TIME_INDEX_ENTRY};
use crate::log::Log;
use crate::segment::{Segment, SegmentFile};
use crate::wait::Wait;
use ::io::FileSystem;
use base::error::{Error, Result};
use base::place::{Offset, Position};
use index::AbortedTxn;
use record::BATCH_HEADER;

/// A sealed segment as the plan found it.
#[derive(Clone)]
pub struct Source {
    /// Its base offset.
    pub base_offset: Offset,
    /// The base offset of the segment behind it.
    pub next_base: Offset,
    /// Its open `.log` file.
    pub log: Arc<SegmentFile>,
    /// Where its last batch ends.
    pub end: Position,
}

impl Source {
    /// When the file was last changed, in ms; a compacted file has the time of the file that it came from.
    pub fn modified_ms(&self, fs: &dyn FileSystem) -> Result<i64> {
        let metadata = fs.metadata(&self.log.path);
        Ok(metadata
            .map_err(|error| Error::io("stat", &self.log.path, error))?
            .modified_ms)
    }
}

/// Neighbouring segments that one segment replaces; never empty.
pub type Group = Vec<Source>;

/// See the module.
pub struct Plan {
    pub(super) fs: Arc<dyn FileSystem>,
    /// The partition's directory.
    pub(super) dir: PathBuf,
    pub(super) config: Arc<LogConfig>,
    pub(super) cleanable: Cleanable,
    /// Every sealed segment below the first uncleanable offset, oldest first.
    pub(super) sources: Vec<Source>,
    /// The aborted transactions of the dirty part.
    pub(super) aborted: Vec<AbortedTxn>,
    /// The log's count of truncations.
    pub(super) truncations: u64,
    pub(super) now_ms: i64,
}

impl Plan {
    /// Plans the cleaning of what `cleanable` names.
    pub fn of(log: &Log, cleanable: Cleanable, now_ms: i64) -> Result<Self> {
        log.check_writable()?;
        let (contents, segments) = (log.contents(), log.segments());
        let ends = segments.all().skip(1).map(Segment::base_offset);
        let all = segments.all().zip(ends).map(|(segment, next_base)| Source {
            base_offset: segment.base_offset(),
            next_base,
            log: Arc::clone(segment.log()),
            end: segment.end(),
        });
        let (first_dirty, first_uncleanable) = (cleanable.first_dirty, cleanable.first_uncleanable);
        Ok(Self {
            fs: Arc::clone(contents.dir().fs()),
            dir: log.dir().to_path_buf(),
            config: Arc::clone(log.config()),
            cleanable,
            sources: all
                .take_while(|source| source.base_offset < first_uncleanable)
                .collect(),
            aborted: contents.aborted_transactions(first_dirty, first_uncleanable, Wait::Yes)?,
            truncations: log.truncations(),
            now_ms,
        })
    }

    /// The time before which a segment must have been changed last for its tombstones of magic 0 and 1 to go:
    /// `delete.retention.ms` before the last change of the newest clean segment. 0 when none is clean.
    pub(super) fn old_horizon_ms(&self) -> Result<i64> {
        let is_clean = |source: &&Source| source.base_offset < self.cleanable.first_dirty;
        let newest = self.sources.iter().rfind(is_clean);
        let modified_ms = newest.map(|source| source.modified_ms(&*self.fs)).transpose()?;
        Ok(modified_ms.map_or(0, |modified_ms| {
            modified_ms.saturating_sub(self.config.delete_retention_ms)
        }))
    }
}

/// Groups the segments that begin below `end`. Of a group of several segments
///
/// - (a) the bytes fit `segment.bytes`,
/// - (b) the index entries, at most one for each index interval, fit `segment.index.bytes`,
/// - (c) the offsets are at most 2³¹-1 above the group's base offset; an empty segment may be as far as it is.
pub fn group(sources: &[Source], end: Offset, config: &LogConfig) -> Vec<Group> {
    let interval = u64::from(config.index_interval_bytes).max(BATCH_HEADER as u64);
    let entry = INDEX_ENTRY.max(TIME_INDEX_ENTRY) as u64;
    let index_bytes = |source: &Source| (source.end.get() / interval + 1) * entry;
    let mut groups: Vec<Group> = Vec::new();
    let (mut base, mut bytes, mut indexes) = (Offset(0), 0, 0);
    for source in sources.iter().take_while(|source| source.base_offset < end) {
        let fits = bytes + source.end.get() <= u64::from(config.segment_bytes) // (a)
            && indexes + index_bytes(source) <= u64::from(config.segment_index_bytes) // (b)
            && (source.end == Position::START || source.next_base - 1 - base <= i64::from(i32::MAX)); // (c)
        match groups.last_mut() {
            Some(group) if fits => group.push(source.clone()),
            _ => {
                groups.push(vec![source.clone()]);
                (base, bytes, indexes) = (source.base_offset, 0, 0);
            }
        }
        bytes += source.end.get();
        indexes += index_bytes(source);
    }
    groups
}
