//! A log start that moved, told to the followers (KIP-107): whoever deletes records waits for it.

use super::closest::{completes, fetch_of, leader};
use super::*;
use protocol::fetch::ABSENT_WATERMARK;

/// Three records that all three replicas have.
fn replicated() -> Fixture {
    let fixture = leader();
    (0..3).for_each(|_| append(&fixture, 0, 100));
    for node in [2, 3] {
        fetch_of(&fixture, node, 0, 3, ABSENT_WATERMARK);
    }
    fixture
}

#[test]
fn a_follower_at_the_log_end_gets_a_moved_log_start_at_once() {
    let fixture = replicated();
    let mut waiting = parked(fetch_of(&fixture, 2, 0, 3, ABSENT_WATERMARK).0);
    let owner = Arc::new(Calls::default());
    waiting.watch(&Waiter {
        owner: owner.clone(),
        operation: 5,
    });
    assert!(!completes(&fixture, &mut *waiting));
    fixture.partition("t", 0).delete_records(Offset(2)).unwrap();
    assert_eq!(*owner.0.lock(), [5], "called");
    assert!(completes(&fixture, &mut *waiting));
    let (_, told) = fetch_of(&fixture, 3, 0, 3, ABSENT_WATERMARK);
    assert_eq!(told.partitions[0].log_start_offset, 2, "its fetch was on the way");
    let next = fetch_of(&fixture, 2, 2, 3, ABSENT_WATERMARK).0;
    assert!(!completes(&fixture, &mut *parked(next)), "it has taken it over");
}

/// Telling again what cannot be taken over would be a fetch after the other.
#[test]
fn a_follower_without_a_log_start_or_with_an_end_below_the_new_start_does_not_get_it() {
    let fixture = replicated();
    let partition = fixture.partition("t", 0);
    partition.delete_records(Offset(2)).unwrap();
    assert!(
        partition.offsets().has_log_start_past(Offset(0), Offset(3))
            && partition.offsets().has_log_start_past(Offset(0), Offset(1))
    );
    assert!(
        !partition.offsets().has_log_start_past(Offset(1), Offset(1)),
        "it starts at its end"
    );
    assert!(!partition.offsets().has_log_start_past(Offset::NONE, Offset(3)));
    assert!(!partition.offsets().has_log_start_past(Offset(2), Offset(3)));
}
