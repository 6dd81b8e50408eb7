//! The directory of one log: its file system, its path and the partition whose records it has.
//!
//! A file that may be closed and opened again by its name (`io::kept`) is retired, or gets its new name, before another
//! thread may open the old one: the calls here, and their callers where it is said, hold [`FileSystem::hold_names`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::segment::Segment;
use super::state_file;
use super::topic_partition::TopicPartition;
use ::io::{File, FileSystem};
use base::error::{Error, Result};
use base::place::Offset;

/// See the module.
pub struct PartitionDir {
    fs: Arc<dyn FileSystem>,
    path: PathBuf,
    partition: TopicPartition,
}

impl PartitionDir {
    /// Touches no file.
    pub fn new(fs: &Arc<dyn FileSystem>, path: &Path, partition: TopicPartition) -> Self {
        Self {
            fs: Arc::clone(fs),
            path: path.to_path_buf(),
            partition,
        }
    }

    /// The file system that holds the log's files.
    #[inline]
    pub fn fs(&self) -> &Arc<dyn FileSystem> {
        &self.fs
    }

    /// Where the directory is, or is going to be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The partition.
    pub fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// Renames the directory within its parent directory. The caller holds the names, and moves the segments too.
    pub(super) fn rename_to(&mut self, to: &Path) -> Result<()> {
        let renamed = self.fs.rename(&self.path, to);
        renamed.map_err(|error| Error::io("rename", &self.path, error))?;
        self.path = to.to_path_buf();
        Ok(())
    }

    /// Unlinks the files of a segment.
    pub(super) fn unlink(&self, segment: &Segment) -> Result<()> {
        let names = self.fs.hold_names();
        segment.log().file.retire();
        drop(names); // unlinking a large file takes a while
        Segment::paths(&self.path, segment.base_offset())
            .iter()
            .try_for_each(|path| state_file::remove(&*self.fs, path))
    }

    /// Renames the files of the segment at `base_offset`, whose `.log` is `file`, to `.deleted`; returns the new paths.
    /// The caller holds the names.
    pub(super) fn set_aside(&self, base_offset: Offset, file: &dyn File) -> Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for path in Segment::paths(&self.path, base_offset) {
            paths.extend(state_file::rename_to_deleted(&*self.fs, &path)?);
            file.retire(); // the first of the paths is its own
        }
        Ok(paths)
    }
}
