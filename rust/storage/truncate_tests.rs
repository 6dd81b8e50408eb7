//! Cutting the end off.

use crate::producer_state::ProducerEntry;
use crate::testing::{Bench, START_MS, append_batch, batch, producer_batch, read_all};
use base::place::{LeaderEpoch, Offset};
use record::Origin;

fn sample() -> (Bench, crate::Log) {
    let bench = Bench::new(&[("segment.bytes", "1000"), ("index.interval.bytes", "200")]);
    let mut log = bench.create();
    for n in 0..30 {
        let mut bytes = batch(START_MS + n, 2, 60);
        log.append_as_leader(&mut bytes, LeaderEpoch(n as i32 / 10), Origin::Client, START_MS + n)
            .unwrap();
    }
    (bench, log)
}

#[test]
fn truncation_at_every_offset_keeps_the_batches_below_it() {
    for offset in 0..=60 {
        let (bench, mut log) = sample();
        log.flush().unwrap();
        assert_eq!(log.truncate_to(Offset(offset)).unwrap(), offset < 60);
        let end = offset / 2 * 2;
        assert_eq!(log.log_end_offset(), Offset(end), "at {offset}");
        assert_eq!(log.recovery_point(), Offset(end));
        let expected: Vec<_> = (0..end / 2).map(|n| (n * 2, n * 2 + 2)).collect();
        assert_eq!(read_all(&log, 0, end, 500), expected);
        assert!(log.epochs().entries().iter().all(|it| it.start_offset < Offset(end)));
        bench.append(&mut log, 2, 10);
        assert_eq!(read_all(&log, 0, end + 2, 500).last(), Some(&(end, end + 2)));
        let found = log.max_timestamp().unwrap().resolve().unwrap().unwrap();
        assert_eq!(
            found.timestamp,
            if end == 0 { START_MS } else { START_MS + end / 2 - 1 }.max(START_MS)
        );
        log.close().unwrap();
        assert_eq!(bench.reopen_clean().unwrap().log_end_offset(), Offset(end + 2));
    }
}

#[test]
fn truncation_takes_producers_back() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    for sequence in 0..3 {
        let bytes = producer_batch(START_MS, 7, sequence, false);
        append_batch(&mut log, bytes, 0);
    }
    log.truncate_to(Offset(1)).unwrap();
    assert_eq!(log.producers().entry(7).map(ProducerEntry::last_sequence), Some(0));
    let next = append_batch(&mut log, producer_batch(START_MS, 7, 1, false), 0);
    assert_eq!((next.first_offset, next.is_duplicate), (Offset(1), false));
}

// The simulator saw acknowledged batches written again
#[test]
fn truncation_knows_producers_by_what_lies_below_the_log_start() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    for sequence in 0..6 {
        let bytes = producer_batch(START_MS, 7, sequence, false);
        append_batch(&mut log, bytes, 0);
        if sequence == 1 {
            log.roll(START_MS).unwrap();
        }
    }
    assert!(log.advance_log_start_offset(Offset(5), Offset(6)).unwrap());
    log.truncate_to(Offset(5)).unwrap();
    assert_eq!(log.producers().entry(7).map(ProducerEntry::last_sequence), Some(4));
    let repeated = producer_batch(START_MS, 7, 3, false);
    let again = append_batch(&mut log, repeated, 0);
    assert_eq!((again.first_offset, again.is_duplicate), (Offset(3), true));
}

#[test]
fn truncation_below_the_start_makes_an_empty_log_there() {
    let (_bench, mut log) = sample();
    let later = log.segments().nth(2).unwrap().0;
    log.advance_log_start_offset(later, Offset(60)).unwrap();
    let _ = log.delete_old_segments(START_MS, Offset(60)).unwrap();
    assert!(log.truncate_to(Offset(1)).unwrap());
    assert_eq!(
        (log.log_start_offset(), log.log_end_offset(), log.segment_count()),
        (Offset(1), Offset(1), 1)
    );
}

#[test]
fn a_full_truncation_starts_at_the_given_offset_and_survives_reopening() {
    let (bench, mut log) = sample();
    log.truncate_fully_and_start_at(Offset(1000)).unwrap();
    bench.append(&mut log, 2, 10);
    assert_eq!(read_all(&log, 1000, 1002, 500), [(1000, 1002)]);
    drop(log);
    let log = bench.reopen(0).unwrap();
    assert_eq!(
        (log.log_start_offset(), log.log_end_offset()),
        (Offset(1000), Offset(1002))
    );
}
