//! The questions of a planner on one connection, and what a refusal of each one means.
//!
//! These versions are served by every broker since Kafka 2.1 and need no tagged fields:
//!
//! ```text
//! Metadata v7             := topics [string]?, allow_auto_topic_creation bool
//! ListOffsets v2          := replica i32, isolation i8, topics [name string,
//!                                partitions [partition i32, timestamp i64]]
//! DescribeLogDirs v1      := topics [name string, partitions [i32]]?
//! OffsetForLeaderEpoch v2 := topics [name string, partitions [partition i32, current_epoch i32, epoch i32]]
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use super::answers::{self, Answer, Unusable};
use super::{Cluster, PlanError, Refusal, Topology};
use base::place::LeaderEpoch;
use client::{Connection, Security, Server, push_array, push_string};

pub(super) const CLIENT_ID: &str = "kafkastore-scan";
const LIST_OFFSETS: (i16, i16) = (2, 2);
const METADATA: (i16, i16) = (3, 7);
const OFFSET_FOR_LEADER_EPOCH: (i16, i16) = (23, 2);
const DESCRIBE_LOG_DIRS: (i16, i16) = (35, 1);
pub(super) const LATEST: i64 = -1;
pub(super) const EARLIEST: i64 = -2;
pub(super) const READ_UNCOMMITTED: u8 = 0;
pub(super) const READ_COMMITTED: u8 = 1;
const ALL_TOPICS: i32 = -1;
const NO_REPLICA: i32 = -1;

/// A broker that is being asked.
pub(super) struct Asked(pub(super) Connection);

impl Asked {
    pub(super) fn open(server: &Server, security: &Security, timeout: Duration) -> Result<Self, Refusal> {
        Ok(Self(Connection::open(server, CLIENT_ID, security, timeout)?))
    }

    /// The brokers, and the places of the topic's partitions.
    pub(super) fn metadata(&mut self, topic: &str) -> Result<Topology, Refusal> {
        let mut body = Vec::new();
        push_array(&mut body, 1);
        push_topic(&mut body, topic)?;
        body.push(0);
        self.ask(METADATA, &body, |answer| answers::read_metadata(answer, topic))
    }

    pub(super) fn cluster(&mut self) -> Result<Cluster, Refusal> {
        let mut body = Vec::new();
        push_array(&mut body, 0);
        body.push(0);
        self.ask(METADATA, &body, answers::read_cluster)
    }

    pub(super) fn topics(&mut self) -> Result<Vec<String>, Refusal> {
        let mut body = ALL_TOPICS.to_be_bytes().to_vec();
        body.push(0);
        self.ask(METADATA, &body, answers::read_topics)
    }

    /// The offset that `ListOffsets` gives for the timestamp of each partition; -1 for none.
    pub(super) fn list_offsets(
        &mut self,
        topic: &str,
        times: &BTreeMap<i32, i64>,
        isolation: u8,
    ) -> Result<BTreeMap<i32, i64>, Refusal> {
        let mut body = NO_REPLICA.to_be_bytes().to_vec();
        body.push(isolation);
        push_array(&mut body, 1);
        push_topic(&mut body, topic)?;
        push_array(&mut body, times.len());
        for (partition, timestamp) in times {
            body.extend(partition.to_be_bytes());
            body.extend(timestamp.to_be_bytes());
        }
        let found = self.ask(LIST_OFFSETS, &body, |answer| answers::read_offsets(answer, topic))?;
        if times.keys().all(|partition| found.contains_key(partition)) {
            return Ok(found);
        }
        Err(self.0.malformed().into())
    }

    pub(super) fn sizes(&mut self, topic: &str, partitions: &[i32]) -> Result<BTreeMap<i32, u64>, Refusal> {
        let mut body = Vec::new();
        push_array(&mut body, 1);
        push_topic(&mut body, topic)?;
        push_array(&mut body, partitions.len());
        body.extend(partitions.iter().flat_map(|partition| partition.to_be_bytes()));
        self.ask(DESCRIBE_LOG_DIRS, &body, |answer| answers::read_sizes(answer, topic))
    }

    /// The end of an epoch in this leader's log, -1 when it is not known.
    pub(super) fn epoch_end(&mut self, topic: &str, partition: i32, epoch: LeaderEpoch) -> Result<i64, Refusal> {
        let mut body = Vec::new();
        push_array(&mut body, 1);
        push_topic(&mut body, topic)?;
        push_array(&mut body, 1);
        for number in [partition, LeaderEpoch::NONE.get(), epoch.get()] {
            body.extend(number.to_be_bytes());
        }
        self.ask(OFFSET_FOR_LEADER_EPOCH, &body, |answer| {
            answers::read_epoch_end(answer, topic)
        })
    }

    fn ask<T>(
        &mut self,
        (api_key, api_version): (i16, i16),
        body: &[u8],
        read: impl FnOnce(&[u8]) -> Answer<T>,
    ) -> Result<T, Refusal> {
        let answer = self.0.ask(api_key, api_version, body)?;
        read(&answer).map_err(|error| match error {
            Unusable::Malformed => self.0.malformed().into(),
            Unusable::Refused(refusal) => refusal,
        })
    }
}

fn push_topic(body: &mut Vec<u8>, topic: &str) -> Result<(), Refusal> {
    if push_string(body, topic) {
        return Ok(());
    }
    let start: String = topic.chars().take(40).collect();
    Err(Refusal::Final(PlanError::Invalid(format!(
        "topic {start}... is too long: a topic has at most 249 characters"
    ))))
}
