//! A batch that comes before its partition does is waited for once the partition is here (P2).

use super::*;
use crate::requests::produce::appending::absent_topic;
use base::place::LeaderEpoch;
use protocol::{Reader, TopicKey};
use record::{BatchBuilder, Codec};

const ID: [u8; 16] = [7; 16];
const REFUSED: ErrorCode = ErrorCode::NOT_LEADER_OR_FOLLOWER;
/// From this version on a request has its topics by id.
const BY_ID: i16 = 13;
const BY_NAME: i16 = 9;

/// Sends a batch of one record to `t`-0; returns its error.
fn send(fixture: &Fixture, version: i16, producer_id: i64, sequence: i32, now_ms: i64) -> ErrorCode {
    let mut builder = BatchBuilder::new(Codec::None).producer(producer_id, 0, sequence);
    builder.append(START_MS, Some(b"key"), Some(b"value"), &[]);
    let records = builder.build(Offset(0), LeaderEpoch::NONE);
    let (mut body, mut out) = (Vec::new(), Vec::new());
    let mut w = Writer::new(&mut body, true);
    w.nullable_string(None);
    w.i16(1);
    w.i32(1000);
    w.length(Some(1));
    if version >= BY_ID {
        w.raw(&ID);
    } else {
        w.string("t");
    }
    w.length(Some(1));
    w.i32(0);
    w.length(Some(records.len()));
    w.raw(&records);
    for _ in 0..3 {
        w.no_tags();
    }
    let scratch = &mut Scratch::default();
    let asked = Request {
        now_ms,
        ..request(&fixture.broker, version, &mut body, scratch)
    };
    assert!(matches!(Produce.serve(asked, &mut out), Ok(Served::Answered(_))));
    let mut r = Reader::new(&out, true);
    r.count(1).unwrap();
    if version >= BY_ID {
        let id = r.take(16).unwrap();
        assert_eq!(out[id], ID);
    } else {
        assert_eq!(r.str().unwrap(), "t");
    }
    r.count(1).unwrap();
    r.i32().unwrap();
    ErrorCode(r.i16().unwrap())
}

#[test]
fn batch_behind_one_that_came_before_its_partition_is_refused_until_that_one_comes_again() {
    for version in [BY_NAME, BY_ID] {
        let fixture = Fixture::new(1);
        let first = send(&fixture, version, 5, 0, START_MS);
        assert!(matches!(
            first,
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::UNKNOWN_TOPIC_ID
        ));
        fixture.create_with("t", ID, 1, &[], &[NODE]);
        let sent = |sequence| send(&fixture, version, 5, sequence, START_MS + 1);
        assert_eq!(sent(1), REFUSED, "the first is still to come");
        assert_eq!(sent(0), ErrorCode::NONE);
        assert_eq!(sent(1), ErrorCode::NONE);
        assert_eq!(sent(3), ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, "nothing is to come");
    }
}

#[test]
fn batch_that_came_before_its_partition_is_waited_for_ten_seconds_and_holds_no_other_producer_back() {
    for (later_ms, expected) in [(9_999, REFUSED), (10_000, ErrorCode::NONE), (-1, ErrorCode::NONE)] {
        let fixture = Fixture::new(1);
        send(&fixture, BY_NAME, 5, 0, START_MS);
        fixture.create_with("t", ID, 1, &[], &[NODE]);
        assert_eq!(send(&fixture, BY_NAME, 6, 1, START_MS), ErrorCode::NONE);
        assert_eq!(
            send(&fixture, BY_NAME, 5, 1, START_MS + later_ms),
            expected,
            "{later_ms} ms later"
        );
    }
}

#[test]
fn batch_for_a_name_that_no_topic_has_is_not_noted() {
    for (name, is_noted) in [("t".repeat(249), true), ("t".repeat(250), false), ("..".into(), false)] {
        let found = absent_topic(&TopicKey::Name(0..name.len()), name.as_bytes());
        assert_eq!(found.is_some(), is_noted, "{name}");
    }
}
