//! Questions of partitions, answered here or by another broker.

use std::sync::Arc;

use super::super::table::Producer as Known;
use super::super::testing::{FOLLOWER, World, answer_added, home_of, waiter};
use super::super::{Transaction, TransactionState};
use super::*;
use broker::testing::{Calls, START_MS};

const NONE: ErrorCode = ErrorCode::NONE;

fn asked(transactional_id: &str, producer: Known, is_added: bool) -> VerificationRequest {
    VerificationRequest {
        transactional_id: transactional_id.into(),
        producer_id: producer.id,
        producer_epoch: producer.epoch,
        partitions: vec![("t".into(), 0), ("t".into(), 1)],
        is_added,
    }
}

fn ask(world: &World, asked: VerificationRequest) -> Verified {
    world.broker.verify(asked, world.now, START_MS)
}

fn now(verified: Verified) -> Vec<ErrorCode> {
    match verified {
        Verified::Now(codes) => codes,
        Verified::Later(_) => panic!("the question waits"),
    }
}

fn later(verified: Verified) -> Box<dyn Verifying> {
    match verified {
        Verified::Now(codes) => panic!("the question is answered: {codes:?}"),
        Verified::Later(later) => later,
    }
}

#[test]
fn partitions_are_verified_here_without_a_write() {
    let world = World::new();
    let producer = world.open("a", &[("t", 1)]);
    let abortable = ErrorCode::TRANSACTION_ABORTABLE;
    assert_eq!(now(ask(&world, asked("a", producer, false))), [abortable, NONE]);
    let fenced = Known { epoch: 9, ..producer };
    assert_eq!(
        now(ask(&world, asked("a", fenced, false))),
        [ErrorCode::PRODUCER_FENCED; 2]
    );
    let mapping = ErrorCode::INVALID_PRODUCER_ID_MAPPING;
    assert_eq!(now(ask(&world, asked("none", producer, false))), [mapping; 2]);
    assert_eq!(world.states("a").len(), 2);
    assert!(world.peers.take().is_empty());
}

#[test]
fn partitions_are_added_here_when_the_question_says_so() {
    let world = World::new();
    let producer = world.init("a");
    assert_eq!(now(ask(&world, asked("a", producer, true))), [NONE; 2]);
    assert_eq!(world.state("a"), TransactionState::Ongoing);
    assert_eq!(world.describe("a").unwrap().partitions.len(), 2);
    let fenced = Known { epoch: 9, ..producer };
    assert_eq!(
        now(ask(&world, asked("a", fenced, true))),
        [ErrorCode::PRODUCER_FENCED; 2]
    );
}

#[test]
fn addition_is_answered_when_it_is_replicated() {
    let world = World::replicated(&[STATE_TOPIC]);
    let index = home_of("a");
    let value = Transaction {
        producer_epoch: 0,
        ..Transaction::new(7, 60_000, START_MS)
    };
    world.append_record("a", Some(&value));
    world.replicate(STATE_TOPIC, index);
    world.begin(index);
    let producer = Known { id: 7, epoch: 0 };
    let mut adding = later(ask(&world, asked("a", producer, true)));
    let calls: Arc<Calls> = Arc::default();
    adding.watch(&waiter(&calls));
    assert_eq!(world.attempt(false, |attempt| adding.poll(attempt)), None);
    world.replicate(STATE_TOPIC, index);
    assert_eq!(*calls.0.lock(), [1]);
    assert_eq!(
        world.attempt(false, |attempt| adding.poll(attempt)),
        Some(vec![NONE; 2])
    );
    let mut due = later(ask(&world, {
        let mut more = asked("a", producer, true);
        more.partitions.push(("t".into(), 2));
        more
    }));
    let unavailable = ErrorCode::COORDINATOR_NOT_AVAILABLE;
    assert_eq!(
        world.attempt(true, |attempt| due.poll(attempt)),
        Some(vec![unavailable; 3])
    );
    due.watch(&waiter(&calls));
    due.forget(&waiter(&calls));
}

#[test]
fn addition_that_meets_the_markers_of_the_last_transaction_waits_for_2_seconds_at_most() {
    let world = World::new();
    world.move_away("t", 3, FOLLOWER, 1);
    let producer = world.open("a", &[("t", 3)]);
    world.end("a", producer, true);
    let mut adding = later(ask(&world, asked("a", producer, true)));
    assert_eq!(world.attempt(false, |attempt| adding.poll(attempt)), None);
    assert_eq!(adding.deadline(), Some(world.now + super::super::transit::PATIENCE));
    let concurrent = ErrorCode::CONCURRENT_TRANSACTIONS;
    assert_eq!(
        world.attempt(true, |attempt| adding.poll(attempt)),
        Some(vec![concurrent; 2])
    );
}

#[test]
fn question_about_an_id_of_another_coordinator_goes_to_that_broker() {
    let world = World::new();
    let index = home_of("a");
    world.move_away(STATE_TOPIC, index, FOLLOWER, 1);
    world.transactions().homes.close(index);
    let mut asked = later(ask(&world, asked("a", Known { id: 7, epoch: 0 }, false)));
    let sent = world.peers.take_one();
    assert_eq!(sent.node_id, FOLLOWER);
    sent.answer(&answer_added(NONE, "t", &[("a", &[(0, NONE), (1, NONE)])]));
    assert_eq!(world.attempt(false, |attempt| asked.poll(attempt)), Some(vec![NONE; 2]));
}

#[test]
fn question_without_a_coordinator_is_refused() {
    let world = World::new();
    let index = home_of("a");
    let refused = |world: &World| now(ask(world, asked("a", Known { id: 7, epoch: 0 }, true)));
    world.transactions().homes.begin(&world.broker, index).unwrap();
    assert_eq!(refused(&world), [ErrorCode::COORDINATOR_LOAD_IN_PROGRESS; 2]);
    world.transactions().homes.close(index);
    assert_eq!(
        refused(&world),
        [ErrorCode::NOT_COORDINATOR; 2],
        "this broker is to load it"
    );
    world.publish_leader(STATE_TOPIC, index, -1);
    assert_eq!(refused(&world), [ErrorCode::NOT_COORDINATOR; 2]);
    world.broker.image().withdraw_topics(&[STATE_TOPIC.to_owned()]);
    assert_eq!(refused(&world), [ErrorCode::NOT_COORDINATOR; 2]);
    world.transactions().stop();
    assert_eq!(refused(&world), [ErrorCode::COORDINATOR_NOT_AVAILABLE; 2]);
    assert!(world.peers.take().is_empty());
}
