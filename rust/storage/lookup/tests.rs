//! Timestamps against a naive walk over all records.

mod history;

use proptest::prelude::*;

use crate::Log;
use crate::testing::{Bench, START_MS, append_batch};
use base::place::{LeaderEpoch, Offset};
use record::{BatchBuilder, Codec};

/// Batches of records with these timestamps (relative to the start), alternately compressed.
fn sample(bench: &Bench, batches: &[Vec<i64>]) -> (Log, Vec<(i64, i64)>) {
    let mut log = bench.create();
    let mut records = Vec::new();
    for (n, timestamps) in batches.iter().enumerate() {
        let mut builder = BatchBuilder::new(if n % 2 == 0 { Codec::None } else { Codec::Lz4 });
        for timestamp in timestamps {
            records.push((START_MS + timestamp, records.len() as i64));
            builder.append(START_MS + timestamp, Some(b"k"), Some(&[7; 60]), &[]);
        }
        append_batch(&mut log, builder.build(Offset(0), LeaderEpoch::NONE), 3);
    }
    (log, records)
}

fn small() -> Bench {
    Bench::new(&[("segment.bytes", "2000"), ("index.interval.bytes", "200")])
}

proptest! {
    #[test]
    fn timestamp_lookup_matches_naive(
        batches in prop::collection::vec(prop::collection::vec(0i64..5000, 1..5), 1..40),
        targets in prop::collection::vec(-10i64..5100, 1..20),
        start in 0i64..30,
        reopened in any::<bool>(),
    ) {
        let bench = small();
        let (mut log, records) = sample(&bench, &batches);
        if reopened {
            log.close().unwrap();
            log = bench.reopen_clean().unwrap();
        }
        for target in targets {
            let naive = records.iter().find(|it| it.0 >= START_MS + target);
            let found = log.lookup_timestamp(START_MS + target).unwrap().resolve().unwrap();
            prop_assert_eq!(found.map(|it| (it.timestamp, it.offset.get())), naive.copied());
        }
        let greatest = records.iter().map(|it| it.0).max().unwrap();
        let naive = records.iter().find(|it| it.0 == greatest).copied();
        let found = log.max_timestamp().unwrap().resolve().unwrap();
        prop_assert_eq!(found.map(|it| (it.timestamp, it.offset.get())), naive);
        let end = log.log_end_offset();
        let start = start.min(end.get());
        log.advance_log_start_offset(Offset(start), end).unwrap();
        if let Some(found) = log.lookup_timestamp(START_MS).unwrap().resolve().unwrap() {
            prop_assert!(found.offset >= Offset(start));
        }
    }
}

#[test]
fn an_empty_log_has_no_timestamps() {
    let log = small().create();
    assert_eq!(log.lookup_timestamp(0).unwrap().resolve().unwrap(), None);
    assert_eq!(log.max_timestamp().unwrap().resolve().unwrap(), None);
}

#[test]
fn what_is_found_carries_the_leader_epoch() {
    let bench = small();
    let (log, _) = sample(&bench, &[vec![0, 5]]);
    let found = log.lookup_timestamp(START_MS + 1).unwrap().resolve().unwrap().unwrap();
    assert_eq!(
        (found.timestamp, found.offset, found.leader_epoch.get()),
        (START_MS + 5, Offset(1), 3)
    );
}
