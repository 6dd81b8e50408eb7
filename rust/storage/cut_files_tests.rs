//! What was cut is kept, and how much of it.

use std::fs;
use std::time::{Duration, SystemTime};

use super::*;
use crate::format::parse_file_name;
use ::io::OsFileSystem;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_tail_is_kept_beside_the_log_and_a_second_one_does_not_overwrite_it() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("00000000000000000007.log");
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|at| at as u8).collect();
    fs::write(&log, &bytes).unwrap();
    let file = OsFileSystem.open(&log, OpenMode::Read).unwrap();
    let keep = || {
        keep_tail(
            &OsFileSystem,
            dir.path(),
            Offset(7),
            &*file,
            Position(1000)..Position(3_000_000),
            u64::MAX,
        )
        .unwrap()
    };
    let (first, second) = (keep(), keep());
    assert_ne!(first, second);
    assert_eq!(fs::read(&first).unwrap(), bytes[1000..]);
    assert_eq!(fs::read(&second).unwrap(), bytes[1000..]);
    for path in [&first, &second] {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(is_cut_file(name), "{name}");
        let suffix = parse_file_name(name).map(|(_, suffix)| suffix.to_owned());
        assert_ne!(suffix.as_deref(), Some(".log"), "neither Kafka nor a start reads it");
    }
    let bounded = keep_tail(
        &OsFileSystem,
        dir.path(),
        Offset(7),
        &*file,
        Position::START..Position(3_000_000),
        10,
    )
    .unwrap();
    assert_eq!(fs::read(bounded).unwrap(), bytes[..10]);
}

#[test]
fn the_oldest_go_when_there_are_too_many_or_too_much() {
    let dir = tempfile::tempdir().unwrap();
    let make = |number: usize, size: usize| {
        let path = dir.path().join(format!("{:020}.0.cut", 100 - number));
        fs::write(&path, vec![0; size]).unwrap();
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + number as u64);
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(at)
            .unwrap();
        path
    };
    fs::write(dir.path().join("00000000000000000000.log"), [0; 500]).unwrap();
    let files: Vec<_> = (0..20).map(|number| make(number, 10)).collect();
    assert_eq!(trim(&OsFileSystem, dir.path(), 1000).unwrap(), files[..4]);
    assert_eq!(trim(&OsFileSystem, dir.path(), 35).unwrap(), files[4..17]);
    assert_eq!(names(dir.path()).len(), 4, "three of them and the log");
    assert_eq!(trim(&OsFileSystem, dir.path(), 35).unwrap(), Vec::<PathBuf>::new());
}
