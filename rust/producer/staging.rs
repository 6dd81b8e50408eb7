//! One task of a bulk load: the rows of its blocks become segments beside the logs of the partitions' leaders
//! (`docs/bulk-load.md`).
//!
//! Each task, and each attempt of it, is an idempotent producer of its own, so that none touches what another one has
//! staged. A task
//!
//! - (a) looks whether the log directories of the leaders are on its machine, and removes there what tasks of earlier
//!   drivers of the load have staged;
//! - (b) gets a producer id, and makes a directory for each partition, with a mark in it that says whose it is;
//! - (c) builds segments of its rows;
//! - (d) asks whether its driver is still the load's: a task that ends after another driver has begun stages nothing.
//!
//! Nothing is in a log yet: the driver decides, and the brokers adopt. A task that ends before (d) leaves nothing.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;

use super::cluster::Cluster;
use super::coordinator::Asked;
use super::error::{ProducerError, Result, failed};
use super::identity::acquire;
use super::rows::Rows;
use super::transactions::{CoordinatorKind, Identity, describe, read_described};
use ::io::{FileSystem, OsFileSystem};
use base::error::ErrorCode;
use load::{
    BuildSettings, BuiltPartition, LoadError, SegmentTarget, TopicBuilder, make_staging_dir, record_bytes, sweep_staged,
};
use storage::TopicPartition;
use storage::meta_properties::MetaProperties;

/// The load that a task belongs to, and its driver.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub(super) id: String,
    /// The producer of the load's transactional id that the driver was given when it began.
    pub(super) driver: Identity,
}

/// Where a partition is led.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Leader {
    node: i32,
    host: String,
    /// Its log directory, as the broker names it.
    dir: PathBuf,
}

/// The topic of a load.
#[derive(Debug, Clone)]
pub(super) struct Topic {
    pub(super) name: String,
    pub(super) cluster_id: String,
    /// By partition.
    pub(super) leaders: Vec<Leader>,
}

/// What a task has staged.
#[derive(Debug)]
pub(super) struct Staged {
    pub(super) producer: Identity,
    /// By partition.
    pub(super) built: Vec<BuiltPartition>,
}

/// See the module. Dropped before its end it removes what it has staged.
pub(super) struct Staging {
    fs: Arc<dyn FileSystem>,
    cluster: Cluster,
    load: Load,
    producer: Identity,
    /// By partition.
    dirs: Vec<PathBuf>,
    builder: TopicBuilder,
    now_ms: i64,
    is_done: bool,
}

impl Staging {
    /// (a) and (b). `settings` is that of the batches, but for the producer; rows without a timestamp get `now_ms`.
    pub(super) fn begin(
        mut cluster: Cluster,
        topic: &Topic,
        load: Load,
        settings: BuildSettings,
        now_ms: i64,
    ) -> Result<Self> {
        let fs: Arc<dyn FileSystem> = Arc::new(OsFileSystem);
        topic.check_is_here(&*fs)?;
        sweep_staged(
            &*fs,
            topic.leaders.iter().map(|leader| &*leader.dir),
            &load.id,
            load.driver.epoch,
        );
        let producer = acquire(&mut cluster, None)?;
        let names = (0..).map(|partition| TopicPartition::new(topic.name.as_str(), partition));
        let dirs: Vec<PathBuf> = names
            .zip(&topic.leaders)
            .map(|(name, leader)| {
                leader
                    .dir
                    .join(name.load_dir_name(producer.producer_id, producer.epoch))
            })
            .collect();
        let targets: Vec<SegmentTarget> = dirs
            .iter()
            .cloned()
            .map(|dir| SegmentTarget { dir, known: 0 })
            .collect();
        let settings = BuildSettings {
            producer_id: producer.producer_id,
            producer_epoch: producer.epoch,
            ..settings
        };
        let staging = Self {
            builder: TopicBuilder::new(&fs, &topic.name, settings, &targets, 1),
            fs,
            cluster,
            load,
            producer,
            dirs,
            now_ms,
            is_done: false,
        };
        for dir in &staging.dirs {
            make_staging_dir(&*staging.fs, dir, &staging.load.id, staging.load.driver.epoch).map_err(|error| {
                failed(format!(
                    "{} cannot be written ({error}); run the executors as the brokers' user",
                    dir.display()
                ))
            })?;
        }
        Ok(staging)
    }

    /// (c): the rows of a block, whose layout is that of [`Rows`]; topics in them are ignored.
    pub(super) fn append(&mut self, block: &[u8]) -> Result<()> {
        let mut rows = Rows::new(block);
        let (mut values, mut headers, mut header_counts) = (Vec::new(), Vec::new(), vec![0]);
        let mut of_row = Vec::new();
        while let Some(row) = rows.next(&mut of_row)? {
            let bytes = record_bytes(row.key, row.value, &of_row);
            self.builder.place(values.len(), row.partition, row.key, bytes)?;
            headers.append(&mut of_row);
            header_counts.push(headers.len());
            values.push((row.timestamp_ms.unwrap_or(self.now_ms), row.key, row.value));
        }
        self.builder.build(|at, of_row| {
            of_row.extend_from_slice(&headers[header_counts[at]..header_counts[at + 1]]);
            Ok(values[at])
        })?;
        Ok(())
    }

    /// (d)
    pub(super) fn finish(&mut self) -> Result<Staged> {
        let built = self.builder.finish()?;
        self.check_driver()?;
        self.is_done = true;
        Ok(Staged {
            producer: self.producer.clone(),
            built,
        })
    }

    fn check_driver(&mut self) -> Result<()> {
        let asked = Asked {
            kind: CoordinatorKind::Transaction,
            key: &self.load.id,
            what: "the load's driver",
            limit: self.cluster.options.max_block,
        };
        let read = |answer: &[u8]| {
            let described = read_described(answer)?.pop();
            let error = described.as_ref().map_or(ErrorCode::NONE, |one| one.error);
            Ok((error, described))
        };
        let (error, described) = self
            .cluster
            .ask_coordinator(asked, &describe(&[self.load.id.as_str()]), read)?;
        match described {
            Some(one) if error == ErrorCode::NONE && one.identity == self.load.driver => Ok(()),
            _ => Err(failed(format!(
                "load {} was begun again by another call, and this one has ended",
                self.load.id
            ))),
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        for dir in self.dirs.iter().filter(|_| !self.is_done) {
            let _ = self.fs.remove_dir_all(dir); // the broker removes it a day later, or with its next start
        }
    }
}

impl Topic {
    fn check_is_here(&self, fs: &dyn FileSystem) -> Result<()> {
        for (partition, leader) in self.leaders.iter().enumerate() {
            let meta = MetaProperties::read(fs, &leader.dir).ok().flatten().unwrap_or_default();
            if meta.cluster_id.as_ref() != Some(&self.cluster_id) || meta.node_id != Some(leader.node) {
                return Err(failed(format!(
                    "the log directory of {}-{partition} is on broker {} at {}, not on this machine; load there, or \
                     use a producer",
                    self.name, leader.node, leader.host
                )));
            }
        }
        Ok(())
    }
}

impl From<LoadError> for ProducerError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Invalid(sentence) => Self::Invalid(sentence),
            other => failed(other.to_string()),
        }
    }
}

#[cfg(test)]
#[path = "staging_tests.rs"]
mod tests;
