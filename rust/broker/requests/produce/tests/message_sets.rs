//! Versions 0 to 2: message sets of magic 0 and 1.

use super::*;
use crate::Count;
use crate::requests::api::Errand;
use base::place::LeaderEpoch;
use protocol::Reader;
use record::legacy::{DownConverter, Magic};
use record::{Batch, BatchBuilder, Codec};

/// A message set with these values.
fn set(magic: Magic, codec: Codec, values: &[&[u8]]) -> Vec<u8> {
    let mut builder = BatchBuilder::new(codec);
    for value in values {
        builder.append(START_MS, Some(b"k"), Some(value), &[]);
    }
    let bytes = builder.build(Offset(0), LeaderEpoch::NONE);
    let (batch, _) = Batch::split_first(&bytes).unwrap().unwrap();
    let mut set = Vec::new();
    DownConverter::new(magic).push(&batch, Offset(0), &mut set).unwrap();
    set
}

/// A body for partition 0 of topic `t`.
fn old_body(acks: i16, records: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, false);
    w.i16(acks);
    w.i32(1000);
    w.length(Some(1));
    w.string("t");
    w.length(Some(1));
    w.i32(0);
    w.length(Some(records.len()));
    w.raw(records);
    out
}

/// The outcome on the thread to which a network loop leaves the request, and the answer.
fn produced(fixture: &Fixture, version: i16, mut body: Vec<u8>) -> (Served, Vec<u8>) {
    let mut out = Vec::new();
    let scratch = &mut Scratch::default();
    let served = Produce.serve(request(&fixture.broker, version, &mut body, scratch), &mut out);
    let Ok(Served::Elsewhere(Errand::Append(mut left))) = served else {
        panic!("a network loop converts nothing")
    };
    assert!(out.is_empty());
    while !left.run(&fixture.broker, &mut body, (Instant::now(), START_MS)) {}
    let served = left.finish(&fixture.broker, (CALLER, Instant::now()), &body, &mut out);
    (served, out)
}

/// The error, the base offset and, from version 2 on, the append time of an answer.
fn result(version: i16, answer: &[u8]) -> (ErrorCode, i64, Option<i64>) {
    let mut r = Reader::new(answer, false);
    assert_eq!((r.count(1), r.str(), r.count(1)), (Ok(1), Ok("t"), Ok(1)));
    assert_eq!(r.i32(), Ok(0));
    let (error, base_offset) = (ErrorCode(r.i16().unwrap()), r.i64().unwrap());
    let append_time = (version >= 2).then(|| r.i64().unwrap());
    if version >= 1 {
        assert_eq!(r.i32(), Ok(0));
    }
    assert_eq!(r.remaining(), 0);
    (error, base_offset, append_time)
}

fn fixture() -> Fixture {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    fixture
}

#[test]
fn message_sets_of_every_codec_are_appended_as_batches() {
    let fixture = fixture();
    let mut next = 0;
    for (version, magic) in [(0, Magic::V0), (1, Magic::V0), (2, Magic::V1), (2, Magic::V0)] {
        for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4] {
            let body = old_body(1, &set(magic, codec, &[b"a", b"b"]));
            let (served, answer) = produced(&fixture, version, body);
            assert!(matches!(served, Served::Answered(_)));
            let append_time = (version >= 2).then_some(-1);
            assert_eq!(result(version, &answer), (ErrorCode::NONE, next, append_time));
            next += 2;
        }
    }
    assert_eq!(fixture.partition("t", 0).offsets().log_end, Offset(next));
    let counted = fixture.broker.metrics.totals().0[Count::ProduceMessageConversions as usize];
    assert_eq!(i64::try_from(counted), Ok(next));
}

#[test]
fn set_without_a_whole_message_is_answered_without_an_error() {
    let fixture = fixture();
    let whole = set(Magic::V1, Codec::None, &[b"a"]);
    let (_, answer) = produced(&fixture, 2, old_body(1, &whole[..whole.len() - 1]));
    assert_eq!(result(2, &answer), (ErrorCode::NONE, -1, Some(-1)));
    assert_eq!(fixture.partition("t", 0).offsets().log_end, Offset(0));
}

#[test]
fn set_with_a_wrong_checksum_is_refused_and_closes_a_connection_without_acks() {
    let fixture = fixture();
    let mut bad = set(Magic::V1, Codec::None, &[b"a"]);
    *bad.last_mut().unwrap() ^= 1;
    let (_, answer) = produced(&fixture, 2, old_body(1, &bad));
    assert_eq!(result(2, &answer).0, ErrorCode::CORRUPT_MESSAGE);
    assert!(matches!(produced(&fixture, 2, old_body(0, &bad)).0, Served::Disconnect));
    let good = set(Magic::V1, Codec::None, &[b"a"]);
    assert!(matches!(produced(&fixture, 0, old_body(0, &good)).0, Served::Silent));
}

#[test]
fn set_waits_for_replicas_like_a_batch() {
    let fixture = Fixture::new(1);
    fixture.create_with("t", [1; 16], 1, &[], &[NODE, 2]);
    let body = old_body(-1, &set(Magic::V1, Codec::None, &[b"a"]));
    assert!(matches!(produced(&fixture, 2, body).0, Served::Delayed(_)));
}

#[test]
fn set_that_inflates_to_much_goes_on_among_the_large_requests() {
    let fixture = fixture();
    let zeros = vec![0; 900_000];
    let body = old_body(1, &set(Magic::V1, Codec::Gzip, &[&zeros, &zeros]));
    let (_, answer) = produced(&fixture, 2, body);
    assert_eq!(result(2, &answer).0, ErrorCode::NONE);
    let partition = fixture.partition("t", 0);
    assert!(partition.log().size_bytes() < 100_000, "it keeps its codec");
}
