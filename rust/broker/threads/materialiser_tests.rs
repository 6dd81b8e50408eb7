//! What the background makes, and what it leaves alone.

use std::time::{Duration, Instant};

use crate::Event;
use crate::testing::{Fixture, START_MS, batch};
use ::io::Fault;
use record::Origin;

/// Waits, with a limit, for what a thread does.
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < limit, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn new_logs_come_to_disk_without_being_written() {
    let fixture = Fixture::new(1);
    fixture.create("t", 3, &[]);
    let made = |index: i32| fixture.partition("t", index).log().is_materialised();
    assert!(!(0..3).any(made), "created in memory");
    assert!(std::fs::read_dir(&fixture.dirs[0]).unwrap().all(|entry| {
        let name = entry.unwrap().file_name();
        !name.to_string_lossy().starts_with("t-")
    }));
    wait_for("three logs", || (0..3).all(made));
    assert!(fixture.dirs[0].join("t-2").join("partition.metadata").exists());
}

#[test]
fn written_deleted_and_offline_logs_are_left_alone() {
    let fixture = Fixture::new(1);
    fixture.create("t", 4, &[]);
    let [written, deleted, offline, new] = [0, 1, 2, 3].map(|index| fixture.partition("t", index));
    written
        .append(&mut batch(START_MS), 1, Origin::Client, START_MS)
        .unwrap();
    fixture.broker.logs().delete("t", &[1]).unwrap();
    offline.set_offline();
    assert!(!written.materialise().unwrap());
    assert!(!deleted.materialise().unwrap());
    assert!(!offline.materialise().unwrap());
    assert!(new.materialise().unwrap());
    assert!(!new.materialise().unwrap());
    assert!(!fixture.dirs[0].join("t-1").exists() && !fixture.dirs[0].join("t-2").exists());
}

#[test]
fn a_failure_takes_the_log_directory_offline() {
    let fixture = Fixture::new(1);
    fixture.faults.arm("create:dir", 1, Fault::InputOutput);
    fixture.create("t", 2, &[]);
    wait_for("offline", || !fixture.broker.logs().dirs().failed().is_empty());
    assert_eq!(fixture.broker.logs().dirs().failed(), [fixture.dirs[0].clone()]);
    let mut events = Vec::new();
    wait_for("told", || {
        events.extend(fixture.broker.events().take(10));
        !events.is_empty()
    });
    assert!(matches!(&events[..], [Event::LogDirFailed { .. }]));
}

#[test]
fn stopping_leaves_the_rest_to_the_close() {
    let fixture = Fixture::new(1);
    fixture.create("t", 2, &[]);
    assert_eq!(fixture.broker.threads().materialiser().len(), 2);
    fixture.broker.logs().close().unwrap();
    assert!(fixture.broker.threads().materialiser().is_empty());
    for index in 0..2 {
        assert!(fixture.dirs[0].join(format!("t-{index}")).is_dir());
    }
}

#[test]
fn log_that_finds_no_descriptor_is_made_later_and_its_directory_stays_online() {
    for label in [
        "create:dir",
        "open:partition.metadata",
        "write:partition.metadata",
        "open:.log",
    ] {
        for fault in [Fault::NoDescriptor, Fault::NoMemory] {
            let fixture = Fixture::new(1);
            fixture.create("t", 1, &[]);
            fixture.faults.arm(label, 1, fault);
            let partition = fixture.partition("t", 0);
            assert!(
                partition.materialise().is_err() && fixture.faults.has_fired(),
                "{label} {fault:?}"
            );
            assert!(partition.materialise().is_ok(), "{label} {fault:?}");
        }
    }
    let fixture = Fixture::new(1);
    fixture.faults.arm("create:dir", 1, Fault::NoDescriptor);
    fixture.create("t", 1, &[]);
    wait_for("made", || fixture.partition("t", 0).log().is_materialised());
    assert!(fixture.faults.has_fired() && fixture.broker.logs().dirs().failed().is_empty());
}
