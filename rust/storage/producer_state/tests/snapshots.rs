//! Snapshot files: Kafka's bytes, and what a restart makes of good, missing and corrupt ones.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::super::snapshot::{SnapshotError, decode, encode};
use super::*;
use crate::format::{SNAPSHOT_SUFFIX, TXN_INDEX_VERSION, file_name, file_path};
use crate::state_file::Durability;
use crate::test_fixtures::{fixture, fixture_path};
use ::io::{Fault, FaultFileSystem, OsFileSystem};
use base::place::Offset;
use record::Batches;

const KAFKAS: [&str; 6] = [
    "empty.snapshot",
    "idempotent-0/00000000000000000010.snapshot",
    "idempotent-0/00000000000000000011.snapshot",
    "idempotent-0/00000000000000000014.snapshot",
    "transactions-0/00000000000000000003.snapshot",
    "transactions-0/00000000000000000012.snapshot",
];

#[test]
fn snapshots_are_byte_for_byte_kafkas() {
    for name in KAFKAS {
        let bytes = fixture(name);
        let producers = decode(&bytes).unwrap();
        assert_eq!(
            encode(producers.iter().map(|(id, entry)| (*id, entry))),
            bytes,
            "{name}"
        );
    }
    let open = decode(&fixture(KAFKAS[5])).unwrap();
    let first_offsets: Vec<_> = open
        .iter()
        .map(|(id, entry)| (*id, entry.current_txn_first_offset))
        .collect();
    assert_eq!(first_offsets, [(3, None), (4, None), (5, Some(Offset(10)))]);
}

/// Feeds the batches of a log that Kafka wrote to the state.
fn replay(state: &mut ProducerState, log: &str) -> Vec<CompletedTxn> {
    let bytes = fixture(log);
    let mut ended = Vec::new();
    for batch in Batches::new(&bytes) {
        let batch = batch.unwrap();
        ended.extend(state.update(batch.header(), ControlRecord::of_batch(&batch).unwrap()));
    }
    ended
}

/// A snapshot as Kafka writes it: of each producer the last batch only.
fn in_kafkas_form(bytes: &[u8]) -> Vec<u8> {
    let mut producers = decode(bytes).unwrap();
    for (_, entry) in &mut producers {
        let last = entry.batches.last().copied();
        entry.batches = super::super::entry::RecentBatches::EMPTY;
        if let Some(last) = last {
            entry.batches.push(last);
        }
    }
    encode(producers.iter().map(|(id, entry)| (*id, entry)))
}

#[test]
fn replaying_kafkas_log_gives_kafkas_snapshots_and_aborted_transactions() {
    let mut state = unverified();
    assert_eq!(replay(&mut state, "transactions-0/00000000000000000000.log"), []);
    assert_eq!(state.map_end_offset(), Offset(3));
    assert_eq!(
        in_kafkas_form(&state.encode_snapshot()),
        fixture("transactions-0/00000000000000000003.snapshot")
    );
    let ended = replay(&mut state, "transactions-0/00000000000000000003.log");
    assert_eq!(state.map_end_offset(), Offset(12));
    assert_eq!(
        in_kafkas_form(&state.encode_snapshot()),
        fixture("transactions-0/00000000000000000012.snapshot")
    );
    assert_eq!(state.first_unstable_offset(Offset(12)), Some(Offset(10)));

    let mut aborted = TXN_INDEX_VERSION.to_be_bytes().to_vec();
    for txn in ended.iter().filter(|txn| txn.is_aborted) {
        for field in [
            txn.producer_id,
            txn.first_offset.get(),
            txn.last_offset.get(),
            txn.last_stable_offset.get(),
        ] {
            aborted.extend_from_slice(&field.to_be_bytes());
        }
    }
    assert_eq!(aborted, fixture("transactions-0/00000000000000000003.txnindex"));
}

#[test]
fn a_restart_goes_on_from_the_snapshot() {
    let dir = fixture_path("transactions-0");
    let mut state = unverified();
    state.scan_snapshots(&OsFileSystem, &dir).unwrap();
    assert_eq!(state.snapshot_offsets(), [Offset(3), Offset(12)]);
    state.load_for_test(&dir, 0, 12);
    assert_eq!((state.map_end_offset(), state.producer_id_count()), (Offset(12), 3));
    assert_eq!(state.first_unstable_offset(Offset(12)), Some(Offset(10)));
    append(&mut state, &in_txn(data(5, 0, 2, 1, 12)));
    let stored = decode(&fixture("transactions-0/00000000000000000012.snapshot")).unwrap();
    assert_eq!(state.entry(3), Some(&stored[0].1));
}

impl ProducerState {
    fn load_for_test(&mut self, dir: &Path, log_start_offset: i64, log_end_offset: i64) {
        self.truncate_and_reload(
            &OsFileSystem,
            dir,
            Offset(log_start_offset),
            Offset(log_end_offset),
            NOW_MS,
        )
        .unwrap();
    }
}

/// A directory with snapshots at 10, 20 and 30, of one, two and three batches of producer 1.
fn offsets(numbers: &[i64]) -> Vec<Offset> {
    numbers.iter().copied().map(Offset).collect()
}

fn three_snapshots() -> (tempfile::TempDir, ProducerState) {
    let dir = tempfile::tempdir().unwrap();
    let mut state = unverified();
    for at in 0..3 {
        append(&mut state, &data(1, 0, at * 10, 10, i64::from(at) * 10));
        let end = state.map_end_offset();
        assert!(
            state
                .take_snapshot(&OsFileSystem, dir.path(), end, Durability::Synced)
                .unwrap()
        );
    }
    (dir, state)
}

fn reopened(dir: &Path, log_start_offset: i64, log_end_offset: i64) -> ProducerState {
    let mut state = unverified();
    state.scan_snapshots(&OsFileSystem, dir).unwrap();
    state.load_for_test(dir, log_start_offset, log_end_offset);
    state
}

fn snapshot_path(dir: &Path, offset: i64) -> std::path::PathBuf {
    file_path(dir, Offset(offset), SNAPSHOT_SUFFIX)
}

#[test]
fn a_snapshot_is_taken_once_for_each_offset() {
    let (dir, mut state) = three_snapshots();
    assert!(
        !state
            .take_snapshot(&OsFileSystem, dir.path(), Offset(30), Durability::Synced)
            .unwrap()
    );
    assert_eq!(state.snapshot_offsets(), [Offset(10), Offset(20), Offset(30)]);
    assert_eq!(state.latest_snapshot_offset(), Some(Offset(30)));
}

#[test]
fn the_newest_sound_snapshot_is_used_and_corrupt_ones_are_unlinked() {
    for (corrupt, expected) in [(&[][..], 30), (&[30], 20), (&[30, 20], 10), (&[30, 20, 10], 0)] {
        for damage in [&b""[..], b"x", &[0; 100]] {
            let (dir, _) = three_snapshots();
            for offset in corrupt {
                fs::write(snapshot_path(dir.path(), *offset), damage).unwrap();
            }
            let state = reopened(dir.path(), 0, 30);
            assert_eq!(state.map_end_offset(), Offset(expected), "{corrupt:?}");
            for offset in corrupt {
                assert!(!snapshot_path(dir.path(), *offset).exists());
            }
            assert_eq!(state.producer_id_count(), usize::from(expected > 0));
        }
    }
}

#[test]
fn snapshots_outside_of_the_log_are_unlinked() {
    let (dir, _) = three_snapshots();
    let state = reopened(dir.path(), 11, 25);
    assert_eq!(
        (state.snapshot_offsets(), state.map_end_offset()),
        (&[Offset(20)][..], Offset(20))
    );
    assert!(!snapshot_path(dir.path(), 10).exists() && !snapshot_path(dir.path(), 30).exists());
}

#[test]
fn the_snapshot_where_the_log_begins_is_used() {
    let (dir, _) = three_snapshots();
    let state = reopened(dir.path(), 20, 20);
    assert_eq!(
        (state.snapshot_offsets(), state.map_end_offset()),
        (&[Offset(20)][..], Offset(20))
    );
}

#[test]
fn five_batches_of_each_producer_are_known_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = unverified();
    for at in 0..7 {
        append(&mut state, &data(1, 3, at * 2, 2, i64::from(at) * 3));
        append(&mut state, &data(2, 0, at, 1, i64::from(at) * 3 + 2));
    }
    let end = state.map_end_offset();
    state
        .take_snapshot(&OsFileSystem, dir.path(), end, Durability::Lazy)
        .unwrap();
    let after = reopened(dir.path(), 0, end.get());
    assert_eq!(after.entry(1), state.entry(1));
    assert_eq!(after.entry(2), state.entry(2));
    for at in 2..7 {
        let repeated = check(&after, &data(1, 3, at * 2, 2, end.get()));
        let base_offset = i64::from(at) * 3;
        let (last_offset, timestamp) = (base_offset + 1, NOW_MS);
        let expected = Check::Duplicate {
            base_offset: Offset(base_offset),
            last_offset: Offset(last_offset),
            timestamp,
        };
        assert_eq!(repeated, Ok(expected), "batch {at}");
    }
    assert_eq!(check(&after, &data(1, 3, 2, 2, end.get())), OUT_OF_ORDER);
}

#[test]
fn batches_of_an_earlier_epoch_are_not_known_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = unverified();
    append(&mut state, &data(1, 0, 0, 1, 0));
    append(&mut state, &data(1, 1, 0, 1, 1));
    state
        .take_snapshot(&OsFileSystem, dir.path(), Offset(2), Durability::Lazy)
        .unwrap();
    assert_eq!(reopened(dir.path(), 0, 2).entry(1), state.entry(1));
}

#[test]
fn a_state_that_ends_where_the_log_ends_is_kept() {
    let (dir, mut state) = three_snapshots();
    state.load_for_test(dir.path(), 5, 30);
    assert_eq!(
        state.entry(1).unwrap().batches.as_slice().len(),
        3,
        "and not read again"
    );
}

#[test]
fn expired_producers_are_not_loaded_but_open_transactions_are() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = unverified();
    append(&mut state, &data(1, 0, 0, 1, 0));
    append(&mut state, &in_txn(data(2, 0, 0, 1, 1)));
    state
        .take_snapshot(&OsFileSystem, dir.path(), Offset(2), Durability::Synced)
        .unwrap();
    let mut state = unverified();
    state.scan_snapshots(&OsFileSystem, dir.path()).unwrap();
    state
        .truncate_and_reload(&OsFileSystem, dir.path(), Offset(0), Offset(2), NOW_MS + 86_400_000)
        .unwrap();
    assert!(state.entry(1).is_none() && state.entry(2).is_some());
    assert_eq!(state.first_undecided_offset(), Some(Offset(1)));
}

#[test]
fn stray_snapshots_go_except_the_one_of_the_clean_stop() {
    for (bases, expected) in [
        (&[0, 10][..], &[10, 30][..]),
        (&[0, 20], &[20, 30]),
        (&[0, 30], &[30]),
        (&[0, 40], &[]),
    ] {
        let (dir, mut state) = three_snapshots();
        let (bases, expected) = (offsets(bases), offsets(expected));
        state.remove_stray_snapshots(&OsFileSystem, dir.path(), &bases).unwrap();
        assert_eq!(state.snapshot_offsets(), expected, "{bases:?}");
        let mut on_disk = unverified();
        on_disk.scan_snapshots(&OsFileSystem, dir.path()).unwrap();
        assert_eq!(on_disk.snapshot_offsets(), expected, "{bases:?}");
    }
}

#[test]
fn snapshots_are_deleted_from_an_offset_on_and_with_their_segment() {
    let (dir, mut state) = three_snapshots();
    state
        .delete_snapshots_from(&OsFileSystem, dir.path(), Offset(30))
        .unwrap();
    assert_eq!(state.snapshot_offsets(), [Offset(10), Offset(20)]);
    let renamed = state
        .mark_snapshot_deleted(&OsFileSystem, dir.path(), Offset(20))
        .unwrap()
        .unwrap();
    assert_eq!(
        renamed.file_name().unwrap().to_str().unwrap(),
        file_name(Offset(20), ".snapshot.deleted")
    );
    assert!(renamed.exists());
    assert_eq!(
        state
            .mark_snapshot_deleted(&OsFileSystem, dir.path(), Offset(20))
            .unwrap(),
        None
    );
    let (dir, mut state) = three_snapshots();
    state
        .truncate_fully_and_start_at(&OsFileSystem, dir.path(), Offset(100))
        .unwrap();
    assert!(state.is_empty() && state.map_end_offset() == Offset(100) && !snapshot_path(dir.path(), 30).exists());
}

#[test]
fn a_fault_at_any_step_of_a_snapshot_leaves_the_older_one_usable() {
    let labels = ["open", "write", "sync", "rename"];
    for label in labels {
        for fault in [Fault::Crash, Fault::InputOutput, Fault::ShortWrite] {
            let (dir, mut state) = three_snapshots();
            append(&mut state, &data(1, 0, 30, 10, 30));
            let faulty = FaultFileSystem::new(Arc::new(OsFileSystem));
            let kind = if label == "rename" {
                ".snapshot"
            } else {
                ".snapshot.tmp"
            };
            faulty.arm(&format!("{label}:{kind}"), 1, fault);
            assert!(
                state
                    .take_snapshot(&faulty, dir.path(), Offset(40), Durability::Synced)
                    .is_err(),
                "{label}"
            );
            assert_eq!(state.snapshot_offsets(), [Offset(10), Offset(20), Offset(30)]);
            faulty.lose_unsynced().unwrap();
            assert_eq!(reopened(dir.path(), 0, 40).map_end_offset(), Offset(30));
        }
    }
}

#[test]
fn damage_is_found_at_every_byte_and_every_length() {
    let good = fixture(KAFKAS[5]);
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        assert!(decode(&bad).is_err(), "byte {at}");
        assert!(decode(&good[..at]).is_err(), "length {at}");
    }
    assert!(decode(&[&good[..], &[0]].concat()).is_err());
    assert_eq!(decode(&[0, 2, 0, 0, 0, 0, 0, 0, 0, 0]), Err(SnapshotError::Version(2)));
    // A huge count with the right checksum allocates nothing.
    let mut bytes = vec![0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff];
    let crc = record::crc32c(&bytes[6..]);
    bytes[2..6].copy_from_slice(&crc.to_be_bytes());
    assert_eq!(decode(&bytes), Err(SnapshotError::Length));
}

proptest! {
    #[test]
    fn every_snapshot_survives_its_bytes(
        entries in prop::collection::vec((0..i64::MAX, any::<[u8; 38]>()), 0..8)
    ) {
        let mut body = (entries.len() as i32).to_be_bytes().to_vec();
        for (producer_id, rest) in &entries {
            body.extend_from_slice(&producer_id.to_be_bytes());
            body.extend_from_slice(rest);
        }
        let bytes = [&[0, 1][..], &record::crc32c(&body).to_be_bytes(), &body].concat();
        let producers = decode(&bytes).unwrap();
        prop_assert_eq!(producers.len(), entries.len());
        let again = encode(producers.iter().map(|(id, entry)| (*id, entry)));
        prop_assert_eq!(decode(&again), Ok(producers));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        let _ = decode(&bytes);
        let body = [&[0, 0][..], &bytes].concat();
        let _ = decode(&[&[0, 1][..], &record::crc32c(&body).to_be_bytes(), &body].concat());
    }
}
