use super::*;
use crate::requests::waiters::{WaitKind, Waiter};
use crate::testing::{CALLER, Calls, Fixture, NODE, START_MS, batch, give, lease, request};
use crate::{Attempt, Delayed, Options, Scratch, Tried};
use protocol::Writer;
use record::Origin;

mod authorization;
mod closest;
mod log_start;

/// What a request says besides its partitions of topic `t`.
#[derive(Clone, Copy)]
struct Ask {
    wait_ms: i32,
    min_bytes: i32,
    max_bytes: i32,
}

const AT_ONCE: Ask = Ask {
    wait_ms: 0,
    min_bytes: 1,
    max_bytes: 1 << 20,
};
const WAITING: Ask = Ask {
    wait_ms: 1000,
    ..AT_ONCE
};

/// A version 9 body for rows of (partition, leader epoch, offset).
fn body(ask: Ask, rows: &[(i32, i32, i64)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, false);
    for value in [-1, ask.wait_ms, ask.min_bytes, ask.max_bytes] {
        w.i32(value);
    }
    w.raw(&[0]);
    w.i32(0);
    w.i32(-1);
    w.length(Some(1));
    w.string("t");
    w.length(Some(rows.len()));
    for &(index, epoch, offset) in rows {
        w.i32(index);
        w.i32(epoch);
        w.i64(offset);
        w.i64(-1);
        w.i32(1 << 20);
    }
    w.length(Some(0));
    out
}

fn serve(fixture: &Fixture, body: &[u8]) -> (Served, Vec<u8>) {
    serve_version(fixture, 9, body)
}

fn serve_version(fixture: &Fixture, version: i16, body: &[u8]) -> (Served, Vec<u8>) {
    let (mut out, mut body) = (Vec::new(), body.to_vec());
    let scratch = &mut Scratch::default();
    let asked = request(&fixture.broker, version, &mut body, scratch);
    let served = Fetch.serve(asked, &mut out).unwrap();
    (served, out)
}

fn parked(served: Served) -> Box<dyn Delayed> {
    match served {
        Served::Delayed(delayed) => delayed,
        _ => panic!("it should wait"),
    }
}

fn try_complete(fixture: &Fixture, waiting: &mut dyn Delayed, is_due: bool, out: &mut Vec<u8>) -> Tried {
    let attempt = Attempt {
        broker: &fixture.broker,
        caller: CALLER,
        is_due,
        place: Place::Loop,
        now: Instant::now(),
    };
    waiting.try_complete(&attempt, out)
}

fn append(fixture: &Fixture, index: i32, value_bytes: usize) {
    let mut builder = record::BatchBuilder::new(record::Codec::None);
    builder.append(START_MS, None, Some(&vec![b'v'; value_bytes]), &[]);
    let mut bytes = builder.build(Offset(0), LeaderEpoch::NONE);
    let partition = fixture.partition("t", index);
    partition.append(&mut bytes, 1, Origin::Client, START_MS).unwrap();
}

fn fixture() -> Fixture {
    let fixture = Fixture::new(1);
    fixture.create("t", 2, &[]);
    fixture
}

// KIP-73
#[test]
fn a_consumer_is_never_held_back_by_a_throttle_of_replicas() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[("leader.replication.throttled.replicas", "*")]);
    append(&fixture, 0, 1000);
    fixture.broker.set_options(Options {
        leader_throttled_rate: 1,
        ..Options::default()
    });
    fixture.broker.throttles.leader.record(1_000_000, Instant::now());
    let (_, answer) = serve(&fixture, &body(AT_ONCE, &[(0, -1, 0)]));
    assert!(answer.len() > 1000, "{} bytes", answer.len());
}

// All four conditions, each missing once
#[test]
fn a_fetch_waits_only_if_all_four_conditions_hold() {
    let fixture = fixture();
    let is_parked = |ask, rows: &[_]| matches!(serve(&fixture, &body(ask, rows)).0, Served::Delayed(_));
    let empty = (0, -1, 0);
    assert!(is_parked(WAITING, &[empty]));
    assert!(!is_parked(AT_ONCE, &[empty]), "no wait");
    assert!(!is_parked(WAITING, &[]), "no partitions");
    assert!(
        !is_parked(
            Ask {
                min_bytes: 0,
                ..WAITING
            },
            &[empty]
        ),
        "enough bytes"
    );
    assert!(!is_parked(WAITING, &[empty, (9, -1, 0)]), "a partition failed");
    append(&fixture, 1, 100);
    assert!(!is_parked(WAITING, &[empty, (1, -1, 0)]), "enough bytes in another");
}

#[test]
fn a_parked_fetch_completes_with_enough_bytes_or_when_it_is_due() {
    let fixture = fixture();
    let ask = Ask {
        min_bytes: 300,
        ..WAITING
    };
    let mut waiting = parked(serve(&fixture, &body(ask, &[(0, -1, 0), (1, -1, 0)])).0);
    let mut try_at = |is_due| {
        let mut out = Vec::new();
        let done = try_complete(&fixture, &mut *waiting, is_due, &mut out);
        (matches!(done, Tried::Answered(_)), out.is_empty())
    };
    assert_eq!(try_at(false), (false, true));
    append(&fixture, 0, 100);
    assert_eq!(try_at(false), (false, true));
    assert_eq!(try_at(true), (true, false));
    append(&fixture, 1, 100);
    assert_eq!(try_at(false), (true, false));
}

#[test]
fn a_parked_fetch_completes_when_a_partition_is_lost_or_gets_a_new_epoch() {
    for (epoch, next) in [(-1, None), (0, Some(lease(1, &[NODE], &[NODE])))] {
        let fixture = fixture();
        let mut waiting = parked(serve(&fixture, &body(WAITING, &[(0, -1, 0), (1, epoch, 0)])).0);
        give(&fixture.partition("t", 1), next);
        let done = try_complete(&fixture, &mut *waiting, false, &mut Vec::new());
        assert!(matches!(done, Tried::Answered(_)), "epoch {epoch}");
    }
}

#[test]
fn watching_and_forgetting_reach_every_partition() {
    let fixture = fixture();
    let waiting = parked(serve(&fixture, &body(WAITING, &[(0, -1, 0), (1, -1, 0)])).0);
    let owner = Arc::new(Calls::default());
    let waiter = Waiter { owner, operation: 5 };
    let watched = || [0, 1].map(|i| fixture.partition("t", i).waiters().len(WaitKind::Fetch));
    waiting.watch(&waiter);
    assert_eq!(watched(), [1, 1]);
    waiting.forget(&waiter);
    assert_eq!(watched(), [0, 0]);
}

#[test]
fn large_slices_are_spliced_and_small_ones_copied() {
    let fixture = fixture();
    append(&fixture, 0, INLINE_BYTES);
    append(&fixture, 1, 100);
    let (outcome, out) = serve(&fixture, &body(AT_ONCE, &[(0, -1, 0), (1, -1, 0)]));
    let Served::Answered(Rest::Files(splices)) = outcome else {
        panic!("it should be answered")
    };
    assert_eq!(splices.len(), 1);
    assert!(splices[0].slice.len >= INLINE_BYTES && splices[0].at < out.len());
    assert!(out.len() > batch(START_MS).len() + 100, "the small one is inside");
}

// KIP-74
#[test]
fn only_the_first_batch_may_exceed_the_limit() {
    let fixture = fixture();
    append(&fixture, 0, 2000);
    append(&fixture, 1, 2000);
    let ask = Ask {
        max_bytes: 10,
        ..AT_ONCE
    };
    let (_, one) = serve(&fixture, &body(ask, &[(0, -1, 0), (1, -1, 0)]));
    assert!((2000..4000).contains(&one.len()), "{} bytes", one.len());
}

// `max_bytes` is over all partitions; only the first batch may exceed it.
#[test]
fn partitions_share_the_bytes_of_a_fetch() {
    let fixture = fixture();
    for index in [0, 1] {
        (0..10).for_each(|_| append(&fixture, index, 1000));
    }
    let rows = [(0, -1, 0), (1, -1, 0)];
    let answered = |max_bytes| serve(&fixture, &body(Ask { max_bytes, ..AT_ONCE }, &rows)).1.len();
    let (all, nothing) = (answered(1 << 20), answered(0));
    assert!(all > 20_000, "{all} bytes");
    assert!(
        (1000..2200).contains(&nothing),
        "{nothing} bytes: one batch, whatever the limit"
    );
    for max_bytes in [5000, 12_000, 15_000] {
        let bytes = answered(max_bytes);
        let limit = usize::try_from(max_bytes).unwrap();
        assert!(
            (limit - 2200..limit + 200).contains(&bytes),
            "{bytes} bytes of {max_bytes}"
        );
    }
}
