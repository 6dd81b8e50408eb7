//! Making the log durable, without holding its lock while the disk works.
//!
//! `Log::begin_flush` lists the unflushed files, [`FlushJob::run`] syncs them, `Log::complete_flush` moves the recovery
//! point. Appends go on meanwhile, and one job covers all appends that came before it: group commit.
//!
//! Durability: when `complete_flush` has returned `Ok`, every record below the new recovery point survives a power
//! loss, with the index files of sealed segments and the leader epochs. A failed sync is never repeated: the page cache
//! may have dropped the bytes that it could not write, so the log is poisoned. A job that could not open a file may be
//! repeated.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::contents::Contents;
use super::format::{INDEX_SUFFIX, PARTITION_METADATA, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, file_path};
use super::leader_epochs::EpochFlush;
use super::segment::{Segment, SegmentFile};
use super::syncs::{Mark, Syncs};
use ::io::{FileSystem, OpenMode, Volume};
use base::error::{Error, Result};
use base::place::Offset;

/// The files that must be synced; see the module.
pub struct FlushJob {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    logs: Vec<Arc<SegmentFile>>,
    /// Base offsets of the segments whose index files the job syncs.
    indexes: Vec<Offset>,
    epochs: Option<EpochFlush>,
    /// Files were created in the directory since its last sync.
    needs_dir: bool,
    /// The directory itself is new.
    needs_parent: bool,
    flushed: Flushed,
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

    /// The counters that the flush covers.
    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    /// The epochs whose file was written.
    pub(super) fn epochs(&self) -> Option<&EpochFlush> {
        self.epochs.as_ref()
    }
}

impl FlushJob {
    /// The job for the unflushed files of the records below `end`. Cheap. A log without a directory has nothing to
    /// flush, not even the epoch of its first leader.
    pub(super) fn of(contents: &Contents, syncs: &Syncs, end: Offset, is_materialised: bool) -> Self {
        let (segments, recovery_point) = (contents.segments(), contents.offsets().recovery_point());
        let is_clean = recovery_point >= end;
        // The flush that reached the recovery point left the indexes of the active segment, which may be sealed by now.
        let (from, indexes_from) = if is_clean {
            (segments.count(), segments.count())
        } else {
            (segments.place_of(recovery_point), segments.place_of(recovery_point - 1))
        };
        let epochs = is_materialised.then(|| contents.epochs().begin_flush()).flatten();
        let sealed = segments.sealed_from(indexes_from).iter();
        let written = segments.all_from(from).filter(|segment| segment.size() > 0);
        Self {
            fs: Arc::clone(contents.dir().fs()),
            dir: contents.dir().path().to_path_buf(),
            logs: written.map(|segment| Arc::clone(segment.log())).collect(),
            indexes: sealed.map(Segment::base_offset).collect(),
            needs_dir: syncs.needs_dir(),
            needs_parent: is_materialised && syncs.is_new(),
            flushed: Flushed {
                offset: end,
                // A job without files syncs no directory.
                mark: syncs.mark(!is_clean || epochs.is_some()),
                epochs: None,
            },
            epochs,
        }
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.logs.is_empty() && self.epochs.is_none()
    }

    /// The offset below which every record will be durable.
    pub fn offset(&self) -> Offset {
        self.flushed.offset
    }

    /// Adds the active segment's index files, which are complete because the log closes, unless it is empty.
    pub(super) fn with_indexes_of(mut self, active: &Segment) -> Self {
        self.indexes.extend((active.size() > 0).then(|| active.base_offset()));
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

    /// Whether the job writes the file of the leader epochs.
    pub(super) fn has_epochs(&self) -> bool {
        self.epochs.is_some()
    }

    /// Whether a sync of the volume covers all batches of the job.
    pub(super) fn is_within(&self, volume: &dyn Volume) -> bool {
        self.logs.iter().all(|log| volume.holds(&*log.file))
    }

    /// Writes the epochs beside their old file.
    pub(super) fn write_epochs_aside(&self) -> Result<()> {
        let epochs = self.epochs.as_ref();
        epochs.map_or(Ok(()), |epochs| epochs.write_aside(&*self.fs, &self.dir))
    }

    /// Gives the epochs that were written aside, and synced, the name of their file.
    pub(super) fn put_epochs_in_place(&self) -> Result<()> {
        let epochs = self.epochs.as_ref();
        epochs.map_or(Ok(()), |epochs| epochs.put_in_place(&*self.fs, &self.dir))
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
