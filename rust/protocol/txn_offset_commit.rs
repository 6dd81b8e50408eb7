//! `TxnOffsetCommit`, versions 0 to 5: a group's offsets as part of a transaction.
//!
//! ```text
//! request   := transactional_id:string group_id:string producer_id:i64 producer_epoch:i16
//!              (v3+: generation_id:i32 member_id:string group_instance_id:nullable) [topic] tags
//! topic     := name:string [partition] tags
//! partition := index:i32 offset:i64 (v2+: leader_epoch:i32) metadata:nullable tags
//! response  := throttle_time_ms:i32 [committed] tags
//! committed := name:string [index:i32 error:i16 tags] tags
//! ```
//! Lengths are compact and tags are there from version 3 on. Topics and partitions are those of
//! [`offset_commit`](super::offset_commit).

use std::ops::Range;

use base::error::ErrorCode;

use super::error::WireError;
use super::offset_commit::{self, CommitPartition, CommitTopic, encode_committed};
use super::reader::Reader;
use super::writer::Writer;

/// The last version; the first is 0.
pub const MAX_VERSION: i16 = 5;
const LEADER_EPOCH_FROM: i16 = 2;
const FLEXIBLE_FROM: i16 = 3;
/// From this version on the request has the consumer's generation, member id and instance id.
pub const MEMBER_FROM: i16 = 3;
const NO_GENERATION: i32 = -1;

/// A decoded `TxnOffsetCommit` request; its vectors are reused from one request to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TxnOffsetCommitRequest {
    /// The position of the transactional id in the body.
    pub transactional_id: Range<usize>,
    /// The position of the group's id.
    pub group_id: Range<usize>,
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// The generation that the member is in; -1 without a generation and before version 3.
    pub generation_id: i32,
    /// The position of the member's id; empty without a member id and before version 3.
    pub member_id: Range<usize>,
    /// The position of a static member's instance id; none before version 3.
    pub group_instance_id: Option<Range<usize>>,
    /// Its topics, in order, all by name.
    pub topics: Vec<CommitTopic>,
    /// The partitions of all topics, in order.
    pub partitions: Vec<CommitPartition>,
}

impl TxnOffsetCommitRequest {
    /// Decodes a body, replacing the previous request. After an error the content is unspecified.
    pub fn decode(&mut self, version: i16, body: &[u8]) -> Result<(), WireError> {
        self.topics.clear();
        self.partitions.clear();
        if !(0..=MAX_VERSION).contains(&version) {
            return Err(WireError::UnsupportedVersion);
        }
        let mut reader = Reader::new(body, version >= FLEXIBLE_FROM);
        self.transactional_id = reader.string()?;
        self.group_id = reader.string()?;
        self.producer_id = reader.i64()?;
        self.producer_epoch = reader.i16()?;
        (self.generation_id, self.member_id, self.group_instance_id) = if version >= MEMBER_FROM {
            (reader.i32()?, reader.string()?, reader.nullable_string()?)
        } else {
            (NO_GENERATION, 0..0, None)
        };
        let layout = offset_commit::Layout {
            has_topic_id: false,
            has_leader_epoch: version >= LEADER_EPOCH_FROM,
            has_commit_timestamp: false,
        };
        layout.decode_topics(&mut reader, &mut self.topics, &mut self.partitions)?;
        reader.skip_tags()
    }
}

/// Appends a response body: the error of each partition, `errors` in the order of the request's rows. With `places` it
/// returns the position of each error in `out`, so that an error can be changed until the body is sent.
pub fn encode_txn_offset_commit_response(
    out: &mut Vec<u8>,
    version: i16,
    body: &[u8],
    request: &TxnOffsetCommitRequest,
    errors: &[ErrorCode],
    places: Option<&mut Vec<usize>>,
) {
    let mut w = Writer::new(out, version >= FLEXIBLE_FROM);
    w.i32(0);
    encode_committed(&mut w, body, (&request.topics, &request.partitions), errors, places);
    w.no_tags();
}

#[cfg(test)]
#[path = "txn_offset_commit_tests.rs"]
mod tests;
