mod absent;
mod authorization;
mod message_sets;
mod transactions;

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use super::parked::ParkedProduce;
use super::*;
use crate::testing::{CALLER, Calls, Fixture, NODE, START_MS, batch, give, lease, request, row};
use crate::{Attempt, Caller, Delayed, Executor, Scratch, Tried, WaitKind, Waiter};
use ::io::Fault;
use base::error::ErrorCode;
use base::place::Offset;
use protocol::Writer;
use protocol::{ProduceRequest, ProduceResult};

/// A version 8 body: topics with a batch for each of these partitions.
fn body(acks: i16, timeout_ms: i32, topics: &[(&str, &[i32])]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, false);
    w.nullable_string(None);
    w.i16(acks);
    w.i32(timeout_ms);
    w.length(Some(topics.len()));
    for (topic, partitions) in topics {
        w.string(topic);
        w.length(Some(partitions.len()));
        for index in *partitions {
            w.i32(*index);
            let records = batch(START_MS);
            w.length(Some(records.len()));
            w.raw(&records);
        }
    }
    out
}

fn serve(fixture: &Fixture, caller: Caller<'_>, mut body: Vec<u8>, out: &mut Vec<u8>) -> Served {
    let scratch = &mut Scratch::default();
    let asked = Request {
        caller,
        ..request(&fixture.broker, 8, &mut body, scratch)
    };
    Produce.serve(asked, out).unwrap()
}

fn replicated() -> Fixture {
    let fixture = Fixture::new(1);
    for (topic, id) in [("first", [1; 16]), ("second", [2; 16])] {
        fixture.create_with(topic, id, 2, &[], &[NODE, 2]);
    }
    fixture
}

fn parked(served: Served) -> Box<ParkedProduce> {
    let Served::Delayed(delayed) = served else {
        panic!("it should wait")
    };
    let delayed: Box<dyn Any> = delayed;
    delayed.downcast().unwrap()
}

fn attempt(fixture: &Fixture, is_due: bool) -> Attempt<'_> {
    Attempt {
        broker: &fixture.broker,
        caller: CALLER,
        is_due,
        executor: Executor::Loop,
        now: Instant::now(),
    }
}

fn errors(parked: &ParkedProduce) -> Vec<ErrorCode> {
    parked.progress.results.iter().map(|r| r.error).collect()
}

#[test]
fn what_is_answered_depends_on_acks_and_outcome() {
    let fixture = replicated();
    let good: &[(&str, &[i32])] = &[("first", &[0])];
    let bad: &[(&str, &[i32])] = &[("nowhere", &[0])];
    let outcome = |acks, topics| {
        let mut out = Vec::new();
        let outcome = serve(&fixture, CALLER, body(acks, 1000, topics), &mut out);
        (outcome, out.is_empty())
    };
    assert!(matches!(outcome(0, good), (Served::Silent, true)));
    assert!(matches!(outcome(0, bad), (Served::Disconnect, true)));
    assert!(matches!(outcome(1, good), (Served::Answered(_), false)));
    assert!(matches!(outcome(-1, good), (Served::Delayed(_), true)));
    assert!(matches!(outcome(-1, bad), (Served::Answered(_), false)));
}

#[test]
fn a_parked_produce_ends_when_its_last_partition_is_satisfied() {
    let fixture = replicated();
    let mut out = Vec::new();
    let topics: &[(&str, &[i32])] = &[("first", &[0, 1]), ("second", &[1])];
    let mut waiting = parked(serve(&fixture, CALLER, body(-1, 1000, topics), &mut out));
    for (topic, index) in [("first", 0), ("second", 1), ("first", 1)] {
        assert!(!waiting.poll());
        give(&fixture.partition(topic, index), Some(lease(0, &[NODE, 2], &[NODE])));
    }
    assert!(waiting.poll());
    assert_eq!(errors(&waiting), [ErrorCode::NONE; 3]);
    let tried = waiting.try_complete(&attempt(&fixture, false), &mut out);
    assert!(matches!(tried, Tried::Answered(_)));
    let text = String::from_utf8_lossy(&out);
    assert!(
        text.contains("first") && text.contains("second"),
        "the names outlive the request"
    );
}

#[test]
fn what_is_left_at_the_deadline_times_out_alone() {
    let fixture = replicated();
    let mut out = Vec::new();
    let topics: &[(&str, &[i32])] = &[("first", &[0, 1])];
    let mut waiting = parked(serve(&fixture, CALLER, body(-1, 1000, topics), &mut out));
    give(&fixture.partition("first", 1), Some(lease(0, &[NODE, 2], &[NODE])));
    assert!(matches!(
        waiting.try_complete(&attempt(&fixture, false), &mut out),
        Tried::Waits
    ));
    assert!(out.is_empty(), "nothing is written while it waits");
    let tried = waiting.try_complete(&attempt(&fixture, true), &mut out);
    assert!(matches!(tried, Tried::Answered(_)) && !out.is_empty());
    assert_eq!(errors(&waiting), [ErrorCode::REQUEST_TIMED_OUT, ErrorCode::NONE]);
}

#[test]
fn a_partition_that_is_lost_while_it_waits_gets_its_error() {
    let fixture = replicated();
    let mut out = Vec::new();
    let topics: &[(&str, &[i32])] = &[("first", &[0]), ("second", &[0])];
    let mut waiting = parked(serve(&fixture, CALLER, body(-1, 1000, topics), &mut out));
    fixture.partition("first", 0).revoke();
    assert!(!waiting.poll());
    fixture.partition("second", 0).set_offline();
    assert!(waiting.poll());
    let expected = [ErrorCode::NOT_LEADER_OR_FOLLOWER, ErrorCode::KAFKA_STORAGE_ERROR];
    assert_eq!(errors(&waiting), expected);
}

#[test]
fn the_deadline_is_the_client_s_timeout_and_never_before_now() {
    let fixture = replicated();
    for (timeout_ms, wait) in [(1500, 1500), (0, 0), (-5, 0)] {
        let now = Instant::now();
        let mut bytes = body(-1, timeout_ms, &[("first", &[0])]);
        let scratch = &mut Scratch::default();
        let asked = Request {
            now,
            ..request(&fixture.broker, 8, &mut bytes, scratch)
        };
        let served = Produce.serve(asked, &mut Vec::new()).unwrap();
        assert_eq!(parked(served).deadline(), now + Duration::from_millis(wait));
    }
}

#[test]
fn watching_and_forgetting_reach_every_partition_that_is_waited_for() {
    let fixture = replicated();
    let topics: &[(&str, &[i32])] = &[("first", &[0, 1])];
    let waiting = parked(serve(&fixture, CALLER, body(-1, 1000, topics), &mut Vec::new()));
    let owner = Arc::new(Calls::default());
    let waiter = Waiter { owner, operation: 5 };
    let watched = || [0, 1].map(|i| fixture.partition("first", i).waiters().len(WaitKind::Produce));
    waiting.watch(&waiter);
    assert_eq!(watched(), [1, 1]);
    waiting.forget(&waiter);
    assert_eq!(watched(), [0, 0]);
}

#[test]
fn only_kafka_s_admin_may_write_internal_topics() {
    let fixture = Fixture::new(1);
    fixture.create("__transaction_state", 1, &[]);
    let topics: &[(&str, &[i32])] = &[("__transaction_state", &[0])];
    let end = || fixture.partition("__transaction_state", 0).offsets().log_end();
    serve(&fixture, CALLER, body(1, 0, topics), &mut Vec::new());
    assert_eq!(end(), Offset(0));
    let admin = Caller {
        may_write_internal: true,
        ..CALLER
    };
    serve(&fixture, admin, body(1, 0, topics), &mut Vec::new());
    assert_eq!(end(), Offset(1));
}

#[test]
fn a_disk_that_fails_is_reported_to_the_broker_and_a_bad_batch_is_not() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[("max.message.bytes", "80")]);
    let mut out = Vec::new();
    let large: &[(&str, &[i32])] = &[("t", &[0])];
    serve(&fixture, CALLER, body(1, 0, large), &mut out);
    let is_large = batch(START_MS).len() > 80;
    assert_eq!(
        fixture.partition("t", 0).offsets().log_end(),
        Offset(i64::from(!is_large))
    );
    assert!(fixture.broker.logs().dirs().failed().is_empty());
    fixture.create_with("u", [3; 16], 1, &[], &[NODE]);
    fixture.faults.arm("write:.log", 1, Fault::NoSpace);
    serve(&fixture, CALLER, body(1, 0, &[("u", &[0])]), &mut out);
    assert_eq!(fixture.broker.logs().dirs().failed(), fixture.dirs);
    assert!(fixture.partition("t", 0).leadership().is_offline());
}

/// What is answered to one record for partition 0 of a topic, by name (version 8) or by id (13).
fn answered(fixture: &Fixture, topic: Result<&str, [u8; 16]>, index: i32) -> ProduceResult {
    let (mut out, mut response) = (Vec::new(), Vec::new());
    let mut w = Writer::new(&mut out, topic.is_err());
    w.nullable_string(None);
    w.i16(1);
    w.i32(1000);
    w.length(Some(1));
    match topic {
        Ok(name) => w.string(name),
        Err(id) => w.raw(&id),
    }
    w.length(Some(1));
    w.i32(index);
    let records = batch(START_MS);
    w.length(Some(records.len()));
    w.raw(&records);
    for _ in 0..3 {
        w.no_tags();
    }
    let version = if topic.is_ok() { 8 } else { 13 };
    let mut scratch = Scratch::default();
    let asked = request(&fixture.broker, version, &mut out, &mut scratch);
    Produce.serve(asked, &mut response).unwrap();
    scratch.produce.results.remove(0)
}

// KIP-951: a partition that has moved away is not an unknown one; its producer is told where to go.
#[test]
fn producer_of_a_partition_of_other_brokers_gets_its_leader() {
    let fixture = Fixture::new(1);
    fixture.create("here", 1, &[]);
    fixture
        .broker
        .image()
        .publish_topics(vec![row("elsewhere", [8; 16], 1), row("here", [7; 16], 2)]);
    let answered = |topic, index| {
        let result = answered(&fixture, topic, index);
        (result.error, result.current_leader)
    };
    let elsewhere = (ErrorCode::NOT_LEADER_OR_FOLLOWER, Some((NODE, 0)));
    for (topic, index) in [
        (Ok("elsewhere"), 0),
        (Err([8; 16]), 0),
        (Ok("here"), 1),
        (Err([7; 16]), 1),
    ] {
        assert_eq!(answered(topic, index), elsewhere, "{topic:?}-{index}");
    }
    let unknown = (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, None);
    for (topic, index) in [
        (Ok("elsewhere"), 1),
        (Err([8; 16]), 1),
        (Ok("here"), 2),
        (Ok("nowhere"), 0),
    ] {
        assert_eq!(answered(topic, index), unknown, "{topic:?}-{index}");
    }
    assert_eq!(answered(Err([9; 16]), 0), (ErrorCode::UNKNOWN_TOPIC_ID, None));
}

#[test]
fn produce_that_finds_no_descriptor_is_refused_with_an_error_that_clients_retry_and_the_next_one_is_appended() {
    for fault in [Fault::NoDescriptor, Fault::NoMemory] {
        let fixture = Fixture::new(1);
        fixture.create("t", 1, &[]);
        fixture.faults.arm("write:.log", 1, fault);
        let refused = answered(&fixture, Ok("t"), 0);
        assert_eq!(refused.error, ErrorCode::KAFKA_STORAGE_ERROR, "{fault:?}");
        assert!(fixture.faults.has_fired() && fixture.broker.logs().dirs().failed().is_empty());
        assert_eq!(answered(&fixture, Ok("t"), 0).error, ErrorCode::NONE);
        assert_eq!(fixture.partition("t", 0).offsets().log_end(), Offset(1));
    }
}

// A stop answers what it has appended.
#[test]
fn produce_to_a_broker_that_is_about_to_stop_is_refused_unappended_and_those_that_wait_are_acknowledged() {
    let fixture = replicated();
    let mut out = Vec::new();
    let topics: &[(&str, &[i32])] = &[("first", &[0])];
    let mut waiting = parked(serve(&fixture, CALLER, body(-1, 1000, topics), &mut out));
    let waiter = Waiter {
        owner: Arc::new(Calls::default()),
        operation: 1,
    };
    waiting.watch(&waiter);
    assert_eq!(fixture.broker.waiting_produces(), 1);
    fixture.broker.refuse_produces();
    for acks in [-1, 1] {
        let served = serve(&fixture, CALLER, body(acks, 1000, topics), &mut out);
        assert!(matches!(served, Served::Answered(_)));
    }
    assert_eq!(fixture.partition("first", 0).offsets().log_end(), Offset(1));
    assert!(!waiting.poll());
    give(&fixture.partition("first", 0), Some(lease(0, &[NODE, 2], &[NODE])));
    assert!(waiting.poll());
    assert_eq!(errors(&waiting), [ErrorCode::NONE]);
    assert_eq!(fixture.broker.waiting_produces(), 0);
}
