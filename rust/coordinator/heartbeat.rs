//! `Heartbeat`: looks up, compares, moves one deadline, and answers a bare error code.

use std::sync::Arc;

use super::lease::Claim;
use super::{Coordinators, Groups};
use base::error::ErrorCode;
use broker::{Api, BodyTail, Operation, Request, ResourceType, Served};
use protocol::messages::Message;
use protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use protocol::{ApiTable, WireError};

/// The API.
pub struct Heartbeat(pub Arc<Coordinators>);

impl Api for Heartbeat {
    fn key(&self) -> i16 {
        ApiTable::HEARTBEAT
    }

    fn serve(&self, asked: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        let request = HeartbeatRequest::decode(asked.version, asked.body)?;
        let answer = HeartbeatResponse {
            error_code: answer(&self.0.groups, &asked, &request),
            ..Default::default()
        };
        answer.encode(out, asked.version);
        Ok(Served::Answered(BodyTail::Nothing))
    }
}

fn answer(groups: &Groups, asked: &Request<'_>, request: &HeartbeatRequest<'_>) -> ErrorCode {
    let authorization = asked.authorization("Heartbeat");
    if !authorization.allows(Operation::Read, ResourceType::Group, request.group_id) {
        return ErrorCode::GROUP_AUTHORIZATION_FAILED;
    }
    let broker = asked.broker;
    let claim = Claim {
        member_id: request.member_id,
        group_instance_id: request.group_instance_id,
        generation_id: request.generation_id,
    };
    let served = groups.homes.find(broker, request.group_id).and_then(|home| {
        let mut shard = home.shard(broker)?;
        let code = shard.heartbeat(request.group_id, claim, asked.now);
        groups.note_timers(&shard);
        Ok(code)
    });
    match served {
        Err(ErrorCode::COORDINATOR_NOT_AVAILABLE) => ErrorCode::COORDINATOR_NOT_AVAILABLE,
        _ if request.group_id.is_empty() => ErrorCode::INVALID_GROUP_ID,
        Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS) => ErrorCode::NONE, // sessions begin when the partition is loaded
        Ok(code) | Err(code) => code,
    }
}

#[cfg(test)]
#[path = "heartbeat_tests.rs"]
mod tests;
