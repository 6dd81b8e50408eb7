use std::time::Instant;

use super::super::Fetch;
use super::*;
use crate::requests::api::{Api, Errand, Place, Request, Rest, Served, Thread};
use crate::testing::{CALLER, Fixture, START_MS, request};
use crate::{Attempt, Count, Scratch, Tried};
use protocol::{Reader, Writer};
use record::{BatchBuilder, Codec, Origin, end_transaction_marker};

/// What a request for partition 0 of topic `t` says.
#[derive(Clone, Copy)]
struct Ask {
    version: i16,
    offset: i64,
    wait_ms: i32,
    partition_max_bytes: i32,
}

const ASK: Ask = Ask {
    version: 2,
    offset: 0,
    wait_ms: 0,
    partition_max_bytes: 1 << 20,
};

fn body(ask: Ask) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, false);
    w.i32(-1);
    w.i32(ask.wait_ms);
    w.i32(1);
    if ask.version >= MAX_BYTES_FROM {
        w.i32(1 << 20);
    }
    w.length(Some(1));
    w.string("t");
    w.length(Some(1));
    w.i32(0);
    w.i64(ask.offset);
    w.i32(ask.partition_max_bytes);
    out
}

fn serve(fixture: &Fixture, ask: Ask, place: Place) -> (Served, Vec<u8>) {
    let (mut out, mut body) = (Vec::new(), body(ask));
    let scratch = &mut Scratch::default();
    let asked = Request {
        place,
        ..request(&fixture.broker, ask.version, &mut body, scratch)
    };
    let served = Fetch.serve(asked, &mut out).unwrap();
    (served, out)
}

/// The error and the message set of an answer.
fn read(version: i16, answer: &[u8]) -> (ErrorCode, Vec<u8>) {
    let mut r = Reader::new(answer, false);
    if version >= 1 {
        assert_eq!(r.i32(), Ok(0));
    }
    assert_eq!((r.count(1), r.str(), r.count(1)), (Ok(1), Ok("t"), Ok(1)));
    assert_eq!(r.i32(), Ok(0));
    let error = ErrorCode(r.i16().unwrap());
    r.i64().unwrap();
    let set = r.nullable_bytes().unwrap().unwrap();
    assert_eq!(r.remaining(), 0);
    (error, answer[set].to_vec())
}

fn fetch(fixture: &Fixture, ask: Ask) -> (ErrorCode, Vec<u8>) {
    let (served, answer) = serve(fixture, ask, Place::Elsewhere);
    assert!(matches!(served, Served::Answered(Rest::Files(files)) if files.is_empty()));
    read(ask.version, &answer)
}

/// The offsets and magics of the whole messages of a set, and the bytes that are left.
fn messages(set: &[u8]) -> (Vec<(i64, i8)>, usize) {
    let (mut found, mut rest) = (Vec::new(), set);
    while let Some(head) = rest.get(..17) {
        let size = 12 + u32::from_be_bytes(head[8..12].try_into().unwrap()) as usize;
        if rest.len() < size {
            break;
        }
        found.push((i64::from_be_bytes(head[..8].try_into().unwrap()), head[16] as i8));
        rest = &rest[size..];
    }
    (found, rest.len())
}

fn append(fixture: &Fixture, codec: Codec, values: &[&[u8]]) {
    let mut builder = BatchBuilder::new(codec);
    for value in values {
        builder.append(START_MS, Some(b"k"), Some(value), &[]);
    }
    let mut bytes = builder.build(Offset(0), LeaderEpoch::NONE);
    let partition = fixture.partition("t", 0);
    partition.append(&mut bytes, 1, Origin::Client, START_MS).unwrap();
}

fn append_marker(fixture: &Fixture) {
    let mut marker = end_transaction_marker(true, 7, 0, 0, START_MS);
    let partition = fixture.partition("t", 0);
    partition.append(&mut marker, 1, Origin::Coordinator, START_MS).unwrap();
}

fn fixture() -> Fixture {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    fixture
}

#[test]
fn batches_become_messages_of_the_magic_of_the_version() {
    let fixture = fixture();
    append(&fixture, Codec::None, &[b"a", b"b"]);
    append(&fixture, Codec::None, &[b"c"]);
    for (version, magic) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
        let (error, set) = fetch(&fixture, Ask { version, ..ASK });
        assert_eq!(error, ErrorCode::NONE);
        let all = [0, 1, 2].map(|offset| (offset, magic));
        assert_eq!(messages(&set), (all.to_vec(), 0), "version {version}");
        let (_, set) = fetch(
            &fixture,
            Ask {
                version,
                offset: 1,
                ..ASK
            },
        );
        assert_eq!(messages(&set).0, all[1..], "version {version}");
    }
    let counted = fixture.broker.metrics.totals().0[Count::FetchMessageConversions as usize];
    assert_eq!(counted, 4 * (3 + 2));
}

#[test]
fn network_loop_converts_nothing() {
    let fixture = fixture();
    for version in 0..BATCHES_FROM {
        let (served, answer) = serve(&fixture, Ask { version, ..ASK }, Place::Loop);
        assert!(matches!(served, Served::Elsewhere(Errand::Serve(Thread::Inflate))));
        assert!(answer.is_empty());
    }
    let (served, _) = serve(&fixture, Ask { wait_ms: 1000, ..ASK }, Place::Elsewhere);
    let Served::Delayed(waiting) = served else {
        panic!("an empty log waits")
    };
    assert!(
        waiting.is_large() && waiting.inflates(),
        "its loop leaves it to another thread"
    );
}

// KIP-74
#[test]
fn set_is_cut_at_the_limit_before_version_3() {
    let fixture = fixture();
    append(&fixture, Codec::None, &[&[b'x'; 500], &[b'y'; 500]]);
    let limited = |version, partition_max_bytes| {
        let (_, set) = fetch(
            &fixture,
            Ask {
                version,
                partition_max_bytes,
                ..ASK
            },
        );
        (messages(&set).0.len(), set.len())
    };
    assert_eq!(
        limited(2, 100),
        (0, 100),
        "the client learns that its fetch is too small"
    );
    assert_eq!(limited(2, 700), (1, 700));
    assert_eq!(limited(2, 0), (0, 0));
    assert_eq!(limited(3, 100).0, 2, "the first batch goes on");
    append(&fixture, Codec::None, &[&[b'z'; 500]]);
    assert_eq!(limited(3, 100).0, 2, "and no other");
}

#[test]
fn control_batches_are_left_out_and_the_fetch_goes_on_behind_them() {
    let fixture = fixture();
    append_marker(&fixture);
    append_marker(&fixture);
    let waiting = Ask { wait_ms: 1000, ..ASK };
    let (served, _) = serve(&fixture, waiting, Place::Elsewhere);
    let Served::Delayed(mut waiting) = served else {
        panic!("markers alone are nothing to answer")
    };
    append(&fixture, Codec::None, &[b"a"]);
    let mut answer = Vec::new();
    let attempt = Attempt {
        broker: &fixture.broker,
        caller: CALLER,
        is_due: false,
        place: Place::Elsewhere,
        now: Instant::now(),
    };
    assert!(matches!(
        waiting.try_complete(&attempt, &mut answer),
        Tried::Answered(_)
    ));
    assert_eq!(messages(&read(2, &answer).1).0, [(2, 1)]);
    let narrow = Ask {
        version: 3,
        partition_max_bytes: 1,
        ..ASK
    };
    assert_eq!(messages(&fetch(&fixture, narrow).1).0, [(2, 1)], "whatever the limit");
}

#[test]
fn zstd_is_refused_once_it_is_first() {
    let fixture = fixture();
    append(&fixture, Codec::None, &[b"a"]);
    append(&fixture, Codec::Zstd, &[b"b"]);
    let (error, set) = fetch(&fixture, ASK);
    assert_eq!((error, messages(&set).0), (ErrorCode::NONE, vec![(0, 1)]));
    let (error, set) = fetch(&fixture, Ask { offset: 1, ..ASK });
    assert_eq!((error, set.len()), (ErrorCode::UNSUPPORTED_COMPRESSION_TYPE, 0));
}

#[test]
fn wrappers_keep_the_codec() {
    let fixture = fixture();
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4] {
        append(&fixture, codec, &[&[b'x'; 500], &[b'y'; 500]]);
    }
    let (_, set) = fetch(&fixture, ASK);
    assert_eq!(messages(&set).0, [(1, 1), (3, 1), (5, 1)], "the last offset of each");
    assert!(set.len() < 1000);
}

#[test]
fn response_stops_at_its_bound() {
    let fixture = fixture();
    let value = vec![b'x'; 1_000_000];
    for _ in 0..5 {
        append(&fixture, Codec::None, &[&value]);
    }
    let ask = Ask {
        partition_max_bytes: i32::MAX,
        ..ASK
    };
    let (_, set) = fetch(&fixture, ask);
    assert_eq!(set.len(), CONVERTED_BYTES);
}

/// The records of one batch may become more bytes than a response may have.
#[test]
fn batch_is_ended_within_the_bound_and_the_next_fetch_goes_on_in_it() {
    let fixture = fixture();
    append(&fixture, Codec::None, &[&[b'x'; 500][..]; 100]);
    let ask = Ask {
        partition_max_bytes: 10_000,
        ..ASK
    };
    let mut next = 0;
    while next < 100 {
        let (_, set) = fetch(&fixture, Ask { offset: next, ..ask });
        assert!(set.len() <= 10_000);
        let (found, _) = messages(&set);
        assert_eq!(found.first(), Some(&(next, 1)));
        next = found.last().unwrap().0 + 1;
    }
}
