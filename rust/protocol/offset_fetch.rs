//! `OffsetFetch`, versions 0 to 10: one group before version 8, several since. Version 0 has the bytes of version 1;
//! only its answer for a partition without an offset differs ([`NOTHING_IS_AN_ERROR_UNTIL`]).
//!
//! ```text
//! request   := (v0-7: group_id:string [topic], nullable from v2) (v8+: [group]) (v7+: require_stable:bool) tags
//! group     := group_id:string (v9+: member_id:nullable member_epoch:i32) [topic], nullable  tags
//! topic     := (v0-9: name:string) (v10+: topic_id:uuid) [index:i32] tags
//! response  := (v3+: throttle_time_ms:i32) (v0-7: [topic] (v2+: error:i16)) (v8+: [group]) tags
//! group     := group_id:string [topic] error:i16 tags
//! topic     := (v0-9: name:string) (v10+: topic_id:uuid) [partition] tags
//! partition := index:i32 offset:i64 (v5+: leader_epoch:i32) metadata:nullable error:i16 tags
//! ```
//! Lengths are compact and tags are there from version 6 on. Null topics are all topics.

use std::ops::Range;

use base::error::ErrorCode;

use super::error::WireError;
use super::reader::{MAX_ROWS, Reader};
use super::topic::TopicKey;
use super::writer::Writer;

/// The first version served.
pub const MIN_VERSION: i16 = 0;
/// Up to this version a partition without a committed offset is answered with `UNKNOWN_TOPIC_OR_PARTITION`.
pub const NOTHING_IS_AN_ERROR_UNTIL: i16 = 0;
/// The last version.
pub const MAX_VERSION: i16 = 10;
/// From this version on the response has an error for the group.
pub const GROUP_ERROR_FROM: i16 = 2;
const ALL_TOPICS_FROM: i16 = 2;
const THROTTLE_FROM: i16 = 3;
const LEADER_EPOCH_FROM: i16 = 5;
const FLEXIBLE_FROM: i16 = 6;
const REQUIRE_STABLE_FROM: i16 = 7;
const GROUPS_FROM: i16 = 8;
const MEMBER_FROM: i16 = 9;
/// From this version on topics are named by id.
pub const TOPIC_ID_FROM: i16 = 10;
/// A topic's name and its partition count, the least of both encodings.
const MIN_TOPIC_BYTES: usize = 2;

/// A topic and its part of [`OffsetFetchRequest::indexes`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedTopic {
    /// By name before version 10, by id from then on.
    pub topic: TopicKey,
    /// Its indexes.
    pub rows: Range<usize>,
}

/// A group and its part of [`OffsetFetchRequest::topics`]; `None` asks for all topics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedGroup {
    /// The position of the group's id in the body.
    pub group_id: Range<usize>,
    /// Its topics.
    pub topics: Option<Range<usize>>,
}

/// A decoded `OffsetFetch` request; its vectors are reused from one request to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OffsetFetchRequest {
    /// Its groups, in order.
    pub groups: Vec<FetchedGroup>,
    /// The topics of all groups.
    pub topics: Vec<FetchedTopic>,
    /// The partitions of all topics.
    pub indexes: Vec<i32>,
    /// Whether offsets that an open transaction is to commit are refused.
    pub require_stable: bool,
}

impl OffsetFetchRequest {
    /// Decodes a body, replacing the previous request. After an error the content is unspecified.
    pub fn decode(&mut self, version: i16, body: &[u8]) -> Result<(), WireError> {
        self.groups.clear();
        self.topics.clear();
        self.indexes.clear();
        if !(MIN_VERSION..=MAX_VERSION).contains(&version) {
            return Err(WireError::UnsupportedVersion);
        }
        let mut reader = Reader::new(body, version >= FLEXIBLE_FROM);
        if version < GROUPS_FROM {
            self.decode_group(&mut reader, version)?;
        } else {
            let count = reader.count(MIN_TOPIC_BYTES)?;
            if count > MAX_ROWS {
                return Err(WireError::TooManyElements);
            }
            for _ in 0..count {
                self.decode_group(&mut reader, version)?;
                reader.skip_tags()?;
            }
        }
        self.require_stable = version >= REQUIRE_STABLE_FROM && reader.boolean()?;
        reader.skip_tags()
    }

    fn decode_group(&mut self, reader: &mut Reader<'_>, version: i16) -> Result<(), WireError> {
        let group_id = reader.string()?;
        if version >= MEMBER_FROM {
            let _member_id = reader.nullable_string()?;
            let _member_epoch = reader.i32()?;
        }
        let count = if version >= ALL_TOPICS_FROM {
            reader.nullable_count(MIN_TOPIC_BYTES)?
        } else {
            Some(reader.count(MIN_TOPIC_BYTES)?)
        };
        let start = self.topics.len();
        for _ in 0..count.unwrap_or(0) {
            let topic = reader.topic_key(version >= TOPIC_ID_FROM)?;
            let count = reader.count(size_of::<i32>())?;
            if count > MAX_ROWS - self.indexes.len() || self.topics.len() >= MAX_ROWS {
                return Err(WireError::TooManyElements);
            }
            let rows = self.indexes.len()..self.indexes.len() + count;
            for _ in 0..count {
                self.indexes.push(reader.i32()?);
            }
            reader.skip_tags()?;
            self.topics.push(FetchedTopic { topic, rows });
        }
        self.groups.push(FetchedGroup {
            group_id,
            topics: count.map(|_| start..self.topics.len()),
        });
        Ok(())
    }
}

/// The committed offset of one partition, in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchedOffset<'a> {
    /// The offset; -1 when none is committed.
    pub offset: i64,
    /// The committed leader epoch, or -1.
    pub leader_epoch: i32,
    /// The client's metadata text.
    pub metadata: &'a str,
    /// The partition's error.
    pub error: ErrorCode,
}

impl FetchedOffset<'_> {
    /// The answer when no offset is committed, or when the partition is refused.
    pub const fn nothing(error: ErrorCode) -> Self {
        Self {
            offset: -1,
            leader_epoch: -1,
            metadata: "",
            error,
        }
    }
}

/// Writes a response body: groups, topics and partitions in the order of the calls, each count before its items.
pub struct OffsetFetchWriter<'a> {
    w: Writer<'a>,
    version: i16,
}

impl<'a> OffsetFetchWriter<'a> {
    /// Begins the body for `groups` groups; exactly one before version 8.
    pub fn new(out: &'a mut Vec<u8>, version: i16, groups: usize) -> Self {
        let mut w = Writer::new(out, version >= FLEXIBLE_FROM);
        if version >= THROTTLE_FROM {
            w.i32(0);
        }
        if version >= GROUPS_FROM {
            w.length(Some(groups));
        }
        Self { w, version }
    }

    /// The position where the next group begins.
    pub fn mark(&mut self) -> usize {
        self.w.out().len()
    }

    /// Removes all bytes written since the mark.
    pub fn back_to(&mut self, mark: usize) {
        self.w.out().truncate(mark);
    }

    /// Begins a group with `topics` topics.
    pub fn group(&mut self, group_id: &str, topics: usize) {
        if self.version >= GROUPS_FROM {
            self.w.string(group_id);
        }
        self.w.length(Some(topics));
    }

    /// Begins a topic with `partitions` partitions, by name or by id as the version has it.
    pub fn topic(&mut self, name: &str, id: &[u8; 16], partitions: usize) {
        if self.version >= TOPIC_ID_FROM {
            self.w.raw(id);
        } else {
            self.w.string(name);
        }
        self.w.length(Some(partitions));
    }

    /// Appends one partition of the current topic.
    pub fn partition(&mut self, index: i32, found: FetchedOffset<'_>) {
        self.w.i32(index);
        self.w.i64(found.offset);
        if self.version >= LEADER_EPOCH_FROM {
            self.w.i32(found.leader_epoch);
        }
        self.w.nullable_string(Some(found.metadata));
        self.w.i16(found.error.0);
        self.w.no_tags();
    }

    /// Ends a topic.
    pub fn end_topic(&mut self) {
        self.w.no_tags();
    }

    /// Ends a group.
    pub fn end_group(&mut self, error: ErrorCode) {
        if self.version >= GROUP_ERROR_FROM {
            self.w.i16(error.0);
        }
        if self.version >= GROUPS_FROM {
            self.w.no_tags();
        }
    }

    /// Ends the body.
    pub fn end(mut self) {
        self.w.no_tags();
    }
}

#[cfg(test)]
#[path = "offset_fetch_tests.rs"]
mod tests;
