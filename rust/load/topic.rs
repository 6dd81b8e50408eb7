//! The load of one topic: each row goes to its partition, as Kafka's default partitioner chooses it.
//!
//! - (a) a row that names its partition goes there;
//! - (b) a row with a key goes to the partition of the key's hash;
//! - (c) rows without a key go to one partition after the other, a batch's bytes at a time.
//!
//! The same rows in the same order give the same partitions.
//!
//! Rows come in groups. Their partitions are chosen one row after the other; then the partitions are built side by
//! side, each of them by one thread, so threads change nothing about what is built.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

use super::builder::{BuildSettings, BuiltPartition, PartitionBuilder, RecordRow};
use super::error::{LoadError, Result};
use ::io::FileSystem;
use record::{Header, partition_of};

/// Timestamp, key and value of a row.
pub type RowValues<'a> = (i64, Option<&'a [u8]>, Option<&'a [u8]>);

/// Where the segments of a partition are built.
#[derive(Debug, Clone)]
pub struct SegmentTarget {
    /// The load's directory, in the log directory of the partition's leader.
    pub dir: PathBuf,
    /// Records of the load that the log has already.
    pub known: i32,
}

/// A group with fewer bytes of records than this is built by one thread: starting others would take as long.
const MIN_PARALLEL_BYTES: usize = 1 << 20;

/// See the module.
pub struct TopicBuilder {
    topic: String,
    partitions: Vec<PartitionGroup>,
    batch_bytes: usize,
    threads: usize,
    /// (c): the partition that has its turn, and the bytes that are left of it.
    turn: (usize, usize),
    /// Bytes of the group's records.
    group_bytes: usize,
}

struct PartitionGroup {
    builder: PartitionBuilder,
    /// The rows of the group that go to it, by their number in the group.
    rows: Vec<usize>,
}

impl TopicBuilder {
    /// Begins a load; `targets` has every partition of the topic in order. At most `threads` threads build.
    pub fn new(
        fs: &Arc<dyn FileSystem>,
        topic: &str,
        settings: BuildSettings,
        targets: &[SegmentTarget],
        threads: usize,
    ) -> Self {
        let partition = |target: &SegmentTarget| PartitionGroup {
            builder: PartitionBuilder::new(fs, &target.dir, settings, target.known),
            rows: Vec::new(),
        };
        Self {
            topic: topic.to_owned(),
            partitions: targets.iter().map(partition).collect(),
            batch_bytes: settings.batch_bytes,
            threads,
            turn: (0, settings.batch_bytes),
            group_bytes: 0,
        }
    }

    /// Chooses the partition of the row of the group with number `at`; `partition` is the one that the row names, and
    /// `bytes` is the most that it takes in a batch.
    ///
    /// # Errors
    /// `LoadError::Invalid` for a partition that the topic has not.
    pub fn place(&mut self, at: usize, partition: Option<i32>, key: Option<&[u8]>, bytes: usize) -> Result<()> {
        let count = self.partitions.len();
        let chosen = match (partition, key) {
            (Some(named), _) => usize::try_from(named).unwrap_or(usize::MAX),
            (None, Some(key)) => partition_of(key, count),
            (None, None) => self.turn_of(bytes),
        };
        let Some(chosen) = self.partitions.get_mut(chosen) else {
            let (topic, named) = (&self.topic, partition.unwrap_or(-1));
            return Err(LoadError::Invalid(format!(
                "column partition: topic {topic} has no partition {named}; it has {count}"
            )));
        };
        chosen.rows.push(at);
        self.group_bytes += bytes;
        Ok(())
    }

    /// Adds the placed rows to their partitions, and begins the next group; `row` gives the row of a number, and may
    /// keep its headers in the list.
    ///
    /// # Errors
    /// As [`PartitionBuilder::append`], with the name of the partition, and as `row`.
    pub fn build<'a, F>(&mut self, row: F) -> Result<()>
    where
        F: Fn(usize, &mut Vec<Header<'a>>) -> Result<RowValues<'a>> + Sync,
    {
        let is_small = std::mem::take(&mut self.group_bytes) < MIN_PARALLEL_BYTES;
        let topic = &self.topic;
        let threads = if is_small { 1 } else { self.threads };
        each(&mut self.partitions, threads, |at, partition| {
            let mut headers = Vec::new();
            for number in partition.rows.drain(..) {
                headers.clear();
                let (timestamp, key, value) = row(number, &mut headers)?;
                let appended = partition.builder.append(&RecordRow {
                    timestamp,
                    key,
                    value,
                    headers: &headers,
                });
                appended.map_err(|error| match error {
                    LoadError::Invalid(reason) => LoadError::Invalid(format!("{topic}-{at}: {reason}")),
                    other => other,
                })?;
            }
            Ok(())
        })
    }

    /// (c)
    fn turn_of(&mut self, bytes: usize) -> usize {
        if bytes > self.turn.1 {
            self.turn = ((self.turn.0 + 1) % self.partitions.len().max(1), self.batch_bytes);
        }
        self.turn.1 = self.turn.1.saturating_sub(bytes);
        self.turn.0
    }

    /// Writes the rest; returns what was built for each partition. The last call of a load.
    pub fn finish(&mut self) -> Result<Vec<BuiltPartition>> {
        each(&mut self.partitions, self.threads, |_, partition| {
            partition.builder.write()
        })?;
        Ok(self.partitions.iter().map(|one| one.builder.built()).collect())
    }
}

/// Does the work for each partition; each thread takes the next one that none has taken. After a failure, which is
/// returned, no further one is begun.
fn each(
    partitions: &mut [PartitionGroup],
    threads: usize,
    work: impl Fn(usize, &mut PartitionGroup) -> Result<()> + Sync,
) -> Result<()> {
    let threads = threads.min(partitions.len());
    let mut left = partitions.iter_mut().enumerate();
    if threads < 2 {
        return left.try_for_each(|(at, partition)| work(at, partition));
    }
    let left = Mutex::new(left);
    let take = || left.lock().next();
    let run = || -> Result<()> {
        while let Some((at, partition)) = take() {
            if let Err(error) = work(at, partition) {
                while take().is_some() {} // the other threads end
                return Err(error);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let start = |_| {
            thread::Builder::new()
                .name("kafkastore-load".into())
                .spawn_scoped(scope, run)
        };
        let others: Vec<_> = (1..threads).map_while(|at| start(at).ok()).collect(); // fewer threads take longer
        let mut result = run();
        for other in others {
            let ended = other.join().unwrap_or_else(|panicked| resume_unwind(panicked));
            result = result.and(ended);
        }
        result
    })
}

#[cfg(test)]
#[path = "topic_tests.rs"]
mod tests;
