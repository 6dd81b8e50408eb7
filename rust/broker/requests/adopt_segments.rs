//! `AdoptSegments`: appends the segments that a bulk load has built in the partition's log directory. An API of our
//! own; see `docs/bulk-load.md`.
//!
//! One request is for one partition and one load, and may be sent again: the log knows what it has of the load. It has
//!
//! - (a) all of it: the answer says where;
//! - (b) a part that ends where a staged file begins: that file and the files behind it are adopted;
//! - (c) any other part: `OUT_OF_ORDER_SEQUENCE_NUMBER`, and the answer says how much, so that the client can build the
//!   rest anew.
//!
//! A load thread reads, checks and adopts file by file, so that no network loop waits. The answer waits for the in-sync
//! replicas as a produce with acks=all does. The directory's name comes from numbers of the request, never from a text
//! of the client. When all is adopted, the directory is removed; after a refusal it stays for the client.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Broker;
use crate::metrics::Count;
use crate::partition::{AdoptionTurn, Awaited, Partition};
use crate::published::acls::{Operation, ResourceType};
use crate::requests::api::{Api, Attempt, BodyTail, Delayed, Executor, Handover, Request, Served, Thread, Tried};
use crate::requests::authorization::Authorization;
use crate::requests::produce::{append_refused, check_request};
use crate::requests::waiters::{WaitKind, Waiter};
use base::error::{Error, ErrorCode, Result};
use base::place::Offset;
use protocol::messages::Message;
use protocol::messages::adopt_segments::{AdoptSegmentsRequest, AdoptSegmentsResponse};
use protocol::{ApiTable, WireError};
use record::Rejection;
use storage::adopt::Loaded;
use storage::staged::{self, StagedFile, StagedSegment};
use storage::{AppendError, TopicPartition};

/// The API.
pub struct AdoptSegments;

impl Api for AdoptSegments {
    fn key(&self) -> i16 {
        ApiTable::ADOPT_SEGMENTS
    }

    fn serve(&self, asked: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        let request = AdoptSegmentsRequest::decode(asked.version, asked.body)?;
        if asked.executor == Executor::Loop {
            return Ok(Served::Elsewhere(Handover::Serve(Thread::Load)));
        }
        let broker = asked.broker;
        let authorization = Authorization::new(broker, &asked.caller, "AdoptSegments");
        if !authorization.allows(Operation::Write, ResourceType::Topic, request.topic) {
            let refused = AdoptSegmentsResult::refused(ErrorCode::TOPIC_AUTHORIZATION_FAILED, "");
            refused.encode(out);
            return Ok(Served::Answered(BodyTail::Nothing));
        }
        let partition = match find(broker, &request, asked.caller.may_write_internal) {
            Ok(partition) => partition,
            Err(refused) => {
                broker.metrics().add(Count::FailedProduceRequests, 1);
                refused.encode(out);
                return Ok(Served::Answered(BodyTail::Nothing));
            }
        };
        let done = Adoption {
            broker,
            partition: &partition,
            request: &request,
            now_ms: asked.now_ms,
        }
        .run();
        let (result, awaited) = match done {
            Ok((result, awaited)) => (result, awaited),
            Err(error) => (refusal(broker, &partition, error), None),
        };
        if result.error != ErrorCode::NONE {
            partition.meter().add(Count::FailedProduceRequests, 1);
        }
        match awaited {
            Some(awaited) if !awaited.is_nothing() => {
                let timeout = Duration::from_millis(u64::try_from(request.timeout_ms).unwrap_or(0));
                Ok(Served::Delayed(Box::new(ParkedAdoption {
                    partition,
                    result,
                    awaited,
                    deadline: asked.now + timeout,
                })))
            }
            _ => {
                result.encode(out);
                Ok(Served::Answered(BodyTail::Nothing))
            }
        }
    }
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AdoptSegmentsResult {
    /// 0 when the log has the whole load.
    error: ErrorCode,
    /// Why not.
    message: Option<String>,
    /// The offset of the load's first record; -1 when the log has none.
    base_offset: i64,
    /// The offset of the load's last record in the log; -1 when the log has none.
    last_offset: i64,
    /// Records of the load in the log; -1 when it is not known.
    records: i32,
}

impl AdoptSegmentsResult {
    /// A refusal that says nothing about the log.
    fn refused(error: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            error,
            message: Some(message.into()),
            base_offset: -1,
            last_offset: -1,
            records: -1,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let response = AdoptSegmentsResponse {
            throttle_time_ms: 0,
            error_code: self.error,
            error_message: self.message.as_deref(),
            base_offset: self.base_offset,
            last_offset: self.last_offset,
            records: self.records,
        };
        response.encode(out, AdoptSegmentsResponse::LAST_VERSION);
    }
}

/// The partition, if it is hosted here and the request may be tried.
fn find(
    broker: &Broker,
    request: &AdoptSegmentsRequest<'_>,
    may_write_internal: bool,
) -> Result<Arc<Partition>, AdoptSegmentsResult> {
    let topic = request.topic;
    let topics = broker.registry().snapshot();
    let hosted = topics.by_name(topic);
    if let Some(refused) = check_request(broker, -1, may_write_internal, hosted) {
        let message = refused.error_message.unwrap_or_default();
        return Err(AdoptSegmentsResult::refused(refused.error, message));
    }
    let end = request.first_sequence.checked_sub(request.record_count);
    if request.producer_id < 0 || request.producer_epoch < 0 || request.first_sequence < 0 || end.is_none_or(|e| e >= 0)
    {
        let message = "producer id, epoch and first sequence are at least 0, and below the record count";
        return Err(AdoptSegmentsResult::refused(ErrorCode::INVALID_REQUEST, message));
    }
    if let Some(partition) = hosted.and_then(|topic| topic.partition(request.partition)) {
        return Ok(Arc::clone(partition));
    }
    let is_elsewhere = broker
        .image()
        .load()
        .topic(topic)
        .is_some_and(|t| t.has(request.partition));
    let code = if is_elsewhere {
        ErrorCode::NOT_LEADER_OR_FOLLOWER
    } else {
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
    };
    let message = format!("this broker has no partition {topic}-{}", request.partition);
    Err(AdoptSegmentsResult::refused(code, message))
}

fn refusal(broker: &Broker, partition: &Arc<Partition>, error: AppendError) -> AdoptSegmentsResult {
    let refused = append_refused(broker, partition, error);
    AdoptSegmentsResult::refused(refused.error, refused.error_message.unwrap_or_default())
}

type AdoptionResult = (AdoptSegmentsResult, Option<Awaited>);

/// One request on its partition.
struct Adoption<'a> {
    broker: &'a Broker,
    partition: &'a Arc<Partition>,
    request: &'a AdoptSegmentsRequest<'a>,
    now_ms: i64,
}

impl Adoption<'_> {
    fn run(&self) -> Result<AdoptionResult, AppendError> {
        let request = self.request;
        self.partition.meter().add(Count::TotalProduceRequests, 1);
        let turn = AdoptionTurn::begin(self.partition)?;
        let (loaded, first_offset) = turn.loaded(request.producer_id, request.is_new)?;
        loaded.check_epoch(request.producer_epoch)?;
        if loaded.records >= request.record_count {
            let awaited = turn.awaited(loaded.last_offset, false); // (a)
            self.remove_dir();
            return Ok((answer(ErrorCode::NONE, None, first_offset, loaded), Some(awaited)));
        }
        let dir = self.dir();
        let files = staged::list(&*self.broker.context().fs, &dir)?;
        let Some(files) = files.filter(|_| request.first_sequence <= loaded.records) else {
            let message = format!("{}: no segments are staged there", dir.display());
            return Ok(self.out_of_order(&message, first_offset, loaded)); // (c)
        };
        let ahead = files.partition_point(|file| file.first_sequence < loaded.records);
        let files = files.get(ahead..).unwrap_or_default();
        if files.first().is_none_or(|first| first.first_sequence != loaded.records) {
            let message = format!("{}: no segment begins with record {}", dir.display(), loaded.records);
            return Ok(self.out_of_order(&message, first_offset, loaded)); // (c)
        }
        self.adopt_all(&turn, files, loaded, first_offset) // (b)
    }

    /// All files are checked before the first is adopted: a load with an invalid file leaves nothing in the log.
    fn adopt_all(
        &self,
        turn: &AdoptionTurn<'_>,
        files: &[StagedFile],
        mut loaded: Loaded,
        mut first_offset: Offset,
    ) -> Result<AdoptionResult, AppendError> {
        let request = self.request;
        let expected = turn.expected(request.producer_id, request.producer_epoch, self.now_ms);
        let mut segments = Vec::with_capacity(files.len());
        let mut next = loaded.records;
        for file in files {
            self.check_stop()?;
            let segment = StagedSegment::check(&*self.broker.context().fs, file, &expected)?;
            if segment.first_sequence() != next {
                let message = format!("{}: record {next} of the load is in no segment", file.path.display());
                return Err(Rejection::new(ErrorCode::INVALID_RECORD, message).into());
            }
            next = segment.next_sequence();
            segments.push(segment);
        }
        if next != request.record_count {
            let (dir, count) = (self.dir(), request.record_count);
            let message = format!("{}: the segments end with record {next} of {count}", dir.display());
            return Err(Rejection::new(ErrorCode::INVALID_RECORD, message).into());
        }
        let mut awaited = None;
        for mut segment in segments {
            self.check_stop()?;
            let (appended, awaits) = turn.adopt(&mut segment, &expected, loaded)?;
            self.broker.threads().flusher().enqueue(self.partition);
            loaded = Loaded {
                producer_epoch: request.producer_epoch,
                records: segment.next_sequence(),
                last_offset: appended.last_offset,
            };
            if first_offset.is_none() {
                first_offset = appended.first_offset;
            }
            awaited = Some(awaits);
        }
        self.remove_dir();
        Ok((answer(ErrorCode::NONE, None, first_offset, loaded), awaited))
    }

    fn out_of_order(&self, message: &str, first_offset: Offset, loaded: Loaded) -> AdoptionResult {
        let code = ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER;
        let known = format!(
            "{message}; the log has {} of {} records",
            loaded.records, self.request.record_count
        );
        (answer(code, Some(known), first_offset, loaded), None)
    }

    /// A broker that stops does not wait for the end of a load.
    fn check_stop(&self) -> Result<(), Rejection> {
        if !self.broker.has_refused_produces() {
            return Ok(());
        }
        let message = "this broker is about to stop, another will lead";
        Err(Rejection::new(ErrorCode::NOT_LEADER_OR_FOLLOWER, message))
    }

    fn dir(&self) -> PathBuf {
        let one = TopicPartition::new(Arc::clone(self.partition.topic()), self.partition.index());
        let name = one.load_dir_name(self.request.producer_id, self.request.producer_epoch);
        self.partition.log_dir().join(name)
    }

    /// Removes what is left of the load's directory. A directory that cannot be removed now goes with the next start.
    fn remove_dir(&self) {
        let _ = self.broker.context().fs.remove_dir_all(&self.dir());
    }
}

fn answer(error: ErrorCode, message: Option<String>, first_offset: Offset, loaded: Loaded) -> AdoptSegmentsResult {
    AdoptSegmentsResult {
        error,
        message,
        base_offset: first_offset.get(),
        last_offset: loaded.last_offset.get(),
        records: loaded.records,
    }
}

/// An adoption whose answer waits for the in-sync replicas, or for the disk.
struct ParkedAdoption {
    partition: Arc<Partition>,
    result: AdoptSegmentsResult,
    awaited: Awaited,
    deadline: Instant,
}

impl Delayed for ParkedAdoption {
    fn watch(&self, waiter: &Waiter) {
        self.partition.waiters().watch(WaitKind::Produce, waiter.clone());
    }

    fn forget(&self, waiter: &Waiter) {
        self.partition
            .waiters()
            .forget(WaitKind::Produce, waiter.operation, &waiter.owner);
    }

    fn try_complete(&mut self, attempt: &Attempt<'_>, out: &mut Vec<u8>) -> Tried {
        match self.partition.is_satisfied(self.awaited) {
            Ok(true) => {}
            Ok(false) if !attempt.is_due => return Tried::Waits,
            Ok(false) => {
                let message = "the in-sync replicas do not have the load yet: send the request again".to_owned();
                (self.result.error, self.result.message) = (ErrorCode::REQUEST_TIMED_OUT, Some(message));
            }
            Err(error) => self.result = refused_by(&error),
        }
        self.result.encode(out);
        Tried::Answered(BodyTail::Nothing)
    }

    fn deadline(&self) -> Instant {
        self.deadline
    }
}

fn refused_by(error: &Error) -> AdoptSegmentsResult {
    AdoptSegmentsResult::refused(error.code(), error.to_string())
}

#[cfg(test)]
#[path = "adopt_segments_tests.rs"]
mod tests;
