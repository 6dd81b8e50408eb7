//! Transactions on one partition: guards, markers, who is woken; KIP-890, H11.

use super::*;
use crate::testing::{request, transactional};
use crate::{Api, Delayed, Fetch, Scratch, Served, Tried};
use protocol::Writer;
use record::{BatchHeader, Room};
use storage::producer_state::VerificationGuard;

const PRODUCER: i64 = 40;
/// The second of the two replicas.
const FOLLOWER: i32 = 2;

fn fixture(replicas: &[i32]) -> (Fixture, Arc<Partition>) {
    let (fixture, _) = Fixture::verifying();
    fixture.create_with(TOPIC, [1; 16], 1, &[], replicas);
    let partition = fixture.partition(TOPIC, 0);
    (fixture, partition)
}

fn begin(partition: &Partition, epoch: i16, sequence: i32) -> Result<VerificationGuard, AppendError> {
    let header = BatchHeader::parse(&transactional(PRODUCER, epoch, sequence)).unwrap();
    partition.begin_verification(&header, true, START_MS)
}

/// Appends a batch of the transaction with this guard; its error code.
fn send_guarded(partition: &Partition, epoch: i16, sequence: i32, guard: VerificationGuard) -> ErrorCode {
    let mut bytes = transactional(PRODUCER, epoch, sequence);
    let within = partition.append_within(&mut bytes, -1, guard, START_MS, &mut Room::unlimited());
    within.err().map_or(ErrorCode::NONE, |error| error.code())
}

/// Opens a transaction with a batch at sequence 0.
fn open(partition: &Partition, epoch: i16) {
    let guard = begin(partition, epoch, 0).unwrap();
    assert_ne!(guard, VerificationGuard::SENTINEL);
    assert_eq!(send_guarded(partition, epoch, 0, guard), ErrorCode::NONE);
}

const COMMIT: Marker = Marker {
    producer_id: PRODUCER,
    producer_epoch: 0,
    is_commit: true,
    coordinator_epoch: 3,
    transaction_version: 1,
};

fn mark(partition: &Partition, marker: Marker) -> ErrorCode {
    let done = partition.append_marker(&marker, START_MS);
    done.err().map_or(ErrorCode::NONE, |error| error.code())
}

#[test]
fn batch_with_the_guard_of_its_verification_opens_the_transaction() {
    let (_fixture, partition) = fixture(&[NODE]);
    let guard = begin(&partition, 0, 0).unwrap();
    let invalid = ErrorCode::INVALID_TXN_STATE;
    assert_eq!(send_guarded(&partition, 0, 0, VerificationGuard::SENTINEL), invalid);
    assert_eq!(partition.offsets().log_end(), Offset(0));
    assert_eq!(send_guarded(&partition, 0, 0, guard), ErrorCode::NONE);
    assert_eq!(
        begin(&partition, 0, 1).unwrap(),
        VerificationGuard::SENTINEL,
        "it is open"
    );
    let sentinel = VerificationGuard::SENTINEL;
    assert_eq!(send_guarded(&partition, 0, 1, sentinel), ErrorCode::NONE);
    let mut elsewhere = transactional(PRODUCER, 0, 2);
    let room = &mut Room::unlimited();
    let done = partition.append_elsewhere(&mut elsewhere, -1, sentinel, START_MS, room);
    assert_eq!(done.unwrap().unwrap().0.first_offset, Offset(2));
}

#[test]
fn late_batch_with_the_guard_from_before_a_marker_is_refused() {
    let (_fixture, partition) = fixture(&[NODE]);
    let guard = begin(&partition, 0, 0).unwrap();
    assert_eq!(mark(&partition, COMMIT), ErrorCode::NONE);
    assert_eq!(send_guarded(&partition, 0, 0, guard), ErrorCode::INVALID_TXN_STATE);
    let offsets = partition.offsets();
    assert_eq!(
        (offsets.log_end(), offsets.last_stable()),
        (Offset(1), Offset(1)),
        "no transaction hangs"
    );
    assert_ne!(begin(&partition, 0, 0).unwrap(), guard);
}

#[test]
fn marker_of_version_2_leaves_the_guard_of_the_next_transaction_valid_and_no_earlier_one() {
    let (_fixture, partition) = fixture(&[NODE]);
    open(&partition, 0);
    let raised = |producer_epoch| Marker {
        producer_epoch,
        transaction_version: 2,
        ..COMMIT
    };
    let next = begin(&partition, 1, 0).unwrap();
    assert_eq!(mark(&partition, raised(1)), ErrorCode::NONE, "of the first transaction");
    assert_eq!(send_guarded(&partition, 1, 0, next), ErrorCode::NONE);
    assert_eq!(mark(&partition, raised(2)), ErrorCode::NONE);

    let late = begin(&partition, 2, 0).unwrap();
    assert_eq!(
        mark(&partition, raised(3)),
        ErrorCode::NONE,
        "aborted before the answer"
    );
    assert_eq!(send_guarded(&partition, 2, 0, late), ErrorCode::INVALID_PRODUCER_EPOCH);
    let another = begin(&partition, 3, 0).unwrap();
    assert_ne!(another, late);
    assert_eq!(send_guarded(&partition, 3, 0, late), ErrorCode::INVALID_TXN_STATE);
}

#[test]
fn batch_and_verification_of_an_epoch_before_the_marker_s_are_refused() {
    let (_fixture, partition) = fixture(&[NODE]);
    open(&partition, 0);
    let raised = Marker {
        producer_epoch: 1,
        transaction_version: 2,
        ..COMMIT
    };
    assert_eq!(mark(&partition, raised), ErrorCode::NONE);
    let fenced = ErrorCode::INVALID_PRODUCER_EPOCH;
    assert_eq!(begin(&partition, 0, 1).unwrap_err().code(), fenced);
    assert_eq!(send_guarded(&partition, 0, 1, VerificationGuard::SENTINEL), fenced);
    open(&partition, 1);
}

#[test]
fn marker_of_an_earlier_coordinator_is_refused() {
    let (_fixture, partition) = fixture(&[NODE]);
    open(&partition, 0);
    assert_eq!(mark(&partition, COMMIT), ErrorCode::NONE);
    open_again(&partition);
    let zombie = Marker {
        coordinator_epoch: 2,
        ..COMMIT
    };
    assert_eq!(mark(&partition, zombie), ErrorCode::TRANSACTION_COORDINATOR_FENCED);
    assert_eq!(partition.offsets().last_stable(), Offset(2), "the transaction is open");
    assert_eq!(mark(&partition, COMMIT), ErrorCode::NONE);
    assert_eq!(partition.offsets().last_stable(), Offset(4));
}

/// Opens the second transaction of epoch 0.
fn open_again(partition: &Partition) {
    let guard = begin(partition, 0, 1).unwrap();
    assert_eq!(send_guarded(partition, 0, 1, guard), ErrorCode::NONE);
}

#[test]
fn marker_of_a_fenced_epoch_or_without_the_epoch_bump_of_version_2_is_refused() {
    let (_fixture, partition) = fixture(&[NODE]);
    open(&partition, 4);
    let marker = |producer_epoch, transaction_version| Marker {
        producer_epoch,
        transaction_version,
        ..COMMIT
    };
    let fenced = ErrorCode::INVALID_PRODUCER_EPOCH;
    assert_eq!(mark(&partition, marker(3, 1)), fenced);
    assert_eq!(mark(&partition, marker(4, 2)), fenced);
    assert_eq!(mark(&partition, marker(5, 2)), ErrorCode::NONE);
    assert_eq!(
        mark(&partition, marker(5, 2)),
        ErrorCode::NONE,
        "the coordinator repeats it"
    );
}

#[test]
fn marker_waits_for_the_replicas_and_needs_enough_in_sync_ones() {
    let (fixture, _) = fixture(&[NODE]);
    fixture.create_with("u", [2; 16], 1, &[("min.insync.replicas", "2")], &[NODE, FOLLOWER]);
    let partition = fixture.partition("u", 0);
    let (appended, awaited) = partition.append_marker(&COMMIT, START_MS).unwrap();
    assert_eq!(
        (appended.first_offset, awaited.high_watermark),
        (Offset(0), Some(Offset(1)))
    );
    assert!(!partition.is_satisfied(awaited).unwrap());
    fetch_as_follower(&partition, 1);
    assert!(partition.is_satisfied(awaited).unwrap());
    give(&partition, Some(lease(0, &[NODE, FOLLOWER], &[NODE])));
    assert_eq!(mark(&partition, COMMIT), ErrorCode::NOT_ENOUGH_REPLICAS);
    give(&partition, Some(lease(0, &[NODE, FOLLOWER], &[NODE, FOLLOWER])));
    let guard = begin(&partition, 0, 0).unwrap();
    let sent = send_guarded(&partition, 0, 0, guard);
    assert_eq!(sent, ErrorCode::NONE, "a refused marker holds no batch back");
}

#[test]
fn partition_that_another_broker_leads_verifies_and_marks_nothing() {
    let (_fixture, partition) = fixture(&[NODE]);
    give(&partition, Some(lease(1, &[FOLLOWER, NODE], &[FOLLOWER, NODE])));
    let moved = ErrorCode::NOT_LEADER_OR_FOLLOWER;
    assert_eq!(begin(&partition, 0, 0).unwrap_err().code(), moved);
    assert_eq!(mark(&partition, COMMIT), moved);
    give(&partition, Some(lease(2, &[NODE, FOLLOWER], &[NODE, FOLLOWER])));
    let guard = begin(&partition, 0, 5).unwrap();
    let behind = send_guarded(&partition, 0, 5, guard);
    assert_eq!(behind, moved, "the refused batch comes first");
    let guard = begin(&partition, 0, 0).unwrap();
    assert_eq!(send_guarded(&partition, 0, 0, guard), ErrorCode::NONE);
}

#[test]
fn coordinator_s_batch_needs_the_guard_and_the_leader_epoch() {
    let (_fixture, partition) = fixture(&[NODE]);
    let guard = begin(&partition, 0, 0).unwrap();
    let append = |leader_epoch, guard| {
        let mut bytes = transactional(PRODUCER, 0, 0);
        let done = partition.append_in_epoch(&mut bytes, LeaderEpoch(leader_epoch), guard, START_MS);
        done.err().map_or(ErrorCode::NONE, |error| error.code())
    };
    assert_eq!(append(0, VerificationGuard::SENTINEL), ErrorCode::INVALID_TXN_STATE);
    assert_eq!(append(1, guard), ErrorCode::NOT_LEADER_OR_FOLLOWER);
    assert_eq!(append(0, guard), ErrorCode::NONE);
}

#[test]
fn verification_that_is_switched_off_has_nothing_to_ask() {
    let fixture = Fixture::new(1);
    fixture.create(TOPIC, 1, &[]);
    let partition = fixture.partition(TOPIC, 0);
    let sentinel = VerificationGuard::SENTINEL;
    assert_eq!(begin(&partition, 1, 0).unwrap(), sentinel);
    assert_eq!(send_guarded(&partition, 1, 0, sentinel), ErrorCode::NONE);
    let fenced = ErrorCode::INVALID_PRODUCER_EPOCH;
    assert_eq!(begin(&partition, 0, 0).unwrap_err().code(), fenced);
}

#[test]
fn transactions_whose_markers_are_replicated_are_forgotten() {
    let (_fixture, leader) = fixture(&[NODE]);
    open(&leader, 0);
    for sequence in 1..4 {
        assert_eq!(mark(&leader, COMMIT), ErrorCode::NONE);
        let guard = begin(&leader, 0, sequence).unwrap();
        assert_eq!(send_guarded(&leader, 0, sequence, guard), ErrorCode::NONE);
    }
    let held = |partition: &Partition| partition.log().producers().first_unstable_offset(Offset(0));
    assert_eq!(held(&leader), Some(Offset(6)), "the open transaction alone");
    let (_fixture, follower) = fixture(&[FOLLOWER, NODE]);
    let mut records = vec![0; leader.log().segments().size_bytes() as usize];
    let slice = leader.log().plan_read(Offset(0), Offset(7)).unwrap();
    let slice = slice.resolve(records.len(), true).unwrap();
    slice.file.read_exact_at(&mut records, slice.position.get()).unwrap();
    take_fetched(&follower, 0, &records, 0);
    assert_eq!(held(&follower), Some(Offset(0)), "the leader has said nothing yet");
    take_fetched(&follower, 0, &[], 7);
    assert_eq!(held(&follower), Some(Offset(6)));
}

fn fetch_as_follower(partition: &Partition, log_end: i64) {
    let fetch = FollowerFetch {
        node_id: FOLLOWER,
        broker_epoch: -1,
        leader_epoch: LeaderEpoch::NONE,
        log_start: Offset(0),
        log_end: Offset(log_end),
    };
    partition.note_follower(fetch, Instant::now());
}

/// A `read_committed` fetch that waits at an offset, and the calls of its waiter.
fn waiting_fetch(fixture: &Fixture, offset: i64) -> (Box<dyn Delayed>, Arc<Calls>) {
    let mut body = Vec::new();
    let mut w = Writer::new(&mut body, false);
    for value in [-1, 1000, 1, 1 << 20] {
        w.i32(value);
    }
    w.raw(&[1]);
    w.i32(0);
    w.i32(-1);
    w.length(Some(1));
    w.string(TOPIC);
    w.length(Some(1));
    w.i32(0);
    w.i32(-1);
    w.i64(offset);
    w.i64(-1);
    w.i32(1 << 20);
    w.length(Some(0));
    let served = Fetch.serve(
        request(&fixture.broker, 9, &mut body, &mut Scratch::default()),
        &mut Vec::new(),
    );
    let Served::Delayed(delayed) = served.unwrap() else {
        panic!("it should wait")
    };
    let calls = Arc::new(Calls::default());
    let waiter = Waiter {
        owner: calls.clone(),
        operation: 1,
    };
    delayed.watch(&waiter);
    (delayed, calls)
}

fn is_complete(fixture: &Fixture, waiting: &mut dyn Delayed) -> bool {
    let attempt = crate::Attempt {
        broker: &fixture.broker,
        caller: crate::testing::CALLER,
        is_due: false,
        executor: crate::Executor::Worker,
        now: Instant::now(),
    };
    matches!(waiting.try_complete(&attempt, &mut Vec::new()), Tried::Answered(_))
}

#[test]
fn marker_wakes_a_read_committed_fetch_that_waits_for_the_transaction() {
    let (fixture, partition) = fixture(&[NODE]);
    open(&partition, 0);
    let (mut waiting, calls) = waiting_fetch(&fixture, 0);
    assert!(!is_complete(&fixture, &mut *waiting));
    mark(&partition, COMMIT);
    assert_eq!(*calls.0.lock(), [1]);
    assert!(is_complete(&fixture, &mut *waiting));
}

#[test]
fn replicated_marker_wakes_a_read_committed_fetch_when_the_follower_has_fetched_it() {
    let (fixture, partition) = fixture(&[NODE, FOLLOWER]);
    open(&partition, 0);
    fetch_as_follower(&partition, 1);
    mark(&partition, COMMIT);
    let (mut waiting, calls) = waiting_fetch(&fixture, 0);
    assert!(!is_complete(&fixture, &mut *waiting));
    assert_eq!(partition.offsets().last_stable(), Offset(0));
    fetch_as_follower(&partition, 2);
    assert_eq!(*calls.0.lock(), [1]);
    assert!(is_complete(&fixture, &mut *waiting));
    assert_eq!(partition.offsets().last_stable(), Offset(2));
}
