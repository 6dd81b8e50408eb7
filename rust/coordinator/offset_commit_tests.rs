use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::GroupState;
use crate::testing::{BROKERS_RETENTION, Committer, World, commit_body, commit_errors, nobody};
use ::io::Fault;
use broker::testing::{Calls, NODE, give, lease};
use protocol::{ApiTable, Writer};

const MEMBER: Committer<'_> = Committer {
    group_id: "g",
    member_id: "m",
    generation_id: 3,
};

/// Group `g` with member `m`, in generation 3.
fn with_member(world: &World, state: GroupState) {
    let home = world.groups().homes.of(0).unwrap();
    let mut shard = home.lock();
    shard.grant("g", state, 3);
    shard.lease("g").unwrap().add_member("m", None);
}

#[test]
fn a_simple_consumer_commits_and_fetches_and_its_group_is_reported_once() {
    let world = World::new();
    assert_eq!(
        world.commit(nobody("g"), &[("t", 0, 5), ("t", 1, 6)]),
        [ErrorCode::NONE; 2]
    );
    assert_eq!(world.commit(nobody("g"), &[("t", 1, 7)]), [ErrorCode::NONE]);
    let rows = [(("t".to_owned(), 0), 5), (("t".to_owned(), 1), 7)];
    assert_eq!(world.fetched("g").unwrap(), rows.into());
    assert_eq!(world.created(), ["g"]);
}

#[test]
fn partitions_and_topics_that_are_not_there_are_refused_alone() {
    let world = World::new();
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    let rows = [("t", 4, 1), ("t", 3, 1), ("gone", 0, 1), ("t", -1, 1)];
    assert_eq!(
        world.commit(nobody("g"), &rows),
        [unknown, ErrorCode::NONE, unknown, unknown]
    );
    assert_eq!(world.fetched("g").unwrap().len(), 1);
}

#[test]
fn topic_that_is_not_known_while_the_broker_starts_may_be_asked_for_again() {
    let world = World::new();
    world
        .fixture
        .broker
        .image
        .publish_cluster(Vec::new(), broker::NO_CONTROLLER);
    let rows = [("t", 3, 1), ("later", 0, 1)];
    assert_eq!(
        world.commit(nobody("g"), &rows),
        [ErrorCode::NONE, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS]
    );
}

#[test]
fn metadata_is_refused_alone_when_it_has_more_utf16_units_than_the_limit() {
    let world = World::new();
    let fits = "x".repeat(4094) + "𝄞"; // two units in four bytes
    let long = "x".repeat(4097);
    let rows = [("t", 0, 1, long.as_str()), ("t", 1, 2, fits.as_str())];
    let errors = world.try_commit(nobody("g"), &rows, BROKERS_RETENTION).ok().unwrap();
    assert_eq!(errors, [ErrorCode::OFFSET_METADATA_TOO_LARGE, ErrorCode::NONE]);
    assert_eq!(world.fetched("g").unwrap().len(), 1);
}

#[test]
fn a_living_group_takes_commits_of_its_members_in_their_generation_alone() {
    let world = World::new();
    with_member(&world, GroupState::Stable);
    assert_eq!(world.commit(MEMBER, &[("t", 0, 1)]), [ErrorCode::NONE]);
    let older = Committer {
        generation_id: 2,
        ..MEMBER
    };
    assert_eq!(world.commit(older, &[("t", 0, 2)]), [ErrorCode::ILLEGAL_GENERATION]);
    let later = Committer {
        generation_id: 4,
        ..MEMBER
    };
    assert_eq!(world.commit(later, &[("t", 0, 2)]), [ErrorCode::ILLEGAL_GENERATION]);
    let stranger = Committer {
        member_id: "x",
        ..MEMBER
    };
    assert_eq!(world.commit(stranger, &[("t", 0, 2)]), [ErrorCode::UNKNOWN_MEMBER_ID]);
    assert_eq!(
        world.commit(nobody("g"), &[("t", 0, 2)]),
        [ErrorCode::UNKNOWN_MEMBER_ID]
    );
    assert_eq!(world.fetched("g").unwrap().into_values().collect::<Vec<_>>(), [1]);
    assert!(world.created().is_empty(), "the control plane knows it");
}

#[test]
fn a_commit_is_taken_while_others_rejoin_and_waits_for_the_assignment() {
    let world = World::new();
    with_member(&world, GroupState::PreparingRebalance);
    assert_eq!(world.commit(MEMBER, &[("t", 0, 1)]), [ErrorCode::NONE]);
    with_member(&world, GroupState::CompletingRebalance);
    assert_eq!(world.commit(MEMBER, &[("t", 0, 2)]), [ErrorCode::REBALANCE_IN_PROGRESS]);
}

#[test]
fn a_commit_keeps_its_members_session() {
    let mut world = World::new();
    with_member(&world, GroupState::Stable);
    let home = world.groups().homes.of(0).unwrap();
    home.lock().begin_session("g", "m", Duration::from_secs(10), world.now);
    world.advance(Duration::from_secs(9));
    world.commit(MEMBER, &[("t", 0, 1)]);
    world.advance(Duration::from_secs(9));
    assert!(home.lock().take_expired(world.now).is_empty());
    world.advance(Duration::from_secs(2));
    assert_eq!(home.lock().take_expired(world.now).len(), 1);
}

#[test]
fn a_generation_in_a_group_that_is_not_there_has_kafkas_code_of_the_version() {
    let world = World::new();
    let who = Committer {
        member_id: "m",
        generation_id: 1,
        group_id: "none",
    };
    assert_eq!(world.commit(who, &[("t", 0, 1)]), [ErrorCode::ILLEGAL_GENERATION]);
    let mut shard = crate::Shard::default();
    let claim = Claim {
        member_id: "m",
        group_instance_id: None,
        generation_id: 1,
    };
    let found = shard.check_commit("none", claim, true, world.now);
    assert_eq!(found, Err(ErrorCode::GROUP_ID_NOT_FOUND));
    let members_only = Committer {
        group_id: "none",
        ..nobody("none")
    };
    assert_eq!(world.commit(members_only, &[("t", 0, 1)]), [ErrorCode::NONE]);
}

#[test]
fn a_commit_is_answered_and_shows_when_every_replica_in_sync_has_it() {
    let world = World::with_replicas(&[NODE, 2]);
    let mut parked = world
        .try_commit(nobody("g"), &[("t", 0, 5, "")], BROKERS_RETENTION)
        .err()
        .unwrap();
    let calls = Arc::new(Calls::default());
    let waiter = Waiter {
        owner: calls.clone(),
        operation: 1,
    };
    parked.watch(&waiter);
    assert_eq!(world.complete(&mut *parked, false), None);
    assert!(world.fetched("g").unwrap().is_empty());
    let partition = world.fixture.partition("__consumer_offsets", 0);
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE]))); // the other one left the in-sync set
    assert_eq!(*calls.0.lock(), [1]);
    assert_eq!(
        commit_errors(&world.complete(&mut *parked, false).unwrap()),
        [ErrorCode::NONE]
    );
    assert_eq!(world.fetched("g").unwrap().len(), 1);
}

#[test]
fn a_commit_that_waits_in_vain_fails_as_in_kafka_and_shows_when_it_is_replicated_after_all() {
    let world = World::with_replicas(&[NODE, 2]);
    let rows = [("t", 0, 5, ""), ("gone", 0, 5, "")];
    let mut parked = world.try_commit(nobody("g"), &rows, BROKERS_RETENTION).err().unwrap();
    let answer = world.complete(&mut *parked, true).unwrap();
    let errors = [
        ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
    ];
    assert_eq!(commit_errors(&answer), errors);
    drop(parked);
    assert!(world.fetched("g").unwrap().is_empty());
    let partition = world.fixture.partition("__consumer_offsets", 0);
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE])));
    assert_eq!(world.fetched("g").unwrap().len(), 1);
}

#[test]
fn a_leader_that_is_not_the_leader_any_more_is_no_coordinator() {
    let world = World::with_replicas(&[NODE, 2]);
    let mut parked = world
        .try_commit(nobody("g"), &[("t", 0, 5, "")], BROKERS_RETENTION)
        .err()
        .unwrap();
    let partition = world.fixture.partition("__consumer_offsets", 0);
    give(&partition, Some(lease(1, &[2, NODE], &[NODE, 2])));
    let answer = world.complete(&mut *parked, false).unwrap();
    assert_eq!(commit_errors(&answer), [ErrorCode::NOT_COORDINATOR]);
    assert_eq!(world.commit(nobody("g"), &[("t", 0, 6)]), [ErrorCode::NOT_COORDINATOR]);
    give(&partition, Some(lease(2, &[NODE, 2], &[NODE]))); // back, but others may have committed there meanwhile
    assert_eq!(world.commit(nobody("g"), &[("t", 0, 6)]), [ErrorCode::NOT_COORDINATOR]);
    assert_eq!(world.fetched("g"), Err(ErrorCode::NOT_COORDINATOR));
    assert_eq!(world.heartbeat(nobody("g"), None), ErrorCode::NOT_COORDINATOR);
    world.load();
    assert_eq!(world.commit(nobody("g"), &[("t", 0, 6)]), [ErrorCode::NONE]);
}

#[test]
fn a_commit_that_cannot_be_appended_changes_nothing() {
    let world = World::new();
    let partition = world.fixture.partition("__consumer_offsets", 0);
    give(&partition, Some(lease(0, &[NODE, 2, 3], &[NODE])));
    partition.log().set_config(std::sync::Arc::new(
        storage::LogConfig::from_pairs([("min.insync.replicas", "2")]).unwrap(),
    ));
    assert_eq!(
        world.commit(nobody("g"), &[("t", 0, 5)]),
        [ErrorCode::COORDINATOR_NOT_AVAILABLE]
    );
    give(&partition, Some(lease(0, &[NODE], &[NODE])));
    assert!(world.fetched("g").unwrap().is_empty());
    world.fixture.faults.arm("write:.log", 1, Fault::InputOutput);
    assert_eq!(world.commit(nobody("g"), &[("t", 0, 5)]), [ErrorCode::NOT_COORDINATOR]);
    let is_created = |event: &broker::Event| matches!(event, broker::Event::GroupsCreated { .. });
    assert!(!world.events().iter().any(is_created));
}

#[test]
fn a_commit_beyond_one_batch_is_refused_whole() {
    let world = World::new();
    let partition = world.fixture.partition("__consumer_offsets", 0);
    partition.log().set_config(std::sync::Arc::new(
        storage::LogConfig::from_pairs([("max.message.bytes", "300")]).unwrap(),
    ));
    let words = "x".repeat(400);
    let errors = world.try_commit(
        nobody("g"),
        &[("t", 0, 5, ""), ("t", 1, 5, words.as_str())],
        BROKERS_RETENTION,
    );
    assert_eq!(errors.ok().unwrap(), [ErrorCode::UNKNOWN_SERVER_ERROR; 2]);
    assert!(world.fetched("g").unwrap().is_empty());
}

#[test]
fn requests_for_groups_that_load_or_on_a_stopping_broker_get_their_error() {
    let world = World::new();
    world.groups().homes.begin(&world.fixture.broker, 0).unwrap();
    assert_eq!(
        world.commit(nobody("g"), &[("t", 0, 5)]),
        [ErrorCode::COORDINATOR_LOAD_IN_PROGRESS]
    );
    world.groups().homes.close(0);
    assert_eq!(world.commit(nobody("g"), &[("t", 0, 5)]), [ErrorCode::NOT_COORDINATOR]);
    world.groups().homes.stop();
    assert_eq!(
        world.commit(nobody("g"), &[("t", 0, 5)]),
        [ErrorCode::COORDINATOR_NOT_AVAILABLE]
    );
}

#[test]
fn a_large_commit_is_left_to_another_thread_and_a_lying_one_closes_the_connection() {
    let world = World::new();
    let words = "x".repeat(17 << 10);
    let body = commit_body(nobody("g"), &[("t", 0, 5, words.as_str())], BROKERS_RETENTION);
    let api = (ApiTable::OFFSET_COMMIT, 4);
    assert!(matches!(
        world.try_serve(api, &body, Place::Loop).0,
        Ok(Served::Elsewhere(_))
    ));
    assert!(matches!(
        world.try_serve(api, &body, Place::Elsewhere).0,
        Ok(Served::Answered(_))
    ));
    let body = commit_body(nobody("g"), &[("t", 0, 5, "words")], BROKERS_RETENTION);
    for cut in 0..body.len() {
        let (served, out) = world.try_serve(api, &body[..cut], Place::Loop);
        assert!(served.is_err() && out.is_empty(), "{cut}");
    }
    assert!(world.fetched("g").unwrap().is_empty());
}

// the record of a commit is what Apache Kafka writes (`records`)
#[test]
fn commits_survive_a_load_and_the_last_one_wins() {
    let world = World::new();
    world.commit(nobody("g"), &[("t", 0, 5), ("t", 1, 6)]);
    world.commit(nobody("g"), &[("t", 0, 7)]);
    let loaded = world.load();
    assert_eq!(loaded.simple.iter().map(|id| &**id).collect::<Vec<_>>(), ["g"]);
    assert_eq!(world.fetched("g").unwrap().into_values().collect::<Vec<_>>(), [7, 6]);
}

// The offsets are the fold of the log
#[test]
fn every_field_of_a_commit_is_the_same_before_and_after_a_load() {
    let world = World::new();
    let rows = [("t", 0, 5, ""), ("t", 1, 6, "words"), ("t", 0, 7, "")]; // a partition twice: the last row counts
    let of_group = |group_id| {
        let home = world.groups().homes.of(0).unwrap();
        let shard = home.lock();
        let rows = shard.rows(group_id, "t").unwrap();
        rows.iter()
            .map(|(index, offset)| (index, offset.clone()))
            .collect::<Vec<_>>()
    };
    let groups = [("g", BROKERS_RETENTION), ("h", 60_000)];
    let before = groups.map(|(group_id, retention_ms)| {
        drop(world.try_commit(nobody(group_id), &rows, retention_ms));
        of_group(group_id)
    });
    world.load();
    assert_eq!(groups.map(|(group_id, _)| of_group(group_id)), before);
    assert_eq!(world.fetched("g").unwrap().into_values().collect::<Vec<_>>(), [7, 6]);
}

/// Version 0 wrote to `ZooKeeper`, version 1 was the first that wrote to the topic of offsets.
#[test]
fn commits_of_versions_0_and_1_are_kept_with_the_others() {
    let world = World::new();
    let body = |version: i16, offset: i64| {
        let mut out = Vec::new();
        let mut w = Writer::new(&mut out, false);
        w.string("g");
        if version >= 1 {
            w.i32(-1);
            w.string("");
        }
        w.length(Some(1));
        w.string("t");
        w.length(Some(1));
        w.i32(0);
        w.i64(offset);
        if version >= 1 {
            w.i64(1234);
        }
        w.nullable_string(Some("old"));
        out
    };
    for version in [0, 1] {
        let offset = 5 + i64::from(version);
        let (answer, _) = world.serve((ApiTable::OFFSET_COMMIT, version), &body(version, offset));
        assert_eq!(answer, b"\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\0\0\0", "version {version}");
        assert_eq!(world.fetched("g").unwrap(), [(("t".to_owned(), 0), offset)].into());
    }
}
