//! Indexes against naive twins, in both of their lives, with Kafka's padding and with failing writes.

use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;

use super::entry_file::EntryFile;
use super::search::last_at_most;
use super::{AbortedTxn, OffsetIndex, OffsetPosition, TimeIndex, TimestampOffset, TransactionIndex};
use ::io::{Fault, FaultFileSystem, OsFileSystem};
use base::place::{Offset, Position};

fn temp_file(name: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    (dir, path)
}

fn offset_index(path: PathBuf, entries: &[(i64, u32)]) -> OffsetIndex {
    let mut index = OffsetIndex::new(EntryFile::new(path), Offset(100));
    for (offset, position) in entries {
        index.append(Offset(*offset), Position(u64::from(*position)));
    }
    index
}

proptest! {
    #[test]
    fn last_at_most_matches_naive(mut keys in prop::collection::vec(0u32..50, 0..40), target in 0u32..60) {
        keys.sort_unstable();
        let naive = keys.iter().rposition(|key| *key <= target);
        prop_assert_eq!(last_at_most(keys.len(), &target, |index| keys[index]), naive);
    }

    #[test]
    fn offset_lookup_matches_naive_active_and_sealed(
        steps in prop::collection::vec((1i64..20, 1u32..9000), 0..3000),
        target in 90i64..40_000,
    ) {
        let (_dir, path) = temp_file("a.index");
        let mut entries = Vec::new();
        let (mut offset, mut position) = (100, 0);
        for (by, bytes) in steps {
            offset += by;
            position += bytes;
            entries.push((offset, position));
        }
        let naive = entries.iter().rev().find(|(offset, _)| *offset <= target).map_or((100, 0), |found| *found);
        let naive = OffsetPosition { offset: Offset(naive.0), position: Position(u64::from(naive.1)) };
        let mut index = offset_index(path.clone(), &entries);
        prop_assert_eq!(index.lookup(&OsFileSystem, Offset(target)).unwrap(), naive);
        index.file().write_whole(&OsFileSystem).unwrap();
        index.file().seal();
        prop_assert_eq!(index.lookup(&OsFileSystem, Offset(target)).unwrap(), naive);
        let sealed = OffsetIndex::new(EntryFile::sealed(path.clone()), Offset(100));
        prop_assert_eq!(sealed.lookup(&OsFileSystem, Offset(target)).unwrap(), naive);
        let active = OffsetIndex::new(EntryFile::open_active(&OsFileSystem, path).unwrap(), Offset(100));
        prop_assert_eq!(active.lookup(&OsFileSystem, Offset(target)).unwrap(), naive);
    }

    #[test]
    fn time_lookup_matches_naive(steps in prop::collection::vec((0i64..20, 1i64..9), 0..300), target in 0i64..4000) {
        let (_dir, path) = temp_file("a.timeindex");
        let mut index = TimeIndex::new(EntryFile::new(path), Offset(100));
        let mut naive = TimestampOffset { timestamp: -1, offset: Offset(100) };
        let (mut timestamp, mut offset, mut last) = (0, 100, -1);
        for (later, by) in steps {
            timestamp += later;
            offset += by;
            index.maybe_append(timestamp, Offset(offset));
            if timestamp > last && timestamp <= target {
                naive = TimestampOffset { timestamp, offset: Offset(offset) };
            }
            last = timestamp.max(last);
        }
        prop_assert_eq!(index.lookup(&OsFileSystem, target).unwrap(), naive);
        prop_assert_eq!(index.last_entry(&OsFileSystem).unwrap().timestamp, last);
    }
}

#[test]
fn entries_are_kafkas_bytes() {
    let (dir, path) = temp_file("a.index");
    offset_index(path.clone(), &[(101, 7), (0x1234 + 100, 0x0102_0304)])
        .file()
        .write_whole(&OsFileSystem)
        .unwrap();
    assert_eq!(
        std::fs::read(path).unwrap(),
        [0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0x12, 0x34, 1, 2, 3, 4]
    );
    let path = dir.path().join("a.timeindex");
    let mut time = TimeIndex::new(EntryFile::new(path.clone()), Offset(100));
    time.maybe_append(0x0102, Offset(105));
    time.file().write_whole(&OsFileSystem).unwrap();
    assert_eq!(std::fs::read(path).unwrap(), [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 5]);
    let path = dir.path().join("a.txnindex");
    let mut txn = TransactionIndex::new(EntryFile::new(path.clone()));
    txn.append(&AbortedTxn {
        producer_id: 1,
        first_offset: Offset(2),
        last_offset: Offset(3),
        last_stable_offset: Offset(4),
    });
    txn.file().write_pending(&OsFileSystem).unwrap();
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(
        (bytes.len(), bytes[9], bytes[17], bytes[25], bytes[33]),
        (34, 1, 2, 3, 4)
    );
}

#[test]
fn zeros_that_kafka_preallocates_are_ignored_and_cut() {
    let (_dir, path) = temp_file("a.index");
    offset_index(path.clone(), &[(101, 7), (109, 99)])
        .file()
        .write_whole(&OsFileSystem)
        .unwrap();
    let mut padded = std::fs::read(&path).unwrap();
    padded.resize(1_000_003, 0);
    std::fs::write(&path, &padded).unwrap();
    let sealed = OffsetIndex::new(EntryFile::sealed(path.clone()), Offset(100));
    assert_eq!(sealed.entries(&OsFileSystem).unwrap().count(), 2);
    let mut active = OffsetIndex::new(
        EntryFile::open_active(&OsFileSystem, path.clone()).unwrap(),
        Offset(100),
    );
    active.append(Offset(120), Position(1000));
    active.file().write_pending(&OsFileSystem).unwrap();
    assert_eq!(std::fs::read(&path).unwrap().len(), 24);
}

#[test]
fn a_new_index_makes_no_file_until_it_is_sealed() {
    let (_dir, path) = temp_file("a.index");
    let mut index = OffsetIndex::new(EntryFile::new(path.clone()), Offset(100));
    index.file().write_pending(&OsFileSystem).unwrap();
    assert!(!path.exists());
    index.file().write_whole(&OsFileSystem).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"");
}

#[test]
fn a_sealed_index_without_a_file_is_empty() {
    let (_dir, path) = temp_file("00000000000000000000.txnindex");
    assert_eq!(
        TransactionIndex::new(EntryFile::sealed(path))
            .entries(&OsFileSystem)
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn truncation_drops_entries_at_and_above_and_shortens_the_file() {
    let (_dir, path) = temp_file("a.index");
    let mut index = offset_index(path.clone(), &[(101, 7), (109, 99), (120, 200)]);
    index.file().write_pending(&OsFileSystem).unwrap();
    index.truncate_to(Offset(109));
    index.append(Offset(110), Position(100));
    index.file().write_pending(&OsFileSystem).unwrap();
    let reopened = OffsetIndex::new(EntryFile::sealed(path), Offset(100));
    let entries: Vec<_> = reopened
        .entries(&OsFileSystem)
        .unwrap()
        .map(|entry| (entry.offset, entry.position.get()))
        .collect();
    assert_eq!(entries, [(Offset(101), 7), (Offset(110), 100)]);
}

#[test]
fn a_failed_write_is_repeated_whole() {
    let (_dir, path) = temp_file("00000000000000000100.index");
    let fault = FaultFileSystem::new(Arc::new(OsFileSystem));
    fault.arm("write:.index", 1, Fault::ShortWrite);
    let mut index = offset_index(path.clone(), &[(101, 7), (109, 99), (110, 200)]);
    assert!(index.file().write_pending(&fault).is_err());
    index.file().write_pending(&fault).unwrap();
    assert_eq!(std::fs::read(path).unwrap().len(), 24);
    assert_eq!(index.file().pending(), 0);
}

#[test]
fn fullness_leaves_room_for_the_last_time_entry() {
    let mut offsets = OffsetIndex::new(EntryFile::new(PathBuf::new()), Offset(0));
    let mut times = TimeIndex::new(EntryFile::new(PathBuf::new()), Offset(0));
    for n in 1..=3 {
        assert!(!offsets.is_full(31), "before entry {n}");
        offsets.append(Offset(n), Position(n as u64));
    }
    assert!(offsets.is_full(31));
    times.maybe_append(1, Offset(1));
    assert!(!times.is_full(36));
    times.maybe_append(2, Offset(2));
    assert!(times.is_full(36));
}

#[test]
fn invalid_indexes_are_recognised() {
    let check = |entries: &[(i64, u32)]| {
        let (_dir, path) = temp_file("a.index");
        offset_index(path.clone(), entries)
            .file()
            .write_whole(&OsFileSystem)
            .unwrap();
        OffsetIndex::new(EntryFile::sealed(path), Offset(100))
            .is_sane(&OsFileSystem, Position(100))
            .unwrap()
    };
    assert!(check(&[]));
    assert!(check(&[(101, 7), (109, 99)]));
    assert!(!check(&[(101, 7), (109, 100)]), "beyond the log");
    assert!(!check(&[(109, 7), (105, 50)]), "descends");
    assert!(!check(&[(109, 7), (100, 0)]), "padded");
    let (_dir, path) = temp_file("a.index");
    assert!(
        !OffsetIndex::new(EntryFile::sealed(path.clone()), Offset(100))
            .is_sane(&OsFileSystem, Position(100))
            .unwrap(),
        "missing"
    );
    std::fs::write(&path, [0; 9]).unwrap();
    assert!(
        !OffsetIndex::new(EntryFile::sealed(path), Offset(100))
            .is_sane(&OsFileSystem, Position(100))
            .unwrap(),
        "partial"
    );
}

#[test]
fn aborted_transactions_are_collected_until_the_upper_bound_is_stable() {
    let mut index = TransactionIndex::new(EntryFile::new(PathBuf::new()));
    let all =
        [(1, 0, 9, 5), (2, 5, 12, 13), (3, 14, 20, 21)].map(|(producer_id, first_offset, last_offset, stable)| {
            let aborted = AbortedTxn {
                producer_id,
                first_offset: Offset(first_offset),
                last_offset: Offset(last_offset),
                last_stable_offset: Offset(stable),
            };
            index.append(&aborted);
            aborted
        });
    let mut found = Vec::new();
    assert!(
        index.collect(&OsFileSystem, Offset(0), Offset(10), &mut found).unwrap(),
        "13 is past 10"
    );
    assert_eq!(found, all[..2]);
    found.clear();
    assert!(
        !index
            .collect(&OsFileSystem, Offset(10), Offset(30), &mut found)
            .unwrap(),
        "later segments may add"
    );
    assert_eq!(found, all[1..]);
}

#[test]
fn large_index_that_cannot_be_mapped_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("00000000000000000000.index");
    let bytes: Vec<u8> = (1..5000u64).flat_map(u64::to_be_bytes).collect();
    std::fs::write(&path, &bytes).unwrap();
    let faults = FaultFileSystem::new(Arc::new(OsFileSystem));
    faults.arm("map", 1, Fault::NoMemory);
    let file = EntryFile::<8>::sealed(path);
    assert_eq!(file.bytes(&faults).unwrap(), bytes);
    assert!(faults.has_fired());
}

#[test]
fn forgotten_aborted_transactions_are_unlinked_by_the_next_write_also_after_a_failure() {
    let (_dir, path) = temp_file("00000000000000000000.txnindex");
    let aborted = AbortedTxn {
        producer_id: 1,
        first_offset: Offset(0),
        last_offset: Offset(9),
        last_stable_offset: Offset(5),
    };
    let faults = FaultFileSystem::new(Arc::new(OsFileSystem));
    let mut index = TransactionIndex::new(EntryFile::new(path.clone()));
    index.append(&aborted);
    index.write_pending(&faults).unwrap();
    index.file().restart();
    faults.arm("remove:.txnindex", 1, Fault::NoSpace);
    assert!(index.write_pending(&faults).is_err());
    assert!(faults.has_fired() && path.exists());
    index.write_pending(&faults).unwrap();
    assert!(!path.exists());
    index.append(&aborted);
    index.write_pending(&faults).unwrap();
    assert_eq!(std::fs::read(&path).unwrap().len(), 34, "the index goes on after that");
}
