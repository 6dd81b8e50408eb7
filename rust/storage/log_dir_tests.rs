use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::format::CLEAN_SHUTDOWN;
use crate::test_fixtures::{fixture_path, fixture_text};
use ::io::{Fault, FaultFileSystem, OsFileSystem};

const NOW_MS: i64 = 1_700_000_000_000;
const KAFKAS_CLUSTER: &str = "MkU3OEVBNTcwNTJENDM2Qg";

fn system() -> Arc<dyn FileSystem> {
    Arc::new(OsFileSystem)
}

fn identity(cluster_id: Option<&str>) -> Identity {
    Identity {
        cluster_id: cluster_id.map(str::to_owned),
        node_id: 1,
    }
}

fn open(path: &Path, cluster_id: Option<&str>) -> Result<LogDir> {
    LogDir::open(system(), path, &identity(cluster_id), NOW_MS)
}

/// A directory as Kafka leaves it after a clean stop of a combined node.
fn kafka_dir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in [
        "meta.properties",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "replication-offset-checkpoint",
    ] {
        fs::copy(fixture_path(name), dir.path().join(name)).unwrap();
    }
    fs::copy(fixture_path("kafka_cleanshutdown"), dir.path().join(CLEAN_SHUTDOWN)).unwrap();
    for name in [
        "__cluster_metadata-0",
        "transactions-0",
        "a.dotted-and_dashed-name-0",
        "lost+found",
    ] {
        fs::create_dir(dir.path().join(name)).unwrap();
    }
    fs::write(dir.path().join("bootstrap.checkpoint"), "").unwrap();
    dir
}

#[test]
fn a_missing_directory_is_made_private_and_gets_ids_that_stay() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("a/b");
    let first = open(&path, None).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    for name in [META_PROPERTIES, LOCK_FILE] {
        assert_eq!(
            fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o777,
            0o600,
            "{name}"
        );
    }
    let (cluster_id, directory_id) = (first.cluster_id().to_owned(), first.directory_id());
    drop(first);
    let again = open(&path, Some(&cluster_id)).unwrap();
    assert_eq!((again.cluster_id(), again.directory_id()), (&*cluster_id, directory_id));
}

#[test]
fn a_second_broker_is_refused_until_the_first_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let first = open(dir.path(), None).unwrap();
    let error = open(dir.path(), None).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::InUse { .. }));
    assert!(error.to_string().contains(dir.path().to_str().unwrap()), "{error}");
    drop(first);
    open(dir.path(), None).unwrap();
}

#[test]
fn kafkas_directory_is_taken_as_it_is() {
    let dir = kafka_dir();
    let opened = open(dir.path(), Some(KAFKAS_CLUSTER)).unwrap();
    assert_eq!(opened.directory_id().to_string(), "wvx5rlQ8inPpyZpmExzr8A");
    assert_eq!(
        fs::read_to_string(dir.path().join(META_PROPERTIES)).unwrap(),
        fixture_text("meta.properties")
    );
    let listing = opened.list().unwrap();
    let names: Vec<_> = listing
        .partitions
        .iter()
        .map(|(partition, _)| partition.to_string())
        .collect();
    assert_eq!(
        names,
        ["a.dotted-and_dashed-name-0", "transactions-0"],
        "without the controllers' log"
    );
    assert_eq!(listing.unknown, [dir.path().join("lost+found")]);
    let points = opened.read_checkpoint(Checkpoint::RecoveryPoint).unwrap();
    assert_eq!(points.get(&TopicPartition::new("transactions", 0)), Some(&Offset(12)));
    assert!(opened.take_clean_shutdown().unwrap().is_clean);
    assert!(!opened.take_clean_shutdown().unwrap().is_clean);
}

#[test]
fn another_cluster_or_node_is_refused_with_both_ids_and_the_file() {
    let dir = kafka_dir();
    let error = open(dir.path(), Some("otherClusterIdOtherClu"))
        .map(|_| ())
        .unwrap_err()
        .to_string();
    for part in [
        KAFKAS_CLUSTER,
        "otherClusterIdOtherClu",
        dir.path().join(META_PROPERTIES).to_str().unwrap(),
    ] {
        assert!(error.contains(part), "{error}");
    }
    let other_node = Identity {
        cluster_id: None,
        node_id: 8,
    };
    let error = LogDir::open(system(), dir.path(), &other_node, NOW_MS)
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(error.contains("node.id=1") && error.contains("node.id=8"), "{error}");
}

#[test]
fn version_0_and_files_without_directory_id_are_completed() {
    for text in [
        "version=0\nbroker.id=1\ncluster.id=abc\n",
        "version=1\nnode.id=1\ncluster.id=abc\n",
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(META_PROPERTIES), text).unwrap();
        let opened = open(dir.path(), None).unwrap();
        let stored = MetaProperties::read(&OsFileSystem, dir.path()).unwrap().unwrap();
        assert_eq!((stored.cluster_id.as_deref(), stored.node_id), (Some("abc"), Some(1)));
        assert_eq!(stored.directory_id, Some(opened.directory_id()));
    }
}

#[test]
fn directories_are_listed_by_their_names() {
    let dir = tempfile::tempdir().unwrap();
    let opened = open(dir.path(), None).unwrap();
    let partition = TopicPartition::new("a.b-c", 4);
    for kind in [DirKind::Current, DirKind::Deleted, DirKind::Future, DirKind::Stray] {
        fs::create_dir(dir.path().join(partition.dir_name(kind, Uuid::random()))).unwrap();
    }
    let listing = opened.list().unwrap();
    assert_eq!(listing.partitions, [(partition.clone(), dir.path().join("a.b-c-4"))]);
    assert_eq!(
        (listing.deleted.len(), listing.stray.len(), listing.unknown.len()),
        (1, 1, 0)
    );
    assert_eq!(
        listing
            .future
            .iter()
            .map(|(partition, _)| partition)
            .collect::<Vec<_>>(),
        [&partition]
    );
}

#[test]
fn every_checkpoint_has_its_own_file() {
    let dir = tempfile::tempdir().unwrap();
    let opened = open(dir.path(), None).unwrap();
    let partition = TopicPartition::new("flights", 0);
    let kinds = [
        Checkpoint::RecoveryPoint,
        Checkpoint::Replication,
        Checkpoint::LogStart,
        Checkpoint::Cleaner,
    ];
    for (offset, kind) in (0..).zip(kinds) {
        opened
            .write_checkpoint(kind, &[(partition.clone(), Offset(offset))])
            .unwrap();
    }
    for (offset, kind) in (0..).zip(kinds) {
        assert_eq!(
            opened.read_checkpoint(kind).unwrap().get(&partition),
            Some(&Offset(offset))
        );
    }
}

#[test]
fn one_failing_disk_leaves_the_others_online() {
    let (good, bad) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let faulty = FaultFileSystem::new(system());
    faulty.arm("lock:.lock", 2, Fault::InputOutput);
    let faulty: Arc<dyn FileSystem> = Arc::new(faulty);
    let paths = [good.path().to_path_buf(), bad.path().to_path_buf()];
    let opened = LogDir::open_all(&faulty, &paths, &identity(None), NOW_MS).unwrap();
    assert_eq!(
        opened.online.iter().map(LogDir::path).collect::<Vec<_>>(),
        [good.path()]
    );
    assert_eq!(opened.offline.len(), 1);
    assert!(opened.offline[0].1.to_string().contains(bad.path().to_str().unwrap()));
}

#[test]
fn new_directories_join_the_cluster_of_the_old_one() {
    let (new, old) = (tempfile::tempdir().unwrap(), kafka_dir());
    let paths = [new.path().to_path_buf(), old.path().to_path_buf()];
    let opened = LogDir::open_all(&system(), &paths, &identity(None), NOW_MS).unwrap();
    assert!(opened.online.iter().all(|dir| dir.cluster_id() == KAFKAS_CLUSTER));
}

#[test]
fn a_copied_directory_or_one_named_twice_is_refused() {
    let (one, other) = (kafka_dir(), kafka_dir());
    let paths = [one.path().to_path_buf(), other.path().to_path_buf()];
    let error = LogDir::open_all(&system(), &paths, &identity(None), NOW_MS)
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("directory.id") && error.contains(one.path().to_str().unwrap()),
        "{error}"
    );
    let twice = [one.path().to_path_buf(), one.path().to_path_buf()];
    let error = LogDir::open_all(&system(), &twice, &identity(None), NOW_MS)
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(error, Error::InUse { .. }));
}

#[test]
fn a_path_that_is_a_file_is_an_error_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "").unwrap();
    let error = open(&path, None).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
}

#[test]
fn a_checkpoint_that_says_the_same_is_not_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let opened = LogDir::open(Arc::new(disk.clone()), dir.path(), &identity(None), NOW_MS).unwrap();
    let rows = |offset| [(TopicPartition::new("topic", 0), offset)];
    let write = |offset| opened.write_checkpoint(Checkpoint::RecoveryPoint, &rows(offset));
    let syncs = || disk.counts().get("sync:dir").copied().unwrap_or(0);
    write(Offset(5)).unwrap();
    disk.arm("none", 0, Fault::Crash);
    write(Offset(5)).unwrap();
    assert_eq!(syncs(), 0);
    write(Offset(6)).unwrap();
    assert_eq!(syncs(), 1);
    disk.arm("sync:dir", 1, Fault::InputOutput);
    assert!(write(Offset(7)).is_err());
    disk.arm("none", 0, Fault::Crash);
    write(Offset(7)).unwrap();
    assert_eq!(syncs(), 1, "after a failure the same text is written again");
}
