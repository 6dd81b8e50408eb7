//! `EndTxn`: decides a transaction. The client is answered when the decision is replicated; the markers follow. From
//! version 5 on the answer has the producer's next epoch (KIP-890).

use std::sync::Arc;

use super::init_producer_id::new_producer_id;
use super::table::{Producer, Step, end};
use super::transaction::{TRANSACTION_VERSION_2, Transaction};
use super::transit::{self, Question, for_version};
use crate::Coordinators;
use base::error::ErrorCode;
use broker::{Api, BodyTail, Broker, Operation, Request, ResourceType, Served};
use protocol::messages::Message;
use protocol::messages::end_txn::{EndTxnRequest, EndTxnResponse};
use protocol::{ApiTable, WireError};

/// From this version on the epoch is raised at the end of each transaction.
const EPOCH_RAISED_FROM: i16 = 5;

/// From this version on clients know `PRODUCER_FENCED`.
const FENCED_FROM: i16 = 2;

/// The API.
pub struct EndTxn(pub Arc<Coordinators>);

struct End {
    transactional_id: String,
    producer: Producer,
    is_commit: bool,
    version: i16,
}

impl Api for EndTxn {
    fn key(&self) -> i16 {
        ApiTable::END_TXN
    }

    fn serve(&self, asked: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        let version = asked.version;
        let request = EndTxnRequest::decode(version, asked.body)?;
        let authorization = asked.authorization("EndTxn");
        if !authorization.allows(
            Operation::Write,
            ResourceType::TransactionalId,
            request.transactional_id,
        ) {
            put_answer(out, version, Err(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED));
            return Ok(Served::Answered(BodyTail::Nothing));
        }
        if request.transactional_id.is_empty() {
            put_answer(out, version, Err(ErrorCode::INVALID_REQUEST));
            return Ok(Served::Answered(BodyTail::Nothing));
        }
        let question = End {
            transactional_id: request.transactional_id.to_owned(),
            producer: Producer {
                id: request.producer_id,
                epoch: request.producer_epoch,
            },
            is_commit: request.committed,
            version: if version >= EPOCH_RAISED_FROM {
                TRANSACTION_VERSION_2
            } else {
                0
            },
        };
        let encode = move |_: &End, outcome, out: &mut Vec<u8>| {
            put_answer(out, version, for_version(outcome, version, FENCED_FROM));
        };
        Ok(transit::serve(&self.0, question, &asked, encode, out))
    }
}

/// Appends a response: the producer id and epoch of the next transaction, which only version 5 has, or an error.
fn put_answer(out: &mut Vec<u8>, version: i16, ended: Result<(i64, i16), ErrorCode>) {
    let error_code = ended.err().unwrap_or(ErrorCode::NONE);
    let mut answer = EndTxnResponse {
        error_code,
        ..Default::default()
    };
    if let Ok(producer) = ended {
        (answer.producer_id, answer.producer_epoch) = producer;
    }
    answer.encode(out, version);
}

impl Question for End {
    fn transactional_id(&self) -> &str {
        &self.transactional_id
    }

    fn decide(&mut self, broker: &Broker, now: Option<&Transaction>, now_ms: i64) -> Result<Step, ErrorCode> {
        let now = now.ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
        let new_id = || new_producer_id(broker);
        end(now, self.producer, self.is_commit, self.version, now_ms, new_id)
    }
}

#[cfg(test)]
#[path = "end_txn_tests.rs"]
mod tests;
