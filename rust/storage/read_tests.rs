//! Reads against a naive walk of all batches, over segment borders, with bounds, limits and damaged indexes.

use std::sync::Arc;

use proptest::prelude::*;

use super::ReadPlan;
use crate::Wait;
use crate::log::Log;
use crate::testing::{Bench, read_all};
use ::io::{FaultFileSystem, OsFileSystem};
use base::error::{Error, ErrorCode};
use base::place::Offset;

/// A log of several segments with batches of different sizes; gives the offsets at which batches begin.
fn sample(bench: &Bench, batches: usize) -> (Log, Vec<i64>) {
    let mut log = bench.create();
    let mut bounds = vec![0];
    for n in 0..batches {
        bench.append(&mut log, 1 + n % 3, 10 + n * 37 % 400);
        bounds.push(log.log_end_offset().get());
    }
    (log, bounds)
}

fn small() -> Bench {
    Bench::new(&[("segment.bytes", "6000"), ("index.interval.bytes", "300")])
}

#[test]
fn every_offset_is_found_in_its_batch_with_every_bound_and_limit() {
    let bench = small();
    let (log, bounds) = sample(&bench, 120);
    assert!(log.segment_count() > 3);
    let end = log.log_end_offset();
    for offset in 0..end.get() {
        let base = *bounds.iter().rfind(|base| **base <= offset).unwrap();
        for (max_bytes, upper) in [
            (0, end),
            (1, end),
            (700, end),
            (100_000, end),
            (100_000, Offset(base + 3)),
            (400, Offset(base + 5)),
        ] {
            let upper = *bounds.iter().rfind(|bound| **bound <= upper.min(end).get()).unwrap();
            let slice = log
                .plan_read(Offset(offset), Offset(upper))
                .unwrap()
                .resolve(max_bytes, true)
                .unwrap();
            if offset >= upper {
                assert_eq!(slice.len, 0);
                continue;
            }
            assert_eq!(slice.base_offset, Offset(base), "offset {offset}");
            let found = read_all(&log, offset, upper, max_bytes);
            assert_eq!(found.first().map(|it| it.0), Some(base));
            assert_eq!(
                found.last().map(|it| it.1),
                Some(upper),
                "offset {offset} limit {max_bytes}"
            );
        }
    }
}

proptest! {
    #[test]
    fn reads_match_naive(batches in 1usize..60, from in 0i64..120, max_bytes in 0usize..5000, clean in any::<bool>()) {
        let bench = small();
        let (mut log, bounds) = sample(&bench, batches);
        if clean {
            log.close().unwrap();
            log = bench.reopen_clean().unwrap();
        }
        let end = log.log_end_offset();
        let naive: Vec<_> = bounds.windows(2).map(|it| (it[0], it[1])).filter(|it| it.1 > from).collect();
        if from <= end.get() {
            prop_assert_eq!(read_all(&log, from, end.get(), max_bytes), naive);
        }
    }
}

/// Flips bits of the interior entries of the first segment's index: both ends stay right, so that it is opened.
fn damage_index(bench: &Bench, at: usize, mask: u8) {
    let path = bench.file(0, ".index");
    let mut bytes = std::fs::read(&path).unwrap();
    let count = bytes.len() / 8;
    for index in 1..count.saturating_sub(1) {
        bytes[index * 8 + at] ^= mask;
    }
    std::fs::write(&path, bytes).unwrap();
}

proptest! {
    #[test]
    fn reads_among_batches_larger_than_a_window_match_naive_with_a_whole_and_a_damaged_index(
        sizes in prop::collection::vec(prop_oneof![10usize..2_000, 7_000usize..20_000], 1..30),
        from in 0i64..60,
        max_bytes in 0usize..40_000,
        damage in prop::option::of((0usize..8, 1u8..=255)),
    ) {
        let bench = Bench::new(&[("index.interval.bytes", "4096")]);
        let mut log = bench.create();
        let mut naive = Vec::new();
        for (n, size) in sizes.iter().enumerate() {
            let before = log.log_end_offset();
            bench.append(&mut log, 1 + n % 3, size / (1 + n % 3));
            naive.push((before.get(), log.log_end_offset().get()));
        }
        if let Some((at, mask)) = damage {
            log.close().unwrap();
            damage_index(&bench, at, mask);
            log = bench.reopen_clean().unwrap();
        }
        let end = log.log_end_offset();
        naive.retain(|batch| batch.1 > from);
        if from <= end.get() {
            prop_assert_eq!(read_all(&log, from, end.get(), max_bytes), naive);
        }
    }
}

/// Such a batch has an index entry of its own: no other batch is looked at to come to it.
#[test]
fn a_batch_larger_than_a_window_is_found_by_reading_its_header_alone() {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let bench = Bench::on(Arc::new(disk.clone()), &[]);
    let mut log = bench.create();
    for _ in 0..40 {
        bench.append(&mut log, 3, 4_000);
    }
    let reads = || disk.counts().get("read:.log").copied().unwrap_or(0);
    for offset in 3..96 {
        let before = reads();
        let plan = log.plan_read(Offset(offset), log.log_end_offset()).unwrap();
        let slice = plan.resolve(16_384, true).unwrap();
        assert_eq!(
            (slice.base_offset, reads() - before),
            (Offset(offset / 3 * 3), 1),
            "{offset}"
        );
    }
}

#[test]
fn offsets_outside_the_log_are_refused_and_its_end_is_empty() {
    let bench = small();
    let (mut log, _) = sample(&bench, 40);
    let end = log.log_end_offset();
    log.advance_log_start_offset(Offset(5), end).unwrap();
    for offset in [-1, 4, (end + 1).get()] {
        let error = log.plan_read(Offset(offset), end).err().unwrap();
        assert_eq!(error.code(), ErrorCode::OFFSET_OUT_OF_RANGE, "{offset}");
    }
    let slice = log.plan_read(end, end).unwrap().resolve(1000, true).unwrap();
    assert_eq!((slice.len, slice.base_offset), (0, end));
}

#[test]
fn a_limit_below_the_first_batch_gives_nothing_unless_one_is_asked_for() {
    let bench = small();
    let (log, _) = sample(&bench, 5);
    assert_eq!(
        log.plan_read(Offset(0), Offset(5))
            .unwrap()
            .resolve(10, false)
            .unwrap()
            .len,
        0
    );
    let whole = log.plan_read(Offset(0), Offset(5)).unwrap().resolve(10, true).unwrap();
    assert!(whole.len > 61);
}

#[test]
fn a_damaged_index_costs_time_and_not_truth() {
    let bench = small();
    let (mut log, bounds) = sample(&bench, 120);
    log.close().unwrap();
    let naive: Vec<_> = bounds.windows(2).map(|it| (it[0], it[1])).collect();
    let path = bench.file(0, ".index");
    let mut bytes = std::fs::read(&path).unwrap();
    let count = bytes.len() / 8;
    for index in 1..count - 1 {
        bytes[index * 8 + 7] ^= 5; // positions amid batches; both ends stay right
    }
    std::fs::write(&path, bytes).unwrap();
    let log = bench.reopen_clean().unwrap();
    for from in 0..log.log_end_offset().get() {
        let naive: Vec<_> = naive.iter().copied().filter(|it| it.1 > from).collect();
        assert_eq!(read_all(&log, from, log.log_end_offset().get(), 600), naive, "{from}");
    }
}

/// What waits for the disk is refused by name; once it is in memory the answers are the same.
#[test]
fn a_read_at_once_reads_nothing_that_is_not_in_memory() {
    let bench = small();
    let mut log = bench.create();
    for _ in 0..120 {
        bench.append(&mut log, 1, 100);
    }
    assert!(log.segment_count() > 3);
    log.close().unwrap();
    let log = bench.reopen_clean().unwrap();
    let at_once = |offset, bound| log.plan_read_at_once(offset, bound, Wait::No);
    let named = |offset, bound| match at_once(offset, bound) {
        Err(Error::NotAtHand { path }) => Some(path),
        _ => None,
    };
    let first = bench.file(0, ".index");
    assert_eq!(named(Offset(1), Offset(60)), Some(first.clone()), "of the offset");
    assert_eq!(named(Offset(1), Offset(3)), Some(first), "and of the bound");
    let third = bench.base_offsets()[2];
    log.plan_read(Offset(1), Offset(60)).unwrap();
    assert_eq!(named(Offset(1), Offset(60)), None);
    assert_eq!(
        named(Offset(third), Offset(third + 3)),
        Some(bench.file(third, ".index"))
    );
    let place = |plan: ReadPlan| {
        let slice = plan.resolve(1 << 20, true).unwrap();
        (slice.base_offset, slice.position, slice.len)
    };
    assert_eq!(
        place(at_once(Offset(1), Offset(60)).unwrap()),
        place(log.plan_read(Offset(1), Offset(60)).unwrap())
    );
    let (told, file) = (
        log.last_stable_offset(Offset(60)),
        &log.plan_read(Offset(1), Offset(60)).unwrap().resolve(1, true).unwrap(),
    );
    assert!(
        log.plan_aborted(Offset(1), told, file, (Wait::No, Wait::No)).is_ok(),
        "no transactions, no index"
    );
}
