use super::*;
use ::io::OsFileSystem;
use record::{Batches, TimestampType};

pub(crate) fn settings() -> BuildSettings {
    BuildSettings {
        producer_id: 7,
        producer_epoch: 1,
        codec: Codec::None,
        level: None,
        batch_bytes: 400,
        max_message_bytes: 1000,
        segment_bytes: 1200,
        needs_keys: false,
    }
}

fn row(value: &[u8]) -> RecordRow<'_> {
    RecordRow {
        timestamp: 5,
        key: Some(b"key"),
        value: Some(value),
        headers: &[(b"h", None)],
    }
}

fn build(dir: &Path, settings: BuildSettings, known: i32, count: usize) -> BuiltPartition {
    let fs: Arc<dyn FileSystem> = Arc::new(OsFileSystem);
    let mut builder = PartitionBuilder::new(&fs, dir, settings, known);
    for at in 0..count {
        builder.append(&row(format!("value {at:04}").as_bytes())).unwrap();
    }
    builder.write().unwrap();
    builder.built()
}

fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                std::fs::read(entry.path()).unwrap(),
            )
        })
        .collect();
    found.sort();
    found
}

#[test]
fn files_and_batches_continue_each_other_and_stay_within_their_sizes() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("load");
    let built = build(&dir, settings(), 0, 120);
    assert_eq!(built.records, 120);
    let (mut next, mut bytes) = (0, 0);
    let files = files(&dir);
    assert!(files.len() > 2);
    for (name, content) in files {
        assert_eq!(name, format!("{next:020}.log"));
        assert!(content.len() <= 1200);
        for batch in Batches::new(&content) {
            let batch = batch.unwrap();
            batch.verify_crc().unwrap();
            let header = *batch.header();
            assert!(header.size_bytes() <= 400);
            assert_eq!(
                (header.producer_id, header.producer_epoch, header.base_sequence),
                (7, 1, next)
            );
            assert_eq!(
                (header.timestamp_type(), header.max_timestamp),
                (TimestampType::CreateTime, 5)
            );
            for record in batch.records(&mut Vec::new(), usize::MAX).unwrap() {
                let record = record.unwrap();
                assert_eq!(record.value, Some(format!("value {next:04}").as_bytes()));
                next += 1;
            }
            bytes += header.size_bytes() as u64;
        }
    }
    assert_eq!((next, bytes), (120, built.bytes));
}

#[test]
fn records_that_the_log_has_are_counted_and_not_written() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("load");
    let built = build(&dir, settings(), 57, 60);
    assert_eq!(built.records, 60);
    let files = files(&dir);
    assert_eq!(files[0].0, format!("{:020}.log", 57));
    let all = temp.path().join("all");
    assert_eq!(build(&all, settings(), 60, 60).bytes, 0);
    assert!(!all.exists());
}

#[test]
fn record_that_the_topic_cannot_take_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(OsFileSystem);
    let keyed = BuildSettings {
        needs_keys: true,
        ..settings()
    };
    let mut builder = PartitionBuilder::new(&fs, &temp.path().join("a"), keyed, 0);
    builder.append(&row(b"fine")).unwrap();
    let without = RecordRow {
        key: None,
        ..row(b"value")
    };
    let refused = builder.append(&without).unwrap_err().to_string();
    assert!(refused.starts_with("record 1 has no key"), "{refused}");
    let mut builder = PartitionBuilder::new(&fs, &temp.path().join("b"), settings(), 0);
    let refused = builder.append(&row(&[0; 1000])).unwrap_err().to_string();
    assert!(refused.contains("max.message.bytes of the topic is 1000"), "{refused}");
}
