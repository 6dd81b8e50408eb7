//! Fetch of one partition, and the place of the records in the answer's bytes. Every broker since Kafka 2.3 serves
//! version 11.

use std::ops::Range;

use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use client::Request;
use protocol::WireError;
use protocol::messages::Message;
use protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use record::{AbortedFrom, BatchHeader};

const VERSION: i16 = 11;
/// Most bytes of an answer, unless a single batch is larger: so many that a request costs nothing beside them.
const MOST_BYTES: i32 = 4 << 20;
/// Fewer are not asked for: what is left of a range may be a little more than was expected.
const FEWEST_BYTES: i32 = 64 << 10;
const MAX_WAIT_MS: i32 = 500;
/// The correlation id stands before the body.
const BODY: usize = size_of::<i32>();

/// What is fetched.
pub(super) struct FetchRange<'a> {
    pub(super) topic: &'a str,
    pub(super) partition: i32,
    pub(super) leader_epoch: LeaderEpoch,
    pub(super) offset: Offset,
    pub(super) is_committed: bool,
    /// About so many bytes are to be fetched in all; 0 when that is not known.
    pub(super) expected_bytes: u64,
    pub(super) client_rack: &'a str,
}

impl FetchRange<'_> {
    /// No more than is wanted: what a broker sends beyond it is read from its disk for nothing.
    fn max_bytes(&self) -> i32 {
        match i32::try_from(self.expected_bytes) {
            Ok(0) | Err(_) => MOST_BYTES,
            Ok(expected) => expected.clamp(FEWEST_BYTES, MOST_BYTES),
        }
    }

    /// Of a consumer without a session.
    pub(super) fn request(&self) -> Request {
        let partition = FetchPartition {
            partition: self.partition,
            current_leader_epoch: self.leader_epoch.get(),
            fetch_offset: self.offset.get(),
            partition_max_bytes: self.max_bytes(),
            ..Default::default()
        };
        let request = FetchRequest {
            max_wait_ms: MAX_WAIT_MS,
            min_bytes: 1,
            max_bytes: self.max_bytes(),
            isolation_level: i8::from(self.is_committed),
            topics: vec![FetchTopic {
                topic: self.topic,
                partitions: vec![partition],
            }],
            rack_id: self.client_rack,
            ..Default::default()
        };
        Request::of(VERSION, &request)
    }
}

/// The answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FetchAnswer {
    pub(super) error: ErrorCode,
    pub(super) aborted: Vec<AbortedFrom>,
    pub(super) preferred_replica: Option<i32>,
    /// Where the records are in the answer.
    records: Range<usize>,
}

/// Whole batches, as a range of the answer's bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BatchSpan {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) next_offset: Offset,
}

impl FetchAnswer {
    /// `None` for bytes that are not the answer to a Fetch of one partition.
    pub(super) fn read(answer: &[u8]) -> Option<Self> {
        Self::of(answer, answer.get(BODY..)?).ok().flatten()
    }

    fn of(answer: &[u8], body: &[u8]) -> Result<Option<Self>, WireError> {
        let body = FetchResponse::decode(VERSION, body)?;
        if body.error_code != ErrorCode::NONE {
            return Ok(Some(Self {
                error: body.error_code,
                aborted: Vec::new(),
                preferred_replica: None,
                records: 0..0,
            }));
        }
        let mut partitions = body.responses.iter().flat_map(|topic| &topic.partitions);
        let (Some(one), None) = (partitions.next(), partitions.next()) else {
            return Ok(None);
        };
        let aborted = one.aborted_transactions.iter().flatten().map(|one| AbortedFrom {
            producer_id: one.producer_id,
            first_offset: Offset(one.first_offset),
        });
        let records = one.records.unwrap_or_default();
        let start = if records.is_empty() {
            0
        } else {
            records.as_ptr().addr() - answer.as_ptr().addr()
        };
        Ok(Some(Self {
            error: one.error_code,
            aborted: aborted.collect(),
            preferred_replica: (one.preferred_read_replica >= 0).then_some(one.preferred_read_replica),
            records: start..start + records.len(),
        }))
    }

    /// The batches that came whole; `None` when there is none. A broker may cut the last one off.
    pub(super) fn whole_batches(&self, answer: &[u8]) -> Option<BatchSpan> {
        let mut whole = None;
        let mut at = self.records.start;
        while let Some(rest) = answer.get(at..self.records.end) {
            let Ok(header) = BatchHeader::parse(rest) else { break };
            if header.size_bytes() > rest.len() {
                break;
            }
            at += header.size_bytes();
            whole = Some(BatchSpan {
                start: self.records.start,
                end: at,
                next_offset: header.next_offset(),
            });
        }
        whole
    }
}
