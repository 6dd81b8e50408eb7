//! `InitProducerId`. A producer that is only idempotent always gets a new id with epoch 0, whatever id and epoch the
//! request names, as in Kafka. A producer with a transactional id is served by the transaction coordinator.
//!
//! An id needs Write on the transactional id; or, without one, `IdempotentWrite` on the cluster or Write on any topic.

use std::sync::Arc;

use super::{Coordinators, transactions};
use base::error::ErrorCode;
use broker::{Api, BodyTail, CLUSTER_NAME, Operation, Request, ResourceType, Served, Size};
use protocol::messages::Message;
use protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use protocol::{ApiTable, WireError};

const FIRST_EPOCH: i16 = 0;
/// The value for no producer id and for no epoch.
const NONE: i16 = -1;

/// The API. The control plane serves requests to refuse. When no id is left, a request goes there first, and comes back
/// when a block of ids is claimed.
pub struct InitProducerId(pub Arc<Coordinators>);

impl Api for InitProducerId {
    fn key(&self) -> i16 {
        ApiTable::INIT_PRODUCER_ID
    }

    fn serve(&self, asked: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        let request = InitProducerIdRequest::decode(asked.version, asked.body)?;
        if let Err(code) = authorize(&asked, request.transactional_id) {
            put_answer(out, asked.version, Err(code));
            return Ok(Served::Answered(BodyTail::Nothing));
        }
        if (request.producer_id == i64::from(NONE)) != (request.producer_epoch == NONE) {
            return Ok(Served::Control(None));
        }
        let broker = asked.broker;
        if request.transactional_id.is_some() {
            if asked.may_hand_over && !broker.producer_ids().has_any() {
                return Ok(Served::Control(Some(asked.body.to_vec())));
            }
            return Ok(transactions::init_producer_id(&self.0, &asked, &request, out));
        }
        let Some(producer_id) = broker.producer_ids().take(broker.events()) else {
            return Ok(Served::Control(None));
        };
        put_answer(out, asked.version, Ok((producer_id, FIRST_EPOCH)));
        Ok(Served::Answered(BodyTail::Nothing))
    }

    fn control_from(&self) -> Option<Size> {
        Some(Size::Small)
    }
}

/// Appends a response: a producer id and its epoch, or an error.
pub fn put_answer(out: &mut Vec<u8>, version: i16, given: Result<(i64, i16), ErrorCode>) {
    let (producer_id, producer_epoch) = given.unwrap_or((NONE.into(), NONE));
    let answer = InitProducerIdResponse {
        error_code: given.err().unwrap_or(ErrorCode::NONE),
        producer_id,
        producer_epoch,
        ..Default::default()
    };
    answer.encode(out, version);
}

fn authorize(asked: &Request<'_>, transactional_id: Option<&str>) -> Result<(), ErrorCode> {
    let authorization = asked.authorization("InitProducerId");
    if let Some(id) = transactional_id {
        let is_allowed = authorization.allows(Operation::Write, ResourceType::TransactionalId, id);
        return if is_allowed {
            Ok(())
        } else {
            Err(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        };
    }
    let operation = Operation::IdempotentWrite;
    let is_allowed = authorization.allows_quietly(operation, ResourceType::Cluster, CLUSTER_NAME)
        || authorization.allows_some(Operation::Write, ResourceType::Topic);
    if is_allowed {
        return Ok(());
    }
    authorization.log_refusal(operation, ResourceType::Cluster, CLUSTER_NAME, 1);
    Err(ErrorCode::CLUSTER_AUTHORIZATION_FAILED)
}
