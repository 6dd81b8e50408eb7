//! The ends of transactions, step by step; `tests/remote.rs` has the markers for partitions of other brokers.

mod remote;

use std::time::Duration;

use super::super::table::Producer;
use super::super::testing::{FOLLOWER, LoggedMarker, World, home_of};
use super::super::{STATE_TOPIC, Transaction, TransactionState};
use super::LOOK_EVERY;
use crate::OFFSETS_TOPIC;
use base::error::ErrorCode;
use base::place::Offset;
use broker::testing::{NODE, START_MS};
use storage::LogConfig;

const NONE: ErrorCode = ErrorCode::NONE;

const fn marker(producer: Producer, is_commit: bool, coordinator_epoch: i32) -> LoggedMarker {
    LoggedMarker {
        producer_id: producer.id,
        producer_epoch: producer.epoch,
        is_commit,
        coordinator_epoch,
    }
}

/// The decided transaction of a coordinator that ended before its markers were written.
fn decided(producer: Producer, state: TransactionState, rows: &[(&str, i32)]) -> Transaction {
    Transaction {
        producer_epoch: producer.epoch,
        state,
        partitions: rows.iter().map(|(topic, index)| ((*topic).into(), *index)).collect(),
        start_ms: START_MS,
        ..Transaction::new(producer.id, 60_000, START_MS)
    }
}

#[test]
fn end_with_all_partitions_here_writes_the_markers_and_is_recorded_at_once() {
    for is_commit in [true, false] {
        let world = World::new();
        let producer = world.open("a", &[("t", 0), ("t", 2)]);
        assert!(!world.is_stable("t", 0));
        assert_eq!(world.end("a", producer, is_commit), NONE);
        for index in [0, 2] {
            assert_eq!(world.markers("t", index), [marker(producer, is_commit, 0)]);
            assert!(world.is_stable("t", index));
        }
        assert!(
            world.markers("t", 1).is_empty(),
            "the partition is not in the transaction"
        );
        let states = if is_commit {
            ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]
        } else {
            ["Empty", "Ongoing", "PrepareAbort", "CompleteAbort"]
        };
        assert_eq!(world.states("a"), states);
        assert!(world.peers.take().is_empty());
    }
}

#[test]
fn end_without_partitions_is_recorded_at_once() {
    let world = World::new();
    let producer = world.init("a");
    let next = world.end_v2("a", producer, false).unwrap();
    assert_eq!((next.id, next.epoch), (producer.id, producer.epoch + 1));
    assert_eq!(world.states("a"), ["Empty", "PrepareAbort", "CompleteAbort"]);
}

#[test]
fn marker_of_a_replicated_partition_is_waited_for_and_written_once() {
    let world = World::replicated(&["t"]);
    let producer = world.open("a", &[("t", 0), ("t", 1)]);
    assert_eq!(world.end("a", producer, true), NONE, "the decision is replicated");
    world.work();
    assert_eq!(world.state("a"), TransactionState::PrepareCommit);
    world.replicate("t", 0);
    world.work();
    assert_eq!(
        world.state("a"),
        TransactionState::PrepareCommit,
        "one marker is not replicated"
    );
    world.replicate("t", 1);
    world.work();
    assert_eq!(world.state("a"), TransactionState::CompleteCommit);
    assert_eq!(world.markers("t", 0), [marker(producer, true, 0)]);
    assert!(world.is_stable("t", 0) && world.is_stable("t", 1));
}

#[test]
fn marker_that_a_fetch_does_not_reach_is_waited_for_further() {
    let world = World::replicated(&["t"]);
    let ids = ["a", "b", "c"];
    let producers = ids.map(|id| world.open(id, &[("t", 0)]));
    for (id, producer) in ids.iter().zip(producers) {
        assert_eq!(world.end(id, producer, true), NONE);
    }
    world.work();
    let end = world.partition("t", 0).offsets().log_end();
    for offset in 1..=end.get() {
        world.replicate_to("t", 0, Offset(offset)); // wakes all, and is enough for few
        world.work();
    }
    for id in ids {
        assert_eq!(world.state(id), TransactionState::CompleteCommit, "{id}");
    }
}

#[test]
fn marker_whose_partition_changes_its_leader_is_written_again() {
    let mut world = World::replicated(&["t"]);
    let producer = world.open("a", &[("t", 0)]);
    world.end("a", producer, true);
    world.work();
    world.move_away("t", 0, FOLLOWER, 1); // the marker may be cut off there
    world.work();
    assert!(world.peers.take().is_empty(), "it is not asked at once");
    world.advance(Duration::from_millis(100));
    world.work();
    assert_eq!(world.peers.take_one().node_id, FOLLOWER);
    assert_eq!(world.state("a"), TransactionState::PrepareCommit);
}

#[test]
fn decision_of_a_client_that_is_gone_is_applied_and_its_markers_are_written() {
    let world = World::replicated(&[STATE_TOPIC]);
    let index = home_of("a");
    let producer = Producer { id: 7, epoch: 0 };
    world.append_record("a", Some(&decided(producer, TransactionState::Ongoing, &[("t", 0)])));
    world.replicate(STATE_TOPIC, index);
    world.begin(index);
    assert_eq!(world.write("t", 0, producer, 0), NONE);
    drop(world.try_end(3, "a", producer, true).later());
    assert!(world.work() <= world.now + Duration::from_secs(10));
    assert!(world.markers("t", 0).is_empty(), "the decision is not replicated");
    world.replicate(STATE_TOPIC, index);
    world.work();
    assert_eq!(world.markers("t", 0), [marker(producer, true, 0)]);
    world.replicate(STATE_TOPIC, index);
    world.work();
    assert_eq!(world.state("a"), TransactionState::CompleteCommit);
}

#[test]
fn thread_looks_often_only_while_changes_are_not_replicated() {
    let world = World::replicated(&[STATE_TOPIC]);
    let ends = &world.transactions().ends;
    let looks = || ends.post.inbox.lock().looks_often;
    assert!(!looks());
    drop(world.try_init("a", None).later());
    assert!(looks());
    world.work();
    assert!(looks(), "it is not replicated yet");
    world.replicate(STATE_TOPIC, home_of("a"));
    world.work();
    assert!(!looks());
    assert!(LOOK_EVERY <= Duration::from_millis(100));
    assert_eq!(world.state("a"), TransactionState::Empty);
}

#[test]
fn end_that_cannot_be_recorded_is_recorded_later() {
    let mut world = World::replicated(&[STATE_TOPIC]);
    let index = home_of("a");
    let producer = Producer { id: 7, epoch: 0 };
    world.append_record("a", Some(&decided(producer, TransactionState::Ongoing, &[("t", 0)])));
    world.replicate(STATE_TOPIC, index);
    world.begin(index);
    assert_eq!(world.write("t", 0, producer, 0), NONE);
    let mut ending = world.try_end(3, "a", producer, true).later();
    world.replicate(STATE_TOPIC, index);
    let two = LogConfig::from_pairs([("min.insync.replicas", "2")]).unwrap();
    world.partition(STATE_TOPIC, index).log().set_config(two.into());
    world.set_in_sync(STATE_TOPIC, index, &[NODE]);
    let answer = ending.answer(&world).unwrap();
    assert_eq!(answer[4..6], ErrorCode::COORDINATOR_NOT_AVAILABLE.0.to_be_bytes());
    world.work(); // sees the decision
    world.work(); // tries to record the end
    assert_eq!(
        world.state("a"),
        TransactionState::PrepareCommit,
        "it is decided all the same"
    );
    assert_eq!(world.markers("t", 0).len(), 1);
    world.set_in_sync(STATE_TOPIC, index, &[NODE, FOLLOWER]);
    world.work();
    assert_eq!(
        world.states("a"),
        ["Ongoing", "PrepareCommit"],
        "it is not tried at once"
    );
    world.advance(Duration::from_millis(100));
    world.work();
    world.replicate(STATE_TOPIC, index);
    assert_eq!(world.state("a"), TransactionState::CompleteCommit);
    assert_eq!(world.markers("t", 0).len(), 1);
}

#[test]
fn load_of_decided_transactions_writes_their_markers_again_with_the_new_coordinator_epoch() {
    let world = World::new();
    let index = home_of("a");
    let rows = [
        ("a", Producer { id: 7, epoch: 3 }, TransactionState::PrepareCommit),
        ("c", Producer { id: 8, epoch: 0 }, TransactionState::PrepareAbort),
        ("e", Producer { id: 9, epoch: 0 }, TransactionState::Ongoing),
    ];
    for (id, producer, state) in rows {
        assert_eq!(home_of(id), index);
        assert_eq!(world.write("t", 0, producer, 0), NONE);
        world.append_record(id, Some(&decided(producer, state, &[("t", 0), ("t", 1)])));
    }
    world.lead(STATE_TOPIC, index, 5);
    world.begin(index);
    world.work();
    let expected = [marker(rows[0].1, true, 5), marker(rows[1].1, false, 5)];
    assert_eq!(world.markers("t", 0), expected);
    assert_eq!(world.markers("t", 1), expected);
    assert_eq!(world.states("a"), ["PrepareCommit", "CompleteCommit"]);
    assert_eq!(world.states("c"), ["PrepareAbort", "CompleteAbort"]);
    assert_eq!(world.states("e"), ["Ongoing"], "it is open");
    world.lead(STATE_TOPIC, index, 6);
    world.begin(index);
    world.work();
    assert_eq!(world.markers("t", 0).len(), 2, "they are ended");
}

#[test]
fn load_of_many_decided_transactions_leaves_their_markers_to_the_thread() {
    let world = World::new();
    let ids = ["a", "c", "e", "g", "i", "k"];
    for (at, id) in ids.iter().enumerate() {
        let producer = Producer {
            id: at as i64,
            epoch: 0,
        };
        assert_eq!(world.write("t", 0, producer, 0), NONE);
        let value = decided(producer, TransactionState::PrepareCommit, &[("t", 0)]);
        world.append_record(id, Some(&value));
    }
    world.begin(home_of("a"));
    assert!(world.markers("t", 0).is_empty());
    world.work();
    assert_eq!(world.markers("t", 0).len(), ids.len());
    assert!(ids.iter().all(|id| world.state(id) == TransactionState::CompleteCommit));
    assert!(world.is_stable("t", 0));
}

#[test]
fn marker_for_groups_that_load_is_written_when_they_are_loaded() {
    let mut world = World::new();
    let producer = world.init("a");
    assert_eq!(world.add_offsets("a", producer, "g"), NONE);
    let groups = &world.groups().homes;
    let number = groups.begin(&world.broker, 0).unwrap();
    assert_eq!(world.end("a", producer, true), NONE);
    world.work();
    assert!(world.markers(OFFSETS_TOPIC, 0).is_empty());
    assert_eq!(world.state("a"), TransactionState::PrepareCommit);
    groups.activate(0, number);
    world.advance(Duration::from_millis(100));
    world.work();
    assert_eq!(world.markers(OFFSETS_TOPIC, 0), [marker(producer, true, 0)]);
    assert_eq!(world.state("a"), TransactionState::CompleteCommit);
}

#[test]
fn decision_that_was_not_replicated_when_the_leader_changed_writes_no_marker() {
    let world = World::replicated(&[STATE_TOPIC]);
    let index = home_of("a");
    let home = world.transactions().homes.of(index).unwrap();
    let prepared = decided(
        Producer { id: 7, epoch: 0 },
        TransactionState::PrepareCommit,
        &[("t", 0)],
    );
    let partition = world.partition(STATE_TOPIC, index);
    let done = home.with(world.here(), |shard| {
        super::write(&world.broker, &home, shard, "a", prepared, START_MS).unwrap();
        // meanwhile another leader's record has taken the place of the decision
        world.move_away(STATE_TOPIC, index, FOLLOWER, 1);
        let end = partition.offsets().log_end();
        broker::testing::take_fetched(&partition, 1, &[], end.get());
        assert_eq!(partition.offsets().high_watermark(), end);
    });
    assert_eq!(done, Ok(()));
    world.work();
    assert!(world.markers("t", 0).is_empty());
}

#[test]
fn run_ends_when_it_is_stopped() {
    let world = World::new();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| world.here().run_transactions());
        let producer = world.open("a", &[("t", 0)]);
        assert_eq!(world.end("a", producer, true), NONE);
        world.transactions().stop();
        running.join().unwrap();
    });
    assert_eq!(world.describe("a"), Err(ErrorCode::COORDINATOR_NOT_AVAILABLE));
}
