//! When a segment ends, and what it leaves on disk.

use crate::testing::{Bench, batch, read_all};
use base::place::{LeaderEpoch, Offset};

#[test]
fn append_rolls_when_segment_is_full() {
    let bytes = batch(0, 1, 100).len();
    let bench = Bench::new(&[("segment.bytes", &(bytes * 2).to_string())]);
    let mut log = bench.create();
    for _ in 0..5 {
        bench.append(&mut log, 1, 100);
    }
    assert_eq!(log.segments().map(|it| it.0.get()).collect::<Vec<_>>(), [0, 2, 4]);
    assert_eq!(read_all(&log, 0, 5, 10_000).len(), 5);
}

#[test]
fn append_rolls_when_the_first_batch_is_old() {
    let bench = Bench::new(&[("segment.ms", "1000")]);
    let mut log = bench.create();
    bench.append(&mut log, 1, 10);
    bench.clock.advance(1000);
    bench.append(&mut log, 1, 10);
    assert_eq!(log.segment_count(), 1);
    bench.clock.advance(1);
    bench.append(&mut log, 1, 10);
    assert_eq!(log.segment_count(), 2);
}

#[test]
fn append_rolls_when_an_index_is_full() {
    let bench = Bench::new(&[("segment.index.bytes", "24"), ("index.interval.bytes", "0")]);
    let mut log = bench.create();
    for _ in 0..10 {
        bench.append(&mut log, 1, 10);
    }
    assert!(log.segment_count() > 3);
    assert_eq!(read_all(&log, 0, 10, 10_000).len(), 10);
}

#[test]
fn a_follower_rolls_when_offsets_jump_too_far() {
    let (bench, far) = (Bench::new(&[]), i64::from(i32::MAX) + 10);
    let mut log = bench.create();
    bench.append(&mut log, 1, 10);
    let mut bytes = batch(bench.now_ms(), 1, 10);
    record::set_offset_and_epoch(&mut bytes, Offset(far), LeaderEpoch(0));
    assert_eq!(log.append_as_follower(&bytes).unwrap(), Some(Offset(far)));
    assert_eq!(log.segment_count(), 2);
    assert_eq!(read_all(&log, 0, far + 1, 10_000), [(0, 1), (far, far + 1)]);
}

#[test]
fn a_rolled_segment_has_its_index_files_and_a_snapshot_at_the_next_base() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    log.materialise().unwrap();
    assert_eq!(
        bench.names(),
        ["00000000000000000000.log"],
        "nothing but the log at first"
    );
    bench.append(&mut log, 3, 10);
    log.roll(bench.now_ms()).unwrap();
    let names = bench.names();
    for name in [
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
        "00000000000000000003.log",
        "00000000000000000003.snapshot",
    ] {
        assert!(names.iter().any(|it| it == name), "{name} in {names:?}");
    }
    let time_index = std::fs::read(bench.file(0, ".timeindex")).unwrap();
    assert_eq!(time_index.len(), 12, "the final entry");
    assert_eq!(
        time_index[11], 2,
        "the last offset of the batch with the greatest timestamp"
    );
    log.roll(bench.now_ms()).unwrap();
    assert_eq!(log.segment_count(), 2, "an empty segment does not roll");
}

#[test]
fn a_compacted_log_without_a_recovery_point_is_durable_up_to_its_last_segment() {
    let durable_to = |policy: &str, is_listed: bool| {
        let bench = Bench::new(&[("segment.bytes", "900"), ("cleanup.policy", policy)]);
        let mut log = bench.create();
        if is_listed {
            log.note_listed();
        }
        while log.segment_count() < 3 {
            bench.append(&mut log, 1, 100);
        }
        log.recovery_point().get() - bench.base_offsets()[2]
    };
    assert_eq!(durable_to("compact", false), 0);
    assert!(
        durable_to("compact", true) < 0,
        "the flush after a roll is not waited for"
    );
    assert!(durable_to("delete", false) < 0);
}

#[test]
fn jitter_takes_time_off_a_segment() {
    let bench = Bench::new(&[("segment.ms", "1000"), ("segment.jitter.ms", "1000")]);
    let mut log = bench.create();
    bench.append(&mut log, 1, 10);
    let jitter = log.roll_jitter_ms;
    assert!((0..1000).contains(&jitter));
    bench.clock.advance(1001 - jitter);
    bench.append(&mut log, 1, 10);
    assert_eq!(log.segment_count(), 2);
}

// `segment.jitter.ms`
#[test]
fn segments_roll_up_to_the_jitter_earlier_each_at_a_time_of_its_own() {
    let bench = Bench::new(&[("segment.ms", "1000"), ("segment.jitter.ms", "500")]);
    let mut log = bench.create();
    bench.append(&mut log, 1, 10);
    let mut waits = std::collections::BTreeSet::new();
    for _ in 0..8 {
        let (segments, began_ms) = (log.segment_count(), bench.now_ms());
        while log.segment_count() == segments {
            bench.clock.advance(5);
            bench.append(&mut log, 1, 10);
        }
        waits.insert(bench.now_ms() - began_ms);
    }
    assert!(waits.iter().all(|wait| (500..=1005).contains(wait)), "{waits:?}");
    assert!(waits.len() > 3, "{waits:?}");
}

// `index.interval.bytes`
#[test]
fn index_entries_are_an_interval_of_bytes_apart() {
    let bench = Bench::new(&[("index.interval.bytes", "1000")]);
    let mut log = bench.create();
    for _ in 0..60 {
        bench.append(&mut log, 1, 100);
    }
    let (size, batch) = (log.size_bytes() as u32, batch(0, 1, 100).len() as u32);
    log.close().unwrap();
    let bytes = std::fs::read(bench.file(0, ".index")).unwrap();
    let mut positions: Vec<u32> = bytes
        .chunks_exact(8)
        .map(|entry| u32::from_be_bytes(entry[4..].try_into().unwrap()))
        .collect();
    assert!(
        positions.len() as u32 >= size / (1000 + 2 * batch),
        "{positions:?} of {size}"
    );
    positions.insert(0, 0);
    let gaps: Vec<u32> = positions.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        gaps.iter().all(|gap| *gap > 1000 && *gap <= 1000 + batch + 10),
        "{gaps:?}"
    );
}
