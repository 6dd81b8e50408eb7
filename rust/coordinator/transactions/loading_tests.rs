//! Loads of logs with all kinds of records.

use super::super::testing::{Producer, World, home_of};
use super::super::{STATE_TOPIC, Transaction, TransactionState, load};
use base::error::ErrorCode;
use broker::Marker;
use broker::testing::START_MS;

fn value(producer_id: i64, state: TransactionState) -> Transaction {
    Transaction {
        producer_epoch: 4,
        state,
        partitions: [("t".into(), 0), ("t".into(), 2)].into(),
        start_ms: START_MS,
        ..Transaction::new(producer_id, 60_000, START_MS)
    }
}

const EMPTY: TransactionState = TransactionState::Empty;

#[test]
fn last_record_of_an_id_counts_and_a_tombstone_removes_it() {
    let world = World::new();
    let ongoing = value(7, TransactionState::Ongoing);
    world.append_record("a", Some(&Transaction::new(7, 60_000, START_MS)));
    world.append_record("c", Some(&ongoing));
    world.append_record("a", Some(&ongoing));
    world.append_record("c", None);
    world.append_record("e", None);
    world.append_record("g", None);
    world.append_record("g", Some(&ongoing));
    let loaded = world.begin(home_of("a"));
    assert_eq!((loaded.count, loaded.skipped, loaded.skip_reason.as_str()), (2, 0, ""));
    assert_eq!(world.describe("a"), Ok(ongoing.clone()));
    assert_eq!(world.describe("g"), Ok(ongoing));
    for id in ["c", "e"] {
        assert_eq!(world.describe(id), Err(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND), "{id}");
    }
}

// The transactions are the fold of the log
#[test]
fn transaction_is_the_same_before_and_after_a_load() {
    let world = World::new();
    world.move_away("t", 3, 2, 1);
    let open = world.open("a", &[("t", 0), ("t", 1)]);
    let ended = world.open("c", &[("t", 0)]);
    world.end_v2("c", ended, true).unwrap();
    let ending = world.open("e", &[("t", 3)]);
    world.end_v2("e", ending, false).unwrap();
    world.init("g");
    let ids = ["a", "c", "e", "g"];
    let before = ids.map(|id| Transaction {
        last_producer_epoch: -1, // no record has it
        ..world.describe(id).unwrap()
    });
    world.lead(STATE_TOPIC, home_of("a"), 1);
    world.begin(home_of("a"));
    assert_eq!(ids.map(|id| world.describe(id).unwrap()), before);
    assert_eq!(world.end("a", open, true), ErrorCode::NONE, "it goes on");
}

#[test]
fn malformed_records_and_those_of_unknown_versions_are_skipped_and_counted() {
    let world = World::new();
    let index = home_of("a");
    let (mut key, mut good) = (Vec::new(), Vec::new());
    super::super::records::write_key(&mut key, "c");
    super::super::records::write_value(&mut good, &value(7, TransactionState::Ongoing), 2);
    let (mut later_version, mut unknown_state) = (good.clone(), good.clone());
    later_version[1] = 2;
    unknown_state[16] = 9;
    world.append_raw(index, &[0, 1, 0, 1, b'x'], Some(&good));
    world.append_raw(index, &[0], Some(&good));
    world.append_raw(index, &[0, 0, 0, 9, b'x'], None);
    world.append_raw(index, &key, Some(&later_version));
    world.append_raw(index, &key, Some(&unknown_state));
    world.append_raw(index, &key, Some(&good[..20]));
    world.append_raw(index, &key, Some(b""));
    world.append_record("a", Some(&value(8, EMPTY)));
    let loaded = world.begin(index);
    assert_eq!((loaded.count, loaded.skipped), (1, 7));
    assert_eq!(loaded.skip_reason, "offset 0: a key of an unknown version");
    assert_eq!(world.describe("a").unwrap().producer_id, 8);
}

#[test]
fn malformed_record_leaves_the_value_before_it() {
    let world = World::new();
    world.append_record("a", Some(&value(7, TransactionState::Ongoing)));
    let mut key = Vec::new();
    super::super::records::write_key(&mut key, "a");
    world.append_raw(home_of("a"), &key, Some(&[0, 1, 2]));
    assert_eq!(world.begin(home_of("a")).skipped, 1);
    assert_eq!(world.state("a"), TransactionState::Ongoing);
}

#[test]
fn control_batches_are_no_records() {
    let world = World::new();
    let marker = Marker {
        producer_id: 7,
        producer_epoch: 0,
        is_commit: true,
        coordinator_epoch: 0,
        transaction_version: 0,
    };
    let partition = world.partition(STATE_TOPIC, 0);
    partition.append_marker(&marker, START_MS).unwrap();
    let loaded = world.begin(0);
    assert_eq!((loaded.count, loaded.skipped), (0, 0));
}

#[test]
fn load_of_a_partition_that_was_closed_or_begun_anew_has_no_result() {
    let world = World::new();
    let homes = &world.transactions().homes;
    let before = homes.begin(&world.broker, 0).unwrap();
    let number = homes.begin(&world.broker, 0).unwrap();
    let loaded = |number| load(&world.broker, world.transactions(), 0, number).unwrap();
    assert!(loaded(before).is_none());
    assert!(loaded(number).is_some());
    world.here().activate_transactions(0, before);
    assert_eq!(world.describe("b"), Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
    homes.close(0);
    assert!(loaded(number).is_none());
    world.move_away(STATE_TOPIC, 0, 2, 1);
    assert!(homes.begin(&world.broker, 0).is_err());
}

#[test]
fn what_was_loaded_is_served_and_ended_once_it_is_on_all_replicas() {
    let world = World::replicated(&[STATE_TOPIC]);
    let index = home_of("a");
    world.append_record("a", Some(&value(7, TransactionState::Ongoing)));
    world.append_record("c", Some(&value(8, TransactionState::PrepareCommit)));
    assert_eq!(world.begin(index).count, 2, "the other replica has neither");
    world.work();
    let producer = Producer { id: 7, epoch: 4 };
    assert_eq!(
        world.add("a", producer, &[("t", 0)]),
        [ErrorCode::COORDINATOR_LOAD_IN_PROGRESS],
        "the partition is in the transaction of this log alone"
    );
    assert_eq!(world.markers("t", 0), [], "nor is the outcome known elsewhere");
    world.replicate(STATE_TOPIC, index);
    world.work();
    assert_eq!(world.add("a", producer, &[("t", 0)]), [ErrorCode::NONE]);
    let markers = world.markers("t", 0);
    assert!(
        matches!(&markers[..], [marker] if marker.producer_id == 8 && marker.is_commit),
        "{markers:?}"
    );
}
