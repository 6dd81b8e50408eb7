//! Metadata: what clients are told of brokers, topics and leaders, from the published image.
//!
//! A topic that may have to be created first is the control plane's business, and so is waiting until the cluster is known: the request
//! is handed over whole, and comes back here afterwards with `may_hand_over` unset. It decides nothing and creates nothing.

use super::Broker;
use super::image::{Image, NO_CONTROLLER, TopicRow};
use crate::error::ErrorCode;
use crate::storage::topic_partition::is_valid_topic_name;
use crate::wire::topic::text;
use crate::wire::{
    AUTHORIZED_OPERATIONS_OMITTED, MetadataPartition, MetadataRequest, MetadataResponseWriter, MetadataTop,
    MetadataTopic, NodeEndpoint, WireError, ZERO_TOPIC_ID,
};

/// Every operation on a topic, as a bit field of Kafka's operation codes: without an authorizer all are allowed.
const TOPIC_OPERATIONS: i32 = 0b1101_1111_1000;
/// Every operation on the cluster.
const CLUSTER_OPERATIONS: i32 = 0b1_1111_1010_0000;

/// What became of a Metadata request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataOutcome {
    /// The response body is written.
    Answered,
    /// A topic must be created first, or this broker has yet to be told of the cluster.
    HandedOver,
}

/// One topic of the answer.
enum Found<'a> {
    Row(&'a TopicRow),
    Missing {
        error: ErrorCode,
        name: Option<&'a str>,
        id: [u8; 16],
    },
}

/// Serves one Metadata body for a client on `listener`.
pub fn handle(
    broker: &Broker,
    version: i16,
    listener: &str,
    body: &[u8],
    may_hand_over: bool,
    out: &mut Vec<u8>,
) -> Result<MetadataOutcome, WireError> {
    let mut request = MetadataRequest::default();
    request.decode(version, body)?;
    let image = broker.image.load();
    if may_hand_over && image.controller_id == NO_CONTROLLER {
        return Ok(MetadataOutcome::HandedOver);
    }
    let refusal = request.refusal(version);
    let found = match refusal {
        Some(error) => request.topics.iter().map(|t| refused(t, body, error)).collect(),
        None if request.all_topics => image.topics().map(|t| Found::Row(t)).collect(),
        None => find(&image, &request, body),
    };
    let may_create = may_hand_over && request.allow_auto_topic_creation && broker.options().auto_create_topics_enable;
    let is_creatable = |f: &Found<'_>| {
        matches!(
            f,
            Found::Missing {
                error: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                ..
            }
        )
    };
    if may_create && found.iter().any(is_creatable) {
        return Ok(MetadataOutcome::HandedOver);
    }
    encode(broker, &image, version, listener, &request, &found, out);
    Ok(MetadataOutcome::Answered)
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
        let Some(name) = asked.name.as_ref().and_then(|n| text(body, n)) else {
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
    request.topics.iter().map(one).collect()
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

/// Whom clients are told to send what only the controller does: this broker, which passes it on. It is alive and reachable for the
/// client, since it answers; the controller may be neither until its session ends. A broker that is not a member yet names the controller.
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
            leader_epoch: partition.leader_epoch,
            replicas: &partition.replicas,
            isr: &partition.in_sync_replicas,
            offline: &offline,
        });
    }
    writer.topic_end(&topic);
}

#[cfg(test)]
mod tests;
