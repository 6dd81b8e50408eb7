use std::sync::Arc;
use std::time::Duration;

use crate::GroupState;
use crate::testing::{Committer, World};
use base::error::ErrorCode;
use broker::testing::Calls;
use broker::{Event, Waiter};

const MEMBER: Committer<'_> = Committer {
    group_id: "g",
    member_id: "m",
    generation_id: 3,
};

fn world(state: GroupState) -> World {
    let world = World::new();
    let home = world.groups().homes.of(0).unwrap();
    let mut shard = home.lock();
    shard.grant("g", state, 3);
    shard.lease("g").unwrap().add_member("m", None);
    shard.lease("g").unwrap().add_member("s", Some("static"));
    drop(shard);
    world
}

// codes as Kafka's GroupMetadataManager gives them
#[test]
fn a_heartbeat_is_judged_by_instance_member_generation_and_state() {
    let stable = world(GroupState::Stable);
    assert_eq!(stable.heartbeat(MEMBER, None), ErrorCode::NONE);
    let of_static = Committer {
        member_id: "s",
        ..MEMBER
    };
    assert_eq!(stable.heartbeat(of_static, Some("static")), ErrorCode::NONE);
    assert_eq!(stable.heartbeat(MEMBER, Some("static")), ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!(stable.heartbeat(MEMBER, Some("other")), ErrorCode::UNKNOWN_MEMBER_ID);
    let stranger = Committer {
        member_id: "x",
        ..MEMBER
    };
    assert_eq!(stable.heartbeat(stranger, None), ErrorCode::UNKNOWN_MEMBER_ID);
    let other_group = Committer {
        group_id: "none",
        ..MEMBER
    };
    assert_eq!(stable.heartbeat(other_group, None), ErrorCode::UNKNOWN_MEMBER_ID);
    let older = Committer {
        generation_id: 2,
        ..MEMBER
    };
    assert_eq!(stable.heartbeat(older, None), ErrorCode::ILLEGAL_GENERATION);
    let later = Committer {
        generation_id: 4,
        ..MEMBER
    };
    assert_eq!(stable.heartbeat(later, None), ErrorCode::ILLEGAL_GENERATION);
    let nameless = Committer { group_id: "", ..MEMBER };
    assert_eq!(stable.heartbeat(nameless, None), ErrorCode::INVALID_GROUP_ID);
    assert_eq!(
        world(GroupState::PreparingRebalance).heartbeat(MEMBER, None),
        ErrorCode::REBALANCE_IN_PROGRESS
    );
    assert_eq!(
        world(GroupState::CompletingRebalance).heartbeat(MEMBER, None),
        ErrorCode::NONE
    );
}

#[test]
fn a_member_that_left_and_a_static_one_that_was_replaced_are_unknown() {
    let world = world(GroupState::Stable);
    let home = world.groups().homes.of(0).unwrap();
    home.lock().lease("g").unwrap().remove_member("s", Some("static"));
    home.lock().lease("g").unwrap().add_member("s2", Some("static"));
    let of = |member_id| Committer { member_id, ..MEMBER };
    assert_eq!(world.heartbeat(of("s"), Some("static")), ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!(world.heartbeat(of("s2"), Some("static")), ErrorCode::NONE);
    home.lock().lease("g").unwrap().remove_member("m", None);
    assert_eq!(world.heartbeat(MEMBER, None), ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn a_static_member_that_was_replaced_does_not_take_its_instance_away_when_it_goes() {
    let world = world(GroupState::Stable);
    let home = world.groups().homes.of(0).unwrap();
    home.lock().lease("g").unwrap().add_member("s2", Some("static"));
    home.lock().lease("g").unwrap().remove_member("s", Some("static"));
    let of = |member_id| Committer { member_id, ..MEMBER };
    assert_eq!(world.heartbeat(of("s2"), Some("static")), ErrorCode::NONE);
    assert_eq!(world.heartbeat(of("s"), Some("static")), ErrorCode::FENCED_INSTANCE_ID);
}

#[test]
fn heartbeats_of_loading_groups_succeed() {
    let world = world(GroupState::Stable);
    world.groups().homes.begin(&world.fixture.broker, 0).unwrap();
    assert_eq!(world.heartbeat(MEMBER, None), ErrorCode::NONE);
    world.groups().homes.close(0);
    assert_eq!(world.heartbeat(MEMBER, None), ErrorCode::NOT_COORDINATOR);
    world.groups().homes.stop();
    assert_eq!(world.heartbeat(MEMBER, None), ErrorCode::COORDINATOR_NOT_AVAILABLE);
}

#[test]
fn an_expired_session_is_reported_once_and_a_heartbeat_begins_another() {
    let mut world = world(GroupState::Stable);
    let home = world.groups().homes.of(0).unwrap();
    for member in ["m", "s"] {
        home.lock()
            .begin_session("g", member, Duration::from_secs(10), world.now);
    }
    world.groups().note_timer(world.now + Duration::from_secs(10));
    let expired = |world: &World| {
        world.groups().expire_sessions(&world.fixture.broker, world.now);
        let mut found = Vec::new();
        for event in world.events() {
            let Event::SessionsExpired(members) = event else {
                panic!("{event:?}")
            };
            found.extend(
                members
                    .into_iter()
                    .map(|(_, _, group, member)| format!("{group} {member}")),
            );
        }
        found
    };
    world.advance(Duration::from_secs(6));
    assert_eq!(world.heartbeat(MEMBER, None), ErrorCode::NONE);
    world.advance(Duration::from_secs(6)); // 12: the other one was not heard of for 10
    assert_eq!(expired(&world), ["g s"]);
    assert!(!home.lock().has_session("g", "s"));
    assert!(expired(&world).is_empty());
    world.advance(Duration::from_secs(4)); // 16
    assert_eq!(expired(&world), ["g m"]);
    assert_eq!(world.heartbeat(MEMBER, None), ErrorCode::NONE);
    assert!(home.lock().has_session("g", "m"));
    world.advance(Duration::from_secs(9));
    assert!(expired(&world).is_empty());
    world.advance(Duration::from_secs(1));
    assert_eq!(expired(&world), ["g m"]);
}

#[test]
fn a_shorter_session_ends_before_the_timer_of_the_longer_one_before() {
    let mut world = world(GroupState::Stable);
    let home = world.groups().homes.of(0).unwrap();
    home.lock().begin_session("g", "m", Duration::from_mins(5), world.now);
    home.lock().begin_session("g", "m", Duration::from_secs(10), world.now);
    world.advance(Duration::from_secs(10));
    assert_eq!(home.lock().take_expired(world.now).len(), 1);
    home.lock().begin_session("g", "m", Duration::from_secs(10), world.now);
    home.lock().end_session("g", "m");
    world.advance(Duration::from_mins(5));
    assert!(home.lock().take_expired(world.now).is_empty(), "its session was ended");
}

#[test]
fn a_member_that_is_heard_of_before_its_first_session_begins_is_not_lost() {
    let world = world(GroupState::Stable);
    assert_eq!(world.heartbeat(MEMBER, None), ErrorCode::NONE);
    let home = world.groups().homes.of(0).unwrap();
    assert!(!home.lock().has_session("g", "m"));
    assert!(home.lock().take_expired(world.now).is_empty());
}

#[test]
fn the_timekeeper_is_woken_for_a_session_that_may_end_before_the_next_timer_and_for_no_other() {
    let world = world(GroupState::Stable);
    let calls = Arc::new(Calls::default());
    world.groups().set_timekeeper(Waiter {
        owner: calls.clone(),
        operation: 7,
    });
    let note = |seconds| {
        world.groups().note_timer(world.now + Duration::from_secs(seconds));
        calls.0.lock().len()
    };
    assert_eq!(note(45), 1, "there was no timer");
    assert_eq!(note(300), 1);
    assert_eq!(note(45), 1);
    assert_eq!(note(10), 2);
    assert_eq!(*calls.0.lock(), [7, 7]);
}
