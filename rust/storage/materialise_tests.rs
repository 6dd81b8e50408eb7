//! When a log comes to disk, and what is left when it does not.

use std::sync::Arc;

use crate::partition_metadata::PartitionMetadata;
use crate::testing::{Bench, START_MS, batch, read_all};
use crate::topic_partition::DirKind;
use crate::{AppendError, Log, Uuid};
use ::io::{Fault, FaultFileSystem, OsFileSystem};
use base::error::{Error, ErrorCode};
use base::place::{LeaderEpoch, Offset};
use record::Origin;

const TOPIC_ID: Uuid = Uuid([7; 16]);

fn faulty() -> (FaultFileSystem, Bench) {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let bench = Bench::on(Arc::new(disk.clone()), &[]);
    (disk, bench)
}

fn append(log: &mut Log) -> Result<Offset, AppendError> {
    log.append_as_leader(&mut batch(START_MS, 1, 10), LeaderEpoch(0), Origin::Client, START_MS)
        .map(|appended| appended.first_offset)
}

fn topic_id(bench: &Bench) -> Option<Uuid> {
    let read = PartitionMetadata::read(&OsFileSystem, &bench.path()).unwrap();
    read.map(|metadata| metadata.topic_id)
}

#[test]
fn a_new_log_is_empty_and_touches_no_file() {
    let (disk, bench) = faulty();
    let mut log = bench.create_for(Some(TOPIC_ID));
    log.begin_epoch(LeaderEpoch(3));
    assert_eq!(
        (log.log_start_offset(), log.log_end_offset(), log.size_bytes()),
        (Offset(0), Offset(0), 0)
    );
    assert_eq!(read_all(&log, 0, 0, 1000), []);
    assert_eq!(
        log.plan_read(Offset(0), Offset(0))
            .unwrap()
            .resolve(1000, true)
            .unwrap()
            .len,
        0
    );
    assert_eq!(
        log.plan_read(Offset(1), Offset(1)).err().unwrap().code(),
        ErrorCode::OFFSET_OUT_OF_RANGE
    );
    assert_eq!(log.lookup_timestamp(0).unwrap().resolve().unwrap(), None);
    assert_eq!(log.max_timestamp().unwrap().resolve().unwrap(), None);
    assert!(log.aborted_transactions(Offset(0), Offset(10)).unwrap().is_empty());
    assert!(log.begin_flush().is_empty());
    log.flush().unwrap();
    log.roll(START_MS).unwrap();
    assert!(!log.truncate_to(Offset(0)).unwrap());
    assert_eq!(log.delete_old_segments(START_MS, Offset(0)).unwrap().segments(), 0);
    assert!(!log.advance_log_start_offset(Offset(0), Offset(0)).unwrap());
    assert!(!log.is_materialised() && !bench.path().exists());
    assert!(disk.counts().is_empty(), "{:?}", disk.counts());
}

#[test]
fn the_first_append_makes_the_directory_and_writes_the_topic_id() {
    let (disk, bench) = faulty();
    let mut log = bench.create_for(Some(TOPIC_ID));
    assert_eq!(append(&mut log).unwrap(), Offset(0));
    assert!(log.is_materialised());
    assert_eq!(bench.names(), ["00000000000000000000.log", "partition.metadata"]);
    assert_eq!(topic_id(&bench), Some(TOPIC_ID));
    let made = disk.counts();
    assert_eq!((made["create:dir"], made["open:.log"], made["write:.log"]), (1, 1, 1));
    assert_eq!(append(&mut log).unwrap(), Offset(1));
    assert_eq!(disk.counts()["create:dir"], 1);
    assert_eq!(read_all(&log, 0, 2, 1000), [(0, 1), (1, 2)]);
    drop(log);
    assert_eq!(bench.reopen(0).unwrap().log_end_offset(), Offset(2));
}

#[test]
fn a_follower_s_first_append_makes_the_directory_too() {
    let bench = Bench::new(&[]);
    let mut log = bench.create_for(Some(TOPIC_ID));
    assert_eq!(
        log.append_as_follower(&batch(START_MS, 2, 10)).unwrap(),
        Some(Offset(1))
    );
    assert_eq!(topic_id(&bench), Some(TOPIC_ID));
}

#[test]
fn a_refused_batch_makes_nothing() {
    let bench = Bench::new(&[("max.message.bytes", "1")]);
    let mut log = bench.create_for(Some(TOPIC_ID));
    assert!(matches!(append(&mut log), Err(AppendError::Rejected(_))));
    assert!(!bench.path().exists());
}

#[test]
fn truncating_a_new_log_to_another_start_makes_its_files() {
    let bench = Bench::new(&[]);
    let mut log = bench.create_for(Some(TOPIC_ID));
    log.truncate_fully_and_start_at(Offset(42)).unwrap();
    assert_eq!(bench.names(), ["00000000000000000042.log", "partition.metadata"]);
    assert_eq!(append(&mut log).unwrap(), Offset(42));
}

#[test]
fn closing_makes_the_directory_of_a_log_that_was_never_written() {
    let bench = Bench::new(&[]);
    let mut log = bench.create_for(Some(TOPIC_ID));
    log.begin_epoch(LeaderEpoch(0));
    log.close().unwrap();
    assert_eq!(bench.names(), ["00000000000000000000.log", "partition.metadata"]);
    let log = bench.reopen_clean().unwrap();
    assert_eq!((log.log_end_offset(), log.report().bytes_cut), (Offset(0), 0));
    assert!(log.is_materialised());
}

#[test]
fn a_log_that_was_never_written_is_deleted_without_a_trace() {
    let (disk, bench) = faulty();
    let mut log = bench.create();
    assert_eq!(log.rename_away(DirKind::Deleted).unwrap(), None);
    assert!(log.is_closed() && disk.counts().is_empty());
    assert!(matches!(log.materialise(), Err(Error::Closed { .. })));
    assert_eq!(append(&mut log).unwrap_err().code(), ErrorCode::NOT_LEADER_OR_FOLLOWER);
    let mut again = bench.create();
    assert_eq!(append(&mut again).unwrap(), Offset(0));
    assert!(
        again
            .rename_away(DirKind::Deleted)
            .unwrap()
            .is_some_and(|to| to.exists())
    );
}

#[test]
fn a_plan_made_before_the_directory_reads_nothing_after_it() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    let (plan, job) = (log.plan_read(Offset(0), Offset(0)).unwrap(), log.begin_flush());
    append(&mut log).unwrap();
    assert_eq!(plan.resolve(1000, true).unwrap().len, 0);
    log.complete_flush(job.run()).unwrap();
    assert_eq!(log.recovery_point(), Offset(0));
    log.flush().unwrap();
    assert_eq!(log.recovery_point(), Offset(1));
}

// reliability: no topic id is lost with the power
#[test]
fn the_first_flush_brings_the_topic_id_to_disk() {
    let (disk, bench) = faulty();
    let mut log = bench.create_for(Some(TOPIC_ID));
    append(&mut log).unwrap();
    log.flush().unwrap();
    append(&mut log).unwrap();
    log.flush().unwrap();
    assert_eq!(disk.counts()["sync:partition.metadata"], 1);
    drop(log);
    disk.lose_unsynced().unwrap();
    assert_eq!(topic_id(&bench), Some(TOPIC_ID));
    assert_eq!(bench.reopen(2).unwrap().log_end_offset(), Offset(2));
}

#[test]
fn a_failure_poisons_the_log_and_nothing_is_acknowledged() {
    for label in [
        "create:dir",
        "open:partition.metadata",
        "write:partition.metadata",
        "open:.log",
    ] {
        for fault in [Fault::InputOutput, Fault::NoSpace, Fault::ShortWrite] {
            let (disk, bench) = faulty();
            let mut log = bench.create_for(Some(TOPIC_ID));
            disk.arm(label, 1, fault);
            let error = append(&mut log).unwrap_err();
            assert_eq!(error.code(), ErrorCode::KAFKA_STORAGE_ERROR, "{label}");
            assert!(disk.has_fired() && log.is_poisoned(), "{label}");
            assert_eq!(log.log_end_offset(), Offset(0), "{label}");
            let error = append(&mut log).unwrap_err();
            assert!(matches!(error, AppendError::Storage(Error::Poisoned { .. })), "{label}");
            assert!(log.close().is_err(), "{label}");
        }
    }
}

#[test]
fn what_a_crash_leaves_half_made_is_nothing_or_an_empty_log() {
    for label in [
        "create:dir",
        "open:partition.metadata",
        "write:partition.metadata",
        "open:.log",
        "write:.log",
    ] {
        for loses_power in [false, true] {
            let (disk, bench) = faulty();
            let mut log = bench.create_for(Some(TOPIC_ID));
            disk.arm(label, 1, Fault::Crash);
            assert!(append(&mut log).is_err(), "{label}");
            drop(log);
            if loses_power {
                disk.lose_unsynced().unwrap();
            }
            let case = format!("{label}, power lost: {loses_power}");
            if label == "create:dir" {
                assert!(!bench.path().exists(), "{case}");
                continue;
            }
            let bench = bench.mended();
            let id = topic_id(&bench);
            assert!(id.is_none_or(|id| id == TOPIC_ID), "{case}");
            assert!(id.is_some() || loses_power || label != "write:.log", "{case}");
            let mut log = bench.reopen(0).unwrap();
            assert_eq!(log.log_end_offset(), Offset(0), "{case}");
            assert_eq!(append(&mut log).unwrap(), Offset(0), "{case}");
        }
    }
}
