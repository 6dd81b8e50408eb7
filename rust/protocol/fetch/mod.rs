//! Fetch, versions 0 to 18: by topic name up to 12, by topic id from 13 on. `request` decodes, `response` writes the
//! head of each partition and leaves the record bytes to the caller. `follower` encodes requests and decodes responses,
//! for replication.

pub mod follower;
mod request;
mod response;

pub use request::{FetchPartition, FetchRequest};
pub use response::{AbortedTransaction, FetchPartitionHead, FetchResponseWriter};

/// The first version served.
pub const MIN_VERSION: i16 = 0;
/// The last version.
pub const MAX_VERSION: i16 = 18;
/// From this version on records are batches of magic 2; before, they are message sets: see [`message_set_magic`].
pub const BATCHES_FROM: i16 = 4;
/// The first version whose message sets have timestamps.
const MAGIC_1_FROM: i16 = 2;
/// The high watermark field when the follower does not send its high watermark.
pub const ABSENT_WATERMARK: i64 = i64::MAX;

const THROTTLE_FROM: i16 = 1;
/// From this version on the request bounds the whole response, and each partition's answer has one batch at least.
pub const MAX_BYTES_FROM: i16 = 3;
const ISOLATION_FROM: i16 = 4;
const LOG_START_FROM: i16 = 5;
const SESSION_FROM: i16 = 7;
const LEADER_EPOCH_FROM: i16 = 9;
const RACK_FROM: i16 = 11;
const FLEXIBLE_FROM: i16 = 12;
const TOPIC_ID_FROM: i16 = 13;
const REPLICA_STATE_FROM: i16 = 15;
const NODE_ENDPOINTS_FROM: i16 = 16;
const DIRECTORY_ID_FROM: i16 = 17;
const HIGH_WATERMARK_FROM: i16 = 18;

/// The magic of the message sets in a response of this version; `None` for record batches.
pub fn message_set_magic(version: i16) -> Option<i8> {
    match version {
        BATCHES_FROM.. => None,
        MAGIC_1_FROM.. => Some(1),
        _ => Some(0),
    }
}

#[cfg(test)]
mod tests;
