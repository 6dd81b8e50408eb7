use std::fs;
use std::sync::atomic::Ordering;

use super::*;
use crate::Event;
use crate::testing::{Fixture, START_MS, batch, lease};
use ::io::Fault;
use base::place::LeaderEpoch;
use record::Origin;
use std::time::Instant;
use storage::format::{PARTITION_METADATA, RECOVERY_POINT_CHECKPOINT};
use storage::test_fixtures::fixture_path;

fn append(fixture: &Fixture, index: i32) {
    let partition = fixture.partition("t", index);
    partition
        .append(&mut batch(START_MS), 1, Origin::Client, START_MS)
        .unwrap();
}

fn ends(broker: &Broker) -> Vec<(i32, i64)> {
    let mut ends: Vec<_> = broker.logs().iter().map(|l| (l.index, l.log_end.get())).collect();
    ends.sort_unstable();
    ends
}

#[test]
fn a_restart_finds_every_log_with_its_topic_id_and_offsets() {
    for is_clean in [true, false] {
        let fixture = Fixture::new(2);
        fixture.create("t", 3, &[]);
        append(&fixture, 1);
        append(&fixture, 2);
        if is_clean {
            fixture.broker.close_logs().unwrap();
        } else {
            fixture.broker.log_dirs.lock().clear(); // gives up the locks, as a dead process does
        }
        let fixture = fixture.restart();
        // The one that was never written is not on disk before a clean stop; the metadata knows it.
        let unwritten = usize::from(is_clean);
        let expected = [(0, 0), (1, 1), (2, 1)];
        assert_eq!(ends(&fixture.broker), expected[1 - unwritten..], "clean: {is_clean}");
        assert!(fixture.broker.logs().iter().all(|l| l.topic_id == [7; 16]));
        assert_eq!(
            fixture
                .broker
                .logs()
                .iter()
                .filter(|l| l.log_dir == fixture.dirs[0])
                .count(),
            1 + unwritten
        );
    }
}

// KIP-516: followers and clients ask by id. A power loss before the first flush leaves the file empty.
#[test]
fn a_log_without_its_topic_id_is_found_by_the_id_again_once_it_has_a_lease() {
    let fixture = Fixture::new(1);
    fixture.create("t", 2, &[]);
    append(&fixture, 0);
    append(&fixture, 1);
    fixture.broker.log_dirs.lock().clear(); // gives up the locks, as a dead process does
    let metadata = fixture.dirs[0].join("t-0").join(PARTITION_METADATA);
    fs::write(&metadata, "").unwrap();
    let fixture = fixture.restart();
    let by_id = |fixture: &Fixture| {
        let topics = fixture.broker.registry.snapshot();
        topics.by_id(&[7; 16]).map_or(0, |topic| topic.partitions().count())
    };
    assert_eq!(fixture.partition("t", 0).topic_id(), NO_TOPIC_ID);
    assert_eq!(by_id(&fixture), 2, "the other log knows it");
    let leases = vec![(0, lease(1, &[1], &[1]))];
    fixture.broker.grant("t", [7; 16], leases, Instant::now());
    assert_eq!(fixture.partition("t", 0).topic_id(), [7; 16]);
    assert_eq!(by_id(&fixture), 2);
    fixture.broker.log_dirs.lock().clear();
    let fixture = fixture.restart();
    assert_eq!(fixture.partition("t", 0).topic_id(), [7; 16], "it was written");
}

#[test]
fn a_topic_whose_only_log_lost_the_id_is_found_by_the_id_again_once_it_has_a_lease() {
    let fixture = Fixture::new(1);
    fixture.create_with("t", NO_TOPIC_ID, 1, &[], &[1]);
    let known = |fixture: &Fixture| fixture.broker.registry.snapshot().by_id(&[7; 16]).is_some();
    assert!(!known(&fixture));
    fixture.broker.grant("t", [7; 16], Vec::new(), Instant::now());
    assert!(known(&fixture));
    fixture.broker.grant("t", [8; 16], Vec::new(), Instant::now());
    assert_eq!(fixture.partition("t", 0).topic_id(), [7; 16], "one that is known stays");
}

#[test]
fn a_partition_that_kafka_wrote_opens_after_a_clean_stop_and_after_a_crash() {
    for is_clean in [true, false] {
        let fixture = Fixture::new(1);
        if is_clean {
            fixture.broker.close_logs().unwrap();
            let name = RECOVERY_POINT_CHECKPOINT;
            fs::copy(fixture_path(name), fixture.dirs[0].join(name)).unwrap();
        } else {
            fixture.broker.log_dirs.lock().clear(); // gives up the locks, as a dead process does
        }
        let dir = fixture.dirs[0].join("transactions-0");
        fs::create_dir(&dir).unwrap();
        for entry in fs::read_dir(fixture_path("transactions-0")).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, dir.join(path.file_name().unwrap())).unwrap();
        }
        let fixture = fixture.restart(); // long before the producers expire
        let partition = fixture.partition("transactions", 0);
        let log = partition.log();
        let ends = (log.log_start_offset(), log.log_end_offset());
        assert_eq!(ends, (Offset(0), Offset(12)), "clean: {is_clean}");
        assert_eq!(log.last_stable_offset(Offset(12)), Offset(10));
        let mut producers: Vec<_> = log
            .producers()
            .active_producers()
            .map(|(id, entry)| (id, entry.producer_epoch))
            .collect();
        producers.sort_unstable();
        assert_eq!(producers, [(3, 2), (4, 1), (5, 0)]);
        let checked = fixture.progress.recovery.segments_checked.load(Ordering::Relaxed);
        assert_eq!(checked > 0, !is_clean, "only a crash costs reading");
    }
}

#[test]
fn creating_logs_again_keeps_the_existing_ones() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    append(&fixture, 0);
    fixture.create("t", 2, &[]);
    assert_eq!(ends(&fixture.broker), [(0, 1), (1, 0)]);
}

#[test]
fn a_deleted_log_leaves_service_at_once_and_its_files_later() {
    let fixture = Fixture::new(1);
    fixture.create("t", 2, &[("file.delete.delay.ms", "3600000")]);
    let partition = fixture.partition("t", 0);
    append(&fixture, 0);
    fixture.broker.delete_logs("t", &[0]).unwrap();
    assert!(fixture.broker.partition("t", 0).is_err());
    assert!(partition.leading(LeaderEpoch::NONE).is_err());
    assert_eq!(ends(&fixture.broker), [(1, 0)]);
    let names: Vec<String> = fs::read_dir(&fixture.dirs[0])
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names.iter().any(|n| n.ends_with("-delete")) && !names.contains(&"t-0".to_owned()),
        "{names:?}"
    );
}

/// A broker whose checkpoint files have the rows of a log that starts at offset 2.
fn with_a_log_start() -> Fixture {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    for _ in 0..3 {
        append(&fixture, 0);
    }
    fixture.partition("t", 0).delete_records(Offset(2)).unwrap();
    fixture.broker.write_checkpoints(&HARMFUL).unwrap();
    fixture
}

fn rows(fixture: &Fixture) -> String {
    fs::read_to_string(fixture.dirs[0].join("log-start-offset-checkpoint")).unwrap()
}

/// As after kill -9: nothing is written, and the locks of the log directories are gone.
fn crash(fixture: Fixture) -> Fixture {
    fixture.broker.log_dirs.lock().clear();
    fixture.restart()
}

// A new log that inherited the start of the deleted log would lose all records below it.
#[test]
fn a_log_created_again_does_not_inherit_the_start_of_the_deleted_one() {
    let fixture = with_a_log_start();
    fixture.broker.delete_logs("t", &[0]).unwrap();
    assert!(
        rows(&fixture).contains("t 0 2"),
        "a deletion alone writes no checkpoint"
    );
    fixture.create("t", 1, &[]);
    append(&fixture, 0);
    let fixture = crash(fixture);
    let logs = fixture.broker.logs();
    assert_eq!((logs[0].log_start, logs[0].log_end), (Offset(0), Offset(1)));
}

#[test]
fn a_log_created_again_after_a_crash_does_not_inherit_the_start_of_a_log_deleted_before_it() {
    let fixture = with_a_log_start();
    fixture.broker.delete_logs("t", &[0]).unwrap();
    let fixture = crash(fixture);
    assert!(rows(&fixture).contains("t 0 2"));
    fixture.create("t", 1, &[]);
    append(&fixture, 0);
    let fixture = crash(fixture);
    let logs = fixture.broker.logs();
    assert_eq!((logs[0].log_start, logs[0].log_end), (Offset(0), Offset(1)));
}

// A start that misses a log refuses to go on: the deleted log must not be missed while the checkpoints have its rows.
#[test]
fn a_log_deleted_just_before_a_crash_is_not_missed_by_the_next_starts() {
    let fixture = with_a_log_start();
    fixture.partition("t", 0).log().flush().unwrap();
    fixture.broker.write_checkpoints(&HARMFUL).unwrap();
    fixture.broker.delete_logs("t", &[0]).unwrap();
    fixture.broker.note_deletions().unwrap();
    let mut fixture = fixture;
    for _ in 0..2 {
        fixture = crash(fixture);
        let checkpoint = fs::read_to_string(fixture.dirs[0].join(RECOVERY_POINT_CHECKPOINT)).unwrap();
        assert!(checkpoint.contains("t 0 3"), "{checkpoint}");
        assert_eq!(fixture.broker.missing_logs(), []);
    }
    fixture.create("t", 1, &[]);
    append(&fixture, 0);
    fixture.partition("t", 0).log().flush().unwrap();
    fixture.broker.write_checkpoints(&HARMFUL).unwrap();
    fs::remove_dir_all(fixture.dirs[0].join("t-0")).unwrap();
    let fixture = crash(fixture);
    assert_eq!(
        fixture.broker.missing_logs().len(),
        1,
        "the new log of that name is missed"
    );
}

#[test]
fn a_stray_log_s_rows_leave_the_checkpoints_before_a_log_of_its_name_is_made() {
    let fixture = with_a_log_start();
    fixture.broker.mark_stray("t", 0).unwrap();
    fixture.create("t", 1, &[]);
    assert!(!rows(&fixture).contains("t 0"));
}

#[test]
fn no_log_is_made_while_the_rows_of_a_deleted_log_of_its_name_cannot_be_removed() {
    let fixture = with_a_log_start();
    fixture.broker.delete_logs("t", &[0]).unwrap();
    fixture
        .faults
        .arm("rename:log-start-offset-checkpoint", 1, Fault::NoDescriptor);
    let placed = [(0, fixture.dirs[0].clone()), (1, fixture.dirs[0].clone())];
    let errors = fixture
        .broker
        .create_logs("t", [1; 16], &Arc::new(LogConfig::default()), &placed);
    assert!(errors[0].as_ref().unwrap().contains("deleted t-0"), "{errors:?}");
    assert_eq!(errors[1], None, "the rows have no t-1");
    assert!(
        !fixture.broker.is_failed(&fixture.dirs[0]),
        "a shortage takes no directory offline"
    );
    assert!(rows(&fixture).contains("t 0 2"));
    assert_eq!(
        fixture
            .broker
            .create_logs("t", [1; 16], &Arc::new(LogConfig::default()), &placed),
        [None, None]
    );
}

#[test]
fn a_stray_log_is_kept_aside() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    append(&fixture, 0);
    fixture.broker.mark_stray("t", 0).unwrap();
    assert!(fixture.broker.logs().is_empty());
    let is_stray = |e: std::io::Result<fs::DirEntry>| e.unwrap().file_name().to_string_lossy().ends_with("-stray");
    assert!(fs::read_dir(&fixture.dirs[0]).unwrap().any(is_stray));
}

#[test]
fn a_topic_that_cannot_be_written_takes_only_its_directory_offline() {
    let fixture = Fixture::new(2);
    fixture.faults.arm("create:dir", 1, Fault::NoSpace);
    fixture.create("t", 2, &[]);
    let produced = [0, 1].map(|index| {
        let (mut batch, at) = (batch(START_MS), fixture.partition("t", index));
        let produced = at.append(&mut batch, 1, Origin::Client, START_MS);
        produced.map_err(|error| {
            if let storage::AppendError::Storage(error) = &error {
                fixture.broker.storage_failed(&at, error);
            }
            error.code()
        })
    });
    assert_eq!(produced[0].err(), Some(ErrorCode::KAFKA_STORAGE_ERROR));
    assert!(produced[1].is_ok());
    assert_eq!(fixture.broker.failed_log_dirs(), [fixture.dirs[0].clone()]);
    let events = fixture.broker.events.take(10);
    assert!(matches!(&events[..], [Event::LogDirFailed { log_dir, .. }] if *log_dir == fixture.dirs[0]));
    assert!(fixture.partition("t", 0).leading(LeaderEpoch::NONE).is_err());
    let config = Arc::new(LogConfig::default());
    let more = [(2, fixture.dirs[0].clone()), (3, fixture.dirs[1].clone())];
    let errors = fixture.broker.create_logs("t", [7; 16], &config, &more);
    assert!(errors[0].is_some() && errors[1].is_none(), "{errors:?}");
}

#[test]
fn a_log_that_was_never_written_is_forgotten() {
    let fixture = Fixture::new(1);
    fixture.create("t", 2, &[]);
    fixture.broker.delete_logs("t", &[0]).unwrap();
    fixture.broker.mark_stray("t", 1).unwrap();
    assert!(fixture.broker.logs().is_empty() && fixture.broker.reaper.is_empty());
    let is_of_t = |e: std::io::Result<fs::DirEntry>| e.unwrap().file_name().to_string_lossy().starts_with("t-");
    assert!(!fs::read_dir(&fixture.dirs[0]).unwrap().any(is_of_t));
}

#[test]
fn leases_of_partitions_without_a_log_are_ignored() {
    let fixture = Fixture::new(1);
    let lease = crate::testing::lease(0, &[1], &[1]);
    fixture
        .broker
        .publish_leases("nowhere", vec![(0, lease.clone())], Instant::now());
    fixture.create("t", 1, &[]);
    fixture.broker.publish_leases("t", vec![(5, lease)], Instant::now());
    let error = fixture.broker.partition("t", 5).err().unwrap();
    assert_eq!(error.code(), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

#[test]
fn a_topic_s_configuration_takes_effect_at_once() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    let config = LogConfig::from_pairs([("max.message.bytes", "1")]).unwrap();
    fixture.broker.set_topic_config("t", &Arc::new(config));
    let partition = fixture.partition("t", 0);
    let refused = partition.append(&mut batch(START_MS), 1, Origin::Client, START_MS);
    assert_eq!(refused.unwrap_err().code(), ErrorCode::MESSAGE_TOO_LARGE);
}

#[test]
fn a_directory_that_is_in_use_refuses_the_second_broker() {
    let fixture = Fixture::new(1);
    let result = fixture
        .broker
        .open_log_dirs(&fixture.dirs, &HashMap::new(), &LoadProgress::default());
    assert!(matches!(result, Err(Error::InUse { .. })), "{result:?}");
}

#[test]
fn a_place_that_is_taken_is_an_error_of_its_partition_alone() {
    let fixture = Fixture::new(2);
    fs::write(fixture.dirs[0].join("t-1"), "mine").unwrap();
    let config = Arc::new(LogConfig::default());
    let placed = [0, 0, 1].map(|at: usize| fixture.dirs[at].clone());
    let placed: Vec<_> = (0..).zip(placed).collect();
    let errors = fixture.broker.create_logs("t", [7; 16], &config, &placed);
    assert_eq!(
        errors.iter().map(Option::is_some).collect::<Vec<_>>(),
        [false, true, false],
        "{errors:?}"
    );
    assert!(fixture.broker.failed_log_dirs().is_empty());
    assert!([0, 2].iter().all(|index| !fixture.partition("t", *index).is_offline()));
    fs::remove_file(fixture.dirs[0].join("t-1")).unwrap();
    let again = fixture.broker.create_logs("t", [7; 16], &config, &placed);
    assert!(again.iter().all(Option::is_none), "{again:?}");
}

#[test]
fn the_high_watermark_of_the_checkpoint_holds_until_a_leader_sends_a_higher_one() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    for _ in 0..3 {
        append(&fixture, 0);
    }
    fixture.broker.log_dirs.lock().clear(); // gives up the locks, as a dead process does
    let checkpoint = fixture.dirs[0].join("replication-offset-checkpoint");
    let fixture = fixture.restart_after(|| fs::write(checkpoint, "0\n1\nt 0 2\n").unwrap());
    let offsets = fixture.partition("t", 0).offsets();
    assert_eq!(
        (offsets.log_start, offsets.high_watermark, offsets.log_end),
        (Offset(0), Offset(2), Offset(3))
    );
}
