use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::testing::{Fixture, NODE, give, lease};
use crate::{Change, Lease};

fn led_by(leader: i32, leader_epoch: i32) -> Lease {
    Lease {
        leader,
        ..lease(leader_epoch, &[NODE, 2, 3], &[NODE, 2, 3])
    }
}

fn described(changes: Vec<Change>) -> Vec<String> {
    let text = |change| match change {
        Change::Follow(partition, epoch) => format!("follow {} in {epoch}", partition.index()),
        Change::Drop(partition) => format!("drop {}", partition.index()),
    };
    changes.into_iter().map(text).collect()
}

#[test]
fn a_partition_is_fetched_from_the_leader_of_its_lease() {
    let fixture = Fixture::new(1);
    fixture.create("t", 2, &[]);
    let fetchers = &fixture.broker.fetchers;
    let follow = |index: i32, lease: Option<Lease>| {
        let partition = fixture.partition("t", index);
        give(&partition, lease);
        fetchers.follow(&partition);
    };
    assert!(fetchers.sources().is_empty(), "it leads both");
    follow(0, Some(led_by(2, 5)));
    follow(1, Some(led_by(2, 1)));
    let two = fetchers.sources().remove(0);
    assert_eq!(
        (two.node_id, described(two.take().unwrap())),
        (2, vec!["follow 0 in 5".into(), "follow 1 in 1".into()])
    );
    follow(0, Some(led_by(3, 6)));
    let three = fetchers.sources().remove(1);
    assert_eq!(described(two.take().unwrap()), ["drop 0"]);
    assert_eq!(described(three.take().unwrap()), ["follow 0 in 6"]);
    follow(0, Some(led_by(NODE, 7)));
    follow(1, None);
    assert_eq!(described(three.take().unwrap()), ["drop 0"]);
    assert_eq!(described(two.take().unwrap()), ["drop 1"]);
}

#[test]
fn each_leader_is_run_once_and_ends_with_the_broker() {
    let fixture = Fixture::new(1);
    fixture.create("t", 2, &[]);
    let run: Arc<Mutex<Vec<i32>>> = Arc::default();
    let seen = Arc::clone(&run);
    let fetchers = &fixture.broker.fetchers;
    fetchers.run_with(Box::new(move |source| seen.lock().push(source.node_id)));
    for index in [0, 1, 0] {
        let partition = fixture.partition("t", index);
        give(&partition, Some(led_by(2, 1)));
        fetchers.follow(&partition);
    }
    assert_eq!(*run.lock(), [2]);
    let source = fetchers.sources().remove(0);
    fetchers.stop();
    source.wait(Duration::from_mins(1));
    assert!(source.take().is_none());
}
