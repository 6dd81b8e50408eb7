//! The leader epoch checkpoint against the batches.
//!
//! - (a) Entries ascend in epoch and offset, and begin at or below the log's end.
//! - (b) Batches before an entry's start have an earlier epoch (not checked for the first entry, whose start moves with
//!   the log start); batches at or behind it have its epoch or a later one.
//! - (c) After a clean stop the checkpoint has the epoch of every batch; without a clean stop the file may be behind.

use std::path::Path;

use super::finding::Finding;
use super::order::EpochRun;
use super::state::EpochFile;
use base::place::Offset;

/// Compares the file with the log; `runs` are the runs of the whole log with the path of their segment, in order, and
/// `end` is the log's end when it is known.
pub fn compare(file: &EpochFile, runs: &[(&Path, EpochRun)], end: Option<Offset>, is_clean: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    for (at, entry) in file.entries.iter().enumerate() {
        let (epoch, start) = (entry.epoch, entry.start_offset);
        let before = at.checked_sub(1).and_then(|at| file.entries.get(at));
        let position = file.position(at);
        if let Some(before) = before.filter(|it| it.epoch >= epoch || it.start_offset >= start) {
            let message = format!(
                "epoch {epoch} at offset {start} does not ascend from epoch {} at {}",
                before.epoch, before.start_offset
            );
            found.push(Finding::fault(&file.path, position, message)); // (a)
            continue;
        }
        if let Some(end) = end.filter(|end| start > *end) {
            let message = format!("epoch {epoch} starts at offset {start}, beyond the log's end {end}");
            found.push(Finding::fault(&file.path, position, message)); // (a)
            continue;
        }
        let next = runs.partition_point(|(_, run)| run.base_offset < start);
        let earlier = next.checked_sub(1).and_then(|at| runs.get(at)).map(|(_, run)| run);
        let wrong = earlier.and_then(|run| match run.epoch {
            later if later >= epoch => (at > 0).then_some((later, run.base_offset, "before")),
            older => (run.last_base >= start).then_some((older, run.last_base, "behind")),
        });
        if let Some((other, offset, side)) = wrong {
            let message = format!(
                "epoch {epoch} starts at offset {start}, but a batch of epoch {other} at offset {offset} stands {side} \
                 it"
            );
            found.push(Finding::fault(&file.path, position, message)); // (b)
        }
    }
    if found.is_empty() && is_clean {
        found.extend(runs.iter().filter_map(|(path, run)| unknown(file, path, run)));
    }
    found
}

/// (c)
fn unknown(file: &EpochFile, path: &Path, run: &EpochRun) -> Option<Finding> {
    let after = file
        .entries
        .partition_point(|entry| entry.start_offset <= run.base_offset);
    let known = file.entries.get(after.checked_sub(1)?)?.epoch;
    (known != run.epoch).then(|| {
        let message = format!(
            "leader epoch {} of the batch at offset {}, but {} has {known} there",
            run.epoch,
            run.base_offset,
            file.path.display()
        );
        Finding::fault(path, run.position.get(), message)
    })
}
