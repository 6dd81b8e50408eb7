//! `AddPartitionsToTxn`: adds partitions to a transaction before its first batches are written.
//!
//! A client asks for one transaction (versions 0 to 3); the request waits where Kafka answers
//! `CONCURRENT_TRANSACTIONS`. Brokers ask for many transactions in one request (version 4 on, KIP-890), some of which
//! are only to be verified; a transaction that is being ended is refused at once, so that it does not hold up the
//! others.

use std::sync::Arc;
use std::time::Instant;

use super::service::TransactionHome;
use super::table::{Producer, Step, add_partitions, verify};
use super::transaction::{TopicPartition, Transaction};
use super::transit::{self, PATIENCE, Question, Transit};
use crate::{Coordinators, Here};
use base::error::ErrorCode;
use broker::{
    Api, Attempt, Authorization, BodyTail, Broker, Delayed, Executor, Handover, Operation, Request, ResourceType,
    Served, Thread, Tried, WaitKind, Waiter,
};
use protocol::messages::Message;
use protocol::messages::add_partitions_to_txn::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic, AddPartitionsToTxnTopicResult, AddPartitionsToTxnTransaction,
};
use protocol::{ApiTable, WireError};

/// A request with more bytes than this is not served on a network loop.
const MANY_BYTES: usize = 16 << 10;

/// From this version on a request has several transactions; brokers send it.
const BATCHED_FROM: i16 = 4;
/// From this version on clients know `PRODUCER_FENCED`.
const FENCED_FROM: i16 = 2;

/// The API.
pub struct AddPartitionsToTxn(pub Arc<Coordinators>);

/// Its name.
const NAME: &str = "AddPartitionsToTxn";

/// Partitions to add to one transaction.
pub(super) struct Add {
    pub transactional_id: Arc<str>,
    pub producer: Producer,
    pub partitions: Vec<TopicPartition>,
}

impl Question for Add {
    fn transactional_id(&self) -> &str {
        &self.transactional_id
    }

    fn decide(&mut self, _: &Broker, now: Option<&Transaction>, now_ms: i64) -> Result<Step, ErrorCode> {
        let now = now.ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
        add_partitions(now, self.producer, self.partitions.iter().cloned(), now_ms)
    }
}

impl Api for AddPartitionsToTxn {
    fn key(&self) -> i16 {
        ApiTable::ADD_PARTITIONS_TO_TXN
    }

    fn serve(&self, asked: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        if asked.executor == Executor::Loop && asked.body.len() > MANY_BYTES {
            return Ok(Served::Elsewhere(Handover::Serve(Thread::Request)));
        }
        let version = asked.version;
        let request = AddPartitionsToTxnRequest::decode(version, asked.body)?;
        if version < BATCHED_FROM {
            let of_client = AddPartitionsToTxnTransaction {
                transactional_id: request.v3_and_below_transactional_id,
                producer_id: request.v3_and_below_producer_id,
                producer_epoch: request.v3_and_below_producer_epoch,
                verify_only: false,
                topics: request.v3_and_below_topics,
            };
            return Ok(add_for_client(&self.0, &asked, &of_client, out));
        }
        if !asked.authorization(NAME).acts_for_cluster() {
            let refused = AddPartitionsToTxnResponse {
                error_code: ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
                ..AddPartitionsToTxnResponse::default()
            };
            refused.encode(out, version);
            return Ok(Served::Answered(BodyTail::Nothing));
        }
        Ok(add_for_broker(&self.0, &asked, &request.transactions, out))
    }
}

/// The rows of one transaction with the names that the image has.
struct Rows {
    topics: Vec<(Arc<str>, Vec<i32>)>,
    /// For each row the error that does not depend on the transaction, if any.
    refused: Vec<Option<ErrorCode>>,
}

impl Rows {
    /// `client`: a client may not add an internal topic, as in Kafka, and needs Write on the others.
    fn new(broker: &Broker, topics: &[AddPartitionsToTxnTopic<'_>], client: Option<&Authorization<'_>>) -> Self {
        let may_write = |name: &str| {
            client.is_none_or(|authorization| authorization.allows(Operation::Write, ResourceType::Topic, name))
        };
        let image = broker.image().load();
        let mut rows = Self {
            topics: Vec::with_capacity(topics.len()),
            refused: Vec::new(),
        };
        for topic in topics {
            let row = image.topic(topic.name);
            let name = row.map_or_else(|| topic.name.into(), |row| Arc::clone(&row.name));
            let is_refused = (client.is_some() && row.is_some_and(|row| row.is_internal)) || !may_write(topic.name);
            let refused = |index: &i32| {
                if is_refused {
                    Some(ErrorCode::TOPIC_AUTHORIZATION_FAILED)
                } else if row.is_some_and(|row| row.has(*index)) {
                    None
                } else {
                    Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
                }
            };
            rows.refused.extend(topic.partitions.iter().map(refused));
            rows.topics.push((name, topic.partitions.clone()));
        }
        rows
    }

    fn partitions(&self) -> impl Iterator<Item = TopicPartition> + Clone {
        let of = |(topic, indexes): &'_ (Arc<str>, Vec<i32>)| {
            let topic = Arc::clone(topic);
            let rows: Vec<_> = indexes.iter().map(|index| (Arc::clone(&topic), *index)).collect();
            rows
        };
        self.topics.iter().flat_map(of)
    }

    /// The errors of all rows when one of them is refused: no partition is added.
    fn refusal(&self) -> Option<Vec<ErrorCode>> {
        let code = |refused: &Option<ErrorCode>| refused.unwrap_or(ErrorCode::OPERATION_NOT_ATTEMPTED);
        let is_refused = self.refused.iter().any(Option::is_some);
        is_refused.then(|| self.refused.iter().map(code).collect())
    }

    /// The answer: an error for each row.
    fn results(&self, errors: &[ErrorCode]) -> Vec<AddPartitionsToTxnTopicResult<'_>> {
        let mut errors = errors.iter();
        let mut row = |index: &i32| AddPartitionsToTxnPartitionResult {
            partition_index: *index,
            partition_error_code: errors.next().copied().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR),
        };
        let topics = self.topics.iter().map(|(name, indexes)| AddPartitionsToTxnTopicResult {
            name,
            results_by_partition: indexes.iter().map(&mut row).collect(),
        });
        topics.collect()
    }

    /// Appends the answer to a client.
    fn encode(&self, out: &mut Vec<u8>, version: i16, errors: &[ErrorCode]) {
        let answer = AddPartitionsToTxnResponse {
            results_by_topic_v3_and_below: self.results(errors),
            ..AddPartitionsToTxnResponse::default()
        };
        answer.encode(out, version);
    }
}

fn add_for_client(
    coordinators: &Arc<Coordinators>,
    asked: &Request<'_>,
    one: &AddPartitionsToTxnTransaction<'_>,
    out: &mut Vec<u8>,
) -> Served {
    let version = asked.version;
    let authorization = asked.authorization(NAME);
    let rows = Rows::new(asked.broker, &one.topics, Some(&authorization));
    let may_use_id = authorization.allows(Operation::Write, ResourceType::TransactionalId, one.transactional_id);
    let refusal = if !may_use_id {
        Some(vec![
            ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
            rows.refused.len()
        ])
    } else if one.transactional_id.is_empty() {
        Some(vec![ErrorCode::INVALID_REQUEST; rows.refused.len()])
    } else {
        rows.refusal()
    };
    if let Some(errors) = refusal {
        rows.encode(out, version, &errors);
        return Served::Answered(BodyTail::Nothing);
    }
    let question = Add {
        transactional_id: one.transactional_id.into(),
        producer: Producer {
            id: one.producer_id,
            epoch: one.producer_epoch,
        },
        partitions: rows.partitions().collect(),
    };
    let encode = move |_: &Add, outcome: transit::Outcome, out: &mut Vec<u8>| {
        let outcome = transit::for_version(outcome, version, FENCED_FROM);
        let errors = vec![outcome.err().unwrap_or(ErrorCode::NONE); rows.refused.len()];
        rows.encode(out, version, &errors);
    };
    transit::serve(coordinators, question, asked, encode, out)
}

/// One transaction of a broker's request.
struct Part {
    transactional_id: Arc<str>,
    rows: Rows,
    errors: Vec<ErrorCode>,
    /// An append that is not replicated yet.
    adding: Option<Transit<Add>>,
}

struct DelayedParts {
    version: i16,
    parts: Vec<Part>,
    watched: Vec<Arc<TransactionHome>>,
    deadline: Instant,
}

fn add_for_broker(
    coordinators: &Arc<Coordinators>,
    asked: &Request<'_>,
    transactions: &[AddPartitionsToTxnTransaction<'_>],
    out: &mut Vec<u8>,
) -> Served {
    let (broker, version) = (asked.broker, asked.version);
    let mut parts = Vec::with_capacity(transactions.len());
    let mut watched: Vec<Arc<TransactionHome>> = Vec::new();
    for one in transactions {
        let rows = Rows::new(broker, &one.topics, None);
        let producer = Producer {
            id: one.producer_id,
            epoch: one.producer_epoch,
        };
        let mut part = Part {
            transactional_id: one.transactional_id.into(),
            errors: Vec::new(),
            adding: None,
            rows,
        };
        if one.transactional_id.is_empty() {
            part.fail(ErrorCode::INVALID_REQUEST);
        } else if let Some(errors) = part.rows.refusal().filter(|_| one.verify_only) {
            part.errors = errors;
        } else if one.verify_only {
            let codes = verified(
                coordinators.on(broker),
                &part.transactional_id,
                producer,
                part.rows.partitions(),
            );
            match codes {
                Ok(codes) => part.errors = codes,
                Err(code) => part.fail(code),
            }
        } else {
            let question = Add {
                transactional_id: Arc::clone(&part.transactional_id),
                producer,
                partitions: part.rows.partitions().collect(),
            };
            part.adding = Some(Transit::new(coordinators, question, asked.now, false));
            part.go_on(broker, asked.now_ms, false);
            if let Some(home) = part.adding.as_ref().and_then(Transit::watched)
                && !watched.iter().any(|known| Arc::ptr_eq(known, home))
            {
                watched.push(Arc::clone(home));
            }
        }
        parts.push(part);
    }
    let delayed = DelayedParts {
        version,
        parts,
        watched,
        deadline: asked.now + PATIENCE,
    };
    if delayed.is_done() {
        delayed.encode(out);
        return Served::Answered(BodyTail::Nothing);
    }
    Served::Delayed(Box::new(delayed))
}

/// Whether partitions are in an open transaction, as the coordinator on this broker knows it.
pub(super) fn verified(
    here: Here<'_>,
    transactional_id: &str,
    producer: Producer,
    partitions: impl Iterator<Item = TopicPartition>,
) -> Result<Vec<ErrorCode>, ErrorCode> {
    let home = here.transactions().homes.find(&here, transactional_id)?;
    home.with(here, |shard| {
        let now = shard
            .get(transactional_id)
            .ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
        verify(now, producer, partitions)
    })?
}

impl Part {
    fn fail(&mut self, code: ErrorCode) {
        self.errors = vec![code; self.rows.refused.len()];
    }

    /// Goes on with an addition; its errors are set when it ends.
    fn go_on(&mut self, broker: &Broker, now_ms: i64, is_due: bool) {
        let Some(adding) = &mut self.adding else { return };
        if let Some(outcome) = adding.run(broker, now_ms, is_due) {
            self.adding = None;
            self.fail(outcome.err().unwrap_or(ErrorCode::NONE));
        }
    }
}

impl DelayedParts {
    fn is_done(&self) -> bool {
        self.parts.iter().all(|part| part.adding.is_none())
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let results = self.parts.iter().map(|part| AddPartitionsToTxnResult {
            transactional_id: &part.transactional_id,
            topic_results: part.rows.results(&part.errors),
        });
        let answer = AddPartitionsToTxnResponse {
            results_by_transaction: results.collect(),
            ..AddPartitionsToTxnResponse::default()
        };
        answer.encode(out, self.version);
    }
}

impl Delayed for DelayedParts {
    fn watch(&self, waiter: &Waiter) {
        for home in &self.watched {
            home.partition.waiters().watch(WaitKind::Produce, waiter.clone());
        }
    }

    fn forget(&self, waiter: &Waiter) {
        for home in &self.watched {
            let waiters = home.partition.waiters();
            waiters.forget(WaitKind::Produce, waiter.operation, &waiter.owner);
        }
    }

    fn try_complete(&mut self, attempt: &Attempt<'_>, out: &mut Vec<u8>) -> Tried {
        let now_ms = attempt.broker.context().clock.now_ms();
        for part in &mut self.parts {
            part.go_on(attempt.broker, now_ms, attempt.is_due);
        }
        if !self.is_done() {
            return Tried::Waits;
        }
        self.encode(out);
        Tried::Answered(BodyTail::Nothing)
    }

    fn deadline(&self) -> Instant {
        self.deadline
    }
}

#[cfg(test)]
#[path = "add_partitions_tests.rs"]
mod tests;
