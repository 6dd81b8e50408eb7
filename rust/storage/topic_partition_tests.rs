use proptest::prelude::*;

use super::*;

#[test]
fn directory_names_are_read_as_kafka_reads_them() {
    for (name, topic, partition, kind) in [
        ("flights-0", "flights", 0, DirKind::Current),
        (
            "a.dotted-and_dashed-name-1",
            "a.dotted-and_dashed-name",
            1,
            DirKind::Current,
        ),
        ("x-delete-0", "x-delete", 0, DirKind::Current),
        ("foo-2.5f3bc1d2-delete", "foo", 2, DirKind::Deleted),
        (
            "foo.bar-baz-17.0123456789abcdef0123456789abcdef-delete",
            "foo.bar-baz",
            17,
            DirKind::Deleted,
        ),
        ("foo-2.5f3bc1d2-future", "foo", 2, DirKind::Future),
        ("foo-2.5f3bc1d2-stray", "foo", 2, DirKind::Stray),
        ("__cluster_metadata-0", "__cluster_metadata", 0, DirKind::Current),
    ] {
        let expected = (TopicPartition::new(topic, partition), kind);
        assert_eq!(TopicPartition::parse_dir_name(name), Some(expected), "{name}");
    }
}

#[test]
fn other_directory_names_are_not_partitions() {
    for name in [
        "",
        "-",
        "lost+found",
        "flights",
        "flights-",
        "-0",
        "flights-x",
        "flights-+1",
        "flights--1x",
        "foo-2-delete",
        "foo-2.-delete",
        "foo.5f-delete",
        "..-0",
        ".-0",
        "a/b-0",
        "flights-99999999999",
        "remote-log-index-cache",
    ] {
        assert_eq!(TopicPartition::parse_dir_name(name), None, "{name}");
    }
}

#[test]
fn names_of_deleted_directories_fit_the_file_system() {
    let partition = TopicPartition::new("t".repeat(MAX_TOPIC_LEN), 12);
    let name = partition.dir_name(DirKind::Deleted, Uuid([0xab; 16]));
    assert_eq!(name.len(), MAX_FILE_NAME);
    let (parsed, kind) = TopicPartition::parse_dir_name(&name).unwrap();
    assert_eq!((parsed.partition, kind), (12, DirKind::Deleted));
}

proptest! {
    #[test]
    fn every_name_survives_each_kind(
        topic in "[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,40}",
        partition in 0..i32::MAX,
        unique: [u8; 16],
    ) {
        let named = TopicPartition::new(topic, partition);
        for kind in [DirKind::Current, DirKind::Deleted, DirKind::Future, DirKind::Stray] {
            let name = named.dir_name(kind, Uuid(unique));
            prop_assert_eq!(TopicPartition::parse_dir_name(&name), Some((named.clone(), kind)));
        }
    }

    #[test]
    fn arbitrary_names_never_panic(name: String) {
        let _ = TopicPartition::parse_dir_name(&name);
    }
}

#[test]
fn name_of_a_load_s_directory_is_that_of_a_deleted_one_and_fits_a_file_name() {
    let name = TopicPartition::new("or-ders.x", 3).load_dir_name(90, 4);
    assert_eq!(name, "or-ders.x-3.load-90-4-delete");
    let parsed = TopicPartition::parse_dir_name(&name);
    assert_eq!(parsed, Some((TopicPartition::new("or-ders.x", 3), DirKind::Deleted)));
    assert!(TopicPartition::is_load_dir_name(&name));
    assert_eq!(TopicPartition::unique_of(&name), None);
    let long = TopicPartition::new("t".repeat(249), i32::MAX).load_dir_name(i64::MAX, i16::MAX);
    assert!(long.len() == 255 && TopicPartition::is_load_dir_name(&long));
    let deleted = TopicPartition::new("t", 0).dir_name(DirKind::Deleted, Uuid([7; 16]));
    for other in [
        deleted.as_str(),
        "t-0.load-90-delete",
        "t-0.load--4-delete",
        "t-0.load-90-4",
        "t-0",
    ] {
        assert!(!TopicPartition::is_load_dir_name(other), "{other}");
    }
}
