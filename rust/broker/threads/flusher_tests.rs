use std::time::{Duration, Instant};

use super::*;
use crate::testing::{Fixture, START_MS, batch};
use ::io::Fault;
use base::place::Offset;
use record::Origin;

fn with_unflushed() -> (Fixture, Arc<Partition>) {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    let partition = fixture.partition("t", 0);
    partition
        .append(&mut batch(START_MS), 1, Origin::Client, START_MS)
        .unwrap();
    (fixture, partition)
}

#[test]
fn a_partition_is_queued_once_until_its_flush_begins() {
    let (_fixture, partition) = with_unflushed();
    let flusher = Flusher::default();
    flusher.enqueue(&partition);
    flusher.enqueue(&partition);
    assert_eq!(flusher.state.lock().queue.len(), 1);
    flusher.stop();
    flusher.run(|_, error| panic!("{error}"));
    flusher.enqueue(&partition);
    assert_eq!(flusher.state.lock().queue.len(), 1, "it can be queued again");
}

#[test]
fn stopping_lets_the_queue_be_finished() {
    let (_fixture, partition) = with_unflushed();
    let flusher = Flusher::default();
    flusher.enqueue(&partition);
    flusher.stop();
    flusher.run(|_, error| panic!("{error}"));
    assert_eq!(partition.log().recovery_point(), Offset(1));
}

#[test]
fn a_partition_that_cannot_be_flushed_is_reported() {
    let (fixture, partition) = with_unflushed();
    fixture.faults.arm("sync:.log", 1, Fault::InputOutput);
    let flusher = Flusher::default();
    flusher.enqueue(&partition);
    flusher.stop();
    let failed = Mutex::new(Vec::new());
    flusher.run(|partition, error| failed.lock().push((partition.index(), error.code())));
    assert_eq!(*failed.lock(), [(0, base::error::ErrorCode::KAFKA_STORAGE_ERROR)]);
    assert_eq!(partition.log().recovery_point(), Offset(0));
}

#[test]
fn partition_that_finds_no_descriptor_is_flushed_later() {
    let (fixture, partition) = with_unflushed();
    fixture.faults.arm("sync:.log", 1, Fault::NoDescriptor);
    let flusher = Flusher::default();
    flusher.enqueue(&partition);
    std::thread::scope(|scope| {
        scope.spawn(|| flusher.run(|partition, error| fixture.broker.logs().dirs().storage_failed(partition, error)));
        let limit = Instant::now() + Duration::from_secs(20);
        while partition.log().recovery_point() < Offset(1) && Instant::now() < limit {
            thread::yield_now();
        }
        flusher.stop();
    });
    assert_eq!(partition.log().recovery_point(), Offset(1));
    assert!(fixture.faults.has_fired() && fixture.broker.logs().dirs().failed().is_empty());
}
