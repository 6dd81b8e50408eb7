//! Metadata: answers clients with the brokers, topics and leaders of the published image.
//!
//! The control plane creates missing topics, and waits until the cluster is known. For either, the request goes to the
//! control plane with at most [`CREATED_NAMES`] names, and comes back here afterwards with `may_hand_over` unset. This
//! module decides nothing and creates nothing.
//!
//! A topic that the client may not describe is left out of an answer with all topics. When the client names it, the
//! answer does not tell whether it exists: a name gets `TOPIC_AUTHORIZATION_FAILED` without the id, an id the same
//! without the name, as in Kafka.
//!
//! An answer has each topic once, however often the request names it. An answer of many rows is not encoded on a
//! network loop. A large answer of all topics is encoded once for an image, and all requests of the same form share it,
//! unless ACLs decide what each client sees.

use std::collections::HashSet;
use std::sync::Arc;

use crate::Broker;
use crate::published::acls::{CLUSTER_NAME, Operation, ResourceType};
use crate::published::image::{AnswerForm, Image, NO_CONTROLLER, TopicRow};
use crate::published::topic_id::TopicId;
use crate::requests::api::{Api, BodyTail, Executor, Handover, Request, Served, Thread};
use crate::requests::authorization::Authorization;
use crate::requests::budget::Size;
use base::error::ErrorCode;
use protocol::topic::text;
use protocol::{
    AUTHORIZED_OPERATIONS_OMITTED, ApiTable, MetadataPartition, MetadataRequest, MetadataResponseWriter, MetadataTop,
    MetadataTopic, NodeEndpoint, WireError, ZERO_TOPIC_ID, encode_metadata_creation,
};
use storage::topic_partition::is_valid_topic_name;

/// A request with more bytes than this is not served on a network loop.
const MANY_BYTES: usize = 16 << 10;
/// An answer with more partitions than this is not encoded on a network loop.
const MANY_PARTITIONS: usize = 2000;
/// Topics that one request may have created; a client asks again for the others.
const CREATED_NAMES: usize = 100;

/// One topic of the answer.
enum TopicAnswer<'a> {
    /// A topic, and its id when the client named it by the id.
    Row(&'a TopicRow, Option<TopicId>),
    Missing {
        error: ErrorCode,
        name: Option<&'a str>,
        id: [u8; 16],
    },
}

/// The API.
pub struct Metadata;

impl Api for Metadata {
    fn key(&self) -> i16 {
        ApiTable::METADATA
    }

    fn serve(&self, request: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        handle(&request, out)
    }

    /// A small request that goes to the control plane keeps a buffer of its own.
    fn control_from(&self) -> Option<Size> {
        Some(Size::Large)
    }

    fn has_large_answers(&self) -> bool {
        true
    }
}

/// A request thread encodes an answer of many rows.
const LEFT: Served = Served::Elsewhere(Handover::Serve(Thread::Request));

fn handle(asked: &Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
    let (broker, version, body) = (asked.broker, asked.version, &*asked.body);
    let (executor, may_hand_over) = (asked.executor, asked.may_hand_over);
    if executor == Executor::Loop && body.len() > MANY_BYTES {
        return Ok(LEFT);
    }
    let mut request = MetadataRequest::default();
    request.decode(version, body)?;
    let image = broker.image().load();
    if may_hand_over && image.controller_id == NO_CONTROLLER {
        return Ok(Served::Control(Some(encode_metadata_creation(version, &[]))));
    }
    let answering = Answering {
        broker,
        image: &image,
        version,
        listener: asked.caller.listener,
        request: &request,
        authorization: &Authorization::new(broker, &asked.caller, "Metadata"),
    };
    let refusal = request.refusal(version);
    if request.all_topics && refusal.is_none() {
        return Ok(all_topics(&answering, executor, out));
    }
    let mut found = match refusal {
        Some(error) => {
            let mut seen = HashSet::new();
            let rows = request.topics.iter().map(|t| refused(t, body, error));
            rows.filter(|row| seen.insert(row.key())).collect()
        }
        None => find(&image, &request, body),
    };
    let may_create = request.allow_auto_topic_creation && broker.options().auto_create_topics_enable;
    if answering.authorization.decides() && refusal.is_none() {
        answering.authorize(&mut found, may_create);
    }
    if may_hand_over && may_create {
        let missing: Vec<&str> = found
            .iter()
            .filter_map(TopicAnswer::creatable)
            .take(CREATED_NAMES)
            .collect();
        if !missing.is_empty() {
            return Ok(Served::Control(Some(encode_metadata_creation(version, &missing))));
        }
    }
    if executor == Executor::Loop && has_many_partitions(found.iter().filter_map(TopicAnswer::row)) {
        return Ok(LEFT);
    }
    answering.encode(&found, out);
    Ok(Served::Answered(BodyTail::Nothing))
}

fn has_many_partitions<'a>(rows: impl Iterator<Item = &'a TopicRow>) -> bool {
    let mut count = 0;
    for row in rows {
        count += row.partitions.len() + 1;
        if count > MANY_PARTITIONS {
            return true;
        }
    }
    false
}

/// Answers a request for all topics. A large answer is kept with its image, for later requests of the same form.
fn all_topics(answering: &Answering<'_>, executor: Executor, out: &mut Vec<u8>) -> Served {
    let (image, request) = (answering.image, answering.request);
    let is_shown = |name: &str| {
        answering
            .authorization
            .allows_quietly(Operation::Describe, ResourceType::Topic, name)
    };
    let rows = || {
        let rows = image.topics().filter(|topic| is_shown(&topic.name));
        rows.map(|topic| TopicAnswer::Row(topic, None)).collect::<Vec<_>>()
    };
    if !has_many_partitions(image.topics().map(|t| &**t)) {
        answering.encode(&rows(), out);
        return Served::Answered(BodyTail::Nothing);
    }
    if answering.authorization.decides() {
        if executor == Executor::Loop {
            return LEFT;
        }
        answering.encode(&rows(), out);
        return Served::Answered(BodyTail::Nothing);
    }
    let form = AnswerForm {
        version: answering.version,
        listener: answering.listener.into(),
        include_cluster_authorized_operations: request.include_cluster_authorized_operations,
        include_topic_authorized_operations: request.include_topic_authorized_operations,
    };
    if let Some(body) = image.answer(&form) {
        return Served::Answered(BodyTail::Shared(body));
    }
    if executor == Executor::Loop {
        return LEFT;
    }
    let mut body = Vec::new();
    answering.encode(&rows(), &mut body);
    body.shrink_to_fit();
    let body = Arc::new(body);
    image.keep_answer(form, &body);
    Served::Answered(BodyTail::Shared(body))
}

impl<'a> TopicAnswer<'a> {
    fn row(&self) -> Option<&'a TopicRow> {
        match self {
            Self::Row(row, _) => Some(row),
            Self::Missing { .. } => None,
        }
    }

    /// The name or the id by which the client asked.
    fn asked(&self) -> (Option<&'a str>, [u8; 16]) {
        match self {
            Self::Row(_, Some(id)) => (None, *id),
            Self::Row(row, None) => (Some(&row.name), ZERO_TOPIC_ID),
            Self::Missing { name, id, .. } => (*name, *id),
        }
    }

    /// The key by which the answer has a topic only once.
    fn key(&self) -> (Option<&'a str>, [u8; 16]) {
        match self {
            Self::Row(row, _) => (Some(&row.name), ZERO_TOPIC_ID),
            Self::Missing { name, id, .. } => (*name, *id),
        }
    }

    /// The name of a topic that does not exist and could.
    fn creatable(&self) -> Option<&'a str> {
        match self {
            Self::Missing {
                error: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                name,
                ..
            } => *name,
            _ => None,
        }
    }
}

fn refused<'a>(asked: &protocol::MetadataTopicRequest, body: &'a [u8], error: ErrorCode) -> TopicAnswer<'a> {
    TopicAnswer::Missing {
        error,
        name: asked.name.as_ref().and_then(|n| text(body, n)),
        id: asked.id,
    }
}

fn find<'a>(image: &'a Image, request: &MetadataRequest, body: &'a [u8]) -> Vec<TopicAnswer<'a>> {
    let one = |asked: &protocol::MetadataTopicRequest| {
        // A topic with an id is looked up by its id; the name beside it is ignored (Java's describeTopics sends an
        // empty name).
        let name = asked.name.as_ref().filter(|_| asked.id == ZERO_TOPIC_ID);
        let Some(name) = name.and_then(|n| text(body, n)) else {
            return match image.topic_by_id(&asked.id) {
                Some(row) => TopicAnswer::Row(row, Some(asked.id)),
                None => TopicAnswer::Missing {
                    error: ErrorCode::UNKNOWN_TOPIC_ID,
                    name: None,
                    id: asked.id,
                },
            };
        };
        match image.topic(name) {
            Some(row) => TopicAnswer::Row(row, None),
            None if is_valid_topic_name(name) => TopicAnswer::Missing {
                error: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                name: Some(name),
                id: ZERO_TOPIC_ID,
            },
            None => TopicAnswer::Missing {
                error: ErrorCode::INVALID_TOPIC_EXCEPTION,
                name: Some(name),
                id: ZERO_TOPIC_ID,
            },
        }
    };
    let mut seen = HashSet::new();
    request
        .topics
        .iter()
        .map(one)
        .filter(|row| seen.insert(row.key()))
        .collect()
}

/// One answer and what it is made from.
struct Answering<'a> {
    broker: &'a Broker,
    image: &'a Image,
    version: i16,
    listener: &'a str,
    request: &'a MetadataRequest,
    authorization: &'a Authorization<'a>,
}

impl Answering<'_> {
    /// Puts the refusal in the place of each topic that the client may not describe, and of each missing topic that it
    /// asks to have created and may not create.
    fn authorize(&self, found: &mut [TopicAnswer<'_>], may_create: bool) {
        let may_create_all = || {
            self.authorization
                .allows_quietly(Operation::Create, ResourceType::Cluster, CLUSTER_NAME)
        };
        for one in found {
            let (name, id) = one.asked();
            let Some(asked_name) = one.row().map(|row| &*row.name).or(name) else {
                continue; // an id that the cluster does not have
            };
            let is_allowed = self
                .authorization
                .allows(Operation::Describe, ResourceType::Topic, asked_name)
                && (!may_create
                    || one.creatable().is_none()
                    || may_create_all()
                    || self
                        .authorization
                        .allows(Operation::Create, ResourceType::Topic, asked_name));
            if !is_allowed {
                *one = TopicAnswer::Missing {
                    error: ErrorCode::TOPIC_AUTHORIZATION_FAILED,
                    name,
                    id,
                };
            }
        }
    }

    fn encode(&self, found: &[TopicAnswer<'_>], out: &mut Vec<u8>) {
        let (image, listener) = (self.image, self.listener);
        let brokers: Vec<NodeEndpoint<'_>> = image
            .brokers
            .iter()
            .filter_map(|b| image.node_endpoint(b.node_id, listener))
            .collect();
        let cluster_id = self.broker.cluster_id();
        let top = MetadataTop {
            throttle_time_ms: 0,
            brokers: &brokers,
            cluster_id: Some(&cluster_id),
            controller_id: controller_to_ask(image, self.broker.node_id(), listener),
        };
        let mut writer = MetadataResponseWriter::begin(out, self.version, &top, found.len());
        for found in found {
            match found {
                TopicAnswer::Row(row, _) => {
                    let operations = self.topic_operations(&row.name);
                    encode_row(&mut writer, image, listener, row, operations);
                }
                TopicAnswer::Missing { error, name, id } => {
                    let topic = MetadataTopic {
                        error: *error,
                        name: *name,
                        id: *id,
                        is_internal: false,
                        authorized_operations: AUTHORIZED_OPERATIONS_OMITTED,
                    };
                    writer.topic(&topic, 0);
                    writer.topic_end(&topic);
                }
            }
        }
        writer.end(self.cluster_operations(), ErrorCode::NONE);
    }

    fn topic_operations(&self, name: &str) -> i32 {
        if !self.request.include_topic_authorized_operations {
            return AUTHORIZED_OPERATIONS_OMITTED;
        }
        self.authorization.operations(ResourceType::Topic, name)
    }

    fn cluster_operations(&self) -> i32 {
        if !self.request.include_cluster_authorized_operations {
            return AUTHORIZED_OPERATIONS_OMITTED;
        }
        if !self.authorization.allows_cluster(Operation::Describe) {
            return 0;
        }
        self.authorization.operations(ResourceType::Cluster, CLUSTER_NAME)
    }
}

/// The node that the answer names as the controller: this broker, which passes requests on to the real controller. This
/// broker is alive and reachable for the client, since it answers; the controller may be neither until its session
/// ends. A broker that is not in the image yet names the real controller.
fn controller_to_ask(image: &Image, node_id: i32, listener: &str) -> i32 {
    [node_id, image.controller_id]
        .into_iter()
        .find(|id| image.node_endpoint(*id, listener).is_some())
        .unwrap_or(NO_CONTROLLER)
}

fn encode_row(writer: &mut MetadataResponseWriter<'_>, image: &Image, listener: &str, row: &TopicRow, operations: i32) {
    let topic = MetadataTopic {
        error: ErrorCode::NONE,
        name: Some(&row.name),
        id: row.id,
        is_internal: row.is_internal,
        authorized_operations: operations,
    };
    writer.topic(&topic, row.partitions.len());
    for partition in &row.partitions {
        let is_reachable = image.node_endpoint(partition.leader, listener).is_some();
        let offline: Vec<i32> = partition
            .replicas
            .iter()
            .copied()
            .filter(|r| image.broker(*r).is_none() || partition.offline_replicas.contains(r))
            .collect();
        writer.partition(&MetadataPartition {
            error: if is_reachable {
                ErrorCode::NONE
            } else {
                ErrorCode::LEADER_NOT_AVAILABLE
            },
            index: partition.index,
            leader_id: if is_reachable { partition.leader } else { -1 },
            leader_epoch: partition.leader_epoch.get(),
            replicas: &partition.replicas,
            isr: &partition.in_sync_replicas,
            offline: &offline,
        });
    }
    writer.topic_end(&topic);
}

#[cfg(test)]
#[path = "metadata_tests.rs"]
mod tests;
