//! What a client may not write.

use std::collections::HashSet;

use super::*;
use crate::testing::transactional;
use crate::{AclEntry, AclPattern, Operation, ResourceType};
use protocol::{ProducePartition, TopicKey};

fn allow_write(resource: ResourceType, name: &str) -> AclPattern {
    AclPattern {
        resource,
        is_prefixed: false,
        name: name.into(),
        entries: vec![AclEntry {
            principal: "User:*".into(),
            host: "*".into(),
            operation: Some(Operation::Write),
            is_allow: true,
        }],
    }
}

fn fixture(allowed: Vec<AclPattern>) -> Fixture {
    let fixture = Fixture::new(1);
    for (topic, id) in [("first", [1; 16]), ("second", [2; 16])] {
        fixture.create_with(topic, id, 2, &[], &[NODE]);
    }
    fixture.broker.authorizer().begin(HashSet::new(), false);
    fixture.broker.authorizer().publish(allowed, true);
    fixture
}

/// The error of each partition of a version 8 answer.
fn codes(answer: &[u8]) -> Vec<i16> {
    let r = &mut protocol::Reader::new(answer, false);
    let mut codes = Vec::new();
    for _ in 0..r.count(1).unwrap() {
        r.nullable_string().unwrap();
        for _ in 0..r.count(1).unwrap() {
            r.i32().unwrap();
            codes.push(r.i16().unwrap());
            for _ in 0..3 {
                r.i64().unwrap();
            }
            assert_eq!(r.count(1).unwrap(), 0);
            r.nullable_string().unwrap();
        }
    }
    codes
}

#[test]
fn topic_without_write_is_refused_alone_and_not_disclosed() {
    let fixture = fixture(vec![allow_write(ResourceType::Topic, "first")]);
    let mut out = Vec::new();
    let asked: &[(&str, &[i32])] = &[("second", &[0, 1]), ("first", &[0]), ("missing", &[0])];
    let served = serve(&fixture, CALLER, body(1, 1000, asked), &mut out);
    assert!(matches!(served, Served::Answered(_)));
    assert_eq!(codes(&out), [29, 29, 0, 29]);
    let end = |topic| fixture.partition(topic, 0).offsets().log_end();
    assert_eq!((end("first"), end("second")), (Offset(1), Offset(0)));
}

#[test]
fn produce_without_acks_that_is_refused_closes_the_connection() {
    let fixture = fixture(vec![]);
    let served = serve(&fixture, CALLER, body(0, 0, &[("first", &[0])]), &mut Vec::new());
    assert!(matches!(served, Served::Disconnect));
}

#[test]
fn transactional_batch_needs_write_on_its_transactional_id() {
    let of_id = |id: Option<&str>| {
        let mut out = Vec::new();
        let mut w = Writer::new(&mut out, false);
        w.nullable_string(id);
        w.i16(-1);
        w.i32(1000);
        w.length(Some(1));
        w.string("first");
        w.length(Some(1));
        w.i32(0);
        let records = transactional(1, 0, 0);
        w.length(Some(records.len()));
        w.raw(&records);
        out
    };
    let fixture = fixture(vec![
        allow_write(ResourceType::Topic, "first"),
        allow_write(ResourceType::TransactionalId, "mine"),
    ]);
    for id in [Some("theirs"), None] {
        let mut out = Vec::new();
        serve(&fixture, CALLER, of_id(id), &mut out);
        assert_eq!(codes(&out), [53], "{id:?}");
    }
    let mut out = Vec::new();
    serve(&fixture, CALLER, of_id(Some("mine")), &mut out);
    assert_ne!(codes(&out), [53]);
}

#[test]
fn topic_of_an_id_that_only_a_replica_knows_is_not_written_without_write() {
    let fixture = fixture(vec![allow_write(ResourceType::Topic, "first")]);
    fixture
        .broker
        .image()
        .withdraw_topics(&["first".to_owned(), "second".to_owned()]);
    let error = |id| answered(&fixture, Err(id), 0).error;
    assert_eq!(error([2; 16]), ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    assert_eq!(error([1; 16]), ErrorCode::NONE);
    assert_eq!(error([9; 16]), ErrorCode::UNKNOWN_TOPIC_ID);
    assert_eq!(fixture.partition("second", 0).offsets().log_end(), Offset(0));
}

#[test]
fn replica_that_comes_after_the_decision_lets_no_row_in() {
    let fixture = Fixture::new(1);
    fixture.broker.authorizer().begin(HashSet::new(), false);
    fixture.broker.authorizer().publish(vec![], true);
    let request = ProduceRequest {
        partitions: vec![ProducePartition {
            topic: TopicKey::Id([5; 16]),
            first_of_topic: true,
            index: 0,
            records: None,
        }],
        ..ProduceRequest::default()
    };
    let authorization = Authorization::new(&fixture.broker, &CALLER, "Produce");
    let decided = Unauthorized::of(&authorization, &fixture.broker, &request, &[]);
    fixture.create_with("late", [5; 16], 1, &[], &[NODE]);
    assert_eq!(
        decided.refusal(0).map(|result| result.error),
        Some(ErrorCode::UNKNOWN_TOPIC_ID)
    );
}
