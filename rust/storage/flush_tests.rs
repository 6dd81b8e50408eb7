//! The recovery point, and what a failed sync does.

use std::sync::Arc;

use crate::testing::{Bench, START_MS, append_batch, marker, producer_batch, read_all};
use ::io::{Fault, FaultFileSystem, OsFileSystem};
use base::error::Error;
use base::place::Offset;

#[test]
fn a_flush_moves_the_recovery_point_to_where_it_began() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    bench.append(&mut log, 2, 10);
    let job = log.begin_flush();
    bench.append(&mut log, 1, 10);
    assert_eq!(log.recovery_point(), Offset(0));
    let flushed = job.run();
    log.complete_flush(flushed).unwrap();
    assert_eq!((log.recovery_point(), log.log_end_offset()), (Offset(2), Offset(3)));
}

#[test]
fn a_flush_that_a_truncation_overtook_moves_nothing() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    bench.append(&mut log, 1, 10);
    bench.append(&mut log, 1, 10);
    let job = log.begin_flush();
    log.truncate_to(Offset(1)).unwrap();
    bench.append(&mut log, 1, 10);
    let flushed = job.run();
    log.complete_flush(flushed).unwrap();
    assert_eq!(log.recovery_point(), Offset(0));
}

#[test]
fn what_was_flushed_survives_a_power_loss() {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let mut bench = Bench::on(Arc::new(disk.clone()), &[("segment.bytes", "500")]);
    let mut log = bench.create();
    for _ in 0..10 {
        bench.append(&mut log, 1, 100);
    }
    log.flush().unwrap();
    let point = log.recovery_point();
    for _ in 0..3 {
        bench.append(&mut log, 1, 100);
    }
    drop(log);
    disk.lose_unsynced().unwrap();
    bench.fs = Arc::new(OsFileSystem);
    let log = bench.reopen(point.get()).unwrap();
    assert_eq!(point, Offset(10));
    assert_eq!(read_all(&log, 0, 10, 1000).len(), 10);
}

// H11: a reader of committed records would get the records of an aborted transaction
#[test]
fn aborted_transactions_of_a_segment_that_was_flushed_to_its_end_survive_a_power_loss() {
    for is_flushed_again in [false, true] {
        let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
        let mut bench = Bench::on(Arc::new(disk.clone()), &[]);
        let mut log = bench.create();
        append_batch(&mut log, producer_batch(START_MS, 9, 0, true), 0);
        marker(&mut log, 9, false, START_MS);
        let aborted = log.aborted_transactions(Offset(0), Offset(2)).unwrap();
        log.flush().unwrap();
        assert_eq!(
            (log.recovery_point(), aborted.len()),
            (Offset(2), 1),
            "up to the segment's end"
        );
        log.roll(START_MS).unwrap();
        bench.append(&mut log, 1, 10);
        if is_flushed_again {
            log.flush().unwrap();
        }
        let point = log.recovery_point();
        drop(log);
        disk.lose_unsynced().unwrap();
        bench.fs = Arc::new(OsFileSystem);
        let log = bench.reopen(point.get()).unwrap();
        let found = log.aborted_transactions(Offset(0), Offset(2)).unwrap();
        assert_eq!(found, aborted, "flushed again: {is_flushed_again}");
    }
}

// Nothing retries a failed fsync and nothing is accepted after it
#[test]
fn a_failed_sync_poisons_the_log() {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let bench = Bench::on(Arc::new(disk.clone()), &[]);
    let mut log = bench.create();
    bench.append(&mut log, 1, 10);
    disk.arm("sync:.log", 1, Fault::InputOutput);
    assert!(matches!(log.flush(), Err(Error::Io { op: "fsync", .. })));
    assert!(log.is_poisoned());
    assert!(matches!(log.flush(), Err(Error::Poisoned { .. })));
    assert!(matches!(log.close(), Err(Error::Poisoned { .. })));
    assert_eq!(log.recovery_point(), Offset(0));
    assert_eq!(read_all(&log, 0, 1, 1000).len(), 1, "reads go on");
}

#[test]
fn one_flush_of_the_active_segment_is_one_sync() {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let bench = Bench::on(Arc::new(disk.clone()), &[]);
    let mut log = bench.create();
    bench.append(&mut log, 1, 10);
    log.flush().unwrap();
    disk.arm("none", 0, Fault::Crash);
    bench.append(&mut log, 1, 10);
    log.flush().unwrap();
    log.flush().unwrap();
    let syncs: Vec<_> = disk
        .counts()
        .into_iter()
        .filter(|(label, _)| label.starts_with("sync"))
        .collect();
    assert_eq!(syncs, [("sync:.log".to_owned(), 1)]);
}

#[test]
fn names_that_a_crash_left_unsynced_are_synced_by_the_first_flush() {
    // the log's directory (with its epochs) and its parent; after a clean stop there is nothing to make up for
    for (is_clean, expected) in [(false, Some(2)), (true, None)] {
        let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
        let bench = Bench::on(Arc::new(disk.clone()), &[]);
        let mut log = bench.create();
        bench.append(&mut log, 1, 10);
        if is_clean {
            log.close().unwrap();
        }
        drop(log);
        let mut log = bench.open(0, is_clean).unwrap();
        bench.append(&mut log, 1, 10);
        disk.arm("none", 0, Fault::Crash);
        log.flush().unwrap();
        assert_eq!(dir_syncs(&disk), expected, "clean: {is_clean}");
    }
}

#[test]
fn a_flush_of_nothing_counts_no_name_as_synced() {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let bench = Bench::on(Arc::new(disk.clone()), &[]);
    let mut log = bench.create();
    bench.append(&mut log, 1, 10);
    log.flush().unwrap();
    log.roll(bench.now_ms()).unwrap();
    log.flush().unwrap(); // nothing to do
    bench.append(&mut log, 1, 10);
    disk.arm("none", 0, Fault::Crash);
    log.flush().unwrap();
    assert_eq!(dir_syncs(&disk), Some(1));
}

fn dir_syncs(disk: &FaultFileSystem) -> Option<u64> {
    disk.counts().get("sync:dir").copied()
}

// What a truncation that met a shortage has yet to cut off is not durable, and what stands before it is
// neither by that
#[test]
fn a_flush_beside_an_unfinished_truncation_moves_nothing() {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let bench = Bench::on(Arc::new(disk.clone()), &[]);
    let mut log = bench.create();
    for _ in 0..4 {
        bench.append(&mut log, 1, 10);
    }
    disk.arm("set_len:.log", 1, Fault::NoMemory);
    assert!(log.truncate_to(Offset(2)).unwrap_err().is_shortage());
    let flushed = log.begin_flush().run();
    log.complete_flush(flushed).unwrap();
    assert_eq!(log.recovery_point(), Offset(0), "nothing was synced");
    let job = log.begin_flush();
    assert_eq!(
        bench.append(&mut log, 1, 10).first_offset,
        Offset(2),
        "the truncation was finished"
    );
    log.complete_flush(job.run()).unwrap();
    assert_eq!(
        (log.recovery_point(), disk.counts().get("sync:.log")),
        (Offset(0), None)
    );
    log.flush().unwrap();
    assert_eq!(log.recovery_point(), Offset(3));
}
