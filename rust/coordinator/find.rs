//! `FindCoordinator` for groups: the leader of the partition of `__consumer_offsets` that keeps each.

use super::Outcome;
use super::partitioning::partition_for;
use crate::broker::Broker;
use crate::error::ErrorCode;
use crate::wire::find_coordinator::key_type;
use crate::wire::{FindCoordinatorRequest, FoundCoordinator, WireError, encode_find_coordinator_response};

const OFFSETS_TOPIC: &str = "__consumer_offsets";
/// From this version on a found coordinator has an empty message; before, Kafka says that there is no error.
const EMPTY_MESSAGE_FROM: i16 = 4;

/// Serves one body. The control plane's are other kinds of keys, the first request, before there is the topic, and every key whose
/// coordinator is not there.
pub fn handle(
    broker: &Broker,
    version: i16,
    listener: &str,
    body: &[u8],
    out: &mut Vec<u8>,
) -> Result<Outcome, WireError> {
    let request = FindCoordinatorRequest::decode(version, body)?;
    let image = broker.image.load();
    let topic = image
        .topic(OFFSETS_TOPIC)
        .filter(|_| request.key_type == key_type::GROUP);
    let Some(topic) = topic else {
        return Ok(Outcome::ToControl);
    };
    let count = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
    let mut rows = Vec::with_capacity(request.keys.len());
    for key in request.keys {
        let partition = topic.partition(partition_for(key, count));
        let Some(node) = partition.and_then(|row| image.node_endpoint(row.leader, listener)) else {
            return Ok(Outcome::ToControl);
        };
        let found = FoundCoordinator {
            error: ErrorCode::NONE,
            node_id: node.node_id,
            host: node.host,
            port: node.port,
        };
        rows.push((key, found));
    }
    let message = if version < EMPTY_MESSAGE_FROM { "NONE" } else { "" };
    encode_find_coordinator_response(out, version, rows.into_iter(), message);
    Ok(Outcome::Answered)
}

#[cfg(test)]
mod tests;
