use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::records::NO_TIMESTAMP;

fn at(record_offset: i64) -> CommittedOffset {
    CommittedOffset {
        offset: record_offset * 10,
        leader_epoch: -1,
        metadata: "".into(),
        commit_ms: 0,
        expire_ms: NO_TIMESTAMP,
        topic_id: ZERO_TOPIC_ID,
        record_offset: Offset(record_offset),
    }
}

/// A record of one group: a commit or a tombstone of a partition.
type Change = (bool, usize, i32);

proptest! {
    /// Whatever the order in which records are folded, a commit that is the last record of its partition is
    /// there, and nothing else is, as long as tombstones are folded behind what stands before them in the log.
    #[test]
    fn the_last_record_of_a_partition_wins(
        changes in proptest::collection::vec((any::<bool>(), 0usize..3, 0i32..4), 1..40),
        swaps in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let topics: Vec<Arc<str>> = ["a", "b", "c"].map(Arc::from).to_vec();
        let mut twin: HashMap<(usize, i32), i64> = HashMap::new();
        for (offset, (is_commit, topic, index)) in (0i64..).zip(&changes) {
            if *is_commit {
                twin.insert((*topic, *index), offset);
            } else {
                twin.remove(&(*topic, *index));
            }
        }
        let mut order: Vec<(i64, Change)> = (0i64..).zip(changes.iter().copied()).collect();
        for swap in swaps {
            let i = swap.index(order.len());
            // two neighbours of which the earlier one is no commit that a later tombstone has to take
            if i + 1 < order.len() && order[i].1.0 && order[i + 1].1.0 {
                order.swap(i, i + 1);
            }
        }
        let mut offsets = GroupOffsets::default();
        for (record_offset, (is_commit, topic, index)) in order {
            if is_commit {
                offsets.put(&topics[topic], index, at(record_offset));
            } else {
                offsets.remove(&topics[topic], index, Offset(record_offset));
            }
        }
        for (topic, name) in topics.iter().enumerate() {
            for index in 0..4 {
                let found = offsets.row(name, index).map(|offset| offset.record_offset);
                prop_assert_eq!(found, twin.get(&(topic, index)).copied().map(Offset));
            }
            let rows = offsets.topic(name).into_iter().flat_map(TopicOffsets::iter);
            prop_assert!(rows.is_sorted_by_key(|row| row.0));
            prop_assert_eq!(offsets.has_topic(name), twin.keys().any(|key| key.0 == topic));
        }
        prop_assert_eq!(offsets.is_empty(), twin.is_empty());
    }
}

// KIP-98
#[test]
fn a_tombstone_drops_earlier_offsets_of_open_transactions_and_no_later_ones() {
    let topic: Arc<str> = "t".into();
    let mut offsets = GroupOffsets::default();
    offsets.put_unstable(&topic, 0, 7, at(1));
    offsets.put_unstable(&topic, 0, 8, at(3));
    offsets.remove("t", 0, Offset(2));
    offsets.end_transaction(&topic, 0, 7, true);
    assert!(offsets.row("t", 0).is_none() && offsets.is_unstable("t", 0));
    offsets.end_transaction(&topic, 0, 8, true);
    assert_eq!(offsets.row("t", 0), Some(&at(3)));
    assert!(!offsets.has_unstable());
}

#[test]
fn many_rows_of_a_topic_stand_in_a_tree_and_are_the_same() {
    let topic: Arc<str> = "t".into();
    let mut offsets = GroupOffsets::default();
    let count = i64::try_from(3 * MANY_ROWS).unwrap();
    for record_offset in 0..count {
        offsets.put(&topic, i32::try_from(count - record_offset).unwrap(), at(record_offset));
    }
    assert!(matches!(offsets.topic("t"), Some(TopicOffsets::Many(_))));
    offsets.put(&topic, 1, at(0)); // older than what is there
    assert_eq!(offsets.row("t", 1), Some(&at(count - 1)));
    let rows = offsets.topic("t").unwrap();
    assert_eq!(rows.len(), 3 * MANY_ROWS);
    assert!(rows.iter().map(|row| row.0).eq(1..=i32::try_from(count).unwrap()));
    for index in 1..=i32::try_from(count).unwrap() {
        offsets.remove("t", index, Offset(count));
    }
    assert!(offsets.is_empty());
}
