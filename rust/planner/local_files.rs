//! The files of a split on the machine of its task, which need not see those that the planner saw.
//!
//! Under the path of a planned file this machine may have the file of another replica, which other bytes and other
//! records may be in: only the planned directory itself, known by its name, is read as planned. A replica that is seen
//! here takes the place of the planned one if it had every committed record when the split was planned and has the
//! whole range now; otherwise the split is read over the network.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::planning::{LocalLogDirs, dir_name};
use ::io::FileSystem;
use base::place::Offset;
use scan::{Bound, Isolation, Remote, ScanRequest, Slice, Split, Watermarks, plan_scan};
use storage::TopicPartition;

/// The splits of a share, each with the best way to read it from here. All were planned with the same log directories,
/// which are listed once, and only if the files of some split are not seen.
pub(super) fn prefer_local_files(fs: &Arc<dyn FileSystem>, splits: Vec<Split>) -> Vec<Split> {
    let mut here = Here {
        fs,
        names: HashMap::new(),
        seen: None,
    };
    splits.into_iter().map(|split| here.best_of(split)).collect()
}

/// What this machine sees.
struct Here<'a> {
    fs: &'a Arc<dyn FileSystem>,
    /// The name of each log directory that was looked at.
    names: HashMap<PathBuf, Option<String>>,
    seen: Option<LocalLogDirs>,
}

impl Here<'_> {
    fn best_of(&mut self, split: Split) -> Split {
        let Some(remote) = &split.remote else { return split };
        if split.slices.first().is_some_and(|slice| self.is_planned(slice, remote)) {
            return split;
        }
        let seen = self.seen.get_or_insert_with(|| {
            LocalLogDirs::of(&**self.fs, &remote.log_dirs, &remote.cluster_id).unwrap_or_default()
        });
        match in_own_files(self.fs, seen, &split, remote) {
            Some(own) => Split {
                slices: own.slices,
                leader_epoch: own.leader_epoch,
                aborted: own.aborted,
                ..split
            },
            None => Split {
                slices: Vec::new(),
                ..split
            },
        }
    }

    /// Whether the planned file is here: its link, which no other plan has, or the file in the planned directory.
    fn is_planned(&mut self, slice: &Slice, remote: &Remote) -> bool {
        if slice.link.as_ref().is_some_and(|link| self.fs.exists(link)) {
            return true;
        }
        let Some(dir) = slice.path.parent().and_then(Path::parent) else {
            return false;
        };
        let name = self
            .names
            .entry(dir.to_path_buf())
            .or_insert_with(|| dir_name(&**self.fs, dir));
        name.is_some() && *name == remote.planned_dir && self.fs.exists(&slice.path)
    }
}

/// The range in the files of a replica on this machine, as a split of the same offsets.
fn in_own_files(fs: &Arc<dyn FileSystem>, seen: &LocalLogDirs, split: &Split, remote: &Remote) -> Option<Split> {
    let partition = TopicPartition {
        topic: Arc::clone(&split.topic),
        partition: split.partition,
    };
    let any = remote.in_sync.first().copied().unwrap_or(-1);
    let dir = seen.dir_of(&partition, any, &remote.in_sync)?.to_path_buf();
    let (start, end) = (split.start_offset, split.end_offset);
    let of = |offset: Offset| [(split.partition, Bound::Offset(offset))].into();
    let is_committed = split.aborted.is_some();
    let request = ScanRequest {
        log_dirs: vec![dir],
        topic: split.topic.to_string(),
        partitions: Some(vec![split.partition]),
        start: of(start),
        end: of(end),
        isolation: if is_committed {
            Isolation::ReadCommitted
        } else {
            Isolation::ReadUncommitted
        },
        watermarks: [(
            split.partition,
            Watermarks {
                log_start_offset: Offset(0),
                // what is below the split's end was committed when it was planned, and the reader goes no further; a
                // watermark in the middle of a batch would leave that batch out
                high_watermark: Offset::MAX,
                last_stable_offset: Offset::MAX,
            },
        )]
        .into(),
        fail_on_data_loss: true,
        ignore_corrupt_batches: false,
        allow_short_logs: false,
        keep_open: false,
        link_dir: None,
    };
    let plan = plan_scan(fs, &request).ok()?.pop()?;
    let is_whole = plan.start_offset == start && plan.end_offset == end;
    let own = plan.splits(u64::MAX).ok()?.pop().filter(|_| is_whole)?;
    Some(own)
}

#[cfg(test)]
#[path = "local_files_tests.rs"]
mod tests;
