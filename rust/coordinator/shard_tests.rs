//! What no request shows: the timers that a shard keeps, and changes of several records.

use super::*;
use crate::records::{NO_LEADER_EPOCH, NO_TIMESTAMP, OffsetValue};

const MINUTE: Duration = Duration::from_mins(1);

/// Group `g` with its member `m`.
fn with_member() -> Shard {
    let mut shard = Shard::default();
    shard.grant("g", GroupState::Stable, 1);
    shard.lease("g").unwrap().add_member("m", None);
    shard
}

#[test]
fn a_member_has_one_timer_however_often_its_session_was_shortened() {
    let (mut shard, mut now) = (with_member(), Instant::now());
    for _ in 0..5 {
        shard.begin_session("g", "m", 5 * MINUTE, now); // as a new member
        shard.begin_session("g", "m", MINUTE, now);
        assert!(shard.take_expired(now).is_empty());
        now += MINUTE / 2;
    }
    for _ in 0..20 {
        now += MINUTE / 2;
        let claim = Claim {
            member_id: "m",
            group_instance_id: None,
            generation_id: 1,
        };
        assert_eq!(shard.heartbeat("g", claim, now), ErrorCode::NONE);
        assert!(shard.take_expired(now).is_empty());
    }
    assert_eq!(shard.timers.len(), 1);
    assert_eq!(shard.take_expired(now + MINUTE).len(), 1);
    assert!(shard.timers.is_empty());
}

#[test]
fn tombstones_are_folded_when_the_last_of_them_is_durable() {
    let mut shard = Shard::default();
    let (group_id, topic): (Arc<str>, Arc<str>) = ("g".into(), "t".into());
    let value = OffsetValue {
        offset: 5,
        leader_epoch: NO_LEADER_EPOCH,
        metadata: "",
        commit_ms: 1,
        expire_ms: NO_TIMESTAMP,
        topic_id: None,
    };
    let row = |index| (Arc::clone(&group_id), Arc::clone(&topic), index);
    for index in 0..3 {
        shard.put(
            &group_id,
            &topic,
            index,
            CommittedOffset::new(&value, Offset(i64::from(index))),
        );
    }
    shard.note_removal((0..3).map(row).collect(), Offset(10));
    for high_watermark in 10..13 {
        shard.settle(Offset(high_watermark));
        assert_eq!(shard.rows("g", "t").map(TopicOffsets::len), Some(3), "{high_watermark}");
    }
    shard.settle(Offset(13));
    assert!(shard.rows("g", "t").is_none());
}

// KIP-890; script `transactions` of the simulator, seeds 231 and 843
#[test]
fn repeated_marker_does_not_end_the_transaction_behind_it() {
    let mut shard = Shard::default();
    let (group_id, topic): (Arc<str>, Arc<str>) = ("g".into(), "t".into());
    let at = |offset, record| {
        let value = OffsetValue {
            offset,
            leader_epoch: NO_LEADER_EPOCH,
            metadata: "",
            commit_ms: 1,
            expire_ms: NO_TIMESTAMP,
            topic_id: None,
        };
        CommittedOffset::new(&value, Offset(record))
    };
    let committed = |shard: &Shard| {
        shard
            .rows("g", "t")
            .and_then(|rows| rows.get(0))
            .map(|row| row.record_offset)
    };
    let is_unstable = |shard: &Shard| shard.groups["g"].offsets.is_unstable("t", 0);
    shard.put_unstable(&group_id, &topic, 0, 7, at(100, 3));
    shard.note_end(7, true, Offset(5));
    shard.settle(Offset(5));
    shard.note_end(7, true, Offset(6)); // the answer to the marker was lost
    shard.put_unstable(&group_id, &topic, 0, 7, at(200, 6));
    shard.settle(Offset(7));
    assert!(is_unstable(&shard), "its own marker is not there yet");
    assert_eq!(committed(&shard), Some(Offset(3)));
    shard.note_end(7, false, Offset(8));
    shard.settle(Offset(8));
    assert!(!is_unstable(&shard));
    assert_eq!(committed(&shard), Some(Offset(3)), "the aborted offset is gone");
}
