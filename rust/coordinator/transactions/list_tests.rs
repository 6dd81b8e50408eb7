//! Lists and descriptions.

use regex::Regex;

use super::super::testing::{FIRST_PRODUCER_ID, World, home_of};
use super::*;
use broker::testing::START_MS;

/// Ids of one partition in four states.
fn world() -> World {
    let world = World::new();
    world.move_away("t", 3, 2, 1);
    world.init("a");
    world.open("c", &[("t", 0)]);
    let ending = world.open("e", &[("t", 3)]);
    world.end("e", ending, true);
    let ended = world.open("g", &[("t", 1)]);
    world.end("g", ended, false);
    assert!(["c", "e", "g"].iter().all(|id| home_of(id) == home_of("a")));
    world
}

const fn everything() -> Selection {
    Selection {
        states: Vec::new(),
        producer_ids: Vec::new(),
        min_duration_ms: -1,
        pattern: None,
    }
}

fn ids(world: &World, selection: &Selection) -> String {
    let listed = list(world.here(), home_of("a"), selection, START_MS + 1000);
    listed.into_iter().map(|one| one.transactional_id).collect()
}

#[test]
fn transactions_are_listed_in_order_with_their_states() {
    let world = world();
    let listed = list(world.here(), home_of("a"), &everything(), START_MS);
    let rows: Vec<_> = listed
        .iter()
        .map(|one| (one.transactional_id.as_str(), one.producer_id, one.state))
        .collect();
    let expected = [
        ("a", FIRST_PRODUCER_ID, TransactionState::Empty),
        ("c", FIRST_PRODUCER_ID + 1, TransactionState::Ongoing),
        ("e", FIRST_PRODUCER_ID + 2, TransactionState::PrepareCommit),
        ("g", FIRST_PRODUCER_ID + 3, TransactionState::CompleteAbort),
    ];
    assert_eq!(rows, expected);
    assert!(list(world.here(), 1 - home_of("a"), &everything(), START_MS).is_empty());
}

#[test]
fn filters_of_a_list_must_all_take_a_transaction() {
    let world = world();
    let of_states = |states: &[&str]| Selection {
        states: states.iter().map(|state| (*state).to_owned()).collect(),
        ..everything()
    };
    assert_eq!(ids(&world, &of_states(&["Ongoing", "PrepareCommit"])), "ce");
    assert_eq!(ids(&world, &of_states(&["ongoing"])), "", "as in Kafka");
    let of_producers = |producer_ids: &[i64]| Selection {
        producer_ids: producer_ids.to_vec(),
        ..everything()
    };
    assert_eq!(
        ids(&world, &of_producers(&[FIRST_PRODUCER_ID, FIRST_PRODUCER_ID + 3])),
        "ag"
    );
    assert_eq!(ids(&world, &of_producers(&[1])), "");
    let both = Selection {
        producer_ids: vec![FIRST_PRODUCER_ID + 1],
        ..of_states(&["Empty"])
    };
    assert_eq!(ids(&world, &both), "");
    let like = |pattern| Selection {
        pattern: Some(Regex::new(pattern).unwrap()),
        ..everything()
    };
    assert_eq!(ids(&world, &like("^(?:[ac])$")), "ac");
}

#[test]
fn list_by_duration_has_transactions_that_are_open_for_longer() {
    let world = world();
    let longer_than = |min_duration_ms| Selection {
        min_duration_ms,
        ..everything()
    };
    assert_eq!(ids(&world, &longer_than(999)), "aceg");
    assert_eq!(
        ids(&world, &longer_than(1000)),
        "a",
        "it has begun no transaction: as in Kafka"
    );
    assert_eq!(ids(&world, &longer_than(-1)), "aceg");
}

#[test]
fn partition_that_loads_or_is_led_elsewhere_lists_nothing() {
    let world = world();
    let index = home_of("a");
    world.transactions().homes.begin(&world.broker, index).unwrap();
    assert_eq!(ids(&world, &everything()), "");
    world.begin(index);
    assert_eq!(ids(&world, &everything()), "aceg");
    world.move_away(super::super::STATE_TOPIC, index, 2, 1);
    assert_eq!(ids(&world, &everything()), "");
    world.transactions().homes.close(index);
    assert_eq!(ids(&world, &everything()), "");
}

#[test]
fn transaction_is_described_by_its_coordinator_alone() {
    let world = world();
    let now = world.describe("c").unwrap();
    assert_eq!(
        (now.state, now.start_ms, now.timeout_ms),
        (TransactionState::Ongoing, START_MS, 60_000)
    );
    assert_eq!(now.partitions, [("t".into(), 0)].into());
    assert_eq!(world.describe("i"), Err(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND));
    assert_eq!(world.describe(""), Err(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND));
    world.transactions().homes.close(home_of("a"));
    assert_eq!(world.describe("c"), Err(ErrorCode::NOT_COORDINATOR));
    world.publish_leader(super::super::STATE_TOPIC, home_of("a"), 2);
    assert_eq!(world.describe("c"), Err(ErrorCode::NOT_COORDINATOR));
}
