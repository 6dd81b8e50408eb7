//! Markers for partitions that other brokers lead.

use std::time::Duration;

use super::super::super::testing::{Sent, World, answer_markers};
use super::*;
use broker::{Channel, NO_CONTROLLER};
use protocol::ApiTable;
use protocol::messages::Message;
use protocol::messages::write_txn_markers::{WriteTxnMarkersRequest, WriteTxnMarkersResponse};

const OTHER: i32 = 2;
const THIRD: i32 = 3;
const RETRY: Duration = Duration::from_millis(100);

/// Partitions 1, 2 and 3 of topic `t` are led by another broker.
fn world() -> World {
    let world = World::new();
    for index in 1..4 {
        world.move_away("t", index, OTHER, 1);
    }
    world
}

/// A decided commit with a partition of the other broker, and the request with its marker.
fn waiting_for_other() -> (World, Producer, Sent) {
    let world = world();
    let producer = world.open("a", &[("t", 1)]);
    assert_eq!(world.end("a", producer, true), NONE);
    world.work();
    let sent = world.peers.take_one();
    (world, producer, sent)
}

/// Producer id, epoch, result and partitions of topic `t` of each marker.
fn asked(sent: &Sent) -> Vec<(i64, i16, bool, Vec<i32>)> {
    assert_eq!(
        (sent.ask.api_key, sent.ask.api_version),
        (ApiTable::WRITE_TXN_MARKERS, 2)
    );
    assert_eq!(sent.channel, Channel::Markers);
    let request = WriteTxnMarkersRequest::decode(2, &sent.ask.body).unwrap();
    let markers = request.markers.iter().map(|one| {
        assert!(one.topics.iter().all(|topic| topic.name == "t"));
        let indexes = one.topics.iter().flat_map(|topic| topic.partition_indexes.clone());
        (
            one.producer_id,
            one.producer_epoch,
            one.transaction_result,
            indexes.collect(),
        )
    });
    markers.collect()
}

/// Answers with this code for each partition, and lets the thread work.
fn answer(world: &World, sent: Sent, code: ErrorCode) {
    let body = answer_markers(&sent.ask.body, |_, _| code);
    sent.answer(&body);
    world.work();
}

fn is_ended(world: &World) -> bool {
    world.state("a") == TransactionState::CompleteCommit
}

#[test]
fn markers_for_another_broker_go_in_one_request_and_end_the_transactions_when_they_are_answered() {
    let world = world();
    let first = world.open("a", &[("t", 0), ("t", 1), ("t", 2)]);
    let second = world.open("b", &[("t", 1)]);
    assert_eq!(world.end("a", first, true), NONE);
    assert_eq!(world.end("b", second, false), NONE);
    world.work();
    let sent = world.peers.take_one();
    assert_eq!(sent.node_id, OTHER);
    let expected = [
        (first.id, first.epoch, true, vec![1, 2]),
        (second.id, second.epoch, false, vec![1]),
    ];
    assert_eq!(asked(&sent), expected);
    assert_eq!(world.markers("t", 0).len(), 1, "the marker of this broker's partition");
    assert_eq!(world.state("a"), TransactionState::PrepareCommit);
    answer(&world, sent, NONE);
    assert_eq!(world.states("a")[2..], ["PrepareCommit", "CompleteCommit"]);
    assert_eq!(world.states("b")[2..], ["PrepareAbort", "CompleteAbort"]);
    assert!(world.peers.take().is_empty());
}

#[test]
fn markers_that_come_while_a_request_is_under_way_go_in_the_next() {
    let (world, _, sent) = waiting_for_other();
    let (second, third) = (world.open("b", &[("t", 2)]), world.open("c", &[("t", 1)]));
    world.end("b", second, true);
    world.end("c", third, true);
    world.work();
    assert!(world.peers.take().is_empty(), "one request is under way");
    answer(&world, sent, NONE);
    let next = world.peers.take_one();
    assert_eq!(
        asked(&next),
        [(second.id, 0, true, vec![2]), (third.id, 0, true, vec![1])]
    );
    answer(&world, next, NONE);
    for id in ["a", "b", "c"] {
        assert_eq!(world.state(id), TransactionState::CompleteCommit, "{id}");
    }
}

#[test]
fn marker_with_the_epoch_of_version_2_says_so() {
    let world = world();
    let producer = world.open("a", &[("t", 1)]);
    world.end_v2("a", producer, true).unwrap();
    world.work();
    let sent = world.peers.take_one();
    assert_eq!(asked(&sent), [(producer.id, producer.epoch + 1, true, vec![1])]);
    let request = WriteTxnMarkersRequest::decode(2, &sent.ask.body).unwrap();
    assert_eq!(request.markers[0].transaction_version, 2);
}

#[test]
fn marker_that_the_old_leader_refuses_goes_to_the_new_leader_after_a_pause() {
    for code in [
        ErrorCode::NOT_LEADER_OR_FOLLOWER,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode::NOT_ENOUGH_REPLICAS,
        ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode::REQUEST_TIMED_OUT,
        ErrorCode::KAFKA_STORAGE_ERROR,
        ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode::UNKNOWN_SERVER_ERROR,
    ] {
        let (mut world, _, sent) = waiting_for_other();
        answer(&world, sent, code);
        world.publish_leader("t", 1, THIRD);
        assert!(!is_ended(&world), "{}", code.name());
        world.advance(Duration::from_millis(99));
        assert_eq!(
            world.work(),
            world.now + Duration::from_millis(1),
            "it looks again in time"
        );
        assert!(world.peers.take().is_empty());
        world.advance(Duration::from_millis(1));
        world.work();
        let again = world.peers.take_one();
        assert_eq!(again.node_id, THIRD);
        answer(&world, again, NONE);
        assert!(is_ended(&world));
    }
}

#[test]
fn marker_that_is_refused_for_one_partition_is_sent_again_for_that_partition_alone() {
    let mut world = world();
    let producer = world.open("a", &[("t", 1), ("t", 2)]);
    world.end("a", producer, true);
    world.work();
    let sent = world.peers.take_one();
    let code = |_: &str, index| match index {
        1 => NONE,
        _ => ErrorCode::NOT_LEADER_OR_FOLLOWER,
    };
    let body = answer_markers(&sent.ask.body, code);
    sent.answer(&body);
    world.work();
    world.advance(RETRY);
    world.work();
    let again = world.peers.take_one();
    assert_eq!(asked(&again), [(producer.id, 0, true, vec![2])]);
    answer(&world, again, NONE);
    assert!(is_ended(&world));
}

#[test]
fn marker_whose_answer_is_lost_or_wrong_is_sent_again() {
    let empty = {
        let mut body = Vec::new();
        WriteTxnMarkersResponse::default().encode(&mut body, 2);
        body
    };
    for body in [None, Some(empty), Some(vec![7; 3])] {
        let (mut world, producer, sent) = waiting_for_other();
        match body {
            None => sent.lose(),
            Some(body) => sent.answer(&body),
        }
        world.work();
        assert!(!is_ended(&world));
        world.advance(RETRY);
        world.work();
        let again = world.peers.take_one();
        assert_eq!(asked(&again), [(producer.id, 0, true, vec![1])]);
        answer(&world, again, NONE);
        assert!(is_ended(&world));
    }
}

#[test]
fn marker_of_a_partition_that_comes_to_this_broker_is_written_here() {
    let (mut world, producer, sent) = waiting_for_other();
    world.lead("t", 1, 2);
    answer(&world, sent, ErrorCode::NOT_LEADER_OR_FOLLOWER);
    world.advance(RETRY);
    world.work();
    assert_eq!(world.markers("t", 1), [marker(producer, true, 0)]);
    assert!(is_ended(&world));
}

#[test]
fn marker_of_a_partition_without_leader_waits_for_one() {
    let (mut world, _, sent) = waiting_for_other();
    answer(&world, sent, ErrorCode::NOT_LEADER_OR_FOLLOWER);
    world.publish_leader("t", 1, -1);
    for _ in 0..100 {
        world.advance(RETRY);
        world.work();
    }
    assert!(world.peers.take().is_empty() && !is_ended(&world));
    world.publish_leader("t", 1, THIRD);
    world.advance(RETRY);
    world.work();
    answer(&world, world.peers.take_one(), NONE);
    assert!(is_ended(&world));
}

#[test]
fn marker_of_a_deleted_topic_is_given_up_after_5_seconds() {
    let (mut world, _, sent) = waiting_for_other();
    answer(&world, sent, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    world.broker.image().withdraw_topics(&["t".to_owned()]);
    world.advance(RETRY);
    world.work();
    for _ in 0..49 {
        world.advance(RETRY);
        assert!(world.work() <= world.now + RETRY, "it looks again");
        assert!(!is_ended(&world));
    }
    world.advance(RETRY);
    world.work();
    assert!(is_ended(&world));
    assert!(world.peers.take().is_empty());
}

#[test]
fn marker_of_a_topic_that_is_unknown_for_a_while_is_written() {
    let (mut world, _, sent) = waiting_for_other();
    let row = std::sync::Arc::clone(world.broker.image().load().topic("t").unwrap());
    sent.lose();
    for _ in 0..3 {
        // 4 seconds at a time
        world.broker.image().withdraw_topics(&["t".to_owned()]);
        for _ in 0..40 {
            world.advance(RETRY);
            world.work();
        }
        assert!(!is_ended(&world));
        world.broker.image().publish_topics(vec![(*row).clone()]);
        world.advance(RETRY);
        world.work();
        world.peers.take_one().lose();
    }
    world.work();
    world.advance(RETRY);
    world.work();
    answer(&world, world.peers.take_one(), NONE);
    assert!(is_ended(&world));
}

#[test]
fn marker_is_not_given_up_while_the_controller_is_unknown() {
    let (mut world, _, sent) = waiting_for_other();
    let row = std::sync::Arc::clone(world.broker.image().load().topic("t").unwrap());
    world.broker.image().publish_cluster(Vec::new(), NO_CONTROLLER);
    world.broker.image().withdraw_topics(&["t".to_owned()]);
    sent.lose();
    for _ in 0..200 {
        world.work();
        world.advance(RETRY);
    }
    assert!(!is_ended(&world));
    world.broker.image().publish_cluster(Vec::new(), OTHER);
    world.broker.image().publish_topics(vec![(*row).clone()]);
    world.work();
    answer(&world, world.peers.take_one(), NONE);
    assert!(is_ended(&world));
}

#[test]
fn commit_whose_marker_is_refused_for_good_never_counts_as_complete() {
    for code in [
        ErrorCode::INVALID_PRODUCER_EPOCH,
        ErrorCode::TRANSACTION_COORDINATOR_FENCED,
    ] {
        let (mut world, _, sent) = waiting_for_other();
        answer(&world, sent, code);
        assert!(!is_ended(&world), "{}", code.name());
        assert_eq!(world.states("a").last(), Some(&"PrepareCommit"));
        assert_eq!(world.logged("transaction a for t-1 is refused for good"), 1);
        world.advance(RETRY * 10);
        world.work();
        assert!(world.peers.take().is_empty(), "it is not asked for again and again");
        world.advance(std::time::Duration::from_mins(1));
        world.work();
        answer(&world, world.peers.take_one(), NONE);
        assert!(is_ended(&world), "the partition has the marker after all");
    }
}

#[test]
fn marker_that_an_old_format_cannot_have_is_done() {
    let (world, _, sent) = waiting_for_other();
    answer(&world, sent, ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT);
    assert!(is_ended(&world));
    assert_eq!(world.logged("refused for good"), 0);
}

#[test]
fn end_of_a_closed_partition_is_dropped() {
    let (world, _, sent) = waiting_for_other();
    world.transactions().homes.close(home_of("a"));
    answer(&world, sent, NONE);
    assert_eq!(world.states("a").last(), Some(&"PrepareCommit"));
}

#[test]
fn marker_of_a_closed_partition_is_not_sent_again() {
    let (mut world, _, sent) = waiting_for_other();
    world.transactions().homes.close(home_of("a"));
    sent.lose();
    world.work();
    world.advance(RETRY);
    world.work();
    assert!(world.peers.take().is_empty());
}

#[test]
fn end_that_an_earlier_load_began_does_not_end_the_transaction_of_the_next_load() {
    let (world, producer, before) = waiting_for_other();
    let index = home_of("a");
    world.lead(STATE_TOPIC, index, 1);
    world.begin(index);
    world.work();
    assert!(world.peers.take().is_empty(), "one request is under way");
    answer(&world, before, NONE);
    assert!(!is_ended(&world), "the next coordinator asks again");
    let again = world.peers.take_one();
    let request = WriteTxnMarkersRequest::decode(2, &again.ask.body).unwrap();
    assert_eq!(request.markers.len(), 1);
    assert_eq!(
        (request.markers[0].producer_id, request.markers[0].coordinator_epoch),
        (producer.id, 1)
    );
    answer(&world, again, NONE);
    assert!(is_ended(&world));
    assert_eq!(world.states("a")[2..], ["PrepareCommit", "CompleteCommit"]);
}

#[test]
fn end_of_a_coordinator_that_is_fenced_is_not_recorded() {
    let (world, _, sent) = waiting_for_other();
    world.move_away(STATE_TOPIC, home_of("a"), OTHER, 1);
    answer(&world, sent, ErrorCode::TRANSACTION_COORDINATOR_FENCED);
    assert_eq!(world.states("a").last(), Some(&"PrepareCommit"));
    assert_eq!(world.describe("a"), Err(ErrorCode::NOT_COORDINATOR));
}
