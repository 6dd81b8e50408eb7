//! Fetch on the follower's side: encodes requests, decodes responses, in the one version that brokers use between them.
//! The grammars are in `request` and `response`.

use std::ops::Range;

use base::error::ErrorCode;

use super::super::error::WireError;
use super::super::reader::Reader;
use super::super::topic::TopicId;
use super::super::writer::Writer;
use super::ABSENT_WATERMARK;

/// The version that followers use: topics by id, the follower's broker epoch and its high watermarks in tagged fields.
pub const VERSION: i16 = 18;

/// The least size of a partition: index, error, three offsets.
const MIN_PARTITION_BYTES: usize = 30;
/// The least size of a topic: its id and its partition count.
const MIN_TOPIC_BYTES: usize = 17;

/// The fields of a request that are the same for all partitions.
#[derive(Debug, Clone, Copy)]
pub struct FollowerFetchHead {
    /// The follower.
    pub replica_id: i32,
    /// Its broker epoch, or -1.
    pub replica_epoch: i64,
    /// How long to wait for `min_bytes`.
    pub max_wait_ms: i32,
    /// The leader answers early with this many bytes.
    pub min_bytes: i32,
    /// The most bytes of the whole response.
    pub max_bytes: i32,
    /// The fetch session; 0 to open a session.
    pub session_id: i32,
    /// The session's epoch; 0 for a full request.
    pub session_epoch: i32,
}

/// One partition to fetch.
#[derive(Debug, Clone, Copy)]
pub struct FollowerFetchRow {
    /// Its topic.
    pub topic_id: TopicId,
    /// The partition.
    pub index: i32,
    /// The leader epoch of the follower's lease.
    pub current_leader_epoch: i32,
    /// The follower's log end offset.
    pub fetch_offset: i64,
    /// The epoch of the follower's last record, or -1.
    pub last_fetched_epoch: i32,
    /// The follower's log start offset.
    pub log_start_offset: i64,
    /// The most bytes of this partition.
    pub max_bytes: i32,
    /// The high watermark that the follower knows, or [`ABSENT_WATERMARK`]. The leader answers as soon as its own high
    /// watermark is beyond this value (KIP-392; the field is KIP-1166's).
    pub high_watermark: i64,
}

/// One partition of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowerFetched {
    /// Its topic.
    pub topic_id: TopicId,
    /// The partition.
    pub index: i32,
    /// 0 when it was read.
    pub error: ErrorCode,
    /// The leader's, or -1.
    pub high_watermark: i64,
    /// The leader's, or -1.
    pub log_start_offset: i64,
    /// The epoch at which the logs diverge, and its end offset.
    pub diverging_epoch: Option<(i32, i64)>,
    /// The position of the records in the body.
    pub records: Range<usize>,
}

/// A decoded response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FollowerResponse {
    /// Of the whole request.
    pub error: ErrorCode,
    /// The session, or 0.
    pub session_id: i32,
    /// Its partitions.
    pub partitions: Vec<FollowerFetched>,
}

/// Appends a request body. `rows` and `forgotten` come sorted by topic.
pub fn encode_request(
    out: &mut Vec<u8>,
    head: &FollowerFetchHead,
    rows: &[FollowerFetchRow],
    forgotten: &[(TopicId, i32)],
) {
    let mut w = Writer::new(out, true);
    w.reserve(64 + rows.len() * 66);
    w.i32(head.max_wait_ms);
    w.i32(head.min_bytes);
    w.i32(head.max_bytes);
    w.raw(&[0]); // read uncommitted: a follower reads to the log's end
    w.i32(head.session_id);
    w.i32(head.session_epoch);
    let topics = rows.chunk_by(|one, next| one.topic_id == next.topic_id);
    w.length(Some(topics.clone().count()));
    for topic in topics {
        w.raw(&topic[0].topic_id);
        w.length(Some(topic.len()));
        for row in topic {
            w.i32(row.index);
            w.i32(row.current_leader_epoch);
            w.i64(row.fetch_offset);
            w.i32(row.last_fetched_epoch);
            w.i64(row.log_start_offset);
            w.i32(row.max_bytes);
            if row.high_watermark == ABSENT_WATERMARK {
                w.no_tags();
            } else {
                w.tag_count(1);
                w.tag(1, |w| w.i64(row.high_watermark));
            }
        }
        w.no_tags();
    }
    let topics = forgotten.chunk_by(|one, next| one.0 == next.0);
    w.length(Some(topics.clone().count()));
    for topic in topics {
        w.raw(&topic[0].0);
        w.length(Some(topic.len()));
        for (_, index) in topic {
            w.i32(*index);
        }
        w.no_tags();
    }
    w.string(""); // only consumers have a rack
    w.tag_count(1);
    w.tag(1, |w| {
        w.i32(head.replica_id);
        w.i64(head.replica_epoch);
        w.no_tags();
    });
}

/// Decodes a response body.
pub fn decode_response(body: &[u8]) -> Result<FollowerResponse, WireError> {
    let mut reader = Reader::new(body, true);
    let _throttle_time_ms = reader.i32()?;
    let mut response = FollowerResponse {
        error: ErrorCode(reader.i16()?),
        session_id: reader.i32()?,
        partitions: Vec::new(),
    };
    for _ in 0..reader.count(MIN_TOPIC_BYTES)? {
        let topic_id = reader.uuid()?;
        for _ in 0..reader.count(MIN_PARTITION_BYTES)? {
            response.partitions.push(decode_partition(&mut reader, topic_id)?);
        }
        reader.skip_tags()?;
    }
    reader.skip_tags()?;
    Ok(response)
}

fn decode_partition(reader: &mut Reader<'_>, topic_id: TopicId) -> Result<FollowerFetched, WireError> {
    let (index, error) = (reader.i32()?, ErrorCode(reader.i16()?));
    let (high_watermark, _last_stable_offset, log_start_offset) = (reader.i64()?, reader.i64()?, reader.i64()?);
    for _ in 0..reader.nullable_count(size_of::<i64>() * 2)?.unwrap_or(0) {
        let _aborted = (reader.i64()?, reader.i64()?);
        reader.skip_tags()?;
    }
    let _preferred_read_replica = reader.i32()?;
    let records = reader.nullable_bytes()?.unwrap_or(0..0);
    let mut diverging_epoch = None;
    reader.tags(|tag, reader| {
        if tag != 0 {
            return Ok(false);
        }
        diverging_epoch = Some((reader.i32()?, reader.i64()?));
        reader.skip_tags().map(|()| true)
    })?;
    Ok(FollowerFetched {
        topic_id,
        index,
        error,
        high_watermark,
        log_start_offset,
        diverging_epoch,
        records,
    })
}
