//! What a partition's directory has now of a planned slice whose file is no longer under its path.
//!
//! A cleaner puts a file in the place of one segment, or of several neighbours; a replica that moved away and back has
//! segments of its own. The records of the wanted offsets that are still there are in the segments that are listed now.
//! What no segment has now is lost, or asked of brokers. Never writes, and never looks at a slice that is kept open.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::{SplitReader, Step};
use crate::bounds::end_position;
use crate::plan::while_moving;
use crate::segments::Listing;
use crate::{Result, ScanError, Slice};
use ::io::{File, FileSystem, OpenMode};
use base::place::Offset;
use storage::TopicPartition;

impl SplitReader {
    /// Whether the positions of the open slice were found in this file.
    pub(super) fn is_planned(&self, file: &dyn File) -> bool {
        let planned = self.open.identity;
        planned.is_none_or(|planned| file.identity().is_ok_and(|identity| identity == planned))
    }

    /// Goes on with the files that have the open slice's offsets now.
    pub(super) fn look_again(&mut self) -> Result<Step> {
        let (from, to) = self.range();
        let partition = TopicPartition {
            topic: Arc::clone(&self.split.topic),
            partition: self.split.partition,
        };
        let now = slices_now(self.options.file_system.as_ref(), &partition, &self.open, from..to)?;
        let first = now.first().map_or(to, |slice| slice.base_offset);
        if first > from && self.can_go_elsewhere() {
            return Ok(Step::Elsewhere(from));
        }
        if first > from {
            self.report_lost(from..first, &format!("{} was deleted", self.open.path.display()))?;
            self.read_to = first;
        }
        now.into_iter().rev().for_each(|slice| self.left.push_front(slice));
        Ok(Step::Slice)
    }
}

/// The open file, else the link, else the path, whichever exists; `None` when none of them exists.
pub(super) fn open(slice: &Slice, file_system: &dyn FileSystem) -> Result<Option<Arc<dyn File>>> {
    if let Some(file) = &slice.file {
        return Ok(Some(Arc::clone(file)));
    }
    let paths: [Option<&PathBuf>; 2] = [slice.link.as_ref(), Some(&slice.path)];
    for path in paths.into_iter().flatten() {
        match file_system.open(path, OpenMode::Read) {
            Ok(file) => return Ok(Some(file)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => {
                return Err(ScanError::Io {
                    op: "open",
                    path: path.clone(),
                    source,
                });
            }
        }
    }
    Ok(None)
}

/// Slices of open files, in order, with the wanted offsets of a planned slice, as far as segments of its
/// directory have them; none when it is gone.
fn slices_now(
    fs: &dyn FileSystem,
    partition: &TopicPartition,
    planned: &Slice,
    wanted: Range<Offset>,
) -> Result<Vec<Slice>> {
    let (from, to) = (wanted.start, wanted.end);
    let Some(dir) = planned.path.parent().filter(|dir| fs.exists(dir)) else {
        return Ok(Vec::new());
    };
    let found = while_moving(partition, |_| {
        let listing = Listing::of(fs, dir)?;
        let mut slices = Vec::new();
        for segment in &listing.segments {
            if segment.next_base_offset <= from || segment.base_offset >= to {
                continue;
            }
            let opened = segment.open(fs)?;
            if segment.base_offset < planned.base_offset && !is_younger(&*opened.file, planned) {
                continue;
            }
            slices.push(Slice {
                path: segment.path.clone(),
                link: None,
                start: opened.position_of(from, to)?,
                end: end_position(&opened, to, to)?,
                file: Some(opened.file),
                identity: None,
                base_offset: segment.base_offset,
                next_base_offset: segment.next_base_offset.min(planned.next_base_offset),
            });
        }
        Ok(slices)
    });
    match found {
        Err(ScanError::NotFound(_)) => Ok(Vec::new()),
        found => found,
    }
}

/// Whether the file was made after the planned one, as a cleaner does that puts it in the place of several. An older
/// segment in front of the planned one says nothing of it: then its file was removed, and not by a cleaner. Where the
/// file system does not keep when files were made, none is younger: better a loss that is none than one that is not
/// seen.
fn is_younger(file: &dyn File, planned: &Slice) -> bool {
    let made = |identity: (u64, u64)| identity.1;
    let before = planned.identity.map_or(u64::MAX, made);
    before != 0 && file.identity().is_ok_and(|identity| made(identity) > before)
}

#[cfg(test)]
#[path = "replaced_tests.rs"]
mod tests;
