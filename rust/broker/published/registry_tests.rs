use super::*;
use crate::testing::Fixture;

#[test]
fn partitions_are_found_by_index_with_gaps_for_others() {
    let fixture = Fixture::new(1);
    fixture.create("t", 3, &[]);
    let registry = &fixture.broker.registry();
    let gone = registry.remove("t", &[1, 9, -1]);
    assert_eq!(gone.iter().map(|p| p.index()).collect::<Vec<_>>(), [1]);
    let topics = registry.snapshot();
    let topic = topics.by_name("t").unwrap();
    assert!(topic.partition(1).is_none() && topic.partition(-1).is_none() && topic.partition(i32::MAX).is_none());
    assert_eq!(topic.partitions().map(|p| p.index()).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn both_maps_change_together_and_an_older_snapshot_does_not() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    let registry = &fixture.broker.registry();
    let before = Arc::clone(&registry.snapshot());
    let partitions = registry.remove("t", &[0]);
    let now = registry.snapshot();
    assert!(
        now.by_name("t").is_none() && now.by_id(&[7; 16]).is_none(),
        "without partitions it disappears"
    );
    assert!(before.by_name("t").is_some() && before.by_id(&[7; 16]).is_some());
    registry.add(&"t".into(), [8; 16], partitions);
    let now = registry.snapshot();
    assert!(now.by_id(&[7; 16]).is_none() && now.by_id(&[8; 16]).is_some());
}

#[test]
fn a_topic_without_an_id_is_found_by_name_only() {
    let fixture = Fixture::new(1);
    fixture.create_with("old", [0; 16], 1, &[], &[1]);
    let topics = fixture.broker.registry().snapshot();
    assert!(topics.by_name("old").is_some());
    assert!(topics.by_id(&[0; 16]).is_none());
}

#[test]
fn removing_from_an_unknown_topic_removes_nothing() {
    assert!(Registry::default().remove("t", &[0]).is_empty());
}
