//! Metrics of the data plane.

use std::collections::HashMap;

use super::Figures;
use crate::testing::{Fixture, NODE, batch, give, lease, take_fetched};
use base::place::Offset;
use record::Origin;

fn totals(figures: &Figures) -> HashMap<&'static str, u64> {
    figures.totals.iter().copied().collect()
}

#[test]
fn figures_count_appends_as_leader_and_as_follower() {
    let fixture = Fixture::new(1);
    fixture.create("led", 2, &[]);
    fixture.create_with("followed", [8; 16], 1, &[], &[2, NODE]);
    let mut one = batch(0);
    let size = one.len() as u64;
    fixture
        .partition("led", 1)
        .append(&mut one, 1, Origin::Client, 0)
        .unwrap();
    take_fetched(&fixture.partition("followed", 0), 0, &one, 0);
    let figures = fixture.broker.figures(3);
    let named = totals(&figures);
    assert_eq!((named["MessagesIn"], named["BytesIn"]), (1, size));
    assert_eq!(named["ReplicationBytesIn"], size);
    assert_eq!((named["PartitionCount"], named["LeaderCount"]), (3, 2));
    let mut rows: Vec<_> = figures
        .partitions
        .iter()
        .map(|p| (&*p.topic, p.index, p.size, p.log_end, p.segments))
        .collect();
    rows.sort_unstable();
    assert_eq!(
        rows,
        [
            ("followed", 0, size, Offset(1), 1),
            ("led", 0, 0, Offset(0), 1),
            ("led", 1, size, Offset(1), 1)
        ]
    );
}

#[test]
fn led_partitions_are_under_replicated_under_and_at_min_isr_as_their_lease_says() {
    let fixture = Fixture::new(1);
    let replicas = [NODE, 2, 3];
    fixture.create_with("t", [7; 16], 4, &[("min.insync.replicas", "2")], &replicas);
    give(&fixture.partition("t", 0), Some(lease(1, &replicas, &replicas)));
    give(&fixture.partition("t", 1), Some(lease(1, &replicas, &[NODE, 2])));
    give(&fixture.partition("t", 2), Some(lease(1, &replicas, &[NODE])));
    give(&fixture.partition("t", 3), Some(lease(1, &[2, NODE, 3], &[2])));
    let named = totals(&fixture.broker.figures(0));
    assert_eq!((named["LeaderCount"], named["UnderReplicatedPartitions"]), (3, 2));
    assert_eq!(
        (named["AtMinIsrPartitionCount"], named["UnderMinIsrPartitionCount"]),
        (1, 1)
    );
}

#[test]
fn more_partitions_or_topics_than_asked_for_have_no_rows_and_are_in_the_totals() {
    let fixture = Fixture::new(1);
    fixture.create("t", 3, &[]);
    let figures = fixture.broker.figures(2);
    assert_eq!((figures.partitions.len(), figures.topics.len()), (0, 1));
    assert_eq!(totals(&figures)["PartitionCount"], 3);
    assert_eq!(fixture.broker.figures(3).partitions.len(), 3);
    assert_eq!(fixture.broker.figures(0).topics.len(), 0);
}

#[test]
fn partitions_of_a_failed_log_directory_are_offline_replicas() {
    let fixture = Fixture::new(2);
    fixture.create("t", 3, &[]);
    fixture.broker.logs().dirs().fail(&fixture.dirs[0], "broken");
    assert_eq!(totals(&fixture.broker.figures(0))["OfflineReplicaCount"], 2);
}
