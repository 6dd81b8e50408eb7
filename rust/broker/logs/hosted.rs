//! [`Logs`]: the logs that a broker hosts, and the parts that keep them.
//!
//! Its children `hosting`, `housekeeping` and `closing` use the parts through the accessors here.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::cleaner::Cleaner;
use super::dirs::LogDirs;
use super::losses::Losses;
use super::moves::Moves;
use crate::node::Node;
use crate::partition::Partition;
use crate::published::topic_id::TopicId;
use crate::replication::fetchers::Fetchers;
use crate::threads::pools::Threads;
use base::place::Offset;
use storage::TopicPartition;

/// A hosted log, as the control plane compares it with its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedLog {
    /// Topic.
    pub topic: Arc<str>,
    /// Partition.
    pub index: i32,
    /// Topic id; all zero when the log has none.
    pub topic_id: TopicId,
    /// The log directory that holds it.
    pub log_dir: PathBuf,
    /// First offset.
    pub log_start: Offset,
    /// Next offset.
    pub log_end: Offset,
}

/// See the module.
pub struct Logs {
    node: Arc<Node>,
    threads: Arc<Threads>,
    fetchers: Arc<Fetchers>,
    dirs: Arc<LogDirs>,
    losses: Losses,
    cleaner: Arc<Cleaner>,
    moves: Moves,
    unclean: Mutex<Vec<TopicPartition>>,
}

impl Logs {
    /// No logs yet.
    pub fn new(node: &Arc<Node>, threads: &Arc<Threads>, fetchers: &Arc<Fetchers>) -> Self {
        let dirs = Arc::new(LogDirs::new(node));
        let cleaner = Arc::new(Cleaner::new(node, threads, &dirs));
        Self {
            node: Arc::clone(node),
            threads: Arc::clone(threads),
            fetchers: Arc::clone(fetchers),
            losses: Losses::new(node),
            moves: Moves::new(node, threads, &dirs, &cleaner),
            cleaner,
            dirs,
            unclean: Mutex::default(),
        }
    }

    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    pub(super) fn threads(&self) -> &Threads {
        &self.threads
    }

    pub(super) fn fetchers(&self) -> &Fetchers {
        &self.fetchers
    }

    /// The log directories.
    pub fn dirs(&self) -> &Arc<LogDirs> {
        &self.dirs
    }

    /// What the start found missing.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Compaction.
    pub fn cleaner(&self) -> &Cleaner {
        &self.cleaner
    }

    /// Moves between log directories.
    pub fn moves(&self) -> &Moves {
        &self.moves
    }

    /// The logs that were in directories whose last run did not end with a clean stop: they may have lost records that
    /// were acknowledged from the page cache, wherever a move has put them since. Empty before [`Self::open`].
    pub fn unclean(&self) -> Vec<TopicPartition> {
        self.unclean.lock().clone()
    }

    pub(super) fn set_unclean(&self, logs: Vec<TopicPartition>) {
        *self.unclean.lock() = logs;
    }

    /// Every hosted log.
    pub fn hosted(&self) -> Vec<HostedLog> {
        let topics = self.node.registry().snapshot();
        let hosted = |p: &Arc<Partition>| {
            let offsets = p.offsets();
            HostedLog {
                topic: Arc::clone(p.topic()),
                index: p.index(),
                topic_id: p.topic_id(),
                log_dir: p.log_dir().to_path_buf(),
                log_start: offsets.log_start(),
                log_end: offsets.log_end(),
            }
        };
        topics
            .iter()
            .flat_map(|t| t.partitions().map(hosted).collect::<Vec<_>>())
            .collect()
    }
}
