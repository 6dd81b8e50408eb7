use proptest::prelude::*;

use super::*;
use crate::test_fixtures::{fixture, fixture_path, fixture_text};
use ::io::OsFileSystem;

#[test]
fn the_file_is_byte_for_byte_kafkas() {
    let metadata = PartitionMetadata::read(&OsFileSystem, &fixture_path(""))
        .unwrap()
        .unwrap();
    assert_eq!(
        metadata.encode(),
        fixture_text("partition.metadata").trim_end_matches('\n')
    );
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(PartitionMetadata::read(&OsFileSystem, dir.path()).unwrap(), None);
    metadata.write(&OsFileSystem, dir.path(), Durability::Synced).unwrap();
    assert_eq!(
        std::fs::read(dir.path().join(PARTITION_METADATA)).unwrap(),
        fixture("partition.metadata")
    );
}

#[test]
fn a_file_that_a_crash_left_empty_or_torn_counts_as_missing() {
    let metadata = PartitionMetadata {
        topic_id: Uuid([7; 16]),
    };
    let whole = metadata.encode();
    let torn = (0..whole.len()).filter_map(|len| whole.get(..len));
    for text in torn.chain(["\0\0\0\0", "version: 0\n\0\0"]) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(PARTITION_METADATA), text).unwrap();
        assert_eq!(
            PartitionMetadata::read(&OsFileSystem, dir.path()).unwrap(),
            None,
            "{text:?}"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    metadata.create(&OsFileSystem, dir.path()).unwrap();
    assert_eq!(
        PartitionMetadata::read(&OsFileSystem, dir.path()).unwrap(),
        Some(metadata)
    );
    assert!(
        metadata.create(&OsFileSystem, dir.path()).is_err(),
        "never over another"
    );
}

#[test]
fn bad_files_say_what_is_wrong() {
    for (text, expected) in [
        ("", "line 1"),
        ("version: 1\ntopic_id: jCg8rb5_Sryb1ZZ6r1V9Eg", "version 1"),
        ("version: 0\n", "line 2"),
        ("version: 0\ntopic_id: x", "line 2"),
        ("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", "line 2"),
    ] {
        let error = PartitionMetadata::decode(text).unwrap_err();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text: String) {
        let _ = PartitionMetadata::decode(&text);
        let _ = PartitionMetadata::decode(&format!("version: 0\ntopic_id: {text}"));
    }
}
