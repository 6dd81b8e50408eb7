//! Stops of a whole broker: what is marked clean, and what is not.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::{Broker, Options};
use ::io::{Fault, FaultFileSystem, FileSystem, OsFileSystem};
use base::place::{LeaderEpoch, Offset};
use record::Origin;
use storage::format::CLEAN_SHUTDOWN;
use storage::log_loader::LoadProgress;
use storage::{LogConfig, LogContext};

const LOGS: i32 = 40;

fn start(disk: &FaultFileSystem, dir: &Path) -> Arc<Broker> {
    let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
    let context = LogContext {
        fs,
        ..LogContext::system()
    };
    let broker = Broker::start(1, String::new(), Options::default(), Arc::new(context)).unwrap();
    let failed = broker.open_log_dirs(&[dir.to_path_buf()], &HashMap::new(), &LoadProgress::default());
    assert!(failed.unwrap().iter().all(|(_, reason)| reason.is_none()));
    broker
}

fn append(broker: &Broker, index: i32) {
    let mut batch = record::BatchBuilder::new(record::Codec::None);
    batch.append(1, None, Some(b"value"), &[]);
    let partition = broker.partition("topic", index).unwrap();
    let mut log = partition.log();
    log.append_as_leader(
        &mut batch.build(Offset(0), LeaderEpoch::NONE),
        LeaderEpoch(0),
        Origin::Client,
        1,
    )
    .unwrap();
}

/// A broker with many logs, all of them written once.
fn filled(disk: &FaultFileSystem, dir: &Path) -> Arc<Broker> {
    let broker = start(disk, dir);
    let placed: Vec<_> = (0..LOGS).map(|index| (index, dir.to_path_buf())).collect();
    let errors = broker.create_logs("topic", [1; 16], &Arc::new(LogConfig::default()), &placed);
    assert!(errors.iter().all(Option::is_none), "{errors:?}");
    (0..LOGS).for_each(|index| append(&broker, index));
    broker
}

fn stop(broker: Arc<Broker>) {
    broker.stop_threads();
    drop(broker);
}

#[test]
fn a_clean_stop_leaves_a_marker_and_every_record() {
    let dir = tempfile::tempdir().unwrap();
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let broker = filled(&disk, dir.path());
    broker.close_logs().unwrap();
    stop(broker);
    assert!(dir.path().join(CLEAN_SHUTDOWN).exists());
    let broker = start(&disk, dir.path());
    let logs = broker.logs();
    assert_eq!(logs.len(), LOGS as usize);
    assert!(
        logs.iter()
            .all(|log| log.log_end == Offset(1) && log.topic_id == [1; 16])
    );
    stop(broker);
}

// reliability: a failed sync leaves no clean marker
#[test]
fn a_failed_sync_at_a_stop_leaves_no_marker_and_the_next_start_recovers() {
    for label in [
        "sync:volume",
        "write:00000000000000000001.snapshot.tmp",
        "write:.index",
        "write:.timeindex",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
        let broker = filled(&disk, dir.path());
        disk.arm(label, 1, Fault::InputOutput);
        let closed = broker.close_logs();
        stop(broker);
        if !disk.has_fired() {
            continue;
        }
        assert!(closed.is_err(), "{label}");
        assert!(!dir.path().join(CLEAN_SHUTDOWN).exists(), "{label}");
        let broker = start(&disk, dir.path());
        assert!(broker.logs().iter().all(|log| log.log_end == Offset(1)), "{label}");
        stop(broker);
    }
}

#[test]
fn a_directory_without_a_written_log_is_stopped_without_syncing_logs() {
    let dir = tempfile::tempdir().unwrap();
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let broker = start(&disk, dir.path());
    let placed: Vec<_> = (0..LOGS).map(|index| (index, dir.path().to_path_buf())).collect();
    broker.create_logs("topic", [1; 16], &Arc::new(LogConfig::default()), &placed);
    disk.arm("none", 0, Fault::Crash);
    broker.close_logs().unwrap();
    stop(broker);
    let counts = disk.counts();
    assert_eq!(counts.get("open:.log"), Some(&(LOGS as u64)), "{counts:?}");
    let is_of_a_log = |label: &str| {
        let is_file = label.contains(".log") || label.contains("index") || label.contains("snapshot");
        is_file && label != "open:.log"
    };
    assert!(!counts.keys().any(|label| is_of_a_log(label)), "{counts:?}");
    assert!(!counts.contains_key("sync:volume"), "{counts:?}");
}
