//! Decodes Fetch requests.
//!
//! ```text
//! request   := (v0-14: replica_id:i32) max_wait_ms:i32 min_bytes:i32 (v3+: max_bytes:i32)
//!              (v4+: isolation_level:i8) (v7+: session_id:i32 session_epoch:i32) [topic]
//!              (v7+: forgotten:[(name | id) [index:i32] tags]) (v11+: rack_id:string)
//!              tags(0 = cluster_id:nullable_string, v15+: 1 = replica_id:i32 replica_epoch:i64 tags)
//! topic     := (name:string | v13+: id:uuid) [partition] tags
//! partition := index:i32 (v9+: current_leader_epoch:i32) fetch_offset:i64 (v12+: last_fetched_epoch:i32)
//!              (v5+: log_start_offset:i64) max_bytes:i32
//!              tags(v17+: 0 = replica directory id:uuid, v18: 1 = high_watermark:i64)
//! ```
//! Lengths are compact and tags are there from version 12 on.

use std::ops::Range;

use super::super::error::WireError;
use super::super::reader::{MAX_ROWS, Reader};
use super::super::topic::{TopicId, TopicKey, ZERO_TOPIC_ID};
use super::{
    ABSENT_WATERMARK, DIRECTORY_ID_FROM, FLEXIBLE_FROM, HIGH_WATERMARK_FROM, ISOLATION_FROM, LEADER_EPOCH_FROM,
    LOG_START_FROM, MAX_BYTES_FROM, MAX_VERSION, MIN_VERSION, RACK_FROM, REPLICA_STATE_FROM, SESSION_FROM,
    TOPIC_ID_FROM,
};

/// Index, offset and limit.
const MIN_PARTITION_BYTES: usize = 16;
/// A topic's name and its partition count, the least of both encodings.
const MIN_TOPIC_BYTES: usize = 2;

/// A decoded Fetch request; its vectors are reused from one request to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FetchRequest {
    /// The follower that fetches, or -1 for a consumer; from the tagged replica state from version 15 on.
    pub replica_id: i32,
    /// The follower's broker epoch, or -1.
    pub replica_epoch: i64,
    /// How long to wait for `min_bytes`.
    pub max_wait_ms: i32,
    /// The broker answers early with this many bytes.
    pub min_bytes: i32,
    /// The most bytes of the whole response (KIP-74); no bound before version 3.
    pub max_bytes: i32,
    /// 0 read uncommitted, 1 read committed; the broker refuses other values.
    pub isolation_level: i8,
    /// The fetch session, or 0.
    pub session_id: i32,
    /// Its epoch; -1 for a request outside of any session.
    pub session_epoch: i32,
    /// The partitions to fetch or to change in the session; a topic without partitions is ignored, as in Kafka.
    pub partitions: Vec<FetchPartition>,
    /// The partitions to drop from the session.
    pub forgotten: Vec<(TopicKey, i32)>,
    /// The position of the consumer's rack in the body; empty when there is none.
    pub rack_id: Range<usize>,
}

/// One partition of a Fetch request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchPartition {
    /// Its topic.
    pub topic: TopicKey,
    /// Whether a topic entry of the request starts here.
    pub first_of_topic: bool,
    /// The partition.
    pub index: i32,
    /// The leader epoch that the client knows, or -1.
    pub current_leader_epoch: i32,
    /// The first offset to fetch.
    pub fetch_offset: i64,
    /// The epoch of the last record that the client has, or -1.
    pub last_fetched_epoch: i32,
    /// The follower's log start, or -1.
    pub log_start_offset: i64,
    /// The most bytes of this partition (KIP-74).
    pub max_bytes: i32,
    /// The follower's directory, or zero.
    pub replica_directory_id: TopicId,
    /// The high watermark that the follower knows: -1 unknown, [`ABSENT_WATERMARK`] when the follower does not send it.
    pub high_watermark: i64,
}

impl FetchRequest {
    /// Decodes a body, replacing the previous request. After an error the content is unspecified.
    pub fn decode(&mut self, version: i16, body: &[u8]) -> Result<(), WireError> {
        self.partitions.clear();
        self.forgotten.clear();
        if !(MIN_VERSION..=MAX_VERSION).contains(&version) {
            return Err(WireError::UnsupportedVersion);
        }
        let mut reader = Reader::new(body, version >= FLEXIBLE_FROM);
        self.replica_id = if version < REPLICA_STATE_FROM {
            reader.i32()?
        } else {
            -1
        };
        self.replica_epoch = -1;
        self.max_wait_ms = reader.i32()?;
        self.min_bytes = reader.i32()?;
        self.max_bytes = if version >= MAX_BYTES_FROM {
            reader.i32()?
        } else {
            i32::MAX
        };
        self.isolation_level = if version >= ISOLATION_FROM { reader.i8()? } else { 0 };
        let has_session = version >= SESSION_FROM;
        self.session_id = if has_session { reader.i32()? } else { 0 };
        self.session_epoch = if has_session { reader.i32()? } else { -1 };
        for _ in 0..reader.count(MIN_TOPIC_BYTES)? {
            self.decode_topic(&mut reader, version)?;
        }
        if has_session {
            self.decode_forgotten(&mut reader, version)?;
        }
        self.rack_id = if version >= RACK_FROM { reader.string()? } else { 0..0 };
        reader.tags(|tag, reader| self.decode_tag(tag, reader, version))
    }

    #[inline]
    fn decode_topic(&mut self, reader: &mut Reader<'_>, version: i16) -> Result<(), WireError> {
        let topic = reader.topic_key(version >= TOPIC_ID_FROM)?;
        let count = reader.count(MIN_PARTITION_BYTES)?;
        if count > MAX_ROWS - self.partitions.len() {
            return Err(WireError::TooManyElements);
        }
        for nth in 0..count {
            decode_partition(&mut self.partitions, reader, version, topic.clone(), nth == 0)?;
        }
        reader.skip_tags()
    }

    fn decode_forgotten(&mut self, reader: &mut Reader<'_>, version: i16) -> Result<(), WireError> {
        for _ in 0..reader.count(MIN_TOPIC_BYTES)? {
            let topic = reader.topic_key(version >= TOPIC_ID_FROM)?;
            let count = reader.count(size_of::<i32>())?;
            if count > MAX_ROWS - self.forgotten.len() {
                return Err(WireError::TooManyElements);
            }
            for _ in 0..count {
                let index = reader.i32()?;
                self.forgotten.push((topic.clone(), index));
            }
            reader.skip_tags()?;
        }
        Ok(())
    }

    fn decode_tag(&mut self, tag: u32, reader: &mut Reader<'_>, version: i16) -> Result<bool, WireError> {
        match tag {
            // The cluster id: Kafka reads it only on the metadata quorum's listener.
            0 => reader.nullable_string().map(|_| true),
            1 if version >= REPLICA_STATE_FROM => {
                self.replica_id = reader.i32()?;
                self.replica_epoch = reader.i64()?;
                reader.skip_tags()?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

#[inline]
fn decode_partition(
    partitions: &mut Vec<FetchPartition>,
    reader: &mut Reader<'_>,
    version: i16,
    topic: TopicKey,
    first_of_topic: bool,
) -> Result<(), WireError> {
    partitions.push(FetchPartition {
        topic,
        first_of_topic,
        index: reader.i32()?,
        current_leader_epoch: if version >= LEADER_EPOCH_FROM {
            reader.i32()?
        } else {
            -1
        },
        fetch_offset: reader.i64()?,
        last_fetched_epoch: if version >= FLEXIBLE_FROM { reader.i32()? } else { -1 },
        log_start_offset: if version >= LOG_START_FROM { reader.i64()? } else { -1 },
        max_bytes: reader.i32()?,
        replica_directory_id: ZERO_TOPIC_ID,
        high_watermark: ABSENT_WATERMARK,
    });
    let Some(partition) = partitions.last_mut() else {
        return Ok(());
    };
    reader.tags(|tag, reader| match tag {
        0 if version >= DIRECTORY_ID_FROM => {
            partition.replica_directory_id = reader.uuid()?;
            Ok(true)
        }
        1 if version >= HIGH_WATERMARK_FROM => {
            partition.high_watermark = reader.i64()?;
            Ok(true)
        }
        _ => Ok(false),
    })
}
