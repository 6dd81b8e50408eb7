//! Many logs stopped at once, and what a failing disk makes of it.

use std::sync::Arc;

use super::{TOGETHER, sync_together};
use crate::log::Log;
use crate::testing::Bench;
use crate::{LogConfig, TopicPartition};
use ::io::{Fault, FaultFileSystem, FileSystem, OsFileSystem};
use base::error::Error;
use base::place::{LeaderEpoch, Offset};

/// Logs with one batch each, in one directory.
fn written(bench: &Bench, count: usize) -> Vec<Log> {
    let config = Arc::new(LogConfig::default());
    (0..count)
        .map(|index| {
            let partition = TopicPartition::new("topic", index as i32);
            let dir = bench.dir.path().join(partition.to_string());
            let mut log = Log::create(&bench.context(), &dir, partition, None, Arc::clone(&config)).unwrap();
            bench.append(&mut log, 2, 100);
            log
        })
        .collect()
}

/// Closes them; the errors by log.
fn close_all(bench: &Bench, logs: &mut [Log]) -> Vec<Option<Error>> {
    let volume = bench.fs.open_volume(bench.dir.path()).unwrap();
    let jobs = logs.iter_mut().map(|log| log.begin_close().unwrap().unwrap()).collect();
    let outcomes = sync_together(jobs, bench.dir.path(), volume.as_deref());
    let complete = |(log, outcome): (&mut Log, _)| log.complete_close(outcome).err();
    logs.iter_mut().zip(outcomes).map(complete).collect()
}

fn count_of(disk: &FaultFileSystem, op: &str) -> u64 {
    let counts = disk.counts();
    counts
        .iter()
        .filter(|(label, _)| label.starts_with(op))
        .map(|(_, n)| n)
        .sum()
}

#[test]
fn an_unused_log_closes_without_a_call() {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let bench = Bench::on(Arc::new(disk.clone()), &[]);
    let mut log = bench.create();
    log.begin_epoch(LeaderEpoch(3));
    log.materialise().unwrap();
    disk.arm("none", 0, Fault::Crash);
    log.close().unwrap();
    assert_eq!(disk.counts().values().sum::<u64>(), 0, "{:?}", disk.counts());
    drop(log);
    let mut log = bench.reopen_clean().unwrap();
    assert_eq!(log.report().segments_checked, 0);
    bench.append(&mut log, 1, 1);
    log.close().unwrap();
    drop(log);
    let mut log = bench.reopen_clean().unwrap();
    disk.arm("none", 0, Fault::Crash);
    log.close().unwrap();
    assert_eq!(disk.counts().values().sum::<u64>(), 0, "{:?}", disk.counts());
    assert_eq!(log.log_end_offset(), Offset(1));
}

#[test]
fn many_logs_are_synced_by_two_calls_and_open_cleanly() {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let bench = Bench::on(Arc::new(disk.clone()), &[]);
    let mut logs = written(&bench, TOGETHER);
    if disk.open_volume(bench.dir.path()).unwrap().is_none() {
        return;
    }
    disk.arm("none", 0, Fault::Crash);
    assert!(close_all(&bench, &mut logs).iter().all(Option::is_none));
    assert_eq!(count_of(&disk, "sync:"), 2, "{:?}", disk.counts());
    assert!(logs.iter().all(|log| log.recovery_point() == Offset(2)));
    drop(logs);
    disk.lose_unsynced().unwrap();
    let log = bench.reopen_clean().unwrap();
    assert_eq!((log.log_end_offset(), log.report().segments_checked), (Offset(2), 0));
    assert_eq!(log.epochs().latest_epoch(), Some(LeaderEpoch(0)));
}

#[test]
fn few_logs_are_synced_one_by_one() {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let bench = Bench::on(Arc::new(disk.clone()), &[]);
    let mut logs = written(&bench, TOGETHER - 1);
    assert!(close_all(&bench, &mut logs).iter().all(Option::is_none));
    assert_eq!(
        (disk.counts().get("sync:volume"), disk.counts()["sync:.log"]),
        (None, TOGETHER as u64 - 1)
    );
}

// reliability: a failed sync is never taken for done
#[test]
fn a_failed_sync_of_the_volume_poisons_every_log_it_was_for() {
    for nth in [1, 2] {
        let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
        let bench = Bench::on(Arc::new(disk.clone()), &[]);
        let mut logs = written(&bench, TOGETHER);
        disk.arm("sync:volume", nth, Fault::InputOutput);
        let errors = close_all(&bench, &mut logs);
        if !disk.has_fired() {
            return;
        }
        for (log, error) in logs.iter_mut().zip(errors) {
            assert!(matches!(error, Some(Error::Io { op: "syncfs", .. })), "{error:?}");
            assert!(log.is_poisoned() && log.recovery_point() == Offset(0));
            assert!(
                matches!(log.close(), Err(Error::Poisoned { .. })),
                "a second close does not hide it"
            );
        }
    }
}

#[test]
fn an_epoch_file_that_cannot_be_written_harms_its_own_log_only() {
    for label in ["write:leader-epoch-checkpoint.tmp", "rename:leader-epoch-checkpoint"] {
        let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
        let bench = Bench::on(Arc::new(disk.clone()), &[]);
        let mut logs = written(&bench, TOGETHER);
        disk.arm(label, 3, Fault::NoSpace);
        let errors = close_all(&bench, &mut logs);
        assert!(disk.has_fired(), "{label}: {:?}", disk.counts());
        let failed: Vec<_> = (0..TOGETHER).filter(|at| errors[*at].is_some()).collect();
        assert_eq!(failed, [2], "{label}");
        assert!(logs[2].is_poisoned() && !logs[3].is_poisoned());
    }
}
