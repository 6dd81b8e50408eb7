//! The records of `__consumer_offsets` that the data plane writes and reads, byte for byte as Apache Kafka's.
//!
//! ```text
//! key     := 0:i16 | 1:i16  group:string topic:string partition:i32       offset commit (written: 1)
//!          | 2:i16          group:string                                  group metadata: the control plane's
//!          | other                                                        other kinds of groups: skipped
//! offset  := 0  offset:i64 metadata:string commit_timestamp:i64
//!          | 1  offset:i64 metadata:string commit_timestamp:i64 expire_timestamp:i64
//!          | 2  offset:i64 metadata:string commit_timestamp:i64
//!          | 3  offset:i64 leader_epoch:i32 metadata:string commit_timestamp:i64
//!          | 4  offset:i64 leader_epoch:i32 metadata:compact commit_timestamp:i64 tags(0: topic_id uuid)
//! ```
//! Apache Kafka 4.4 writes version 4 with the topic's id, version 1 when the client asked for a retention time. A null
//! value is a tombstone.

use protocol::{Reader, TopicId, WireError, Writer, ZERO_TOPIC_ID};

const OFFSET_KEY_VERSION: i16 = 1;
const GROUP_KEY_VERSION: i16 = 2;
const RETENTION_VERSION: i16 = 1;
const LEADER_EPOCH_FROM: i16 = 3;
const FLEXIBLE_FROM: i16 = 4;
const TOPIC_ID_TAG: u32 = 0;
/// No expiry time: the broker's retention applies.
pub const NO_TIMESTAMP: i64 = -1;
/// The leader epoch is not known.
pub const NO_LEADER_EPOCH: i32 = -1;

/// The kind of a record, by its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key<'a> {
    /// A partition's offset in a group.
    Offset {
        /// The group.
        group_id: &'a str,
        /// The topic.
        topic: &'a str,
        /// The partition.
        index: i32,
    },
    /// A group's members.
    Group(&'a str),
    /// A kind that is not kept here.
    Other(i16),
}

/// A committed offset as its record has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetValue<'a> {
    /// The offset.
    pub offset: i64,
    /// The leader epoch, or [`NO_LEADER_EPOCH`].
    pub leader_epoch: i32,
    /// The client's own words.
    pub metadata: &'a str,
    /// When it was committed, ms.
    pub commit_ms: i64,
    /// When it expires, ms, or [`NO_TIMESTAMP`].
    pub expire_ms: i64,
    /// The topic's id, where it is known.
    pub topic_id: Option<TopicId>,
}

/// Appends the key of an offset.
pub fn write_offset_key(out: &mut Vec<u8>, group_id: &str, topic: &str, index: i32) {
    let mut w = Writer::new(out, false);
    w.i16(OFFSET_KEY_VERSION);
    w.string(group_id);
    w.string(topic);
    w.i32(index);
}

/// Appends the value of an offset.
pub fn write_offset_value(out: &mut Vec<u8>, value: &OffsetValue<'_>) {
    if value.expire_ms != NO_TIMESTAMP {
        let mut w = Writer::new(out, false);
        w.i16(RETENTION_VERSION);
        w.i64(value.offset);
        w.string(value.metadata);
        w.i64(value.commit_ms);
        w.i64(value.expire_ms);
        return;
    }
    let mut w = Writer::new(out, true);
    w.i16(FLEXIBLE_FROM);
    w.i64(value.offset);
    w.i32(value.leader_epoch);
    w.string(value.metadata);
    w.i64(value.commit_ms);
    match &value.topic_id {
        None => w.no_tags(),
        Some(id) => {
            w.tag_count(1);
            w.tag(TOPIC_ID_TAG, |w| w.raw(id));
        }
    }
}

/// Reads a key.
pub fn read_key(bytes: &[u8]) -> Result<Key<'_>, WireError> {
    let mut reader = Reader::new(bytes, false);
    Ok(match reader.i16()? {
        0 | OFFSET_KEY_VERSION => Key::Offset {
            group_id: reader.str()?,
            topic: reader.str()?,
            index: reader.i32()?,
        },
        GROUP_KEY_VERSION => Key::Group(reader.str()?),
        other => Key::Other(other),
    })
}

/// Reads the value of an offset.
pub fn read_offset_value(bytes: &[u8]) -> Result<OffsetValue<'_>, WireError> {
    let mut reader = Reader::new(bytes, false);
    let version = reader.i16()?;
    if !(0..=FLEXIBLE_FROM).contains(&version) {
        return Err(WireError::UnsupportedVersion);
    }
    reader.set_flexible(version >= FLEXIBLE_FROM);
    let offset = reader.i64()?;
    let leader_epoch = if version >= LEADER_EPOCH_FROM {
        reader.i32()?
    } else {
        NO_LEADER_EPOCH
    };
    let metadata = reader.str()?;
    let commit_ms = reader.i64()?;
    let expire_ms = if version == RETENTION_VERSION {
        reader.i64()?
    } else {
        NO_TIMESTAMP
    };
    let mut topic_id = None;
    reader.tags(|tag, content| {
        if tag != TOPIC_ID_TAG || content.remaining() != ZERO_TOPIC_ID.len() {
            return Ok(false);
        }
        topic_id = Some(content.uuid()?).filter(|id| *id != ZERO_TOPIC_ID);
        Ok(true)
    })?;
    Ok(OffsetValue {
        offset,
        leader_epoch,
        metadata,
        commit_ms,
        expire_ms,
        topic_id,
    })
}

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;
