//! Which partitions this broker fetches from which leader, by their leases. Each leader that is followed has one
//! [`Source`].
//!
//! A source is only a mailbox here: it never fetches, and it knows no addresses. Its runner (a thread with a connection
//! in `net`, or a test) takes the changes and passes them to a [`crate::ReplicaFetcher`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::partition::Partition;
use base::place::LeaderEpoch;

/// A change for one source.
#[derive(Clone)]
pub enum Change {
    /// Fetch the partition, in this leader epoch.
    Follow(Arc<Partition>, LeaderEpoch),
    /// Stop fetching the partition.
    Drop(Arc<Partition>),
}

#[derive(Default)]
struct Inbox {
    changes: Vec<Change>,
    is_stopped: bool,
}

/// A broker that this one follows.
pub struct Source {
    /// The leader's node id.
    pub node_id: i32,
    inbox: Mutex<Inbox>,
    changed: Condvar,
}

impl Source {
    fn new(node_id: i32) -> Self {
        Self {
            node_id,
            inbox: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn tell(&self, change: Change) {
        self.inbox.lock().changes.push(change);
        self.changed.notify_all();
    }

    /// Takes the changes since the last call; `None` when this source was stopped.
    pub fn take(&self) -> Option<Vec<Change>> {
        let mut inbox = self.inbox.lock();
        (!inbox.is_stopped).then(|| std::mem::take(&mut inbox.changes))
    }

    /// Whether [`Source::wait`] would return at once: there are changes, or this source was stopped.
    pub fn is_rung(&self) -> bool {
        let inbox = self.inbox.lock();
        !inbox.changes.is_empty() || inbox.is_stopped
    }

    /// Waits until there is a change, this source is stopped, or `limit` has passed.
    pub fn wait(&self, limit: Duration) {
        let mut inbox = self.inbox.lock();
        if inbox.changes.is_empty() && !inbox.is_stopped {
            self.changed.wait_for(&mut inbox, limit);
        }
    }

    fn stop(&self) {
        self.inbox.lock().is_stopped = true;
        self.changed.notify_all();
    }
}

/// Starts the runner of a source.
type Run = Box<dyn Fn(Arc<Source>) + Send + Sync>;

#[derive(Default)]
struct Table {
    sources: HashMap<i32, Arc<Source>>,
    /// The leader's node id for each partition that follows, by topic and index.
    followed: HashMap<(Arc<str>, i32), i32>,
    is_stopped: bool,
}

/// See the module.
#[derive(Default)]
pub struct Fetchers {
    table: Mutex<Table>,
    run: Mutex<Option<Run>>,
}

impl Fetchers {
    /// From now on `run` is called with each new source; it must not block.
    pub fn run_with(&self, run: Run) {
        *self.run.lock() = Some(run);
    }

    /// Assigns one partition to the source of the leader that its lease names, or to no source when it does not follow.
    pub fn follow(&self, partition: &Arc<Partition>) {
        let lease = partition.leadership().lease();
        let leader = lease
            .as_ref()
            .and_then(|l| l.source_for(partition.leadership().node_id()));
        let mut table = self.table.lock();
        if table.is_stopped {
            return;
        }
        let key = (Arc::clone(partition.topic()), partition.index());
        let before = table.followed.get(&key).copied();
        if let Some(source) = before.filter(|node| leader.is_none_or(|(to, _)| to != *node))
            && let Some(source) = table.sources.get(&source)
        {
            source.tell(Change::Drop(Arc::clone(partition)));
        }
        let Some((node_id, leader_epoch)) = leader else {
            table.followed.remove(&key);
            return;
        };
        table.followed.insert(key, node_id);
        let (source, is_new) = match table.sources.get(&node_id) {
            Some(known) => (Arc::clone(known), false),
            None => (Arc::new(Source::new(node_id)), true),
        };
        source.tell(Change::Follow(Arc::clone(partition), leader_epoch));
        if is_new {
            table.sources.insert(node_id, Arc::clone(&source));
            drop(table);
            if let Some(run) = &*self.run.lock() {
                run(source);
            }
        }
    }

    /// The sources now, by node id.
    pub fn sources(&self) -> Vec<Arc<Source>> {
        let mut sources: Vec<_> = self.table.lock().sources.values().cloned().collect();
        sources.sort_by_key(|source| source.node_id);
        sources
    }

    /// Stops every source; later calls of [`Fetchers::follow`] start none.
    pub fn stop(&self) {
        let mut table = self.table.lock();
        table.is_stopped = true;
        for source in table.sources.values() {
            source.stop();
        }
    }
}

#[cfg(test)]
#[path = "fetchers_tests.rs"]
mod tests;
