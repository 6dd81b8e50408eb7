//! What a clean stop leaves, and when the next start believes it.

use std::fs;

use super::*;
use crate::testing::Bench;
use ::io::OsFileSystem;

fn rows() -> Vec<(TopicPartition, ClosedLog)> {
    let log = ClosedLog {
        first_base: Offset(3),
        log_start: Offset(5),
        log_end: Offset(99),
        bytes: 1234,
        digest: u64::MAX,
    };
    vec![
        (TopicPartition::new("a.b-c", 7), log),
        (TopicPartition::new("d", 0), log),
    ]
}

#[test]
fn closed_logs_are_read_back_as_they_were_written() {
    let dir = tempfile::tempdir().unwrap();
    let crc = write(&OsFileSystem, dir.path(), &rows()).unwrap();
    let read = read(&OsFileSystem, dir.path(), Some(crc)).unwrap().unwrap();
    assert_eq!(read, rows().into_iter().collect());
}

#[test]
fn closed_logs_without_their_marker_are_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let crc = write(&OsFileSystem, dir.path(), &rows()).unwrap();
    assert_eq!(read(&OsFileSystem, dir.path(), None).unwrap(), None);
    assert_eq!(read(&OsFileSystem, dir.path(), Some(crc ^ 1)).unwrap(), None);
    let path = dir.path().join(CLOSED_LOGS);
    let mut text = fs::read(&path).unwrap();
    text[12] ^= 1;
    fs::write(&path, text).unwrap();
    assert_eq!(read(&OsFileSystem, dir.path(), Some(crc)).unwrap(), None);
    fs::remove_file(&path).unwrap();
    assert_eq!(read(&OsFileSystem, dir.path(), Some(crc)).unwrap(), None);
}

#[test]
fn a_log_whose_files_changed_is_not_the_one_that_was_closed() {
    let bench = Bench::new(&[("segment.bytes", "3000")]);
    let mut log = bench.create();
    for _ in 0..40 {
        bench.append(&mut log, 2, 100);
    }
    log.close().unwrap();
    let closed = ClosedLog::of(log.contents()).unwrap();
    assert!(closed.is_of(log.segments(), log.contents().fs()).unwrap());
    assert_eq!(
        (closed.first_base, closed.log_start, closed.log_end),
        (Offset(0), Offset(0), Offset(80))
    );
    let path = bench.file(bench.base_offsets()[1], ".log");
    let bytes = fs::read(&path).unwrap();
    let mtime = fs::metadata(&path).unwrap().modified().unwrap() + std::time::Duration::from_millis(2);
    fs::write(&path, bytes).unwrap();
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(mtime)
        .unwrap();
    assert!(
        !closed.is_of(log.segments(), log.contents().fs()).unwrap(),
        "the same bytes, written later"
    );
}
