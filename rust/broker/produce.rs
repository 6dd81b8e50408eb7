//! Produce: checks the acks, finds each partition, appends, and knows what to wait for (spec: R0.4, R0.5, R0.6, R3.1).
//!
//! Place: between `net` (frames) and `partition` (append). One partition's error never fails the others. The answer is
//! written at once, or [delayed](ParkedProduce) until replicas or the disk have the records. A request that would hold
//! a network loop for long (many rows, many bytes, much to inflate) becomes a [`LeftProduce`], which another thread
//! appends, slice by slice. It never touches sockets or clocks: both times are passed in.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Broker;
use super::api::{Api, Attempt, Delayed, Errand, Request, Rest, Served, Tried};
use super::metrics::Count;
use super::partition::{Awaited, Partition};
use super::registry::Topic;
use super::waiters::{WaitKind, Waiter};
use crate::error::{Error, ErrorCode};
use crate::record::{BatchHeader, Rejection, Room, single_batch};
use crate::storage::{AppendError, Appended};
use crate::wire::{
    ApiTable, NodeEndpoint, ProduceRequest, ProduceResult, TopicKey, WireError, encode_produce_response,
};

/// A request with more partitions than this is not served on a network loop.
const MANY_ROWS: usize = 1000;
/// A request with more bytes than this is not served on a network loop: its checksums and writes take milliseconds.
const MANY_BYTES: usize = 4 << 20;
/// The most that the batches of one request inflate to where they must be inflated, beyond [`INFLATED_RATIO`] times its
/// bytes.
const INFLATED_BYTES: usize = 256 << 20;
/// See [`INFLATED_BYTES`]; records seldom shrink more.
const INFLATED_RATIO: usize = 20;
/// The bytes that a slice of a request inflates before other requests have their turn.
const SLICE_BYTES: usize = 16 << 20;
/// The bytes that a request inflates on the threads for small produces; the threads for large produces do the rest. A
/// full batch of a producer's own settings inflates to less.
const LITTLE_BYTES: usize = 1 << 20;
/// Records at fault that an answer lists, over all partitions.
const MAX_RECORD_ERRORS: usize = 1000;

/// Buffers reused from one request to the next; one for each network loop.
pub struct ProduceScratch {
    /// The bytes that this thread may still inflate.
    pub room: Room,
    request: ProduceRequest,
    results: Vec<ProduceResult>,
}

impl Default for ProduceScratch {
    fn default() -> Self {
        Self {
            room: Room::unlimited(),
            request: ProduceRequest::default(),
            results: Vec::new(),
        }
    }
}

/// A produce that is too much for a network loop. When it is dropped, its remaining batches are not appended and the
/// client gets no answer.
pub struct LeftProduce {
    version: i16,
    may_write_internal: bool,
    request: ProduceRequest,
    results: Vec<ProduceResult>,
    waits: Vec<Wait>,
    listed: usize,
    little: Room,
    room: Room,
    is_large: bool,
    deadline: Instant,
}

/// A produce that waits (spec: R0.8). Dropping it sends no answer: the owner must send one.
struct ParkedProduce {
    version: i16,
    request: ProduceRequest,
    names: Vec<u8>,
    results: Vec<ProduceResult>,
    waits: Vec<Wait>,
    /// All partitions that this produce ever waited for: a satisfied partition may still have a waiter in its watch
    /// list.
    watched: Vec<Arc<Partition>>,
    deadline: Instant,
}

struct Wait {
    at: usize,
    partition: Arc<Partition>,
    awaited: Awaited,
}

/// The API. It patches the request's body in place; on a network loop it inflates within the scratch's room.
pub struct Produce;

impl Api for Produce {
    fn key(&self) -> i16 {
        ApiTable::PRODUCE
    }

    fn serve(&self, request: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        handle(request, out)
    }
}

fn handle(asked: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
    let (broker, version, body) = (asked.broker, asked.version, asked.body);
    let may_write_internal = asked.caller.may_write_internal;
    let scratch = &mut asked.scratch.produce;
    scratch.request.decode(version, body)?;
    scratch.results.clear();
    let timeout = Duration::from_millis(u64::try_from(scratch.request.timeout_ms).unwrap_or(0));
    let (mut waits, mut listed) = (Vec::new(), 0);
    let is_large = scratch.request.partitions.len() > MANY_ROWS || body.len() > MANY_BYTES;
    let mut appending = Appending {
        broker,
        version,
        may_write_internal,
        now_ms: asked.now_ms,
        request: &scratch.request,
        results: &mut scratch.results,
        waits: &mut waits,
        listed: &mut listed,
    };
    if is_large || !appending.append_all(body, &mut scratch.room) {
        let inflated = INFLATED_BYTES.saturating_add(body.len().saturating_mul(INFLATED_RATIO));
        return Ok(Served::Elsewhere(Errand::Append(Box::new(LeftProduce {
            version,
            may_write_internal,
            request: std::mem::take(&mut scratch.request),
            results: std::mem::take(&mut scratch.results),
            waits,
            listed,
            little: Room::little(LITTLE_BYTES),
            room: Room::of_request(inflated),
            is_large: false,
            deadline: asked.now + timeout,
        }))));
    }
    if scratch.request.acks == 0 {
        return Ok(unanswered(&scratch.results));
    }
    if !waits.is_empty() {
        let (request, results) = (
            std::mem::take(&mut scratch.request),
            std::mem::take(&mut scratch.results),
        );
        let parked = park(version, body, request, results, waits, asked.now + timeout);
        return Ok(Served::Delayed(Box::new(parked)));
    }
    let listener = asked.caller.listener;
    encode(broker, version, listener, body, &scratch.request, &scratch.results, out);
    Ok(Served::Answered(Rest::Nothing))
}

/// The outcome of a produce with acks=0: an error closes the connection.
fn unanswered(results: &[ProduceResult]) -> Served {
    if results.iter().any(|r| r.error != ErrorCode::NONE) {
        Served::Disconnect
    } else {
        Served::Silent
    }
}

impl LeftProduce {
    /// Whether the client expects an answer.
    pub fn is_answered(&self) -> bool {
        self.request.acks != 0
    }

    /// Whether this request has inflated more than other requests should wait for: the rest of it goes on among the
    /// large ones.
    pub fn is_large(&self) -> bool {
        self.is_large
    }

    /// Appends the next slice; true when all batches are appended. `body` is the body that the request was decoded
    /// from.
    pub fn run(&mut self, broker: &Broker, body: &mut [u8], now_ms: i64) -> bool {
        let mut appending = Appending {
            broker,
            version: self.version,
            may_write_internal: self.may_write_internal,
            now_ms,
            request: &self.request,
            results: &mut self.results,
            waits: &mut self.waits,
            listed: &mut self.listed,
        };
        if self.is_large {
            return appending.append_slice(body, &mut self.room) == Some(true);
        }
        let is_last = appending.append_slice(body, &mut self.little);
        self.is_large = is_last.is_none();
        is_last == Some(true)
    }

    /// The outcome of the request, after all its batches are appended.
    pub fn finish(self, broker: &Broker, listener: &str, body: &[u8], out: &mut Vec<u8>) -> Served {
        if self.request.acks == 0 {
            return unanswered(&self.results);
        }
        if !self.waits.is_empty() {
            let parked = park(
                self.version,
                body,
                self.request,
                self.results,
                self.waits,
                self.deadline,
            );
            return Served::Delayed(Box::new(parked));
        }
        encode(broker, self.version, listener, body, &self.request, &self.results, out);
        Served::Answered(Rest::Nothing)
    }
}

/// The appending of one request's batches, in order; `results` has one result for each batch that is done.
struct Appending<'a> {
    broker: &'a Broker,
    version: i16,
    may_write_internal: bool,
    now_ms: i64,
    request: &'a ProduceRequest,
    results: &'a mut Vec<ProduceResult>,
    waits: &'a mut Vec<Wait>,
    /// Records at fault that the results list.
    listed: &'a mut usize,
}

impl Appending<'_> {
    /// On a network loop: appends all batches and returns true. Stops before the first batch that takes more than
    /// `room` and returns false.
    fn append_all(&mut self, body: &mut [u8], room: &mut Room) -> bool {
        let append =
            |partition: &Partition, batch: &mut [u8], acks, now_ms| partition.append_within(batch, acks, now_ms, room);
        self.append_up_to(body, usize::MAX, append)
    }

    /// On another thread: appends the next batches. True when none are left, `None` when the next batch takes more than
    /// `room`.
    fn append_slice(&mut self, body: &mut [u8], room: &mut Room) -> Option<bool> {
        let (last_row, min_room_bytes) = (self.results.len() + MANY_ROWS, room.bytes().saturating_sub(SLICE_BYTES));
        let mut bytes = 0;
        loop {
            let at = self.results.len();
            let append = |partition: &Partition, batch: &mut [u8], acks, now_ms| {
                bytes += batch.len();
                partition.append_elsewhere(batch, acks, now_ms, room)
            };
            if self.append_up_to(body, 1, append) {
                return Some(true);
            }
            if self.results.len() == at {
                return None;
            }
            if self.results.len() >= last_row || bytes >= MANY_BYTES || room.bytes() < min_room_bytes {
                return Some(false);
            }
        }
    }

    /// Appends at most `most` batches; false when some are left.
    fn append_up_to(
        &mut self,
        body: &mut [u8],
        most: usize,
        mut append: impl FnMut(&Partition, &mut [u8], i16, i64) -> Result<Option<(Appended, Awaited)>, AppendError>,
    ) -> bool {
        let topics = self.broker.registry.snapshot();
        let mut topic: Option<&Arc<Topic>> = None;
        let first = self.results.len();
        for (at, row) in self.request.partitions.iter().enumerate().skip(first) {
            if at - first >= most {
                return false;
            }
            if row.first_of_topic || at == first {
                topic = match &row.topic {
                    TopicKey::Name(_) => row.topic.name(body).and_then(|name| topics.by_name(name)),
                    TopicKey::Id(id) => topics.by_id(id),
                };
            }
            let Some(result) = self.append_row(at, topic, body, &mut append) else {
                return false;
            };
            self.count(topic.and_then(|t| t.partition(row.index)), result.error);
            self.push(result);
        }
        true
    }

    /// Appends one batch; `None` when `append` leaves it for later.
    fn append_row(
        &mut self,
        at: usize,
        topic: Option<&Arc<Topic>>,
        body: &mut [u8],
        append: &mut impl FnMut(&Partition, &mut [u8], i16, i64) -> Result<Option<(Appended, Awaited)>, AppendError>,
    ) -> Option<ProduceResult> {
        let (broker, acks) = (self.broker, self.request.acks);
        let row = self.request.partitions.get(at)?;
        let Some(partition) = topic.and_then(|t| t.partition(row.index)) else {
            return Some(not_here(broker, topic.is_some(), &row.topic, row.index, body));
        };
        if let Some(refused) = check_request(broker, acks, self.may_write_internal, topic) {
            return Some(refused);
        }
        let Some(batch) = row.records.clone().and_then(|r| body.get_mut(r)) else {
            let message = Some("the partition has no records".into());
            return Some(ProduceResult::refused(ErrorCode::INVALID_RECORD, message));
        };
        let size = match check_batch(self.version, self.request, batch) {
            Err(refused) => return Some(refused),
            Ok(size) => size,
        };
        Some(match append(partition, &mut batch[..size], acks, self.now_ms) {
            Ok(None) => return None,
            Ok(Some((appended, awaited))) => {
                if awaited.wants_flush {
                    broker.flusher.enqueue(partition);
                }
                if !awaited.is_nothing() {
                    self.waits.push(Wait {
                        at,
                        partition: Arc::clone(partition),
                        awaited,
                    });
                }
                ProduceResult {
                    error: ErrorCode::NONE,
                    base_offset: appended.first_offset.get(),
                    log_append_time_ms: appended.log_append_time_ms,
                    log_start_offset: appended.log_start_offset.get(),
                    ..ProduceResult::refused(ErrorCode::NONE, None)
                }
            }
            Err(error) => append_refused(broker, partition, error),
        })
    }

    fn count(&self, partition: Option<&Arc<Partition>>, error: ErrorCode) {
        let add = |count| match partition {
            Some(partition) => partition.meter().add(count, 1),
            None => self.broker.metrics.add(count, 1),
        };
        add(Count::TotalProduceRequests);
        if error != ErrorCode::NONE {
            add(Count::FailedProduceRequests);
        }
    }

    /// Notes a result; the records at fault are listed for the first partitions that have any.
    fn push(&mut self, mut result: ProduceResult) {
        if !result.record_errors.is_empty() {
            result.record_errors.truncate(MAX_RECORD_ERRORS - *self.listed);
            result.record_errors.shrink_to_fit();
            *self.listed += result.record_errors.len();
        }
        self.results.push(result);
    }
}

/// The result for a partition without a replica on this broker: it names the current leader, if the cluster has the
/// partition (KIP-951).
fn not_here(broker: &Broker, has_topic: bool, key: &TopicKey, index: i32, body: &[u8]) -> ProduceResult {
    let image = broker.image.load();
    let topic = match key {
        TopicKey::Name(_) => key.name(body).and_then(|name| image.topic(name)),
        TopicKey::Id(id) => image.topic_by_id(id),
    };
    if let Some(row) = topic.and_then(|topic| topic.partition(index)) {
        return ProduceResult {
            current_leader: Some((row.leader, row.leader_epoch.get())),
            ..ProduceResult::refused(ErrorCode::NOT_LEADER_OR_FOLLOWER, None)
        };
    }
    let is_unknown_id = matches!(key, TopicKey::Id(_)) && !has_topic && topic.is_none();
    let code = if is_unknown_id {
        ErrorCode::UNKNOWN_TOPIC_ID
    } else {
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
    };
    ProduceResult::refused(code, None)
}

/// The checks that need no look at the records; returns the refusal, if any.
fn check_request(
    broker: &Broker,
    acks: i16,
    may_write_internal: bool,
    topic: Option<&Arc<Topic>>,
) -> Option<ProduceResult> {
    if !(-1..=1).contains(&acks) {
        return Some(ProduceResult::refused(ErrorCode::INVALID_REQUIRED_ACKS, None));
    }
    if broker.has_refused_produces() {
        let message = "this broker is about to stop, another will lead".to_owned();
        return Some(ProduceResult::refused(ErrorCode::NOT_LEADER_OR_FOLLOWER, Some(message)));
    }
    if topic.is_some_and(|topic| topic.is_internal()) && !may_write_internal {
        let message = "clients may not write an internal topic".to_owned();
        return Some(ProduceResult::refused(
            ErrorCode::INVALID_TOPIC_EXCEPTION,
            Some(message),
        ));
    }
    None
}

/// Checks that a partition has exactly one v2 batch, and the rules that depend on the request (`record::validate`
/// checks the rest). Returns the batch's size.
fn check_batch(version: i16, request: &ProduceRequest, records: &[u8]) -> Result<usize, ProduceResult> {
    let size = single_batch(records, version).map_err(rejected)?;
    let is_transactional = BatchHeader::parse(records).is_ok_and(|header| header.is_transactional());
    if is_transactional {
        let (code, message) = match request.transactional_id {
            None => (
                ErrorCode::INVALID_REQUEST,
                "a transactional batch needs a transactional id in its request",
            ),
            Some(_) => (
                ErrorCode::INVALID_TXN_STATE,
                "the partition is not part of an ongoing transaction",
            ),
        };
        return Err(ProduceResult::refused(code, Some(message.to_owned())));
    }
    Ok(size)
}

fn rejected(rejection: Rejection) -> ProduceResult {
    ProduceResult {
        record_errors: rejection.record_errors,
        ..ProduceResult::refused(rejection.code, Some(rejection.message))
    }
}

fn append_refused(broker: &Broker, partition: &Arc<Partition>, error: AppendError) -> ProduceResult {
    match error {
        AppendError::Rejected(rejection) => rejected(rejection),
        AppendError::Storage(error) => {
            let code = error.code();
            if !matches!(error, Error::Rejected { .. } | Error::Closed { .. }) {
                broker.storage_failed(partition, &error);
            }
            let mut result = ProduceResult::refused(code, Some(error.to_string()));
            if code == ErrorCode::NOT_LEADER_OR_FOLLOWER {
                result.current_leader = partition.current_leader().map(|(leader, epoch)| (leader, epoch.get()));
            }
            result
        }
    }
}

fn encode(
    broker: &Broker,
    version: i16,
    listener: &str,
    body: &[u8],
    request: &ProduceRequest,
    results: &[ProduceResult],
    out: &mut Vec<u8>,
) {
    if results.iter().all(|r| r.current_leader.is_none()) {
        return encode_produce_response(out, version, body, request, results, &[], 0);
    }
    let image = broker.image.load();
    let mut leaders: Vec<i32> = results
        .iter()
        .filter_map(|r| r.current_leader)
        .map(|(id, _)| id)
        .collect();
    leaders.sort_unstable();
    leaders.dedup();
    let endpoints: Vec<NodeEndpoint<'_>> = leaders
        .iter()
        .filter_map(|id| image.node_endpoint(*id, listener))
        .collect();
    encode_produce_response(out, version, body, request, results, &endpoints, 0);
}

/// Keeps the parts of the request that the answer needs, without the records.
fn park(
    version: i16,
    body: &[u8],
    mut request: ProduceRequest,
    results: Vec<ProduceResult>,
    waits: Vec<Wait>,
    deadline: Instant,
) -> ParkedProduce {
    let mut names = Vec::new();
    let mut last = 0..0;
    for row in &mut request.partitions {
        row.records = None;
        if let TopicKey::Name(range) = &mut row.topic {
            if row.first_of_topic {
                let at = names.len();
                names.extend_from_slice(body.get(range.clone()).unwrap_or_default());
                last = at..names.len();
            }
            *range = last.clone();
        }
    }
    request.transactional_id = None;
    let watched = waits.iter().map(|w| Arc::clone(&w.partition)).collect();
    ParkedProduce {
        version,
        request,
        names,
        results,
        waits,
        watched,
        deadline,
    }
}

impl Delayed for ParkedProduce {
    fn watch(&self, waiter: &Waiter) {
        for wait in &self.waits {
            wait.partition.waiters().watch(WaitKind::Produce, waiter.clone());
        }
    }

    fn forget(&self, waiter: &Waiter) {
        for partition in &self.watched {
            partition
                .waiters()
                .forget(WaitKind::Produce, waiter.operation, &waiter.owner);
        }
    }

    fn try_complete(&mut self, attempt: &Attempt<'_>, out: &mut Vec<u8>) -> Tried {
        if !self.poll() {
            if !attempt.is_due {
                return Tried::Waits;
            }
            self.expire();
        }
        let listener = attempt.caller.listener;
        encode(
            attempt.broker,
            self.version,
            listener,
            &self.names,
            &self.request,
            &self.results,
            out,
        );
        Tried::Answered(Rest::Nothing)
    }

    fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Pipelined produces wait for their replicas together; their answers leave in order.
    fn mutes(&self) -> bool {
        false
    }
}

impl ParkedProduce {
    /// Whether nothing is left to wait for. A partition that can no longer be satisfied gets its error.
    fn poll(&mut self) -> bool {
        let results = &mut self.results;
        self.waits
            .retain(|wait| match wait.partition.is_satisfied(wait.awaited) {
                Ok(done) => !done,
                Err(error) => {
                    if let Some(result) = results.get_mut(wait.at) {
                        *result = ProduceResult::refused(error.code(), Some(error.to_string()));
                    }
                    false
                }
            });
        self.waits.is_empty()
    }

    /// Ends the waits that are left with `REQUEST_TIMED_OUT`; their records stay in the log.
    fn expire(&mut self) {
        for wait in self.waits.drain(..) {
            if let Some(result) = self.results.get_mut(wait.at) {
                *result = ProduceResult::refused(ErrorCode::REQUEST_TIMED_OUT, None);
            }
        }
    }
}

#[cfg(test)]
mod tests;
