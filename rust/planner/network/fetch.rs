//! Fetch of one partition: the request, and the answer as places in its bytes.
//!
//! ```text
//! Fetch v11 := replica i32, max_wait_ms i32, min_bytes i32, max_bytes i32, isolation i8, session_id i32,
//!              session_epoch i32, topics [name string, partitions [partition i32, leader_epoch i32, offset i64,
//!                  log_start i64, max_bytes i32]], forgotten [], rack string
//! answer    := throttle i32, error i16, session_id i32, topics [name string, partitions [partition i32, error i16,
//!                  high_watermark i64, last_stable_offset i64, log_start i64,
//!                  aborted [producer_id i64, first_offset i64]?, preferred_replica i32, records bytes]]
//! ```
//!
//! Every broker since Kafka 2.3 serves this version. The bytes of an answer are unchecked.

use std::ops::Range;

use super::transactions::AbortedFrom;
use base::place::{LeaderEpoch, Offset};
use client::{Fields, Malformed, push_array, push_string};
use record::BatchHeader;

/// Key and version.
pub(super) const FETCH: (i16, i16) = (1, 11);
/// Most bytes of an answer, unless a single batch is larger: so many that a request costs nothing beside them.
const MOST_BYTES: i32 = 4 << 20;
/// Fewer are not asked for: what is left of a range may be a little more than was expected.
const FEWEST_BYTES: i32 = 64 << 10;
const MAX_WAIT_MS: i32 = 500;
const CONSUMER: i32 = -1;
const NO_SESSION: i32 = 0;
const FINAL_EPOCH: i32 = -1;
/// The correlation id stands before the body.
const BODY: usize = size_of::<i32>();

/// What is fetched.
pub(super) struct Wanted<'a> {
    pub(super) topic: &'a str,
    pub(super) partition: i32,
    pub(super) leader_epoch: LeaderEpoch,
    pub(super) offset: Offset,
    pub(super) is_committed: bool,
    /// About so many bytes are to be fetched in all; 0 when that is not known.
    pub(super) expected_bytes: u64,
    pub(super) client_rack: &'a str,
}

impl Wanted<'_> {
    /// No more than is wanted: what a broker sends beyond it is read from its disk for nothing.
    fn max_bytes(&self) -> i32 {
        match i32::try_from(self.expected_bytes) {
            Ok(0) | Err(_) => MOST_BYTES,
            Ok(expected) => expected.clamp(FEWEST_BYTES, MOST_BYTES),
        }
    }

    pub(super) fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let max_bytes = self.max_bytes();
        for number in [CONSUMER, MAX_WAIT_MS, 1, max_bytes] {
            body.extend(number.to_be_bytes());
        }
        body.push(u8::from(self.is_committed));
        body.extend(NO_SESSION.to_be_bytes());
        body.extend(FINAL_EPOCH.to_be_bytes());
        push_array(&mut body, 1);
        let _is_a_name = push_string(&mut body, self.topic); // the leader was found by it
        push_array(&mut body, 1);
        body.extend(self.partition.to_be_bytes());
        body.extend(self.leader_epoch.get().to_be_bytes());
        body.extend(self.offset.get().to_be_bytes());
        body.extend((-1_i64).to_be_bytes()); // log start: a consumer's is not known
        body.extend(max_bytes.to_be_bytes());
        push_array(&mut body, 0); // forgotten topics
        let _fits = push_string(&mut body, self.client_rack) || push_string(&mut body, "");
        body
    }
}

/// The answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fetched {
    pub(super) error: i16,
    pub(super) aborted: Vec<AbortedFrom>,
    pub(super) preferred_replica: Option<i32>,
    /// Where the records are in the answer.
    records: Range<usize>,
}

/// Whole batches, as a range of the answer's bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Whole {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) next_offset: Offset,
}

impl Fetched {
    /// `None` for bytes that are not the answer to a Fetch of one partition.
    pub(super) fn read(answer: &[u8]) -> Option<Self> {
        Self::of(answer, answer.get(BODY..)?).ok().flatten()
    }

    fn of(answer: &[u8], body: &[u8]) -> Result<Option<Self>, Malformed> {
        let mut fields = Fields::new(body);
        fields.i32()?; // throttle time
        let error = fields.i16()?;
        fields.i32()?; // session id
        if error != 0 {
            return Ok(Some(Self {
                error,
                aborted: Vec::new(),
                preferred_replica: None,
                records: 0..0,
            }));
        }
        if fields.count()? != 1 {
            return Ok(None);
        }
        fields.string()?; // topic
        if fields.count()? != 1 {
            return Ok(None);
        }
        fields.i32()?; // partition
        let error = fields.i16()?;
        for _ in ["high watermark", "last stable offset", "log start"] {
            fields.i64()?;
        }
        let mut aborted = Vec::new();
        for _ in 0..fields.count()? {
            aborted.push(AbortedFrom {
                producer_id: fields.i64()?,
                first_offset: Offset(fields.i64()?),
            });
        }
        let preferred = fields.i32()?;
        let records = fields.records()?;
        let start = records.as_ptr().addr() - answer.as_ptr().addr();
        Ok(Some(Self {
            error,
            aborted,
            preferred_replica: (preferred >= 0).then_some(preferred),
            records: start..start + records.len(),
        }))
    }

    /// The batches that came whole; `None` when there is none. A broker may cut the last one off.
    pub(super) fn whole_batches(&self, answer: &[u8]) -> Option<Whole> {
        let mut whole = None;
        let mut at = self.records.start;
        while let Some(rest) = answer.get(at..self.records.end) {
            let Ok(header) = BatchHeader::parse(rest) else { break };
            if header.size_bytes() > rest.len() {
                break;
            }
            at += header.size_bytes();
            whole = Some(Whole {
                start: self.records.start,
                end: at,
                next_offset: header.next_offset(),
            });
        }
        whole
    }
}
