use crate::testing::{Fixture, NODE, START_MS, batch, give, lease, request};
use std::time::Instant;

use super::*;
use crate::{FollowerFetch, Scratch};
use protocol::{Reader, Writer};
use record::Origin;

/// A version 5 body for partitions of topic `t`: (partition, leader epoch, timestamp).
fn body(replica_id: i32, isolation_level: u8, rows: &[(i32, i32, i64)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, false);
    w.i32(replica_id);
    w.raw(&[isolation_level]);
    w.length(Some(1));
    w.string("t");
    w.length(Some(rows.len()));
    for &(index, epoch, timestamp) in rows {
        w.i32(index);
        w.i32(epoch);
        w.i64(timestamp);
    }
    out
}

/// (error, timestamp, offset, leader epoch) of each row.
fn rows(body: &[u8]) -> Vec<(i16, i64, i64, i32)> {
    let mut r = Reader::new(body, false);
    assert_eq!((r.i32().unwrap(), r.count(1).unwrap()), (0, 1));
    r.string().unwrap();
    let row = |r: &mut Reader<'_>| {
        r.i32().unwrap();
        (r.i16().unwrap(), r.i64().unwrap(), r.i64().unwrap(), r.i32().unwrap())
    };
    (0..r.count(1).unwrap()).map(|_| row(&mut r)).collect()
}

/// What becomes of a body at a place, and the answer.
fn serve_at(place: Place, fixture: &Fixture, version: i16, body: &[u8]) -> (Served, Vec<u8>) {
    let (mut body, mut out) = (body.to_vec(), Vec::new());
    let scratch = &mut Scratch::default();
    let asked = Request {
        place,
        ..request(&fixture.broker, version, &mut body, scratch)
    };
    let served = ListOffsets.serve(asked, &mut out).unwrap();
    (served, out)
}

/// The answer, on a disk thread where a network loop leaves it to one.
fn answered(fixture: &Fixture, version: i16, body: &[u8]) -> Vec<u8> {
    match serve_at(Place::Loop, fixture, version, body) {
        (Served::Answered(Rest::Nothing), out) => out,
        (Served::Elsewhere(Errand::Serve(Thread::Disk)), out) => {
            assert!(out.is_empty());
            let (served, out) = serve_at(Place::Elsewhere, fixture, version, body);
            assert!(matches!(served, Served::Answered(Rest::Nothing)));
            out
        }
        _ => panic!("it is small"),
    }
}

fn ask(fixture: &Fixture, body: &[u8]) -> Vec<(i16, i64, i64, i32)> {
    rows(&answered(fixture, 5, body))
}

/// Offsets 0 to 2 at the start, 10 and 20 ms later; the last one is past the high watermark.
fn fixture() -> Fixture {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    let partition = fixture.partition("t", 0);
    for i in 0..3 {
        if i == 2 {
            give(&partition, Some(lease(1, &[NODE, 2], &[NODE, 2])));
        }
        let mut bytes = batch(START_MS + i * 10);
        partition.append(&mut bytes, 1, Origin::Client, START_MS).unwrap();
    }
    fixture
}

#[test]
fn the_log_ends_are_answered_at_once_by_the_reader_s_bound() {
    let fixture = fixture();
    fixture.partition("t", 0).delete_records(Offset(1)).unwrap();
    let one = |target| [(0, -1, target)];
    let answered = |replica, target| ask(&fixture, &body(replica, 0, &one(target)))[0];
    assert_eq!(answered(-1, timestamp::LATEST), (0, -1, 2, 1));
    assert_eq!(answered(-1, timestamp::EARLIEST), (0, -1, 1, 0));
    assert_eq!(answered(2, timestamp::LATEST).2, 3, "a follower sees the log end");
    let latest = body(-1, 0, &one(timestamp::LATEST));
    let (served, _) = serve_at(Place::Loop, &fixture, 5, &latest);
    assert!(matches!(served, Served::Answered(_)), "no disk thread");
}

#[test]
fn a_timestamp_finds_the_first_record_at_or_after_it_below_the_bound() {
    let fixture = fixture();
    let find = |target| ask(&fixture, &body(-1, 0, &[(0, -1, target)]))[0];
    assert_eq!(find(0), (0, START_MS, 0, 0));
    assert_eq!(find(START_MS + 1), (0, START_MS + 10, 1, 0));
    assert_eq!(find(START_MS + 11), (0, -1, -1, -1), "past the high watermark");
    assert_eq!(find(i64::MAX), (0, -1, -1, -1));
}

/// KIP-207: a new leader does not tell an end below what the old one had committed.
#[test]
fn log_end_is_not_available_before_the_high_watermark_has_reached_the_epoch() {
    let fixture = fixture();
    let partition = fixture.partition("t", 0);
    give(&partition, Some(lease(2, &[NODE, 2], &[NODE, 2])));
    let asked = |version: i16, replica: i32, target: i64| {
        let answer = answered(&fixture, version, &body(replica, 0, &[(0, -1, target)]));
        rows(&answer)[0]
    };
    let not_yet = ErrorCode::OFFSET_NOT_AVAILABLE.0;
    assert_eq!(asked(5, -1, timestamp::LATEST).0, not_yet);
    assert_eq!(asked(5, -1, START_MS + 11).0, not_yet);
    assert_eq!(asked(5, -1, START_MS + 1).2, 1, "what is below is known");
    assert_eq!(asked(5, -1, timestamp::EARLIEST).2, 0);
    assert_eq!(asked(5, 2, timestamp::LATEST).2, 3, "a follower sees the log end");
    let fetch = FollowerFetch {
        node_id: 2,
        broker_epoch: -1,
        leader_epoch: LeaderEpoch::NONE,
        log_start: Offset(0),
        log_end: Offset(3),
    };
    assert_eq!(partition.note_follower(fetch, Instant::now()), None);
    assert_eq!(asked(5, -1, timestamp::LATEST).2, 3);
}

#[test]
fn each_partition_has_its_own_error() {
    let fixture = fixture();
    for (epoch, expected) in [
        (0, ErrorCode::FENCED_LEADER_EPOCH),
        (5, ErrorCode::UNKNOWN_LEADER_EPOCH),
        (1, ErrorCode::NONE),
    ] {
        let asked = [(0, epoch, -1), (7, -1, -1)];
        let codes: Vec<_> = ask(&fixture, &body(-1, 0, &asked)).iter().map(|r| r.0).collect();
        assert_eq!(codes, [expected.0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0]);
    }
    fixture.partition("t", 0).revoke();
    let code = ask(&fixture, &body(-1, 0, &[(0, -1, -1)]))[0].0;
    assert_eq!(code, ErrorCode::NOT_LEADER_OR_FOLLOWER.0);
}

#[test]
fn a_partition_elsewhere_is_not_unknown() {
    let fixture = fixture();
    fixture
        .broker
        .image
        .publish_topics(vec![crate::testing::row("t", [7; 16], 2)]);
    let code = ask(&fixture, &body(-1, 0, &[(1, -1, -1)]))[0].0;
    assert_eq!(code, ErrorCode::NOT_LEADER_OR_FOLLOWER.0);
}

#[test]
fn a_special_timestamp_of_a_later_version_is_refused() {
    let fixture = fixture();
    let code = ask(&fixture, &body(-1, 0, &[(0, -1, timestamp::MAX)]))[0].0;
    assert_eq!(
        code,
        ErrorCode::UNSUPPORTED_VERSION.0,
        "MAX is served from version 7 on"
    );
}

/// Kafka answers a partition that is named twice with `INVALID_REQUEST`, and so a million of them cost no look-up.
#[test]
fn partition_that_is_named_twice_is_refused_each_time() {
    let fixture = fixture();
    let rows = [(0, -1, 0), (0, -1, timestamp::LATEST), (1, -1, timestamp::LATEST)];
    let answered = ask(&fixture, &body(-1, 0, &rows));
    let refused = (ErrorCode::INVALID_REQUEST.0, -1, -1, -1);
    assert_eq!(answered[..2], [refused, refused]);
    assert_eq!(answered[2].0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0, "named once");
}

#[test]
fn request_of_many_partitions_is_left_by_a_loop_and_served_elsewhere() {
    let fixture = fixture();
    let rows: Vec<_> = (0..2000).map(|index| (index, -1, timestamp::LATEST)).collect();
    let many = body(-1, 0, &rows);
    let (served, out) = serve_at(Place::Loop, &fixture, 5, &many);
    assert!(matches!(served, Served::Elsewhere(Errand::Serve(Thread::Request))) && out.is_empty());
    let (served, out) = serve_at(Place::Elsewhere, &fixture, 5, &many);
    assert!(matches!(served, Served::Answered(_)));
    assert_eq!(super::tests::rows(&out)[0], (0, -1, 2, 1));
}

/// A version 0 body for partition 0 of topic `t`.
fn oldest_body(replica_id: i32, timestamp: i64, max_num_offsets: i32) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, false);
    w.i32(replica_id);
    w.length(Some(1));
    w.string("t");
    w.length(Some(1));
    w.i32(0);
    w.i64(timestamp);
    w.i32(max_num_offsets);
    out
}

/// The offsets of the answer to a version 0 request.
fn oldest(fixture: &Fixture, replica_id: i32, timestamp: i64, max_num_offsets: i32) -> Vec<i64> {
    let answer = answered(fixture, 0, &oldest_body(replica_id, timestamp, max_num_offsets));
    let mut r = Reader::new(&answer, false);
    assert_eq!((r.count(1), r.str(), r.count(1)), (Ok(1), Ok("t"), Ok(1)));
    assert_eq!((r.i32(), r.i16()), (Ok(0), Ok(0)));
    (0..r.count(8).unwrap()).map(|_| r.i64().unwrap()).collect()
}

#[test]
fn version_0_lists_where_segments_begin_the_greatest_first() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[("segment.bytes", "100")]);
    assert_eq!(oldest(&fixture, -1, timestamp::LATEST, 9), [0], "an empty log");
    let partition = fixture.partition("t", 0);
    for _ in 0..3 {
        let mut bytes = batch(START_MS);
        partition.append(&mut bytes, 1, Origin::Client, START_MS).unwrap();
    }
    assert_eq!(oldest(&fixture, -1, timestamp::LATEST, 9), [3, 2, 1, 0]);
    assert_eq!(oldest(&fixture, -1, timestamp::LATEST, 2), [3, 2]);
    assert_eq!(oldest(&fixture, -1, timestamp::LATEST, 0), [] as [i64; 0]);
    assert_eq!(oldest(&fixture, -1, timestamp::LATEST, -1), [] as [i64; 0]);
    assert_eq!(oldest(&fixture, -1, timestamp::EARLIEST, 9), [0]);
    partition.delete_records(Offset(2)).unwrap();
    assert_eq!(oldest(&fixture, -1, timestamp::EARLIEST, 9), [2]);
}

#[test]
fn version_0_finds_the_segments_that_were_not_written_after_a_time() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[("segment.bytes", "100")]);
    let partition = fixture.partition("t", 0);
    for _ in 0..3 {
        let mut bytes = batch(START_MS);
        partition.append(&mut bytes, 1, Origin::Client, START_MS).unwrap();
    }
    let paths: Vec<_> = partition.log().segments().map(|(_, path, _)| path.to_owned()).collect();
    for (path, seconds) in paths.iter().zip([1, 2, 3]) {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        let at = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        file.set_modified(at).unwrap();
    }
    assert_eq!(oldest(&fixture, -1, 2500, 9), [1, 0]);
    assert_eq!(oldest(&fixture, -1, 2500, 1), [1]);
    assert_eq!(oldest(&fixture, -1, 999, 9), [] as [i64; 0]);
    assert_eq!(oldest(&fixture, -1, 3000, 9), [2, 1, 0]);
    assert_eq!(
        oldest(&fixture, -1, i64::MAX, 9),
        [3, 2, 1, 0],
        "the log's end has the time of now"
    );
}

#[test]
fn version_0_refuses_the_timestamps_of_later_versions() {
    let answer = answered(&fixture(), 0, &oldest_body(-1, timestamp::MAX, 1));
    assert_eq!(answer[15..17], ErrorCode::UNSUPPORTED_VERSION.0.to_be_bytes());
}

#[test]
fn version_0_tells_a_consumer_the_high_watermark_instead_of_offsets_past_it() {
    let fixture = fixture();
    assert_eq!(oldest(&fixture, -1, timestamp::LATEST, 1), [2]);
    assert_eq!(oldest(&fixture, -2, timestamp::LATEST, 1), [3], "a debugging consumer");
}
