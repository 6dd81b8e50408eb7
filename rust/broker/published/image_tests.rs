use super::*;
use crate::testing::{broker_row, row};

#[test]
fn a_topic_is_found_by_name_and_by_id_until_it_is_withdrawn() {
    let image = PublishedImage::default();
    image.publish_topics(vec![row("a", [1; 16], 2), row("b", [2; 16], 1)]);
    let before = Arc::clone(&image.load());
    assert_eq!(before.topic_by_id(&[2; 16]).unwrap().name.as_ref(), "b");
    assert!(before.topic("a").unwrap().has(1) && !before.topic("a").unwrap().has(2));
    image.withdraw_topics(&["a".to_owned(), "unknown".to_owned()]);
    assert!(image.load().topic("a").is_none() && image.load().topic_by_id(&[1; 16]).is_none());
    assert!(before.topic("a").is_some(), "what was loaded does not change");
}

#[test]
fn a_topic_created_again_is_no_longer_found_by_its_old_id() {
    let image = PublishedImage::default();
    image.publish_topics(vec![row("a", [1; 16], 1)]);
    image.publish_topics(vec![row("a", [9; 16], 1)]);
    assert!(image.load().topic_by_id(&[1; 16]).is_none());
    assert_eq!(image.load().topic_by_id(&[9; 16]).unwrap().name.as_ref(), "a");
}

#[test]
fn partitions_that_are_not_given_stay_as_they_were() {
    let image = PublishedImage::default();
    image.publish_topics(vec![row("a", [1; 16], 3)]);
    let before = Arc::clone(&image.load());
    let mut changed = row("a", [1; 16], 5);
    changed.partitions.retain(|p| p.index == 1 || p.index == 4);
    for partition in &mut changed.partitions {
        partition.leader_epoch = LeaderEpoch(7);
    }
    image.publish_topics(vec![changed]);
    let epochs = |image: &Image| -> Vec<_> {
        let topic = image.topic_by_id(&[1; 16]).unwrap();
        topic.partitions.iter().map(|p| (p.index, p.leader_epoch.0)).collect()
    };
    assert_eq!(epochs(&image.load()), [(0, 0), (1, 7), (2, 0), (4, 7)]);
    assert_eq!(
        epochs(&before),
        [(0, 0), (1, 0), (2, 0)],
        "what was loaded does not change"
    );
}

#[test]
fn brokers_are_listed_in_order_and_by_listener() {
    let image = PublishedImage::default();
    image.publish_topics(vec![row("a", [1; 16], 1)]);
    image.publish_cluster(vec![broker_row(3), broker_row(1)], 3);
    let now = image.load();
    assert_eq!(now.brokers.iter().map(|b| b.node_id).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(now.controller_id, 3);
    assert_eq!(now.node_endpoint(3, "PLAINTEXT").unwrap().host, "host3");
    assert!(now.node_endpoint(3, "SSL").is_none() && now.node_endpoint(2, "PLAINTEXT").is_none());
    assert!(now.topic("a").is_some(), "the topics stay");
}

#[test]
fn topics_come_in_name_order() {
    let image = PublishedImage::default();
    image.publish_topics(vec![row("b", [2; 16], 1), row("a", [1; 16], 1)]);
    let names: Vec<_> = image.load().topics().map(|t| t.name.to_string()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn changes_that_two_threads_publish_at_once_are_both_in_the_image() {
    const ROUNDS: u8 = 40;
    let id = |number: i32| {
        let mut id = [0; 16];
        id[..4].copy_from_slice(&number.to_be_bytes());
        id
    };
    let image = PublishedImage::default();
    let many = 0..4000; // so that each change takes a while
    image.publish_topics(
        many.clone()
            .map(|number| row(&format!("t{number}"), id(number), 1))
            .collect(),
    );
    let together = std::sync::Barrier::new(2);
    let publish = |name: &str, first: i32| {
        for round in 0..i32::from(ROUNDS) {
            together.wait();
            image.publish_topics(vec![row(&format!("{name}{round}"), id(first + round), 1)]);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| publish("a", 5000));
        publish("b", 6000);
    });
    assert_eq!(image.load().topics().len(), many.len() + 2 * usize::from(ROUNDS));
}
