use std::collections::HashSet;
use std::time::Duration;

use super::*;
use crate::records::{NO_LEADER_EPOCH, OffsetValue};
use crate::testing::{BROKERS_RETENTION, TOPIC_ID, World, nobody};
use broker::testing::{NODE, give, lease, row};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// One batch; whether there was anything, and whether something stays.
fn remove_once(world: &World, removal: &Removal<'_>) -> (bool, bool) {
    let removed = remove(&world.fixture.broker, world.groups(), 0, removal, world.now_ms).unwrap();
    (removed.appended.is_some(), removed.is_kept)
}

fn asked(topics: Option<&[(String, Vec<i32>)]>) -> Removal<'_> {
    Removal::Asked { group_id: "g", topics }
}

fn left(world: &World) -> Vec<(String, i32)> {
    world.fetched("g").unwrap().into_keys().collect()
}

fn of_t(partitions: &[i32]) -> Vec<(String, i32)> {
    partitions.iter().map(|index| ("t".to_owned(), *index)).collect()
}

// KIP-496
#[test]
fn the_offsets_that_are_asked_for_go_for_good_and_the_others_stay() {
    let world = World::new();
    world.commit(nobody("g"), &[("t", 0, 5), ("t", 1, 6), ("t", 2, 7)]);
    world.commit(nobody("h"), &[("t", 0, 5)]);
    let topics = [("t".to_owned(), vec![1, 3]), ("none".to_owned(), vec![0])];
    assert_eq!(remove_once(&world, &asked(Some(&topics))), (true, false));
    assert_eq!(remove_once(&world, &asked(Some(&topics))), (false, false));
    assert_eq!(left(&world), of_t(&[0, 2]));
    assert_eq!(remove_once(&world, &asked(None)), (true, false));
    assert!(left(&world).is_empty());
    let loaded = world.load();
    assert_eq!(loaded.simple.iter().map(|id| &**id).collect::<Vec<_>>(), ["h"]);
}

#[test]
fn a_commit_under_way_is_deleted_too_and_a_later_one_is_not() {
    let world = World::with_replicas(&[NODE, 2]);
    let commit = |offset| drop(world.try_commit(nobody("g"), &[("t", 0, offset, "")], BROKERS_RETENTION));
    commit(5);
    assert_eq!(remove_once(&world, &asked(None)), (true, false));
    let home = world.groups().homes.of(0).unwrap();
    assert!(home.lock().has_offsets("g"));
    commit(6);
    let partition = world.fixture.partition("__consumer_offsets", 0);
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE])));
    assert_eq!(world.fetched("g").unwrap().into_values().collect::<Vec<_>>(), [6]);
    give(&partition, Some(lease(1, &[NODE], &[NODE])));
    world.load();
    assert_eq!(world.fetched("g").unwrap().into_values().collect::<Vec<_>>(), [6]);
}

#[test]
fn a_deletion_is_visible_when_it_is_replicated() {
    let world = World::with_replicas(&[NODE, 2]);
    let partition = world.fixture.partition("__consumer_offsets", 0);
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE])));
    world.commit(nobody("g"), &[("t", 0, 5)]);
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE, 2])));
    assert_eq!(remove_once(&world, &asked(None)), (true, false));
    assert_eq!(left(&world), of_t(&[0]));
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE])));
    assert!(left(&world).is_empty());
    assert!(!world.groups().homes.of(0).unwrap().lock().has_offsets("g"));
}

#[test]
fn many_tombstones_go_in_batches() {
    let mut world = World::new();
    world.fixture.broker.image.withdraw_topics(&["t".to_owned()]);
    world
        .fixture
        .broker
        .image
        .publish_topics(vec![row("t", TOPIC_ID, 20_000)]);
    for first in (0..20_000).step_by(500) {
        let rows: Vec<_> = (first..first + 500).map(|index| ("t", index, 1)).collect();
        world.commit(nobody("g"), &rows);
    }
    let mut batches = 1;
    while remove(&world.fixture.broker, world.groups(), 0, &asked(None), world.now_ms)
        .unwrap()
        .has_more
    {
        batches += 1;
        world.advance(Duration::from_millis(1));
    }
    assert!((2..10).contains(&batches), "{batches}");
    assert!(left(&world).is_empty());
}

#[test]
fn offsets_of_a_deleted_topic_go_in_every_group_and_those_of_the_next_of_its_name_stay() {
    let world = World::new();
    world.fixture.create_with("other", [4; 16], 1, &[], &[NODE]);
    world.commit(nobody("g"), &[("t", 0, 5), ("t", 1, 5), ("other", 0, 1)]);
    world.commit(nobody("h"), &[("t", 2, 5)]);
    world.fixture.broker.image.withdraw_topics(&["t".to_owned()]);
    world.fixture.broker.image.publish_topics(vec![row("t", [8; 16], 4)]);
    world.commit(nobody("g"), &[("t", 1, 1)]);
    assert_eq!(remove_once(&world, &Removal::Topic("t")), (true, false));
    assert_eq!(remove_once(&world, &Removal::Topic("t")), (false, false));
    assert_eq!(left(&world), [("other".to_owned(), 0), ("t".to_owned(), 1)]);
    assert!(world.fetched("h").unwrap().is_empty());
}

fn expired(subscribed: &HashSet<String>, now_ms: i64, since_ms: Option<i64>) -> Removal<'_> {
    Removal::Expired {
        group_id: "g",
        subscribed,
        now_ms,
        retention_ms: DAY_MS,
        since_ms,
    }
}

// KIP-211
#[test]
fn an_offset_expires_by_its_own_time_or_that_of_its_commit_or_that_of_its_group() {
    let world = World::new();
    let nothing = HashSet::new();
    let commit = |index, retention_ms| {
        drop(world.try_commit(nobody("g"), &[("t", index, 5, "")], retention_ms));
    };
    commit(0, BROKERS_RETENTION);
    commit(1, 10);
    assert_eq!(
        remove_once(&world, &expired(&nothing, world.now_ms + 9, None)),
        (false, true)
    );
    assert_eq!(
        remove_once(&world, &expired(&nothing, world.now_ms + 10, None)),
        (true, true)
    );
    assert_eq!(left(&world), of_t(&[0]));
    let later = world.now_ms + DAY_MS;
    assert_eq!(
        remove_once(&world, &expired(&nothing, later, Some(world.now_ms + 1))),
        (false, true)
    );
    assert_eq!(remove_once(&world, &expired(&nothing, later - 1, None)), (false, true));
    assert_eq!(remove_once(&world, &expired(&nothing, later, None)), (true, false));
    assert_eq!(remove_once(&world, &expired(&nothing, later, None)), (false, false));
}

#[test]
fn offsets_of_subscribed_topics_and_those_with_a_commit_under_way_do_not_expire() {
    let world = World::with_replicas(&[NODE, 2]);
    let partition = world.fixture.partition("__consumer_offsets", 0);
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE])));
    world.commit(nobody("g"), &[("t", 0, 5), ("t", 1, 5)]);
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE, 2])));
    let later = world.now_ms + DAY_MS;
    let subscribed = HashSet::from(["t".to_owned()]);
    assert_eq!(remove_once(&world, &expired(&subscribed, later, None)), (false, true));
    drop(world.try_commit(nobody("g"), &[("t", 1, 6, "")], BROKERS_RETENTION));
    let nothing = HashSet::new();
    assert_eq!(remove_once(&world, &expired(&nothing, later, None)), (true, true));
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE])));
    assert_eq!(left(&world), of_t(&[1]));
}

// KIP-98, KIP-211
#[test]
fn a_group_whose_only_offset_is_in_an_open_transaction_is_kept_until_its_end() {
    let world = World::new();
    let home = world.groups().homes.of(0).unwrap();
    let value = OffsetValue {
        offset: 5,
        leader_epoch: NO_LEADER_EPOCH,
        metadata: "",
        commit_ms: world.now_ms,
        expire_ms: NO_TIMESTAMP,
        topic_id: None,
    };
    let offset = CommittedOffset::new(&value, Offset(0));
    home.lock().put_unstable(&"g".into(), &"t".into(), 0, 7, offset);
    let (nothing, later) = (HashSet::new(), world.now_ms + DAY_MS);
    assert_eq!(remove_once(&world, &expired(&nothing, later, None)), (false, true));
    home.lock().end_transactions(7, false);
    assert_eq!(remove_once(&world, &expired(&nothing, later, None)), (false, false));
}

/// Ends the lease of a group and reports, as the control plane has it done.
fn release(world: &World, group: &str) {
    let home = world.groups().homes.of(0).unwrap();
    let mut shard = home.lock();
    shard.release(group);
    home.report(&mut shard, &world.fixture.broker);
}

#[test]
fn a_group_that_is_released_with_an_offset_is_reported_as_new() {
    let world = World::new();
    let home = world.groups().homes.of(0).unwrap();
    home.lock().grant("g", crate::GroupState::Empty, 1);
    world.commit(nobody("g"), &[("t", 0, 5)]);
    assert!(world.created().is_empty());
    release(&world, "g");
    assert_eq!(world.created(), ["g"]);
}

#[test]
fn a_group_that_was_reported_is_reported_again_when_its_lease_ends() {
    let world = World::new();
    world.commit(nobody("g"), &[("t", 0, 5)]);
    assert_eq!(world.created(), ["g"]);
    let home = world.groups().homes.of(0).unwrap();
    home.lock().grant("g", crate::GroupState::Empty, 1);
    release(&world, "g");
    assert_eq!(world.created(), ["g"]);
}

#[test]
fn a_group_of_a_partition_that_was_given_up_is_not_reported() {
    let world = World::with_replicas(&[NODE, 2]);
    drop(world.try_commit(nobody("g"), &[("t", 0, 5, "")], BROKERS_RETENTION));
    let home = world.groups().homes.of(0).unwrap();
    world.groups().homes.close(0);
    let partition = world.fixture.partition("__consumer_offsets", 0);
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE])));
    assert!(
        home.settled(&world.fixture.broker).has_offsets("g"),
        "the commit is durable"
    );
    assert!(world.created().is_empty());
}
