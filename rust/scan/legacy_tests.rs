//! Segments with messages of magic 0 and 1, and v2 batches behind them, against a walk of every record.

use std::path::PathBuf;

use super::check::{Check, Options, Severity};
use super::test_batches::{Row, file, options, read, split};
use super::testing::*;
use super::{BatchList, Bound, PartitionPlan, ScanOptions, Split, TimeLimits};
use base::place::{LeaderEpoch, Offset};
use record::legacy::Magic;
use record::{BatchBuilder, Batches, Codec};
use storage::testing::old_messages;

const CODECS: [Codec; 4] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4];

/// Three records of each codec in magic 0, in magic 1, and in v2 batches.
fn bytes() -> Vec<Vec<u8>> {
    let mut sets = Vec::new();
    for codec in CODECS {
        for magic in [Some(Magic::V0), Some(Magic::V1), None] {
            let offset = sets.len() as i64 * 3;
            let times = [offset * 7 % 20, 30, offset * 5 % 40].map(|time| START_MS + time);
            if let Some(magic) = magic {
                sets.push(old_messages(magic, codec, offset, &times));
                continue;
            }
            let mut builder = BatchBuilder::new(codec);
            for time in times {
                builder.append(time, Some(b"key"), Some(&[b'v'; 40]), &[]);
            }
            sets.push(builder.build(Offset(offset), LeaderEpoch(0)));
        }
    }
    sets
}

fn written() -> Bench {
    let bench = Bench::new(&[("segment.bytes", "600"), ("index.interval.bytes", "100")]);
    let mut log = bench.create();
    for set in bytes() {
        log.append_as_follower(&set).unwrap();
    }
    log.close().unwrap();
    bench
}

fn rows(plan: &PartitionPlan, split_bytes: u64, options: &ScanOptions) -> Vec<Row> {
    let splits = plan.splits(split_bytes).unwrap();
    let named = |split: &Split| Split {
        topic: "flights".into(), // as `read` wants it
        partition: 3,
        ..split.clone()
    };
    splits
        .iter()
        .flat_map(|split| read(&named(split), options).unwrap())
        .collect()
}

#[test]
fn any_range_in_any_splits_has_the_records_of_a_walk() {
    let bench = written();
    let seen = walk(&bench);
    assert_eq!(seen.len(), 36);
    for (start, end) in (0..36).flat_map(|start| [(start, start + 1), (start, start + 7), (start, 36)]) {
        let end = end.min(36);
        let mut request = request(&bench);
        request.start.insert(0, Bound::Offset(Offset(start)));
        request.end.insert(0, Bound::Offset(Offset(end)));
        let plan = plan(&request).unwrap();
        let expected: Vec<(i64, i64)> = seen
            .iter()
            .filter(|it| (start..end).contains(&it.offset))
            .map(|it| (it.offset, it.timestamp * 1000))
            .collect();
        for split_bytes in [1, 200, 500, u64::MAX] {
            for check_crcs in [true, false] {
                let mut options = options();
                options.check_crcs = check_crcs;
                let rows = rows(&plan, split_bytes, &options);
                let found: Vec<_> = rows.iter().map(|row| (row.offset, row.timestamp_us)).collect();
                assert_eq!(found, expected, "{start} to {end} in splits of {split_bytes}");
                assert!(
                    rows.iter()
                        .all(|row| row.value.as_deref() == Some(&[b'v'; 40]) && row.headers.is_none())
                );
            }
        }
        for limits in [
            (None, None),
            (Some(START_MS + 10), None),
            (None, Some(START_MS + 31)),
            (Some(0), Some(START_MS)),
        ] {
            let limits = TimeLimits {
                min_ms: limits.0,
                end_ms: limits.1,
            };
            let wants = |it: &&Seen| {
                (start..end).contains(&it.offset)
                    && limits.min_ms.is_none_or(|min| it.timestamp >= min)
                    && limits.end_ms.is_none_or(|end| it.timestamp < end)
            };
            let wanted: Vec<i64> = seen.iter().filter(wants).map(|it| it.offset).collect();
            let summary = plan.summary(limits).unwrap();
            let ends = wanted
                .first()
                .zip(wanted.last())
                .map(|(first, last)| (Offset(*first), Offset(*last)));
            assert_eq!((summary.records, summary.offsets), (wanted.len() as u64, ends));
        }
    }
}

#[test]
fn bound_of_a_timestamp_finds_the_record_within_a_wrapper() {
    let bench = written();
    let seen = walk(&bench);
    for target in -1..45 {
        let target = START_MS + target;
        let mut request = request(&bench);
        request.start.insert(0, Bound::Timestamp(target));
        let plan = plan(&request).unwrap();
        let first = seen.iter().find(|it| it.timestamp >= target).map_or(36, |it| it.offset);
        let offsets: Vec<i64> = rows(&plan, u64::MAX, &options()).iter().map(|row| row.offset).collect();
        assert_eq!(offsets, (first..36).collect::<Vec<_>>());
    }
}

#[test]
fn messages_without_a_timestamp_have_minus_one() {
    let messages = old_messages(Magic::V0, Codec::Gzip, 0, &[START_MS, START_MS]);
    let file = file(&messages);
    let rows = read(&split(&file.path, messages.len() as u64), &options()).unwrap();
    assert!(
        rows.iter()
            .all(|row| (row.timestamp_us, row.timestamp_type) == (-1000, -1))
    );
    assert_eq!(rows.len(), 2);
}

#[test]
fn listing_tells_first_offset_and_records_of_a_wrapper() {
    let file = file(&bytes().concat());
    let mut list = BatchList::open(&file.path).unwrap();
    let mut next = 0;
    let mut records = 0;
    while let Some(listed) = list.next_batch().unwrap() {
        assert!(listed.is_valid);
        assert_eq!(listed.header.base_offset, Offset(next));
        next = listed.header.next_offset().get();
        records += listed.header.record_count;
    }
    assert_eq!((next, records, list.rest()), (36, 36, 0));
}

/// Records, and the faults of a check.
fn check(path: PathBuf, is_deep: bool) -> (u64, Vec<String>) {
    let options = Options {
        paths: vec![path],
        topic: None,
        threads: 1,
        is_deep,
    };
    let report = Check::new(os(), options).run().unwrap();
    let faults = report.findings.iter().filter(|it| it.severity == Severity::Fault);
    (report.totals.records, faults.map(|it| format!("{it:?}")).collect())
}

#[test]
fn check_counts_every_record_and_finds_no_fault() {
    let bench = written();
    for is_deep in [false, true] {
        assert_eq!(check(bench.path(), is_deep), (36, Vec::new()));
    }
}

#[test]
fn check_finds_no_fault_in_kafkas_own_logs() {
    for (topic, records) in [("mixed", 48), ("append_time", 12), ("compacted", 42)] {
        let dir: PathBuf = [
            env!("CARGO_MANIFEST_DIR"),
            "..",
            "..",
            "tests",
            "fixtures",
            "legacy",
            "logs",
        ]
        .iter()
        .collect();
        for is_deep in [false, true] {
            assert_eq!(
                check(dir.join(format!("{topic}-0")), is_deep),
                (records, Vec::new()),
                "{topic}"
            );
        }
    }
}

#[test]
fn check_names_every_damaged_message() {
    let good = bytes();
    let mut position = 0;
    for set in &good {
        let mut bytes = good.concat();
        let first = Batches::new(set).next().unwrap().unwrap().bytes().len();
        bytes[position + first - 1] ^= 1;
        let file = file(&bytes);
        let (_, faults) = check(file.path.clone(), false);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains(&format!("position: Some({position})")), "{faults:?}");
        position += set.len();
    }
}
