//! Fetches from the closest replica (KIP-392): what a leader answers, what wakes a fetch at a
//! follower.

use super::*;
use crate::testing::{broker_row, take_fetched};
use crate::{BrokerRow, Lease, Options};
use protocol::Reader;
use protocol::fetch::ABSENT_WATERMARK;
use protocol::fetch::follower::{
    self, FollowerFetchHead, FollowerFetchRow, FollowerResponse, decode_response, encode_request,
};

const OTHERS: [i32; 2] = [2, 3];
const LONG_MS: i32 = 60_000;

/// This broker is in rack a, the others are in b and c; all have the partition and are in sync.
pub(super) fn leader() -> Fixture {
    let fixture = Fixture::new(1);
    fixture.broker.set_options(Options {
        is_rack_aware: true,
        ..Options::default()
    });
    fixture.create_with("t", [7; 16], 1, &[], &[NODE, OTHERS[0], OTHERS[1]]);
    let in_rack = |(node_id, rack): (i32, &str)| BrokerRow {
        rack: Some(rack.to_owned()),
        ..broker_row(node_id)
    };
    let racks = [(NODE, "a"), (OTHERS[0], "b"), (OTHERS[1], "c")];
    let brokers = racks.into_iter().map(in_rack).collect();
    fixture.broker.image.publish_cluster(brokers, NODE);
    fixture
}

/// A consumer's fetch of `t`-0 in version 11.
fn consumer(rack: &str, offset: i64, wait_ms: i32) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, false);
    for value in [-1, wait_ms, 1, 1 << 20] {
        w.i32(value);
    }
    w.raw(&[0]);
    w.i32(0);
    w.i32(-1);
    w.length(Some(1));
    w.string("t");
    w.length(Some(1));
    w.i32(0);
    w.i32(-1);
    w.i64(offset);
    w.i64(-1);
    w.i32(1 << 20);
    w.length(Some(0));
    w.string(rack);
    out
}

/// Who serves it instead, and how many bytes came.
fn parsed(answer: &[u8]) -> (i16, i32, i32) {
    let mut r = Reader::new(answer, false);
    let _head = (r.i32().unwrap(), r.i16().unwrap(), r.i32().unwrap(), r.i32().unwrap());
    let _topic = (r.string().unwrap(), r.i32().unwrap(), r.i32().unwrap());
    let error = r.i16().unwrap();
    let _offsets = [r.i64().unwrap(), r.i64().unwrap(), r.i64().unwrap()];
    assert_eq!(r.i32().unwrap(), -1, "no aborted transactions");
    (error, r.i32().unwrap(), r.i32().unwrap())
}

fn ask(fixture: &Fixture, rack: &str, offset: i64) -> (i16, i32, i32) {
    let (outcome, answer) = serve_version(fixture, 11, &consumer(rack, offset, LONG_MS));
    assert!(matches!(outcome, Served::Answered(_)), "it waits");
    parsed(&answer)
}

/// A follower's fetch at `log_end`, which tells the high watermark that it knows.
fn fetch_as(fixture: &Fixture, node_id: i32, log_end: i64, knows: i64) -> (Served, FollowerResponse) {
    fetch_of(fixture, node_id, (0, log_end), knows)
}

/// The same of a log from `log_start` to `log_end`.
pub(super) fn fetch_of(
    fixture: &Fixture,
    node_id: i32,
    (log_start, log_end): (i64, i64),
    knows: i64,
) -> (Served, FollowerResponse) {
    let head = FollowerFetchHead {
        replica_id: node_id,
        replica_epoch: -1,
        max_wait_ms: LONG_MS,
        min_bytes: 1,
        max_bytes: 1 << 20,
        session_id: 0,
        session_epoch: -1,
    };
    let row = FollowerFetchRow {
        topic_id: [7; 16],
        index: 0,
        current_leader_epoch: 0,
        fetch_offset: log_end,
        last_fetched_epoch: -1,
        log_start_offset: log_start,
        max_bytes: 1 << 20,
        high_watermark: knows,
    };
    let mut body = Vec::new();
    encode_request(&mut body, &head, &[row], &[]);
    let (outcome, answer) = serve_version(fixture, follower::VERSION, &body);
    let response = if answer.is_empty() {
        FollowerResponse::default()
    } else {
        decode_response(&answer).unwrap()
    };
    (outcome, response)
}

pub(super) fn completes(fixture: &Fixture, waiting: &mut dyn Delayed) -> bool {
    let tried = try_complete(fixture, waiting, false, &mut Vec::new());
    matches!(tried, Tried::Answered(_))
}

#[test]
fn leader_sends_a_consumer_to_the_follower_in_its_rack_at_once_and_without_records() {
    let fixture = leader();
    append(&fixture, 0, 100);
    for node in OTHERS {
        fetch_as(&fixture, node, 1, ABSENT_WATERMARK);
    }
    assert_eq!(ask(&fixture, "b", 0), (0, 2, 0));
    assert_eq!(ask(&fixture, "c", 1), (0, 3, 0), "at the end, where others wait");
    for rack in ["", "a", "d"] {
        let (error, preferred, bytes) = ask(&fixture, rack, 0);
        assert_eq!((error, preferred, bytes > 100), (0, -1, true), "rack {rack:?}");
    }
    assert_eq!(ask(&fixture, "b", 2).0, ErrorCode::OFFSET_OUT_OF_RANGE.0);
}

#[test]
fn leader_keeps_consumers_while_no_selector_is_set() {
    let fixture = leader();
    append(&fixture, 0, 100);
    fetch_as(&fixture, 2, 1, ABSENT_WATERMARK);
    fetch_as(&fixture, 3, 1, ABSENT_WATERMARK);
    fixture.broker.set_options(Options::default());
    assert_eq!(ask(&fixture, "b", 0).1, -1);
}

#[test]
fn a_consumer_that_waits_at_the_leader_is_sent_away_once_the_follower_holds_its_offset() {
    let fixture = leader();
    append(&fixture, 0, 100);
    let mut waiting = parked(serve_version(&fixture, 11, &consumer("b", 1, LONG_MS)).0);
    fetch_as(&fixture, 2, 1, ABSENT_WATERMARK);
    assert!(!completes(&fixture, &mut *waiting), "nothing new");
    append(&fixture, 0, 100);
    fetch_as(&fixture, 2, 2, ABSENT_WATERMARK);
    fetch_as(&fixture, 3, 2, ABSENT_WATERMARK);
    let mut out = Vec::new();
    let tried = try_complete(&fixture, &mut *waiting, false, &mut out);
    assert!(matches!(tried, Tried::Answered(_)));
    assert_eq!(parsed(&out), (0, 2, 0));
}

#[test]
fn a_follower_that_sends_its_high_watermark_gets_a_newer_one_at_once() {
    let fixture = leader();
    append(&fixture, 0, 100);
    let mut waiting = parked(fetch_as(&fixture, 2, 1, 0).0);
    let mut silent = parked(fetch_as(&fixture, 2, 1, ABSENT_WATERMARK).0);
    assert!(
        !completes(&fixture, &mut *waiting),
        "the other follower is in sync and has not come"
    );
    let (_, of_the_last) = fetch_as(&fixture, 3, 1, 0);
    assert_eq!(of_the_last.partitions[0].high_watermark, 1, "its own fetch moved it");
    assert!(completes(&fixture, &mut *waiting));
    assert!(
        !completes(&fixture, &mut *silent),
        "it costs a fetch, so only who tells is told"
    );
    assert!(matches!(fetch_as(&fixture, 2, 1, 1).0, Served::Delayed(_)), "it knows");
}

/// One that is held back by a throttle, or behind: telling again what it cannot take over would be a fetch after the
/// other.
#[test]
fn a_follower_gets_no_high_watermark_past_its_own_end() {
    let fixture = leader();
    append(&fixture, 0, 100);
    fetch_as(&fixture, 2, 1, ABSENT_WATERMARK);
    fetch_as(&fixture, 3, 1, ABSENT_WATERMARK);
    let partition = fixture.partition("t", 0);
    assert_eq!(partition.offsets().high_watermark, Offset(1));
    assert!(!partition.has_watermark_past(Offset(0), Offset(0)));
    assert!(partition.has_watermark_past(Offset(0), Offset(1)) && !partition.has_watermark_past(Offset(1), Offset(1)));
}

/// A partition of broker 2 that this one follows, with one batch that is not committed.
fn following() -> Fixture {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    let partition = fixture.partition("t", 0);
    give(&partition, Some(lease(0, &[2, NODE], &[2, NODE])));
    take_fetched(&partition, 0, &batch(START_MS), 0);
    fixture
}

#[test]
fn a_fetch_that_waits_at_a_follower_completes_when_its_high_watermark_moves() {
    let fixture = following();
    let mut waiting = parked(serve_version(&fixture, 11, &consumer("", 0, LONG_MS)).0);
    let owner = Arc::new(Calls::default());
    let waiter = Waiter {
        owner: owner.clone(),
        operation: 5,
    };
    waiting.watch(&waiter);
    assert!(!completes(&fixture, &mut *waiting));
    take_fetched(&fixture.partition("t", 0), 0, &[], 1);
    assert_eq!(*owner.0.lock(), [5], "called");
    assert!(completes(&fixture, &mut *waiting));
    assert!(fixture.partition("t", 0).has_readers(Instant::now()));
}

#[test]
fn a_fetch_that_waits_at_a_follower_completes_when_it_follows_no_more() {
    let deposed = Lease {
        leader: -1,
        ..lease(0, &[2, NODE], &[2])
    };
    for next in [None, Some(deposed)] {
        let fixture = following();
        let mut waiting = parked(serve_version(&fixture, 11, &consumer("", 0, LONG_MS)).0);
        give(&fixture.partition("t", 0), next);
        assert!(completes(&fixture, &mut *waiting));
    }
    let fixture = following();
    let mut waiting = parked(serve_version(&fixture, 11, &consumer("", 0, LONG_MS)).0);
    give(&fixture.partition("t", 0), Some(lease(1, &[NODE, 2], &[NODE])));
    assert!(
        completes(&fixture, &mut *waiting),
        "it leads, and the record is committed"
    );
}

#[test]
fn versions_before_11_are_served_by_the_leader_alone() {
    let fixture = following();
    let (_, answer) = serve(&fixture, &body(AT_ONCE, &[(0, -1, 0)]));
    let code = i16::from_be_bytes(answer[25..27].try_into().unwrap());
    assert_eq!(code, ErrorCode::NOT_LEADER_OR_FOLLOWER.0);
}

// KIP-392: what a follower knows of is not all that there is
#[test]
fn followers_are_served_by_the_leader_alone_and_are_never_sent_elsewhere() {
    let in_rack = |rack| {
        let mut body = consumer(rack, 0, 0);
        body[..4].copy_from_slice(&OTHERS[0].to_be_bytes());
        body
    };
    let (_, refused) = serve_version(&following(), 11, &in_rack(""));
    assert_eq!(parsed(&refused).0, ErrorCode::NOT_LEADER_OR_FOLLOWER.0);
    let fixture = leader();
    append(&fixture, 0, 100);
    fetch_as(&fixture, OTHERS[1], 1, ABSENT_WATERMARK);
    let (_, answer) = serve_version(&fixture, 11, &in_rack("c"));
    let (error, preferred, bytes) = parsed(&answer);
    assert_eq!((error, preferred, bytes > 100), (0, -1, true));
}
