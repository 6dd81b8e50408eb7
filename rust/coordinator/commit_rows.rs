//! The rows of a commit (`OffsetCommit`, `TxnOffsetCommit`): their errors that do not depend on the group, and their
//! records as one batch. It never appends.

use std::sync::Arc;

use super::groups::GroupSettings;
use super::offsets::CommittedOffset;
use super::records::{NO_TIMESTAMP, OffsetValue, write_offset_key, write_offset_value};
use super::shard::Commit;
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use broker::{Authorization, Image, Operation, Partition, ResourceType, TopicRow};
use protocol::offset_commit::{DEFAULT_RETENTION, TIME_OF_ARRIVAL};
use protocol::topic::text;
use protocol::{CommitPartition, CommitTopic, TopicKey};
use record::{BatchBuilder, Codec};

/// See the module.
#[derive(Clone, Copy)]
pub struct CommitRows<'a> {
    /// The configuration of groups.
    pub settings: GroupSettings,
    /// The request's body, in which the ranges of the rows lie.
    pub body: &'a [u8],
    /// The group.
    pub group_id: &'a str,
    /// The topics, in order.
    pub topics: &'a [CommitTopic],
    /// The rows of all topics, in order.
    pub partitions: &'a [CommitPartition],
    /// How long the offsets are kept, or [`DEFAULT_RETENTION`].
    pub retention_time_ms: i64,
    /// Wall clock, ms.
    pub now_ms: i64,
}

/// Whether a row with this error of [`CommitRows::known_errors`] names a partition of the cluster, so that an error of
/// the group applies to the row, too.
pub fn is_known(error: ErrorCode) -> bool {
    error == ErrorCode::NONE || error == ErrorCode::OFFSET_METADATA_TOO_LARGE
}

impl CommitRows<'_> {
    /// The topics that the cluster has.
    pub fn topics_of<'i>(&self, image: &'i Image) -> Vec<Option<&'i Arc<TopicRow>>> {
        let row = |topic: &CommitTopic| match &topic.topic {
            TopicKey::Name(_) => topic.topic.name(self.body).and_then(|name| image.topic(name)),
            TopicKey::Id(id) => image.topic_by_id(id),
        };
        self.topics.iter().map(row).collect()
    }

    /// Whether the client may commit for the group; else this is the error of the whole request.
    pub fn authorize(&self, authorization: &Authorization<'_>) -> Result<(), ErrorCode> {
        if authorization.allows(Operation::Read, ResourceType::Group, self.group_id) {
            return Ok(());
        }
        Err(ErrorCode::GROUP_AUTHORIZATION_FAILED)
    }

    /// The error of each row that does not depend on the group; `NONE` for rows to write. The client needs Read on the
    /// topic; without it the error does not tell whether the topic exists. While the broker starts, a topic that the
    /// image lacks may exist: clients ask again after that error, and take `UNKNOWN_TOPIC_OR_PARTITION` for final.
    pub fn known_errors(
        &self,
        image: &Image,
        topics: &[Option<&Arc<TopicRow>>],
        authorization: &Authorization<'_>,
    ) -> Vec<ErrorCode> {
        let names = self.topics.iter().zip(topics).map(|(topic, row)| match topic.topic {
            TopicKey::Name(_) => topic.topic.name(self.body),
            TopicKey::Id(_) => row.map(|row| &*row.name),
        });
        let allowed = authorization.each(Operation::Read, ResourceType::Topic, names);
        let limit = self.settings.offset_metadata_max_bytes;
        let mut errors = Vec::with_capacity(self.partitions.len());
        for (at, (topic, row)) in self.topics.iter().zip(topics).enumerate() {
            let is_refused = allowed.as_ref().is_some_and(|allowed| allowed.get(at) == Some(&false));
            let unknown = match topic.topic {
                _ if !image.is_whole() => ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
                TopicKey::Id(_) if row.is_none() => ErrorCode::UNKNOWN_TOPIC_ID,
                _ => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            };
            for partition in self.partitions.get(topic.rows.clone()).unwrap_or_default() {
                errors.push(if is_refused {
                    ErrorCode::TOPIC_AUTHORIZATION_FAILED
                } else if !row.is_some_and(|row| row.has(partition.index)) {
                    unknown
                } else if is_longer(self.metadata(partition), limit) {
                    ErrorCode::OFFSET_METADATA_TOO_LARGE
                } else {
                    ErrorCode::NONE
                });
            }
        }
        errors
    }

    fn metadata(&self, partition: &CommitPartition) -> &str {
        let range = partition.metadata.as_ref();
        range.and_then(|range| text(self.body, range)).unwrap_or_default()
    }

    /// The records of the rows without an error as one batch, `None` when there are none or the batch is larger than
    /// the partition takes; and the rows, without their record offsets.
    pub fn write(
        &self,
        topics: &[Option<&Arc<TopicRow>>],
        errors: &[ErrorCode],
        partition: &Partition,
        mut builder: BatchBuilder,
    ) -> (Option<Vec<u8>>, Commit) {
        let limit = partition.log().config().max_message_bytes as usize;
        let expire_ms = match self.retention_time_ms {
            DEFAULT_RETENTION => NO_TIMESTAMP,
            retention_ms => self.now_ms.saturating_add(retention_ms),
        };
        let (mut key, mut value, mut rows) = (Vec::new(), Vec::new(), Commit::new());
        let mut is_too_large = false;
        for (topic, row) in self.topics.iter().zip(topics) {
            let Some(row) = row else { continue };
            let partitions = self.partitions.get(topic.rows.clone()).unwrap_or_default();
            let errors = errors.get(topic.rows.clone()).unwrap_or_default();
            for (partition, error) in partitions.iter().zip(errors) {
                if *error != ErrorCode::NONE || is_too_large {
                    continue;
                }
                let committed = OffsetValue {
                    offset: partition.offset,
                    leader_epoch: partition.leader_epoch,
                    metadata: self.metadata(partition),
                    commit_ms: match partition.commit_timestamp {
                        TIME_OF_ARRIVAL => self.now_ms,
                        commit_ms => commit_ms,
                    },
                    expire_ms,
                    // a record with an expiry time has no field for the topic id
                    topic_id: Some(row.id).filter(|_| expire_ms == NO_TIMESTAMP),
                };
                key.clear();
                value.clear();
                write_offset_key(&mut key, self.group_id, &row.name, partition.index);
                write_offset_value(&mut value, &committed);
                builder.append(self.now_ms, Some(&key), Some(&value), &[]);
                is_too_large = builder.size_bytes() > limit && self.settings.codec == Codec::None;
                rows.push((
                    Arc::clone(&row.name),
                    partition.index,
                    CommittedOffset::new(&committed, Offset::NONE),
                ));
            }
        }
        if rows.is_empty() || is_too_large {
            return (None, rows);
        }
        (Some(builder.build(Offset(0), LeaderEpoch::NONE)), rows)
    }
}

/// Kafka counts UTF-16 code units, although the name of the configuration says bytes.
fn is_longer(metadata: &str, limit: usize) -> bool {
    metadata.len() > limit && metadata.encode_utf16().count() > limit
}
