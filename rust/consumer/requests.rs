//! The requests of a consumer and their answers, in versions that every broker since Kafka 2.1 serves; Fetch with a
//! rack is served since 2.3.

use std::collections::BTreeMap;
use std::ops::Range;

use super::options::ConsumerOptions;
use super::partition::Assigned;
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use client::{Request, Server};
use protocol::WireError;
use protocol::messages::Message;
use protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData};
use protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use protocol::messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use record::AbortedFrom;

const METADATA: i16 = 7;
const LIST_OFFSETS: i16 = 2;
const OFFSET_FOR_LEADER_EPOCH: i16 = 2;
const FETCH: i16 = 10;
const FETCH_WITH_RACK: i16 = 11;
const NO_REPLICA: i32 = -1;

/// Partitions with the topic that they are of, next to each other.
fn by_topic<'a>(partitions: &'a [&'a Assigned]) -> impl Iterator<Item = (&'a str, &'a [&'a Assigned])> {
    let topics = partitions.chunk_by(|one, other| one.topic == other.topic);
    topics.filter_map(|of_topic| Some((&*of_topic.first()?.topic, of_topic)))
}

/// What Metadata tells.
#[derive(Debug)]
pub(super) struct Topology {
    pub(super) brokers: BTreeMap<i32, Server>,
    pub(super) topics: Vec<TopicPlaces>,
}

/// A topic: its error, and the leader of each partition with its epoch, -1 for none.
#[derive(Debug)]
pub(super) struct TopicPlaces {
    pub(super) name: String,
    pub(super) error: ErrorCode,
    pub(super) leaders: BTreeMap<i32, (i32, LeaderEpoch)>,
}

pub(super) fn metadata<'a>(topics: impl Iterator<Item = &'a str>, may_create: bool) -> Request {
    let request = MetadataRequest {
        topics: Some(topics.map(|name| MetadataRequestTopic { name }).collect()),
        allow_auto_topic_creation: may_create,
    };
    Request::of(METADATA, &request)
}

pub(super) fn read_metadata(body: &[u8]) -> Result<Topology, WireError> {
    let answer = MetadataResponse::decode(METADATA, body)?;
    let brokers = answer.brokers.iter();
    let server = |port: i32, host: &str| Some((host.to_owned(), u16::try_from(port).ok()?));
    let topics = answer.topics.iter().map(|topic| TopicPlaces {
        name: topic.name.to_owned(),
        error: topic.error_code,
        leaders: topic
            .partitions
            .iter()
            .map(|one| (one.partition_index, (one.leader_id, LeaderEpoch(one.leader_epoch))))
            .collect(),
    });
    Ok(Topology {
        brokers: brokers
            .filter_map(|broker| Some((broker.node_id, server(broker.port, broker.host)?)))
            .collect(),
        topics: topics.collect(),
    })
}

/// A number of a partition, or its error.
#[derive(Debug)]
pub(super) struct OffsetAnswer {
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) error: ErrorCode,
    pub(super) offset: i64,
}

/// Asks for the offset that each partition's position stands for.
pub(super) fn list_offsets(partitions: &[&Assigned], is_committed: bool) -> Request {
    let topics = by_topic(partitions).map(|(name, of_topic)| ListOffsetsTopic {
        name,
        partitions: of_topic
            .iter()
            .map(|one| ListOffsetsPartition {
                partition_index: one.partition,
                timestamp: one.position.get(),
            })
            .collect(),
    });
    let request = ListOffsetsRequest {
        replica_id: NO_REPLICA,
        isolation_level: i8::from(is_committed),
        topics: topics.collect(),
    };
    Request::of(LIST_OFFSETS, &request)
}

pub(super) fn read_offsets(body: &[u8]) -> Result<Vec<OffsetAnswer>, WireError> {
    let answer = ListOffsetsResponse::decode(LIST_OFFSETS, body)?;
    let partitions = answer.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|one| OffsetAnswer {
            topic: topic.name.to_owned(),
            partition: one.partition_index,
            error: one.error_code,
            offset: one.offset,
        })
    });
    Ok(partitions.collect())
}

/// Asks where the epoch of the last record that was handed over ends in the leader's log.
pub(super) fn epoch_ends(partitions: &[&Assigned]) -> Request {
    let topics = by_topic(partitions).map(|(topic, of_topic)| OffsetForLeaderTopic {
        topic,
        partitions: of_topic
            .iter()
            .map(|one| OffsetForLeaderPartition {
                partition: one.partition,
                current_leader_epoch: one.leader.map_or(LeaderEpoch::NONE, |leader| leader.epoch).get(),
                leader_epoch: one.last_epoch.get(),
            })
            .collect(),
    });
    let request = OffsetForLeaderEpochRequest {
        topics: topics.collect(),
    };
    Request::of(OFFSET_FOR_LEADER_EPOCH, &request)
}

pub(super) fn read_epoch_ends(body: &[u8]) -> Result<Vec<OffsetAnswer>, WireError> {
    let answer = OffsetForLeaderEpochResponse::decode(OFFSET_FOR_LEADER_EPOCH, body)?;
    let partitions = answer.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|one| OffsetAnswer {
            topic: topic.topic.to_owned(),
            partition: one.partition,
            error: one.error_code,
            offset: one.end_offset,
        })
    });
    Ok(partitions.collect())
}

/// What a Fetch brought for a partition.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) error: ErrorCode,
    pub(super) high_watermark: i64,
    pub(super) last_stable_offset: i64,
    pub(super) preferred: Option<i32>,
    pub(super) aborted: Vec<AbortedFrom>,
    /// Where its records are in the answer.
    pub(super) records: Range<usize>,
}

fn fetch_version(rack: &str) -> i16 {
    if rack.is_empty() { FETCH } else { FETCH_WITH_RACK }
}

/// Of a consumer without a session.
pub(super) fn fetch(partitions: &[&Assigned], options: &ConsumerOptions) -> Request {
    let topics = by_topic(partitions).map(|(topic, of_topic)| FetchTopic {
        topic,
        partitions: of_topic
            .iter()
            .map(|one| FetchPartition {
                partition: one.partition,
                current_leader_epoch: one.leader.map_or(LeaderEpoch::NONE, |leader| leader.epoch).get(),
                fetch_offset: one.fetched_to.get(),
                partition_max_bytes: options.max_partition_bytes,
                ..Default::default()
            })
            .collect(),
    });
    let request = FetchRequest {
        max_wait_ms: options.max_wait_ms,
        min_bytes: options.min_bytes,
        max_bytes: options.max_bytes,
        isolation_level: i8::from(options.is_committed),
        topics: topics.collect(),
        rack_id: &options.client_rack,
        ..Default::default()
    };
    Request::of(fetch_version(&options.client_rack), &request)
}

/// The error of the whole answer, and what it has of each partition; `answer` is the bytes that `body` is a part of.
pub(super) fn read_fetched(answer: &[u8], body: &[u8], rack: &str) -> Result<(ErrorCode, Vec<Fetched>), WireError> {
    let body = FetchResponse::decode(fetch_version(rack), body)?;
    let topics = body.responses.iter();
    let partitions = topics.flat_map(|topic| topic.partitions.iter().map(|one| fetched(answer, topic.topic, one)));
    Ok((body.error_code, partitions.collect()))
}

fn fetched(answer: &[u8], topic: &str, one: &PartitionData<'_>) -> Fetched {
    let records = one.records.unwrap_or_default();
    let start = if records.is_empty() {
        0
    } else {
        records.as_ptr().addr() - answer.as_ptr().addr()
    };
    let aborted = one.aborted_transactions.iter().flatten().map(|one| AbortedFrom {
        producer_id: one.producer_id,
        first_offset: Offset(one.first_offset),
    });
    Fetched {
        topic: topic.to_owned(),
        partition: one.partition_index,
        error: one.error_code,
        high_watermark: one.high_watermark,
        last_stable_offset: one.last_stable_offset,
        preferred: (one.preferred_read_replica >= 0).then_some(one.preferred_read_replica),
        aborted: aborted.collect(),
        records: start..start + records.len(),
    }
}
