//! Opening after a clean stop, after a crash, and over every kind of damage (H22, H23).

use std::fs;

use crate::log::Log;
use crate::producer_state::ProducerEntry;
use crate::testing::{Bench, START_MS, aborted_in, append_batch, batch, marker, producer_batch, read_all};
use crate::{Extent, LogConfig};
use base::error::Error;
use base::place::{LeaderEpoch, Offset};
use record::Batches;

mod losses;

type Damage = fn(&mut Vec<u8>);

fn bench() -> Bench {
    Bench::new(&[("segment.bytes", "3000"), ("index.interval.bytes", "300")])
}

/// Forty batches of two records in several segments; all flushed up to `flush_at`.
fn written(bench: &Bench, flush_at: usize) -> (Log, i64) {
    let mut log = bench.create();
    for n in 0..40 {
        bench.append(&mut log, 2, 50 + n);
        if n + 1 == flush_at {
            log.flush().unwrap();
        }
    }
    let point = log.recovery_point();
    (log, point.get())
}

fn batches(log: &Log) -> Vec<(i64, i64)> {
    read_all(log, log.log_start_offset().get(), log.log_end_offset().get(), 1000)
}

fn last_log(bench: &Bench) -> std::path::PathBuf {
    bench.file(*bench.base_offsets().last().unwrap(), ".log")
}

#[test]
fn a_clean_stop_is_trusted_without_a_scan() {
    let bench = bench();
    let (mut log, _) = written(&bench, 40);
    let (end, all) = (log.log_end_offset(), batches(&log));
    log.close().unwrap();
    drop(log);
    let log = bench.reopen_clean().unwrap();
    assert_eq!((log.log_end_offset(), log.recovery_point()), (end, end));
    assert_eq!(log.report().segments_checked, 0);
    assert_eq!(batches(&log), all);
}

#[test]
fn a_crash_costs_a_scan_from_the_recovery_points_segment_only() {
    let bench = bench();
    let (log, point) = written(&bench, 30);
    let (count, all) = (log.segments().count(), batches(&log));
    drop(log);
    let log = bench.reopen(point).unwrap();
    assert!(log.report().segments_checked < count as u64, "{:?}", log.report());
    assert_eq!(log.report().bytes_cut, 0);
    assert_eq!((batches(&log), log.recovery_point()), (all, Offset(point)));
}

// reliability H23
#[test]
fn a_last_batch_cut_at_every_byte_is_dropped_and_nothing_else() {
    let bench = bench();
    let (log, _) = written(&bench, 10);
    let (point, all) = (log.recovery_point(), batches(&log));
    drop(log);
    let path = last_log(&bench);
    let whole = fs::read(&path).unwrap();
    let last = batch(START_MS, 2, 50 + 39).len();
    for len in (whole.len() - last..whole.len()).rev() {
        fs::write(&path, &whole[..len]).unwrap();
        let log = bench.reopen(point.get()).unwrap();
        assert_eq!(batches(&log), all[..39], "cut at {len}");
        assert_eq!(fs::metadata(&path).unwrap().len() as usize, whole.len() - last);
    }
    let mut log = bench.reopen(point.get()).unwrap();
    bench.append(&mut log, 2, 10);
    assert_eq!(batches(&log).len(), 40);
}

// reliability H22
#[test]
fn zeros_and_garbage_after_the_last_batch_are_cut() {
    for tail in [vec![0; 10], vec![0; 5000], vec![0xAB; 7], vec![0xAB; 3000]] {
        let bench = bench();
        let (log, _) = written(&bench, 10);
        let (point, all) = (log.recovery_point(), batches(&log));
        drop(log);
        let path = last_log(&bench);
        let mut bytes = fs::read(&path).unwrap();
        let good = bytes.len();
        bytes.extend_from_slice(&tail);
        fs::write(&path, bytes).unwrap();
        let log = bench.reopen(point.get()).unwrap();
        assert_eq!(batches(&log), all);
        assert_eq!(log.report().bytes_cut, tail.len() as u64);
        assert_eq!(fs::metadata(&path).unwrap().len() as usize, good);
    }
}

#[test]
fn a_bad_batch_above_the_recovery_point_ends_the_log_and_later_segments_go() {
    let bench = bench();
    let (log, point) = written(&bench, 5);
    let (second, all) = (log.segments().at(1).base_offset(), batches(&log));
    assert!(log.segments().count() > 3);
    drop(log);
    let path = bench.file(second.get(), ".log");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
    let log = bench.reopen(point).unwrap();
    let kept = batches(&log);
    assert_eq!(kept, all[..kept.len()]);
    assert!(kept.last().unwrap().1 > second.get() && kept.len() < 40);
    assert_eq!(log.segments().count(), 2);
    assert!(
        log.report()
            .cut_reason
            .as_ref()
            .is_some_and(|reason| reason.to_lowercase().contains("crc"))
    );
    assert_eq!(bench.base_offsets().len(), 2);
}

#[test]
fn a_bad_batch_that_was_durable_is_refused_by_file_and_position() {
    let bench = bench();
    let (log, point) = written(&bench, 40);
    drop(log);
    let path = last_log(&bench);
    let mut bytes = fs::read(&path).unwrap();
    bytes[80] ^= 1;
    fs::write(&path, &bytes).unwrap();
    match bench.reopen(point) {
        Err(Error::Lost {
            path: named,
            reason,
            log_end_offset,
        }) => {
            assert_eq!(
                (named, log_end_offset),
                (path.clone(), Offset(bench.base_offsets().pop().unwrap()))
            );
            assert!(reason.starts_with("position 0: "), "{reason}");
        }
        other => panic!("{:?}", other.map(|log| log.log_end_offset())),
    }
    assert_eq!(fs::read(&path).unwrap(), bytes, "nothing was cut");
}

// reliability H22
#[test]
fn damaged_index_files_are_rebuilt_after_a_crash_and_after_a_clean_stop() {
    let damages: [(&str, Damage); 4] = [
        ("truncated", |bytes| bytes.truncate(bytes.len().saturating_sub(3))),
        ("padded", |bytes| bytes.resize(bytes.len() / 24 * 24 + 2400, 0)),
        ("garbage", |bytes| bytes.iter_mut().for_each(|byte| *byte = 0xEE)),
        ("extended", |bytes| bytes.push(7)),
    ];
    for is_clean in [false, true] {
        for suffix in [".index", ".timeindex"] {
            for (name, damage) in damages {
                let bench = bench();
                let (mut log, point) = written(&bench, 35);
                let all = batches(&log);
                log.close().unwrap();
                drop(log);
                let names = bench.names();
                for name in names.iter().filter(|name| name.ends_with(suffix)) {
                    let mut bytes = fs::read(bench.path().join(name)).unwrap();
                    damage(&mut bytes);
                    fs::write(bench.path().join(name), bytes).unwrap();
                }
                let log = bench.open(point, is_clean).unwrap();
                assert_eq!(batches(&log), all, "{name} {suffix} clean {is_clean}");
                let found = log.lookup_timestamp(START_MS).unwrap().resolve().unwrap().unwrap();
                assert_eq!((found.offset, found.timestamp), (Offset(0), START_MS));
            }
        }
    }
}

// reliability H22
#[test]
fn missing_index_and_state_files_are_rebuilt() {
    for is_clean in [false, true] {
        for suffix in [
            ".index",
            ".timeindex",
            ".txnindex",
            ".snapshot",
            "leader-epoch-checkpoint",
        ] {
            let bench = bench();
            let (mut log, point) = written(&bench, 35);
            let all = batches(&log);
            append_batch(&mut log, producer_batch(START_MS, 5, 0, false), 0);
            log.close().unwrap();
            drop(log);
            for name in bench.names().iter().filter(|name| name.ends_with(suffix)) {
                fs::remove_file(bench.path().join(name)).unwrap();
            }
            let mut log = bench.open(point, is_clean).unwrap();
            assert_eq!(batches(&log)[..40], all, "{suffix}");
            assert_eq!(
                log.producers().entry(5).map(ProducerEntry::last_sequence),
                Some(0),
                "{suffix} clean {is_clean}"
            );
            log.close().unwrap();
            let log = bench.reopen_clean().unwrap();
            assert_eq!(log.report().indexes_rebuilt, 0, "all is whole again");
        }
    }
}

#[test]
fn an_unreadable_epoch_checkpoint_is_rebuilt_from_all_batches() {
    let bench = bench();
    let mut log = bench.create();
    for epoch in [1, 1, 4] {
        append_batch(&mut log, batch(START_MS, 1, 2000), epoch);
    }
    log.close().unwrap();
    let entries = log.epochs().entries().to_vec();
    fs::write(bench.path().join("leader-epoch-checkpoint"), "nonsense").unwrap();
    assert_eq!(bench.reopen_clean().unwrap().epochs().entries(), entries);
}

#[test]
fn producers_and_open_transactions_come_back() {
    for is_clean in [false, true] {
        let bench = bench();
        let mut log = bench.create();
        for sequence in 0..3 {
            let bytes = producer_batch(START_MS, 7, sequence, true);
            append_batch(&mut log, bytes, 0);
        }
        marker(&mut log, 7, true, START_MS);
        append_batch(&mut log, producer_batch(START_MS, 7, 3, true), 0);
        if is_clean {
            log.close().unwrap();
        }
        drop(log);
        let mut log = bench.open(0, is_clean).unwrap();
        assert_eq!(
            (log.log_end_offset(), log.contents().last_stable_offset(Offset(5))),
            (Offset(5), Offset(4))
        );
        let retry = append_batch(&mut log, producer_batch(START_MS, 7, 3, true), 0);
        assert_eq!((retry.is_duplicate, retry.first_offset), (true, Offset(4)));
    }
}

// A `.txnindex` that outlives its batches hid committed records from read_committed consumers
#[test]
fn transaction_index_of_batches_that_recovery_cut_off_names_nothing_at_the_next_clean_start() {
    for (kept_batches, is_rolled) in [(0, false), (0, true), (1, false), (1, true)] {
        let bench = Bench::new(&[]);
        let mut log = bench.create();
        let mut kept_bytes = 0;
        for _ in 0..kept_batches {
            bench.append(&mut log, 1, 10);
            kept_bytes = log.segments().size_bytes();
        }
        append_batch(&mut log, producer_batch(START_MS, 9, 0, true), 0);
        marker(&mut log, 9, false, START_MS);
        log.close().unwrap();
        drop(log);
        assert!(bench.file(0, ".txnindex").exists());
        // A power loss takes the end of the `.log` and leaves the `.txnindex`.
        let path = bench.file(0, ".log");
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..kept_bytes as usize]).unwrap();
        let mut log = bench.reopen(0).unwrap();
        for _ in 0..3 {
            bench.append(&mut log, 1, 10);
        }
        if is_rolled {
            log.roll(START_MS).unwrap();
            bench.append(&mut log, 1, 10);
        }
        let end = log.log_end_offset();
        assert!(aborted_in(&log, Offset(0), end).is_empty());
        log.close().unwrap();
        drop(log);
        let log = bench.reopen_clean().unwrap();
        assert_eq!((log.log_end_offset(), log.report().segments_checked), (end, 0));
        let aborted = aborted_in(&log, Offset(0), end);
        assert!(
            aborted.is_empty(),
            "{kept_batches} batches kept, rolled {is_rolled}: {aborted:?}"
        );
    }
}

#[test]
fn leftovers_of_deletion_and_cleaning_are_settled_as_kafka_does() {
    let bench = bench();
    let (mut log, _) = written(&bench, 40);
    let bases: Vec<i64> = log.segments().all().map(|it| it.base_offset().get()).collect();
    let all = batches(&log);
    log.close().unwrap();
    drop(log);
    let copy = |from: i64, to: i64, suffix: &str| {
        fs::copy(bench.file(from, ".log"), bench.file(to, &format!(".log{suffix}"))).unwrap();
    };
    copy(bases[0], bases[0], ".deleted");
    copy(bases[3], bases[3], ".cleaned");
    copy(bases[3], bases[3], ".swap"); // at the lowest cleaned: invalid
    copy(bases[1], bases[1], ".swap"); // replaces its segment with equal bytes
    fs::write(bench.file(999_999, ".index"), [0; 8]).unwrap();
    let log = bench.reopen_clean().unwrap();
    assert_eq!(batches(&log), all);
    let names = bench.names();
    for suffix in [".deleted", ".cleaned", ".swap"] {
        assert!(!names.iter().any(|name| name.ends_with(suffix)), "{names:?}");
    }
    assert!(!bench.file(999_999, ".index").exists());
}

#[test]
fn a_log_start_beyond_the_end_makes_an_empty_log_there() {
    let bench = bench();
    let (mut log, _) = written(&bench, 40);
    log.close().unwrap();
    drop(log);
    let progress = super::RecoveryProgress::default();
    let args = super::LoadArgs {
        recovery_point: Offset(0),
        log_start_offset: Offset(500),
        first_dirty_offset: None,
        clean_shutdown: true,
        progress: &progress,
        extent: super::Extent::default(),
    };
    let partition = crate::TopicPartition::new("topic", 0);
    let log = Log::open(
        &bench.context(),
        &bench.path(),
        partition,
        bench.config.clone().into(),
        args,
    )
    .unwrap();
    assert_eq!(
        (log.log_start_offset(), log.log_end_offset(), log.segments().count()),
        (Offset(500), Offset(500), 1)
    );
}

#[test]
fn an_empty_directory_is_an_empty_log() {
    let bench = bench();
    fs::create_dir(bench.path()).unwrap();
    assert_eq!(bench.reopen(0).unwrap().log_end_offset(), Offset(0));
    assert_eq!(bench.reopen_clean().unwrap().log_end_offset(), Offset(0));
}

/// Three segments, the first without its last batch.
fn with_a_gap(bench: &Bench) -> i64 {
    let mut log = bench.create();
    while log.segments().count() < 3 {
        bench.append(&mut log, 1, 100);
    }
    let end = log.log_end_offset();
    drop(log);
    let path = bench.file(0, ".log");
    let bytes = fs::read(&path).unwrap();
    let last = Batches::new(&bytes).last().unwrap().unwrap().bytes().len();
    fs::write(&path, &bytes[..bytes.len() - last]).unwrap();
    end.get()
}

#[test]
fn a_segment_that_was_compacted_may_end_before_the_next_one() {
    let is_kept = |policy: &str, cleaned: Option<&str>, (is_flushed, has_holes)| {
        let mut bench = Bench::new(&[("segment.bytes", "900")]);
        let end = with_a_gap(&bench);
        if has_holes {
            let bytes = fs::read(bench.file(0, ".log")).unwrap();
            let first = Batches::new(&bytes).next().unwrap().unwrap().bytes().len();
            fs::write(bench.file(0, ".log"), &bytes[first..]).unwrap();
        }
        bench.config = LogConfig::from_pairs([("cleanup.policy", policy)]).unwrap();
        if let Some(text) = cleaned {
            fs::write(bench.dir.path().join("cleaner-offset-checkpoint"), text).unwrap();
        }
        let base = bench.base_offsets()[1];
        let log = bench.reopen(if is_flushed { base } else { 0 }).unwrap();
        assert_eq!(log.report().cut_reason.is_none(), log.log_end_offset() == Offset(end));
        log.log_end_offset() == Offset(end)
    };
    let (unflushed, flushed) = ((false, false), (true, false));
    assert!(!is_kept("delete", None, unflushed), "what a power loss took");
    assert!(!is_kept("delete", Some("0\n2\nother 0 9\ntopic 0 0\n"), unflushed));
    assert!(is_kept("delete", Some("0\n1\ntopic 0 1\n"), unflushed));
    assert!(is_kept("delete", Some("garbage"), unflushed));
    assert!(!is_kept("compact", None, unflushed), "what a power loss took");
    assert!(
        is_kept("compact", None, (false, true)),
        "Kafka's cleaner, killed before it wrote its checkpoint"
    );
    assert!(is_kept("compact", Some("0\n1\ntopic 0 1\n"), unflushed));
    assert!(
        is_kept("compact", None, flushed),
        "our cleaner flushes what it replaces"
    );
}

#[test]
fn a_compacted_log_that_was_copied_here_keeps_what_stands_behind_its_gaps() {
    let mut bench = Bench::new(&[("segment.bytes", "900")]);
    let end = with_a_gap(&bench);
    let unlisted = Extent {
        is_listed: false,
        ..Extent::default()
    };
    bench.config = LogConfig::from_pairs([("cleanup.policy", "compact")]).unwrap();
    assert_eq!(bench.open_to(0, false, unlisted).unwrap().log_end_offset(), Offset(end));
    bench.config = LogConfig::from_pairs([("cleanup.policy", "delete")]).unwrap();
    assert!(bench.open_to(0, false, unlisted).unwrap().log_end_offset() < Offset(end));
}
