//! The cluster as Metadata answers it: brokers, topics, leaders. The control plane publishes it, and it is swapped
//! atomically.
//!
//! It says where partitions are, not what this broker may do with them (a lease says that). It decides nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;

use crate::published::topic_id::TopicId;
use base::place::LeaderEpoch;
use protocol::NodeEndpoint;

/// A live broker and where it can be reached, by listener name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerRow {
    /// Node id.
    pub node_id: i32,
    /// Rack, when it has one.
    pub rack: Option<String>,
    /// (listener name, host, port).
    pub endpoints: Vec<(String, String, u16)>,
}

impl BrokerRow {
    /// Host and port on a listener; a client gets the endpoints of the listener that its connection came in on.
    pub fn endpoint(&self, listener: &str) -> Option<(&str, u16)> {
        self.endpoints
            .iter()
            .find(|e| e.0 == listener)
            .map(|e| (e.1.as_str(), e.2))
    }
}

/// A partition's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionRow {
    /// Partition index.
    pub index: i32,
    /// Leader's node id, -1 for none.
    pub leader: i32,
    /// Leader epoch.
    pub leader_epoch: LeaderEpoch,
    /// Assigned replicas. Partitions with equal lists may share one; the same holds for the next two fields.
    pub replicas: Arc<[i32]>,
    /// In-sync replicas.
    pub in_sync_replicas: Arc<[i32]>,
    /// Replicas on live brokers whose log directory is offline.
    pub offline_replicas: Arc<[i32]>,
}

/// A topic as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicRow {
    /// Name.
    pub name: Arc<str>,
    /// Topic id.
    pub id: TopicId,
    /// Whether the topic is one of Kafka's internal topics.
    pub is_internal: bool,
    /// Of a topic whose partitions coordinators choose by a key: among how many. More partitions than that are added
    /// for nobody: a key would have another partition than the one with its state.
    pub keys_over: i32,
    /// Partitions in index order.
    pub partitions: Vec<PartitionRow>,
}

impl TopicRow {
    /// Whether the topic has this partition.
    pub fn has(&self, index: i32) -> bool {
        self.partition(index).is_some()
    }

    /// One of its partitions.
    pub fn partition(&self, index: i32) -> Option<&PartitionRow> {
        let found = self.partitions.binary_search_by_key(&index, |p| p.index);
        found.ok().and_then(|at| self.partitions.get(at))
    }

    /// Returns `changed` with this topic's partitions too: the partitions of `changed` replace those of the same index,
    /// or are added.
    fn with(&self, changed: Self) -> Self {
        let mut partitions = self.partitions.clone();
        for partition in changed.partitions {
            match partitions.binary_search_by_key(&partition.index, |p| p.index) {
                Ok(at) => partitions[at] = partition,
                Err(at) => partitions.insert(at, partition),
            }
        }
        Self { partitions, ..changed }
    }
}

/// There is no controller yet. Until there is one, the image may lack parts of the cluster.
pub const NO_CONTROLLER: i32 = -1;

/// The answers that an image keeps: enough for clients of two versions.
const KEPT_ANSWERS: usize = 2;

/// The form of an answer with all topics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerForm {
    /// Version of Metadata.
    pub version: i16,
    /// The listener that the client came in on.
    pub listener: Box<str>,
    /// As in the request.
    pub include_cluster_authorized_operations: bool,
    /// As in the request.
    pub include_topic_authorized_operations: bool,
}

/// An answer that is kept, and whether a request used it since the last [`Image::drop_unused_answers`].
#[derive(Debug)]
struct KeptAnswer {
    form: AnswerForm,
    body: Arc<Vec<u8>>,
    is_used: bool,
}

/// Response bodies made from an image; a changed image begins with none.
#[derive(Debug, Default)]
struct Answers(Mutex<Vec<KeptAnswer>>);

impl Clone for Answers {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// One consistent state of the cluster.
#[derive(Debug, Clone)]
pub struct Image {
    /// Live brokers in node id order.
    pub brokers: Vec<BrokerRow>,
    /// Node id of the controller, or [`NO_CONTROLLER`].
    pub controller_id: i32,
    topics: BTreeMap<Arc<str>, Arc<TopicRow>>,
    ids: HashMap<TopicId, Arc<str>>,
    answers: Answers,
}

impl Default for Image {
    fn default() -> Self {
        Self {
            brokers: Vec::new(),
            controller_id: NO_CONTROLLER,
            topics: BTreeMap::new(),
            ids: HashMap::new(),
            answers: Answers::default(),
        }
    }
}

impl Image {
    /// Whether it has had all topics of the cluster: before, a topic that it lacks may exist.
    pub fn is_whole(&self) -> bool {
        self.controller_id != NO_CONTROLLER
    }

    /// A topic by name.
    pub fn topic(&self, name: &str) -> Option<&Arc<TopicRow>> {
        self.topics.get(name)
    }

    /// A topic by id.
    pub fn topic_by_id(&self, id: &TopicId) -> Option<&Arc<TopicRow>> {
        self.ids.get(id).and_then(|name| self.topics.get(name))
    }

    /// Every topic in name order.
    pub fn topics(&self) -> impl ExactSizeIterator<Item = &Arc<TopicRow>> {
        self.topics.values()
    }

    /// A response body that was made from this image.
    pub fn answer(&self, form: &AnswerForm) -> Option<Arc<Vec<u8>>> {
        let mut kept = self.answers.0.lock();
        let found = kept.iter_mut().find(|kept| kept.form == *form)?;
        found.is_used = true;
        Some(Arc::clone(&found.body))
    }

    /// Keeps a response body for later requests of the same form.
    pub fn keep_answer(&self, form: AnswerForm, body: &Arc<Vec<u8>>) {
        let mut kept = self.answers.0.lock();
        if kept.len() >= KEPT_ANSWERS {
            kept.remove(0);
        }
        kept.push(KeptAnswer {
            form,
            body: Arc::clone(body),
            is_used: true,
        });
    }

    /// Drops the bodies that no request has used since the last call.
    pub fn drop_unused_answers(&self) {
        let mut kept = self.answers.0.lock();
        kept.retain_mut(|kept| std::mem::take(&mut kept.is_used));
    }

    /// The address of a broker on a listener, as responses encode it.
    pub fn node_endpoint(&self, node_id: i32, listener: &str) -> Option<NodeEndpoint<'_>> {
        let broker = self.broker(node_id)?;
        let (host, port) = broker.endpoint(listener)?;
        Some(NodeEndpoint {
            node_id,
            host,
            port: i32::from(port),
            rack: broker.rack.as_deref(),
        })
    }

    /// A broker by node id.
    pub fn broker(&self, node_id: i32) -> Option<&BrokerRow> {
        self.brokers.iter().find(|b| b.node_id == node_id)
    }
}

/// The published image.
#[derive(Default)]
pub struct PublishedImage {
    current: ArcSwap<Image>,
    writer: Mutex<()>,
}

impl PublishedImage {
    /// The state now; lock-free.
    pub fn load(&self) -> Guard<Arc<Image>> {
        self.current.load()
    }

    fn change(&self, edit: impl FnOnce(&mut Image)) {
        let _writer = self.writer.lock();
        let mut next = Image::clone(&self.current.load());
        edit(&mut next);
        self.current.store(Arc::new(next));
    }

    /// Replaces the brokers and the controller.
    pub fn publish_cluster(&self, mut brokers: Vec<BrokerRow>, controller_id: i32) {
        brokers.sort_by_key(|b| b.node_id);
        self.change(|image| {
            image.brokers = brokers;
            image.controller_id = controller_id;
        });
    }

    /// Adds topics. For a topic whose id is known it adds or replaces the given partitions, in any order.
    pub fn publish_topics(&self, topics: Vec<TopicRow>) {
        self.change(|image| {
            for mut topic in topics {
                topic.partitions.sort_unstable_by_key(|p| p.index);
                match image.topics.get(&topic.name) {
                    Some(old) if old.id == topic.id => topic = old.with(topic),
                    Some(old) => drop(image.ids.remove(&old.id)),
                    None => {}
                }
                image.ids.insert(topic.id, Arc::clone(&topic.name));
                image.topics.insert(Arc::clone(&topic.name), Arc::new(topic));
            }
        });
    }

    /// Takes topics out.
    pub fn withdraw_topics(&self, names: &[String]) {
        self.change(|image| {
            for name in names {
                if let Some(old) = image.topics.remove(name.as_str()) {
                    image.ids.remove(&old.id);
                }
            }
        });
    }
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
