//! The questions of a planner on one connection, and what a refusal of each one means.
//!
//! These versions are served by every broker since Kafka 2.1.

use std::collections::BTreeMap;
use std::time::Duration;

use super::answers::{self, Answer, Unusable};
use super::{Cluster, PlanError, Refusal, Topology};
use base::place::LeaderEpoch;
use client::{Connection, Request, Security, Server};
use protocol::messages::Message;
use protocol::messages::describe_log_dirs::{DescribableLogDirTopic, DescribeLogDirsRequest};
use protocol::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use protocol::messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic,
};

pub(super) const CLIENT_ID: &str = "kafkastore-scan";
pub(super) const LIST_OFFSETS: i16 = 2;
pub(super) const METADATA: i16 = 7;
pub(super) const OFFSET_FOR_LEADER_EPOCH: i16 = 2;
pub(super) const DESCRIBE_LOG_DIRS: i16 = 1;
pub(super) const LATEST: i64 = -1;
pub(super) const EARLIEST: i64 = -2;
pub(super) const READ_UNCOMMITTED: i8 = 0;
pub(super) const READ_COMMITTED: i8 = 1;
const NO_REPLICA: i32 = -1;

/// A broker that is being asked.
pub(super) struct Asked(pub(super) Connection);

impl Asked {
    pub(super) fn open(server: &Server, security: &Security, timeout: Duration) -> Result<Self, Refusal> {
        Ok(Self(Connection::open(server, CLIENT_ID, security, timeout)?))
    }

    /// The brokers, and the places of the topic's partitions.
    pub(super) fn metadata(&mut self, topic: &str) -> Result<Topology, Refusal> {
        check_length(topic)?;
        self.ask_metadata(Some(vec![MetadataRequestTopic { name: topic }]), |answer| {
            answers::read_metadata(answer, topic)
        })
    }

    pub(super) fn cluster(&mut self) -> Result<Cluster, Refusal> {
        self.ask_metadata(Some(Vec::new()), answers::read_cluster)
    }

    pub(super) fn topics(&mut self) -> Result<Vec<String>, Refusal> {
        self.ask_metadata(None, answers::read_topics)
    }

    /// About all topics for `None`. No topic is created.
    fn ask_metadata<T>(
        &mut self,
        topics: Option<Vec<MetadataRequestTopic<'_>>>,
        read: impl FnOnce(&[u8]) -> Answer<T>,
    ) -> Result<T, Refusal> {
        let request = MetadataRequest {
            topics,
            allow_auto_topic_creation: false,
        };
        self.ask(METADATA, &request, read)
    }

    /// The offset that `ListOffsets` gives for the timestamp of each partition; -1 for none.
    pub(super) fn list_offsets(
        &mut self,
        topic: &str,
        times: &BTreeMap<i32, i64>,
        isolation_level: i8,
    ) -> Result<BTreeMap<i32, i64>, Refusal> {
        let partitions = times.iter().map(|(partition, timestamp)| ListOffsetsPartition {
            partition_index: *partition,
            timestamp: *timestamp,
        });
        let request = ListOffsetsRequest {
            replica_id: NO_REPLICA,
            isolation_level,
            topics: vec![ListOffsetsTopic {
                name: topic,
                partitions: partitions.collect(),
            }],
        };
        let found = self.ask(LIST_OFFSETS, &request, |answer| answers::read_offsets(answer, topic))?;
        if times.keys().all(|partition| found.contains_key(partition)) {
            return Ok(found);
        }
        Err(self.0.malformed().into())
    }

    pub(super) fn sizes(&mut self, topic: &str, partitions: &[i32]) -> Result<BTreeMap<i32, u64>, Refusal> {
        let request = DescribeLogDirsRequest {
            topics: Some(vec![DescribableLogDirTopic {
                topic,
                partitions: partitions.to_vec(),
            }]),
        };
        self.ask(DESCRIBE_LOG_DIRS, &request, |answer| answers::read_sizes(answer, topic))
    }

    /// The end of an epoch in this leader's log, -1 when it is not known.
    pub(super) fn epoch_end(&mut self, topic: &str, partition: i32, epoch: LeaderEpoch) -> Result<i64, Refusal> {
        let request = OffsetForLeaderEpochRequest {
            topics: vec![OffsetForLeaderTopic {
                topic,
                partitions: vec![OffsetForLeaderPartition {
                    partition,
                    current_leader_epoch: LeaderEpoch::NONE.get(),
                    leader_epoch: epoch.get(),
                }],
            }],
        };
        self.ask(OFFSET_FOR_LEADER_EPOCH, &request, |answer| {
            answers::read_epoch_end(answer, topic)
        })
    }

    fn ask<'a, T, M: Message<'a>>(
        &mut self,
        version: i16,
        message: &M,
        read: impl FnOnce(&[u8]) -> Answer<T>,
    ) -> Result<T, Refusal> {
        let answer = self.0.ask(&Request::of(version, message))?;
        read(&answer).map_err(|error| match error {
            Unusable::Malformed => self.0.malformed().into(),
            Unusable::Refused(refusal) => refusal,
        })
    }
}

/// A longer name cannot be written.
fn check_length(topic: &str) -> Result<(), Refusal> {
    if i16::try_from(topic.len()).is_ok() {
        return Ok(());
    }
    let start: String = topic.chars().take(40).collect();
    Err(Refusal::Final(PlanError::Invalid(format!(
        "topic {start}... is too long: a topic has at most 249 characters"
    ))))
}
