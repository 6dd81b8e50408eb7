//! Which log is cleaned, and what becomes of a cleaning beside other work on the log.

use std::time::Duration;

use super::*;
use crate::Options;
use crate::testing::{Fixture, START_MS};
use ::io::Fault;
use base::place::LeaderEpoch;
use record::{BatchBuilder, Codec, Origin};

const COMPACTED: [(&str, &str); 3] = [
    ("cleanup.policy", "compact"),
    ("min.cleanable.dirty.ratio", "0.1"),
    ("file.delete.delay.ms", "0"),
];

/// Appends so many records of two keys and seals their segment.
fn fill(fixture: &Fixture, topic: &str, records: usize) {
    put(fixture, topic, records);
    let partition = fixture.partition(topic, 0);
    partition.log().roll(START_MS).unwrap();
    partition.refresh();
}

fn put(fixture: &Fixture, topic: &str, records: usize) {
    let partition = fixture.partition(topic, 0);
    for number in 0..records {
        let mut builder = BatchBuilder::new(Codec::None);
        let key = format!("k{}", number % 2);
        builder.append(START_MS, Some(key.as_bytes()), Some(b"value"), &[]);
        let mut bytes = builder.build(Offset(0), LeaderEpoch::NONE);
        let appended = partition
            .log()
            .append_as_leader(&mut bytes, LeaderEpoch(0), Origin::Client, START_MS);
        appended.unwrap();
    }
}

fn name_of(report: &CleanerReport) -> &str {
    &report.partition.topic
}

/// The partition's segments and the first dirty offset.
fn state_of(fixture: &Fixture, topic: &str) -> (usize, Option<Offset>) {
    let partition = fixture.partition(topic, 0);
    let log = partition.log();
    (log.segments().count(), log.contents().offsets().first_dirty())
}

#[test]
fn dirtiest_log_is_cleaned_first_and_none_twice() {
    let fixture = Fixture::new(1);
    fixture.create("clean", 1, &COMPACTED);
    fixture.create("dirty", 1, &COMPACTED);
    fixture.create("plain", 1, &[]);
    fill(&fixture, "clean", 4);
    assert_eq!(
        name_of(&fixture.broker.logs().cleaner().clean_filthiest().unwrap()),
        "clean"
    );
    fill(&fixture, "clean", 1);
    fill(&fixture, "dirty", 4);
    fill(&fixture, "plain", 4);
    let report = fixture.broker.logs().cleaner().clean_filthiest().unwrap();
    assert_eq!((name_of(&report), &report.outcome), ("dirty", &CleanerOutcome::Cleaned));
    assert_eq!((report.stats.read_records, report.stats.kept_records), (4, 2));
    assert_eq!(
        name_of(&fixture.broker.logs().cleaner().clean_filthiest().unwrap()),
        "clean"
    );
    assert!(fixture.broker.logs().cleaner().clean_filthiest().is_none());
    let figures = fixture.broker.logs().cleaner().figures();
    assert_eq!((figures.max_dirty_ratio, figures.last_run_ms), (0.0, START_MS));
}

#[test]
fn log_below_its_dirty_ratio_waits_until_a_record_is_too_old() {
    let fixture = Fixture::new(1);
    let lag = [("max.compaction.lag.ms", "1000"), ("min.cleanable.dirty.ratio", "0.9")];
    fixture.create("c", 1, &[&COMPACTED[..1], &lag].concat());
    fill(&fixture, "c", 10);
    assert_eq!(
        fixture.broker.logs().cleaner().clean_filthiest().unwrap().outcome,
        CleanerOutcome::Cleaned
    );
    fill(&fixture, "c", 1);
    assert!(fixture.broker.logs().cleaner().clean_filthiest().is_none());
    fixture.clock.advance(1001);
    assert!(fixture.broker.logs().cleaner().clean_filthiest().is_some());
    assert_eq!(fixture.broker.logs().cleaner().figures().max_compaction_delay_ms, 1);
}

#[test]
fn checkpoint_of_first_dirty_offsets_survives_a_restart() {
    let fixture = Fixture::new(1);
    fixture.create("c", 1, &COMPACTED);
    fill(&fixture, "c", 6);
    fixture.broker.logs().cleaner().clean_filthiest().unwrap();
    let path = fixture.dirs[0].join("cleaner-offset-checkpoint");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "0\n1\nc 0 6\n");
    fixture.broker.logs().close().unwrap();
    let fixture = fixture.restart();
    assert_eq!(state_of(&fixture, "c").1, Some(Offset(6)));
}

#[test]
fn what_is_cleaned_is_durable_and_committed_on_disk_before_the_first_segment_is_replaced() {
    let fixture = Fixture::new(1);
    fixture.create("c", 1, &COMPACTED);
    fixture.partition("c", 0).log().note_listed(); // else it is flushed before it rolls
    fill(&fixture, "c", 6);
    let mut run = fixture.broker.logs().cleaner().begin_cleaning().unwrap();
    let step = run.step(fixture.broker.logs().cleaner());
    assert!(matches!(step, Step::More), "the keys are known, no segment is replaced");
    for name in ["recovery-point-offset-checkpoint", "replication-offset-checkpoint"] {
        let text = std::fs::read_to_string(fixture.dirs[0].join(name)).unwrap();
        assert_eq!(text, "0\n1\nc 0 6\n", "{name}");
    }
}

#[test]
fn segment_of_which_a_part_is_flushed_is_durable_before_it_is_replaced_though_the_map_of_keys_is_full() {
    let fixture = Fixture::new(1);
    let mut options = Options::clone(&fixture.broker.options());
    options.cleaner.dedupe_buffer_bytes = 40; // for one key
    fixture.broker.set_options(options);
    fixture.create("c", 1, &COMPACTED);
    fixture.partition("c", 0).log().note_listed(); // else it is flushed before it rolls
    put(&fixture, "c", 2);
    fixture.partition("c", 0).flush().unwrap();
    fill(&fixture, "c", 4);
    let mut run = fixture.broker.logs().cleaner().begin_cleaning().unwrap();
    assert!(matches!(run.step(fixture.broker.logs().cleaner()), Step::More));
    let path = fixture.dirs[0].join("recovery-point-offset-checkpoint");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "0\n1\nc 0 6\n");
}

#[test]
fn log_with_a_corrupt_batch_is_named_and_left_alone_while_others_go_on() {
    let fixture = Fixture::new(1);
    fixture.create("bad", 1, &COMPACTED);
    fixture.create("good", 1, &COMPACTED);
    fill(&fixture, "bad", 8);
    fill(&fixture, "good", 4);
    let segment = fixture.dirs[0].join("bad-0/00000000000000000000.log");
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&segment, &bytes).unwrap();
    let report = fixture.broker.logs().cleaner().clean_filthiest().unwrap();
    let CleanerOutcome::Uncleanable(reason) = &report.outcome else {
        panic!("{report:?}");
    };
    assert!(
        reason.contains("bad-0/00000000000000000000.log is corrupt at position"),
        "{reason}"
    );
    assert_eq!(
        name_of(&fixture.broker.logs().cleaner().clean_filthiest().unwrap()),
        "good"
    );
    assert!(fixture.broker.logs().cleaner().clean_filthiest().is_none());
    let figures = fixture.broker.logs().cleaner().figures();
    let size = fixture.partition("bad", 0).log().segments().size_bytes();
    assert_eq!(figures.uncleanable, [(fixture.dirs[0].clone(), 1, size)]);
    assert!(!fixture.partition("bad", 0).leadership().is_offline());
    assert_eq!(std::fs::read(&segment).unwrap(), bytes);
}

#[test]
fn full_disk_lets_the_log_rest_and_the_directory_serve_on() {
    let fixture = Fixture::new(1);
    fixture.create("c", 1, &COMPACTED);
    fill(&fixture, "c", 6);
    fixture.faults.arm("write:.log.cleaned", 1, Fault::NoSpace);
    let report = fixture.broker.logs().cleaner().clean_filthiest().unwrap();
    assert!(matches!(report.outcome, CleanerOutcome::Resting(_)), "{report:?}");
    fixture.faults.disarm();
    assert!(!fixture.partition("c", 0).leadership().is_offline());
    assert!(fixture.broker.logs().cleaner().clean_filthiest().is_none(), "it rests");
    fill(&fixture, "c", 1);
    let names: Vec<_> = std::fs::read_dir(fixture.dirs[0].join("c-0")).unwrap().collect();
    assert!(
        !names
            .iter()
            .any(|it| it.as_ref().unwrap().file_name().to_string_lossy().contains(".cleaned"))
    );
}

#[test]
fn failed_disk_takes_the_directory_offline() {
    let fixture = Fixture::new(2);
    fixture.create("c", 2, &COMPACTED);
    fill(&fixture, "c", 6);
    fixture.faults.arm("sync:.log.cleaned", 1, Fault::InputOutput);
    let report = fixture.broker.logs().cleaner().clean_filthiest().unwrap();
    assert!(matches!(report.outcome, CleanerOutcome::Failed(_)), "{report:?}");
    assert!(fixture.partition("c", 0).leadership().is_offline());
    assert!(!fixture.partition("c", 1).leadership().is_offline());
}

#[test]
fn deletion_ends_a_cleaning() {
    let fixture = Fixture::new(1);
    fixture.create("c", 1, &COMPACTED);
    fill(&fixture, "c", 6);
    let mut run = fixture.broker.logs().cleaner().begin_cleaning().unwrap();
    assert!(matches!(run.step(fixture.broker.logs().cleaner()), Step::More));
    fixture.broker.logs().delete("c", &[0]).unwrap();
    let Step::Ended(report) = run.step(fixture.broker.logs().cleaner()) else {
        panic!("the cleaning goes on");
    };
    assert_eq!(report.outcome, CleanerOutcome::Stopped);
    fixture.create_with("c", [8; 16], 1, &COMPACTED, &[crate::testing::NODE]);
    fill(&fixture, "c", 6);
    assert_eq!(
        fixture.broker.logs().cleaner().clean_filthiest().unwrap().outcome,
        CleanerOutcome::Cleaned
    );
}

#[test]
fn moving_log_is_not_cleaned_and_keeps_its_first_dirty_offset() {
    let fixture = Fixture::new(2);
    fixture.create("c", 1, &COMPACTED);
    fill(&fixture, "c", 6);
    fixture.broker.logs().cleaner().clean_filthiest().unwrap();
    fill(&fixture, "c", 6);
    let mut run = fixture.broker.logs().cleaner().begin_cleaning().unwrap();
    assert!(matches!(run.step(fixture.broker.logs().cleaner()), Step::More));
    fixture
        .broker
        .logs()
        .moves()
        .alter_log_dir(&fixture.partition("c", 0), &fixture.dirs[1])
        .unwrap();
    let step = run.step(fixture.broker.logs().cleaner());
    assert!(matches!(step, Step::Ended(report) if report.outcome == CleanerOutcome::Stopped));
    assert!(fixture.broker.logs().cleaner().clean_filthiest().is_none(), "it moves");
    let deadline = Instant::now() + Duration::from_secs(20);
    let read = |dir: usize| std::fs::read_to_string(fixture.dirs[dir].join("cleaner-offset-checkpoint")).unwrap();
    while *fixture.partition("c", 0).log_dir() != fixture.dirs[1] || read(0) != "0\n0\n" {
        fixture.broker.logs().moves().move_one();
        assert!(Instant::now() < deadline, "the move does not end");
    }
    assert_eq!(
        (state_of(&fixture, "c").1, read(1)),
        (Some(Offset(6)), "0\n1\nc 0 6\n".to_owned())
    );
    // The copy is one segment, which is not sealed yet.
    assert!(fixture.broker.logs().cleaner().clean_filthiest().is_none());
    fill(&fixture, "c", 1);
    assert_eq!(
        fixture.broker.logs().cleaner().clean_filthiest().unwrap().outcome,
        CleanerOutcome::Cleaned
    );
    assert_eq!(state_of(&fixture, "c").1, Some(Offset(13)));
}

#[test]
fn retention_waits_for_the_end_of_a_cleaning() {
    let fixture = Fixture::new(1);
    let both = [
        ("cleanup.policy", "compact,delete"),
        ("retention.ms", "1000"),
        ("min.cleanable.dirty.ratio", "0"),
    ];
    fixture.create("c", 1, &both);
    fill(&fixture, "c", 6);
    let mut run = fixture.broker.logs().cleaner().begin_cleaning().unwrap();
    assert!(matches!(run.step(fixture.broker.logs().cleaner()), Step::More));
    fixture.clock.advance(2000);
    assert_eq!(fixture.broker.logs().run_retention(), 0);
    while let Step::More = run.step(fixture.broker.logs().cleaner()) {}
    // The end of the cleaning has run retention itself.
    let partition = fixture.partition("c", 0);
    assert_eq!(partition.offsets().log_start(), partition.offsets().log_end());
}

#[test]
fn stop_ends_a_cleaning_at_its_next_piece() {
    let fixture = Fixture::new(1);
    fixture.create("c", 1, &COMPACTED);
    fill(&fixture, "c", 6);
    let before = state_of(&fixture, "c");
    fixture.broker.logs().cleaner().rate().stop();
    assert_eq!(
        fixture.broker.logs().cleaner().clean_filthiest().unwrap().outcome,
        CleanerOutcome::Stopped
    );
    assert_eq!(state_of(&fixture, "c"), before);
}

#[test]
fn policy_that_changes_at_run_time_applies_to_the_next_look() {
    let fixture = Fixture::new(1);
    fixture.create("c", 1, &[]);
    fill(&fixture, "c", 6);
    assert!(fixture.broker.logs().cleaner().clean_filthiest().is_none());
    let config = storage::LogConfig::from_pairs(COMPACTED).unwrap();
    fixture.partition("c", 0).log().set_config(Arc::new(config));
    assert_eq!(
        fixture
            .broker
            .logs()
            .cleaner()
            .clean_filthiest()
            .unwrap()
            .stats
            .kept_records,
        2
    );
}

#[test]
fn memory_is_shared_among_the_threads() {
    let config = CleanerConfig {
        threads: 4,
        dedupe_buffer_bytes: 100 << 20,
        io_buffer_bytes: 1 << 20,
        ..CleanerConfig::default()
    };
    assert_eq!((config.map_bytes(), config.piece_bytes()), (25 << 20, 128 << 10));
}
