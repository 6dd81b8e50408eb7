//! Making, closing, deleting.

use std::sync::Arc;

use crate::testing::{Bench, START_MS, append_batch, batch, producer_batch};
use crate::topic_partition::DirKind;
use ::io::{Fault, FaultFileSystem, OsFileSystem};
use base::error::{Error, ErrorCode};
use base::place::{LeaderEpoch, Offset};
use record::Origin;

#[test]
fn a_new_log_comes_to_disk_with_two_calls() {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let bench = Bench::on(Arc::new(disk.clone()), &[]);
    disk.arm("none", 0, Fault::Crash);
    let mut log = bench.create();
    log.materialise().unwrap();
    log.materialise().unwrap();
    assert_eq!(disk.counts().values().sum::<u64>(), 2, "{:?}", disk.counts());
    assert_eq!(
        (log.log_start_offset(), log.log_end_offset(), log.segment_count()),
        (Offset(0), Offset(0), 1)
    );
}

#[test]
fn a_log_is_not_made_over_another() {
    let bench = Bench::new(&[]);
    let (mut first, mut second) = (bench.create(), bench.create());
    first.materialise().unwrap();
    assert!(matches!(second.materialise(), Err(Error::Taken { .. })));
    second.close().unwrap(); // it has no record
    let partition = crate::TopicPartition::new("topic", 0);
    let again = super::Log::create(&bench.context(), &bench.path(), partition, None, Arc::default());
    assert!(matches!(again, Err(Error::Taken { .. })));
}

#[test]
fn a_closed_log_has_what_kafka_expects_and_takes_nothing_more() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    bench.append(&mut log, 2, 10);
    log.close().unwrap();
    log.close().unwrap();
    let expected = [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000002.snapshot",
        "leader-epoch-checkpoint",
    ];
    assert_eq!(bench.names(), expected);
    assert_eq!(log.recovery_point(), Offset(2));
    let error = log
        .append_as_leader(&mut batch(START_MS, 1, 1), LeaderEpoch(0), Origin::Client, START_MS)
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::NOT_LEADER_OR_FOLLOWER);
}

#[test]
fn a_deleted_log_moves_aside_under_kafkas_name() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    bench.append(&mut log, 1, 10);
    let to = log.rename_away(DirKind::Deleted).unwrap().unwrap();
    let name = to.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name.starts_with("topic-0.") && name.ends_with("-delete"), "{name}");
    assert!(!bench.path().exists() && to.exists());
    assert!(
        log.append_as_leader(&mut batch(START_MS, 1, 1), LeaderEpoch(0), Origin::Client, START_MS)
            .is_err()
    );
}

#[test]
fn a_changed_configuration_counts_at_once() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    let config = crate::LogConfig::from_pairs([("max.message.bytes", "100")]).unwrap();
    log.set_config(Arc::new(config));
    let error = log
        .append_as_leader(&mut batch(START_MS, 1, 500), LeaderEpoch(0), Origin::Client, START_MS)
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::MESSAGE_TOO_LARGE);
}

#[test]
fn open_transaction_whose_first_records_are_deleted_holds_readers_at_the_log_start() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    for sequence in 0..3 {
        append_batch(&mut log, producer_batch(START_MS, 1, sequence, true), 0);
    }
    assert_eq!(log.last_stable_offset(Offset(3)), Offset(0));
    log.advance_log_start_offset(Offset(2), Offset(3)).unwrap();
    assert_eq!(log.last_stable_offset(Offset(3)), Offset(2));
    assert_eq!(log.last_stable_offset(Offset(2)), Offset(2));
}
