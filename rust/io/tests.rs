//! Behaviour of the real and of the failing file system.

use std::io::ErrorKind;
use std::sync::Arc;

use super::{Clock, Fault, FaultFileSystem, FileSystem, ManualClock, OpenMode, OsFileSystem};

fn temp() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn os_files_write_and_read_at_positions() {
    let dir = temp();
    let file = OsFileSystem.open(&dir.path().join("a"), OpenMode::CreateNew).unwrap();
    file.write_all_at(b"hello", 3).unwrap();
    let mut buf = [0; 8];
    file.read_exact_at(&mut buf, 0).unwrap();
    assert_eq!(&buf, b"\0\0\0hello");
    assert_eq!(file.read_at(&mut buf, 8).unwrap(), 0);
    file.set_len(4).unwrap();
    assert_eq!(file.len().unwrap(), 4);
}

#[test]
fn create_new_refuses_an_existing_file_and_read_refuses_a_missing_one() {
    let dir = temp();
    let path = dir.path().join("a");
    OsFileSystem.open(&path, OpenMode::CreateNew).unwrap();
    assert_eq!(
        OsFileSystem.open(&path, OpenMode::CreateNew).err().map(|e| e.kind()),
        Some(ErrorKind::AlreadyExists)
    );
    let missing = OsFileSystem.open(&dir.path().join("b"), OpenMode::Read);
    assert_eq!(missing.err().map(|e| e.kind()), Some(ErrorKind::NotFound));
}

#[test]
fn a_held_lock_refuses_a_second_holder_until_dropped() {
    let dir = temp();
    let path = dir.path().join(".lock");
    let held = OsFileSystem.lock_exclusive(&path).unwrap();
    assert_eq!(
        OsFileSystem.lock_exclusive(&path).err().map(|e| e.kind()),
        Some(ErrorKind::WouldBlock)
    );
    drop(held);
    OsFileSystem.lock_exclusive(&path).unwrap();
}

#[test]
fn a_map_shows_the_file_and_refuses_more_than_it_has() {
    let dir = temp();
    let file = OsFileSystem.open(&dir.path().join("a"), OpenMode::CreateNew).unwrap();
    file.write_all_at(b"12345678", 0).unwrap();
    assert_eq!(&*OsFileSystem.map_read(&*file, 8).unwrap(), b"12345678");
    assert!(OsFileSystem.map_read(&*file, 9).is_err());
    assert!(OsFileSystem.map_read(&*file, 0).unwrap().is_empty());
}

#[test]
fn the_nth_write_fails_short_and_others_pass() {
    let dir = temp();
    let fault = FaultFileSystem::new(Arc::new(OsFileSystem));
    fault.arm("write:.log", 2, Fault::ShortWrite);
    let file = fault
        .open(&dir.path().join("00000000000000000000.log"), OpenMode::CreateNew)
        .unwrap();
    file.write_all_at(b"aaaa", 0).unwrap();
    let error = file.write_all_at(b"bbbb", 4).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(28));
    assert_eq!(file.len().unwrap(), 6, "half of the write arrived");
    file.write_all_at(b"cccc", 4).unwrap();
    assert_eq!(fault.counts()["write:.log"], 3);
}

#[test]
fn after_a_crash_nothing_works_and_unsynced_bytes_can_be_lost() {
    let dir = temp();
    let path = dir.path().join("00000000000000000000.log");
    let fault = FaultFileSystem::new(Arc::new(OsFileSystem));
    fault.arm("write:.log", 3, Fault::Crash);
    let file = fault.open(&path, OpenMode::CreateNew).unwrap();
    file.write_all_at(b"aaaa", 0).unwrap();
    file.sync_data().unwrap();
    file.write_all_at(b"bbbb", 4).unwrap();
    assert!(file.write_all_at(b"cccc", 8).is_err());
    assert!(file.sync_data().is_err());
    assert!(fault.has_crashed());
    fault.lose_unsynced().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"aaaa");
}

#[test]
fn a_manual_clock_moves_only_by_advance() {
    let clock = ManualClock::new(5);
    assert_eq!(clock.now_ms(), 5);
    clock.advance(10);
    assert_eq!(clock.now_ms(), 15);
}

#[test]
fn small_and_large_files_are_read_whole() {
    let dir = temp();
    for len in [0, 1, 4095, 4096, 4097, 100_000] {
        let path = dir.path().join(len.to_string());
        let bytes: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(OsFileSystem.read_to_vec(&path).unwrap(), bytes);
    }
}
