//! Questions to another broker.

use std::sync::Arc;

use super::super::testing::{Sent, World, answer_added, waiter};
use super::*;
use broker::testing::Calls;

const OTHER: i32 = 2;
const NONE: ErrorCode = ErrorCode::NONE;
const LOST: ErrorCode = ErrorCode::NETWORK_EXCEPTION;

fn question(transactional_id: &str, partitions: &[i32], is_added: bool) -> VerificationRequest {
    VerificationRequest {
        transactional_id: transactional_id.into(),
        producer_id: 7,
        producer_epoch: 3,
        partitions: partitions.iter().map(|index| ("t".into(), *index)).collect(),
        is_added,
    }
}

fn ask(world: &World, transactional_id: &str, partitions: &[i32]) -> Box<dyn Verifying> {
    let batches = &world.transactions().batches;
    batches.ask(&world.broker, OTHER, question(transactional_id, partitions, true))
}

fn poll(world: &World, asked: &mut Box<dyn Verifying>) -> Option<Vec<ErrorCode>> {
    world.attempt(false, |attempt| asked.poll(attempt))
}

/// The transactional ids and partitions of a request.
fn rows(sent: &Sent) -> Vec<(String, Vec<i32>)> {
    let request = AddPartitionsToTxnRequest::decode(5, &sent.ask.body).unwrap();
    let row = |one: &AddPartitionsToTxnTransaction<'_>| {
        let indexes = one.topics.iter().flat_map(|topic| topic.partitions.clone());
        (one.transactional_id.to_owned(), indexes.collect())
    };
    request.transactions.iter().map(row).collect()
}

fn row(id: &str, partitions: &[i32]) -> (String, Vec<i32>) {
    (id.to_owned(), partitions.to_vec())
}

#[test]
fn question_is_sent_at_once_and_answered_by_its_rows() {
    let world = World::new();
    let mut asked = ask(&world, "a", &[2, 0, 2]);
    let sent = world.peers.take_one();
    assert_eq!((sent.channel, sent.node_id), (Channel::Transactions, OTHER));
    assert_eq!(
        (sent.ask.api_key, sent.ask.api_version),
        (ApiTable::ADD_PARTITIONS_TO_TXN, 5)
    );
    assert_eq!(rows(&sent), [row("a", &[2, 0])], "each partition once");
    let request = AddPartitionsToTxnRequest::decode(5, &sent.ask.body).unwrap();
    let one = &request.transactions[0];
    assert_eq!((one.producer_id, one.producer_epoch, one.verify_only), (7, 3, false));
    assert_eq!(poll(&world, &mut asked), None);
    let abortable = ErrorCode::TRANSACTION_ABORTABLE;
    let answer = answer_added(NONE, "t", &[("a", &[(0, NONE), (2, abortable)])]);
    sent.answer(&answer);
    assert_eq!(poll(&world, &mut asked), Some(vec![abortable, NONE, abortable]));
}

#[test]
fn question_that_adds_nothing_only_verifies() {
    let world = World::new();
    let batches = &world.transactions().batches;
    let _asked = batches.ask(&world.broker, OTHER, question("a", &[0], false));
    let sent = world.peers.take_one();
    let request = AddPartitionsToTxnRequest::decode(5, &sent.ask.body).unwrap();
    assert!(request.transactions[0].verify_only);
}

#[test]
fn questions_that_come_while_a_request_is_under_way_go_together_in_the_next() {
    let world = World::new();
    let mut first = ask(&world, "a", &[0]);
    let sent = world.peers.take_one();
    let mut second = ask(&world, "b", &[1]);
    let mut third = ask(&world, "c", &[2]);
    assert!(world.peers.take().is_empty());
    sent.answer(&answer_added(NONE, "t", &[("a", &[(0, NONE)])]));
    assert_eq!(poll(&world, &mut first), Some(vec![NONE]));
    let next = world.peers.take_one();
    assert_eq!(rows(&next), [row("b", &[1]), row("c", &[2])]);
    let fenced = ErrorCode::PRODUCER_FENCED;
    next.answer(&answer_added(NONE, "t", &[("c", &[(2, NONE)]), ("b", &[(1, fenced)])]));
    assert_eq!(poll(&world, &mut second), Some(vec![fenced]));
    assert_eq!(poll(&world, &mut third), Some(vec![NONE]));
    assert!(world.peers.take().is_empty());
}

#[test]
fn request_has_no_more_rows_than_the_other_broker_reads() {
    let world = World::new();
    let _first = ask(&world, "a", &[0]);
    let sent = world.peers.take_one();
    let batches = &world.transactions().batches;
    let _asked: Vec<_> = ["b", "c"]
        .into_iter()
        .map(|id| {
            let own_topics = (0..MAX_ROWS).map(|at| (format!("t{at}").into(), 0));
            let question = VerificationRequest {
                partitions: own_topics.collect(),
                ..question(id, &[], true)
            };
            batches.ask(&world.broker, OTHER, question)
        })
        .collect();
    sent.answer(&answer_added(NONE, "t", &[("a", &[(0, NONE)])]));
    for id in ["b", "c"] {
        let sent = world.peers.take_one();
        let request = AddPartitionsToTxnRequest::decode(5, &sent.ask.body).unwrap();
        let ids: Vec<_> = request.transactions.iter().map(|one| one.transactional_id).collect();
        assert_eq!(ids, [id]);
        sent.answer(&answer_added(ErrorCode::NOT_COORDINATOR, "t", &[]));
    }
}

#[test]
fn requests_to_different_brokers_do_not_wait_for_each_other() {
    let world = World::new();
    let batches = &world.transactions().batches;
    let _asked = [2, 3].map(|node_id| batches.ask(&world.broker, node_id, question("a", &[0], true)));
    let nodes: Vec<i32> = world.peers.take().iter().map(|sent| sent.node_id).collect();
    assert_eq!(nodes, [2, 3]);
}

#[test]
fn id_is_in_a_request_once_and_the_next_question_about_it_goes_in_the_next_request() {
    let world = World::new();
    let _under_way = ask(&world, "x", &[0]);
    let sent = world.peers.take_one();
    let mut asked = [ask(&world, "a", &[0]), ask(&world, "a", &[1]), ask(&world, "b", &[0])];
    sent.lose();
    let next = world.peers.take_one();
    assert_eq!(rows(&next), [row("a", &[0]), row("b", &[0])]);
    next.answer(&answer_added(NONE, "t", &[("a", &[(0, NONE)]), ("b", &[(0, NONE)])]));
    assert_eq!(poll(&world, &mut asked[0]), Some(vec![NONE]));
    assert_eq!(poll(&world, &mut asked[1]), None);
    let last = world.peers.take_one();
    assert_eq!(rows(&last), [row("a", &[1])]);
    last.answer(&answer_added(NONE, "t", &[("a", &[(1, ErrorCode::PRODUCER_FENCED)])]));
    assert_eq!(poll(&world, &mut asked[1]), Some(vec![ErrorCode::PRODUCER_FENCED]));
}

#[test]
fn request_has_1000_transactions_at_most() {
    let world = World::new();
    let _under_way = ask(&world, "x", &[0]);
    let sent = world.peers.take_one();
    let _asked: Vec<_> = (0..1001).map(|id| ask(&world, &id.to_string(), &[0])).collect();
    sent.lose();
    let next = world.peers.take_one();
    assert_eq!(rows(&next).len(), 1000);
    next.lose();
    assert_eq!(rows(&world.peers.take_one()), [row("1000", &[0])]);
}

#[test]
fn lost_request_answers_network_exception_and_the_next_is_sent() {
    let world = World::new();
    let mut first = ask(&world, "a", &[0, 1]);
    let sent = world.peers.take_one();
    let mut second = ask(&world, "b", &[0]);
    sent.lose();
    assert_eq!(poll(&world, &mut first), Some(vec![LOST; 2]));
    assert_eq!(poll(&world, &mut second), None);
    world.peers.take_one().lose();
    assert_eq!(poll(&world, &mut second), Some(vec![LOST]));
    let _third = ask(&world, "c", &[0]);
    assert_eq!(rows(&world.peers.take_one()), [row("c", &[0])]);
}

#[test]
fn wrong_answer_grants_no_partition() {
    let unknown = ErrorCode::UNKNOWN_SERVER_ERROR;
    let refused = ErrorCode::CLUSTER_AUTHORIZATION_FAILED;
    let cases: [(Vec<u8>, [ErrorCode; 2]); 5] = [
        (Vec::new(), [LOST; 2]),
        (vec![9; 40], [LOST; 2]),
        (answer_added(NONE, "t", &[("b", &[(0, NONE), (1, NONE)])]), [unknown; 2]),
        (answer_added(NONE, "t", &[("a", &[(1, NONE)])]), [unknown, NONE]),
        (answer_added(refused, "t", &[]), [refused; 2]),
    ];
    for (answer, expected) in cases {
        let world = World::new();
        let mut asked = ask(&world, "a", &[0, 1]);
        world.peers.take_one().answer(&answer);
        assert_eq!(poll(&world, &mut asked), Some(expected.to_vec()), "{answer:?}");
    }
}

#[test]
fn answer_wakes_the_waiter_and_a_due_question_is_answered_without_it() {
    let world = World::new();
    let mut asked = [ask(&world, "a", &[0]), ask(&world, "b", &[0]), ask(&world, "c", &[0])];
    let calls: [Arc<Calls>; 3] = Default::default();
    for (asked, calls) in asked.iter().zip(&calls) {
        asked.watch(&waiter(calls));
    }
    asked[1].forget(&waiter(&calls[1]));
    let due = world.attempt(true, |attempt| asked[2].poll(attempt));
    assert_eq!(due, Some(vec![LOST]));
    world
        .peers
        .take_one()
        .answer(&answer_added(NONE, "t", &[("a", &[(0, NONE)])]));
    world.peers.take_one().lose();
    let woken = calls.map(|calls| calls.0.lock().len());
    assert_eq!(woken, [1, 0, 1]);
    assert_eq!(poll(&world, &mut asked[0]), Some(vec![NONE]));
}

#[test]
fn addition_that_meets_the_markers_of_the_last_transaction_is_asked_again_with_growing_pauses() {
    let world = World::new();
    let mut asked = ask(&world, "a", &[0]);
    let concurrent = answer_added(NONE, "t", &[("a", &[(0, ErrorCode::CONCURRENT_TRANSACTIONS)])]);
    world.peers.take_one().answer(&concurrent);
    for pause_ms in [1, 2, 4, 8, 16, 32, 64, 128] {
        assert_eq!(poll(&world, &mut asked), None);
        let again = world.peers.take_one();
        assert_eq!(
            (again.pause.as_millis(), rows(&again)),
            (pause_ms, vec![row("a", &[0])])
        );
        again.answer(&concurrent);
    }
    assert_eq!(poll(&world, &mut asked), Some(vec![ErrorCode::CONCURRENT_TRANSACTIONS]));
    assert!(world.peers.take().is_empty());
}

#[test]
fn addition_that_is_asked_again_holds_up_no_other_question() {
    let world = World::new();
    let _under_way = ask(&world, "x", &[0]);
    let sent = world.peers.take_one();
    let mut asked = [ask(&world, "a", &[0]), ask(&world, "b", &[0])];
    sent.lose();
    let concurrent = ErrorCode::CONCURRENT_TRANSACTIONS;
    let answer = answer_added(NONE, "t", &[("a", &[(0, concurrent)]), ("b", &[(0, NONE)])]);
    world.peers.take_one().answer(&answer);
    assert_eq!(poll(&world, &mut asked[1]), Some(vec![NONE]));
    let again = world.peers.take_one();
    let mut next = ask(&world, "c", &[1]);
    let other = world.peers.take_one();
    assert_eq!((rows(&other), other.pause.is_zero()), (vec![row("c", &[1])], true));
    again.answer(&answer_added(NONE, "t", &[("a", &[(0, NONE)])]));
    assert_eq!(poll(&world, &mut asked[0]), Some(vec![NONE]));
    let _waits = ask(&world, "d", &[0]);
    assert!(world.peers.take().is_empty(), "one request is under way");
    other.lose();
    assert_eq!(poll(&world, &mut next), Some(vec![LOST]));
    assert_eq!(rows(&world.peers.take_one()), [row("d", &[0])]);
}

#[test]
fn addition_that_is_asked_again_in_vain_gets_the_error_of_the_last_answer() {
    let concurrent = answer_added(NONE, "t", &[("a", &[(0, ErrorCode::CONCURRENT_TRANSACTIONS)])]);
    for is_lost in [true, false] {
        let world = World::new();
        let mut asked = ask(&world, "a", &[0]);
        world.peers.take_one().answer(&concurrent);
        let again = world.peers.take_one();
        let expected = if is_lost {
            again.lose();
            LOST
        } else {
            again.answer(&answer_added(NONE, "t", &[("a", &[(0, ErrorCode::PRODUCER_FENCED)])]));
            ErrorCode::PRODUCER_FENCED
        };
        assert_eq!(poll(&world, &mut asked), Some(vec![expected]));
        assert!(world.peers.take().is_empty());
    }
}

#[test]
fn verification_that_meets_the_markers_of_the_last_transaction_is_answered_at_once() {
    let world = World::new();
    let batches = &world.transactions().batches;
    let mut asked = batches.ask(&world.broker, OTHER, question("a", &[0], false));
    let concurrent = ErrorCode::CONCURRENT_TRANSACTIONS;
    world
        .peers
        .take_one()
        .answer(&answer_added(NONE, "t", &[("a", &[(0, concurrent)])]));
    assert_eq!(poll(&world, &mut asked), Some(vec![concurrent]));
    assert!(world.peers.take().is_empty());
}
