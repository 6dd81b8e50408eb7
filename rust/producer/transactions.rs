//! The requests about transactions, in versions that brokers of Kafka 3.0 to 4 serve and that keep the epoch of a
//! producer over the end of its transaction: `EndTxn` below v5 may be sent again and means the same (KIP-890).

use base::error::ErrorCode;
use client::{Request, Server};
use protocol::WireError;
use protocol::messages::Message;
use protocol::messages::add_offsets_to_txn::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};
use protocol::messages::add_partitions_to_txn::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, AddPartitionsToTxnTopic,
};
use protocol::messages::describe_transactions::{DescribeTransactionsRequest, DescribeTransactionsResponse};
use protocol::messages::end_txn::{EndTxnRequest, EndTxnResponse};
use protocol::messages::find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
use protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use protocol::messages::list_transactions::{ListTransactionsRequest, ListTransactionsResponse};
use protocol::messages::offset_fetch::{OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse};
use protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic, TxnOffsetCommitResponse,
};

const FIND_COORDINATOR: i16 = 4;
const INIT_PRODUCER_ID: i16 = 1;
const ADD_PARTITIONS: i16 = 1;
const ADD_OFFSETS: i16 = 1;
const END_TXN: i16 = 1;
const TXN_OFFSET_COMMIT: i16 = 2;
const OFFSET_FETCH: i16 = 5;
const LIST_TRANSACTIONS: i16 = 0;
const DESCRIBE_TRANSACTIONS: i16 = 0;

/// A producer as the coordinator knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) producer_id: i64,
    pub(super) epoch: i16,
}

/// What a key's coordinator is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum CoordinatorKind {
    Group = 0,
    Transaction = 1,
}

/// The coordinator of each key, or its error.
pub(super) type Coordinators = Vec<(String, Result<Server, ErrorCode>)>;

/// A committed offset with its metadata; `None` when there is none.
pub(super) type Committed = Option<(i64, String)>;

/// The state of a transaction that can still be committed.
pub(super) const ONGOING: &str = "Ongoing";
const NO_OFFSET: i64 = -1;

pub(super) fn find_coordinators(kind: CoordinatorKind, keys: &[&str]) -> Request {
    let request = FindCoordinatorRequest {
        key_type: kind as i8,
        coordinator_keys: keys.to_vec(),
        ..Default::default()
    };
    Request::of(FIND_COORDINATOR, &request)
}

pub(super) fn read_coordinators(answer: &[u8]) -> Result<Coordinators, WireError> {
    let answer = FindCoordinatorResponse::decode(FIND_COORDINATOR, answer)?;
    let found = answer.coordinators.iter().map(|one| {
        let server = match (one.error_code, u16::try_from(one.port)) {
            (ErrorCode::NONE, Ok(port)) => Ok((one.host.to_owned(), port)),
            (ErrorCode::NONE, Err(_)) => Err(ErrorCode::COORDINATOR_NOT_AVAILABLE),
            (error, _) => Err(error),
        };
        (one.key.to_owned(), server)
    });
    Ok(found.collect())
}

pub(super) fn init_producer_id(transactional_id: Option<&str>, timeout_ms: i32) -> Request {
    let request = InitProducerIdRequest {
        transactional_id,
        transaction_timeout_ms: timeout_ms,
        ..Default::default()
    };
    Request::of(INIT_PRODUCER_ID, &request)
}

pub(super) fn read_producer_id(answer: &[u8]) -> Result<(ErrorCode, Identity), WireError> {
    let answer = InitProducerIdResponse::decode(INIT_PRODUCER_ID, answer)?;
    let identity = Identity {
        producer_id: answer.producer_id,
        epoch: answer.producer_epoch,
    };
    Ok((answer.error_code, identity))
}

pub(super) fn add_partitions(transactional_id: &str, identity: &Identity, topics: &[(&str, Vec<i32>)]) -> Request {
    let topics = topics.iter().map(|(name, partitions)| AddPartitionsToTxnTopic {
        name,
        partitions: partitions.clone(),
    });
    let request = AddPartitionsToTxnRequest {
        v3_and_below_transactional_id: transactional_id,
        v3_and_below_producer_id: identity.producer_id,
        v3_and_below_producer_epoch: identity.epoch,
        v3_and_below_topics: topics.collect(),
        ..Default::default()
    };
    Request::of(ADD_PARTITIONS, &request)
}

/// The first error of partitions, and which one has it.
pub(super) fn read_added_partitions(answer: &[u8]) -> Result<(ErrorCode, String), WireError> {
    let answer = AddPartitionsToTxnResponse::decode(ADD_PARTITIONS, answer)?;
    let topics = answer.results_by_topic_v3_and_below.iter();
    Ok(first_error(topics.flat_map(|topic| {
        let partitions = topic.results_by_partition.iter();
        partitions.map(|one| (topic.name, one.partition_index, one.partition_error_code))
    })))
}

/// `OPERATION_NOT_ATTEMPTED` tells only that the request failed as a whole.
fn first_error<'a>(partitions: impl Iterator<Item = (&'a str, i32, ErrorCode)>) -> (ErrorCode, String) {
    let is_cause = |error| error != ErrorCode::NONE && error != ErrorCode::OPERATION_NOT_ATTEMPTED;
    partitions
        .filter(|(_, _, error)| is_cause(*error))
        .map(|(topic, partition, error)| (error, format!("{topic}-{partition}")))
        .next()
        .unwrap_or((ErrorCode::NONE, String::new()))
}

pub(super) fn add_offsets(transactional_id: &str, identity: &Identity, group: &str) -> Request {
    let request = AddOffsetsToTxnRequest {
        transactional_id,
        producer_id: identity.producer_id,
        producer_epoch: identity.epoch,
        group_id: group,
    };
    Request::of(ADD_OFFSETS, &request)
}

pub(super) fn read_added_offsets(answer: &[u8]) -> Result<(ErrorCode, ()), WireError> {
    Ok((AddOffsetsToTxnResponse::decode(ADD_OFFSETS, answer)?.error_code, ()))
}

pub(super) fn end(transactional_id: &str, identity: &Identity, is_commit: bool) -> Request {
    let request = EndTxnRequest {
        transactional_id,
        producer_id: identity.producer_id,
        producer_epoch: identity.epoch,
        committed: is_commit,
    };
    Request::of(END_TXN, &request)
}

pub(super) fn read_ended(answer: &[u8]) -> Result<(ErrorCode, ()), WireError> {
    Ok((EndTxnResponse::decode(END_TXN, answer)?.error_code, ()))
}

/// An offset of one partition, committed in a transaction.
pub(super) struct OffsetToCommit<'a> {
    pub(super) transactional_id: &'a str,
    pub(super) identity: &'a Identity,
    pub(super) group: &'a str,
    pub(super) topic: &'a str,
    pub(super) partition: i32,
    pub(super) offset: i64,
    pub(super) metadata: &'a str,
}

pub(super) fn commit_offset(commit: &OffsetToCommit<'_>) -> Request {
    let partition = TxnOffsetCommitRequestPartition {
        partition_index: commit.partition,
        committed_offset: commit.offset,
        committed_metadata: Some(commit.metadata),
        ..Default::default()
    };
    let request = TxnOffsetCommitRequest {
        transactional_id: commit.transactional_id,
        group_id: commit.group,
        producer_id: commit.identity.producer_id,
        producer_epoch: commit.identity.epoch,
        topics: vec![TxnOffsetCommitRequestTopic {
            name: commit.topic,
            partitions: vec![partition],
        }],
    };
    Request::of(TXN_OFFSET_COMMIT, &request)
}

pub(super) fn read_committed(answer: &[u8]) -> Result<(ErrorCode, ()), WireError> {
    let answer = TxnOffsetCommitResponse::decode(TXN_OFFSET_COMMIT, answer)?;
    let partitions = answer.topics.iter().flat_map(|topic| {
        let partitions = topic.partitions.iter();
        partitions.map(|one| (topic.name, one.partition_index, one.error_code))
    });
    Ok((first_error(partitions).0, ()))
}

pub(super) fn fetch_offset(group: &str, topic: &str, partition: i32) -> Request {
    let request = OffsetFetchRequest {
        group_id: group,
        topics: Some(vec![OffsetFetchRequestTopic {
            name: topic,
            partition_indexes: vec![partition],
        }]),
    };
    Request::of(OFFSET_FETCH, &request)
}

pub(super) fn read_offset(answer: &[u8]) -> Result<(ErrorCode, Committed), WireError> {
    let answer = OffsetFetchResponse::decode(OFFSET_FETCH, answer)?;
    let partition = answer.topics.iter().flat_map(|topic| &topic.partitions).last();
    let Some(partition) = partition.filter(|_| answer.error_code == ErrorCode::NONE) else {
        return Ok((answer.error_code, None));
    };
    let metadata = partition.metadata.unwrap_or_default().to_owned();
    let found = (partition.committed_offset > NO_OFFSET).then_some((partition.committed_offset, metadata));
    Ok((partition.error_code, found))
}

/// The transactional ids with an open transaction.
pub(super) fn list_ongoing() -> Request {
    let request = ListTransactionsRequest {
        state_filters: vec![ONGOING],
        ..Default::default()
    };
    Request::of(LIST_TRANSACTIONS, &request)
}

pub(super) fn read_listed(answer: &[u8]) -> Result<(ErrorCode, Vec<String>), WireError> {
    let answer = ListTransactionsResponse::decode(LIST_TRANSACTIONS, answer)?;
    let ids = answer.transaction_states.iter();
    Ok((
        answer.error_code,
        ids.map(|one| one.transactional_id.to_owned()).collect(),
    ))
}

pub(super) fn describe(transactional_ids: &[&str]) -> Request {
    let request = DescribeTransactionsRequest {
        transactional_ids: transactional_ids.to_vec(),
    };
    Request::of(DESCRIBE_TRANSACTIONS, &request)
}

/// A transaction as its coordinator describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) error: ErrorCode,
    pub(super) transactional_id: String,
    pub(super) state: String,
    pub(super) identity: Identity,
}

pub(super) fn read_described(answer: &[u8]) -> Result<Vec<Described>, WireError> {
    let answer = DescribeTransactionsResponse::decode(DESCRIBE_TRANSACTIONS, answer)?;
    let described = answer.transaction_states.iter().map(|one| Described {
        error: one.error_code,
        transactional_id: one.transactional_id.to_owned(),
        state: one.transaction_state.to_owned(),
        identity: Identity {
            producer_id: one.producer_id,
            epoch: one.producer_epoch,
        },
    });
    Ok(described.collect())
}
