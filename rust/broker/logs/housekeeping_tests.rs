use super::*;
use crate::testing::{Fixture, START_MS, batch};
use ::io::Fault;
use base::place::LeaderEpoch;
use record::{BatchBuilder, Codec, Origin, end_transaction_marker};

fn append(fixture: &Fixture, timestamp: i64) {
    let partition = fixture.partition("t", 0);
    partition
        .append(&mut batch(timestamp), 1, Origin::Client, timestamp)
        .unwrap();
}

#[test]
fn retention_deletes_old_segments_and_moves_the_log_start() {
    let fixture = Fixture::new(1);
    let config = [
        ("retention.ms", "1000"),
        ("segment.bytes", "100"),
        ("file.delete.delay.ms", "0"),
    ];
    fixture.create("t", 1, &config);
    for i in 0..3 {
        append(&fixture, START_MS + i);
    }
    assert_eq!(fixture.broker.run_retention(), 0, "nothing is old");
    fixture.clock.advance(1_000_000);
    assert!(fixture.broker.run_retention() >= 2);
    assert!(fixture.partition("t", 0).offsets().log_start >= Offset(2));
}

#[test]
fn directory_that_a_load_has_left_is_removed_after_a_day_or_by_the_next_start() {
    let fixture = Fixture::new(1);
    let left = fixture.dirs[0].join("t-0.load-90-4-delete");
    let others =
        ["t-0.load-90-delete", "t-0.load-x-4-delete", "notes.load-90-4"].map(|name| fixture.dirs[0].join(name));
    for dir in std::iter::once(&left).chain(&others) {
        std::fs::create_dir(dir).unwrap();
    }
    std::fs::write(left.join("00000000000000000000.log"), b"begun").unwrap();
    let written = std::fs::metadata(&left).unwrap().modified().unwrap();
    let written_ms = written.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
    fixture.clock.advance(written_ms - START_MS + STALE_LOAD_MS - 60_000);
    fixture.broker.run_retention();
    assert!(left.exists());
    fixture.clock.advance(120_000);
    fixture.broker.run_retention();
    assert!(!left.exists() && others.iter().all(|dir| dir.exists()));
    std::fs::create_dir(&left).unwrap();
    fixture.broker.abandon();
    let fixture = fixture.restart();
    wait_until_gone(&left);
    drop(fixture);
}

fn wait_until_gone(path: &Path) {
    for _ in 0..1000 {
        if !path.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} is still there", path.display());
}

// flush.ms
#[test]
fn only_logs_that_are_due_are_flushed() {
    let fixture = Fixture::new(1);
    fixture.create("t", 2, &[("flush.ms", "100")]);
    append(&fixture, START_MS);
    assert_eq!(fixture.broker.flush_due(), 0);
    fixture.clock.advance(100);
    assert_eq!(fixture.broker.flush_due(), 1);
}

#[test]
fn a_checkpoint_that_cannot_be_written_takes_its_directory_offline() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    fixture.broker.write_checkpoints(&[Checkpoint::Replication]).unwrap();
    let path = fixture.dirs[0].join("replication-offset-checkpoint");
    assert!(std::fs::read_to_string(path).unwrap().contains("t 0 0"));
    append(&fixture, START_MS); // an unchanged checkpoint is not written again
    fixture
        .faults
        .arm("rename:replication-offset-checkpoint", 1, Fault::NoSpace);
    assert!(fixture.broker.write_checkpoints(&[Checkpoint::Replication]).is_err());
    assert!(fixture.broker.is_failed(&fixture.dirs[0]));
}

#[test]
fn log_directories_are_described_and_offline_ones_hold_nothing() {
    let fixture = Fixture::new(2);
    fixture.create("t", 2, &[]);
    append(&fixture, START_MS);
    let described = fixture.broker.describe_log_dirs();
    assert_eq!(described.iter().map(|d| d.replicas.len()).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(described[0].replicas[0].2, batch(START_MS).len() as u64);
    assert!(described[0].total_bytes >= described[0].usable_bytes && described[0].usable_bytes >= 0);
    fixture.broker.fail_log_dir(&fixture.dirs[0], "unplugged");
    let described = fixture.broker.describe_log_dirs();
    assert_eq!(described[0].error, ErrorCode::KAFKA_STORAGE_ERROR);
    assert_eq!((described[0].replicas.len(), described[0].total_bytes), (0, -1));
    assert_eq!(described[1].error, ErrorCode::NONE);
}

#[test]
fn the_control_plane_reads_records_up_to_the_log_end() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    append(&fixture, START_MS);
    append(&fixture, START_MS + 1);
    let (records, next) = fixture.broker.read_records("t", 0, Offset(1), 1 << 20).unwrap();
    assert_eq!(next, Offset(2));
    assert_eq!(records.iter().map(|r| r.offset).collect::<Vec<_>>(), [Offset(1)]);
    assert_eq!((records[0].producer_id, records[0].control), (-1, None));
    assert_eq!(records[0].value.as_deref(), Some(&b"value"[..]));
    assert_eq!(records[0].timestamp, START_MS + 1);
    let (records, next) = fixture.broker.read_records("t", 0, next, 1).unwrap();
    assert_eq!((records.len(), next), (0, Offset(2)));
    let (records, next) = fixture.broker.read_records("t", 0, Offset(0), 1).unwrap();
    assert_eq!((records.len(), next), (1, Offset(1)), "at least one batch");
}

// offsets of transactions are told from others by these
#[test]
fn records_of_a_transaction_name_their_producer_and_markers_what_they_say() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    let partition = fixture.partition("t", 0);
    let batch = |base_sequence, is_transactional| {
        let builder = BatchBuilder::new(Codec::None).producer(5, 0, base_sequence);
        let mut builder = builder.transactional(is_transactional);
        builder.append(START_MS, Some(b"k"), Some(b"v"), &[]);
        builder.build(Offset(0), LeaderEpoch::NONE)
    };
    let batches = [
        batch(0, true),
        end_transaction_marker(true, 5, 0, 0, START_MS),
        batch(1, false),
        end_transaction_marker(false, 5, 0, 0, START_MS),
    ];
    for mut bytes in batches {
        partition.append(&mut bytes, 1, Origin::Coordinator, START_MS).unwrap();
    }
    let (records, _) = fixture.broker.read_records("t", 0, Offset(0), 1 << 20).unwrap();
    let described: Vec<_> = records.iter().map(|r| (r.producer_id, r.control)).collect();
    let expected = [
        (5, None),
        (5, Some(ControlType::Commit)),
        (-1, None),
        (5, Some(ControlType::Abort)),
    ];
    assert_eq!(described, expected);
    assert_eq!(control_type(Some(&[0, 0, 0, 9])), ControlType::Other(9));
    assert_eq!(control_type(None), ControlType::Other(-1), "a key that cannot be read");
}

#[test]
fn a_read_from_within_a_batch_leaves_out_what_comes_before() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    let mut builder = BatchBuilder::new(Codec::Zstd);
    for _ in 0..3 {
        builder.append(START_MS, None, Some(b"v"), &[]);
    }
    let mut bytes = builder.build(Offset(0), LeaderEpoch::NONE);
    let partition = fixture.partition("t", 0);
    partition.append(&mut bytes, 1, Origin::Client, START_MS).unwrap();
    let (records, next) = fixture.broker.read_records("t", 0, Offset(1), 1 << 20).unwrap();
    assert_eq!(
        records.iter().map(|r| r.offset).collect::<Vec<_>>(),
        [Offset(1), Offset(2)]
    );
    assert_eq!(next, Offset(3));
}
