mod transactions;

use std::time::{Duration, Instant};

use super::*;
use crate::WaitKind;
use crate::partition::followers::FollowerFetch;
use crate::partition::lease::Lease;
use crate::requests::waiters::Waiter;
use crate::testing::{Calls, Fixture, NODE, START_MS, batch, give, lease, take_fetched};
use ::io::Fault;
use base::error::{Error, ErrorCode, Result};
use base::place::LeaderEpoch;
use base::place::Offset;
use record::{BatchBuilder, Codec, Origin};
use std::sync::Arc;
use storage::{AppendError, Appended, LogConfig};

const TOPIC: &str = "t";

fn append(partition: &Partition, acks: i16) -> Result<(Appended, Awaited), AppendError> {
    partition.append(&mut batch(START_MS), acks, Origin::Client, START_MS)
}

fn read_at(offset: i64, isolation: Isolation) -> ReadRequest<'static> {
    ReadRequest {
        offset: Offset(offset),
        current_leader_epoch: LeaderEpoch::NONE,
        last_fetched_epoch: LeaderEpoch::NONE,
        max_bytes: 1 << 20,
        at_least_one_batch: true,
        isolation,
        served_by: ServedBy::Leader,
        wait: storage::Wait::Yes,
        nearer: &[],
    }
}

fn code<T>(result: Result<T>) -> ErrorCode {
    result.err().map_or(ErrorCode::NONE, |e| e.code())
}

#[test]
fn the_high_watermark_is_the_log_end_only_for_the_sole_in_sync_replica() {
    let fixture = Fixture::new(1);
    fixture.create(TOPIC, 1, &[]);
    let partition = fixture.partition(TOPIC, 0);
    assert!(append(&partition, -1).unwrap().1.is_nothing());
    assert_eq!(partition.offsets().high_watermark(), Offset(1));
    give(&partition, Some(lease(1, &[NODE, 2], &[NODE, 2])));
    let awaited = append(&partition, -1).unwrap().1;
    assert_eq!(awaited.high_watermark, Some(Offset(2)));
    let offsets = partition.offsets();
    assert_eq!((offsets.high_watermark(), offsets.log_end()), (Offset(1), Offset(2)));
    assert!(!partition.is_satisfied(awaited).unwrap());
    assert!(append(&partition, 1).unwrap().1.is_nothing(), "acks=1 waits for nobody");
    give(&partition, Some(lease(1, &[NODE, 2], &[NODE])));
    assert!(partition.is_satisfied(awaited).unwrap());
    assert_eq!(partition.offsets().high_watermark(), Offset(3));
    give(&partition, Some(lease(2, &[NODE, 2], &[NODE, 2])));
    assert_eq!(partition.offsets().high_watermark(), Offset(3), "it never moves back");
}

#[test]
fn only_the_leader_in_its_epoch_serves() {
    let fixture = Fixture::new(1);
    fixture.create(TOPIC, 1, &[]);
    let partition = fixture.partition(TOPIC, 0);
    for gone in [None, Some(lease(4, &[2, NODE], &[2, NODE]))] {
        let hint = gone.as_ref().map(|l| (l.leader, l.leader_epoch));
        give(&partition, gone);
        assert_eq!(
            append(&partition, 1).unwrap_err().code(),
            ErrorCode::NOT_LEADER_OR_FOLLOWER
        );
        let read = partition.read(&read_at(0, Isolation::ReadUncommitted));
        assert_eq!(code(read.map(|_| ())), ErrorCode::NOT_LEADER_OR_FOLLOWER);
        assert_eq!(partition.leadership().current_leader(), hint);
    }
    give(&partition, Some(lease(5, &[NODE], &[NODE])));
    assert_eq!(
        code(partition.leadership().leading(LeaderEpoch(4))),
        ErrorCode::FENCED_LEADER_EPOCH
    );
    assert_eq!(
        code(partition.leadership().leading(LeaderEpoch(6))),
        ErrorCode::UNKNOWN_LEADER_EPOCH
    );
    assert_eq!(code(partition.leadership().leading(LeaderEpoch(5))), ErrorCode::NONE);
    append(&partition, 1).unwrap();
    assert_eq!(
        partition
            .end_offset_for_epoch(LeaderEpoch::NONE, LeaderEpoch(5))
            .unwrap(),
        (LeaderEpoch(5), Offset(1))
    );
}

#[test]
fn too_few_in_sync_replicas_are_an_error_before_and_after_the_append() {
    let fixture = Fixture::new(1);
    fixture.create_with(TOPIC, [1; 16], 1, &[("min.insync.replicas", "2")], &[NODE, 2]);
    let partition = fixture.partition(TOPIC, 0);
    let awaited = append(&partition, -1).unwrap().1;
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE])));
    let lost = ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND;
    assert_eq!(code(partition.is_satisfied(awaited)), lost, "nothing more is committed");
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE, 2])));
    assert!(!partition.is_satisfied(awaited).unwrap());
    let fetch = FollowerFetch {
        node_id: 2,
        broker_epoch: -1,
        leader_epoch: LeaderEpoch::NONE,
        log_start: Offset(0),
        log_end: Offset(1),
    };
    assert_eq!(partition.note_follower(fetch, Instant::now()), None);
    assert!(partition.is_satisfied(awaited).unwrap());
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE])));
    assert_eq!(
        code(partition.is_satisfied(awaited)),
        lost,
        "as in Kafka, though it is committed"
    );
    assert_eq!(
        append(&partition, -1).unwrap_err().code(),
        ErrorCode::NOT_ENOUGH_REPLICAS
    );
    assert_eq!(partition.offsets().log_end(), Offset(1));
}

#[test]
fn produce_is_woken_when_the_follower_that_it_waited_for_has_fallen_behind() {
    let fixture = Fixture::new(1);
    fixture.create_with(TOPIC, [1; 16], 1, &[], &[NODE, 2, 3]);
    let partition = fixture.partition(TOPIC, 0);
    let lag = Duration::from_secs(30);
    let begin = Instant::now();
    let at = |partition_epoch| Lease {
        partition_epoch,
        ..lease(1, &[NODE, 2, 3], &[NODE, 2])
    };
    let note = |node_id, log_end, now| {
        let fetch = FollowerFetch {
            node_id,
            broker_epoch: -1,
            leader_epoch: LeaderEpoch::NONE,
            log_start: Offset(0),
            log_end: Offset(log_end),
        };
        partition.note_follower(fetch, now)
    };
    partition.set_lease(Some(at(1)), lag, begin);
    assert!(note(3, 0, begin).is_some(), "it has caught up");
    partition.set_lease(Some(at(2)), lag, begin); // and is not in the set that was decided meanwhile
    let awaited = append(&partition, -1).unwrap().1;
    note(2, 1, begin);
    assert!(!partition.is_satisfied(awaited).unwrap(), "broker 3 may still come");
    let calls = Arc::new(Calls::default());
    let waiter = Waiter {
        owner: calls.clone(),
        operation: 7,
    };
    partition.waiters().watch(WaitKind::Produce, waiter);
    append(&partition, 1).unwrap();
    assert_eq!(partition.propose_leaving(begin + lag), None);
    assert_eq!(
        (calls.0.lock().len(), partition.is_satisfied(awaited).unwrap()),
        (0, false)
    );
    assert!(
        partition.propose_leaving(begin + lag + lag).is_some(),
        "broker 2, which has not fetched since"
    );
    assert!(partition.is_satisfied(awaited).unwrap());
    assert_eq!(*calls.0.lock(), [7]);
}

#[test]
fn a_lower_minimum_of_replicas_raises_the_high_watermark_and_whoever_publishes_it_wakes() {
    let config = |min| Arc::new(LogConfig::from_pairs([("min.insync.replicas", min)]).unwrap());
    for is_told in [true, false] {
        let fixture = Fixture::new(1);
        fixture.create_with(TOPIC, [1; 16], 1, &[("min.insync.replicas", "2")], &[NODE, 2]);
        let partition = fixture.partition(TOPIC, 0);
        give(&partition, Some(lease(0, &[NODE, 2], &[NODE])));
        append(&partition, 1).unwrap();
        assert_eq!(partition.offsets().high_watermark(), Offset(0));
        let calls = Arc::new(Calls::default());
        let waiter = Waiter {
            owner: calls.clone(),
            operation: 7,
        };
        partition.waiters().watch(WaitKind::Produce, waiter);
        if is_told {
            fixture.broker.logs().set_topic_config(TOPIC, &config("1"));
        } else {
            partition.log().set_config(config("1"));
            append(&partition, 1).unwrap();
        }
        assert_eq!(*calls.0.lock(), [7]);
        assert!(partition.offsets().high_watermark() > Offset(0));
    }
}

fn send(partition: &Partition, epoch: i16, sequence: i32, records: usize, now_ms: i64) -> ErrorCode {
    let mut builder = BatchBuilder::new(Codec::None).producer(7, epoch, sequence);
    for _ in 0..records {
        builder.append(START_MS, Some(b"key"), Some(b"value"), &[]);
    }
    let sent = partition.append(
        &mut builder.build(Offset(0), LeaderEpoch::NONE),
        -1,
        Origin::Client,
        now_ms,
    );
    sent.err().map_or(ErrorCode::NONE, |error| error.code())
}

// H16: librdkafka answers an order that is broken with a new epoch, in which it sends things twice.
#[test]
fn what_is_sent_behind_a_refused_batch_is_refused_until_that_one_comes_again() {
    let fixture = Fixture::new(1);
    fixture.create_with(TOPIC, [1; 16], 1, &[("min.insync.replicas", "2")], &[NODE, 2]);
    let partition = fixture.partition(TOPIC, 0);
    let both = || lease(0, &[NODE, 2], &[NODE, 2]);
    let alone = lease(0, &[NODE, 2], &[NODE]);
    for (away, code) in [
        (Some(alone), ErrorCode::NOT_ENOUGH_REPLICAS),
        (None, ErrorCode::NOT_LEADER_OR_FOLLOWER),
    ] {
        let next = partition.offsets().log_end().get() as i32;
        give(&partition, away);
        assert_eq!(send(&partition, 0, next, 2, START_MS), code);
        assert_eq!(send(&partition, 0, next + 2, 1, START_MS), code);
        give(&partition, Some(both()));
        assert_eq!(
            send(&partition, 0, next + 2, 1, START_MS),
            code,
            "the first is still to come"
        );
        assert_eq!(send(&partition, 0, next, 2, START_MS), ErrorCode::NONE);
        assert_eq!(send(&partition, 0, next + 2, 1, START_MS), ErrorCode::NONE);
        let gap = send(&partition, 0, next + 9, 1, START_MS);
        assert_eq!(gap, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, "nothing is to come");
    }
}

#[test]
fn refusal_is_forgotten_in_a_new_epoch_after_a_while_and_when_the_batch_came_from_a_leader() {
    let out_of_order = ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER;
    for (epoch, sequence, later_ms, code) in [
        (0, 5, 9_999, ErrorCode::NOT_ENOUGH_REPLICAS),
        (0, 5, 10_000, out_of_order),
        (1, 0, 0, ErrorCode::NONE),
    ] {
        let fixture = Fixture::new(1);
        fixture.create_with(TOPIC, [1; 16], 1, &[("min.insync.replicas", "2")], &[NODE, 2]);
        let partition = fixture.partition(TOPIC, 0);
        assert_eq!(send(&partition, 0, 0, 1, START_MS), ErrorCode::NONE);
        give(&partition, Some(lease(0, &[NODE, 2], &[NODE])));
        assert_eq!(send(&partition, 0, 1, 1, START_MS), ErrorCode::NOT_ENOUGH_REPLICAS);
        give(&partition, Some(lease(0, &[NODE, 2], &[NODE, 2])));
        assert_eq!(
            send(&partition, epoch, sequence, 1, START_MS + later_ms),
            code,
            "{later_ms} ms later"
        );
    }
    let fixture = Fixture::new(1);
    fixture.create_with(TOPIC, [1; 16], 1, &[], &[NODE, 2]);
    let partition = fixture.partition(TOPIC, 0);
    assert_eq!(send(&partition, 0, 0, 1, START_MS), ErrorCode::NONE);
    give(&partition, Some(lease(1, &[2, NODE], &[2, NODE])));
    assert_eq!(send(&partition, 0, 1, 1, START_MS), ErrorCode::NOT_LEADER_OR_FOLLOWER);
    let mut builder = BatchBuilder::new(Codec::None).producer(7, 0, 1);
    builder.append(START_MS, None, Some(b"value"), &[]);
    let records = builder.build(Offset(1), LeaderEpoch(1));
    take_fetched(&partition, 1, &records, 2);
    give(&partition, Some(lease(2, &[NODE, 2], &[NODE, 2])));
    assert_eq!(send(&partition, 0, 2, 1, START_MS), ErrorCode::NONE);
}

// H16: a client that hears of the new leader first has what is missing with the old one still.
#[test]
fn gap_of_a_producer_that_is_new_to_this_leader_is_waited_for_once_and_a_gap_of_any_other_is_none() {
    let out_of_order = ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER;
    let fixture = Fixture::new(1);
    fixture.create_with(TOPIC, [1; 16], 1, &[], &[NODE, 2]);
    let partition = fixture.partition(TOPIC, 0);
    assert_eq!(send(&partition, 0, 0, 1, START_MS), ErrorCode::NONE);
    give(&partition, Some(lease(1, &[NODE, 2], &[NODE, 2])));
    assert_eq!(send(&partition, 0, 5, 1, START_MS), out_of_order, "it leads on");
    for (epoch, waits_ms) in [(3, 1), (5, 9_999)] {
        let next = partition.offsets().log_end().get() as i32;
        give(&partition, Some(lease(epoch - 1, &[2, NODE], &[2, NODE])));
        give(&partition, Some(lease(epoch, &[NODE, 2], &[NODE, 2])));
        let unknown = ErrorCode::NOT_LEADER_OR_FOLLOWER;
        assert_eq!(send(&partition, 0, next + 2, 1, START_MS), unknown);
        assert_eq!(send(&partition, 0, next + 3, 1, START_MS + waits_ms), unknown);
        assert_eq!(send(&partition, 1, 7, 1, START_MS), out_of_order, "of another epoch");
        assert_eq!(send(&partition, 0, next, 2, START_MS + waits_ms), ErrorCode::NONE);
        assert_eq!(send(&partition, 0, next + 2, 1, START_MS + waits_ms), ErrorCode::NONE);
        assert_eq!(
            send(&partition, 0, next + 9, 1, START_MS + waits_ms),
            out_of_order,
            "it was here"
        );
    }
    let next = partition.offsets().log_end().get() as i32;
    give(&partition, Some(lease(6, &[2, NODE], &[2, NODE])));
    give(&partition, Some(lease(7, &[NODE, 2], &[NODE, 2])));
    let gap_at = |at_ms| send(&partition, 0, next + 2, 1, START_MS + at_ms);
    assert_eq!(gap_at(0), ErrorCode::NOT_LEADER_OR_FOLLOWER);
    assert_eq!(gap_at(10_000), out_of_order, "for so long and no longer");
    assert_eq!(gap_at(10_001), out_of_order);
    assert_eq!(gap_at(30_000), out_of_order);
    assert_eq!(send(&partition, 0, next, 1, START_MS + 30_000), ErrorCode::NONE);
}

// Nobody else can have what is missing.
#[test]
fn gap_at_the_only_replica_is_answered_at_once() {
    let fixture = Fixture::new(1);
    fixture.create_with(TOPIC, [1; 16], 1, &[], &[NODE]);
    let partition = fixture.partition(TOPIC, 0);
    assert_eq!(send(&partition, 0, 0, 1, START_MS), ErrorCode::NONE);
    give(&partition, None);
    give(&partition, Some(lease(1, &[NODE], &[NODE])));
    assert_eq!(
        send(&partition, 0, 2, 1, START_MS),
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER
    );
}

// What was appended before another broker led may have been cut off, whatever stands at its offsets
// now.
#[test]
fn produce_of_an_earlier_term_is_not_acknowledged_by_the_records_of_another_leader() {
    let fixture = Fixture::new(1);
    fixture.create_with(TOPIC, [1; 16], 1, &[], &[NODE, 2]);
    let partition = fixture.partition(TOPIC, 0);
    let awaited = append(&partition, -1).unwrap().1;
    give(&partition, Some(lease(1, &[NODE, 2], &[NODE, 2])));
    assert!(!partition.is_satisfied(awaited).unwrap(), "it leads on");
    give(&partition, Some(lease(2, &[2, NODE], &[2])));
    partition
        .following(LeaderEpoch(2))
        .unwrap()
        .truncate_to_leader((LeaderEpoch(0), Offset(0)))
        .unwrap();
    let mut records = batch(START_MS + 1);
    record::set_offset_and_epoch(&mut records, Offset(0), LeaderEpoch(2));
    take_fetched(&partition, 2, &records, 1);
    give(&partition, Some(lease(3, &[NODE, 2], &[NODE, 2])));
    assert_eq!(partition.offsets().high_watermark(), Offset(1));
    assert_eq!(code(partition.is_satisfied(awaited)), ErrorCode::NOT_LEADER_OR_FOLLOWER);
    let awaited = append(&partition, -1).unwrap().1;
    assert!(!partition.is_satisfied(awaited).unwrap());
}

// A client that is told "not written" of what is written may send it again as something new.
#[test]
fn duplicate_batch_is_answered_after_append_while_too_few_replicas_are_in_sync() {
    let fixture = Fixture::new(1);
    fixture.create_with(TOPIC, [1; 16], 1, &[("min.insync.replicas", "2")], &[NODE, 2]);
    let partition = fixture.partition(TOPIC, 0);
    assert_eq!(send(&partition, 0, 0, 3, START_MS), ErrorCode::NONE);
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE])));
    let after = ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND;
    assert_eq!(send(&partition, 0, 0, 3, START_MS), after);
    assert_eq!(send(&partition, 0, 3, 3, START_MS), ErrorCode::NOT_ENOUGH_REPLICAS);
    assert_eq!(partition.offsets().log_end(), Offset(3));
}

#[test]
fn each_isolation_has_its_bound() {
    let fixture = Fixture::new(1);
    fixture.create(TOPIC, 1, &[]);
    let partition = fixture.partition(TOPIC, 0);
    append(&partition, 1).unwrap();
    let mut open = BatchBuilder::new(Codec::None).producer(9, 0, 0).transactional(true);
    open.append(START_MS, None, Some(b"v"), &[]);
    let mut open = open.build(Offset(0), LeaderEpoch::NONE);
    partition.append(&mut open, 1, Origin::Client, START_MS).unwrap();
    give(&partition, Some(lease(1, &[NODE, 2], &[NODE, 2])));
    append(&partition, 1).unwrap();
    let bounds =
        [Isolation::ReadCommitted, Isolation::ReadUncommitted, Isolation::LogEnd].map(|i| partition.offsets().bound(i));
    assert_eq!(bounds, [1, 2, 3].map(Offset));
    assert!(!partition.offsets().has_data_past(Offset(1), Isolation::ReadCommitted));
    for (offset, isolation) in [(2, Isolation::ReadCommitted), (3, Isolation::ReadUncommitted)] {
        assert!(
            partition.read(&read_at(offset, isolation)).unwrap().slice.is_none(),
            "past the bound: wait"
        );
    }
    let past = partition.read(&read_at(4, Isolation::ReadUncommitted));
    assert_eq!(code(past.map(|_| ())), ErrorCode::OFFSET_OUT_OF_RANGE);
}

// KIP-595
#[test]
fn a_reader_with_a_diverging_log_gets_the_diverging_epoch() {
    let fixture = Fixture::new(1);
    fixture.create(TOPIC, 1, &[]);
    let partition = fixture.partition(TOPIC, 0);
    append(&partition, 1).unwrap();
    give(&partition, Some(lease(3, &[NODE], &[NODE])));
    append(&partition, 1).unwrap();
    let request = ReadRequest {
        last_fetched_epoch: LeaderEpoch(0),
        ..read_at(2, Isolation::LogEnd)
    };
    assert_eq!(
        partition.read(&request).unwrap().diverging_epoch,
        Some((LeaderEpoch(0), Offset(1)))
    );
    let request = ReadRequest {
        last_fetched_epoch: LeaderEpoch(3),
        ..read_at(2, Isolation::LogEnd)
    };
    assert_eq!(partition.read(&request).unwrap().diverging_epoch, None);
}

#[test]
fn after_a_failed_flush_no_later_one_counts() {
    let fixture = Fixture::new(1);
    fixture.create(TOPIC, 1, &[("flush.messages", "1")]);
    let partition = fixture.partition(TOPIC, 0);
    let awaited = append(&partition, 1).unwrap().1;
    assert_eq!(awaited.flushed, Some(Offset(1)));
    fixture.faults.arm("sync:.log", 1, Fault::InputOutput);
    assert!(partition.flush().is_err());
    fixture.faults.disarm();
    assert!(matches!(partition.flush(), Err(Error::Poisoned { .. })));
    assert!(!partition.is_satisfied(awaited).unwrap(), "never acknowledged");
}

// flush.messages
#[test]
fn a_flush_satisfies_what_was_appended_before_it() {
    let fixture = Fixture::new(1);
    fixture.create(TOPIC, 1, &[("flush.messages", "1")]);
    let partition = fixture.partition(TOPIC, 0);
    let first = append(&partition, 1).unwrap().1;
    assert!(first.wants_flush && !partition.is_satisfied(first).unwrap());
    partition.flush().unwrap();
    assert!(partition.is_satisfied(first).unwrap());
    let second = append(&partition, 1).unwrap().1;
    assert!(!partition.is_satisfied(second).unwrap());
}

// flush.ms
#[test]
fn a_flush_is_due_when_the_oldest_unflushed_batch_is_old_enough() {
    let fixture = Fixture::new(1);
    fixture.create(TOPIC, 1, &[("flush.ms", "100")]);
    let partition = fixture.partition(TOPIC, 0);
    assert!(!partition.is_flush_due(i64::MAX));
    append(&partition, 1).unwrap();
    assert!(!partition.is_flush_due(START_MS + 99));
    assert!(partition.is_flush_due(START_MS + 100));
    partition.flush().unwrap();
    assert!(!partition.is_flush_due(i64::MAX));
}

#[test]
fn appends_call_fetches_and_flushes_call_produces_and_leases_call_both() {
    let fixture = Fixture::new(1);
    fixture.create(TOPIC, 1, &[]);
    let partition = fixture.partition(TOPIC, 0);
    let calls = Arc::new(Calls::default());
    let watch = || {
        for (kind, operation) in [(WaitKind::Fetch, 1), (WaitKind::Produce, 2)] {
            let owner = calls.clone();
            partition.waiters().watch(kind, Waiter { owner, operation });
        }
    };
    let called = || std::mem::take(&mut *calls.0.lock());
    watch();
    append(&partition, 1).unwrap();
    assert_eq!(called(), [1]);
    partition.flush().unwrap();
    assert_eq!(called(), [2]);
    watch();
    partition.revoke();
    assert_eq!(called(), [1, 2]);
    watch();
    partition.set_offline();
    assert_eq!(called(), [1, 2]);
    assert_eq!(
        code(partition.leadership().leading(LeaderEpoch::NONE)),
        ErrorCode::KAFKA_STORAGE_ERROR
    );
}

#[test]
fn records_are_deleted_up_to_the_high_watermark_at_most() {
    let fixture = Fixture::new(1);
    fixture.create(TOPIC, 1, &[]);
    let partition = fixture.partition(TOPIC, 0);
    for _ in 0..3 {
        append(&partition, 1).unwrap();
    }
    give(&partition, Some(lease(1, &[NODE, 2], &[NODE, 2])));
    append(&partition, 1).unwrap();
    for refused in [4, 5, -2] {
        assert_eq!(
            code(partition.delete_records(Offset(refused))),
            ErrorCode::OFFSET_OUT_OF_RANGE,
            "{refused}"
        );
    }
    assert_eq!(partition.delete_records(Offset(1)).unwrap(), Offset(1));
    assert_eq!(partition.delete_records(Offset(-1)).unwrap(), Offset(3));
    assert_eq!(partition.delete_records(Offset(1)).unwrap(), Offset(1));
    assert_eq!(partition.offsets().log_start(), Offset(3), "it does not move back");
}

#[test]
fn log_that_starts_anew_has_its_high_watermark_at_its_start() {
    let fixture = Fixture::new(1);
    fixture.create_with(TOPIC, [1; 16], 1, &[], &[NODE, 2]);
    let partition = fixture.partition(TOPIC, 0);
    append(&partition, 1).unwrap();
    give(&partition, Some(lease(1, &[2, NODE], &[2, NODE])));
    partition
        .following(LeaderEpoch(1))
        .unwrap()
        .restart_at(Offset(42))
        .unwrap();
    let offsets = partition.offsets();
    assert_eq!((offsets.log_start(), offsets.log_end()), (Offset(42), Offset(42)));
    assert_eq!(
        (offsets.last_stable(), offsets.high_watermark()),
        (Offset(42), Offset(42))
    );
}

// A leader that follows now cuts its log while a slow thread still reads what was planned before.
#[test]
fn a_log_that_is_cut_while_it_is_read_takes_no_directory_offline() {
    let fixture = Fixture::new(1);
    fixture.create(TOPIC, 1, &[]);
    let partition = fixture.partition(TOPIC, 0);
    give(&partition, Some(lease(1, &[NODE, 2], &[NODE, 2])));
    for _ in 0..20 {
        append(&partition, 1).unwrap();
    }
    let read_while_cut = |read: &dyn Fn() -> Error| {
        let cut = Arc::clone(&partition);
        fixture.faults.before_next("read:.log", move || {
            give(&cut, Some(lease(2, &[2, NODE], &[2, NODE])));
            let following = cut.following(LeaderEpoch(2)).unwrap();
            following.truncate_to_end_of_leader(Offset(0)).unwrap();
        });
        let error = read();
        fixture.broker.logs().dirs().storage_failed(&partition, &error);
        assert_eq!(error.code(), ErrorCode::NOT_LEADER_OR_FOLLOWER, "{error}");
        assert_eq!(fixture.broker.logs().dirs().failed(), Vec::<std::path::PathBuf>::new());
    };
    read_while_cut(&|| partition.read(&read_at(0, Isolation::LogEnd)).err().unwrap());
    give(&partition, Some(lease(3, &[NODE, 2], &[NODE, 2])));
    for _ in 0..20 {
        append(&partition, 1).unwrap();
    }
    read_while_cut(&|| partition.lookup_timestamp(START_MS, Isolation::LogEnd).err().unwrap());
}
