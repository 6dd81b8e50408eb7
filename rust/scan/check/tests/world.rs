//! A log directory as a clean stop leaves it, and means to damage it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::check::{Check, Finding, Options, Report, Severity};
use ::io::OsFileSystem;
use base::place::{LeaderEpoch, Offset};
use record::{BATCH_HEADER, BatchBuilder, BatchHeader, Codec, Origin, end_transaction_marker};
use storage::format::file_path;
use storage::log_dir::{Checkpoint, Identity, LogDir};
use storage::testing::append_batch;
use storage::{Log, LogConfig, LogContext, ProducerStateConfig, TopicPartition, Uuid};

const START_MS: i64 = 1_700_000_000_000;
const CODECS: [Codec; 5] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

/// `events-0`: two leader epochs, all codecs; `tx-0`: transactions that commit and abort, some across segments.
pub struct World {
    _temp: tempfile::TempDir,
    pub dir: PathBuf,
}

/// Where a batch begins, and its header.
pub type Placed = (u64, BatchHeader);

impl World {
    pub fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let dir = fs::canonicalize(temp.path()).unwrap().join("data");
        let identity = Identity {
            cluster_id: None,
            node_id: 1,
        };
        let log_dir = LogDir::open(Arc::new(OsFileSystem), &dir, &identity, START_MS).unwrap();
        let events = TopicPartition::new("events", 0);
        let tx = TopicPartition::new("tx", 0);
        let ends = [
            (events.clone(), Offset(fill_events(&dir, events))),
            (tx.clone(), Offset(fill_tx(&dir, tx))),
        ];
        log_dir.write_checkpoint(Checkpoint::RecoveryPoint, &ends).unwrap();
        log_dir.write_checkpoint(Checkpoint::Replication, &ends).unwrap();
        log_dir
            .write_checkpoint(Checkpoint::LogStart, &[(ends[0].0.clone(), Offset(1))])
            .unwrap();
        log_dir.write_clean_shutdown(-1, &[]).unwrap();
        Self { _temp: temp, dir }
    }

    /// The same files elsewhere.
    pub fn copy(&self) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let dir = fs::canonicalize(temp.path()).unwrap().join("data");
        copy_dir(&self.dir, &dir);
        Self { _temp: temp, dir }
    }

    pub fn check(&self) -> Report {
        Self::check_with(std::slice::from_ref(&self.dir), false)
    }

    pub fn check_with(paths: &[PathBuf], is_deep: bool) -> Report {
        let options = Options {
            paths: paths.to_vec(),
            topic: None,
            threads: 2,
            is_deep,
        };
        Check::new(Arc::new(OsFileSystem), options).run().unwrap()
    }

    pub fn topic(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}-0"))
    }

    /// Base offsets of a topic's segments.
    pub fn bases(&self, topic: &str) -> Vec<i64> {
        let names = fs::read_dir(self.topic(topic)).unwrap();
        let mut bases: Vec<i64> = names
            .filter_map(|it| {
                it.unwrap()
                    .file_name()
                    .into_string()
                    .unwrap()
                    .strip_suffix(".log")?
                    .parse()
                    .ok()
            })
            .collect();
        bases.sort_unstable();
        bases
    }

    /// A file of a topic's segment, counted from 0.
    pub fn file(&self, topic: &str, segment: usize, suffix: &str) -> PathBuf {
        file_path(&self.topic(topic), Offset(self.bases(topic)[segment]), suffix)
    }

    /// Of the last segment.
    pub fn active(&self, topic: &str, suffix: &str) -> PathBuf {
        self.file(topic, self.bases(topic).len() - 1, suffix)
    }
}

pub fn faults(report: &Report) -> Vec<&Finding> {
    report
        .findings
        .iter()
        .filter(|it| it.severity == Severity::Fault)
        .collect()
}

pub fn batches(path: &Path) -> Vec<Placed> {
    let bytes = fs::read(path).unwrap();
    let mut found = Vec::new();
    let mut at = 0;
    while at + BATCH_HEADER <= bytes.len() {
        let header = BatchHeader::parse(&bytes[at..]).unwrap();
        found.push((at as u64, header));
        at += header.size_bytes();
    }
    found
}

/// Changes the bytes of a file.
pub fn change(path: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    edit(&mut bytes);
    fs::write(path, bytes).unwrap();
}

pub fn flip(path: &Path, at: u64, bits: u8) {
    change(path, |bytes| bytes[at as usize] ^= bits);
}

pub fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn log(dir: &Path, partition: TopicPartition) -> Log {
    let producers = ProducerStateConfig {
        is_transaction_verification_enabled: false,
        ..ProducerStateConfig::default()
    };
    let context = LogContext {
        producers,
        ..LogContext::system()
    };
    let config = LogConfig {
        segment_bytes: 6000,
        index_interval_bytes: 900,
        ..LogConfig::default()
    };
    let path = dir.join(partition.to_string());
    Log::create(&context, &path, partition, Some(Uuid::random()), Arc::new(config)).unwrap()
}

fn add_records(builder: &mut BatchBuilder, number: i64) {
    let mut seed = number as u64 + 1;
    for record in 0..3 {
        let value: Vec<u8> = (0..120)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 56) as u8
            })
            .collect();
        builder.append(START_MS + 10 * number + record, Some(b"key"), Some(&value), &[]);
    }
}

fn fill_events(dir: &Path, partition: TopicPartition) -> i64 {
    let mut log = log(dir, partition);
    for number in 0..80 {
        let mut builder = BatchBuilder::new(CODECS[number as usize % CODECS.len()]);
        add_records(&mut builder, number);
        let epoch = i32::from(number >= 40);
        append_batch(&mut log, builder.build(Offset(0), LeaderEpoch::NONE), epoch);
    }
    log.close().unwrap();
    log.log_end_offset().get()
}

fn fill_tx(dir: &Path, partition: TopicPartition) -> i64 {
    let mut log = log(dir, partition);
    let mut sequences = [0; 2];
    for number in 0..60_i64 {
        let producer = number % 2;
        let sequence = &mut sequences[producer as usize];
        let mut builder = BatchBuilder::new(Codec::None)
            .producer(producer, 0, *sequence)
            .transactional(true);
        add_records(&mut builder, number);
        *sequence += 3;
        append_batch(&mut log, builder.build(Offset(0), LeaderEpoch::NONE), 0);
        if number % 6 >= 4 {
            let mut marker = end_transaction_marker(number % 4 == 1, producer, 0, 0, START_MS + 10 * number);
            log.append_as_leader(&mut marker, LeaderEpoch(0), Origin::Coordinator, START_MS)
                .unwrap();
        }
    }
    log.close().unwrap();
    log.log_end_offset().get()
}
