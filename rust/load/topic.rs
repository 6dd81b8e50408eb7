//! The load of one topic: each row goes to its partition, as Kafka's default partitioner chooses it.
//!
//! - (a) a row that names its partition goes there;
//! - (b) a row with a key goes to the partition of the key's hash;
//! - (c) rows without a key go to one partition after the other, a batch's bytes at a time.
//!
//! The same rows in the same order give the same partitions.

use std::path::PathBuf;
use std::sync::Arc;

use super::builder::{Built, PartitionBuilder, Row, Settings, record_bytes};
use super::error::{LoadError, Result};
use crate::io::FileSystem;
use crate::record::partition_of;

/// Where the segments of a partition are built.
#[derive(Debug, Clone)]
pub struct Target {
    /// The load's directory, in the log directory of the partition's leader.
    pub dir: PathBuf,
    /// Records of the load that the log has already.
    pub known: i32,
}

/// See the module.
pub struct TopicBuilder {
    topic: String,
    /// By partition, from 0 on.
    partitions: Vec<PartitionBuilder>,
    batch_bytes: usize,
    /// (c): the partition that has its turn, and the bytes that are left of it.
    turn: (usize, usize),
}

impl TopicBuilder {
    /// Begins a load; `targets` has every partition of the topic in order.
    pub fn new(fs: &Arc<dyn FileSystem>, topic: &str, settings: Settings, targets: &[Target]) -> Self {
        let builder = |target: &Target| PartitionBuilder::new(fs, &target.dir, settings, target.known);
        Self {
            topic: topic.to_owned(),
            partitions: targets.iter().map(builder).collect(),
            batch_bytes: settings.batch_bytes,
            turn: (0, settings.batch_bytes),
        }
    }

    /// Adds the next row; `partition` is the one that the row names.
    ///
    /// # Errors
    /// As [`PartitionBuilder::append`]; `LoadError::Invalid` also for a partition that the topic has not.
    pub fn append(&mut self, partition: Option<i32>, row: &Row<'_>) -> Result<()> {
        let count = self.partitions.len();
        let at = match (partition, row.key) {
            (Some(named), _) => usize::try_from(named).unwrap_or(usize::MAX),
            (None, Some(key)) => partition_of(key, count),
            (None, None) => self.turn_of(row),
        };
        let Some(builder) = self.partitions.get_mut(at) else {
            let (topic, named) = (&self.topic, partition.unwrap_or(-1));
            return Err(LoadError::Invalid(format!(
                "column partition: topic {topic} has no partition {named}; it has {count}"
            )));
        };
        builder.append(row).map_err(|error| match error {
            LoadError::Invalid(reason) => LoadError::Invalid(format!("{}-{at}: {reason}", self.topic)),
            other => other,
        })
    }

    /// (c)
    fn turn_of(&mut self, row: &Row<'_>) -> usize {
        let bytes = record_bytes(row);
        if bytes > self.turn.1 {
            self.turn = ((self.turn.0 + 1) % self.partitions.len().max(1), self.batch_bytes);
        }
        self.turn.1 = self.turn.1.saturating_sub(bytes);
        self.turn.0
    }

    /// Writes the rest; returns what was built for each partition.
    pub fn finish(self) -> Result<Vec<Built>> {
        self.partitions.into_iter().map(PartitionBuilder::finish).collect()
    }
}

#[cfg(test)]
mod tests;
