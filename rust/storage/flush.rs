//! Making the log durable, without holding its lock while the disk works.
//!
//! [`Log::begin_flush`] lists the unflushed files, [`FlushJob::run`] syncs them, [`Log::complete_flush`] moves the
//! recovery point. Appends go on meanwhile, and one job covers all appends that came before it: group commit.
//!
//! Durability: when `complete_flush` has returned `Ok`, every record below the new recovery point survives a power
//! loss, with the index files of sealed segments and the leader epochs. A failed sync is never repeated: the page cache
//! may have dropped the bytes that it could not write, so the log is poisoned. A job that could not open a file may be
//! repeated.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::{INDEX_SUFFIX, PARTITION_METADATA, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, file_path};
use super::leader_epochs::EpochFlush;
use super::log::Log;
use super::segment::{Segment, SegmentFile};
use super::syncs::Mark;
use ::io::{FileSystem, OpenMode};
use base::error::{Error, Result};
use base::place::Offset;

/// The files that must be synced; see the module.
pub struct FlushJob {
    pub(super) fs: Arc<dyn FileSystem>,
    pub(super) dir: PathBuf,
    pub(super) logs: Vec<Arc<SegmentFile>>,
    /// Base offsets of the segments whose index files the job syncs.
    indexes: Vec<Offset>,
    pub(super) epochs: Option<EpochFlush>,
    /// Files were created in the directory since its last sync.
    needs_dir: bool,
    /// The directory itself is new.
    needs_parent: bool,
    pub(super) flushed: Flushed,
}

/// The result of a job: what it has made durable.
#[derive(Debug)]
pub struct Flushed {
    offset: Offset,
    mark: Mark,
    epochs: Option<EpochFlush>,
}

impl Flushed {
    /// The offset below which every record is durable.
    pub fn offset(&self) -> Offset {
        self.offset
    }
}

impl Log {
    /// Makes the job for the unflushed files. Cheap. A log without a directory has nothing to flush, not even the epoch
    /// of its first leader.
    pub fn begin_flush(&self) -> FlushJob {
        // While a truncation is unfinished no record is flushed: the truncation is going to remove records.
        let end = match self.standing.unfinished() {
            Some(_) => self.offsets.recovery_point(),
            None => self.offsets.end(),
        };
        let is_clean = self.offsets.recovery_point() >= end;
        let from = if is_clean {
            self.segments.count()
        } else {
            self.segments.place_of(self.offsets.recovery_point())
        };
        // The flush that reached the recovery point left the indexes of the active segment, which may be sealed by now.
        let indexes_from = if is_clean {
            from
        } else {
            self.segments.place_of(self.offsets.recovery_point() - 1)
        };
        let epochs = self.is_materialised().then(|| self.epochs.begin_flush()).flatten();
        // A job without files syncs no directory.
        let mark = self.syncs.mark(!is_clean || epochs.is_some());
        FlushJob {
            fs: self.fs(),
            dir: self.dir.clone(),
            logs: self
                .segments
                .all_from(from)
                .filter(|segment| segment.size() > 0)
                .map(|it| Arc::clone(it.log()))
                .collect(),
            indexes: self
                .segments
                .sealed_from(indexes_from)
                .iter()
                .map(Segment::base_offset)
                .collect(),
            epochs,
            needs_dir: self.syncs.needs_dir(),
            needs_parent: self.is_materialised() && self.syncs.is_new(),
            flushed: Flushed {
                offset: end,
                mark,
                epochs: None,
            },
        }
    }

    /// Records the outcome of a job. Returns its error, which poisons the log. A job that a truncation overtook does
    /// not move the recovery point.
    pub fn complete_flush(&mut self, flushed: Result<Flushed>) -> Result<()> {
        match flushed {
            Ok(flushed) => {
                if let Some(epochs) = &flushed.epochs {
                    self.epochs.complete_flush(epochs);
                }
                if self.syncs.complete(flushed.mark) {
                    self.offsets.flushed_to(flushed.offset);
                }
                Ok(())
            }
            Err(error) => {
                // Nothing was lost when a file could not be opened: the next job syncs all of it again.
                self.standing.note_failure(&error);
                Err(error)
            }
        }
    }

    /// All three steps, for callers that may wait under the lock.
    pub fn flush(&mut self) -> Result<()> {
        self.settle()?;
        let flushed = self.begin_flush().run();
        self.complete_flush(flushed)
    }
}

impl FlushJob {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.logs.is_empty() && self.epochs.is_none()
    }

    /// The offset below which every record will be durable.
    pub fn offset(&self) -> Offset {
        self.flushed.offset
    }

    /// Adds the active segment's index files, which are complete because the log closes.
    pub(super) fn with_active_indexes(mut self, log: &Log) -> Self {
        self.indexes.push(log.segments.active().base_offset());
        self
    }

    /// Syncs. Call it without the log's lock; jobs of one log one after the other.
    pub fn run(self) -> Result<Flushed> {
        for log in &self.logs {
            log.file
                .sync_data()
                .map_err(|error| Error::io("fsync", &log.path, error))?;
        }
        for base_offset in &self.indexes {
            for suffix in [INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX] {
                sync_if_there(&*self.fs, &file_path(&self.dir, *base_offset, suffix))?;
            }
        }
        if self.needs_parent {
            sync_if_there(&*self.fs, &self.dir.join(PARTITION_METADATA))?;
        }
        if let Some(epochs) = &self.epochs {
            epochs.run(&*self.fs, &self.dir)?;
        } else if self.needs_dir && !self.logs.is_empty() {
            self.fs
                .sync_dir(&self.dir)
                .map_err(|error| Error::io("fsync", &self.dir, error))?;
        }
        if let (true, Some(parent)) = (self.needs_parent, self.dir.parent()) {
            self.fs
                .sync_dir(parent)
                .map_err(|error| Error::io("fsync", parent, error))?;
        }
        Ok(self.done())
    }

    /// The result of a job whose files are all synced.
    pub(super) fn done(self) -> Flushed {
        Flushed {
            epochs: self.epochs,
            ..self.flushed
        }
    }
}

/// Syncs a file; a file that retention has deleted meanwhile needs no sync.
fn sync_if_there(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    let file = match fs.open(path, OpenMode::ReadWrite) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.map_err(|error| Error::io("open", path, error))?,
    };
    file.sync_data().map_err(|error| Error::io("fsync", path, error))
}

#[cfg(test)]
#[path = "flush_tests.rs"]
mod tests;
