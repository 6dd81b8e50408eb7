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

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cleaning::Interrupted;
use super::output::discard;
use super::plan::{Group, Source};
use crate::format::{CLEANED_SUFFIX, SWAP_SUFFIX, with_suffix};
use crate::log::Log;
use crate::retention::{Deletion, rename_to_deleted};
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

impl Log {
    /// Swaps; see the module. [`Interrupted::Stopped`] when the log has changed since the cleaning began: it was
    /// truncated, closed or moved, or retention has deleted one of the segments.
    pub fn swap_in(&mut self, mut cleaned: Cleaned, now_ms: i64) -> Result<Swapped, Interrupted> {
        if !self.is_as_planned(&cleaned.group, cleaned.truncations) {
            return Err(Interrupted::Stopped);
        }
        let Some(mut segment) = cleaned.segment.take() else {
            return Err(Interrupted::Stopped);
        };
        let fs = self.fs();
        let names = fs.hold_names();
        if let Err(error) = segment.rename_suffix(&*fs, CLEANED_SUFFIX, SWAP_SUFFIX) {
            undo(&*fs, &mut segment); // (a)
            return Err(error.into());
        }
        let renamed = self.rename_group(&*fs, &cleaned.group).and_then(|paths| {
            segment.rename_suffix(&*fs, SWAP_SUFFIX, "")?; // (c)
            Ok(paths)
        });
        drop(names);
        let paths = renamed.inspect_err(|_| self.poison())?;
        let (from, to) = bounds(&cleaned.group);
        if self.segments.replace(from..to, vec![segment]).is_err() {
            // `is_as_planned` has checked what `replace` refuses; the disk has the new segment.
            self.poison();
            return Err(Interrupted::Stopped);
        }
        let deletion = Deletion::new(fs, paths, cleaned.group.len(), now_ms, self.config.file_delete_delay_ms);
        Ok(Swapped {
            fs: self.fs(),
            dir: self.dir.clone(),
            deletion,
        })
    }

    /// Whether the group's segments are still those of the log, and may be replaced.
    pub(super) fn is_as_planned(&self, group: &Group, truncations: u64) -> bool {
        let (from, _) = bounds(group);
        let first = self.segments.place_of(from);
        let is_same = |(segment, source): (&Segment, &Source)| {
            segment.base_offset() == source.base_offset && Arc::ptr_eq(&segment.log().file, &source.log.file)
        };
        let sealed = self.segments.sealed_from(first);
        self.check_writable().is_ok()
            && self.standing.unfinished().is_none()
            && self.truncations() == truncations
            && sealed.len() >= group.len()
            && sealed.iter().zip(group).all(is_same)
    }

    /// (b) Also renames the producer snapshots at the base offsets that are no segment's any more.
    fn rename_group(&mut self, fs: &dyn FileSystem, group: &Group) -> Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for (at, source) in group.iter().enumerate() {
            source.log.file.retire();
            for path in Segment::paths(&self.dir, source.base_offset) {
                paths.extend(rename_to_deleted(fs, &path)?);
            }
            if at > 0 {
                let snapshot = self
                    .producers
                    .mark_snapshot_deleted(fs, &self.dir, source.base_offset)?;
                paths.extend(snapshot);
            }
        }
        Ok(paths)
    }
}

/// The base offsets of a group's first segment and of the segment behind it.
fn bounds(group: &Group) -> (Offset, Offset) {
    let first = group.first().map_or(Offset::MAX, |source| source.base_offset);
    (first, group.last().map_or(first, |source| source.next_base))
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
