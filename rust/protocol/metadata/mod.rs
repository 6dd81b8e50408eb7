//! Metadata, versions 0 to 13. `request` decodes requests, `response` writes brokers, topics and partitions.

mod request;
mod response;

pub use request::{MetadataRequest, MetadataTopicRequest, encode_creation};
pub use response::{
    AUTHORIZED_OPERATIONS_OMITTED, MetadataPartition, MetadataResponseWriter, MetadataTop, MetadataTopic,
};

/// The last version.
pub const MAX_VERSION: i16 = 13;

const NULL_TOPICS_FROM: i16 = 1;
const CLUSTER_ID_FROM: i16 = 2;
const THROTTLE_FROM: i16 = 3;
const AUTO_CREATION_FROM: i16 = 4;
const OFFLINE_FROM: i16 = 5;
const LEADER_EPOCH_FROM: i16 = 7;
const AUTHORIZED_OPERATIONS_FROM: i16 = 8;
const CLUSTER_OPERATIONS_UNTIL: i16 = 10;
const FLEXIBLE_FROM: i16 = 9;
const TOPIC_ID_FROM: i16 = 10;
const BY_TOPIC_ID_FROM: i16 = 12;
const ERROR_FROM: i16 = 13;

#[cfg(test)]
mod tests;
