use super::super::testing::{Bench, START_MS};
use super::*;
use ::io::{OsFileSystem, user_id};
use record::{BatchBuilder, Codec};

fn builder(sequence: i32) -> BatchBuilder {
    BatchBuilder::new(Codec::None).producer(90, 4, sequence)
}

fn built(mut builder: BatchBuilder, key: Option<&[u8]>, timestamp: i64) -> Vec<u8> {
    for _ in 0..2 {
        builder.append(timestamp, key, Some(b"value"), &[]);
    }
    builder.build(Offset(0), LeaderEpoch::NONE)
}

fn good(sequence: i32) -> Vec<u8> {
    built(builder(sequence), Some(b"key"), START_MS)
}

/// Checks a file of these bytes under a topic's configuration.
fn check(bytes: &[u8], config: &[(&str, &str)]) -> Result<StagedSegment, Rejection> {
    let bench = Bench::new(config);
    let (path, log) = (bench.dir.path().join("00000000000000000000.log"), bench.create());
    std::fs::write(&path, bytes).unwrap();
    check_at(&path, &expected(&log), 0)
}

fn expected(log: &crate::Log) -> Expected {
    Expected {
        producer_id: 90,
        producer_epoch: 4,
        rules: *log.rules(),
        config: Arc::clone(log.config()),
        owner: user_id(),
        now_ms: START_MS,
    }
}

fn check_at(path: &Path, expected: &Expected, first_sequence: i32) -> Result<StagedSegment, Rejection> {
    let file = StagedFile {
        path: path.to_path_buf(),
        first_sequence,
    };
    StagedSegment::check(&OsFileSystem, &file, expected).map_err(|error| match error {
        AppendError::Rejected(rejection) => rejection,
        AppendError::Storage(error) => panic!("{error}"),
    })
}

fn refused(bytes: &[u8], config: &[(&str, &str)]) -> (ErrorCode, String) {
    let rejection = check(bytes, config).err().unwrap();
    assert!(
        rejection.message.contains("00000000000000000000.log: "),
        "{}",
        rejection.message
    );
    (rejection.code, rejection.message)
}

#[test]
fn valid_file_is_described_by_its_batches() {
    let bytes = [good(0), good(2), good(4)].concat();
    let segment = check(&bytes, &[]).unwrap();
    assert_eq!((segment.record_count(), segment.size_bytes()), (6, bytes.len() as u64));
    assert_eq!(
        (segment.first_sequence(), segment.next_sequence(), segment.producer()),
        (0, 6, (90, 4))
    );
}

/// Batches, settings of the topic, the code of the refusal and a part of its reason.
type Case<'a> = (Vec<u8>, &'a [(&'a str, &'a str)], ErrorCode, &'a str);

#[test]
fn file_with_an_invalid_batch_is_refused_with_its_position_and_the_reason() {
    let second = good(0).len();
    let mut flipped = [good(0), good(2)].concat();
    *flipped.last_mut().unwrap() ^= 1;
    let torn = &[good(0), good(2)].concat()[..second + 70];
    let bench = [good(0), vec![0; 40]].concat();
    let control = built(builder(2).control(true), Some(b"key"), START_MS);
    let transactional = built(builder(2).transactional(true), Some(b"key"), START_MS);
    let plain = built(BatchBuilder::new(Codec::None), Some(b"key"), START_MS);
    let fenced = built(
        BatchBuilder::new(Codec::None).producer(90, 3, 2),
        Some(b"key"),
        START_MS,
    );
    let late = built(builder(2), Some(b"key"), START_MS + 3_700_000);
    let unkeyed = built(builder(2), None, START_MS);
    let append_time = built(builder(2).log_append_time(START_MS), Some(b"key"), START_MS);
    let after = |batch: Vec<u8>| [good(0), batch].concat();
    let cases: [Case<'_>; 13] = [
        (flipped, &[], ErrorCode::CORRUPT_MESSAGE, "computed crc"),
        (
            torn.to_vec(),
            &[],
            ErrorCode::CORRUPT_MESSAGE,
            "the last batch is not whole",
        ),
        (bench, &[], ErrorCode::CORRUPT_MESSAGE, ""),
        (after(control), &[], ErrorCode::INVALID_RECORD, "no control batches"),
        (after(transactional), &[], ErrorCode::INVALID_RECORD, "no transactions"),
        (after(plain), &[], ErrorCode::INVALID_RECORD, "(90, 4, 2) is next"),
        (
            after(fenced),
            &[],
            ErrorCode::INVALID_RECORD,
            "(90, 3, 2), but (90, 4, 2) is next",
        ),
        (after(good(4)), &[], ErrorCode::INVALID_RECORD, "(90, 4, 2) is next"),
        (after(good(0)), &[], ErrorCode::INVALID_RECORD, "(90, 4, 2) is next"),
        (after(late), &[], ErrorCode::INVALID_TIMESTAMP, "record 0"),
        (
            after(unkeyed),
            &[("cleanup.policy", "compact")],
            ErrorCode::INVALID_RECORD,
            "record 0",
        ),
        (after(append_time), &[], ErrorCode::INVALID_RECORD, "CreateTime"),
        (
            after(good(2)),
            &[("compression.type", "zstd")],
            ErrorCode::INVALID_RECORD,
            "compression.type",
        ),
    ];
    for (bytes, config, code, reason) in cases {
        let (found, message) = refused(&bytes, config);
        assert_eq!(found, code, "{message}");
        let is_at = message.contains(&format!("position {second}: ")) || reason == "compression.type";
        assert!(message.contains(reason) && is_at, "{message}");
    }
}

#[test]
fn file_that_the_topic_cannot_take_as_a_segment_is_refused() {
    let many = [good(0), good(2)].concat();
    let small = [("segment.bytes", "100")];
    assert_eq!(refused(&many, &small).0, ErrorCode::RECORD_LIST_TOO_LARGE);
    assert_eq!(
        refused(&many, &[("max.message.bytes", "80")]).0,
        ErrorCode::MESSAGE_TOO_LARGE
    );
    assert_eq!(refused(&[], &[]).0, ErrorCode::INVALID_RECORD);
    let (code, message) = refused(&many, &[("message.timestamp.type", "LogAppendTime")]);
    assert_eq!(code, ErrorCode::INVALID_TIMESTAMP);
    assert!(message.contains("message.timestamp.type"), "{message}");
}

#[test]
fn file_with_two_names_or_of_another_user_is_refused_and_one_that_has_gone_is_no_disk_failure() {
    let bench = Bench::new(&[]);
    let (path, log) = (bench.dir.path().join("a.log"), bench.create());
    std::fs::write(&path, good(0)).unwrap();
    let foreign = Expected {
        owner: user_id() + 1,
        ..expected(&log)
    };
    assert!(
        check_at(&path, &foreign, 0)
            .err()
            .unwrap()
            .message
            .contains("the broker's user")
    );
    let link = bench.dir.path().join("b.log");
    std::fs::hard_link(&path, &link).unwrap();
    assert!(
        check_at(&path, &expected(&log), 0)
            .err()
            .unwrap()
            .message
            .contains("hard links")
    );
    std::fs::remove_file(&link).unwrap();
    let mut segment = check_at(&path, &expected(&log), 0).unwrap();
    std::fs::write(&path, [good(0), good(2)].concat()).unwrap();
    let grown = segment.place(Offset(3), LeaderEpoch(1)).unwrap_err();
    assert_eq!(grown.code(), ErrorCode::INVALID_RECORD);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        check_at(&path, &expected(&log), 0).err().unwrap().code,
        ErrorCode::INVALID_RECORD
    );
}

#[test]
fn batches_are_placed_again_where_the_log_ends_now() {
    let bench = Bench::new(&[]);
    let (path, log) = (bench.dir.path().join("a.log"), bench.create());
    std::fs::write(&path, [good(0), good(2)].concat()).unwrap();
    let mut segment = check_at(&path, &expected(&log), 0).unwrap();
    for (base, epoch) in [(100, 1), (200, 2)] {
        segment.place(Offset(base), LeaderEpoch(epoch)).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let placed: Vec<_> = record::Batches::new(&bytes)
            .map(|batch| {
                let batch = batch.unwrap();
                batch.verify_crc().unwrap();
                (
                    batch.header().base_offset.get(),
                    batch.header().partition_leader_epoch.get(),
                )
            })
            .collect();
        assert_eq!(placed, [(base, epoch), (base + 2, epoch)]);
    }
    assert!(
        check_at(&path, &expected(&log), 0).is_ok(),
        "a placed file can be checked again"
    );
}

#[test]
fn list_gives_the_files_of_a_load_in_the_order_of_their_sequences() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("load");
    assert_eq!(list(&OsFileSystem, &dir).unwrap(), None);
    std::fs::create_dir(&dir).unwrap();
    for name in [
        "00000000000000000100.log",
        "00000000000000000000.log",
        "00000000000000000000.index",
        "notes",
    ] {
        std::fs::write(dir.join(name), "").unwrap();
    }
    std::os::unix::fs::symlink("notes", dir.join("00000000000000000050.log")).unwrap();
    let found = list(&OsFileSystem, &dir).unwrap().unwrap();
    assert_eq!(
        found.iter().map(|file| file.first_sequence).collect::<Vec<_>>(),
        [0, 100]
    );
}
