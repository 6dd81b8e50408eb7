//! What is deleted, when, and what never is.

use crate::Log;
use crate::testing::{Bench, batch, read_all};
use base::error::ErrorCode;
use base::place::Offset;

/// Five segments of two batches, one minute apart; the last one is active.
fn sample(pairs: &[(&str, &str)]) -> (Bench, Log) {
    let segment = (batch(0, 1, 100).len() * 2).to_string();
    let mut all = vec![("segment.bytes", segment.as_str()), ("file.delete.delay.ms", "1000")];
    all.extend_from_slice(pairs);
    let bench = Bench::new(&all);
    let mut log = bench.create();
    for _ in 0..10 {
        bench.append(&mut log, 1, 100);
        bench.clock.advance(60_000);
    }
    assert_eq!(log.segment_count(), 5);
    (bench, log)
}

#[test]
fn segments_older_than_retention_ms_go_and_the_start_follows() {
    let (bench, mut log) = sample(&[("retention.ms", "360000")]);
    let deletion = log.delete_old_segments(bench.now_ms(), Offset(10)).unwrap();
    assert_eq!((deletion.segments(), deletion.due_ms()), (2, bench.now_ms() + 1000));
    assert_eq!((log.log_start_offset(), log.segment_count()), (Offset(4), 3));
    assert_eq!(
        log.plan_read(Offset(3), Offset(10)).err().map(|it| it.code()),
        Some(ErrorCode::OFFSET_OUT_OF_RANGE)
    );
    assert_eq!(read_all(&log, 4, 10, 1000).len(), 6);
    assert!(
        bench
            .names()
            .iter()
            .any(|name| name == "00000000000000000000.log.deleted")
    );
    deletion.run().unwrap();
    assert!(
        !bench.names().iter().any(|name| name.ends_with(".deleted")),
        "{:?}",
        bench.names()
    );
    log.close().unwrap();
    let log = bench.reopen_clean().unwrap();
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (Offset(4), Offset(10)));
}

#[test]
fn the_oldest_segments_go_while_the_log_exceeds_retention_bytes() {
    let size = batch(0, 1, 100).len() * 2;
    let (bench, mut log) = sample(&[("retention.bytes", &(size * 3 + 1).to_string())]);
    assert_eq!(
        log.delete_old_segments(bench.now_ms(), Offset(10)).unwrap().segments(),
        1,
        "never below the limit"
    );
    assert_eq!(
        log.delete_old_segments(bench.now_ms(), Offset(10)).unwrap().segments(),
        0
    );
}

#[test]
fn nothing_that_reaches_above_the_high_watermark_goes() {
    let (bench, mut log) = sample(&[("retention.ms", "0")]);
    assert_eq!(
        log.delete_old_segments(bench.now_ms(), Offset(5)).unwrap().segments(),
        2
    );
    assert_eq!(log.log_start_offset(), Offset(4));
}

#[test]
fn old_segments_behind_a_young_one_below_the_log_start_go_with_it() {
    let segment = (batch(0, 1, 100).len() * 2).to_string();
    let bench = Bench::new(&[("segment.bytes", segment.as_str()), ("retention.ms", "100000")]);
    let mut log = bench.create();
    for (offset, passed_ms) in [(0, 3_600_000), (2, -3_600_000), (4, 0), (6, 200_000)] {
        bench.clock.advance(passed_ms);
        bench.append(&mut log, 1, 100);
        bench.append(&mut log, 1, 100);
        assert_eq!(log.log_end_offset(), Offset(offset + 2));
    }
    log.advance_log_start_offset(Offset(2), Offset(8)).unwrap();
    assert_eq!(
        log.delete_old_segments(bench.now_ms(), Offset(8)).unwrap().segments(),
        3
    );
    assert_eq!(log.log_start_offset(), Offset(6));
}

#[test]
fn when_all_is_old_the_active_segment_is_rolled_and_goes_too() {
    let (bench, mut log) = sample(&[("retention.ms", "1")]);
    assert_eq!(
        log.delete_old_segments(bench.now_ms(), Offset(10)).unwrap().segments(),
        5
    );
    assert_eq!(
        (log.log_start_offset(), log.log_end_offset(), log.segment_count()),
        (Offset(10), Offset(10), 1)
    );
    assert_eq!(
        log.delete_old_segments(bench.now_ms(), Offset(10)).unwrap().segments(),
        0,
        "an empty one stays"
    );
    bench.append(&mut log, 1, 10);
    assert_eq!(read_all(&log, 10, 11, 1000), [(10, 11)]);
}

#[test]
fn a_compacted_topic_loses_only_what_is_below_its_start() {
    let (bench, mut log) = sample(&[
        ("cleanup.policy", "compact"),
        ("retention.ms", "1"),
        ("retention.bytes", "1"),
    ]);
    assert_eq!(
        log.delete_old_segments(bench.now_ms(), Offset(10)).unwrap().segments(),
        0
    );
    assert!(log.advance_log_start_offset(Offset(5), Offset(10)).unwrap());
    assert_eq!(
        log.delete_old_segments(bench.now_ms(), Offset(10)).unwrap().segments(),
        2
    );
    assert_eq!(log.log_start_offset(), Offset(5), "the start stays within a segment");
}

#[test]
fn the_start_never_passes_the_high_watermark_and_never_goes_back() {
    let (_bench, mut log) = sample(&[]);
    let error = log.advance_log_start_offset(Offset(7), Offset(6)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::OFFSET_OUT_OF_RANGE);
    assert!(log.advance_log_start_offset(Offset(6), Offset(6)).unwrap());
    assert!(!log.advance_log_start_offset(Offset(3), Offset(6)).unwrap());
    assert_eq!(log.log_start_offset(), Offset(6));
}

#[test]
fn a_reader_finishes_on_a_deleted_segment() {
    let (bench, mut log) = sample(&[("retention.ms", "1")]);
    let plan = log.plan_read(Offset(0), Offset(10)).unwrap();
    log.delete_old_segments(bench.now_ms(), Offset(10))
        .unwrap()
        .run()
        .unwrap();
    let slice = plan.resolve(10_000, true).unwrap();
    let mut bytes = vec![0; slice.len];
    slice.file.read_exact_at(&mut bytes, slice.position.get()).unwrap();
    assert!(slice.len > 0);
}
