//! Metadata: answers clients with the brokers, topics and leaders of the published image.
//!
//! The control plane creates missing topics, and waits until the cluster is known. For either, the request goes to the
//! control plane with at most [`CREATED_NAMES`] names, and comes back here afterwards with `may_hand_over` unset. This
//! module decides nothing and creates nothing.
//!
//! An answer has each topic once, however often the request names it. An answer of many rows is not encoded on a
//! network loop. A large answer of all topics is encoded once for an image, and all requests of the same form share it.

use std::collections::HashSet;
use std::sync::Arc;

use super::Broker;
use super::api::{Api, Errand, Place, Request, Rest, Served, Thread};
use super::budget::Size;
use super::image::{AnswerForm, Image, NO_CONTROLLER, TopicRow};
use crate::error::ErrorCode;
use crate::storage::topic_partition::is_valid_topic_name;
use crate::wire::topic::text;
use crate::wire::{
    AUTHORIZED_OPERATIONS_OMITTED, ApiTable, MetadataPartition, MetadataRequest, MetadataResponseWriter, MetadataTop,
    MetadataTopic, NodeEndpoint, WireError, ZERO_TOPIC_ID, encode_metadata_creation,
};

/// Every operation on a topic, as a bit field of Kafka's operation codes: without an authorizer all are allowed.
const TOPIC_OPERATIONS: i32 = 0b1101_1111_1000;
/// Every operation on the cluster.
const CLUSTER_OPERATIONS: i32 = 0b1_1111_1010_0000;

/// A request with more bytes than this is not served on a network loop.
const MANY_BYTES: usize = 16 << 10;
/// An answer with more partitions than this is not encoded on a network loop.
const MANY_PARTITIONS: usize = 2000;
/// Topics that one request may have created; a client asks again for the others.
const CREATED_NAMES: usize = 100;

/// One topic of the answer.
enum Found<'a> {
    Row(&'a TopicRow),
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
const LEFT: Served = Served::Elsewhere(Errand::Serve(Thread::Request));

fn handle(asked: &Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
    let (broker, version, listener, body) = (asked.broker, asked.version, asked.caller.listener, &*asked.body);
    let (place, may_hand_over) = (asked.place, asked.may_hand_over);
    if place == Place::Loop && body.len() > MANY_BYTES {
        return Ok(LEFT);
    }
    let mut request = MetadataRequest::default();
    request.decode(version, body)?;
    let image = broker.image.load();
    if may_hand_over && image.controller_id == NO_CONTROLLER {
        return Ok(Served::Control(Some(encode_metadata_creation(version, &[]))));
    }
    let refusal = request.refusal(version);
    if request.all_topics && refusal.is_none() {
        return Ok(all_topics(broker, &image, version, listener, &request, place, out));
    }
    let found = match refusal {
        Some(error) => {
            let mut seen = HashSet::new();
            let rows = request.topics.iter().map(|t| refused(t, body, error));
            rows.filter(|row| seen.insert(row.key())).collect()
        }
        None => find(&image, &request, body),
    };
    let may_create = may_hand_over && request.allow_auto_topic_creation && broker.options().auto_create_topics_enable;
    if may_create {
        let missing: Vec<&str> = found.iter().filter_map(Found::creatable).take(CREATED_NAMES).collect();
        if !missing.is_empty() {
            return Ok(Served::Control(Some(encode_metadata_creation(version, &missing))));
        }
    }
    if place == Place::Loop && has_many_partitions(found.iter().filter_map(Found::row)) {
        return Ok(LEFT);
    }
    encode(broker, &image, version, listener, &request, &found, out);
    Ok(Served::Answered(Rest::Nothing))
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
fn all_topics(
    broker: &Broker,
    image: &Image,
    version: i16,
    listener: &str,
    request: &MetadataRequest,
    place: Place,
    out: &mut Vec<u8>,
) -> Served {
    let rows = || image.topics().map(|t| Found::Row(t)).collect::<Vec<_>>();
    if !has_many_partitions(image.topics().map(|t| &**t)) {
        encode(broker, image, version, listener, request, &rows(), out);
        return Served::Answered(Rest::Nothing);
    }
    let form = AnswerForm {
        version,
        listener: listener.into(),
        include_cluster_authorized_operations: request.include_cluster_authorized_operations,
        include_topic_authorized_operations: request.include_topic_authorized_operations,
    };
    if let Some(body) = image.answer(&form) {
        return Served::Answered(Rest::Shared(body));
    }
    if place == Place::Loop {
        return LEFT;
    }
    let mut body = Vec::new();
    encode(broker, image, version, listener, request, &rows(), &mut body);
    body.shrink_to_fit();
    let body = Arc::new(body);
    image.keep_answer(form, &body);
    Served::Answered(Rest::Shared(body))
}

impl<'a> Found<'a> {
    fn row(&self) -> Option<&'a TopicRow> {
        match self {
            Self::Row(row) => Some(row),
            Self::Missing { .. } => None,
        }
    }

    /// The key by which the answer has a topic only once.
    fn key(&self) -> (Option<&'a str>, [u8; 16]) {
        match self {
            Self::Row(row) => (Some(&row.name), ZERO_TOPIC_ID),
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

fn refused<'a>(asked: &crate::wire::MetadataTopicRequest, body: &'a [u8], error: ErrorCode) -> Found<'a> {
    Found::Missing {
        error,
        name: asked.name.as_ref().and_then(|n| text(body, n)),
        id: asked.id,
    }
}

fn find<'a>(image: &'a Image, request: &MetadataRequest, body: &'a [u8]) -> Vec<Found<'a>> {
    let one = |asked: &crate::wire::MetadataTopicRequest| {
        // A topic with an id is looked up by its id; the name beside it is ignored (Java's describeTopics sends an
        // empty name).
        let name = asked.name.as_ref().filter(|_| asked.id == ZERO_TOPIC_ID);
        let Some(name) = name.and_then(|n| text(body, n)) else {
            return match image.topic_by_id(&asked.id) {
                Some(row) => Found::Row(row),
                None => Found::Missing {
                    error: ErrorCode::UNKNOWN_TOPIC_ID,
                    name: None,
                    id: asked.id,
                },
            };
        };
        match image.topic(name) {
            Some(row) => Found::Row(row),
            None if is_valid_topic_name(name) => Found::Missing {
                error: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                name: Some(name),
                id: ZERO_TOPIC_ID,
            },
            None => Found::Missing {
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

fn encode(
    broker: &Broker,
    image: &Image,
    version: i16,
    listener: &str,
    request: &MetadataRequest,
    found: &[Found<'_>],
    out: &mut Vec<u8>,
) {
    let brokers: Vec<NodeEndpoint<'_>> = image
        .brokers
        .iter()
        .filter_map(|b| image.node_endpoint(b.node_id, listener))
        .collect();
    let cluster_id = broker.cluster_id();
    let top = MetadataTop {
        throttle_time_ms: 0,
        brokers: &brokers,
        cluster_id: Some(&cluster_id),
        controller_id: controller_to_ask(image, broker.node_id, listener),
    };
    let mut writer = MetadataResponseWriter::begin(out, version, &top, found.len());
    let operations = |wanted: bool, all: i32| if wanted { all } else { AUTHORIZED_OPERATIONS_OMITTED };
    let topic_operations = operations(request.include_topic_authorized_operations, TOPIC_OPERATIONS);
    for found in found {
        match found {
            Found::Row(row) => encode_row(&mut writer, image, listener, row, topic_operations),
            Found::Missing { error, name, id } => {
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
    writer.end(
        operations(request.include_cluster_authorized_operations, CLUSTER_OPERATIONS),
        ErrorCode::NONE,
    );
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
mod tests;
