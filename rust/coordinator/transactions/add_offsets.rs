//! `AddOffsetsToTxn`: adds the partition of `__consumer_offsets` that keeps a group to a transaction, before the
//! group's offsets are committed within the transaction. While there is no such topic, a request goes to the control
//! plane, which creates it and hands the request back.

use std::sync::Arc;

use super::add_partitions::Add;
use super::table::Producer;
use super::transit;
use crate::{Coordinators, OFFSETS_TOPIC, partition_for};
use base::error::ErrorCode;
use broker::{Api, BodyTail, Operation, Request, ResourceType, Served, Size};
use protocol::messages::Message;
use protocol::messages::add_offsets_to_txn::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};
use protocol::{ApiTable, WireError};

/// From this version on clients know `PRODUCER_FENCED`.
const FENCED_FROM: i16 = 2;

/// The API.
pub struct AddOffsetsToTxn(pub Arc<Coordinators>);

impl Api for AddOffsetsToTxn {
    fn key(&self) -> i16 {
        ApiTable::ADD_OFFSETS_TO_TXN
    }

    fn serve(&self, asked: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        let version = asked.version;
        let request = AddOffsetsToTxnRequest::decode(version, asked.body)?;
        let image = asked.broker.image().load();
        let index = image
            .topic(OFFSETS_TOPIC)
            .map(|topic| partition_for(request.group_id, topic));
        let authorization = asked.authorization("AddOffsetsToTxn");
        let judged = match (request.transactional_id.is_empty(), index) {
            _ if !authorization.allows(
                Operation::Write,
                ResourceType::TransactionalId,
                request.transactional_id,
            ) =>
            {
                Err(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            }
            _ if !authorization.allows(Operation::Read, ResourceType::Group, request.group_id) => {
                Err(ErrorCode::GROUP_AUTHORIZATION_FAILED)
            }
            (true, _) => Err(ErrorCode::INVALID_REQUEST),
            (false, None) if asked.may_hand_over => return Ok(Served::Control(Some(asked.body.to_vec()))),
            (false, None) => Err(ErrorCode::COORDINATOR_NOT_AVAILABLE), // it was created, and is gone
            (false, Some(index)) => Ok(index),
        };
        let index = match judged {
            Ok(index) => index,
            Err(code) => {
                put_answer(out, version, code);
                return Ok(Served::Answered(BodyTail::Nothing));
            }
        };
        let question = Add {
            transactional_id: request.transactional_id.into(),
            producer: Producer {
                id: request.producer_id,
                epoch: request.producer_epoch,
            },
            partitions: vec![(Arc::from(OFFSETS_TOPIC), index)],
        };
        let encode = move |_: &Add, outcome: transit::Outcome, out: &mut Vec<u8>| {
            let outcome = transit::for_version(outcome, version, FENCED_FROM);
            put_answer(out, version, outcome.err().unwrap_or(ErrorCode::NONE));
        };
        Ok(transit::serve(&self.0, question, &asked, encode, out))
    }

    fn control_from(&self) -> Option<Size> {
        Some(Size::Small)
    }
}

fn put_answer(out: &mut Vec<u8>, version: i16, error_code: ErrorCode) {
    let answer = AddOffsetsToTxnResponse {
        error_code,
        ..Default::default()
    };
    answer.encode(out, version);
}

#[cfg(test)]
#[path = "add_offsets_tests.rs"]
mod tests;
