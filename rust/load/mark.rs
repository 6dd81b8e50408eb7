//! Whose a directory is that one of several tasks of a load fills: a file in it says so.
//!
//! ```text
//! load.json := {"load_id": text, "driver_epoch": n}
//! ```
//!
//! The driver of a load may begin again. It has a greater epoch then, and removes what the tasks of earlier drivers
//! have staged. Durability: none; a broker removes what nobody adopts.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use ::io::{FileSystem, OpenMode};
use storage::TopicPartition;

const MARK: &str = "load.json";

/// What is in a mark.
#[derive(Debug, Serialize, Deserialize)]
struct MarkContent {
    load_id: String,
    driver_epoch: i16,
}

/// Makes the directory of a task, with a mark in it: the load's, and the epoch of the driver that started the task.
///
/// # Errors
/// Of the file system.
pub fn make_staging_dir(fs: &dyn FileSystem, dir: &Path, load_id: &str, driver_epoch: i16) -> std::io::Result<()> {
    let load_id = load_id.to_owned();
    let mark = MarkContent { load_id, driver_epoch };
    fs.create_dir(dir)?;
    let file = fs.open(&dir.join(MARK), OpenMode::CreateNew)?;
    file.write_all_at(&serde_json::to_vec(&mark)?, 0)
}

/// Removes from the log directories what tasks of the load's drivers with an epoch below `before` have staged. What
/// cannot be read or removed now goes with the broker's next start.
pub fn sweep_staged<'a>(fs: &dyn FileSystem, log_dirs: impl IntoIterator<Item = &'a Path>, load_id: &str, before: i16) {
    let log_dirs: BTreeSet<&Path> = log_dirs.into_iter().collect();
    for entry in log_dirs
        .into_iter()
        .flat_map(|dir| fs.read_dir(dir).unwrap_or_default())
    {
        if !TopicPartition::is_load_dir_name(&entry.name) {
            continue;
        }
        let mark = fs.read_to_vec(&entry.path.join(MARK)).ok();
        let mark: Option<MarkContent> = mark.and_then(|text| serde_json::from_slice(&text).ok());
        if mark.is_some_and(|mark| mark.load_id == load_id && mark.driver_epoch < before) {
            let _ = fs.remove_dir_all(&entry.path);
        }
    }
}

#[cfg(test)]
mod tests {
    //! What a sweep leaves.

    use super::{make_staging_dir, sweep_staged};
    use ::io::{FileSystem, OsFileSystem};

    #[test]
    fn only_what_earlier_drivers_of_the_load_have_staged_is_removed() {
        let temp = tempfile::tempdir().unwrap();
        let stage = |name: &str, mark: Option<(&str, i16)>| {
            let dir = temp.path().join(name);
            match mark {
                Some((load_id, epoch)) => make_staging_dir(&OsFileSystem, &dir, load_id, epoch).unwrap(),
                None => std::fs::create_dir(&dir).unwrap(),
            }
            name.to_owned()
        };
        let kept = [
            stage("topic-0.load-2-0-delete", Some(("backfill", 4))),
            stage("topic-0.load-3-0-delete", Some(("another", 0))),
            stage("topic-0.load-4-0-delete", None),
            stage("topic-0", Some(("backfill", 0))),
        ];
        stage("topic-0.load-1-0-delete", Some(("backfill", 3)));
        sweep_staged(&OsFileSystem, [temp.path()], "backfill", 4);
        let mut left: Vec<String> = OsFileSystem
            .read_dir(temp.path())
            .unwrap()
            .into_iter()
            .map(|one| one.name)
            .collect();
        left.sort();
        let mut kept = kept.to_vec();
        kept.sort();
        assert_eq!(left, kept);
    }
}
