//! Puts a cleaned segment in the place of its group.
//!
//! Under the log's lock, in Kafka's order, so that either broker finishes what the other began:
//!
//! - (a) the `.cleaned` files become `.swap` files: a start undoes the swap before this step, and finishes it after it;
//! - (b) the group's files become `.deleted` files;
//! - (c) the `.swap` files get their real names.
//!
//! Readers that hold the group's files go on with them. When (a) fails, the group stays and the new files are unlinked.
//! When (b) or (c) fails, memory and disk differ: the log is poisoned, and the next start finishes the swap.
//!
//! Durability: the new files were synced before. [`Swapped::sync`] makes the names durable; a crash before it finds one
//! of the states above.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cleaning::Interrupted;
use super::output::discard;
use super::plan::{Group, Source};
use crate::format::{CLEANED_SUFFIX, SWAP_SUFFIX, with_suffix};
use crate::log::Log;
use crate::retention::Deletion;
use crate::segment::Segment;
use crate::state_file;
use ::io::FileSystem;
use base::error::{Error, Result};
use base::place::Offset;

/// A group, and the segment that is to replace it. Dropped without a swap, the segment's files are unlinked.
pub struct Cleaned {
    fs: Arc<dyn FileSystem>,
    group: Group,
    segment: Option<Segment>,
    /// The log's count of truncations when the cleaning began.
    truncations: u64,
}

impl Cleaned {
    pub(super) fn new(fs: &Arc<dyn FileSystem>, group: Group, segment: Segment, truncations: u64) -> Self {
        Self {
            fs: Arc::clone(fs),
            group,
            segment: Some(segment),
            truncations,
        }
    }

    /// Swaps; see the module. [`Interrupted::Stopped`] when the log has changed since the cleaning began: it was
    /// truncated, closed or moved, or retention has deleted one of the segments.
    pub fn swap_into(mut self, log: &mut Log, now_ms: i64) -> Result<Swapped, Interrupted> {
        if !is_as_planned(log, &self.group, self.truncations) {
            return Err(Interrupted::Stopped);
        }
        let Some(mut segment) = self.segment.take() else {
            return Err(Interrupted::Stopped);
        };
        let fs = Arc::clone(&self.fs);
        let names = fs.hold_names();
        if let Err(error) = segment.rename_suffix(&*fs, CLEANED_SUFFIX, SWAP_SUFFIX) {
            undo(&*fs, &mut segment); // (a)
            return Err(error.into());
        }
        let replaced = log.replace(bounds(&self.group), segment, SWAP_SUFFIX)?; // (b), (c)
        // `is_as_planned` has checked what is refused.
        let paths = replaced.ok_or(Interrupted::Stopped)?;
        let delay_ms = log.config().file_delete_delay_ms;
        let deletion = Deletion::new(Arc::clone(&fs), paths, self.group.len(), now_ms, delay_ms);
        drop(names);
        Ok(Swapped {
            fs: Arc::clone(&self.fs),
            dir: log.dir().to_path_buf(),
            deletion,
        })
    }
}

impl Drop for Cleaned {
    fn drop(&mut self) {
        if let Some(segment) = &mut self.segment {
            discard(&*self.fs, segment);
        }
    }
}

/// A swap that is done, but whose names are not durable yet.
#[must_use = "the names are not durable before the sync, and the replaced files stay until they are unlinked"]
pub struct Swapped {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    deletion: Deletion,
}

impl Swapped {
    /// Makes the names durable. Returns the files to unlink later. May wait; needs no lock.
    pub fn sync(self) -> Result<Deletion> {
        let synced = self.fs.sync_dir(&self.dir);
        synced.map_err(|error| Error::io("fsync", &self.dir, error))?;
        Ok(self.deletion)
    }
}

/// Whether the group's segments are still those of the log, and may be replaced.
pub(super) fn is_as_planned(log: &Log, group: &Group, truncations: u64) -> bool {
    let segments = log.segments();
    let sealed = segments.sealed_from(segments.place_of(bounds(group).start));
    let is_same = |(segment, source): (&Segment, &Source)| {
        segment.base_offset() == source.base_offset && Arc::ptr_eq(&segment.log().file, &source.log.file)
    };
    log.is_settled()
        && log.truncations() == truncations
        && sealed.len() >= group.len()
        && sealed.iter().zip(group).all(is_same)
}

/// The offsets from a group's first segment to the segment behind it.
fn bounds(group: &Group) -> Range<Offset> {
    let first = group.first().map_or(Offset::MAX, |source| source.base_offset);
    first..group.last().map_or(first, |source| source.next_base)
}

/// Unlinks the files of a swap that has not begun, under whichever of the two names they have: the `.swap` files first,
/// since a start that finds those alone takes them for a finished cleaning.
fn undo(fs: &dyn FileSystem, segment: &mut Segment) {
    segment.log().file.retire();
    let paths = segment.file_paths();
    let swap = |path: &PathBuf| {
        let text = path.as_os_str().to_string_lossy().into_owned();
        with_suffix(
            Path::new(text.strip_suffix(CLEANED_SUFFIX).unwrap_or(&text)),
            SWAP_SUFFIX,
        )
    };
    for path in paths.iter().map(swap).chain(paths.iter().cloned()) {
        let _ = state_file::remove(fs, &path); // the next start unlinks what is left
    }
}
