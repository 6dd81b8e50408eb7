//! Logs in temporary directories and batches to put into them, for the tests of this folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::context::LogContext;
use super::log::Log;
use super::producer_state::ProducerStateConfig;
use super::recovery::{Extent, LoadArgs, RecoveryProgress};
use super::{AbortedTxn, Appended, LogConfig, TopicPartition, Uuid, Wait};
use ::io::{Clock, FileSystem, ManualClock, OsFileSystem};
use base::error::Result;
use base::place::{LeaderEpoch, Offset};
use record::legacy::{DownConverter, Magic};
use record::{Batch, BatchBuilder, Batches, Codec, Origin, end_transaction_marker};

/// The time at which tests begin.
pub const START_MS: i64 = 1_700_000_000_000;

/// A directory, a clock, a configuration; logs are made and opened in it.
pub struct Bench {
    pub dir: tempfile::TempDir,
    pub clock: Arc<ManualClock>,
    pub fs: Arc<dyn FileSystem>,
    pub config: LogConfig,
}

impl Bench {
    pub fn new(pairs: &[(&str, &str)]) -> Self {
        Self::on(Arc::new(OsFileSystem), pairs)
    }

    pub fn on(fs: Arc<dyn FileSystem>, pairs: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = LogConfig::from_pairs(pairs.iter().copied()).unwrap();
        Self {
            dir,
            clock: Arc::new(ManualClock::new(START_MS)),
            fs,
            config,
        }
    }

    pub fn context(&self) -> LogContext {
        let producers = ProducerStateConfig {
            is_transaction_verification_enabled: false,
            ..Default::default()
        };
        LogContext {
            fs: Arc::clone(&self.fs),
            clock: self.clock.clone(),
            producers,
        }
    }

    /// The same directory on a disk that works.
    pub fn mended(self) -> Self {
        Self {
            fs: Arc::new(OsFileSystem),
            ..self
        }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("topic-0")
    }

    pub fn file(&self, offset: i64, suffix: &str) -> PathBuf {
        super::format::file_path(&self.path(), Offset(offset), suffix)
    }

    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(self.path())
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Of the `.log` files, ascending.
    pub fn base_offsets(&self) -> Vec<i64> {
        let parsed = |name: &String| {
            super::format::parse_file_name(name)
                .filter(|it| it.1 == ".log")
                .map(|it| it.0.get())
        };
        self.names().iter().filter_map(parsed).collect()
    }

    pub fn create(&self) -> Log {
        self.create_for(None)
    }

    /// Of a topic with this id.
    pub fn create_for(&self, topic_id: Option<Uuid>) -> Log {
        let partition = TopicPartition::new("topic", 0);
        let config = Arc::new(self.config.clone());
        Log::create(&self.context(), &self.path(), partition, topic_id, config).unwrap()
    }

    /// After a crash, with this recovery point.
    pub fn reopen(&self, recovery_point: i64) -> Result<Log> {
        self.open(recovery_point, false)
    }

    pub fn reopen_clean(&self) -> Result<Log> {
        self.open(0, true)
    }

    pub fn open(&self, recovery_point: i64, clean_shutdown: bool) -> Result<Log> {
        self.open_to(recovery_point, clean_shutdown, Extent::default())
    }

    /// The log must reach as far as `extent` says.
    pub fn open_to(&self, recovery_point: i64, clean_shutdown: bool, extent: Extent<'_>) -> Result<Log> {
        self.open_in(&self.path(), recovery_point, clean_shutdown, extent)
    }

    /// In another directory than [`Self::path`].
    pub fn open_in(&self, dir: &Path, recovery_point: i64, clean_shutdown: bool, extent: Extent<'_>) -> Result<Log> {
        let progress = RecoveryProgress::default();
        let args = LoadArgs {
            recovery_point: Offset(recovery_point),
            log_start_offset: Offset(0),
            first_dirty_offset: None,
            clean_shutdown,
            extent,
            progress: &progress,
        };
        let partition = TopicPartition::new("topic", 0);
        Log::open(&self.context(), dir, partition, Arc::new(self.config.clone()), args)
    }

    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Appends a batch of `count` records of `size` bytes stamped now.
    pub fn append(&self, log: &mut Log, count: usize, size: usize) -> Appended {
        let mut bytes = batch(self.now_ms(), count, size);
        log.append_as_leader(&mut bytes, LeaderEpoch(0), Origin::Client, self.now_ms())
            .unwrap()
    }
}

/// A plain batch.
pub fn batch(timestamp: i64, count: usize, size: usize) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Codec::None);
    for _ in 0..count {
        builder.append(timestamp, Some(b"key"), Some(&vec![b'v'; size]), &[]);
    }
    builder.build(Offset(0), LeaderEpoch::NONE)
}

/// Records with these timestamps, the first at `base_offset`, as messages of an old format: one wrapper, or a message
/// for each without a codec.
pub fn old_messages(magic: Magic, codec: Codec, base_offset: i64, timestamps: &[i64]) -> Vec<u8> {
    let mut builder = BatchBuilder::new(codec);
    for timestamp in timestamps {
        builder.append(*timestamp, Some(b"key"), Some(&[b'v'; 40]), &[]);
    }
    let bytes = builder.build(Offset(base_offset), LeaderEpoch::NONE);
    let (batch, _) = Batch::split_first(&bytes).unwrap().unwrap();
    let mut messages = Vec::new();
    DownConverter::new(magic)
        .push(&batch, Offset(base_offset), &mut messages)
        .unwrap();
    messages
}

/// A batch of one record of an idempotent or transactional producer.
pub fn producer_batch(timestamp: i64, producer_id: i64, sequence: i32, is_transactional: bool) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Codec::None)
        .producer(producer_id, 0, sequence)
        .transactional(is_transactional);
    builder.append(timestamp, Some(b"key"), Some(b"value"), &[]);
    builder.build(Offset(0), LeaderEpoch::NONE)
}

/// Appends a client's batch as the leader of this epoch, at [`START_MS`].
#[track_caller]
pub fn append_batch(log: &mut Log, mut batch: Vec<u8>, leader_epoch: i32) -> Appended {
    log.append_as_leader(&mut batch, LeaderEpoch(leader_epoch), Origin::Client, START_MS)
        .unwrap()
}

/// The marker that ends a transaction.
pub fn marker(log: &mut Log, producer_id: i64, commit: bool, now_ms: i64) -> Appended {
    let mut bytes = end_transaction_marker(commit, producer_id, 0, 0, now_ms);
    log.append_as_leader(&mut bytes, LeaderEpoch(0), Origin::Coordinator, now_ms)
        .unwrap()
}

/// The transactions whose records a reader of this range must skip.
pub fn aborted_in(log: &Log, from: Offset, to: Offset) -> Vec<AbortedTxn> {
    log.contents().aborted_transactions(from, to, Wait::Yes).unwrap()
}

/// Base and next offset of every batch from `from` to `upper_bound`, read piece by piece as a consumer does.
pub fn read_all(log: &Log, from: i64, upper_bound: i64, max_bytes: usize) -> Vec<(i64, i64)> {
    let mut offset = from;
    let mut found = Vec::new();
    while offset < upper_bound {
        let slice = log
            .plan_read(Offset(offset), Offset(upper_bound))
            .unwrap()
            .resolve(max_bytes, true)
            .unwrap();
        let mut bytes = vec![0; slice.len];
        slice.file.read_exact_at(&mut bytes, slice.position.get()).unwrap();
        let before = offset;
        for batch in Batches::new(&bytes) {
            let batch = batch.unwrap();
            batch.verify_crc().unwrap();
            found.push((batch.header().base_offset.get(), batch.header().next_offset().get()));
            offset = batch.header().next_offset().get();
        }
        if offset == before {
            break;
        }
    }
    found
}
