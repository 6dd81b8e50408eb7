//! Timeouts of transactions, and ids that are forgotten.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::super::testing::{FIRST_PRODUCER_ID, World, claimed, home_of};
use super::super::{STATE_TOPIC, TransactionSettings, TransactionState};
use base::error::ErrorCode;
use broker::{WaitKind, Waiter, Wake};
use storage::LogConfig;

const TIMEOUT: Duration = Duration::from_mins(1);
/// The interval of looks for timed-out transactions.
const LOOK: Duration = Duration::from_secs(10);
const HOUR: Duration = Duration::from_hours(1);
const WEEK: Duration = Duration::from_hours(24 * 7);
const NEARLY_A_WEEK: Duration = Duration::from_hours(24 * 7 - 1);

#[test]
fn transaction_that_exceeds_its_timeout_is_aborted_and_its_producer_is_fenced() {
    let mut world = World::new();
    let producer = world.open("a", &[("t", 0)]);
    world.advance(TIMEOUT);
    assert_eq!(world.work(), world.now + LOOK);
    assert_eq!(
        world.state("a"),
        TransactionState::Ongoing,
        "the timeout is not exceeded"
    );
    world.advance(LOOK);
    world.work();
    assert_eq!(world.states("a")[2..], ["PrepareAbort", "CompleteAbort"]);
    let markers = world.markers("t", 0);
    assert_eq!(markers.len(), 1);
    assert_eq!(
        (markers[0].is_commit, markers[0].producer_epoch),
        (false, producer.epoch + 1)
    );
    assert!(world.is_stable("t", 0));
    for is_commit in [true, false] {
        assert_eq!(world.end("a", producer, is_commit), ErrorCode::PRODUCER_FENCED);
    }
    assert_eq!(world.add("a", producer, &[("t", 0)]), [ErrorCode::PRODUCER_FENCED]);
    assert_eq!(world.write("t", 0, producer, 1), ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(world.logged("transaction a exceeded its timeout and is aborted"), 1);
    assert_eq!(world.init("a").epoch, producer.epoch + 2);
}

#[test]
fn timed_out_transaction_is_looked_for_in_intervals_only() {
    let mut world = World::new();
    world.open("a", &[("t", 0)]);
    world.advance(TIMEOUT + Duration::from_secs(1));
    world.work();
    assert_eq!(world.state("a"), TransactionState::CompleteAbort);
    world.open("b", &[("t", 1)]);
    world.clock.advance(600_000); // the wall clock alone
    world.work();
    assert_eq!(world.state("b"), TransactionState::Ongoing);
    world.advance(LOOK);
    world.work();
    assert_eq!(world.state("b"), TransactionState::CompleteAbort);
}

#[test]
fn transaction_without_progress_in_other_states_never_times_out() {
    let mut world = World::new();
    world.init("a");
    let producer = world.open("b", &[("t", 0)]);
    world.end("b", producer, true);
    world.advance(TIMEOUT * 60);
    world.work();
    assert_eq!(world.states("a"), ["Empty"]);
    assert_eq!(world.states("b").last(), Some(&"CompleteCommit"));
}

#[test]
fn abort_of_a_timed_out_transaction_writes_its_markers_when_it_is_replicated() {
    let mut world = World::replicated(&[STATE_TOPIC]);
    let index = home_of("a");
    let mut asked = world.try_init("a", None).later();
    world.replicate(STATE_TOPIC, index);
    let producer = claimed(&asked.answer(&world).unwrap()).unwrap();
    let mut adding = world.try_add("a", producer, &[("t", 0)]).later();
    world.replicate(STATE_TOPIC, index);
    adding.answer(&world).unwrap();
    world.advance(TIMEOUT + LOOK);
    world.work();
    assert_eq!(world.states("a"), ["Empty", "Ongoing", "PrepareAbort"]);
    world.advance(LOOK);
    world.work();
    assert_eq!(world.states("a").len(), 3, "it is aborted once");
    assert!(world.markers("t", 0).is_empty());
    world.replicate(STATE_TOPIC, index);
    world.work();
    assert_eq!(world.markers("t", 0).len(), 1);
}

#[test]
fn commit_that_is_pending_when_its_transaction_times_out_counts() {
    let mut world = World::replicated(&[STATE_TOPIC]);
    let index = home_of("a");
    let mut asked = world.try_init("a", None).later();
    world.replicate(STATE_TOPIC, index);
    let producer = claimed(&asked.answer(&world).unwrap()).unwrap();
    let mut adding = world.try_add("a", producer, &[("t", 0)]).later();
    world.replicate(STATE_TOPIC, index);
    adding.answer(&world).unwrap();
    drop(world.try_end(3, "a", producer, true).later());
    world.advance(TIMEOUT + LOOK);
    world.work();
    assert_eq!(world.states("a").last(), Some(&"PrepareCommit"));
    world.replicate(STATE_TOPIC, index);
    world.work();
    assert!(world.markers("t", 0)[0].is_commit);
}

#[test]
fn abort_that_cannot_be_written_is_tried_again_at_the_next_look() {
    let mut world = World::replicated(&[STATE_TOPIC]);
    let index = home_of("a");
    world.set_in_sync(STATE_TOPIC, index, &[broker::testing::NODE]);
    world.open("a", &[("t", 0)]);
    let two = LogConfig::from_pairs([("min.insync.replicas", "2")]).unwrap();
    world.partition(STATE_TOPIC, index).log().set_config(two.into());
    world.advance(TIMEOUT + LOOK);
    world.work();
    assert_eq!(world.state("a"), TransactionState::Ongoing);
    assert_eq!(
        world.logged("transaction a exceeded its timeout and could not be aborted"),
        1
    );
    world
        .partition(STATE_TOPIC, index)
        .log()
        .set_config(LogConfig::default().into());
    world.advance(LOOK);
    world.work();
    assert_eq!(world.state("a"), TransactionState::CompleteAbort);
}

#[test]
fn id_that_is_not_used_is_forgotten_and_gone_after_a_load() {
    let mut world = World::new();
    world.init("a");
    let ended = world.open("c", &[("t", 0)]);
    world.end("c", ended, true);
    world.advance(WEEK);
    let used = world.init("e");
    world.work();
    for id in ["a", "c"] {
        assert_eq!(world.describe(id), Err(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND), "{id}");
        assert_eq!(world.states(id).last(), Some(&"tombstone"));
    }
    assert_eq!(world.producer("e"), used);
    assert_eq!(world.begin(home_of("a")).count, 1, "e is left");
    let again = world.init("a");
    assert_eq!((again.epoch, again.id), (0, FIRST_PRODUCER_ID + 3), "a new producer id");
}

#[test]
fn id_whose_transaction_is_open_or_being_ended_never_expires() {
    let world = World::new();
    world.move_away("t", 1, 2, 1);
    let ending = world.open("a", &[("t", 1)]);
    world.end("a", ending, true);
    world.open("c", &[("t", 0)]);
    world.transactions().configure(TransactionSettings {
        abort_interval: WEEK * 100, // no timeouts
        ..TransactionSettings::default()
    });
    world.work();
    world.clock.advance(i64::try_from(WEEK.as_millis()).unwrap() * 2);
    super::forget_expired(world.here(), 1);
    assert_eq!(world.state("a"), TransactionState::PrepareCommit);
    assert_eq!(world.state("c"), TransactionState::Ongoing);
    assert!(!world.states("a").contains(&"tombstone") && !world.states("c").contains(&"tombstone"));
}

#[test]
fn id_that_is_used_within_the_expiration_is_kept() {
    let mut world = World::new();
    world.init("a");
    for _ in 0..3 {
        world.advance(NEARLY_A_WEEK);
        world.work();
        world.init("a");
    }
    assert_eq!(world.states("a"), ["Empty"; 4]);
}

#[test]
fn request_for_an_id_that_is_being_forgotten_waits_and_creates_it_anew() {
    let mut world = World::replicated(&[STATE_TOPIC]);
    let index = home_of("a");
    let mut asked = world.try_init("a", None).later();
    world.replicate(STATE_TOPIC, index);
    let before = claimed(&asked.answer(&world).unwrap()).unwrap();
    world.advance(WEEK + HOUR);
    world.work();
    assert_eq!(world.states("a"), ["Empty", "tombstone"]);
    assert_eq!(world.producer("a"), before, "the tombstone is not replicated");
    let mut asked = world.try_init("a", None).later();
    world.replicate(STATE_TOPIC, index);
    assert_eq!(asked.answer(&world), None);
    world.replicate(STATE_TOPIC, index);
    let after = claimed(&asked.answer(&world).unwrap()).unwrap();
    assert_eq!((after.id, after.epoch), (before.id + 1, 0));
}

#[test]
fn many_ids_are_forgotten_in_several_batches() {
    let mut world = World::new();
    for number in 0..250 {
        world.init(&format!("copier-{number}"));
    }
    world.advance(WEEK + HOUR);
    world.work();
    assert_eq!(world.begin(0).count + world.begin(1).count, 0);
}

#[test]
fn long_ids_are_forgotten_though_their_tombstones_do_not_fit_in_one_batch() {
    let mut world = World::new();
    for number in 0..80 {
        world.init(&format!("{}{number}", "x".repeat(32_000)));
    }
    world.advance(WEEK + HOUR);
    world.work();
    assert_eq!(world.begin(0).count + world.begin(1).count, 0);
}

/// A producer that uses its id when another id of its partition has changed.
struct Producer {
    world: Weak<World>,
    id: String,
}

impl Wake for Producer {
    fn wake(&self, _operation: u64) {
        self.world.upgrade().unwrap().init(&self.id);
    }
}

#[test]
fn id_that_is_used_again_after_it_was_found_expired_is_kept() {
    let mut world = World::new();
    let long = |number| format!("{}{number}", "x".repeat(32_000)); // the third one is of a second batch
    let ids: Vec<String> = (10..).map(long).filter(|id| home_of(id) == 0).take(3).collect();
    for id in &ids {
        world.init(id);
    }
    world.advance(WEEK);
    let world = Arc::new(world);
    let producer = Producer {
        world: Arc::downgrade(&world),
        id: ids[2].clone(),
    };
    let waiter = Waiter {
        owner: Arc::new(producer),
        operation: 1,
    };
    world
        .partition(STATE_TOPIC, 0)
        .waiters()
        .watch(WaitKind::Produce, waiter);
    super::forget_expired(world.here(), i64::try_from(WEEK.as_millis()).unwrap());
    for (id, expected) in ids.iter().zip(["tombstone", "tombstone", "Empty"]) {
        assert_eq!(world.states(id), ["Empty", expected]);
    }
}
