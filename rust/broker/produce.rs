//! Produce: authorise the acks, find each partition, append, and know what to wait for (spec: R0.4, R0.5, R0.6, R3.1).
//!
//! Place: between `net` (frames) and `partition` (append). One partition's error never fails the others. The answer is
//! written at once, or a [`ParkedProduce`] is handed to the caller, who polls it when it is woken and ends it at its
//! deadline. It never touches sockets or clocks: both times are passed in.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Broker;
use super::partition::{Awaited, Partition};
use super::registry::Topic;
use super::waiters::{WaitKind, Waiter};
use crate::error::{Error, ErrorCode};
use crate::record::{BatchHeader, Origin, Rejection, single_batch};
use crate::storage::AppendError;
use crate::wire::{NodeEndpoint, ProduceRequest, ProduceResult, TopicKey, WireError, encode_produce_response};

/// Who asks, as far as answers depend on it.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// Listener name the connection came in on.
    pub listener: &'a str,
    /// Whether it may write Kafka's internal topics.
    pub may_write_internal: bool,
    /// Whether it may act as a broker: fetch as a follower.
    pub is_broker: bool,
}

/// Buffers reused from one request to the next; one for each network loop.
#[derive(Default)]
pub struct ProduceScratch {
    request: ProduceRequest,
    results: Vec<ProduceResult>,
}

/// What became of a produce.
pub enum ProduceOutcome {
    /// The response body is written.
    Answered,
    /// acks=0 and all went well: nothing is sent.
    Silent,
    /// acks=0 and something failed: closing the connection is the only way to tell (as Kafka does).
    Disconnect,
    /// Waits for replicas or for the disk.
    Parked(Box<ParkedProduce>),
}

/// A produce that waits (spec: R0.8). Dropping it answers nothing: the owner must.
pub struct ParkedProduce {
    version: i16,
    request: ProduceRequest,
    names: Vec<u8>,
    results: Vec<ProduceResult>,
    waits: Vec<Wait>,
    /// All that were ever waited for: a satisfied one may still be watched.
    watched: Vec<Arc<Partition>>,
    /// When it must be answered whatever happens.
    pub deadline: Instant,
}

struct Wait {
    at: usize,
    partition: Arc<Partition>,
    awaited: Awaited,
}

/// Serves one Produce body, which is patched in place. Appends the response body to `out` unless the outcome says
/// otherwise.
pub fn handle(
    broker: &Broker,
    version: i16,
    caller: Caller<'_>,
    body: &mut [u8],
    scratch: &mut ProduceScratch,
    (now_ms, now): (i64, Instant),
    out: &mut Vec<u8>,
) -> Result<ProduceOutcome, WireError> {
    scratch.request.decode(version, body)?;
    scratch.results.clear();
    let waits = append_all(broker, version, caller, body, scratch, now_ms);
    broker.metrics.count_produce(&scratch.results);
    if scratch.request.acks == 0 {
        let failed = scratch.results.iter().any(|r| r.error != ErrorCode::NONE);
        return Ok(if failed {
            ProduceOutcome::Disconnect
        } else {
            ProduceOutcome::Silent
        });
    }
    if !waits.is_empty() {
        let timeout = Duration::from_millis(u64::try_from(scratch.request.timeout_ms).unwrap_or(0));
        return Ok(ProduceOutcome::Parked(Box::new(park(
            version,
            body,
            scratch,
            waits,
            now + timeout,
        ))));
    }
    encode(broker, version, caller, body, &scratch.request, &scratch.results, out);
    Ok(ProduceOutcome::Answered)
}

fn append_all(
    broker: &Broker,
    version: i16,
    caller: Caller<'_>,
    body: &mut [u8],
    scratch: &mut ProduceScratch,
    now_ms: i64,
) -> Vec<Wait> {
    let mut waits = Vec::new();
    let topics = broker.registry.snapshot();
    let mut topic: Option<&Arc<Topic>> = None;
    for (at, row) in scratch.request.partitions.iter().enumerate() {
        if row.first_of_topic {
            topic = match &row.topic {
                TopicKey::Name(_) => row.topic.name(body).and_then(|name| topics.by_name(name)),
                TopicKey::Id(id) => topics.by_id(id),
            };
        }
        let partition = topic.and_then(|t| t.partition(row.index));
        let refused = if partition.is_none() {
            Some(not_here(broker, topic.is_some(), &row.topic, row.index, body))
        } else {
            check_request(broker, scratch.request.acks, caller, topic)
        };
        let result = match (refused, partition, row.records.clone().and_then(|r| body.get_mut(r))) {
            (Some(refused), ..) => refused,
            (None, Some(partition), Some(batch)) => match check_batch(version, &scratch.request, batch) {
                Err(refused) => refused,
                Ok(size) => match partition.append(&mut batch[..size], scratch.request.acks, Origin::Client, now_ms) {
                    Ok((appended, awaited)) => {
                        if awaited.wants_flush {
                            broker.flusher.enqueue(partition);
                        }
                        if !awaited.is_nothing() {
                            waits.push(Wait {
                                at,
                                partition: Arc::clone(partition),
                                awaited,
                            });
                        }
                        ProduceResult {
                            error: ErrorCode::NONE,
                            base_offset: appended.first_offset,
                            log_append_time_ms: appended.log_append_time_ms,
                            log_start_offset: appended.log_start_offset,
                            ..ProduceResult::refused(ErrorCode::NONE, None)
                        }
                    }
                    Err(error) => append_refused(broker, partition, error),
                },
            },
            _ => ProduceResult::refused(ErrorCode::INVALID_RECORD, Some("the partition has no records".into())),
        };
        scratch.results.push(result);
    }
    waits
}

/// Of a partition that this broker has no replica of: who leads it, if the cluster has it (KIP-951).
fn not_here(broker: &Broker, has_topic: bool, key: &TopicKey, index: i32, body: &[u8]) -> ProduceResult {
    let image = broker.image.load();
    let topic = match key {
        TopicKey::Name(_) => key.name(body).and_then(|name| image.topic(name)),
        TopicKey::Id(id) => image.topic_by_id(id),
    };
    if let Some(row) = topic.and_then(|topic| topic.partition(index)) {
        return ProduceResult {
            current_leader: Some((row.leader, row.leader_epoch)),
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

/// What can be refused without looking at the records.
fn check_request(broker: &Broker, acks: i16, caller: Caller<'_>, topic: Option<&Arc<Topic>>) -> Option<ProduceResult> {
    if !(-1..=1).contains(&acks) {
        return Some(ProduceResult::refused(ErrorCode::INVALID_REQUIRED_ACKS, None));
    }
    let is_internal = topic.is_some_and(|t| broker.is_internal(&t.name));
    if is_internal && !caller.may_write_internal {
        let message = "clients may not write an internal topic".to_owned();
        return Some(ProduceResult::refused(
            ErrorCode::INVALID_TOPIC_EXCEPTION,
            Some(message),
        ));
    }
    None
}

/// Exactly one v2 batch a partition, and what depends on the request (the rest is `record::validate`). Returns its size.
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
                result.current_leader = partition.current_leader();
            }
            result
        }
    }
}

fn encode(
    broker: &Broker,
    version: i16,
    caller: Caller<'_>,
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
        .filter_map(|id| image.node_endpoint(*id, caller.listener))
        .collect();
    encode_produce_response(out, version, body, request, results, &endpoints, 0);
}

/// Keeps what the answer needs, without the records.
fn park(version: i16, body: &[u8], scratch: &mut ProduceScratch, waits: Vec<Wait>, deadline: Instant) -> ParkedProduce {
    let mut request = std::mem::take(&mut scratch.request);
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
        results: std::mem::take(&mut scratch.results),
        waits,
        watched,
        deadline,
    }
}

impl ParkedProduce {
    /// Watches every partition that it waits for. Poll once more afterwards.
    pub fn watch(&self, waiter: &Waiter) {
        for wait in &self.waits {
            wait.partition.waiters().watch(WaitKind::Produce, waiter.clone());
        }
    }

    /// Stops watching, everywhere.
    pub fn forget(&self, waiter: &Waiter) {
        for partition in &self.watched {
            partition
                .waiters()
                .forget(WaitKind::Produce, waiter.operation, &waiter.owner);
        }
    }

    /// Whether nothing is left to wait for. A partition that can no longer be satisfied gets its error.
    pub fn poll(&mut self) -> bool {
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

    /// Gives up on what is left: `REQUEST_TIMED_OUT`, though the records stay in the log.
    pub fn expire(&mut self) {
        for wait in self.waits.drain(..) {
            if let Some(result) = self.results.get_mut(wait.at) {
                *result = ProduceResult::refused(ErrorCode::REQUEST_TIMED_OUT, None);
            }
        }
    }

    /// Appends the response body.
    pub fn encode(&self, broker: &Broker, listener: &str, out: &mut Vec<u8>) {
        let caller = Caller {
            listener,
            may_write_internal: false,
            is_broker: false,
        };
        encode(
            broker,
            self.version,
            caller,
            &self.names,
            &self.request,
            &self.results,
            out,
        );
    }
}

#[cfg(test)]
mod tests;
