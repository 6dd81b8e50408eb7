use std::fs;

use proptest::prelude::*;

use super::*;
use crate::test_fixtures::{fixture, fixture_text};
use ::io::OsFileSystem;

#[test]
fn offset_checkpoints_are_byte_for_byte_kafkas() {
    for name in [
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        "log-start-offset-checkpoint",
        "cleaner-offset-checkpoint",
    ] {
        let text = fixture_text(name);
        let offsets = decode_offsets(&text).unwrap();
        assert!(!offsets.is_empty());
        assert_eq!(encode_offsets(&offsets), text, "{name}");
    }
    let starts = decode_offsets(&fixture_text("log-start-offset-checkpoint")).unwrap();
    assert_eq!(
        starts,
        [(TopicPartition::new("a.dotted-and_dashed-name", 0), Offset(2))]
    );
}

#[test]
fn files_are_written_and_read_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("recovery-point-offset-checkpoint");
    assert_eq!(read_offset_checkpoint(&OsFileSystem, &path).unwrap(), []);
    let offsets = decode_offsets(&fixture_text("recovery-point-offset-checkpoint")).unwrap();
    write_offset_checkpoint(&OsFileSystem, &path, &offsets).unwrap();
    assert_eq!(fs::read(&path).unwrap(), fixture("recovery-point-offset-checkpoint"));
    assert_eq!(read_offset_checkpoint(&OsFileSystem, &path).unwrap(), offsets);
    write_offset_checkpoint(&OsFileSystem, &path, &[]).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"0\n0\n");
}

#[test]
fn bad_checkpoints_say_which_line_is_wrong() {
    for (text, expected) in [
        ("1\n0\n", "line 1: checkpoint version is \"1\""),
        ("x", "line 1"),
        ("0\n", "line 2"),
        ("0\nmany\n", "line 2"),
        ("0\n-1\n", "line 2"),
        ("0\n1\n", "promises 1 entries, but there are 0"),
        (
            "0\n1\nflights 0 5\nflights 1 5\n",
            "promises 1 entries, but there are 2",
        ),
        ("0\n1\nflights 0\n", "line 3"),
        ("0\n1\nflights 0 5 6\n", "line 3"),
        ("0\n1\nflights 0 5x\n", "line 3"),
        ("0\n1\nflights -1 5\n", "line 3"),
        ("0\n1\n../flights 0 5\n", "line 3"),
        ("0\n1\n\n", "line 3"),
    ] {
        let error = decode_offsets(text).unwrap_err();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
    assert_eq!(decode_offsets("").unwrap(), [], "an empty file is an empty checkpoint");
}

#[test]
fn a_bad_checkpoint_names_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("replication-offset-checkpoint");
    fs::write(&path, "garbage").unwrap();
    let error = read_offset_checkpoint(&OsFileSystem, &path).unwrap_err();
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
}

proptest! {
    #[test]
    fn every_checkpoint_survives_its_text(
        offsets in prop::collection::vec(("[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,20}", 0..i32::MAX, any::<i64>()), 0..20)
    ) {
        let named = |(topic, partition, offset)| (TopicPartition::new(topic, partition), Offset(offset));
        let offsets: Vec<_> = offsets.into_iter().map(named).collect();
        prop_assert_eq!(decode_offsets(&encode_offsets(&offsets)), Ok(offsets));
    }

    #[test]
    fn arbitrary_text_never_panics(text: String) {
        let _ = decode_offsets(&text);
        let _ = crate::leader_epochs::decode_epochs(&format!("0\n1\n{text}"));
    }
}
