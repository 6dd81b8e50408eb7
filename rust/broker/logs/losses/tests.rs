//! A start that meets logs which lack what was durable.

mod damages;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::*;
use crate::{Broker, Options};
use base::place::LeaderEpoch;
use record::Origin;
use storage::log_loader::LoadProgress;
use storage::testing::{START_MS, batch};
use storage::{LogConfig, LogContext};

/// A broker whose threads end with it.
struct Running(Arc<Broker>);

impl std::ops::Deref for Running {
    type Target = Broker;

    fn deref(&self) -> &Broker {
        &self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.stop_threads();
    }
}

fn start(dir: &Path, policy: LossPolicy) -> (Running, Result<()>) {
    let context = Arc::new(LogContext::system());
    let broker = Running(Broker::start(1, String::new(), Options::default(), context).unwrap());
    broker.logs().losses().set_policy(policy);
    let paths = [dir.to_path_buf()];
    let opened = broker.logs().open(&paths, &HashMap::new(), &LoadProgress::default());
    (broker, opened.map(drop))
}

/// A directory with two logs of twenty batches in several segments, as a clean stop leaves it.
fn stopped() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let (broker, opened) = start(dir.path(), LossPolicy::default());
    opened.unwrap();
    let config = Arc::new(LogConfig::from_pairs([("segment.bytes", "3000")]).unwrap());
    let placed: Vec<_> = (0..2).map(|index| (index, dir.path().to_path_buf())).collect();
    assert_eq!(broker.logs().create("orders", [7; 16], &config, &placed), [None, None]);
    for index in 0..2 {
        let partition = broker.partition("orders", index).unwrap();
        for _ in 0..20 {
            let mut batch = batch(START_MS, 1, 400);
            partition
                .log()
                .append_as_leader(&mut batch, LeaderEpoch(0), Origin::Client, START_MS)
                .unwrap();
        }
        partition.refresh();
    }
    broker.logs().close().unwrap();
    dir
}

fn logs(dir: &Path, partition: &str) -> Vec<PathBuf> {
    let mut logs: Vec<_> = fs::read_dir(dir.join(partition))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "log"))
        .collect();
    logs.sort();
    assert!(logs.len() > 2);
    logs
}

fn refused(dir: &Path, policy: LossPolicy) -> String {
    start(dir, policy).1.unwrap_err().to_string()
}

#[test]
fn an_untouched_directory_is_opened_without_recovery_notes() {
    let dir = stopped();
    let (broker, opened) = start(dir.path(), LossPolicy::default());
    opened.unwrap();
    assert_eq!(
        (
            broker.logs().losses().take_notes(),
            broker.logs().losses().missing_logs()
        ),
        (Vec::new(), Vec::new())
    );
    assert_eq!(broker.partition("orders", 0).unwrap().offsets().log_end(), Offset(20));
}

#[test]
fn files_that_are_gone_shorter_or_damaged_since_the_clean_stop_refuse_the_start_until_the_loss_is_accepted() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 5] = [
        ("first", |path| fs::remove_file(path).unwrap()),
        ("last", |path| fs::remove_file(path).unwrap()),
        ("second", |path| fs::write(path, b"").unwrap()),
        ("last", |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("second", |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[100] ^= 4;
            fs::write(path, bytes).unwrap();
        }),
    ];
    for (at, (which, harm)) in harms.iter().enumerate() {
        let dir = stopped();
        let files = logs(dir.path(), "orders-1");
        let file = match *which {
            "first" => &files[0],
            "second" => &files[1],
            _ => &files[files.len() - 1],
        };
        harm(file);
        let before = logs(dir.path(), "orders-1").len();
        let message = refused(dir.path(), LossPolicy::default());
        assert!(message.contains("orders-1"), "{at}: {message}");
        let price = "(each log then ends at the offset behind its colon, and what follows is kept in .cut files";
        assert!(message.contains(price), "{at}: {message}");
        assert_eq!(
            refused(dir.path(), LossPolicy::default()),
            message,
            "{at}: nothing is changed by a refusal"
        );
        assert_eq!(logs(dir.path(), "orders-1").len(), before);
        let (_, end) = message
            .rsplit_once("kafkastore.accept.log.loss=orders-1:")
            .expect(&message);
        let partition = TopicPartition::new("orders", 1);
        let policy = LossPolicy {
            accepted: HashMap::from([(partition, vec![Offset(end.parse().expect(&message))])]),
            ..LossPolicy::default()
        };
        let (broker, opened) = start(dir.path(), policy);
        opened.unwrap_or_else(|error| panic!("{at}: {error}"));
        assert!(
            broker
                .logs()
                .losses()
                .take_notes()
                .iter()
                .any(|note| note.is_loss && note.text.contains("accepted"))
        );
        broker.logs().close().unwrap();
        let (broker, opened) = start(dir.path(), LossPolicy::default());
        opened.unwrap_or_else(|error| panic!("{at}: after it was accepted: {error}"));
        assert_eq!(broker.logs().losses().take_notes(), Vec::new());
    }
}

#[test]
fn a_replicated_log_that_is_damaged_is_set_aside_and_one_that_is_short_is_opened() {
    let replicated = || LossPolicy {
        replicated: (0..2).map(|index| TopicPartition::new("orders", index)).collect(),
        ..LossPolicy::default()
    };
    let dir = stopped();
    let first = &logs(dir.path(), "orders-0")[0];
    let mut bytes = fs::read(first).unwrap();
    bytes[100] ^= 4;
    fs::write(first, bytes).unwrap();
    let last = logs(dir.path(), "orders-1").pop().unwrap();
    fs::write(last, b"").unwrap();
    let (broker, opened) = start(dir.path(), replicated());
    opened.unwrap();
    assert!(broker.partition("orders", 0).is_err(), "it is not served here");
    assert!(broker.partition("orders", 1).unwrap().offsets().log_end() < Offset(20));
    assert_eq!(broker.logs().losses().short_logs(), [TopicPartition::new("orders", 1)]);
    let notes = broker.logs().losses().take_notes();
    assert_eq!(notes.iter().filter(|note| note.is_loss).count(), 2, "{notes:?}");
    let names = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<_> = names.filter(|name| name.starts_with("orders-")).collect();
    assert_eq!(
        names.iter().filter(|name| name.ends_with("-stray")).count(),
        1,
        "{names:?}"
    );
    assert!(!names.iter().any(|name| name == "orders-0"));
}

#[test]
fn a_partition_whose_directory_is_gone_is_reported() {
    let dir = stopped();
    fs::remove_dir_all(dir.path().join("orders-0")).unwrap();
    let (broker, opened) = start(dir.path(), LossPolicy::default());
    opened.unwrap();
    let missing = MissingLog {
        partition: TopicPartition::new("orders", 0),
        log_dir: dir.path().to_path_buf(),
        log_end: Offset(20),
    };
    assert_eq!(broker.logs().losses().missing_logs(), [missing]);
}

#[test]
fn all_logs_that_lack_records_are_named_at_once() {
    let dir = stopped();
    for name in ["orders-0", "orders-1"] {
        fs::write(logs(dir.path(), name).pop().unwrap(), b"").unwrap();
    }
    let (broker, opened) = start(dir.path(), LossPolicy::default());
    let message = opened.unwrap_err().to_string();
    assert!(
        message.contains("orders-0:") && message.contains(",orders-1:"),
        "{message}"
    );
    assert!(
        broker
            .logs()
            .losses()
            .take_notes()
            .iter()
            .any(|note| note.text.starts_with("orders-1: "))
    );
}
