//! The partitions that this broker hosts, by topic name and by topic id.
//!
//! Readers take a snapshot without a lock; writers replace the shards that they change. A topic's partition list is
//! replaced whole, so a snapshot never shows half a change. It never creates or deletes files.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;

use crate::partition::Partition;
use crate::published::absent::{Absent, AbsentTopic};
use crate::published::topic_id::{NO_TOPIC_ID, TopicId};
use base::error::{Error, ErrorCode, Result};
use record::BatchHeader;

/// Each map is in this many shards, so that a new topic does not copy the entries of all others.
const SHARDS: usize = 32;

/// Topics in which brokers keep their own state; clients may not write them. The control plane has a table
/// of them (`internal_topics.py`), and its tests compare the two.
pub const INTERNAL_TOPICS: [&str; 3] = ["__consumer_offsets", "__transaction_state", "__share_group_state"];

/// A hosted topic: its partitions by index, with gaps for those hosted elsewhere.
pub struct Topic {
    /// The name.
    pub name: Arc<str>,
    /// The id; all zero for a topic older than topic ids.
    pub id: TopicId,
    partitions: Vec<Option<Arc<Partition>>>,
}

impl Topic {
    /// Whether brokers keep their own state in it.
    pub fn is_internal(&self) -> bool {
        INTERNAL_TOPICS.contains(&&*self.name)
    }

    /// The partition with this index, when it is hosted here.
    pub fn partition(&self, index: i32) -> Option<&Arc<Partition>> {
        usize::try_from(index)
            .ok()
            .and_then(|i| self.partitions.get(i))
            .and_then(Option::as_ref)
    }

    /// Every hosted partition.
    pub fn partitions(&self) -> impl Iterator<Item = &Arc<Partition>> {
        self.partitions.iter().flatten()
    }
}

/// The keys are names and ids that clients choose, and each request looks topics up: so the hash is quick and has a
/// random seed.
type Shard<K> = Arc<HashMap<K, Arc<Topic>, ahash::RandomState>>;

/// Both maps, consistent with each other.
#[derive(Default, Clone)]
pub struct Topics {
    by_name: [Shard<Arc<str>>; SHARDS],
    by_id: [Shard<TopicId>; SHARDS],
}

/// The shard of a key, by its last bytes, in which the names of many topics differ.
fn shard_of(key: &[u8]) -> usize {
    let mut last = [0; size_of::<u64>()];
    for (to, from) in last.iter_mut().zip(key.iter().rev()) {
        *to = *from;
    }
    let mixed = u64::from_le_bytes(last).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 32) as usize % SHARDS
}

impl Topics {
    /// A topic by name.
    pub fn by_name(&self, name: &str) -> Option<&Arc<Topic>> {
        self.by_name[shard_of(name.as_bytes())].get(name)
    }

    /// A topic by id.
    pub fn by_id(&self, id: &TopicId) -> Option<&Arc<Topic>> {
        self.by_id[shard_of(id)].get(id)
    }

    /// Every hosted topic.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.by_name.iter().flat_map(|shard| shard.values())
    }

    fn put(&mut self, topic: Arc<Topic>) {
        if topic.id != NO_TOPIC_ID {
            Arc::make_mut(&mut self.by_id[shard_of(&topic.id)]).insert(topic.id, Arc::clone(&topic));
        }
        Arc::make_mut(&mut self.by_name[shard_of(topic.name.as_bytes())]).insert(Arc::clone(&topic.name), topic);
    }

    fn take_out(&mut self, name: &str) -> Option<Arc<Topic>> {
        let topic = self.by_name(name).cloned()?;
        Arc::make_mut(&mut self.by_name[shard_of(name.as_bytes())]).remove(name);
        Arc::make_mut(&mut self.by_id[shard_of(&topic.id)]).remove(&topic.id);
        Some(topic)
    }
}

/// The shared registry.
#[derive(Default)]
pub struct Registry {
    topics: ArcSwap<Topics>,
    writer: Mutex<()>,
    absent: Mutex<Absent>,
}

impl Registry {
    /// A consistent view; cheap, lock-free.
    pub fn snapshot(&self) -> Guard<Arc<Topics>> {
        self.topics.load()
    }

    /// A hosted partition.
    pub fn find(&self, topic: &str, index: i32) -> Result<Arc<Partition>> {
        let topics = self.topics.load();
        let found = topics.by_name(topic).and_then(|topic| topic.partition(index));
        found.cloned().ok_or_else(|| {
            let message = format!("{topic}-{index} is not on this broker");
            Error::rejected(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, message)
        })
    }

    /// The partitions whose log directory works.
    pub fn online_partitions(&self) -> Vec<Arc<Partition>> {
        let topics = self.topics.load();
        let partitions = topics.iter().flat_map(|topic| topic.partitions());
        partitions
            .filter(|partition| !partition.leadership().is_offline())
            .cloned()
            .collect()
    }

    /// As [`Self::online_partitions`], by log directory.
    pub fn online_by_log_dir(&self) -> HashMap<PathBuf, Vec<Arc<Partition>>> {
        let mut by_dir: HashMap<PathBuf, Vec<Arc<Partition>>> = HashMap::new();
        for partition in self.online_partitions() {
            by_dir
                .entry(partition.log_dir().to_path_buf())
                .or_default()
                .push(partition);
        }
        by_dir
    }

    /// Notes that a batch was refused since its partition is not here: when the partition comes, it waits for the batch
    /// before it takes a later one of the same producer.
    pub(crate) fn note_absent(&self, topic: AbsentTopic, index: i32, header: &BatchHeader, now_ms: i64) {
        let mut absent = self.absent.lock();
        let topics = self.topics.load(); // under the lock: what comes later is handed the note
        let known = match &topic {
            AbsentTopic::Name(name) => topics.by_name(name),
            AbsentTopic::Id(id) => topics.by_id(id),
        };
        match known.and_then(|topic| topic.partition(index)) {
            Some(partition) => partition.refusals().note_absent(header, now_ms),
            None => absent.note(topic, index, header, now_ms),
        }
    }

    /// Adds partitions to a topic, which is created when it is new. Its id becomes `id`.
    pub fn add(&self, name: &Arc<str>, id: TopicId, added: Vec<Arc<Partition>>) {
        let _writer = self.writer.lock();
        let mut topics = Topics::clone(&self.topics.load());
        let mut partitions = topics.take_out(name).map_or_else(Vec::new, |t| t.partitions.clone());
        for partition in added {
            let at = usize::try_from(partition.index()).unwrap_or(0);
            if partitions.len() <= at {
                partitions.resize(at + 1, None);
            }
            partitions[at] = Some(partition);
        }
        let topic = Arc::new(Topic {
            name: Arc::clone(name),
            id,
            partitions,
        });
        topics.put(Arc::clone(&topic));
        self.topics.store(Arc::new(topics));
        let mut absent = self.absent.lock();
        if !absent.is_empty() {
            for partition in topic.partitions() {
                absent.hand_over(name, id, partition.index(), partition.refusals());
            }
        }
    }

    /// Removes partitions, and a topic that has none left. Returns the partitions that were removed.
    pub fn remove(&self, name: &str, indexes: &[i32]) -> Vec<Arc<Partition>> {
        let _writer = self.writer.lock();
        let mut topics = Topics::clone(&self.topics.load());
        let Some(topic) = topics.take_out(name) else {
            return Vec::new();
        };
        let mut partitions = topic.partitions.clone();
        let mut removed = Vec::with_capacity(indexes.len());
        for &index in indexes {
            if let Some(slot) = usize::try_from(index).ok().and_then(|i| partitions.get_mut(i)) {
                removed.extend(slot.take());
            }
        }
        if partitions.iter().any(Option::is_some) {
            topics.put(Arc::new(Topic {
                name: Arc::clone(&topic.name),
                id: topic.id,
                partitions,
            }));
        }
        self.topics.store(Arc::new(topics));
        removed
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
