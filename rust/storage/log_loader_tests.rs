use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Barrier};

use super::*;
use crate::format::{LOG_START_OFFSET_CHECKPOINT, PARTITION_METADATA, RECOVERY_POINT_CHECKPOINT};
use crate::log_dir::Identity;
use crate::test_fixtures::fixture_path;
use ::io::{Fault, FaultFileSystem, OsFileSystem};
use base::place::Position;

fn open_dir(fs: Arc<dyn FileSystem>, path: &Path) -> LogDir {
    let identity = Identity {
        cluster_id: Some("abc".to_owned()),
        node_id: 1,
    };
    LogDir::open(fs, path, &identity, 0).unwrap()
}

fn log_dir(names: &[&str]) -> (tempfile::TempDir, LogDir) {
    let dir = tempfile::tempdir().unwrap();
    for name in names {
        fs::create_dir(dir.path().join(name)).unwrap();
    }
    let opened = open_dir(Arc::new(OsFileSystem), dir.path());
    (dir, opened)
}

/// The "log" of these tests is its own name.
#[expect(clippy::unnecessary_wraps, reason = "it stands for a function that may fail")]
fn name_of(request: &LoadRequest) -> Result<String> {
    Ok(request.partition.to_string())
}

fn names(loaded: &Loaded<String>) -> Vec<&str> {
    loaded.logs.iter().map(|loaded| loaded.log.as_str()).collect()
}

fn failed(request: &LoadRequest) -> Error {
    Error::io("read", &request.path, io::Error::from_raw_os_error(5))
}

#[test]
fn logs_are_opened_with_what_the_checkpoints_say() {
    let (dir, opened) = log_dir(&[
        "a.dotted-and_dashed-name-0",
        "transactions-0",
        "new-0",
        "__cluster_metadata-0",
    ]);
    for name in [
        RECOVERY_POINT_CHECKPOINT,
        LOG_START_OFFSET_CHECKPOINT,
        "replication-offset-checkpoint",
    ] {
        fs::copy(fixture_path(name), dir.path().join(name)).unwrap();
    }
    fs::copy(
        fixture_path(PARTITION_METADATA),
        dir.path().join("transactions-0").join(PARTITION_METADATA),
    )
    .unwrap();
    opened.write_clean_shutdown(77, &[]).unwrap();
    let progress = LoadProgress::default();
    let loaded = load_all(&[opened], 4, &name_of, &progress).unwrap();
    assert_eq!(
        names(&loaded),
        ["a.dotted-and_dashed-name-0", "new-0", "transactions-0"]
    );
    let facts: Vec<_> = loaded
        .logs
        .iter()
        .map(|loaded| {
            (
                loaded.request.recovery_point.get(),
                loaded.request.log_start_offset.get(),
                loaded.request.high_watermark.map(Offset::get),
            )
        })
        .collect();
    assert_eq!(facts, [(4, 2, Some(4)), (0, 0, None), (12, 0, Some(12))]);
    assert!(loaded.logs.iter().all(|loaded| loaded.request.is_clean));
    assert_eq!(
        loaded.logs[2].request.topic_id.unwrap().to_string(),
        "jCg8rb5_Sryb1ZZ6r1V9Eg"
    );
    assert_eq!(loaded.dirs[0].shutdown.broker_epoch, Some(77));
    assert_eq!(progress.logs_loaded.load(Ordering::Relaxed), 3);
}

#[test]
fn a_start_after_a_start_is_unclean() {
    let (_dir, opened) = log_dir(&["a-0"]);
    opened.write_clean_shutdown(1, &[]).unwrap();
    let dirs = [opened];
    let is_clean = || {
        load_all(&dirs, 1, &name_of, &LoadProgress::default()).unwrap().logs[0]
            .request
            .is_clean
    };
    assert!(is_clean());
    assert!(!is_clean());
}

#[test]
fn logs_of_all_directories_are_opened_at_the_same_time() {
    let (_one, first) = log_dir(&["a-0", "a-1"]);
    let (_two, second) = log_dir(&["b-0", "b-1"]);
    let all_at_once = Barrier::new(4);
    let open = |request: &LoadRequest| {
        all_at_once.wait();
        name_of(request)
    };
    let loaded = load_all(&[first, second], 2, &open, &LoadProgress::default()).unwrap();
    assert_eq!(names(&loaded), ["a-0", "a-1", "b-0", "b-1"]);
    assert_eq!(
        loaded
            .logs
            .iter()
            .map(|loaded| loaded.request.dir_index)
            .collect::<Vec<_>>(),
        [0, 0, 1, 1]
    );
}

#[test]
fn a_failing_disk_takes_only_its_directory_offline() {
    let (_one, first) = log_dir(&["a-0", "a-1", "a-2"]);
    let (_two, second) = log_dir(&["b-0"]);
    let open = |request: &LoadRequest| match &*request.partition.topic {
        "a" if request.partition.partition == 1 => Err(failed(request)),
        _ => name_of(request),
    };
    let loaded = load_all(&[first, second], 1, &open, &LoadProgress::default()).unwrap();
    assert_eq!(names(&loaded), ["b-0"]);
    assert!(loaded.dirs[0].failure.as_ref().unwrap().to_string().contains("a-1"));
    assert!(loaded.dirs[1].failure.is_none());
}

#[test]
fn a_disk_that_fails_before_any_log_is_offline_too() {
    for label in [
        "read:dir",
        "read:recovery-point-offset-checkpoint",
        "read:.kafka_cleanshutdown",
    ] {
        let (dir, kept) = log_dir(&["a-0"]);
        drop(kept);
        let faulty = FaultFileSystem::new(Arc::new(OsFileSystem));
        let opened = open_dir(Arc::new(faulty.clone()), dir.path());
        faulty.arm(label, 1, Fault::InputOutput);
        let loaded = load_all(&[opened], 1, &name_of, &LoadProgress::default()).unwrap();
        assert!(loaded.logs.is_empty() && loaded.dirs[0].failure.is_some(), "{label}");
    }
}

#[test]
fn corrupt_data_refuses_the_start() {
    let (_dir, opened) = log_dir(&["a-0", "a-1"]);
    let open = |request: &LoadRequest| match request.partition.partition {
        1 => Err(Error::CorruptFile {
            path: request.path.clone(),
            position: Position(99),
            reason: "bad CRC".to_owned(),
        }),
        _ => name_of(request),
    };
    let error = load_all(&[opened], 2, &open, &LoadProgress::default()).unwrap_err();
    assert!(matches!(
        error,
        Error::CorruptFile {
            position: Position(99),
            ..
        }
    ));
}

#[test]
fn one_partition_in_two_directories_refuses_the_start_and_keeps_the_marker() {
    let (one, first) = log_dir(&["a-0"]);
    let (two, second) = log_dir(&["a-0"]);
    first.write_clean_shutdown(1, &[]).unwrap();
    let dirs = [first, second];
    let error = load_all(&dirs, 1, &name_of, &LoadProgress::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(one.path().to_str().unwrap()) && error.contains(two.path().to_str().unwrap()),
        "{error}"
    );
    assert!(dirs[0].take_clean_shutdown().unwrap().is_clean, "nothing was opened");
}

#[test]
fn unreadable_checkpoints_are_warned_about_and_count_as_empty() {
    let (dir, opened) = log_dir(&["a-0", "lost+found"]);
    fs::write(dir.path().join(RECOVERY_POINT_CHECKPOINT), "garbage").unwrap();
    fs::write(dir.path().join(LOG_START_OFFSET_CHECKPOINT), [0; 10]).unwrap();
    let loaded = load_all(&[opened], 1, &name_of, &LoadProgress::default()).unwrap();
    assert_eq!(
        (names(&loaded), loaded.logs[0].request.recovery_point),
        (vec!["a-0"], Offset(0))
    );
    let warnings = loaded.dirs[0].warnings.join("\n");
    for part in [RECOVERY_POINT_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT, "lost+found"] {
        assert!(warnings.contains(part), "{warnings}");
    }
}

#[test]
fn deleted_directories_are_reported_and_removed_later() {
    let (dir, opened) = log_dir(&["a-0", "a-1.0123456789abcdef-delete", "a-2.0123456789abcdef-future"]);
    let loaded = load_all(&[opened], 1, &name_of, &LoadProgress::default()).unwrap();
    assert_eq!(names(&loaded), ["a-0"]);
    assert_eq!(loaded.dirs[0].future.len(), 1);
    let doomed = &loaded.dirs[0].deleted;
    assert_eq!(doomed, &[dir.path().join("a-1.0123456789abcdef-delete")]);
    fs::write(doomed[0].join("00000000000000000000.log"), "x").unwrap();
    assert!(remove_deleted(&OsFileSystem, doomed).is_empty());
    assert!(remove_deleted(&OsFileSystem, doomed).is_empty(), "gone already is fine");
    assert!(!doomed[0].exists());
}

#[test]
fn log_that_finds_no_descriptor_is_tried_again_and_a_lasting_shortage_refuses_the_start() {
    let (_dir, opened) = log_dir(&["a-0", "a-1"]);
    let shortage =
        |request: &LoadRequest| Error::io("open", &request.path, base::error::shortage::out_of_descriptors());
    let calls = AtomicUsize::new(0);
    let open = |request: &LoadRequest| match calls.fetch_add(1, Ordering::Relaxed) {
        0 => Err(shortage(request)),
        _ => name_of(request),
    };
    let dirs = [opened];
    let loaded = load_all(&dirs, 1, &open, &LoadProgress::default()).unwrap();
    assert_eq!((names(&loaded), calls.into_inner()), (vec!["a-0", "a-1"], 3));
    assert!(loaded.dirs[0].failure.is_none());
    assert!(
        or_offline(
            Err::<(), _>(shortage(&loaded.logs[0].request)),
            &mut DirReport::default()
        )
        .is_err()
    );
}
