//! Markers in partitions of this broker, and in those of groups.

use super::super::table::Producer;
use super::super::testing::{FOLLOWER, NO_MEMBER, World, txn_commit_body};
use super::*;
use broker::testing::START_MS;
use protocol::ApiTable;

const PRODUCER: Producer = Producer { id: 7, epoch: 0 };

const MARKER: Marker = Marker {
    producer_id: 7,
    producer_epoch: 0,
    is_commit: true,
    coordinator_epoch: 3,
    transaction_version: 0,
};

fn append(world: &World, topic: &str, index: i32, marker: &Marker) -> Result<bool, ErrorCode> {
    append_marker(world.here(), topic, index, marker, MarkerBy::Coordinator, START_MS)
        .map(|(_, awaited)| awaited.is_nothing())
}

/// Commits offset 5 of `t`-0 in group `g` within an open transaction of id `a`.
fn commit_in_transaction(world: &World) -> Producer {
    let producer = world.init("a");
    assert_eq!(world.add_offsets("a", producer, "g"), ErrorCode::NONE);
    let body = txn_commit_body("a", "g", producer, NO_MEMBER, &[("t", 0, 5)]);
    world.serve(ApiTable::TXN_OFFSET_COMMIT, 3, &body, false).now();
    producer
}

#[test]
fn marker_ends_the_transaction_in_the_log() {
    let world = World::new();
    assert_eq!(world.write("t", 0, PRODUCER, 0), ErrorCode::NONE);
    assert_eq!(append(&world, "t", 0, &MARKER), Ok(true));
    assert!(world.is_stable("t", 0));
    assert_eq!(world.markers("t", 0)[0].coordinator_epoch, 3);
}

#[test]
fn marker_of_a_replicated_partition_has_something_to_wait_for() {
    let world = World::replicated(&["t"]);
    assert_eq!(append(&world, "t", 0, &MARKER), Ok(false));
}

#[test]
fn marker_for_a_partition_that_is_unknown_or_led_elsewhere_is_refused() {
    let world = World::new();
    let unknown = Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(append(&world, "t", 9, &MARKER), unknown);
    assert_eq!(append(&world, "gone", 0, &MARKER), unknown);
    world.move_away("t", 0, FOLLOWER, 1);
    assert_eq!(append(&world, "t", 0, &MARKER), Err(ErrorCode::NOT_LEADER_OR_FOLLOWER));
    assert!(world.markers("t", 0).is_empty());
}

#[test]
fn marker_of_an_earlier_coordinator_or_producer_epoch_is_refused() {
    let world = World::new();
    let producer = Producer { epoch: 4, ..PRODUCER };
    let marker = Marker {
        producer_epoch: 4,
        ..MARKER
    };
    assert_eq!(world.write("t", 0, producer, 0), ErrorCode::NONE);
    assert_eq!(append(&world, "t", 0, &MARKER), Err(ErrorCode::INVALID_PRODUCER_EPOCH));
    assert_eq!(append(&world, "t", 0, &marker), Ok(true));
    let zombie = Marker {
        coordinator_epoch: 2,
        ..marker
    };
    assert_eq!(
        append(&world, "t", 0, &zombie),
        Err(ErrorCode::TRANSACTION_COORDINATOR_FENCED)
    );
}

#[test]
fn marker_that_the_disk_refuses_takes_the_log_directory_offline() {
    let world = World::new();
    world.faults.arm("write:.log", 1, ::io::Fault::InputOutput);
    assert_eq!(append(&world, "t", 0, &MARKER), Err(ErrorCode::KAFKA_STORAGE_ERROR));
    assert!(world.partition("t", 0).leadership().is_offline());
}

#[test]
fn marker_for_groups_that_load_is_refused_since_the_load_may_have_read_past_it() {
    let world = World::new();
    commit_in_transaction(&world);
    let homes = &world.groups().homes;
    homes.begin(&world.broker, 0).unwrap();
    let marker = Marker {
        producer_id: world.producer("a").id,
        ..MARKER
    };
    assert_eq!(
        append(&world, OFFSETS_TOPIC, 0, &marker),
        Err(ErrorCode::NOT_LEADER_OR_FOLLOWER)
    );
    assert!(world.markers(OFFSETS_TOPIC, 0).is_empty());
    world.load_groups();
    assert_eq!(
        world.fetched("g", &[0], true),
        [(-1, ErrorCode::UNSTABLE_OFFSET_COMMIT)]
    );
    assert_eq!(append(&world, OFFSETS_TOPIC, 0, &marker), Ok(true));
    assert_eq!(world.fetched("g", &[0], true), [(5, ErrorCode::NONE)]);
}

#[test]
fn marker_for_groups_that_are_not_begun_is_read_by_their_load() {
    let world = World::new();
    let producer = commit_in_transaction(&world);
    world.groups().homes.close(0);
    let marker = Marker {
        producer_id: producer.id,
        ..MARKER
    };
    assert_eq!(append(&world, OFFSETS_TOPIC, 0, &marker), Ok(true));
    world.load_groups();
    assert_eq!(world.fetched("g", &[0], true), [(5, ErrorCode::NONE)]);
}

#[test]
fn marker_for_groups_of_an_earlier_leader_epoch_is_refused() {
    let world = World::new();
    commit_in_transaction(&world);
    world.lead(OFFSETS_TOPIC, 0, 1); // the groups are those of epoch 0
    assert_eq!(
        append(&world, OFFSETS_TOPIC, 0, &MARKER),
        Err(ErrorCode::NOT_LEADER_OR_FOLLOWER)
    );
    world.load_groups();
    assert_eq!(append(&world, OFFSETS_TOPIC, 0, &MARKER), Ok(true));
}

#[test]
fn marker_ends_the_offsets_of_its_producer_alone_when_it_is_replicated() {
    let world = World::replicated(&[OFFSETS_TOPIC]);
    let producer = world.init("a");
    world.add_offsets("a", producer, "g");
    let body = txn_commit_body("a", "g", producer, NO_MEMBER, &[("t", 0, 5)]);
    let mut asked = world.serve(ApiTable::TXN_OFFSET_COMMIT, 3, &body, false).later();
    world.replicate(OFFSETS_TOPIC, 0);
    asked.answer(&world).unwrap();
    let unstable = [(-1, ErrorCode::UNSTABLE_OFFSET_COMMIT)];
    assert_eq!(append(&world, OFFSETS_TOPIC, 0, &MARKER), Ok(false), "another producer");
    world.replicate(OFFSETS_TOPIC, 0);
    assert_eq!(world.fetched("g", &[0], true), unstable);
    let marker = Marker {
        producer_id: producer.id,
        ..MARKER
    };
    assert_eq!(append(&world, OFFSETS_TOPIC, 0, &marker), Ok(false));
    assert_eq!(world.fetched("g", &[0], true), unstable, "the marker may be lost");
    world.replicate(OFFSETS_TOPIC, 0);
    assert_eq!(world.fetched("g", &[0], true), [(5, ErrorCode::NONE)]);
}
