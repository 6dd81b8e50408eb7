//! `FindCoordinator` for groups and transactional ids: the coordinator is the leader of the key's partition of the
//! internal topic.

use super::MANY_BYTES;
use super::groups::OFFSETS_TOPIC;
use super::partitioning::partition_for;
use super::transactions::STATE_TOPIC;
use base::error::ErrorCode;
use broker::{Api, Operation, Request, ResourceType, Rest, Served, Size};
use protocol::messages::Message;
use protocol::messages::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};
use protocol::{ApiTable, WireError};

/// From this version on a request has several keys, and a found coordinator an empty message; before, Kafka sends
/// `NONE`.
const BATCHED_FROM: i16 = 4;

/// The kinds of keys.
mod key_type {
    pub const GROUP: i8 = 0;
    pub const TRANSACTION: i8 = 1;
}

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
    let image = asked.broker.image.load();
    let (name, resource) = match request.key_type {
        key_type::GROUP => (OFFSETS_TOPIC, ResourceType::Group),
        key_type::TRANSACTION => (STATE_TOPIC, ResourceType::TransactionalId),
        _ => return Ok(Served::Control(None)),
    };
    let Some(topic) = image.topic(name) else {
        return Ok(Served::Control(None));
    };
    let asks = asked.authorization("FindCoordinator");
    let keys = if version < BATCHED_FROM {
        vec![request.key]
    } else {
        request.coordinator_keys
    };
    if !keys
        .iter()
        .all(|key| asks.allows_quietly(Operation::Describe, resource, key))
    {
        return Ok(Served::Control(None));
    }
    let mut rows = Vec::with_capacity(keys.len());
    for key in keys {
        let partition = topic.partition(partition_for(key, topic));
        let Some(node) = partition.and_then(|row| image.node_endpoint(row.leader, listener)) else {
            return Ok(Served::Control(None));
        };
        rows.push(Coordinator {
            key,
            node_id: node.node_id,
            host: node.host,
            port: node.port,
            error_code: ErrorCode::NONE,
            error_message: Some(""),
        });
    }
    let mut answer = FindCoordinatorResponse::default();
    if let (..BATCHED_FROM, Some(row)) = (version, rows.first()) {
        answer.error_message = Some("NONE");
        (answer.node_id, answer.host, answer.port) = (row.node_id, row.host, row.port);
    }
    answer.coordinators = rows;
    answer.encode(out, version);
    Ok(Served::Answered(Rest::Nothing))
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;
