//! Summaries against a walk of every record.

use proptest::prelude::*;

use super::super::testing::*;
use super::super::{Bound, Isolation};
use super::{Summary, TimeLimits};
use base::place::{LeaderEpoch, Offset};
use record::{BatchBuilder, Codec};

fn naive(seen: &[Seen], start: i64, end: i64, limits: TimeLimits) -> (u64, Option<(Offset, Offset)>) {
    let wanted: Vec<_> = seen
        .iter()
        .filter(|it| !it.header.is_control() && (start..end).contains(&it.offset) && limits.wants(it.timestamp))
        .collect();
    let offsets = wanted
        .first()
        .zip(wanted.last())
        .map(|(a, b)| (Offset(a.offset), Offset(b.offset)));
    (wanted.len() as u64, offsets)
}

/// A segment as a cleaner leaves it: batches with gaps at both ends, within, and between them.
fn write_compacted(bench: &Bench, batches: &[Vec<bool>]) {
    let mut log = bench.create();
    log.close().unwrap();
    let mut bytes = Vec::new();
    let mut base = 0;
    for (n, kept) in batches.iter().enumerate() {
        let mut builder = BatchBuilder::new(Codec::None);
        for (delta, _) in kept.iter().enumerate().filter(|(_, is_kept)| **is_kept) {
            builder.append_at(delta as i32, n as i64, None, Some(b"value"), std::iter::empty());
        }
        if builder.record_count() > 0 {
            bytes.extend(with_last_delta(
                builder.build(Offset(base), LeaderEpoch(0)),
                kept.len() as i32 - 1,
            ));
        }
        base += kept.len() as i64;
    }
    std::fs::write(bench.file(0, ".log"), bytes).unwrap();
}

/// The batch with another last offset delta, which compaction keeps, and the checksum of that.
fn with_last_delta(mut batch: Vec<u8>, delta: i32) -> Vec<u8> {
    batch[23..27].copy_from_slice(&delta.to_be_bytes());
    let crc = record::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
    batch
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn summary_matches_a_walk_of_every_record(
        times in prop::collection::vec(0i64..60, 1..80),
        per_batch in 1usize..5,
        start in 0i64..80,
        span in 0i64..80,
        min_ms in prop::option::of(0i64..60),
        end_ms in prop::option::of(0i64..60),
    ) {
        let bench = Bench::new(&[]);
        fill(&bench, &times, per_batch, 6);
        let count = times.len() as i64;
        let (start, end) = (start.min(count), (start + span).min(count));
        let mut request = request(&bench);
        request.start.insert(0, Bound::Offset(Offset(start)));
        request.end.insert(0, Bound::Offset(Offset(end)));
        let limits = TimeLimits { min_ms, end_ms };
        let summary = plan(&request).unwrap().summary(limits).unwrap();
        prop_assert_eq!((summary.records, summary.offsets), naive(&walk(&bench), start, end, limits));
    }

    #[test]
    fn gaps_of_compaction_are_neither_counted_nor_lost(
        batches in prop::collection::vec(prop::collection::vec(any::<bool>(), 1..6), 1..12),
        split_bytes in 1u64..400,
    ) {
        let bench = Bench::new(&[]);
        write_compacted(&bench, &batches);
        let seen = walk(&bench);
        let plan = plan(&request(&bench)).unwrap();
        let summary = plan.summary(TimeLimits::default()).unwrap();
        prop_assert_eq!((summary.records, summary.offsets), naive(&seen, 0, i64::MAX, TimeLimits::default()));
        let offsets: Vec<i64> = plan.splits(split_bytes).unwrap().iter().flat_map(offsets_of).collect();
        prop_assert_eq!(offsets, seen.iter().map(|it| it.offset).collect::<Vec<_>>());
    }
}

#[test]
fn times_are_those_of_the_headers() {
    let bench = Bench::new(&[]);
    fill(&bench, &[30, 10, 20, 50, 40, 60], 3, 9);
    let summary = plan(&request(&bench)).unwrap().summary(TimeLimits::default()).unwrap();
    assert_eq!(
        summary,
        Summary {
            records: 6,
            offsets: Some((Offset(0), Offset(5))),
            timestamps: Some((30, 60)),
            may_begin_earlier: true,
        }
    );
}

#[test]
fn batches_of_one_record_tell_the_least_timestamp() {
    let bench = Bench::new(&[]);
    fill(&bench, &[30, 10, 20], 1, 9);
    let summary = plan(&request(&bench)).unwrap().summary(TimeLimits::default()).unwrap();
    assert_eq!((summary.timestamps, summary.may_begin_earlier), (Some((10, 30)), false));
}

#[test]
fn neither_markers_nor_aborted_records_are_counted() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    for (producer, is_committed) in [(1, false), (2, true)] {
        let mut bytes = producer_batch(START_MS, producer, 0, true);
        log.append_as_leader(&mut bytes, LeaderEpoch(0), record::Origin::Client, START_MS)
            .unwrap();
        marker(&mut log, producer, is_committed, START_MS);
    }
    let mut request = request(&bench);
    let count = |request: &_| plan(request).unwrap().summary(TimeLimits::default()).unwrap().records;
    assert_eq!(count(&request), 2);
    request.isolation = Isolation::ReadCommitted;
    assert_eq!(count(&request), 1);
}

#[test]
fn a_segment_that_ends_within_a_batch_is_named() {
    let bench = Bench::new(&[]);
    fill(&bench, &[START_MS; 20], 1, 5);
    let path = bench.file(5, ".log");
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len() - 3).unwrap();
    let error = plan(&request(&bench))
        .unwrap()
        .summary(TimeLimits::default())
        .err()
        .unwrap();
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
}
