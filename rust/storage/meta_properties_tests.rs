use proptest::prelude::*;

use super::*;
use crate::test_fixtures::{fixture, fixture_path, fixture_text};
use ::io::OsFileSystem;

/// Sat Nov 21 12:54:32 UTC 2026
const FIXTURE_MS: i64 = 1_795_265_672_000;

#[test]
fn the_file_is_byte_for_byte_what_kafka_storage_format_writes() {
    let meta = MetaProperties::read(&OsFileSystem, &fixture_path("")).unwrap().unwrap();
    assert_eq!(meta.cluster_id.as_deref(), Some("MkU3OEVBNTcwNTJENDM2Qg"));
    assert_eq!(meta.node_id, Some(1));
    assert_eq!(meta.encode(FIXTURE_MS), fixture_text("meta.properties"));
    let dir = tempfile::tempdir().unwrap();
    meta.write(&OsFileSystem, dir.path(), FIXTURE_MS).unwrap();
    assert_eq!(
        std::fs::read(dir.path().join(META_PROPERTIES)).unwrap(),
        fixture("meta.properties")
    );
    assert_eq!(MetaProperties::read(&OsFileSystem, dir.path()).unwrap(), Some(meta));
}

#[test]
fn dates_are_javas() {
    for (ms, text) in [
        (0, "Thu Jan 01 00:00:00 UTC 1970"),
        (951_782_400_000, "Tue Feb 29 00:00:00 UTC 2000"),
        (1_709_251_199_999, "Thu Feb 29 23:59:59 UTC 2024"),
        (1_735_689_599_000, "Tue Dec 31 23:59:59 UTC 2024"),
        (1_735_689_600_000, "Wed Jan 01 00:00:00 UTC 2025"),
    ] {
        assert_eq!(java_date(ms), text);
    }
}

#[test]
fn version_0_is_read() {
    let meta = MetaProperties::decode("#Thu\nbroker.id=7\nversion=0\ncluster.id=abc\n").unwrap();
    assert_eq!(
        meta,
        MetaProperties {
            cluster_id: Some("abc".to_owned()),
            node_id: Some(7),
            directory_id: None
        }
    );
    assert_eq!(
        MetaProperties::decode("broker.id=7").unwrap().node_id,
        Some(7),
        "without a version it is 0"
    );
    assert_eq!(MetaProperties::decode("").unwrap(), MetaProperties::default());
}

#[test]
fn every_spelling_of_a_property_is_read() {
    for line in [
        "cluster.id=a b",
        "  cluster.id = a b",
        "cluster.id:a b",
        "cluster.id a b",
        "cluster.id\t=\ta b",
        "clust\\u0065r.id=a\\ b",
    ] {
        let meta = MetaProperties::decode(&format!("! note\nversion=1\nnode.id=1\n\n{line}\nother=x\n")).unwrap();
        assert_eq!(meta.cluster_id.as_deref(), Some("a b"), "{line}");
    }
}

#[test]
fn bad_files_name_the_key() {
    for (text, key) in [
        ("version=2", "version=2"),
        ("version=x", "version=x"),
        ("version=1\nnode.id=1", "cluster.id"),
        ("version=1\ncluster.id=a", "node.id"),
        ("version=1\ncluster.id=a\nnode.id=one", "node.id=one"),
        (
            "version=1\ncluster.id=a\nnode.id=1\ndirectory.id=zzz",
            "directory.id=zzz",
        ),
    ] {
        let error = MetaProperties::decode(text).unwrap_err();
        assert!(error.contains(key), "{text:?}: {error}");
    }
}

proptest! {
    #[test]
    fn every_cluster_id_survives_the_file(
        cluster_id in "[ -~]{1,30}",
        node_id: i32,
        directory: [u8; 16],
        ms in 0..4_000_000_000_000_i64,
    ) {
        let (cluster_id, node_id) = (Some(cluster_id), Some(node_id));
        let meta = MetaProperties { cluster_id, node_id, directory_id: Some(Uuid(directory)) };
        prop_assert_eq!(MetaProperties::decode(&meta.encode(ms)), Ok(meta));
    }

    #[test]
    fn arbitrary_text_never_panics(text: String, ms: i64) {
        let _ = MetaProperties::decode(&text);
        let _ = java_date(ms);
    }
}
