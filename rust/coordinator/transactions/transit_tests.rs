//! Requests on their way: what they wait for, and how they end.

use std::time::Duration;

use super::super::table::Producer;
use super::super::testing::{FIRST_PRODUCER_ID, FOLLOWER, World, add_rows, answer_markers, claimed, home_of};
use super::super::{STATE_TOPIC, TransactionState};
use super::PATIENCE;
use base::error::ErrorCode;
use broker::Delayed;

const NONE: ErrorCode = ErrorCode::NONE;
const FIRST: Producer = Producer {
    id: FIRST_PRODUCER_ID,
    epoch: 0,
};

/// A world with two replicas of `__transaction_state` in which id `a` is initialised.
fn replicated() -> World {
    let world = World::replicated(&[STATE_TOPIC]);
    let mut asked = world.try_init("a", None).later();
    replicate(&world);
    assert_eq!(claimed(&asked.answer(&world).unwrap()), Ok(FIRST));
    world
}

fn replicate(world: &World) {
    world.replicate(STATE_TOPIC, home_of("a"));
}

/// A commit whose marker another broker has not answered.
fn ending() -> (World, Producer) {
    let world = World::new();
    world.move_away("t", 1, FOLLOWER, 1);
    let producer = world.open("a", &[("t", 1)]);
    assert_eq!(world.end("a", producer, true), NONE);
    world.work();
    (world, producer)
}

fn finish(world: &World) {
    let sent = world.peers.take_one();
    let body = answer_markers(&sent.ask.body, |_, _| NONE);
    sent.answer(&body);
    world.work();
}

#[test]
fn producer_begins_fills_and_ends_transactions() {
    let world = World::new();
    let producer = world.init("a");
    assert_eq!(producer, FIRST);
    for is_commit in [true, false] {
        assert_eq!(world.add("a", producer, &[("t", 0), ("t", 1)]), [NONE; 2]);
        assert_eq!(world.state("a"), TransactionState::Ongoing);
        assert_eq!(world.end("a", producer, is_commit), NONE);
        assert!(world.state("a").is_complete());
    }
    assert_eq!(world.init("a"), Producer { epoch: 1, ..producer });
    assert_eq!(world.init("b").id, FIRST_PRODUCER_ID + 1);
}

#[test]
fn request_is_answered_and_its_change_is_known_when_it_is_replicated() {
    let world = replicated();
    let mut adding = world.try_add("a", FIRST, &[("t", 0)]).later();
    assert_eq!(adding.answer(&world), None, "nothing has woken it");
    assert_eq!(world.state("a"), TransactionState::Empty, "the change is pending");
    replicate(&world);
    assert_eq!(add_rows(&adding.answer(&world).unwrap()), [NONE]);
    assert_eq!(world.state("a"), TransactionState::Ongoing);
}

#[test]
fn end_is_answered_when_the_decision_is_replicated_and_the_markers_follow() {
    let world = replicated();
    let mut adding = world.try_add("a", FIRST, &[("t", 0)]).later();
    replicate(&world);
    adding.answer(&world).unwrap();
    assert_eq!(world.write("t", 0, FIRST, 0), NONE);
    let mut ending = world.try_end(3, "a", FIRST, true).later();
    assert!(world.markers("t", 0).is_empty(), "the decision may be lost");
    replicate(&world);
    assert_eq!(claimed(&ending.answer(&world).unwrap()).err(), None);
    assert_eq!(world.markers("t", 0).len(), 1);
    assert_eq!(world.state("a"), TransactionState::PrepareCommit, "its end is pending");
    replicate(&world);
    assert_eq!(world.state("a"), TransactionState::CompleteCommit);
}

#[test]
fn request_for_an_id_with_a_pending_change_waits_and_goes_on_when_it_is_replicated() {
    let world = replicated();
    let mut first = world.try_init("a", None).later();
    let mut second = world.try_init("a", None).later();
    assert_eq!(
        world.states("a"),
        ["Empty"; 2],
        "the second request has written nothing"
    );
    replicate(&world);
    assert_eq!(claimed(&first.answer(&world).unwrap()).unwrap().epoch, 1);
    assert_eq!(second.answer(&world), None);
    assert_eq!(world.states("a"), ["Empty"; 3], "it has written now");
    replicate(&world);
    assert_eq!(claimed(&second.answer(&world).unwrap()).unwrap().epoch, 2);
}

#[test]
fn requests_for_other_ids_do_not_wait_for_a_pending_change() {
    let world = replicated();
    assert_eq!(home_of("c"), home_of("a"));
    let mut first = world.try_init("a", None).later();
    let mut other = world.try_init("c", None).later();
    assert_eq!(world.states("c"), ["Empty"]);
    replicate(&world);
    assert!(first.answer(&world).is_some() && other.answer(&world).is_some());
}

#[test]
fn request_that_is_not_replicated_in_time_gets_an_error_and_its_change_counts_later() {
    let world = replicated();
    let adding = world.try_add("a", FIRST, &[("t", 0)]).later();
    let answer = adding.due(&world);
    assert_eq!(add_rows(&answer), [ErrorCode::COORDINATOR_NOT_AVAILABLE]);
    assert_eq!(world.state("a"), TransactionState::Empty);
    replicate(&world);
    assert_eq!(world.state("a"), TransactionState::Ongoing);
    let again = world.try_add("a", FIRST, &[("t", 0)]).now();
    assert_eq!(add_rows(&again), [NONE], "the client asks again");
    assert_eq!(world.states("a"), ["Empty", "Ongoing"]);
}

#[test]
fn request_that_waits_when_another_broker_becomes_the_leader_gets_not_coordinator() {
    let world = replicated();
    let mut adding = world.try_add("a", FIRST, &[("t", 0)]).later();
    world.move_away(STATE_TOPIC, home_of("a"), FOLLOWER, 1);
    let answer = adding.answer(&world).unwrap();
    assert_eq!(add_rows(&answer), [ErrorCode::NOT_COORDINATOR]);
    assert_eq!(world.describe("a"), Err(ErrorCode::NOT_COORDINATOR));
}

#[test]
fn request_after_a_change_of_the_leader_epoch_writes_nothing_before_the_next_load() {
    let world = World::new();
    let producer = world.init("a");
    let index = home_of("a");
    world.lead(STATE_TOPIC, index, 2); // back, but another broker may have written meanwhile
    assert_eq!(world.add("a", producer, &[("t", 0)]), [ErrorCode::NOT_COORDINATOR]);
    assert_eq!(world.states("a"), ["Empty"]);
    world.begin(index);
    assert_eq!(world.add("a", producer, &[("t", 0)]), [NONE]);
}

#[test]
fn request_while_the_partition_loads_or_without_it_or_on_a_stopping_broker_is_refused() {
    let world = World::new();
    let homes = &world.transactions().homes;
    let index = home_of("a");
    let init = || claimed(&world.try_init("a", None).now());
    let number = homes.begin(&world.broker, index).unwrap();
    assert_eq!(init(), Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
    homes.activate(index, number);
    assert!(init().is_ok());
    homes.close(index);
    assert_eq!(init(), Err(ErrorCode::NOT_COORDINATOR));
    world.publish_leader(STATE_TOPIC, index, FOLLOWER);
    assert_eq!(init(), Err(ErrorCode::NOT_COORDINATOR));
    world.transactions().stop();
    assert_eq!(init(), Err(ErrorCode::COORDINATOR_NOT_AVAILABLE));
}

#[test]
fn request_that_meets_the_markers_of_the_last_transaction_waits_for_them() {
    let (world, producer) = ending();
    let mut adding = world.try_add("a", producer, &[("t", 0)]).later();
    let mut beginning = world.try_init("b", None).now(); // another id
    assert!(claimed(&std::mem::take(&mut beginning)).is_ok());
    assert_eq!(adding.answer(&world), None);
    finish(&world);
    assert_eq!(add_rows(&adding.answer(&world).unwrap()), [NONE]);
    assert_eq!(world.state("a"), TransactionState::Ongoing);
}

#[test]
fn request_that_waits_for_markers_in_vain_gets_concurrent_transactions() {
    let (world, producer) = ending();
    let adding = world.try_add("a", producer, &[("t", 0)]).later();
    let answer = adding.due(&world);
    assert_eq!(add_rows(&answer), [ErrorCode::CONCURRENT_TRANSACTIONS]);
    assert_eq!(world.states("a").len(), 3, "it has written nothing");
    assert_eq!(PATIENCE, Duration::from_secs(2));
}

#[test]
fn new_producer_aborts_the_open_transaction_and_gets_the_epoch_after_the_abort() {
    let world = World::new();
    let producer = world.open("a", &[("t", 0)]);
    let next = world.init("a");
    assert_eq!((next.id, next.epoch), (producer.id, producer.epoch + 2));
    let markers = world.markers("t", 0);
    assert_eq!((markers.len(), markers[0].is_commit), (1, false));
    assert_eq!(
        markers[0].producer_epoch,
        producer.epoch + 1,
        "the producer is fenced there"
    );
    let states = ["Empty", "Ongoing", "PrepareAbort", "CompleteAbort", "Empty"];
    assert_eq!(world.states("a"), states);
    assert_eq!(world.write("t", 0, producer, 1), ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(world.end("a", producer, true), ErrorCode::PRODUCER_FENCED);
}

#[test]
fn new_producer_waits_for_the_abort_and_its_replication() {
    let world = replicated();
    let mut adding = world.try_add("a", FIRST, &[("t", 0)]).later();
    replicate(&world);
    adding.answer(&world).unwrap();
    let mut asked = world.try_init("a", None).later();
    for states in [4, 5] {
        replicate(&world);
        assert_eq!(asked.answer(&world), None);
        assert_eq!(world.states("a").len(), states);
    }
    replicate(&world);
    assert_eq!(claimed(&asked.answer(&world).unwrap()).unwrap().epoch, 2);
    assert_eq!(
        world.states("a"),
        ["Empty", "Ongoing", "PrepareAbort", "CompleteAbort", "Empty"]
    );
}

#[test]
fn append_that_the_disk_refuses_changes_nothing() {
    let world = World::new();
    let producer = world.init("a");
    world.faults.arm("write:.log", 1, ::io::Fault::InputOutput);
    assert_eq!(world.add("a", producer, &[("t", 0)]), [ErrorCode::NOT_COORDINATOR]);
    let home = world.transactions().homes.of(home_of("a")).unwrap();
    assert_eq!(home.lock().get("a").unwrap().state, TransactionState::Empty);
    assert!(!home.lock().has_pending());
}

#[test]
fn dropped_request_leaves_no_waiter() {
    let world = replicated();
    let calls = std::sync::Arc::default();
    let waiter = super::super::testing::waiter(&calls);
    let mut transit = super::Transit::new(&world.coordinators, Nobody, world.now, true);
    world.try_init("a", None).later();
    assert!(transit.run(&world.broker, 0, false).is_none());
    let partition = world.partition(STATE_TOPIC, home_of("a"));
    let before = partition.waiters().len(broker::WaitKind::Produce);
    transit.watch(&waiter);
    transit.forget(&waiter);
    assert_eq!(partition.waiters().len(broker::WaitKind::Produce), before);
    let delayed = super::DelayedTransit {
        transit,
        encode: |_: &Nobody, _, _: &mut Vec<u8>| (),
    };
    assert_eq!(delayed.deadline(), world.now + PATIENCE);
}

/// Asks for nothing.
struct Nobody;

impl super::Question for Nobody {
    fn transactional_id(&self) -> &'static str {
        "a"
    }

    fn decide(&mut self, _: &broker::Broker, _: Option<&super::Transaction>, _: i64) -> Result<super::Step, ErrorCode> {
        Ok(super::Step::Nothing)
    }
}
