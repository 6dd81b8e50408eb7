//! Produce of transactional batches: which are verified, refused, appended; KIP-890, H11.

use std::any::Any;

use super::*;
use crate::requests::produce::unverified::Unverified;
use crate::testing::{TestVerifier, transactional};
use crate::{Delayed, FollowerFetch, Handover, Marker, SlicedProduce};
use base::place::LeaderEpoch;
use protocol::Reader;
use record::{BatchBuilder, Codec};

const PRODUCER: i64 = 40;
/// Transactions of version 1.
const V1: i16 = 11;
/// Transactions of version 2.
const V2: i16 = 12;

/// A request's rows for topic `t`: partition and batch.
type Rows<'a> = &'a [(i32, Vec<u8>)];

fn fixture(replicas: &[i32]) -> (Fixture, TestVerifier) {
    let (fixture, verifier) = Fixture::verifying();
    fixture.create_with("t", [1; 16], 4, &[], replicas);
    (fixture, verifier)
}

fn transactional_body(transactional_id: Option<&str>, acks: i16, rows: Rows<'_>, version: i16) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, version >= 9);
    w.nullable_string(transactional_id);
    w.i16(acks);
    w.i32(1000);
    w.length(Some(1));
    w.string("t");
    w.length(Some(rows.len()));
    for (index, records) in rows {
        w.i32(*index);
        w.length(Some(records.len()));
        w.raw(records);
        w.no_tags();
    }
    w.no_tags();
    w.no_tags();
    out
}

fn send(fixture: &Fixture, body: &[u8], version: i16) -> (Served, Vec<u8>) {
    let (mut body, mut out) = (body.to_vec(), Vec::new());
    let scratch = &mut Scratch::default();
    let served = Produce.serve(request(&fixture.broker, version, &mut body, scratch), &mut out);
    (served.unwrap(), out)
}

/// Code and message of each row of an answer.
fn decoded(answer: &[u8], version: i16) -> Vec<(ErrorCode, Option<String>)> {
    let mut r = Reader::new(answer, version >= 9);
    let mut rows = Vec::new();
    for _ in 0..r.count(1).unwrap() {
        r.str().unwrap();
        for _ in 0..r.count(1).unwrap() {
            r.i32().unwrap();
            let code = ErrorCode(r.i16().unwrap());
            for _ in 0..3 {
                r.i64().unwrap();
            }
            assert_eq!(r.count(1).unwrap(), 0, "no record is at fault");
            rows.push((code, r.nullable_str().unwrap().map(str::to_owned)));
            r.skip_tags().unwrap();
        }
        r.skip_tags().unwrap();
    }
    rows
}

/// The rows of a request that is answered at once.
fn answered_rows(fixture: &Fixture, acks: i16, rows: Rows<'_>, version: i16) -> Vec<(ErrorCode, Option<String>)> {
    let (served, answer) = send(fixture, &transactional_body(Some("id"), acks, rows, version), version);
    assert!(matches!(served, Served::Answered(_)));
    decoded(&answer, version)
}

fn codes(fixture: &Fixture, rows: Rows<'_>, version: i16) -> Vec<ErrorCode> {
    let rows = answered_rows(fixture, 1, rows, version);
    rows.into_iter().map(|(code, _)| code).collect()
}

fn delayed(served: Served) -> Box<dyn Delayed> {
    match served {
        Served::Delayed(delayed) => delayed,
        _ => panic!("it should wait"),
    }
}

/// Tries a produce that waits for the coordinator. When it is answered, appends it as another thread does.
fn settle(fixture: &Fixture, waiting: &mut dyn Delayed, is_due: bool, out: &mut Vec<u8>) -> Option<Served> {
    match waiting.try_complete(&attempt(fixture, is_due), out) {
        Tried::Waits => None,
        Tried::Append(left, body) => Some(append_left(fixture, left, body, out)),
        _ => panic!("it is neither answered nor does it wait for the disk"),
    }
}

fn append_left(fixture: &Fixture, mut left: Box<dyn SlicedProduce>, mut body: Vec<u8>, out: &mut Vec<u8>) -> Served {
    while !left.run(&fixture.broker, &mut body, Instant::now(), START_MS) {}
    left.finish(&fixture.broker, CALLER, Instant::now(), &body, out)
}

fn log_end(fixture: &Fixture, index: i32) -> i64 {
    fixture.partition("t", index).offsets().log_end().get()
}

/// Ends the transaction on a partition; the coordinator raises the epoch with version 2.
fn end(fixture: &Fixture, index: i32, producer_epoch: i16, transaction_version: i16) {
    let marker = Marker {
        producer_id: PRODUCER,
        producer_epoch,
        is_commit: true,
        coordinator_epoch: 0,
        transaction_version,
    };
    fixture.partition("t", index).append_marker(&marker, START_MS).unwrap();
}

#[test]
fn first_batches_of_a_transaction_are_verified_with_one_question_and_appended() {
    for (version, is_added) in [(8, false), (V1, false), (V2, true)] {
        let (fixture, verifier) = fixture(&[NODE]);
        let rows = [0, 2].map(|index| (index, transactional(PRODUCER, 3, 0)));
        assert_eq!(
            codes(&fixture, &rows, version),
            [ErrorCode::NONE; 2],
            "version {version}"
        );
        let asked = verifier.asked();
        assert_eq!(asked.len(), 1);
        assert_eq!(&*asked[0].transactional_id, "id");
        assert_eq!((asked[0].producer_id, asked[0].producer_epoch), (PRODUCER, 3));
        assert_eq!(asked[0].partitions, [("t".into(), 0), ("t".into(), 2)]);
        assert_eq!(asked[0].is_added, is_added, "version {version}");
        assert_eq!((log_end(&fixture, 0), log_end(&fixture, 2)), (1, 1));
    }
}

#[test]
fn batch_of_an_open_transaction_is_appended_without_a_question() {
    let (fixture, verifier) = fixture(&[NODE]);
    assert_eq!(
        codes(&fixture, &[(0, transactional(PRODUCER, 0, 0))], V2),
        [ErrorCode::NONE]
    );
    verifier.asked();
    let rows = [(0, transactional(PRODUCER, 0, 1)), (1, transactional(PRODUCER, 0, 0))];
    assert_eq!(codes(&fixture, &rows, V2), [ErrorCode::NONE; 2]);
    let asked = verifier.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].partitions, [("t".into(), 1)], "only the new partition");
    assert_eq!(
        codes(&fixture, &[(0, transactional(PRODUCER, 0, 2))], V2),
        [ErrorCode::NONE]
    );
    assert_eq!(verifier.asked(), []);
}

#[test]
fn batch_after_a_marker_is_verified_anew() {
    let (fixture, verifier) = fixture(&[NODE]);
    assert_eq!(
        codes(&fixture, &[(0, transactional(PRODUCER, 0, 0))], V1),
        [ErrorCode::NONE]
    );
    end(&fixture, 0, 0, 1);
    verifier.asked();
    verifier.set("t", 0, ErrorCode::INVALID_TXN_STATE);
    let late = codes(&fixture, &[(0, transactional(PRODUCER, 0, 1))], V1);
    assert_eq!(late, [ErrorCode::INVALID_TXN_STATE]);
    assert_eq!((verifier.asked().len(), log_end(&fixture, 0)), (1, 2));
}

#[test]
fn batch_of_a_fenced_producer_epoch_is_refused_without_a_question() {
    let (fixture, verifier) = fixture(&[NODE]);
    assert_eq!(
        codes(&fixture, &[(0, transactional(PRODUCER, 5, 0))], V2),
        [ErrorCode::NONE]
    );
    end(&fixture, 0, 6, 2);
    verifier.asked();
    let fenced = codes(&fixture, &[(0, transactional(PRODUCER, 5, 1))], V2);
    assert_eq!(fenced, [ErrorCode::INVALID_PRODUCER_EPOCH]);
    assert_eq!(verifier.asked(), []);
    assert_eq!(
        codes(&fixture, &[(0, transactional(PRODUCER, 6, 0))], V2),
        [ErrorCode::NONE]
    );
}

#[test]
fn refused_verification_appends_nothing_and_leaves_the_other_rows_alone() {
    let (fixture, verifier) = fixture(&[NODE]);
    verifier.set("t", 1, ErrorCode::INVALID_TXN_STATE);
    let rows = [0, 1, 2].map(|index| (index, transactional(PRODUCER, 0, 0)));
    let results = answered_rows(&fixture, 1, &rows, V1);
    let message = Some("Partition was not added to the transaction".to_owned());
    assert_eq!(results[1], (ErrorCode::INVALID_TXN_STATE, message));
    assert_eq!([results[0].0, results[2].0], [ErrorCode::NONE; 2]);
    assert_eq!([0, 1, 2].map(|index| log_end(&fixture, index)), [1, 0, 1]);
}

#[test]
fn broker_without_a_verifier_answers_that_the_coordinator_is_not_available() {
    let (fixture, _) = fixture(&[NODE]);
    let asked = crate::VerificationRequest {
        transactional_id: "id".into(),
        producer_id: PRODUCER,
        producer_epoch: 0,
        partitions: vec![("t".into(), 0); 2],
        is_added: false,
    };
    let bare = Fixture::new(1);
    let answer = bare.broker.verify(asked.clone(), Instant::now(), START_MS);
    let crate::Verified::Now(codes) = answer else {
        panic!("it waits")
    };
    assert_eq!(codes, [ErrorCode::COORDINATOR_NOT_AVAILABLE; 2]);
    let answer = fixture.broker.verify(asked, Instant::now(), START_MS);
    assert!(matches!(answer, crate::Verified::Now(codes) if codes == [ErrorCode::NONE; 2]));
}

// Kafka: ReplicaManager.handleProduceAppend, AddPartitionsToTxnManager
#[test]
fn coordinator_s_error_is_translated_for_the_version_of_the_client() {
    let told = |name: &str| {
        format!("Unable to verify the partition has been added to the transaction. Underlying error: {name}")
    };
    let not_added = || Some("Partition was not added to the transaction".to_owned());
    let retried = [
        ErrorCode::NETWORK_EXCEPTION,
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ErrorCode::NOT_COORDINATOR,
    ];
    let mut table: Vec<_> = [8, V1, V2]
        .into_iter()
        .flat_map(|version| {
            retried.map(|code| (version, code, ErrorCode::NOT_ENOUGH_REPLICAS, Some(told(code.name()))))
        })
        .collect();
    let (concurrent, abortable) = (ErrorCode::CONCURRENT_TRANSACTIONS, ErrorCode::TRANSACTION_ABORTABLE);
    let replicas = (ErrorCode::NOT_ENOUGH_REPLICAS, Some(told("CONCURRENT_TRANSACTIONS")));
    table.extend([
        (V1, concurrent, replicas.0, replicas.1),
        (V2, concurrent, concurrent, None),
        (10, abortable, ErrorCode::INVALID_TXN_STATE, not_added()),
        (V1, abortable, abortable, None),
        (V2, abortable, abortable, None),
        (V1, ErrorCode::PRODUCER_FENCED, ErrorCode::INVALID_PRODUCER_EPOCH, None),
        (
            V2,
            ErrorCode::INVALID_TXN_STATE,
            ErrorCode::INVALID_TXN_STATE,
            not_added(),
        ),
        (
            V2,
            ErrorCode::INVALID_PRODUCER_ID_MAPPING,
            ErrorCode::INVALID_PRODUCER_ID_MAPPING,
            None,
        ),
    ]);
    let (fixture, verifier) = fixture(&[NODE]);
    for (version, code, expected, message) in table {
        verifier.set("t", 0, code);
        let results = answered_rows(&fixture, 1, &[(0, transactional(PRODUCER, 0, 0))], version);
        assert_eq!(results, [(expected, message)], "{} in version {version}", code.name());
    }
    assert_eq!(log_end(&fixture, 0), 0);
}

#[test]
fn request_with_a_transactional_batch_but_no_transactional_id_is_refused_whole() {
    let (fixture, verifier) = fixture(&[NODE]);
    let rows = [
        (0, batch(START_MS)),
        (1, transactional(PRODUCER, 0, 0)),
        (2, batch(START_MS)),
    ];
    let (served, answer) = send(&fixture, &transactional_body(None, 1, &rows, V2), V2);
    assert!(matches!(served, Served::Answered(_)));
    for (code, _) in decoded(&answer, V2) {
        assert_eq!(code, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    }
    assert_eq!([0, 1, 2].map(|index| log_end(&fixture, index)), [0; 3]);
    assert_eq!(verifier.asked(), []);
}

#[test]
fn transactional_batches_of_two_producers_in_one_request_are_refused() {
    for (producer_id, producer_epoch) in [(PRODUCER + 1, 0), (PRODUCER, 1)] {
        let (fixture, verifier) = fixture(&[NODE]);
        let other = transactional(producer_id, producer_epoch, 0);
        let rows = [(0, transactional(PRODUCER, 0, 0)), (1, batch(START_MS)), (2, other)];
        let mapping = ErrorCode::INVALID_PRODUCER_ID_MAPPING;
        assert_eq!(codes(&fixture, &rows, V2), [mapping, ErrorCode::NONE, mapping]);
        assert_eq!([0, 1, 2].map(|index| log_end(&fixture, index)), [0, 1, 0]);
        assert_eq!(verifier.asked(), []);
    }
}

#[test]
fn rows_that_cannot_be_appended_are_not_asked_about() {
    let (fixture, verifier) = fixture(&[NODE]);
    give(&fixture.partition("t", 1), Some(lease(1, &[2, NODE], &[2, NODE])));
    let mut twice = transactional(PRODUCER, 0, 0);
    twice.extend_from_slice(&transactional(PRODUCER, 0, 1));
    let rows = [
        (9, transactional(PRODUCER, 0, 0)),
        (1, transactional(PRODUCER, 0, 0)),
        (2, twice),
    ];
    let expected = [
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode::NOT_LEADER_OR_FOLLOWER,
        ErrorCode::INVALID_RECORD,
    ];
    assert_eq!(codes(&fixture, &rows, V2), expected);
    let marker = record::end_transaction_marker(true, PRODUCER, 0, 0, START_MS);
    for invalid in [marker, transactional(PRODUCER, 0, -1)] {
        assert_eq!(codes(&fixture, &[(0, invalid)], V2), [ErrorCode::INVALID_RECORD]);
    }
    let wrong_acks = answered_rows(&fixture, 7, &[(0, transactional(PRODUCER, 0, 0))], V2);
    assert_eq!(wrong_acks[0].0, ErrorCode::INVALID_REQUIRED_ACKS);
    fixture.broker.refuse_produces();
    let stopping = codes(&fixture, &[(0, transactional(PRODUCER, 0, 0))], V2);
    assert_eq!(stopping, [ErrorCode::NOT_LEADER_OR_FOLLOWER]);
    assert_eq!(verifier.asked(), []);
}

#[test]
fn unverified_rows_are_appended_in_order_after_the_answer_and_wait_for_the_replicas() {
    let (fixture, verifier) = fixture(&[NODE, 2]);
    verifier.delay();
    verifier.set("t", 1, ErrorCode::INVALID_TXN_STATE);
    // Partition 0 has two rows, as no client sends them: their order shows in the log.
    let rows = [
        (0, transactional(PRODUCER, 0, 0)),
        (1, transactional(PRODUCER, 0, 0)),
        (0, transactional(PRODUCER, 0, 1)),
        (2, batch(START_MS)),
    ];
    let (served, _) = send(&fixture, &transactional_body(Some("id"), -1, &rows, V2), V2);
    let mut waiting = delayed(served);
    assert!(waiting.mutes(), "no later batch overtakes");
    let mut out = Vec::new();
    assert!(settle(&fixture, &mut *waiting, false, &mut out).is_none());
    assert_eq!(
        [0, 1, 2].map(|index| log_end(&fixture, index)),
        [0; 3],
        "not even the plain row"
    );
    let calls = Arc::new(Calls::default());
    let owner = Arc::clone(&calls);
    waiting.watch(&Waiter { owner, operation: 8 });
    verifier.answer();
    assert_eq!(*calls.0.lock(), [8]);
    let served = settle(&fixture, &mut *waiting, false, &mut out).unwrap();
    assert_eq!([0, 1, 2].map(|index| log_end(&fixture, index)), [2, 0, 1]);
    let mut waiting = parked(served);
    assert!(!waiting.poll(), "the follower has nothing yet");
    for (index, end) in [(0, 2), (2, 1)] {
        let fetch = FollowerFetch {
            node_id: 2,
            broker_epoch: -1,
            leader_epoch: LeaderEpoch::NONE,
            log_start: Offset(0),
            log_end: Offset(end),
        };
        fixture.partition("t", index).note_follower(fetch, Instant::now());
    }
    assert!(waiting.poll());
    let expected = [
        ErrorCode::NONE,
        ErrorCode::INVALID_TXN_STATE,
        ErrorCode::NONE,
        ErrorCode::NONE,
    ];
    assert_eq!(errors(&waiting), expected);
}

#[test]
fn batch_whose_transaction_ends_while_it_is_verified_is_refused() {
    let (fixture, verifier) = fixture(&[NODE]);
    verifier.delay();
    let rows = [(0, transactional(PRODUCER, 0, 0))];
    let (served, _) = send(&fixture, &transactional_body(Some("id"), 1, &rows, V1), V1);
    let mut waiting = delayed(served);
    end(&fixture, 0, 0, 1);
    verifier.answer();
    let mut out = Vec::new();
    let served = settle(&fixture, &mut *waiting, false, &mut out).unwrap();
    assert!(matches!(served, Served::Answered(_)));
    assert_eq!(decoded(&out, V1)[0].0, ErrorCode::INVALID_TXN_STATE);
    assert_eq!(log_end(&fixture, 0), 1, "the marker alone");
}

#[test]
fn verification_that_is_due_is_answered_and_its_budget_is_given_back() {
    let (fixture, verifier) = fixture(&[NODE]);
    verifier.delay();
    let rows = [(0, transactional(PRODUCER, 0, 0)), (1, batch(START_MS))];
    let body = transactional_body(Some("id"), 1, &rows, V2);
    let before = Instant::now();
    let mut waiting = delayed(send(&fixture, &body, V2).0);
    assert_eq!(fixture.broker.queued().used(), body.len());
    let allowed = waiting.deadline().duration_since(before);
    assert!(allowed >= Duration::from_secs(1) && allowed < Duration::from_secs(4));
    let mut out = Vec::new();
    let served = settle(&fixture, &mut *waiting, true, &mut out).unwrap();
    assert!(matches!(served, Served::Answered(_)));
    let codes: Vec<_> = decoded(&out, V2).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, [ErrorCode::NOT_ENOUGH_REPLICAS, ErrorCode::NONE]);
    assert_eq!([0, 1].map(|index| log_end(&fixture, index)), [0, 1]);
    drop(waiting);
    assert_eq!(fixture.broker.queued().used(), 0);
}

#[test]
fn verification_ends_at_the_question_s_deadline_and_never_after_the_client_s_timeout() {
    let (fixture, verifier) = fixture(&[NODE]);
    let now = Instant::now();
    let body = transactional_body(Some("id"), 1, &[(0, transactional(PRODUCER, 0, 0))], V2);
    verifier.delay_until(now + Duration::from_millis(7));
    assert_eq!(
        delayed(send(&fixture, &body, V2).0).deadline(),
        now + Duration::from_millis(7)
    );
    verifier.delay_until(now + Duration::from_hours(1));
    assert!(delayed(send(&fixture, &body, V2).0).deadline() < now + Duration::from_mins(1));
}

#[test]
fn verification_whose_client_has_gone_is_forgotten_and_appends_nothing() {
    let (fixture, verifier) = fixture(&[NODE]);
    verifier.delay();
    let rows = [(0, transactional(PRODUCER, 0, 0))];
    let waiting = delayed(send(&fixture, &transactional_body(Some("id"), 1, &rows, V2), V2).0);
    let calls = Arc::new(Calls::default());
    let waiter = Waiter {
        owner: calls.clone(),
        operation: 1,
    };
    waiting.watch(&waiter);
    waiting.forget(&waiter);
    drop(waiting);
    verifier.answer();
    assert!(calls.0.lock().is_empty());
    assert_eq!(log_end(&fixture, 0), 0);
    let again = codes(&fixture, &[(0, transactional(PRODUCER, 0, 0))], V2);
    assert_eq!(again, [ErrorCode::NONE], "the client sends the batch again");
}

#[test]
fn produce_without_acks_that_waited_is_silent_and_a_refused_one_disconnects() {
    for (code, is_appended) in [(ErrorCode::NONE, true), (ErrorCode::INVALID_TXN_STATE, false)] {
        let (fixture, verifier) = fixture(&[NODE]);
        let rows = [(0, transactional(PRODUCER, 0, 0))];
        let body = transactional_body(Some("id"), 0, &rows, V2);
        verifier.delay();
        verifier.set("t", 0, code);
        let before = Instant::now();
        let mut waiting = delayed(send(&fixture, &body, V2).0);
        assert!(waiting.deadline() >= before + Duration::from_secs(5));
        verifier.answer();
        let mut out = Vec::new();
        let served = settle(&fixture, &mut *waiting, false, &mut out).unwrap();
        match served {
            Served::Silent => assert!(is_appended),
            Served::Disconnect => assert!(!is_appended),
            _ => panic!("nothing is sent"),
        }
        assert_eq!((log_end(&fixture, 0), out.is_empty()), (i64::from(is_appended), true));
    }
}

#[test]
fn produce_that_is_too_much_for_a_loop_is_verified_on_the_other_thread_before_any_append() {
    let mut builder = BatchBuilder::new(Codec::None)
        .producer(PRODUCER, 0, 0)
        .transactional(true);
    builder.append(START_MS, None, Some(&vec![b'v'; MANY_BYTES]), &[]);
    let large = builder.build(Offset(0), LeaderEpoch::NONE);
    let body = transactional_body(Some("id"), 1, &[(0, batch(START_MS)), (1, large)], V2);
    for is_delayed in [false, true] {
        let (fixture, verifier) = Fixture::verifying();
        fixture.create_with("t", [1; 16], 2, &[("max.message.bytes", "20000000")], &[NODE]);
        if is_delayed {
            verifier.delay();
        }
        let (served, mut out) = send(&fixture, &body, V2);
        let Served::Elsewhere(Handover::Append(left)) = served else {
            panic!("it is large")
        };
        assert_eq!(verifier.asked(), [], "not on the loop");
        let mut served = append_left(&fixture, left, body.clone(), &mut out);
        assert_eq!(verifier.asked().len(), 1);
        if is_delayed {
            let any: Box<dyn Any> = delayed(served);
            let mut waiting: Box<Unverified> = any.downcast().unwrap();
            assert_eq!(log_end(&fixture, 0), 0, "nothing so far");
            verifier.answer();
            served = settle(&fixture, &mut *waiting, false, &mut out).unwrap();
        }
        assert!(matches!(served, Served::Answered(_)));
        let codes: Vec<_> = decoded(&out, V2).into_iter().map(|(code, _)| code).collect();
        assert_eq!(codes, [ErrorCode::NONE; 2]);
        assert_eq!((log_end(&fixture, 0), log_end(&fixture, 1)), (1, 1));
    }
}
