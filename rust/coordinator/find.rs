//! `FindCoordinator` for groups and transactional ids: the coordinator is the leader of the key's partition of the
//! internal topic.

use super::MANY_BYTES;
use super::groups::OFFSETS_TOPIC;
use super::partitioning::partition_for;
use super::transactions::STATE_TOPIC;
use base::error::ErrorCode;
use broker::{Api, BodyTail, Operation, Request, ResourceType, Served, Size};
use protocol::find_coordinator::key_type;
use protocol::{ApiTable, FindCoordinatorRequest, FoundCoordinator, WireError, encode_find_coordinator_response};

/// From this version on a found coordinator has an empty message; in earlier versions Kafka sends `NONE`.
const EMPTY_MESSAGE_FROM: i16 = 4;

/// The API. The control plane serves requests for other kinds of keys, requests before the topic exists, and requests
/// with a key whose coordinator cannot be reached, or that the client may not describe.
pub struct FindCoordinator;

impl Api for FindCoordinator {
    fn key(&self) -> i16 {
        ApiTable::FIND_COORDINATOR
    }

    fn serve(&self, request: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        handle(&request, out)
    }

    fn control_from(&self) -> Option<Size> {
        Some(Size::Small)
    }
}

fn handle(asked: &Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
    let (version, listener) = (asked.version, asked.caller.listener);
    if asked.body.len() > MANY_BYTES {
        return Ok(Served::Control(None));
    }
    let request = FindCoordinatorRequest::decode(version, asked.body)?;
    let image = asked.broker.image().load();
    let (name, resource) = match request.key_type {
        key_type::GROUP => (OFFSETS_TOPIC, ResourceType::Group),
        key_type::TRANSACTION => (STATE_TOPIC, ResourceType::TransactionalId),
        _ => return Ok(Served::Control(None)),
    };
    let Some(topic) = image.topic(name) else {
        return Ok(Served::Control(None));
    };
    let authorization = asked.authorization("FindCoordinator");
    let mut keys = request.keys.iter();
    if !keys.all(|key| authorization.allows_quietly(Operation::Describe, resource, key)) {
        return Ok(Served::Control(None));
    }
    let mut rows = Vec::with_capacity(request.keys.len());
    for key in request.keys {
        let partition = topic.partition(partition_for(key, topic));
        let Some(node) = partition.and_then(|row| image.node_endpoint(row.leader, listener)) else {
            return Ok(Served::Control(None));
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
    Ok(Served::Answered(BodyTail::Nothing))
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;
