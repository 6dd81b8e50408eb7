//! What is no fault: good directories, what a crash leaves, what Kafka preallocates, what a cleaner removes.

use std::fs;

use super::world::{World, batches, change, faults};
use crate::check::Severity;

#[test]
fn good_directory_has_no_fault_and_everything_is_counted() {
    let world = World::new();
    for is_deep in [false, true] {
        let report = World::check_with(std::slice::from_ref(&world.dir), is_deep);
        assert_eq!(report.findings, [], "deep: {is_deep}");
        assert_eq!(report.totals.partitions, 2);
        assert_eq!(
            report.totals.segments as usize,
            world.bases("events").len() + world.bases("tx").len()
        );
        assert_eq!(report.totals.batches, 80 + 60 + 20);
        assert_eq!(report.totals.records, 3 * (80 + 60) + 20);
    }
    assert!(world.bases("events").len() >= 4 && world.bases("tx").len() >= 4);
}

#[test]
fn partition_directory_and_single_segment_can_be_checked_alone() {
    let world = World::new();
    let report = World::check_with(&[world.topic("events")], true);
    assert_eq!((report.findings.len(), report.totals.partitions), (0, 1));
    let report = World::check_with(&[world.file("tx", 1, ".log")], true);
    assert_eq!((report.findings.len(), report.totals.segments), (0, 1));
}

#[test]
fn incomplete_tail_after_a_crash_is_a_warning_unless_records_were_kept_there() {
    let world = World::new();
    fs::remove_file(world.dir.join(".kafka_cleanshutdown")).unwrap();
    let path = world.active("events", ".log");
    let (last, header) = *batches(&path).last().unwrap();
    change(&path, |bytes| bytes.truncate(bytes.len() - 1));
    let report = world.check();
    let [fault] = faults(&report)[..] else {
        panic!("{report:?}")
    };
    assert_eq!(
        (&fault.path, fault.position),
        (&path, Some(last)),
        "the high watermark is behind it"
    );
    for name in ["recovery-point-offset-checkpoint", "replication-offset-checkpoint"] {
        fs::write(world.dir.join(name), format!("0\n1\nevents 0 {}\n", header.base_offset)).unwrap();
    }
    let report = world.check();
    assert_eq!(faults(&report).len(), 0, "{report:?}");
    let [warning] = &report.findings[..] else {
        panic!("{report:?}")
    };
    assert_eq!((warning.severity, warning.position), (Severity::Warning, Some(last)));
}

#[test]
fn zeros_that_kafka_preallocates_in_active_indexes_are_no_fault() {
    let world = World::new();
    for suffix in [".index", ".timeindex"] {
        change(&world.active("events", suffix), |bytes| {
            bytes.resize(10_485_756 / 12 / 8 * 12 * 8, 0);
        });
    }
    assert_eq!(world.check().findings, []);
}

#[test]
fn missing_batches_are_no_fault_where_a_cleaner_has_been() {
    let world = World::new();
    let path = world.file("events", 1, ".log");
    let last = batches(&path).last().unwrap().0;
    change(&path, |bytes| bytes.truncate(last as usize));
    assert_eq!(faults(&world.check()).len(), 1);
    fs::write(world.dir.join("cleaner-offset-checkpoint"), "0\n1\nevents 0 100\n").unwrap();
    let report = world.check();
    assert!(faults(&report).iter().all(|it| it.path != path), "{report:?}");
}

#[test]
fn files_of_others_are_noted() {
    let world = World::new();
    fs::write(world.topic("events").join("notes.txt"), "mine").unwrap();
    fs::write(world.topic("events").join("00000000000000000000.log.deleted"), "gone").unwrap();
    fs::create_dir(world.dir.join("lost+found")).unwrap();
    let report = world.check();
    assert_eq!(report.faults, 0);
    assert!(
        report.findings.iter().all(|it| it.severity == Severity::Note),
        "{report:?}"
    );
    assert_eq!(report.findings.len(), 3);
}

#[test]
fn findings_of_one_file_are_capped() {
    let world = World::new();
    let path = world.active("events", ".index");
    change(&path, |bytes| {
        bytes.clear();
        for entry in 1..=1000_u32 {
            bytes.extend(entry.to_be_bytes());
            bytes.extend((entry * 7 + 1).to_be_bytes());
        }
    });
    let report = world.check();
    assert!(report.faults >= 900, "{}", report.faults);
    assert_eq!(report.findings.len(), super::super::MAX_FINDINGS_PER_FILE + 1);
}
