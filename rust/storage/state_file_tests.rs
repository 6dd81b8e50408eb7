use std::fs;
use std::sync::Arc;

use super::*;
use ::io::{Fault, FaultFileSystem, OsFileSystem};

const OLD: &[u8] = b"old content";
const NEW: &[u8] = b"the new content, which is longer";

#[test]
fn a_crash_or_error_at_any_step_leaves_the_old_content_or_the_new() {
    let mut steps = Vec::new();
    {
        let dir = tempfile::tempdir().unwrap();
        let probe = FaultFileSystem::new(Arc::new(OsFileSystem));
        replace(&probe, &dir.path().join("file"), NEW, Durability::Synced).unwrap();
        for (label, count) in probe.counts() {
            steps.extend((1..=count).map(|nth| (label.clone(), nth)));
        }
    }
    assert_eq!(
        steps.len(),
        5,
        "create, write, fsync, rename, fsync of the directory: {steps:?}"
    );
    for (label, nth) in &steps {
        for fault in [Fault::Crash, Fault::InputOutput, Fault::NoSpace, Fault::ShortWrite] {
            for before in [None, Some(OLD)] {
                let dir = tempfile::tempdir().unwrap();
                let path = dir.path().join("file");
                if let Some(bytes) = before {
                    replace(&OsFileSystem, &path, bytes, Durability::Synced).unwrap();
                }
                let faulty = FaultFileSystem::new(Arc::new(OsFileSystem));
                faulty.arm(label, *nth, fault);
                let result = replace(&faulty, &path, NEW, Durability::Synced);
                assert!(matches!(result, Err(Error::Io { .. })), "{label} {fault:?}: {result:?}");
                assert!(faulty.has_fired());
                faulty.lose_unsynced().unwrap();
                let after = read(&OsFileSystem, &path).unwrap();
                assert!(
                    after.as_deref() == before || after.as_deref() == Some(NEW),
                    "{label} {fault:?}: {after:?}"
                );
                replace(&OsFileSystem, &path, NEW, Durability::Synced).unwrap();
                assert_eq!(
                    fs::read(&path).unwrap(),
                    NEW,
                    "a later replacement is not hindered by the leftovers"
                );
            }
        }
    }
}

#[test]
fn a_lazy_replacement_costs_no_fsync() {
    let dir = tempfile::tempdir().unwrap();
    let counting = FaultFileSystem::new(Arc::new(OsFileSystem));
    replace(&counting, &dir.path().join("file"), NEW, Durability::Lazy).unwrap();
    assert!(
        counting.counts().keys().all(|label| !label.starts_with("sync")),
        "{:?}",
        counting.counts()
    );
}

#[test]
fn missing_files_are_none_and_removing_them_is_fine() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("missing");
    assert_eq!(read(&OsFileSystem, &path).unwrap(), None);
    remove(&OsFileSystem, &path).unwrap();
}

#[test]
fn bytes_that_are_not_text_name_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, [0xff, 0xfe]).unwrap();
    let error = read_text(&OsFileSystem, &path).unwrap_err();
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
}
