//! What a consumer may not read.

use std::collections::HashSet;

use super::*;
use protocol::Reader;

/// A version 13 body for partition 0 of the topic with this id.
fn body_by_id(id: [u8; 16]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, true);
    for value in [-1, AT_ONCE.wait_ms, AT_ONCE.min_bytes, AT_ONCE.max_bytes] {
        w.i32(value);
    }
    w.raw(&[0]);
    w.i32(0);
    w.i32(-1);
    w.length(Some(1));
    w.raw(&id);
    w.length(Some(1));
    w.i32(0);
    w.i32(-1);
    w.i64(0);
    w.i32(-1);
    w.i64(-1);
    w.i32(1 << 20);
    w.no_tags();
    w.no_tags();
    w.length(Some(0));
    w.string("");
    w.no_tags();
    out
}

/// The error of the only partition of a version 13 answer.
fn error_of(answer: &[u8]) -> i16 {
    let r = &mut Reader::new(answer, true);
    assert_eq!((r.i32().unwrap(), r.i16().unwrap(), r.i32().unwrap()), (0, 0, 0));
    assert_eq!(r.count(1).unwrap(), 1);
    r.uuid().unwrap();
    assert_eq!((r.count(1).unwrap(), r.i32().unwrap()), (1, 0));
    r.i16().unwrap()
}

#[test]
fn topic_of_an_id_that_only_a_replica_knows_is_not_read_without_read() {
    let fixture = fixture();
    append(&fixture, 0, 1000);
    fixture.broker.authorizer().begin(HashSet::new(), false);
    fixture.broker.authorizer().publish(vec![], true);
    let read = || serve_version(&fixture, 13, &body_by_id([7; 16])).1;
    assert_eq!(error_of(&read()), 29);
    fixture.broker.image().withdraw_topics(&["t".to_owned()]);
    let answer = read();
    assert_eq!(error_of(&answer), 29);
    assert!(answer.len() < 1000, "{} bytes", answer.len());
    assert_eq!(
        error_of(&serve_version(&fixture, 13, &body_by_id([9; 16])).1),
        100,
        "nobody knows it"
    );
}
