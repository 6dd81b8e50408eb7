//! Offsets of transactions, from the request to the marker.

use std::time::Duration;

use super::*;
use crate::GroupState;
use crate::transactions::testing::{
    FOLLOWER, Member, NO_MEMBER, Producer, Reply, World, add_rows, answer_added, answer_markers, home_of,
    txn_commit_body,
};
use crate::transactions::{MarkerBy, STATE_TOPIC, TransactionState, append_marker};
use broker::Marker;
use broker::testing::START_MS;

const NONE: ErrorCode = ErrorCode::NONE;
const UNSTABLE: (i64, ErrorCode) = (-1, ErrorCode::UNSTABLE_OFFSET_COMMIT);
const NOTHING: (i64, ErrorCode) = (-1, NONE);
/// Transactions of version 1.
const V1: i16 = 3;
/// Transactions of version 2.
const V2: i16 = 5;

fn try_commit(world: &World, version: i16, producer: Producer, member: Member<'_>, rows: &[(&str, i32, i64)]) -> Reply {
    let body = txn_commit_body("a", "g", producer, member, rows);
    world.serve(ApiTable::TXN_OFFSET_COMMIT, version, &body, false)
}

const fn member<'a>(generation_id: i32, id: &'a str, instance: Option<&'a str>) -> Member<'a> {
    Member {
        generation_id,
        id,
        instance,
    }
}

/// Commits offset 5 of `t`-0; the code of the answer, which must come at once.
fn commit(world: &World, version: i16, producer: Producer, member: Member<'_>) -> ErrorCode {
    code(&try_commit(world, version, producer, member, &[("t", 0, 5)]).now())
}

/// The code of an answer with one row.
fn code(answer: &[u8]) -> ErrorCode {
    let codes = add_rows(answer); // the answers of both APIs have the same form
    assert_eq!(codes.len(), 1);
    codes[0]
}

/// A producer of id `a` whose transaction has the group's partition.
fn begun(world: &World) -> Producer {
    let producer = world.init("a");
    assert_eq!(world.add_offsets("a", producer, "g"), NONE);
    producer
}

fn log_end(world: &World) -> i64 {
    world.partition(OFFSETS_TOPIC, 0).offsets().log_end().get()
}

/// Group `g` in generation 3, with member `m` and the static member `s` of instance `i`.
fn with_members(world: &World, state: GroupState) {
    let home = world.groups().homes.of(0).unwrap();
    let mut shard = home.lock();
    shard.grant("g", state, 3);
    let lease = shard.lease("g").unwrap();
    lease.add_member("m", None);
    lease.add_member("s", Some("i"));
}

#[test]
fn offset_is_unstable_until_the_commit_marker_and_counts_from_then_on() {
    let world = World::new();
    let producer = begun(&world);
    assert_eq!(commit(&world, V1, producer, NO_MEMBER), NONE);
    assert_eq!(world.fetched("g", &[0, 1], true), [UNSTABLE, NOTHING]);
    assert_eq!(world.fetched("g", &[0], false), [NOTHING]);
    assert_eq!(world.end("a", producer, true), NONE);
    assert_eq!(world.fetched("g", &[0], true), [(5, NONE)]);
    assert_eq!(world.markers(OFFSETS_TOPIC, 0).len(), 1);
    assert!(world.is_stable(OFFSETS_TOPIC, 0));
}

#[test]
fn offset_of_an_aborted_transaction_is_dropped_and_the_one_before_it_stays() {
    let world = World::new();
    let producer = begun(&world);
    assert_eq!(commit(&world, V1, producer, NO_MEMBER), NONE);
    assert_eq!(world.end("a", producer, true), NONE);
    assert_eq!(world.add_offsets("a", producer, "g"), NONE);
    let rows = [("t", 0, 9), ("t", 1, 9)];
    try_commit(&world, V1, producer, NO_MEMBER, &rows).now();
    assert_eq!(world.fetched("g", &[0, 1], true), [UNSTABLE; 2]);
    assert_eq!(world.fetched("g", &[0, 1], false), [(5, NONE), NOTHING]);
    assert_eq!(world.end("a", producer, false), NONE);
    assert_eq!(world.fetched("g", &[0, 1], true), [(5, NONE), NOTHING]);
}

#[test]
fn last_commit_of_a_partition_in_a_transaction_counts() {
    let world = World::new();
    let producer = begun(&world);
    for offset in [7, 6] {
        try_commit(&world, V1, producer, NO_MEMBER, &[("t", 0, offset)]).now();
    }
    world.end("a", producer, true);
    assert_eq!(world.fetched("g", &[0], true), [(6, NONE)]);
}

#[test]
fn version_5_adds_the_partition_to_the_transaction() {
    let world = World::new();
    let producer = world.init("a");
    assert_eq!(commit(&world, V2, producer, NO_MEMBER), NONE);
    let now = world.describe("a").unwrap();
    assert_eq!(now.state, TransactionState::Ongoing);
    assert_eq!(now.partitions, [(OFFSETS_TOPIC.into(), 0)].into());
    let next = world.end_v2("a", producer, true).unwrap();
    assert_eq!(world.fetched("g", &[0], true), [(5, NONE)]);
    assert_eq!(
        commit(&world, V2, producer, NO_MEMBER),
        ErrorCode::INVALID_PRODUCER_EPOCH
    );
    assert_eq!(commit(&world, V2, next, NO_MEMBER), NONE);
    assert_eq!(world.fetched("g", &[0], true), [UNSTABLE]);
}

#[test]
fn commit_that_meets_the_markers_of_the_last_transaction_waits_for_2_seconds_and_then_for_its_own_replicas() {
    let world = World::replicated(&[OFFSETS_TOPIC]);
    world.move_away("t", 3, FOLLOWER, 1);
    let producer = world.open("a", &[("t", 3)]);
    let next = world.end_v2("a", producer, true).unwrap();
    let rows = [("t", 0, 5)];
    let mut waiting = try_commit(&world, V2, next, NO_MEMBER, &rows).later();
    assert_eq!(waiting.patience(&world), Duration::from_secs(2));
    world.work();
    let sent = world.peers.take_one();
    let written = answer_markers(&sent.ask.body, |_, _| NONE);
    sent.answer(&written);
    world.work();
    assert_eq!(waiting.answer(&world), None);
    assert_eq!(waiting.patience(&world), world.groups().settings().commit_timeout);
    world.replicate(OFFSETS_TOPIC, 0);
    assert_eq!(code(&waiting.answer(&world).unwrap()), NONE);
}

#[test]
fn version_3_without_the_partition_in_the_transaction_is_refused() {
    let world = World::new();
    let producer = world.open("a", &[("t", 0)]);
    let end = log_end(&world);
    assert_eq!(commit(&world, V1, producer, NO_MEMBER), ErrorCode::INVALID_TXN_STATE);
    assert_eq!(commit(&world, 4, producer, NO_MEMBER), ErrorCode::TRANSACTION_ABORTABLE);
    assert_eq!((log_end(&world), world.fetched("g", &[0], true)), (end, vec![NOTHING]));
    assert_eq!(world.add_offsets("a", producer, "g"), NONE);
    assert_eq!(commit(&world, V1, producer, NO_MEMBER), NONE);
}

#[test]
fn commit_of_a_fenced_or_unknown_producer_is_refused() {
    let world = World::new();
    let producer = begun(&world);
    let end = log_end(&world);
    for version in [V1, V2] {
        let later = Producer { epoch: 4, ..producer };
        assert_eq!(
            commit(&world, version, later, NO_MEMBER),
            ErrorCode::INVALID_PRODUCER_EPOCH
        );
        let other = Producer { id: 1, ..producer };
        assert_eq!(
            commit(&world, version, other, NO_MEMBER),
            ErrorCode::INVALID_PRODUCER_ID_MAPPING
        );
    }
    assert_eq!(log_end(&world), end);
}

#[test]
fn commit_without_group_id_or_transactional_id_is_refused() {
    let world = World::new();
    let producer = begun(&world);
    for (ids, expected) in [
        (("a", ""), ErrorCode::INVALID_GROUP_ID),
        (("", "g"), ErrorCode::INVALID_REQUEST),
        (("", ""), ErrorCode::INVALID_GROUP_ID),
    ] {
        let body = txn_commit_body(ids.0, ids.1, producer, NO_MEMBER, &[("t", 0, 5)]);
        let answer = world.serve(ApiTable::TXN_OFFSET_COMMIT, V1, &body, false).now();
        assert_eq!(code(&answer), expected, "{ids:?}");
    }
    assert_eq!(log_end(&world), 0);
}

#[test]
fn partitions_that_are_not_there_are_refused_alone() {
    let world = World::new();
    let producer = begun(&world);
    let rows = [("t", 9, 1), ("t", 0, 5), ("gone", 0, 1)];
    let answer = try_commit(&world, V1, producer, NO_MEMBER, &rows).now();
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    assert_eq!(add_rows(&answer), [unknown, NONE, unknown]);
    let answer = try_commit(&world, V1, producer, NO_MEMBER, &rows[..1]).now();
    assert_eq!(add_rows(&answer), [unknown]);
    let fenced = Producer { epoch: 4, ..producer };
    let answer = try_commit(&world, V1, fenced, NO_MEMBER, &rows).now();
    assert_eq!(add_rows(&answer), [unknown, ErrorCode::INVALID_PRODUCER_EPOCH, unknown]);
}

// KIP-447: the generation fences consumers that are not in the group any more
#[test]
fn group_with_members_takes_commits_of_their_generation_and_those_without_a_member() {
    for state in [
        GroupState::Stable,
        GroupState::PreparingRebalance,
        GroupState::CompletingRebalance,
    ] {
        for version in [V1, V2] {
            let world = World::new();
            let producer = begun(&world);
            with_members(&world, state);
            let end = log_end(&world);
            let refused = [
                (member(2, "m", None), ErrorCode::ILLEGAL_GENERATION),
                (member(4, "m", None), ErrorCode::ILLEGAL_GENERATION),
                (member(-1, "m", None), ErrorCode::ILLEGAL_GENERATION),
                (member(3, "x", None), ErrorCode::UNKNOWN_MEMBER_ID),
                (member(3, "", None), ErrorCode::UNKNOWN_MEMBER_ID),
                (member(3, "s", Some("j")), ErrorCode::UNKNOWN_MEMBER_ID),
                (member(3, "m", Some("i")), ErrorCode::FENCED_INSTANCE_ID),
            ];
            for (who, expected) in refused {
                assert_eq!(commit(&world, version, producer, who), expected, "{state:?} {who:?}");
            }
            assert_eq!(log_end(&world), end, "nothing is written");
            assert_eq!(world.fetched("g", &[0], true), [NOTHING]);
            for who in [member(3, "m", None), member(3, "s", Some("i")), NO_MEMBER] {
                assert_eq!(commit(&world, version, producer, who), NONE, "{state:?} {who:?}");
            }
        }
    }
}

#[test]
fn generation_of_a_group_that_is_not_there_is_refused() {
    let world = World::new();
    let producer = begun(&world);
    assert_eq!(
        commit(&world, V1, producer, member(1, "m", None)),
        ErrorCode::ILLEGAL_GENERATION
    );
    assert_eq!(commit(&world, V1, producer, NO_MEMBER), NONE);
    assert_eq!(
        commit(&world, V1, producer, member(1, "m", None)),
        ErrorCode::UNKNOWN_MEMBER_ID,
        "the group has offsets and no members"
    );
}

#[test]
fn commit_is_answered_when_it_is_replicated_and_is_unstable_from_its_append_on() {
    let world = World::replicated(&[OFFSETS_TOPIC]);
    let producer = begun(&world);
    let mut waiting = try_commit(&world, V1, producer, NO_MEMBER, &[("t", 0, 5)]).later();
    assert_eq!(waiting.answer(&world), None);
    assert_eq!(world.fetched("g", &[0], true), [UNSTABLE]);
    world.replicate(OFFSETS_TOPIC, 0);
    assert_eq!(code(&waiting.answer(&world).unwrap()), NONE);
    assert_eq!(world.end("a", producer, true), NONE);
    world.work();
    assert_eq!(
        world.fetched("g", &[0], true),
        [UNSTABLE],
        "the marker is not replicated"
    );
    assert_eq!(world.state("a"), TransactionState::PrepareCommit);
    world.replicate(OFFSETS_TOPIC, 0);
    world.work();
    assert_eq!(world.fetched("g", &[0], true), [(5, NONE)]);
    assert_eq!(world.state("a"), TransactionState::CompleteCommit);
    assert_eq!(world.partition(OFFSETS_TOPIC, 0).waiters().len(WaitKind::Produce), 0);
}

#[test]
fn commit_that_is_not_replicated_in_time_gets_an_error_and_counts_with_its_marker() {
    let world = World::replicated(&[OFFSETS_TOPIC]);
    let producer = begun(&world);
    let rows = [("t", 0, 5), ("gone", 0, 5)];
    let answer = try_commit(&world, V1, producer, NO_MEMBER, &rows).later().due(&world);
    let expected = [
        ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
    ];
    assert_eq!(add_rows(&answer), expected);
    world.end("a", producer, true);
    world.work();
    world.replicate(OFFSETS_TOPIC, 0);
    world.work();
    assert_eq!(world.fetched("g", &[0], true), [(5, NONE)]);
}

#[test]
fn commit_that_waits_when_another_broker_becomes_the_leader_gets_not_coordinator() {
    let world = World::replicated(&[OFFSETS_TOPIC]);
    let producer = begun(&world);
    let mut waiting = try_commit(&world, V1, producer, NO_MEMBER, &[("t", 0, 5)]).later();
    world.move_away(OFFSETS_TOPIC, 0, FOLLOWER, 1);
    assert_eq!(code(&waiting.answer(&world).unwrap()), ErrorCode::NOT_COORDINATOR);
}

/// The transaction coordinator is another broker, which has got the question of this commit.
fn asking(version: i16) -> (World, Producer, crate::transactions::testing::Waiting) {
    let world = World::new();
    let index = home_of("a");
    world.move_away(STATE_TOPIC, index, FOLLOWER, 1);
    world.transactions().homes.close(index);
    let producer = Producer { id: 7, epoch: 0 };
    let waiting = try_commit(&world, version, producer, NO_MEMBER, &[("t", 0, 5)]).later();
    (world, producer, waiting)
}

/// The answer of the transaction coordinator about the group's partition.
fn answer_with(world: &World, code: ErrorCode) {
    let sent = world.peers.take_one();
    let answer = |results: &[(&str, &[(i32, ErrorCode)])]| answer_added(NONE, OFFSETS_TOPIC, results);
    match code {
        NONE => sent.answer(&answer(&[("a", &[(0, NONE)])])),
        ErrorCode::UNKNOWN_SERVER_ERROR => sent.answer(&answer(&[])),
        ErrorCode::NETWORK_EXCEPTION => sent.lose(),
        code => {
            let refusal = answer_added(code, "t", &[]);
            sent.answer(&refusal);
            for again in std::iter::from_fn(|| world.peers.take().pop()) {
                again.answer(&refusal);
            }
        }
    }
}

#[test]
fn commit_waits_for_the_answer_of_the_transaction_s_coordinator() {
    let (world, _, mut waiting) = asking(V1);
    assert_eq!((waiting.answer(&world), log_end(&world)), (None, 0));
    answer_with(&world, NONE);
    assert_eq!(code(&waiting.answer(&world).unwrap()), NONE);
    assert_eq!(world.fetched("g", &[0], true), [UNSTABLE]);
}

#[test]
fn commit_whose_transaction_got_its_marker_while_the_coordinator_was_asked_is_refused() {
    let (world, producer, mut waiting) = asking(V1);
    let marker = Marker {
        producer_id: producer.id,
        producer_epoch: producer.epoch,
        is_commit: false,
        coordinator_epoch: 1,
        transaction_version: 0,
    };
    append_marker(world.here(), OFFSETS_TOPIC, 0, &marker, MarkerBy::Coordinator, START_MS).unwrap();
    answer_with(&world, NONE);
    assert_eq!(code(&waiting.answer(&world).unwrap()), ErrorCode::INVALID_TXN_STATE);
    assert_eq!(log_end(&world), 1, "only the marker");
    assert!(world.is_stable(OFFSETS_TOPIC, 0));
    assert_eq!(world.fetched("g", &[0], true), [NOTHING]);
}

#[test]
fn group_is_checked_when_the_coordinator_has_answered() {
    let (world, _, mut waiting) = asking(V1);
    world.groups().homes.begin(&world.broker, 0).unwrap();
    world.lead(OFFSETS_TOPIC, 0, 1);
    answer_with(&world, NONE);
    assert_eq!(code(&waiting.answer(&world).unwrap()), ErrorCode::NOT_COORDINATOR);
    assert_eq!(log_end(&world), 0);
}

#[test]
fn refusals_of_the_transaction_s_coordinator_have_the_codes_that_clients_know() {
    let retried = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
    let cases = [
        (ErrorCode::NETWORK_EXCEPTION, retried, retried),
        (ErrorCode::NOT_COORDINATOR, retried, retried),
        (ErrorCode::COORDINATOR_NOT_AVAILABLE, retried, retried),
        (ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, retried, retried),
        (
            ErrorCode::CONCURRENT_TRANSACTIONS,
            retried,
            ErrorCode::CONCURRENT_TRANSACTIONS,
        ),
        (
            ErrorCode::TRANSACTION_ABORTABLE,
            ErrorCode::INVALID_TXN_STATE,
            ErrorCode::TRANSACTION_ABORTABLE,
        ),
        (
            ErrorCode::PRODUCER_FENCED,
            ErrorCode::INVALID_PRODUCER_EPOCH,
            ErrorCode::INVALID_PRODUCER_EPOCH,
        ),
        (
            ErrorCode::UNKNOWN_SERVER_ERROR,
            ErrorCode::UNKNOWN_SERVER_ERROR,
            ErrorCode::UNKNOWN_SERVER_ERROR,
        ),
    ];
    for (refusal, of_version_3, of_version_5) in cases {
        for (version, expected) in [(V1, of_version_3), (V2, of_version_5)] {
            let (world, _, mut waiting) = asking(version);
            answer_with(&world, refusal);
            let answer = waiting.answer(&world).unwrap();
            assert_eq!(code(&answer), expected, "{} in version {version}", refusal.name());
            assert_eq!(log_end(&world), 0);
        }
    }
}

#[test]
fn commit_whose_question_is_not_answered_in_time_writes_nothing() {
    let (world, _, waiting) = asking(V2);
    let answer = waiting.due(&world);
    assert_eq!(code(&answer), ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
    answer_with(&world, NONE);
    assert_eq!(log_end(&world), 0);
}

#[test]
fn offsets_of_an_open_transaction_are_unstable_after_a_load_and_end_with_the_marker() {
    for is_commit in [true, false] {
        let world = World::new();
        let producer = begun(&world);
        assert_eq!(commit(&world, V1, producer, NO_MEMBER), NONE);
        world.lead(OFFSETS_TOPIC, 0, 1);
        world.load_groups();
        assert_eq!(world.fetched("g", &[0], true), [UNSTABLE]);
        assert_eq!(world.end("a", producer, is_commit), NONE);
        let expected = if is_commit { (5, NONE) } else { NOTHING };
        assert_eq!(world.fetched("g", &[0], true), [expected]);
        world.lead(OFFSETS_TOPIC, 0, 2);
        world.load_groups();
        assert_eq!(world.fetched("g", &[0], true), [expected], "the log says the same");
    }
}

#[test]
fn commit_while_the_groups_load_or_without_them_is_refused() {
    let world = World::new();
    let producer = begun(&world);
    let homes = &world.groups().homes;
    homes.begin(&world.broker, 0).unwrap();
    assert_eq!(
        commit(&world, V1, producer, NO_MEMBER),
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
    );
    homes.close(0);
    assert_eq!(commit(&world, V1, producer, NO_MEMBER), ErrorCode::NOT_COORDINATOR);
    world.publish_leader(OFFSETS_TOPIC, 0, FOLLOWER);
    assert_eq!(commit(&world, V1, producer, NO_MEMBER), ErrorCode::NOT_COORDINATOR);
    homes.stop();
    assert_eq!(
        commit(&world, V1, producer, NO_MEMBER),
        ErrorCode::COORDINATOR_NOT_AVAILABLE
    );
    assert_eq!(log_end(&world), 0);
}

#[test]
fn large_commit_is_left_to_another_thread_and_a_lying_one_closes_the_connection() {
    let world = World::new();
    let producer = begun(&world);
    let api = (ApiTable::TXN_OFFSET_COMMIT, V1);
    let body = txn_commit_body("a", "g", producer, NO_MEMBER, &vec![("t", 0, 5); 1000]);
    let (served, _) = world.try_serve(api.0, api.1, &body, false, Executor::Loop);
    assert!(matches!(served, Ok(Served::Elsewhere(_))));
    let (served, _) = world.try_serve(api.0, api.1, &body, false, Executor::Worker);
    assert!(matches!(served, Ok(Served::Answered(_))));
    let body = txn_commit_body("a", "g", producer, NO_MEMBER, &[("t", 0, 5)]);
    for cut in 0..body.len() {
        let (served, out) = world.try_serve(api.0, api.1, &body[..cut], false, Executor::Loop);
        assert!(served.is_err() && out.is_empty(), "{cut}");
    }
}
