//! Writes Fetch responses head by head: the caller puts the record bytes between [`FetchResponseWriter::partition`] and
//! [`FetchResponseWriter::partition_end`], either into the buffer or, by `sendfile`, into the socket at that position.
//!
//! ```text
//! response  := (v1+: throttle_time_ms:i32) (v7+: error:i16 session_id:i32) [topic] tags(v16+: 0 = node endpoints)
//! topic     := (name:string | v13+: id:uuid) [partition] tags
//! partition := index:i32 error:i16 high_watermark:i64 (v4+: last_stable_offset:i64) (v5+: log_start_offset:i64)
//!              (v4+: aborted:nullable [producer_id:i64 first_offset:i64 tags]) (v11+: preferred_read_replica:i32)
//!              records:nullable_bytes
//!              tags(0 = diverging_epoch: epoch:i32 end_offset:i64 tags,
//!                   1 = current_leader: leader_id:i32 leader_epoch:i32 tags,
//!                   2 = snapshot_id: end_offset:i64 epoch:i32 tags)
//! ```
//! Lengths are compact and tags are there from version 12 on.

use base::error::ErrorCode;

use super::super::topic::{NodeEndpoint, TopicId};
use super::super::writer::Writer;
use super::{
    FLEXIBLE_FROM, ISOLATION_FROM, LOG_START_FROM, NODE_ENDPOINTS_FROM, RACK_FROM, SESSION_FROM, THROTTLE_FROM,
    TOPIC_ID_FROM,
};

/// A transaction that was aborted: its records from `first_offset` on are to be skipped until its marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbortedTransaction {
    /// The transaction's producer.
    pub producer_id: i64,
    /// The transaction's first offset.
    pub first_offset: i64,
}

/// A partition's answer without its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchPartitionHead<'a> {
    /// The partition.
    pub index: i32,
    /// 0 when it was read.
    pub error: ErrorCode,
    /// -1 when unknown.
    pub high_watermark: i64,
    /// -1 when unknown.
    pub last_stable_offset: i64,
    /// -1 when unknown.
    pub log_start_offset: i64,
    /// `None` (null) unless the request reads committed.
    pub aborted: Option<&'a [AbortedTransaction]>,
    /// -1 for none.
    pub preferred_read_replica: i32,
    /// Epoch and its end offset where the follower's log diverges.
    pub diverging_epoch: Option<(i32, i64)>,
    /// Leader id and epoch, with `NOT_LEADER_OR_FOLLOWER` and `FENCED_LEADER_EPOCH` (KIP-951).
    pub current_leader: Option<(i32, i32)>,
    /// End offset and epoch of the snapshot to fetch instead.
    pub snapshot_id: Option<(i64, i32)>,
}

impl FetchPartitionHead<'_> {
    /// A partition's answer with an error alone.
    pub fn refused(index: i32, error: ErrorCode) -> Self {
        Self {
            index,
            error,
            high_watermark: -1,
            last_stable_offset: -1,
            log_start_offset: -1,
            aborted: None,
            preferred_read_replica: -1,
            diverging_epoch: None,
            current_leader: None,
            snapshot_id: None,
        }
    }

    fn has_tags(&self) -> bool {
        self.diverging_epoch.is_some() || self.current_leader.is_some() || self.snapshot_id.is_some()
    }
}

/// Writes a response. The order of calls is `begin`, for each topic `topic`, for each partition `partition`, its record
/// bytes, `partition_end`, then `topic_end`; at last `end`. The counts given must be the numbers of calls that follow.
#[derive(Debug)]
pub struct FetchResponseWriter<'a> {
    w: Writer<'a>,
    version: i16,
}

impl<'a> FetchResponseWriter<'a> {
    /// Appends the top of a response body to `out`.
    pub fn begin(
        out: &'a mut Vec<u8>,
        version: i16,
        throttle_time_ms: i32,
        error: ErrorCode,
        session_id: i32,
        topic_count: usize,
    ) -> Self {
        let mut w = Writer::new(out, version >= FLEXIBLE_FROM);
        w.reserve(128);
        if version >= THROTTLE_FROM {
            w.i32(throttle_time_ms);
        }
        if version >= SESSION_FROM {
            w.i16(error.0);
            w.i32(session_id);
        }
        w.length(Some(topic_count));
        Self { w, version }
    }

    /// The buffer: after [`Self::partition`] it ends where the record bytes belong.
    pub fn out(&mut self) -> &mut Vec<u8> {
        self.w.out()
    }

    /// Begins a topic: by name up to version 12, by id from 13 on.
    #[inline]
    pub fn topic(&mut self, name: &str, id: TopicId, partition_count: usize) {
        if self.version >= TOPIC_ID_FROM {
            self.w.raw(&id);
        } else {
            self.w.string(name);
        }
        self.w.length(Some(partition_count));
    }

    /// Appends a partition up to and including the length of its records; `None` is null (Kafka sends 0 for "no
    /// records").
    #[inline]
    pub fn partition(&mut self, head: &FetchPartitionHead<'_>, records_len: Option<usize>) {
        let w = &mut self.w;
        // One copy for the fields of fixed width instead of one for each.
        let mut fixed = [0; 30];
        fixed[..4].copy_from_slice(&head.index.to_be_bytes());
        fixed[4..6].copy_from_slice(&head.error.0.to_be_bytes());
        fixed[6..14].copy_from_slice(&head.high_watermark.to_be_bytes());
        fixed[14..22].copy_from_slice(&head.last_stable_offset.to_be_bytes());
        fixed[22..].copy_from_slice(&head.log_start_offset.to_be_bytes());
        w.raw(match self.version {
            LOG_START_FROM.. => &fixed,
            ISOLATION_FROM.. => &fixed[..22],
            _ => &fixed[..14],
        });
        if self.version < ISOLATION_FROM {
            return w.length(records_len);
        }
        w.length(head.aborted.map(<[_]>::len));
        for aborted in head.aborted.unwrap_or_default() {
            w.i64(aborted.producer_id);
            w.i64(aborted.first_offset);
            w.no_tags();
        }
        if self.version >= RACK_FROM {
            w.i32(head.preferred_read_replica);
        }
        w.length(records_len);
    }

    /// Appends what follows the records of a partition; `head` as given to [`Self::partition`].
    #[inline]
    pub fn partition_end(&mut self, head: &FetchPartitionHead<'_>) {
        if self.version < FLEXIBLE_FROM || !head.has_tags() {
            return self.w.no_tags();
        }
        self.partition_tags(head);
    }

    #[cold]
    fn partition_tags(&mut self, head: &FetchPartitionHead<'_>) {
        let w = &mut self.w;
        let present = [
            head.diverging_epoch.is_some(),
            head.current_leader.is_some(),
            head.snapshot_id.is_some(),
        ];
        w.tag_count(present.into_iter().filter(|is_present| *is_present).count());
        if let Some((epoch, end_offset)) = head.diverging_epoch {
            w.tag(0, |w| {
                w.i32(epoch);
                w.i64(end_offset);
                w.no_tags();
            });
        }
        if let Some((leader_id, leader_epoch)) = head.current_leader {
            w.tag(1, |w| {
                w.i32(leader_id);
                w.i32(leader_epoch);
                w.no_tags();
            });
        }
        if let Some((end_offset, epoch)) = head.snapshot_id {
            w.tag(2, |w| {
                w.i64(end_offset);
                w.i32(epoch);
                w.no_tags();
            });
        }
    }

    /// Ends a topic, after its last partition.
    #[inline]
    pub fn topic_end(&mut self) {
        self.w.no_tags();
    }

    /// Ends the response, after the last topic.
    #[inline]
    pub fn end(mut self, node_endpoints: &[NodeEndpoint<'_>]) {
        self.w.node_endpoints(if self.version >= NODE_ENDPOINTS_FROM {
            node_endpoints
        } else {
            &[]
        });
    }
}
