use std::sync::Arc;

use super::*;
use crate::requests::waiters::Waiter;
use crate::testing::{Calls, Fixture, NODE, START_MS, batch, give, lease, take_fetched};
use crate::{Lease, ReadRequest, ReadResult};
use record::end_transaction_marker;
use storage::testing::producer_batch;

const TOPIC: &str = "t";
const LEADER: i32 = 2;

/// A partition that follows broker 2 in leader epoch 3.
fn follower() -> (Fixture, Arc<Partition>) {
    let fixture = Fixture::new(1);
    fixture.create(TOPIC, 1, &[]);
    let partition = fixture.partition(TOPIC, 0);
    give(&partition, Some(lease(3, &[LEADER, NODE], &[LEADER, NODE])));
    (fixture, partition)
}

/// Takes one batch at `base`, and the leader's high watermark.
fn take(partition: &Partition, bytes: &[u8], high_watermark: i64) {
    take_fetched(partition, 3, bytes, high_watermark);
}

fn at(base: i64, mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[..8].copy_from_slice(&base.to_be_bytes());
    bytes[12..16].copy_from_slice(&3_i32.to_be_bytes());
    bytes
}

fn read(partition: &Partition, offset: i64, isolation: Isolation) -> Result<ReadResult> {
    partition.read(&ReadRequest {
        offset: Offset(offset),
        current_leader_epoch: LeaderEpoch(3),
        last_fetched_epoch: LeaderEpoch::NONE,
        max_bytes: 1 << 20,
        at_least_one_batch: true,
        isolation,
        served_by: ServedBy::AnyReplica,
        wait: storage::Wait::Yes,
        nearer: &[],
    })
}

fn bytes(result: &ReadResult) -> usize {
    result.slice.as_ref().map_or(0, |slice| slice.len)
}

fn code<T>(result: Result<T>) -> ErrorCode {
    result.err().map_or(ErrorCode::NONE, |e| e.code())
}

// KIP-392
#[test]
fn follower_serves_consumers_up_to_its_own_high_watermark() {
    let (_fixture, partition) = follower();
    let one = batch(START_MS).len();
    for base in 0..4 {
        take(&partition, &at(base, batch(START_MS)), 2);
    }
    let from = |offset| read(&partition, offset, Isolation::ReadUncommitted);
    let found = from(0).unwrap();
    assert_eq!(
        (bytes(&found), found.high_watermark, found.is_by_follower),
        (2 * one, Offset(2), true)
    );
    for waits in 2..=4 {
        assert_eq!(
            bytes(&from(waits).unwrap()),
            0,
            "{waits} is in the log and not committed"
        );
    }
    assert_eq!(code(from(5)), ErrorCode::OFFSET_OUT_OF_RANGE);
    assert_eq!(code(from(-1)), ErrorCode::OFFSET_OUT_OF_RANGE);
    take(&partition, &[], 4);
    assert_eq!(bytes(&from(2).unwrap()), 2 * one);
}

// KIP-392, KIP-98
#[test]
fn follower_serves_read_committed_up_to_its_last_stable_offset_with_aborted_transactions() {
    let (_fixture, partition) = follower();
    take(&partition, &at(0, producer_batch(START_MS, 9, 0, true)), 1);
    let committed = || read(&partition, 0, Isolation::ReadCommitted).unwrap();
    assert_eq!((bytes(&committed()), committed().last_stable), (0, Offset(0)));
    take(&partition, &at(1, end_transaction_marker(false, 9, 0, 0, START_MS)), 2);
    take(&partition, &at(2, batch(START_MS)), 3);
    let aborted = committed().aborted.unwrap();
    assert_eq!(
        aborted
            .iter()
            .map(|t| (t.producer_id, t.first_offset))
            .collect::<Vec<_>>(),
        [(9, Offset(0))]
    );
    assert_eq!(committed().last_stable, Offset(3));
}

// KIP-392
#[test]
fn readers_are_refused_where_there_is_no_replica_of_their_epoch() {
    let (fixture, partition) = follower();
    let asked = |epoch, served_by| code(partition.check_reader(LeaderEpoch(epoch), served_by));
    let wrong = ErrorCode::NOT_LEADER_OR_FOLLOWER;
    for (epoch, any, leader) in [
        (-1, ErrorCode::NONE, wrong),
        (3, ErrorCode::NONE, wrong),
        (2, ErrorCode::FENCED_LEADER_EPOCH, ErrorCode::FENCED_LEADER_EPOCH),
        (4, ErrorCode::UNKNOWN_LEADER_EPOCH, ErrorCode::UNKNOWN_LEADER_EPOCH),
    ] {
        assert_eq!(asked(epoch, ServedBy::AnyReplica), any, "epoch {epoch}");
        assert_eq!(asked(epoch, ServedBy::Leader), leader, "epoch {epoch}");
    }
    let without_leader = Lease {
        leader: -1,
        ..lease(3, &[LEADER, NODE], &[LEADER])
    };
    for (why, other) in [
        ("no lease", None),
        ("no replica here", Some(lease(3, &[LEADER, 3], &[LEADER]))),
        ("no leader", Some(without_leader)),
    ] {
        give(&partition, other);
        assert_eq!(asked(3, ServedBy::AnyReplica), wrong, "{why}");
    }
    give(&partition, Some(lease(3, &[NODE, LEADER], &[NODE])));
    assert_eq!(
        partition.check_reader(LeaderEpoch(3), ServedBy::AnyReplica).ok(),
        Some(false)
    );
    drop(fixture);
    partition.set_offline();
    assert_eq!(asked(3, ServedBy::AnyReplica), ErrorCode::KAFKA_STORAGE_ERROR);
}

// KIP-392
#[test]
fn a_partition_has_readers_while_one_waits_and_for_a_while_after() {
    let (_fixture, partition) = follower();
    let now = Instant::now();
    assert!(!partition.has_readers(now));
    partition.note_reader(now);
    assert!(partition.has_readers(now + READER_STAYS / 2));
    assert!(!partition.has_readers(now + READER_STAYS));
    let waiter = Waiter {
        owner: Arc::new(Calls::default()),
        operation: 5,
    };
    partition.waiters().watch(WaitKind::Fetch, waiter);
    assert!(partition.has_readers(now + READER_STAYS), "one waits for longer");
    partition.waiters().wake_all(WaitKind::Fetch);
    assert!(!partition.has_readers(now + READER_STAYS));
}
