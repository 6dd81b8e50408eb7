//! `InitProducerId` with a transactional id: fences the id's earlier producers, ends their transaction, gives the
//! producer id and its next epoch (KIP-98, KIP-360).

use std::sync::Arc;

use super::table::{Producer, Step, init_producer_id};
use super::transaction::{NO_EPOCH, NO_PRODUCER_ID, Transaction};
use super::transit::{self, Question, for_version};
use crate::Coordinators;
use crate::init_producer_id::put_answer;
use base::error::ErrorCode;
use broker::{BodyTail, Broker, Request, Served};
use protocol::messages::init_producer_id::InitProducerIdRequest;

/// From this version on clients know `PRODUCER_FENCED`.
const FENCED_FROM: i16 = 4;

struct Init {
    transactional_id: String,
    claimed: Option<Producer>,
    timeout_ms: i32,
}

/// Serves a request with a transactional id.
pub fn serve(
    coordinators: &Arc<Coordinators>,
    asked: &Request<'_>,
    request: &InitProducerIdRequest<'_>,
    out: &mut Vec<u8>,
) -> Served {
    let version = asked.version;
    let refused = |code, out: &mut Vec<u8>| {
        put_answer(out, version, Err(code));
        Served::Answered(BodyTail::Nothing)
    };
    let transactional_id = request.transactional_id.unwrap_or_default();
    if transactional_id.is_empty() {
        return refused(ErrorCode::INVALID_REQUEST, out);
    }
    let longest = coordinators.transactions.settings().max_timeout_ms;
    if !(1..=longest).contains(&request.transaction_timeout_ms) {
        return refused(ErrorCode::INVALID_TRANSACTION_TIMEOUT, out);
    }
    let question = Init {
        transactional_id: transactional_id.to_owned(),
        claimed: (request.producer_id >= 0).then_some(Producer {
            id: request.producer_id,
            epoch: request.producer_epoch,
        }),
        timeout_ms: request.transaction_timeout_ms,
    };
    let encode = move |_: &Init, outcome, out: &mut Vec<u8>| {
        put_answer(out, version, for_version(outcome, version, FENCED_FROM));
    };
    transit::serve(coordinators, question, asked, encode, out)
}

impl Question for Init {
    fn transactional_id(&self) -> &str {
        &self.transactional_id
    }

    fn decide(&mut self, broker: &Broker, now: Option<&Transaction>, now_ms: i64) -> Result<Step, ErrorCode> {
        let created;
        let now = if let Some(now) = now {
            now
        } else {
            created = Transaction::new(new_producer_id(broker)?, self.timeout_ms, now_ms);
            &created
        };
        let step = init_producer_id(now, self.claimed, self.timeout_ms, now_ms, || new_producer_id(broker))?;
        Ok(match step {
            // an id without an epoch has had no other producer id
            Step::Write(next) if now.producer_epoch == NO_EPOCH => Step::Write(Transaction {
                previous_producer_id: NO_PRODUCER_ID,
                ..next
            }),
            step => step,
        })
    }
}

/// A producer id that was never given before.
///
/// # Errors
/// `COORDINATOR_LOAD_IN_PROGRESS`, which clients retry, while none is left; the next block is being claimed.
pub fn new_producer_id(broker: &Broker) -> Result<i64, ErrorCode> {
    let taken = broker.producer_ids().take(broker.events());
    taken.ok_or(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS)
}

#[cfg(test)]
#[path = "init_producer_id_tests.rs"]
mod tests;
