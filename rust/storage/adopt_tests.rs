use std::io;
use std::path::PathBuf;

use super::super::staged::{Expected, StagedFile};
use super::super::testing::{Bench, START_MS, batch};
use super::*;
use crate::Log;
use crate::format::{LOG_SUFFIX, file_path};
use ::io::{Fault, FaultFileSystem, OpenMode, OsFileSystem, user_id};
use record::{BatchBuilder, Batches, Codec, Origin};

const PRODUCER: i64 = 90;

/// Writes a file of a load: `batches` batches of two records each, the first of which has `sequence`.
fn stage(bench: &Bench, sequence: i32, batches: i32) -> io::Result<PathBuf> {
    let dir = bench.dir.path().join("topic-0.load-90-0-delete");
    std::fs::create_dir_all(&dir)?;
    let path = file_path(&dir, Offset(i64::from(sequence)), LOG_SUFFIX);
    let file = bench.fs.open(&path, OpenMode::CreateNew)?;
    let mut position = 0;
    for at in 0..batches {
        let bytes = load_batch(sequence + 2 * at);
        file.write_all_at(&bytes, position)?;
        position += bytes.len() as u64;
    }
    Ok(path)
}

fn load_batch(sequence: i32) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Codec::None).producer(PRODUCER, 0, sequence);
    for at in 0..2 {
        let value = format!("load {}", sequence + at);
        builder.append(START_MS - 5_000, Some(b"key"), Some(value.as_bytes()), &[]);
    }
    builder.build(Offset(i64::from(sequence)), LeaderEpoch::NONE)
}

fn expected(bench: &Bench, log: &Log) -> Expected {
    Expected {
        producer_id: PRODUCER,
        producer_epoch: 0,
        rules: *log.rules(),
        config: Arc::clone(log.config()),
        owner: user_id(),
        now_ms: bench.now_ms(),
    }
}

fn check(bench: &Bench, log: &Log, path: PathBuf, first_sequence: i32) -> Result<StagedSegment, AppendError> {
    let file = StagedFile { path, first_sequence };
    StagedSegment::check(&*bench.fs, &file, &expected(bench, log))
}

fn adopt(bench: &Bench, log: &mut Log, sequence: i32, batches: i32) -> Result<Appended, AppendError> {
    let staged = stage(bench, sequence, batches);
    let path = staged.map_err(|error| Error::io("stage", bench.dir.path(), error))?;
    let mut segment = check(bench, log, path, sequence)?;
    log.adopt(&mut segment, Loaded::NOTHING, LeaderEpoch(3), bench.now_ms())
}

/// Every record of the log, by offset; the offsets have no gap.
fn values(log: &Log) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = log.log_start_offset();
    while at < log.log_end_offset() {
        let slice = log
            .plan_read(at, log.log_end_offset())
            .unwrap()
            .resolve(1 << 20, true)
            .unwrap();
        let mut bytes = vec![0; slice.len];
        slice.file.read_exact_at(&mut bytes, slice.position.get()).unwrap();
        for batch in Batches::new(&bytes) {
            let batch = batch.unwrap();
            batch.verify_crc().unwrap();
            for record in batch.records(&mut Vec::new(), usize::MAX).unwrap() {
                let record = record.unwrap();
                assert_eq!(record.offset, at);
                found.push(String::from_utf8_lossy(record.value.unwrap()).into_owned());
                at = at + 1;
            }
        }
    }
    found
}

fn load_values(range: std::ops::Range<i32>) -> Vec<String> {
    range.map(|at| format!("load {at}")).collect()
}

#[test]
fn adopted_segments_are_read_flushed_and_opened_as_any_others() {
    let bench = Bench::new(&[("index.interval.bytes", "100")]);
    let mut log = bench.create();
    let appended = adopt(&bench, &mut log, 0, 5).unwrap();
    assert_eq!((appended.first_offset, appended.last_offset), (Offset(0), Offset(9)));
    assert_eq!(log.epochs().latest_epoch(), Some(LeaderEpoch(3)));
    bench.append(&mut log, 2, 8);
    adopt(&bench, &mut log, 10, 40).unwrap();
    bench.append(&mut log, 1, 8);
    assert_eq!(log.log_end_offset(), Offset(93));
    let found = values(&log);
    assert_eq!(found[..10], load_values(0..10));
    assert_eq!(found[12..92], load_values(10..90));
    assert_eq!(bench.base_offsets(), [0, 12]);
    assert_eq!(Loaded::of(log.producers(), PRODUCER).unwrap().records, 90);
    log.flush().unwrap();
    assert_eq!(log.recovery_point(), Offset(93));
    log.close().unwrap();
    for clean in [true, false] {
        let log = bench.open(93, clean).unwrap();
        assert_eq!((values(&log), log.report().bytes_cut), (found.clone(), 0));
        assert_eq!(Loaded::of(log.producers(), PRODUCER).unwrap().last_offset, Offset(91));
    }
}

#[test]
fn lookup_by_timestamp_finds_adopted_records() {
    let bench = Bench::new(&[("index.interval.bytes", "100")]);
    let mut log = bench.create();
    bench.append(&mut log, 1, 8);
    adopt(&bench, &mut log, 0, 20).unwrap();
    log.roll(bench.now_ms()).unwrap();
    let found = |log: &Log, at| {
        log.lookup_timestamp(at)
            .unwrap()
            .resolve()
            .unwrap()
            .map(|found| found.offset)
    };
    assert_eq!(
        (found(&log, START_MS - 5_000), found(&log, START_MS)),
        (Some(Offset(0)), Some(Offset(0)))
    );
    log.advance_log_start_offset(Offset(1), Offset(41)).unwrap();
    assert_eq!(
        (found(&log, START_MS - 5_000), found(&log, START_MS)),
        (Some(Offset(1)), None)
    );
}

#[test]
fn segment_that_does_not_continue_the_load_is_refused_and_nothing_is_appended() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    adopt(&bench, &mut log, 0, 5).unwrap();
    for wrong in [8, 12] {
        let refused = adopt(&bench, &mut log, wrong, 1).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    }
    assert_eq!(log.log_end_offset(), Offset(10));
    // the producer expired, and the caller has found what the log has
    let path = stage(&bench, 10, 1).unwrap();
    let mut segment = check(&bench, &log, path, 10).unwrap();
    log.producers_mut().remove_expired(i64::MAX);
    let found = LoadSearch::of(log.segments(), PRODUCER).run().unwrap().unwrap();
    assert_eq!(
        (found.0.records, found.0.last_offset, found.1),
        (10, Offset(9), Offset(0))
    );
    let refused = log.adopt(&mut segment, Loaded::NOTHING, LeaderEpoch(3), 0).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    log.adopt(&mut segment, found.0, LeaderEpoch(3), 0).unwrap();
    assert_eq!(values(&log), load_values(0..12));
    let zombie = Loaded {
        producer_epoch: 1,
        ..found.0
    };
    assert_eq!(
        zombie.check_epoch(0).unwrap_err().code,
        ErrorCode::INVALID_PRODUCER_EPOCH
    );
}

#[test]
fn truncation_within_an_adopted_segment_leaves_the_load_s_first_records() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    bench.append(&mut log, 1, 8);
    adopt(&bench, &mut log, 0, 10).unwrap();
    bench.append(&mut log, 1, 8);
    log.truncate_to(Offset(7)).unwrap();
    assert_eq!(values(&log)[1..], load_values(0..6));
    assert_eq!(Loaded::of(log.producers(), PRODUCER).unwrap().records, 6);
    adopt(&bench, &mut log, 6, 3).unwrap();
    assert_eq!(values(&log)[1..], load_values(0..12));
}

/// The calls of an adoption into an empty log, one with records, and one behind another adoption. Returns the values
/// that were acknowledged, and those that a flush made durable.
fn workload(bench: &Bench, log: &mut Log) -> (Vec<String>, usize) {
    let (mut acknowledged, mut durable) = (Vec::new(), 0);
    let mut next = 0;
    for step in 0..6 {
        match step {
            0 | 2 | 3 => {
                if adopt(bench, log, next, 3).is_ok() {
                    acknowledged.extend(load_values(next..next + 6));
                    next += 6;
                } else {
                    let _ = std::fs::remove_dir_all(bench.dir.path().join("topic-0.load-90-0-delete"));
                }
            }
            1 | 4 => {
                let mut bytes = batch(bench.now_ms(), 1, 8);
                if log
                    .append_as_leader(&mut bytes, LeaderEpoch(3), Origin::Client, bench.now_ms())
                    .is_ok()
                {
                    acknowledged.push("v".repeat(8));
                }
            }
            _ => {
                if log.flush().is_ok() {
                    durable = acknowledged.len();
                }
            }
        }
    }
    (acknowledged, durable)
}

// Every I/O call of an adoption fails once, each followed by a start, after a crash also as after a power loss.
#[test]
fn each_failing_call_leaves_all_of_an_adopted_file_or_nothing_and_what_was_flushed() {
    let counting = FaultFileSystem::new(Arc::new(OsFileSystem));
    let bench = Bench::on(Arc::new(counting.clone()), &[("index.interval.bytes", "100")]);
    let mut log = bench.create();
    let whole = workload(&bench, &mut log).0;
    assert_eq!((whole.len(), values(&log)), (20, whole.clone()));
    let counts = counting.counts();
    drop((log, bench));
    assert!(counts.keys().any(|label| label == "rename:.log"), "{counts:?}");
    let faults = [
        Fault::InputOutput,
        Fault::NoSpace,
        Fault::ShortWrite,
        Fault::NoDescriptor,
        Fault::Crash,
    ];
    let mut cases = 0;
    for (label, count) in &counts {
        for (nth, fault, loses) in (1..=*count)
            .flat_map(|nth| faults.map(|fault| (nth, fault, false)))
            .chain((1..=*count).map(|nth| (nth, Fault::Crash, true)))
        {
            let files = FaultFileSystem::new(Arc::new(OsFileSystem));
            let bench = Bench::on(Arc::new(files.clone()), &[("index.interval.bytes", "100")]);
            let mut log = bench.create();
            files.arm(label, nth, fault);
            let (acknowledged, durable) = workload(&bench, &mut log);
            let recovery_point = log.recovery_point();
            files.disarm();
            let case = format!("{label} {nth} {fault:?} {loses}");
            if !files.has_crashed() && !log.is_poisoned() {
                assert_eq!(values(&log), acknowledged, "{case}");
            }
            drop(log);
            if loses {
                files.lose_unsynced().unwrap();
            }
            let bench = bench.mended();
            if !bench.path().exists() {
                continue; // it was never made
            }
            let log = bench.reopen(recovery_point.get()).unwrap();
            let found = values(&log);
            let least = if loses { durable } else { acknowledged.len() };
            assert!(
                found.len() >= least && whole_files(&found, &acknowledged),
                "{case}: {found:?}"
            );
            cases += 1;
        }
    }
    assert!(cases > 100, "{cases}");
}

/// Whether the log has what was acknowledged, cut at any batch after a power loss, or one file more than that.
fn whole_files(found: &[String], acknowledged: &[String]) -> bool {
    let common = found.iter().zip(acknowledged).take_while(|(a, b)| a == b).count();
    let more = found.len() - common;
    common == found.len() || (common == acknowledged.len() && (more == 6 || more == 1))
}
