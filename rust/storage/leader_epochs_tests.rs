use std::fs;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::test_fixtures::{fixture, fixture_text};
use ::io::{FaultFileSystem, OsFileSystem};

fn cache(entries: &[(i32, i64)]) -> EpochCache {
    let mut cache = EpochCache::default();
    for &(epoch, start_offset) in entries {
        assert!(cache.assign(LeaderEpoch(epoch), Offset(start_offset)));
    }
    cache
}

fn pairs(cache: &EpochCache) -> Vec<(i32, i64)> {
    cache
        .entries()
        .iter()
        .map(|entry| (entry.epoch.get(), entry.start_offset.get()))
        .collect()
}

#[test]
fn the_file_is_byte_for_byte_kafkas() {
    let text = fixture_text("leader-epoch-checkpoint");
    assert_eq!(encode_epochs(&decode_epochs(&text).unwrap()), text);
    assert_eq!(
        encode_epochs(cache(&[(0, 0), (7, 1200)]).entries()),
        "0\n2\n0 0\n7 1200\n"
    );
}

#[test]
fn flushing_writes_only_what_changed_and_open_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let counting = FaultFileSystem::new(Arc::new(OsFileSystem));
    let mut epochs = EpochCache::open(&counting, dir.path()).unwrap();
    epochs.flush(&counting, dir.path()).unwrap();
    assert!(!counting.counts().contains_key("sync:dir"), "nothing to write yet");
    epochs.assign(LeaderEpoch(0), Offset(0));
    assert!(epochs.is_dirty());
    epochs.flush(&counting, dir.path()).unwrap();
    epochs.flush(&counting, dir.path()).unwrap();
    assert_eq!(counting.counts().get("sync:dir"), Some(&1));
    assert_eq!(
        fs::read(dir.path().join(LEADER_EPOCH_CHECKPOINT)).unwrap(),
        fixture("leader-epoch-checkpoint")
    );
    let reopened = EpochCache::open(&OsFileSystem, dir.path()).unwrap();
    assert_eq!(pairs(&reopened), [(0, 0)]);
    assert!(!reopened.is_dirty());
}

#[test]
fn a_change_during_a_flush_stays_dirty() {
    let mut epochs = cache(&[(0, 0)]);
    let flush = epochs.begin_flush().unwrap();
    epochs.assign(LeaderEpoch(1), Offset(10));
    epochs.complete_flush(&flush);
    assert!(epochs.is_dirty());
}

#[test]
fn a_file_that_is_garbage_asks_for_a_rebuild() {
    let dir = tempfile::tempdir().unwrap();
    for bytes in [&b"garbage"[..], b"0\n9\n0 0\n", &[0; 64], &[0xff, 0xfe]] {
        fs::write(dir.path().join(LEADER_EPOCH_CHECKPOINT), bytes).unwrap();
        let mut epochs = EpochCache::open(&OsFileSystem, dir.path()).unwrap();
        assert!(epochs.must_rebuild() && epochs.is_dirty() && epochs.entries().is_empty());
        epochs.assign(LeaderEpoch(3), Offset(0));
        epochs.flush(&OsFileSystem, dir.path()).unwrap();
        assert!(!epochs.must_rebuild());
    }
}

#[test]
fn assigning_keeps_epochs_and_offsets_ascending() {
    for (entries, epoch, start_offset, expected) in [
        (&[][..], 0, 0, &[(0, 0)][..]),
        (&[(0, 0)], 0, 5, &[(0, 0)]),
        (&[(0, 5)], 0, 3, &[(0, 3)]),
        (&[(0, 0)], 2, 10, &[(0, 0), (2, 10)]),
        (&[(0, 0), (2, 10)], 3, 10, &[(0, 0), (3, 10)]),
        (&[(0, 0), (2, 10), (4, 20)], 3, 15, &[(0, 0), (2, 10), (3, 15)]),
        (&[(0, 0), (2, 10), (4, 20)], 1, 30, &[(0, 0), (1, 30)]),
        (&[(0, 0), (2, 10)], 5, 0, &[(5, 0)]),
        (&[(1, 5)], -1, 9, &[(1, 5)]),
        (&[(1, 5)], 9, -1, &[(1, 5)]),
    ] {
        let mut epochs = cache(entries);
        epochs.assign(LeaderEpoch(epoch), Offset(start_offset));
        assert_eq!(pairs(&epochs), expected, "{entries:?} + ({epoch}, {start_offset})");
    }
}

// KIP-101, KIP-279
#[test]
fn end_offsets_are_those_that_kafka_answers() {
    let epochs = cache(&[(2, 10), (4, 20), (7, 30)]);
    for (asked, expected) in [
        (7, Some((7, 35))),
        (8, None),
        (-1, None),
        (1, Some((1, 10))),
        (0, Some((0, 10))),
        (2, Some((2, 20))),
        (3, Some((2, 20))),
        (4, Some((4, 30))),
        (6, Some((4, 30))),
    ] {
        assert_eq!(
            epochs
                .end_offset_for(LeaderEpoch(asked), Offset(35))
                .map(|(epoch, end)| (epoch.get(), end.get())),
            expected,
            "{asked}"
        );
    }
    assert_eq!(EpochCache::default().end_offset_for(LeaderEpoch(0), Offset(35)), None);
}

#[test]
fn offsets_belong_to_the_epoch_that_wrote_them() {
    let epochs = cache(&[(2, 10), (4, 20)]);
    for (offset, expected) in [(9, None), (10, Some(2)), (19, Some(2)), (20, Some(4)), (99, Some(4))] {
        assert_eq!(
            epochs.epoch_for_offset(Offset(offset)).map(LeaderEpoch::get),
            expected,
            "{offset}"
        );
    }
    assert_eq!(epochs.latest_epoch(), Some(LeaderEpoch(4)));
}

#[test]
fn truncating_cuts_both_ends_as_kafka_does() {
    let entries = [(2, 10), (4, 20), (7, 30)];
    for (end, expected) in [
        (31, &entries[..]),
        (30, &entries[..2]),
        (21, &entries[..2]),
        (10, &[]),
        (-1, &entries),
    ] {
        let mut epochs = cache(&entries);
        assert_eq!(epochs.truncate_from_end(Offset(end)), expected.len() < 3, "{end}");
        assert_eq!(pairs(&epochs), expected, "{end}");
    }
    for (start, expected) in [
        (5, &[(2, 10), (4, 20), (7, 30)][..]),
        (10, &[(2, 10), (4, 20), (7, 30)]),
        (15, &[(2, 15), (4, 20), (7, 30)]),
        (20, &[(4, 20), (7, 30)]),
        (29, &[(4, 29), (7, 30)]),
        (99, &[(7, 99)]),
    ] {
        let mut epochs = cache(&entries);
        assert_eq!(epochs.truncate_from_start(Offset(start)), start > 10, "{start}");
        assert_eq!(pairs(&epochs), expected, "{start}");
    }
}

#[test]
fn an_empty_cache_owns_no_memory() {
    assert_eq!(EpochCache::default().entries.capacity(), 0);
    assert_eq!(cache(&[(0, 0)]).entries.capacity(), 1);
}

/// What the cache should know, told by a log that remembers the epoch of every record.
#[derive(Debug, Default)]
struct NaiveLog {
    start: usize,
    epochs: Vec<i32>,
}

impl NaiveLog {
    fn records(&self) -> impl Iterator<Item = (i64, i32)> {
        self.epochs
            .iter()
            .enumerate()
            .skip(self.start)
            .map(|(offset, epoch)| (offset as i64, *epoch))
    }

    fn end_offset_for(&self, asked: i32) -> Option<(i32, i64)> {
        let (_, latest) = self.records().last()?;
        match asked {
            _ if asked == latest => Some((asked, self.epochs.len() as i64)),
            _ if asked > latest || asked < 0 => None,
            _ => {
                let (end, _) = self.records().find(|(_, epoch)| *epoch > asked)?;
                let floor = self
                    .records()
                    .map(|(_, epoch)| epoch)
                    .filter(|epoch| *epoch <= asked)
                    .max();
                Some((floor.unwrap_or(asked), end))
            }
        }
    }
}

proptest! {
    #[test]
    fn epoch_cache_matches_naive(steps in prop::collection::vec((0..4_u8, 0..6_usize), 1..60)) {
        let (mut log, mut epochs) = (NaiveLog::default(), EpochCache::default());
        let mut epoch = 0;
        for (step, amount) in steps {
            match step {
                0 => epoch += amount as i32,
                1 => {
                    if amount > 0 {
                        epochs.assign(LeaderEpoch(epoch), Offset(log.epochs.len() as i64));
                    }
                    log.epochs.extend(std::iter::repeat_n(epoch, amount));
                }
                2 => {
                    let end = (log.epochs.len() - amount.min(log.epochs.len())).max(log.start);
                    log.epochs.truncate(end);
                    epochs.truncate_from_end(Offset(end as i64));
                }
                _ if log.start + amount < log.epochs.len() => {
                    log.start += amount;
                    epochs.truncate_from_start(Offset(log.start as i64));
                }
                _ => {}
            }
            for asked in -1..=epoch + 1 {
                let found = epochs.end_offset_for(LeaderEpoch(asked), Offset(log.epochs.len() as i64));
                let found = found.map(|(epoch, end)| (epoch.get(), end.get()));
                prop_assert_eq!(found, log.end_offset_for(asked));
            }
            for (offset, written) in log.records() {
                prop_assert_eq!(epochs.epoch_for_offset(Offset(offset)), Some(LeaderEpoch(written)));
            }
        }
    }
}
