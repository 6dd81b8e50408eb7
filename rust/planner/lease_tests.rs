//! Leases on links: the last task removes them, age removes what was left, and nothing else is touched.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{Lease, MAX_AGE, take};

#[test]
fn the_last_share_removes_the_lease() {
    let dir = tempfile::tempdir().unwrap();
    let folder = take(dir.path().join("links").to_str().unwrap(), &[dir.path().join("data")]).unwrap();
    fs::write(folder.join("0.log"), "").unwrap();
    let lease = |share| Lease {
        folder: folder.clone(),
        share,
        shares: 3,
    };
    for share in [1, 1, 0] {
        lease(share).finish(); // share 1 was run twice
        assert!(folder.join("0.log").exists());
    }
    lease(2).finish();
    assert!(!folder.exists());
    lease(2).finish();
    assert!(!folder.exists());
}

#[test]
fn a_folder_that_is_no_lease_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let other = Lease {
        folder: dir.path().to_path_buf(),
        share: 0,
        shares: 1,
    };
    other.finish();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn an_old_lease_goes_with_the_next_planning_and_a_young_one_stays() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().to_str().unwrap();
    let log_dirs = [dir.path().join("data")];
    let (old, young) = (take(base, &log_dirs).unwrap(), take(base, &log_dirs).unwrap());
    let other = dir.path().join("other");
    fs::create_dir(&other).unwrap();
    let long_ago = SystemTime::now() - MAX_AGE - Duration::from_mins(1);
    for folder in [&old, &other] {
        File::open(folder).unwrap().set_modified(long_ago).unwrap();
    }
    let third = take(base, &log_dirs).unwrap();
    assert_eq!(
        [&old, &young, &other, &third].map(|it| it.exists()),
        [false, true, true, true]
    );
}

#[test]
fn links_never_go_inside_a_log_directory() {
    let dir = tempfile::tempdir().unwrap();
    let (path, data) = (dir.path(), dir.path().join("data"));
    fs::create_dir(&data).unwrap();
    symlink(&data, path.join("link")).unwrap();
    let refused = |inside: &Path, log_dir: &Path| {
        let error = take(inside.to_str().unwrap(), &[log_dir.to_path_buf()]).err().unwrap();
        assert_eq!(
            error.to_string(),
            format!(
                "linkDir: {} is inside the log directory {}; name a folder beside it",
                inside.display(),
                log_dir.display()
            )
        );
    };
    for inside in ["data", "data/links", "other/../data", "link/links"] {
        refused(&path.join(inside), &data);
    }
    refused(&data.join("links"), &path.join("link"));
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = take(file.to_str().unwrap(), &[dir.path().join("data")]).err().unwrap();
    let expected = format!(
        "linkDir: {} cannot be written (Not a directory); name another folder",
        file.display()
    );
    assert_eq!(error.to_string(), expected);
}
