//! What a follower has on disk, and what its checkpoints say of it (H2).

use std::os::unix::fs::FileExt;

use super::*;
use storage::checkpoint::read_offset_checkpoint;
use storage::format::RECOVERY_POINT_CHECKPOINT;
use storage::log_dir::Checkpoint;

/// The recovery point in the checkpoint of `node`.
fn checkpointed(pair: &Pair, node: i32) -> i64 {
    let fixture = pair.at(node);
    let path = fixture.dirs[0].join(RECOVERY_POINT_CHECKPOINT);
    let rows = read_offset_checkpoint(&*fixture.broker.context().fs, &path).unwrap();
    rows[0].1.get()
}

fn append_at(pair: &Pair, node: i32, timestamp: i64) {
    let partition = pair.at(node).partition(TOPIC, 0);
    partition.append(&mut batch(timestamp), 1, Origin::Client, 0).unwrap();
}

/// Broker 2 has led, alone, two records that are on its disk, as its checkpoint says; broker 1 leads without them, and
/// has another in their place.
fn parted_below_the_recovery_point() -> Pair {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    pair.fetch_until_equal(2);
    pair.elect(2, &[2]);
    pair.append(2);
    pair.append(2);
    let follower = pair.at(2);
    follower.partition(TOPIC, 0).flush().unwrap();
    follower
        .broker
        .logs()
        .dirs()
        .write_checkpoints(&[Checkpoint::RecoveryPoint])
        .unwrap();
    pair.elect(1, &[1]);
    pair.append(1);
    assert_eq!((pair.ends(), checkpointed(&pair, 2)), ([2, 3], 3));
    pair
}

// H2: what is fetched after a cut is not on disk, so no checkpoint may say that it is.
#[test]
fn cut_below_the_recovery_point_is_checkpointed_before_anything_is_fetched_again() {
    let mut pair = parted_below_the_recovery_point();
    while pair.ends()[1] == 3 {
        assert!(pair.fetch(2));
    }
    assert_eq!((pair.ends(), checkpointed(&pair, 2)), ([2, 1], 1));
}

// H2
#[test]
fn power_loss_after_a_cut_does_not_keep_a_follower_from_starting() {
    let mut pair = parted_below_the_recovery_point();
    pair.fetch_until_equal(2);
    let [_, follower] = pair.brokers;
    let segment = follower.dirs[0].join("t-0/00000000000000000000.log");
    follower.broker.logs().dirs().abandon();
    let follower = follower.restart_after(|| {
        let file = std::fs::File::options().write(true).open(&segment).unwrap();
        let size = file.metadata().unwrap().len();
        file.write_all_at(b"?", size - 1).unwrap(); // the page did not come to disk as it was
    });
    assert_eq!(follower.partition(TOPIC, 0).offsets().log_end(), Offset(1));
}

// Or a crash would have all of a follower's log read again.
#[test]
fn segment_that_a_follower_has_sealed_is_flushed() {
    let mut pair = Pair::new(&[("segment.ms", "1000")]);
    append_at(&pair, 1, 1_000);
    append_at(&pair, 1, 100_000);
    let follower = pair.at(2).partition(TOPIC, 0);
    let limit = Instant::now() + Duration::from_secs(20);
    pair.fetch_until_equal(2);
    while follower.log().recovery_point() == Offset(0) {
        assert!(Instant::now() < limit, "nothing was flushed");
        std::thread::yield_now();
    }
    assert_eq!(follower.log().segments().count(), 2);
}

// flush.ms
#[test]
fn records_of_a_follower_are_flushed_after_flush_ms() {
    let mut pair = Pair::new(&[("flush.ms", "100")]);
    pair.append(1);
    pair.fetch_until_equal(2);
    let follower = pair.at(2);
    assert_eq!(follower.broker.logs().flush_due(), 0);
    follower.clock.advance(100);
    assert_eq!(follower.broker.logs().flush_due(), 1);
}

// A leader with records for a partition that is not fetched any more would answer every request at
// once.
#[test]
fn partition_whose_directory_fails_between_two_fetches_leaves_the_session() {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    pair.fetch_until_equal(2);
    pair.append(1);
    assert!(pair.fetch(2));
    assert_eq!(pair.fetchers[1].forgotten, []);
    pair.at(2).partition(TOPIC, 0).set_offline();
    assert!(!pair.fetch(2), "nothing else is followed");
    assert_eq!(pair.fetchers[1].forgotten, [(ID, 0)]);
}
