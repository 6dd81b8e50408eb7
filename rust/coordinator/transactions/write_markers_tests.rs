//! Markers as other brokers and clients send them.

use super::super::table::Producer;
use super::super::testing::{FOLLOWER, World, marker_codes, markers_body};
use super::*;
use protocol::messages::write_txn_markers::WritableTxnMarker;

const NONE: ErrorCode = ErrorCode::NONE;
const PRODUCER: Producer = Producer { id: 7, epoch: 0 };

fn marker(is_commit: bool, coordinator_epoch: i32, partitions: &[i32]) -> WritableTxnMarker<'static> {
    WritableTxnMarker {
        producer_id: PRODUCER.id,
        producer_epoch: PRODUCER.epoch,
        transaction_result: is_commit,
        coordinator_epoch,
        transaction_version: 0,
        topics: vec![WritableTxnMarkerTopic {
            name: "t",
            partition_indexes: partitions.to_vec(),
        }],
    }
}

/// The code of each row of a request that is answered at once.
fn send(world: &World, markers: &[WritableTxnMarker<'_>], is_broker: bool) -> Vec<ErrorCode> {
    marker_codes(&world.try_markers(markers, is_broker).now())
}

#[test]
fn markers_of_a_broker_are_written_to_each_partition() {
    let world = World::new();
    let other = Producer { id: 8, epoch: 2 };
    for (producer, index) in [(PRODUCER, 0), (PRODUCER, 2), (other, 0)] {
        assert_eq!(world.write("t", index, producer, 0), NONE);
    }
    let abort = WritableTxnMarker {
        producer_id: other.id,
        producer_epoch: other.epoch,
        ..marker(false, 4, &[0])
    };
    assert_eq!(send(&world, &[marker(true, 3, &[0, 2]), abort], true), [NONE; 3]);
    let results: Vec<_> = world
        .markers("t", 0)
        .iter()
        .map(|one| (one.producer_id, one.is_commit, one.coordinator_epoch))
        .collect();
    assert_eq!(results, [(7, true, 3), (8, false, 4)]);
    assert!(world.is_stable("t", 0) && world.is_stable("t", 2));
}

#[test]
fn commit_of_a_client_is_refused_and_its_abort_is_taken() {
    let world = World::new();
    assert_eq!(world.write("t", 0, PRODUCER, 0), NONE);
    let refused = ErrorCode::CLUSTER_AUTHORIZATION_FAILED;
    assert_eq!(send(&world, &[marker(true, 0, &[0, 1])], false), [refused; 2]);
    assert!(world.markers("t", 0).is_empty() && !world.is_stable("t", 0));
    assert_eq!(send(&world, &[marker(false, 0, &[0])], false), [NONE]);
    assert!(world.is_stable("t", 0) && !world.markers("t", 0)[0].is_commit);
}

#[test]
fn abort_of_a_client_carries_no_epoch_of_the_future() {
    let world = World::new();
    assert_eq!(world.write("t", 0, PRODUCER, 0), NONE);
    let forged = marker(false, i32::MAX, &[0]);
    let in_epoch = |producer_epoch, asked: WritableTxnMarker<'static>| WritableTxnMarker {
        producer_epoch,
        ..asked
    };
    let invalid_epoch = [ErrorCode::INVALID_PRODUCER_EPOCH];
    assert_eq!(
        send(&world, &[in_epoch(i16::MAX, forged.clone())], false),
        invalid_epoch
    );
    assert!(world.markers("t", 0).is_empty());
    assert_eq!(send(&world, std::slice::from_ref(&forged), false), [NONE]);
    assert_eq!(world.markers("t", 0)[0].coordinator_epoch, 0);
    assert_eq!(world.write("t", 0, PRODUCER, 1), NONE, "the producer is not fenced");
    assert_eq!(
        send(&world, &[marker(true, 0, &[0])], true),
        [NONE],
        "nor is its coordinator"
    );
    let not_open = [ErrorCode::INVALID_TXN_STATE];
    assert_eq!(send(&world, std::slice::from_ref(&forged), false), not_open);
    assert_eq!(
        send(&world, &[marker(false, 0, &[1])], false),
        not_open,
        "of an unknown producer"
    );
}

#[test]
fn partitions_that_refuse_a_marker_are_refused_alone() {
    let world = World::new();
    world.move_away("t", 2, FOLLOWER, 1);
    let codes = send(&world, &[marker(true, 3, &[0, 9, 2, 1])], true);
    let expected = [
        NONE,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode::NOT_LEADER_OR_FOLLOWER,
        NONE,
    ];
    assert_eq!(codes, expected);
    assert_eq!((world.markers("t", 0).len(), world.markers("t", 1).len()), (1, 1));
}

#[test]
fn marker_of_an_earlier_coordinator_is_refused() {
    let world = World::new();
    assert_eq!(world.write("t", 0, PRODUCER, 0), NONE);
    assert_eq!(send(&world, &[marker(true, 5, &[0])], true), [NONE]);
    assert_eq!(world.write("t", 0, PRODUCER, 1), NONE);
    let fenced = ErrorCode::TRANSACTION_COORDINATOR_FENCED;
    assert_eq!(send(&world, &[marker(true, 4, &[0])], true), [fenced]);
    assert!(!world.is_stable("t", 0), "the next transaction is open");
}

#[test]
fn marker_of_version_2_needs_a_raised_epoch() {
    let world = World::new();
    assert_eq!(world.write("t", 0, PRODUCER, 0), NONE);
    let of_version_2 = |producer_epoch| WritableTxnMarker {
        producer_epoch,
        transaction_version: 2,
        ..marker(true, 0, &[0])
    };
    let fenced = ErrorCode::INVALID_PRODUCER_EPOCH;
    assert_eq!(send(&world, &[of_version_2(0)], true), [fenced]);
    assert_eq!(send(&world, &[of_version_2(1)], true), [NONE]);
    assert_eq!(
        send(&world, &[of_version_2(1)], true),
        [NONE],
        "the coordinator asks again"
    );
}

#[test]
fn request_is_answered_when_all_its_markers_are_replicated() {
    let world = World::replicated(&["t"]);
    let mut waiting = world.try_markers(&[marker(true, 3, &[0, 1, 9])], true).later();
    world.replicate("t", 0);
    assert_eq!(waiting.answer(&world), None);
    world.replicate("t", 1);
    let codes = marker_codes(&waiting.answer(&world).unwrap());
    assert_eq!(codes, [NONE, NONE, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION]);
    for index in [0, 1] {
        assert_eq!(world.partition("t", index).waiters().len(WaitKind::Produce), 0);
    }
}

#[test]
fn request_that_is_due_has_timed_out_for_markers_that_are_not_replicated() {
    let world = World::replicated(&["t"]);
    let waiting = world.try_markers(&[marker(true, 3, &[0, 1])], true).later();
    world.replicate("t", 1);
    let codes = marker_codes(&waiting.due(&world));
    assert_eq!(codes, [ErrorCode::REQUEST_TIMED_OUT, NONE]);
}

#[test]
fn marker_whose_partition_gets_another_leader_while_it_waits_is_refused() {
    let world = World::replicated(&["t"]);
    let mut waiting = world.try_markers(&[marker(true, 3, &[0])], true).later();
    world.move_away("t", 0, FOLLOWER, 1);
    let codes = marker_codes(&waiting.answer(&world).unwrap());
    assert_eq!(codes, [ErrorCode::NOT_LEADER_OR_FOLLOWER]);
}

#[test]
fn large_request_is_left_to_another_thread_and_a_lying_one_closes_the_connection() {
    let world = World::new();
    let body = markers_body(&[marker(true, 0, &vec![0; 2000])]);
    let api = (ApiTable::WRITE_TXN_MARKERS, 2);
    let (served, _) = world.try_serve(api.0, api.1, &body, true, Executor::Loop);
    assert!(matches!(
        served,
        Ok(Served::Elsewhere(Handover::Serve(Thread::Request)))
    ));
    assert!(world.markers("t", 0).is_empty());
    for cut in 0..100 {
        let (served, out) = world.try_serve(api.0, api.1, &body[..cut], true, Executor::Loop);
        assert!(served.is_err() && out.is_empty(), "{cut}");
    }
}
