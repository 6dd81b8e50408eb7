//! Partitions of transactions as clients and brokers add them.

use super::super::table::Producer;
use super::super::testing::{FOLLOWER, World, add_body, add_rows, added_many, home_of};
use super::super::{STATE_TOPIC, Transaction, TransactionState};
use super::*;
use crate::OFFSETS_TOPIC;
use broker::TopicRow;
use broker::testing::START_MS;
use protocol::{Reader, Writer};

const NONE: ErrorCode = ErrorCode::NONE;
const UNKNOWN: ErrorCode = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
const CONCURRENT: ErrorCode = ErrorCode::CONCURRENT_TRANSACTIONS;

fn topic<'a>(name: &'a str, partitions: &[i32]) -> AddPartitionsToTxnTopic<'a> {
    let partitions = partitions.to_vec();
    AddPartitionsToTxnTopic { name, partitions }
}

fn asked<'a>(
    transactional_id: &'a str,
    producer: Producer,
    verify_only: bool,
    partitions: &[i32],
) -> AddPartitionsToTxnTransaction<'a> {
    AddPartitionsToTxnTransaction {
        transactional_id,
        producer_id: producer.id,
        producer_epoch: producer.epoch,
        verify_only,
        topics: vec![topic("t", partitions)],
    }
}

/// The codes of each transaction of a broker's request that is answered at once.
fn add_many(world: &World, asked: &[AddPartitionsToTxnTransaction<'_>]) -> Vec<(String, Vec<ErrorCode>)> {
    let (error, results) = added_many(&world.try_add_many(asked, true).now());
    assert_eq!(error, NONE);
    results
}

fn row(id: &str, codes: &[ErrorCode]) -> (String, Vec<ErrorCode>) {
    (id.to_owned(), codes.to_vec())
}

/// Id `a` with an ended transaction and id `c` with an open one; their producers.
fn replicated() -> (World, Producer, Producer) {
    let world = World::replicated(&[STATE_TOPIC]);
    let value = |producer_id, state| Transaction {
        producer_epoch: 0,
        state,
        partitions: [("t".into(), 0)].into(),
        start_ms: START_MS,
        ..Transaction::new(producer_id, 60_000, START_MS)
    };
    world.append_record("a", Some(&value(7, TransactionState::CompleteCommit)));
    world.append_record("c", Some(&value(8, TransactionState::Ongoing)));
    world.replicate(STATE_TOPIC, home_of("a"));
    world.begin(home_of("a"));
    (world, Producer { id: 7, epoch: 0 }, Producer { id: 8, epoch: 0 })
}

#[test]
fn client_s_partitions_are_added_in_every_version() {
    for version in 0..=3 {
        let world = World::new();
        let producer = world.init("a");
        let (mut body, is_flexible) = (Vec::new(), version >= 3);
        let mut w = Writer::new(&mut body, is_flexible);
        w.string("a");
        w.i64(producer.id);
        w.i16(producer.epoch);
        w.length(Some(1));
        w.string("t");
        w.i32_array(&[2, 0]);
        w.no_tags();
        w.no_tags();
        let api = (ApiTable::ADD_PARTITIONS_TO_TXN, version);
        let answer = world.serve(api.0, api.1, &body, false).now();
        let mut r = Reader::new(&answer, is_flexible);
        assert_eq!(r.i32(), Ok(0));
        assert_eq!((r.count(1), r.str(), r.count(1)), (Ok(1), Ok("t"), Ok(2)));
        for index in [2, 0] {
            assert_eq!((r.i32(), r.i16()), (Ok(index), Ok(0)));
            r.skip_tags().unwrap();
        }
        let now = world.describe("a").unwrap();
        assert_eq!(now.partitions, [("t".into(), 0), ("t".into(), 2)].into());
        assert_eq!(now.state, TransactionState::Ongoing);
    }
}

#[test]
fn unknown_partitions_are_refused_with_all_the_others() {
    let world = World::new();
    let producer = world.init("a");
    let rows = [("t", 0), ("t", 4), ("gone", 0), ("t", -1)];
    let not_attempted = ErrorCode::OPERATION_NOT_ATTEMPTED;
    assert_eq!(
        world.add("a", producer, &rows),
        [not_attempted, UNKNOWN, UNKNOWN, UNKNOWN]
    );
    assert_eq!(world.states("a"), ["Empty"]);
    assert_eq!(world.add("a", producer, &rows[..1]), [NONE]);
}

#[test]
fn client_without_transactional_id_or_with_another_producer_is_refused() {
    let world = World::new();
    let producer = world.init("a");
    let rows = [("t", 0), ("t", 1)];
    assert_eq!(world.add("", producer, &rows), [ErrorCode::INVALID_REQUEST; 2]);
    let mapping = ErrorCode::INVALID_PRODUCER_ID_MAPPING;
    assert_eq!(world.add("none", producer, &rows), [mapping; 2]);
    assert_eq!(world.add("a", Producer { id: 1, ..producer }, &rows), [mapping; 2]);
    let later = Producer { epoch: 1, ..producer };
    assert_eq!(world.add("a", later, &rows), [ErrorCode::PRODUCER_FENCED; 2]);
    assert_eq!(world.states("a"), ["Empty"]);
}

// KIP-588
#[test]
fn fenced_client_gets_the_code_that_its_version_knows() {
    let world = World::new();
    let producer = world.init("a");
    for (version, expected) in [(1, ErrorCode::INVALID_PRODUCER_EPOCH), (2, ErrorCode::PRODUCER_FENCED)] {
        let mut body = Vec::new();
        let mut w = Writer::new(&mut body, false);
        w.string("a");
        w.i64(producer.id);
        w.i16(producer.epoch + 1);
        w.length(Some(1));
        w.string("t");
        w.i32_array(&[0]);
        let answer = world
            .serve(ApiTable::ADD_PARTITIONS_TO_TXN, version, &body, false)
            .now();
        assert_eq!(
            answer[answer.len() - 2..],
            expected.0.to_be_bytes(),
            "version {version}"
        );
    }
}

#[test]
fn internal_topic_is_added_by_brokers_alone() {
    let world = World::new();
    let internal = world.broker.image().load().topic(OFFSETS_TOPIC).map(|row| TopicRow {
        is_internal: true,
        ..TopicRow::clone(row)
    });
    world.broker.image().publish_topics(vec![internal.unwrap()]);
    let producer = world.init("a");
    assert_eq!(
        world.add("a", producer, &[("t", 0), (OFFSETS_TOPIC, 0)]),
        [
            ErrorCode::OPERATION_NOT_ATTEMPTED,
            ErrorCode::TOPIC_AUTHORIZATION_FAILED
        ]
    );
    assert_eq!(world.states("a"), ["Empty"]);
    let of_group = AddPartitionsToTxnTransaction {
        topics: vec![topic(OFFSETS_TOPIC, &[0])],
        ..asked("a", producer, false, &[])
    };
    assert_eq!(add_many(&world, &[of_group]), [row("a", &[NONE])]);
}

#[test]
fn verification_of_an_unknown_partition_is_refused_with_all_the_others() {
    let world = World::new();
    let producer = world.open("a", &[("t", 0)]);
    let results = add_many(&world, &[asked("a", producer, true, &[0, 9])]);
    assert_eq!(results, [row("a", &[ErrorCode::OPERATION_NOT_ATTEMPTED, UNKNOWN])]);
}

#[test]
fn batched_version_of_a_client_is_refused_whole() {
    let world = World::new();
    let producer = world.init("a");
    let answer = world.try_add_many(&[asked("a", producer, false, &[0])], false).now();
    assert_eq!(
        added_many(&answer),
        (ErrorCode::CLUSTER_AUTHORIZATION_FAILED, Vec::new())
    );
    assert_eq!(world.states("a"), ["Empty"]);
}

#[test]
fn each_transaction_of_a_broker_s_request_has_its_own_result() {
    let world = World::new();
    let (first, second) = (world.init("a"), world.open("c", &[("t", 0)]));
    let stranger = Producer { id: 1, epoch: 0 };
    let results = add_many(
        &world,
        &[
            asked("a", first, false, &[0, 3]),
            asked("c", second, true, &[1, 0]),
            asked("none", first, false, &[0]),
            asked("none", first, true, &[0, 1]),
            asked("", first, false, &[0]),
            asked("c", stranger, true, &[0]),
        ],
    );
    let mapping = ErrorCode::INVALID_PRODUCER_ID_MAPPING;
    let expected = [
        row("a", &[NONE; 2]),
        row("c", &[ErrorCode::TRANSACTION_ABORTABLE, NONE]),
        row("none", &[mapping]),
        row("none", &[mapping; 2]),
        row("", &[ErrorCode::INVALID_REQUEST]),
        row("c", &[mapping]),
    ];
    assert_eq!(results, expected);
    assert_eq!(world.describe("a").unwrap().partitions.len(), 2);
    assert_eq!(world.describe("c").unwrap().partitions.len(), 1, "it is only verified");
}

#[test]
fn broker_s_transaction_that_is_being_ended_is_refused_at_once() {
    let world = World::new();
    world.move_away("t", 1, FOLLOWER, 1);
    let (ending, other) = (world.open("a", &[("t", 1)]), world.init("c"));
    world.end("a", ending, true);
    let results = add_many(
        &world,
        &[
            asked("a", ending, false, &[1]),
            asked("a", ending, true, &[1]),
            asked("c", other, false, &[0]),
        ],
    );
    assert_eq!(
        results,
        [row("a", &[CONCURRENT]), row("a", &[CONCURRENT]), row("c", &[NONE])]
    );
}

#[test]
fn broker_s_request_waits_until_its_additions_are_replicated() {
    let (world, first, second) = replicated();
    let asked = [asked("a", first, false, &[1]), asked("c", second, true, &[0, 1])];
    let mut waiting = world.try_add_many(&asked, true).later();
    assert_eq!(waiting.answer(&world), None);
    assert_eq!(world.state("a"), TransactionState::CompleteCommit);
    world.replicate(STATE_TOPIC, home_of("a"));
    let (error, results) = added_many(&waiting.answer(&world).unwrap());
    assert_eq!(error, NONE);
    let abortable = ErrorCode::TRANSACTION_ABORTABLE;
    assert_eq!(results, [row("a", &[NONE]), row("c", &[NONE, abortable])]);
    assert_eq!(world.state("a"), TransactionState::Ongoing);
}

#[test]
fn broker_s_request_that_is_due_has_an_error_for_what_is_not_replicated() {
    let (world, first, second) = replicated();
    let asked = [asked("a", first, false, &[1]), asked("c", second, true, &[0])];
    let answer = world.try_add_many(&asked, true).later().due(&world);
    let unavailable = ErrorCode::COORDINATOR_NOT_AVAILABLE;
    assert_eq!(added_many(&answer).1, [row("a", &[unavailable]), row("c", &[NONE])]);
}

#[test]
fn addition_that_is_pending_is_no_part_of_the_transaction_yet() {
    let (world, first, _) = replicated();
    let mut adding = world.try_add("a", first, &[("t", 1)]).later();
    let verified = add_many(&world, &[asked("a", first, true, &[1])]);
    assert_ne!(verified, [row("a", &[NONE])], "it may be lost");
    world.replicate(STATE_TOPIC, home_of("a"));
    assert_eq!(add_rows(&adding.answer(&world).unwrap()), [NONE]);
    assert_eq!(add_many(&world, &[asked("a", first, true, &[1])]), [row("a", &[NONE])]);
}

#[test]
fn partition_that_the_image_lacks_is_added_for_the_broker_that_leads_it() {
    let world = World::new();
    let producer = world.init("a");
    let topics = vec![topic("new", &[0])];
    let asked = AddPartitionsToTxnTransaction {
        topics,
        ..asked("a", producer, false, &[])
    };
    assert_eq!(add_many(&world, &[asked]), [row("a", &[NONE])]);
    assert_eq!(world.describe("a").unwrap().partitions, [("new".into(), 0)].into());
}

#[test]
fn request_while_the_coordinator_moves_is_refused() {
    let world = World::new();
    let producer = world.init("a");
    world.transactions().homes.close(home_of("a"));
    world.publish_leader(STATE_TOPIC, home_of("a"), FOLLOWER);
    let refused = ErrorCode::NOT_COORDINATOR;
    let asked = [asked("a", producer, false, &[0]), asked("a", producer, true, &[0])];
    assert_eq!(add_many(&world, &asked), [row("a", &[refused]), row("a", &[refused])]);
}

#[test]
fn large_request_is_left_to_another_thread_and_a_lying_one_closes_the_connection() {
    let world = World::new();
    let producer = world.init("a");
    let rows = vec![("t", 0); 4000];
    let api = (ApiTable::ADD_PARTITIONS_TO_TXN, 3);
    let body = add_body("a", producer, &rows);
    let (served, _) = world.try_serve(api.0, api.1, &body, false, Executor::Loop);
    assert!(matches!(
        served,
        Ok(Served::Elsewhere(Handover::Serve(Thread::Request)))
    ));
    let (served, _) = world.try_serve(api.0, api.1, &body, false, Executor::Worker);
    assert!(matches!(served, Ok(Served::Answered(_))));
    let body = add_body("a", producer, &[("t", 0)]);
    for cut in 0..body.len() {
        let (served, out) = world.try_serve(api.0, api.1, &body[..cut], false, Executor::Loop);
        assert!(served.is_err() && out.is_empty(), "{cut}");
    }
}

#[test]
fn broker_s_request_that_waits_watches_the_partitions_of_its_transactions() {
    let (world, first, _) = replicated();
    let partition = world.partition(STATE_TOPIC, home_of("a"));
    let waiters = || partition.waiters().len(WaitKind::Produce);
    let before = waiters();
    let mut waiting = world.try_add_many(&[asked("a", first, false, &[1])], true).later();
    assert_eq!(waiters(), before + 1);
    world.replicate(STATE_TOPIC, home_of("a"));
    assert!(waiting.answer(&world).is_some());
    assert_eq!(waiters(), before);
}
