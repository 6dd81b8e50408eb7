//! Logs with messages of magic 0 and 1, alone and with v2 batches behind them: opened, read, looked up, cut.

use std::fs;
use std::path::Path;

use crate::Log;
use crate::testing::{Bench, START_MS, append_batch, batch, old_messages};
use base::error::Error;
use base::place::{LeaderEpoch, Offset};
use record::legacy::Magic;
use record::{BatchBuilder, Batches, Codec};

mod fixture_tests;

const CODECS: [Codec; 4] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4];

fn bench() -> Bench {
    Bench::new(&[("segment.bytes", "1000"), ("index.interval.bytes", "150")])
}

/// Three records of each codec in magic 0, then in magic 1, again and again; as a follower gets them. The timestamps of
/// magic 1 go up and down.
fn messages(rounds: i64) -> Vec<Vec<u8>> {
    let mut sets = Vec::new();
    let mut offset = 0;
    for round in 0..rounds {
        for magic in [Magic::V0, Magic::V1] {
            for codec in CODECS {
                let time = START_MS + offset * 7 % 50 + round;
                sets.push(old_messages(magic, codec, offset, &[time, time + 9, time + 3]));
                offset += 3;
            }
        }
    }
    sets
}

/// A log with [`messages`] in several segments.
fn written(bench: &Bench) -> Log {
    let mut log = bench.create();
    for set in messages(3) {
        log.append_as_follower(&set).unwrap();
    }
    log
}

/// A record as a walk finds it: timestamp and offset.
type Seen = (i64, i64);

/// All records in the bytes of batches, each batch with a good checksum.
fn records_in(bytes: &[u8]) -> Vec<Seen> {
    let mut seen = Vec::new();
    for batch in Batches::new(bytes) {
        let batch = batch.unwrap();
        batch.verify_crc().unwrap();
        let mut scratch = Vec::new();
        for record in batch.records(&mut scratch, 1 << 20).unwrap() {
            let record = record.unwrap();
            seen.push((record.timestamp, record.offset.get()));
        }
    }
    seen
}

/// All records of the files in a directory.
fn records_of(dir: &Path) -> Vec<Seen> {
    let mut logs: Vec<_> = fs::read_dir(dir).unwrap().map(|it| it.unwrap().path()).collect();
    logs.retain(|path| path.extension().is_some_and(|it| it == "log"));
    logs.sort();
    logs.iter()
        .flat_map(|path| records_in(&fs::read(path).unwrap()))
        .collect()
}

/// The records from `offset` on, read as a consumer does: piece by piece, and without those below the offset.
fn consumed(log: &Log, offset: i64, max_bytes: usize) -> Vec<Seen> {
    let end = log.log_end_offset();
    let mut offset = Offset(offset);
    let mut seen = Vec::new();
    while offset < end {
        let slice = log.plan_read(offset, end).unwrap().resolve(max_bytes, true).unwrap();
        let mut bytes = vec![0; slice.len];
        slice.file.read_exact_at(&mut bytes, slice.position.get()).unwrap();
        let records = records_in(&bytes);
        seen.extend(records.iter().filter(|it| it.1 >= offset.get()));
        let last = records.last().expect("a whole batch");
        assert!(
            last.1 >= offset.get(),
            "the first batch holds the offset or a later one"
        );
        offset = Offset(last.1 + 1);
    }
    seen
}

/// Everything that reads the log, against the walk over its files.
#[track_caller]
fn assert_reads(log: &Log, dir: &Path) {
    let all = records_of(dir);
    let end = log.log_end_offset().get();
    for from in log.log_start_offset().get()..end {
        let expected: Vec<Seen> = all.iter().filter(|it| it.1 >= from).copied().collect();
        for max_bytes in [1, 300, 1 << 20] {
            assert_eq!(consumed(log, from, max_bytes), expected, "from {from} with {max_bytes}");
        }
    }
    let greatest = all.iter().map(|it| it.0).max().unwrap();
    for target in (0..greatest + 2).rev().take(100).chain([0]) {
        let naive = all.iter().find(|it| it.0 >= target).copied();
        let found = log.lookup_timestamp(target).unwrap().resolve().unwrap();
        assert_eq!(
            found.map(|it| (it.timestamp, it.offset.get())),
            naive,
            "target {target}"
        );
    }
    let naive = all.iter().find(|it| it.0 == greatest && greatest >= 0).copied();
    let found = log.max_timestamp().unwrap().resolve().unwrap();
    assert_eq!(found.map(|it| (it.timestamp, it.offset.get())), naive);
}

#[test]
fn replicated_messages_are_written_byte_for_byte() {
    let bench = bench();
    let log = written(&bench);
    let files = bench
        .base_offsets()
        .iter()
        .flat_map(|base| fs::read(bench.file(*base, ".log")).unwrap())
        .collect::<Vec<_>>();
    assert_eq!(files, messages(3).concat());
    assert!(log.segment_count() > 3);
    assert_eq!(log.log_end_offset(), Offset(72));
    assert_reads(&log, &bench.path());
}

#[test]
fn log_is_opened_after_a_clean_stop_and_after_a_crash() {
    for is_clean in [true, false] {
        for are_indexes_lost in [false, true] {
            let bench = bench();
            let mut log = written(&bench);
            if is_clean {
                log.close().unwrap();
            }
            drop(log);
            if are_indexes_lost {
                for base in bench.base_offsets() {
                    for suffix in [".index", ".timeindex"] {
                        let _ = fs::write(bench.file(base, suffix), b"damaged");
                    }
                }
            }
            let log = bench.open(if is_clean { 72 } else { 20 }, is_clean).unwrap();
            assert_eq!(log.log_end_offset(), Offset(72));
            assert_eq!((log.report().bytes_cut, log.report().notes.len()), (0, 0));
            assert_eq!(log.epochs().latest_epoch(), None);
            assert_reads(&log, &bench.path());
        }
    }
}

#[test]
fn leader_appends_v2_batches_behind_old_messages() {
    let bench = bench();
    let mut log = written(&bench);
    for n in 0..12 {
        let mut builder = BatchBuilder::new(CODECS[n % 4]);
        for record in 0..2 {
            builder.append(START_MS + n as i64 * 5 + record, Some(b"k"), Some(&[7; 60]), &[]);
        }
        append_batch(&mut log, builder.build(Offset(0), LeaderEpoch::NONE), 3);
    }
    assert_eq!(log.log_end_offset(), Offset(72 + 24));
    assert_reads(&log, &bench.path());
    drop(log);
    let log = bench.reopen(0).unwrap();
    assert_eq!(log.log_end_offset(), Offset(72 + 24));
    assert_eq!(log.epochs().latest_epoch(), Some(LeaderEpoch(3)));
    assert_reads(&log, &bench.path());
}

/// The last message of the log, and the path of its segment.
fn last_message(bench: &Bench, codec: Codec) -> (std::path::PathBuf, Vec<u8>, usize) {
    let mut log = bench.create();
    log.append_as_follower(&old_messages(Magic::V1, Codec::Gzip, 0, &[5, 6]))
        .unwrap();
    let last = old_messages(Magic::V0, codec, 2, &[7]);
    log.append_as_follower(&last).unwrap();
    drop(log);
    let path = bench.file(0, ".log");
    let whole = fs::read(&path).unwrap();
    let at = whole.len() - last.len();
    (path, whole, at)
}

#[test]
fn message_that_a_crash_cut_short_is_dropped_and_nothing_else() {
    for codec in [Codec::None, Codec::Lz4] {
        let bench = bench();
        let (path, whole, at) = last_message(&bench, codec);
        for len in at..=whole.len() {
            fs::write(&path, &whole[..len]).unwrap();
            let log = bench.reopen(0).unwrap();
            let end = if len == whole.len() { 3 } else { 2 };
            assert_eq!(
                (log.log_end_offset(), log.report().bytes_cut),
                (Offset(end), if end == 3 { 0 } else { len - at } as u64)
            );
        }
    }
}

#[test]
fn zeros_behind_a_message_are_cut() {
    let bench = bench();
    let (path, mut whole, _) = last_message(&bench, Codec::None);
    for zeros in [1, 25, 26, 40, 61, 5000] {
        whole.resize(whole.len() + zeros, 0);
        fs::write(&path, &whole).unwrap();
        let log = bench.reopen(0).unwrap();
        assert_eq!(
            (log.log_end_offset(), log.report().bytes_cut),
            (Offset(3), zeros as u64)
        );
        whole.truncate(whole.len() - zeros);
    }
}

#[test]
fn damaged_message_is_cut_above_the_recovery_point_and_refused_below() {
    let bench = bench();
    let (path, whole, at) = last_message(&bench, Codec::None);
    for damaged in (at + 8..whole.len()).chain(8..at) {
        let mut bytes = whole.clone();
        bytes[damaged] ^= 0x10;
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(bench.reopen(3), Err(Error::Lost { .. })), "byte {damaged}");
        let log = bench.reopen(0).unwrap();
        assert_eq!(
            log.log_end_offset(),
            Offset(if damaged < at { 0 } else { 2 }),
            "byte {damaged}"
        );
    }
}

#[test]
fn cut_names_the_whole_messages_behind_the_damage() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    for set in messages(1) {
        log.append_as_follower(&set).unwrap();
    }
    drop(log);
    let path = bench.file(0, ".log");
    let mut bytes = fs::read(&path).unwrap();
    bytes[20] ^= 1;
    fs::write(&path, bytes).unwrap();
    let log = bench.reopen(0).unwrap();
    let notes: Vec<_> = log.report().notes.iter().map(|it| it.text.as_str()).collect();
    // 8 sets: two of three messages, six wrappers; the first message is damaged
    assert!(
        notes.iter().any(|it| it.contains("11 whole batches of 23 records")),
        "{notes:?}"
    );
}

#[test]
fn truncation_within_a_wrapper_drops_the_wrapper() {
    for cut in 0..72 {
        let bench = bench();
        let mut log = written(&bench);
        assert!(log.truncate_to(Offset(cut)).unwrap());
        // a set without a codec is three messages
        let is_wrapper = cut / 3 % 4 != 0;
        let end = if is_wrapper { cut - cut % 3 } else { cut };
        assert_eq!(log.log_end_offset(), Offset(end), "cut at {cut}");
        let left: Vec<Seen> = records_in(&messages(3).concat());
        let left: Vec<Seen> = left.into_iter().filter(|it| it.1 < end).collect();
        assert_eq!(records_of(&bench.path()), left);
        let rest = messages(3)
            .into_iter()
            .skip(cut as usize / 3)
            .filter(|_| is_wrapper || cut % 3 == 0);
        for set in rest {
            log.append_as_follower(&set).unwrap();
        }
        if is_wrapper || cut % 3 == 0 {
            assert_eq!(records_of(&bench.path()), records_in(&messages(3).concat()));
            assert_eq!(consumed(&log, cut, 300).first().map(|it| it.1), Some(cut));
        }
    }
}

#[test]
fn empty_follower_may_start_within_a_wrapper() {
    let bench = bench();
    let mut log = bench.create();
    log.truncate_fully_and_start_at(Offset(11)).unwrap();
    let wrapper = old_messages(Magic::V1, Codec::Gzip, 10, &[5, 6, 7]);
    assert_eq!(log.append_as_follower(&wrapper).unwrap(), Some(Offset(12)));
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (Offset(11), Offset(13)));
    assert_eq!(consumed(&log, 11, 1 << 20), [(6, 11), (7, 12)]);
    drop(log);
    let log = bench.reopen(0).unwrap();
    assert_eq!(log.log_end_offset(), Offset(13));
    assert_eq!(consumed(&log, 11, 1 << 20), [(6, 11), (7, 12)]);
}

#[test]
fn greatest_timestamp_below_the_log_start_within_a_wrapper_is_not_found() {
    let bench = bench();
    let mut log = bench.create();
    log.append_as_follower(&old_messages(Magic::V1, Codec::Gzip, 0, &[50, 20, 10]))
        .unwrap();
    log.append_as_follower(&old_messages(Magic::V1, Codec::Lz4, 3, &[5, 15, 3]))
        .unwrap();
    for (start, expected) in [(0, (50, 0)), (1, (20, 1)), (2, (15, 4)), (3, (15, 4)), (5, (3, 5))] {
        log.advance_log_start_offset(Offset(start), Offset(6)).unwrap();
        let found = log.max_timestamp().unwrap().resolve().unwrap().unwrap();
        assert_eq!((found.timestamp, found.offset.get()), expected, "start {start}");
        let found = log.lookup_timestamp(expected.0).unwrap().resolve().unwrap().unwrap();
        assert_eq!((found.timestamp, found.offset.get()), expected, "start {start}");
    }
}

#[test]
fn follower_refuses_messages_that_are_damaged_or_do_not_follow() {
    let bench = bench();
    let mut log = written(&bench);
    let mut damaged = old_messages(Magic::V1, Codec::Gzip, 72, &[5, 6, 7]);
    *damaged.last_mut().unwrap() ^= 1;
    assert!(log.append_as_follower(&damaged).is_err());
    assert!(
        log.append_as_follower(&old_messages(Magic::V1, Codec::Gzip, 69, &[5, 6, 7]))
            .is_err()
    );
    assert_eq!(log.log_end_offset(), Offset(72));
}

#[test]
fn producer_may_not_append_old_messages() {
    let bench = bench();
    let mut log = bench.create();
    for magic in [Magic::V0, Magic::V1] {
        for origin in [record::Origin::Client, record::Origin::Replication] {
            let mut message = old_messages(magic, Codec::None, 0, &[5]);
            let before = message.clone();
            assert!(
                log.append_as_leader(&mut message, LeaderEpoch(0), origin, START_MS)
                    .is_err()
            );
            assert_eq!(message, before);
        }
    }
    append_batch(&mut log, batch(START_MS, 1, 5), 0);
    assert_eq!(log.log_end_offset(), Offset(1));
}
