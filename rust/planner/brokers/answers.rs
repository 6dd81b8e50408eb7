//! The answers of a broker, and what an error code means to a planner.

use std::collections::BTreeMap;

use super::questions::{DESCRIBE_LOG_DIRS, LIST_OFFSETS, METADATA, OFFSET_FOR_LEADER_EPOCH};
use super::{Away, Cluster, Placement, PlanError, Refusal, Topology};
use base::error::ErrorCode;
use client::Server;
use protocol::WireError;
use protocol::messages::Message;
use protocol::messages::describe_log_dirs::DescribeLogDirsResponse;
use protocol::messages::list_offsets::ListOffsetsResponse;
use protocol::messages::metadata::{MetadataResponse, MetadataResponsePartition};
use protocol::messages::offset_for_leader_epoch::OffsetForLeaderEpochResponse;

/// Why an answer cannot be used.
#[derive(Debug)]
pub(super) enum Unusable {
    /// It does not follow the protocol.
    Malformed,
    /// It says that the broker refuses.
    Refused(Refusal),
}

impl From<WireError> for Unusable {
    fn from(_: WireError) -> Self {
        Self::Malformed
    }
}

pub(super) type Answer<T> = Result<T, Unusable>;

pub(super) fn read_metadata(answer: &[u8], topic: &str) -> Answer<Topology> {
    let answer = MetadataResponse::decode(METADATA, answer)?;
    let [told] = &answer.topics[..] else {
        return Err(Unusable::Malformed);
    };
    refuse(told.error_code, if told.name.is_empty() { topic } else { told.name })?;
    Ok(Topology {
        brokers: brokers(&answer)?,
        partitions: told.partitions.iter().map(placement).collect(),
    })
}

fn brokers(answer: &MetadataResponse<'_>) -> Answer<BTreeMap<i32, Server>> {
    let brokers = answer.brokers.iter().map(|broker| {
        let port = u16::try_from(broker.port).map_err(|_| Unusable::Malformed)?;
        Ok((broker.node_id, (broker.host.to_owned(), port)))
    });
    brokers.collect()
}

pub(super) fn read_cluster(answer: &[u8]) -> Answer<Cluster> {
    let answer = MetadataResponse::decode(METADATA, answer)?;
    Ok(Cluster {
        id: answer.cluster_id.unwrap_or_default().to_owned(),
        nodes: brokers(&answer)?.into_keys().collect(),
    })
}

/// A partition that has an error has the leader -1, too.
fn placement(partition: &MetadataResponsePartition) -> (i32, Placement) {
    let placement = Placement {
        leader: partition.leader_id,
        leader_epoch: partition.leader_epoch,
        replicas: partition.replica_nodes.clone(),
        in_sync: partition.isr_nodes.clone(),
    };
    (partition.partition_index, placement)
}

pub(super) fn read_topics(answer: &[u8]) -> Answer<Vec<String>> {
    let answer = MetadataResponse::decode(METADATA, answer)?;
    let topics = answer.topics.iter();
    let listed = topics.filter(|topic| topic.error_code == ErrorCode::NONE && !topic.is_internal);
    Ok(listed.map(|topic| topic.name.to_owned()).collect())
}

pub(super) fn read_offsets(answer: &[u8], topic: &str) -> Answer<BTreeMap<i32, i64>> {
    let answer = ListOffsetsResponse::decode(LIST_OFFSETS, answer)?;
    let partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
    let offsets = partitions.map(|one| {
        refuse(one.error_code, &format!("{topic}-{}", one.partition_index))?;
        Ok((one.partition_index, one.offset))
    });
    offsets.collect()
}

/// A replica that is being moved to another disk counts where it is served from. A disk that fails is left out.
pub(super) fn read_sizes(answer: &[u8], topic: &str) -> Answer<BTreeMap<i32, u64>> {
    let answer = DescribeLogDirsResponse::decode(DESCRIBE_LOG_DIRS, answer)?;
    let topics = answer.results.iter().flat_map(|dir| &dir.topics);
    let partitions = topics.filter(|one| one.name == topic).flat_map(|one| &one.partitions);
    let sizes = partitions.filter(|one| !one.is_future_key).map(|one| {
        let size = u64::try_from(one.partition_size).unwrap_or_default();
        (one.partition_index, size)
    });
    Ok(sizes.collect())
}

pub(super) fn read_epoch_end(answer: &[u8], topic: &str) -> Answer<i64> {
    let answer = OffsetForLeaderEpochResponse::decode(OFFSET_FOR_LEADER_EPOCH, answer)?;
    let mut partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
    let (Some(one), None) = (partitions.next(), partitions.next()) else {
        return Err(Unusable::Malformed);
    };
    refuse(one.error_code, &format!("{topic}-{}", one.partition))?;
    Ok(one.end_offset)
}

fn refuse(error: ErrorCode, what: &str) -> Answer<()> {
    let refusal = match error {
        ErrorCode::NONE => return Ok(()),
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::INVALID_TOPIC_EXCEPTION => {
            Refusal::Final(PlanError::NotFound(format!(
                "topic {what} is not known to the broker; check the topic and bootstrap_servers"
            )))
        }
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => Refusal::Final(PlanError::Forbidden(format!(
            "topic {what}: the broker's ACLs do not let this client describe it; allow READ on the topic"
        ))),
        // the broker is asked again until the time is up
        error if error.is_retriable() => Refusal::Passing(format!("partition {what} has no leader")),
        error => Refusal::Server(Away::refused(format!(
            "the broker answered error {} for {what}",
            error.0
        ))),
    };
    Err(Unusable::Refused(refusal))
}
