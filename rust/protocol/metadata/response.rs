//! Writes Metadata responses straight from the broker's metadata image, without collecting rows first.
//!
//! ```text
//! response  := (v3+: throttle_time_ms:i32) [node_id:i32 host:string port:i32 (v1+: rack:nullable_string) tags]
//!              (v2+: cluster_id:nullable_string) (v1+: controller_id:i32) [topic]
//!              (v8-10: cluster_authorized_operations:i32) (v13: error:i16) tags
//! topic     := error:i16 name:string (nullable from v12) (v10+: id:uuid) (v1+: is_internal:bool) [partition]
//!              (v8+: topic_authorized_operations:i32) tags
//! partition := error:i16 index:i32 leader_id:i32 (v7+: leader_epoch:i32) replicas:[i32] isr:[i32]
//!              (v5+: offline:[i32]) tags
//! ```
//! Lengths are compact and tags are there from version 9 on.

use base::error::ErrorCode;

use super::super::topic::{NodeEndpoint, TopicId};
use super::super::writer::Writer;
use super::{
    AUTHORIZED_OPERATIONS_FROM, BY_TOPIC_ID_FROM, CLUSTER_ID_FROM, CLUSTER_OPERATIONS_UNTIL, ERROR_FROM, FLEXIBLE_FROM,
    LEADER_EPOCH_FROM, OFFLINE_FROM, THROTTLE_FROM, TOPIC_ID_FROM,
};

/// The value of the authorized operations when the request did not ask for them.
pub const AUTHORIZED_OPERATIONS_OMITTED: i32 = i32::MIN;

/// The fields before the topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataTop<'a> {
    /// The throttle time of quotas.
    pub throttle_time_ms: i32,
    /// Every live broker.
    pub brokers: &'a [NodeEndpoint<'a>],
    /// The cluster.
    pub cluster_id: Option<&'a str>,
    /// The controller, or -1.
    pub controller_id: i32,
}

/// A topic, before its partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataTopic<'a> {
    /// 0 when it exists and may be described.
    pub error: ErrorCode,
    /// `None` (null, empty before version 12) for an unknown id.
    pub name: Option<&'a str>,
    /// Zero for an unknown name.
    pub id: TopicId,
    /// Whether it is an internal topic.
    pub is_internal: bool,
    /// A bit for each operation that the client may do, or [`AUTHORIZED_OPERATIONS_OMITTED`].
    pub authorized_operations: i32,
}

/// A partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataPartition<'a> {
    /// 0 when it has a leader.
    pub error: ErrorCode,
    /// The partition.
    pub index: i32,
    /// -1 for none.
    pub leader_id: i32,
    /// -1 when unknown.
    pub leader_epoch: i32,
    /// Every replica's broker, the preferred leader first.
    pub replicas: &'a [i32],
    /// The in-sync replicas.
    pub isr: &'a [i32],
    /// The replicas whose broker or log directory is offline.
    pub offline: &'a [i32],
}

/// Writes a response. The order of calls is `begin`, for each topic `topic`, `partition` for each of its partitions and
/// `topic_end`; at last `end`. The counts given must be the numbers of calls that follow.
#[derive(Debug)]
pub struct MetadataResponseWriter<'a> {
    w: Writer<'a>,
    version: i16,
}

impl<'a> MetadataResponseWriter<'a> {
    /// Appends everything before the first topic to `out`.
    pub fn begin(out: &'a mut Vec<u8>, version: i16, top: &MetadataTop<'_>, topic_count: usize) -> Self {
        let mut w = Writer::new(out, version >= FLEXIBLE_FROM);
        if version >= THROTTLE_FROM {
            w.i32(top.throttle_time_ms);
        }
        w.length(Some(top.brokers.len()));
        for broker in top.brokers {
            w.i32(broker.node_id);
            w.string(broker.host);
            w.i32(broker.port);
            if version >= 1 {
                w.nullable_string(broker.rack);
            }
            w.no_tags();
        }
        if version >= CLUSTER_ID_FROM {
            w.nullable_string(top.cluster_id);
        }
        if version >= 1 {
            w.i32(top.controller_id);
        }
        w.length(Some(topic_count));
        Self { w, version }
    }

    /// Begins a topic, up to its partitions.
    pub fn topic(&mut self, topic: &MetadataTopic<'_>, partition_count: usize) {
        let w = &mut self.w;
        w.i16(topic.error.0);
        if self.version >= BY_TOPIC_ID_FROM {
            w.nullable_string(topic.name);
        } else {
            w.string(topic.name.unwrap_or_default());
        }
        if self.version >= TOPIC_ID_FROM {
            w.raw(&topic.id);
        }
        if self.version >= 1 {
            w.boolean(topic.is_internal);
        }
        w.length(Some(partition_count));
    }

    /// A partition.
    pub fn partition(&mut self, partition: &MetadataPartition<'_>) {
        let w = &mut self.w;
        w.i16(partition.error.0);
        w.i32(partition.index);
        w.i32(partition.leader_id);
        if self.version >= LEADER_EPOCH_FROM {
            w.i32(partition.leader_epoch);
        }
        w.i32_array(partition.replicas);
        w.i32_array(partition.isr);
        if self.version >= OFFLINE_FROM {
            w.i32_array(partition.offline);
        }
        w.no_tags();
    }

    /// Ends a topic, after its last partition; `topic` as given to [`Self::topic`].
    pub fn topic_end(&mut self, topic: &MetadataTopic<'_>) {
        if self.version >= AUTHORIZED_OPERATIONS_FROM {
            self.w.i32(topic.authorized_operations);
        }
        self.w.no_tags();
    }

    /// Ends the response, after the last topic.
    pub fn end(mut self, cluster_authorized_operations: i32, error: ErrorCode) {
        if (AUTHORIZED_OPERATIONS_FROM..=CLUSTER_OPERATIONS_UNTIL).contains(&self.version) {
            self.w.i32(cluster_authorized_operations);
        }
        if self.version >= ERROR_FROM {
            self.w.i16(error.0);
        }
        self.w.no_tags();
    }
}
