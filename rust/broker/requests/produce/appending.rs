//! The appending of a request's batches, in order, and the checks of each batch before its append.
//!
//! One partition's error never fails the others. Transactional batches were verified before, see `verification`.

use std::sync::Arc;

use super::authorized::Unauthorized;
use super::parked::Wait;
use super::verification::Verdicts;
use crate::Broker;
use crate::metrics::Count;
use crate::partition::refusals::idempotent;
use crate::partition::{Awaited, Partition};
use crate::published::absent::AbsentTopic;
use crate::published::registry::{Topic, Topics};
use base::error::{Error, ErrorCode};
use protocol::produce::BATCHES_FROM;
use protocol::{ProducePartition, ProduceRequest, ProduceResult, TopicKey};
use record::{Rejection, Room, WITHOUT_KEY, single_batch};
use storage::producer_state::VerificationGuard;
use storage::topic_partition::is_valid_topic_name;
use storage::{AppendError, Appended};

/// A request with more partitions than this is not served on a network loop.
pub(super) const MANY_ROWS: usize = 1000;
/// A request with more bytes than this is not served on a network loop: its checksums and writes take milliseconds.
pub(super) const MANY_BYTES: usize = 4 << 20;
/// The bytes that a slice of a request inflates before other requests have their turn.
const SLICE_BYTES: usize = 16 << 20;
/// Records at fault that an answer lists, over all partitions.
const MAX_RECORD_ERRORS: usize = 1000;

/// The outcome of one append; `None` when the batch is left for later.
type AppendOutcome = Result<Option<(Appended, Awaited)>, AppendError>;

/// The appending of one request's batches, in order; `results` has one result for each batch that is done.
pub(super) struct Appending<'a> {
    pub(super) broker: &'a Broker,
    pub(super) version: i16,
    pub(super) may_write_internal: bool,
    pub(super) now_ms: i64,
    pub(super) request: &'a ProduceRequest,
    pub(super) unauthorized: &'a Unauthorized,
    pub(super) verdicts: &'a Verdicts,
    pub(super) results: &'a mut Vec<ProduceResult>,
    pub(super) waits: &'a mut Vec<Wait>,
    /// Records at fault that the results list.
    pub(super) listed: &'a mut usize,
}

impl Appending<'_> {
    /// On a network loop: appends all batches and returns true. Stops before the first batch that takes more than
    /// `room` and returns false.
    pub(super) fn append_all(&mut self, body: &mut [u8], room: &mut Room) -> bool {
        let (acks, now_ms) = (self.request.acks, self.now_ms);
        let append =
            |partition: &Partition, batch: &mut [u8], guard| partition.append_within(batch, acks, guard, now_ms, room);
        self.append_up_to(body, usize::MAX, append)
    }

    /// On another thread: appends the next batches. True when none are left, `None` when the next batch takes more than
    /// `room`.
    pub(super) fn append_slice(&mut self, body: &mut [u8], room: &mut Room) -> Option<bool> {
        let (last_row, min_room_bytes) = (self.results.len() + MANY_ROWS, room.bytes().saturating_sub(SLICE_BYTES));
        let (acks, now_ms) = (self.request.acks, self.now_ms);
        let has_batches = self.version >= BATCHES_FROM;
        let mut bytes = 0;
        loop {
            let at = self.results.len();
            let append = |partition: &Partition, batch: &mut [u8], guard| {
                bytes += batch.len();
                if has_batches {
                    partition.append_elsewhere(batch, acks, guard, now_ms, room)
                } else {
                    partition.append_message_set(batch, acks, now_ms, room)
                }
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
        mut append: impl FnMut(&Partition, &mut [u8], VerificationGuard) -> AppendOutcome,
    ) -> bool {
        let topics = self.broker.registry().snapshot();
        let mut topic: Option<&Arc<Topic>> = None;
        let first = self.results.len();
        for (at, row) in self.request.partitions.iter().enumerate().skip(first) {
            if at - first >= most {
                return false;
            }
            if row.first_of_topic || at == first {
                topic = topic_of(&topics, &row.topic, body);
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
        append: &mut impl FnMut(&Partition, &mut [u8], VerificationGuard) -> AppendOutcome,
    ) -> Option<ProduceResult> {
        let broker = self.broker;
        let row = self.request.partitions.get(at)?;
        if let Some(refused) = self.unauthorized.refusal(at) {
            return Some(refused);
        }
        let guard = match self.verdicts.of(at) {
            Ok(guard) => guard,
            Err(refused) => return Some(refused),
        };
        let Some(partition) = topic.and_then(|t| t.partition(row.index)) else {
            return Some(not_here(broker, topic.is_some(), row, body, self.now_ms));
        };
        if let Some(refused) = check_request(broker, self.request.acks, self.may_write_internal, topic) {
            return Some(refused);
        }
        let Some(batch) = row.records.clone().and_then(|r| body.get_mut(r)) else {
            let message = Some("the partition has no records".into());
            return Some(ProduceResult::refused(ErrorCode::INVALID_RECORD, message));
        };
        let size = if self.version >= BATCHES_FROM {
            match single_batch(batch, self.version) {
                Err(rejection) => return Some(rejected(rejection)),
                Ok(size) => size,
            }
        } else {
            batch.len()
        };
        Some(match append(partition, &mut batch[..size], guard) {
            Ok(None) => return None,
            Ok(Some((appended, awaited))) => {
                if awaited.wants_flush {
                    broker.threads().flusher().enqueue(partition);
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
            None => self.broker.metrics().add(count, 1),
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

/// A topic by the name or the id that a request has for it.
pub(super) fn topic_of<'a>(topics: &'a Topics, key: &TopicKey, body: &[u8]) -> Option<&'a Arc<Topic>> {
    match key {
        TopicKey::Name(_) => key.name(body).and_then(|name| topics.by_name(name)),
        TopicKey::Id(id) => topics.by_id(id),
    }
}

/// The result for a partition without a replica on this broker: it names the current leader, if the cluster has the
/// partition (KIP-951). The batch is noted: this broker may be the leader that does not know it yet.
pub(super) fn not_here(
    broker: &Broker,
    has_topic: bool,
    row: &ProducePartition,
    body: &[u8],
    now_ms: i64,
) -> ProduceResult {
    let (key, index) = (&row.topic, row.index);
    let batch = row.records.clone().and_then(|range| body.get(range));
    if let (Some(header), Some(topic)) = (batch.and_then(idempotent), absent_topic(key, body)) {
        broker.registry().note_absent(topic, index, &header, now_ms);
    }
    let image = broker.image().load();
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

/// A topic that may come; `None` for a name that no topic has.
pub(super) fn absent_topic(key: &TopicKey, body: &[u8]) -> Option<AbsentTopic> {
    match key {
        TopicKey::Id(id) => Some(AbsentTopic::Id(*id)),
        TopicKey::Name(_) => {
            let name = key.name(body).filter(|name| is_valid_topic_name(name));
            name.map(|name| AbsentTopic::Name(name.into()))
        }
    }
}

/// The checks that need no look at the records; returns the refusal, if any.
pub(crate) fn check_request(
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

pub(super) fn rejected(rejection: Rejection) -> ProduceResult {
    ProduceResult {
        record_errors: rejection.record_errors,
        ..ProduceResult::refused(rejection.code, Some(rejection.message))
    }
}

pub(crate) fn append_refused(broker: &Broker, partition: &Arc<Partition>, error: AppendError) -> ProduceResult {
    match error {
        AppendError::Rejected(mut rejection) => {
            let without_key = |(_, message): &&mut (i32, String)| message == WITHOUT_KEY;
            for (_, message) in rejection.record_errors.iter_mut().filter(without_key) {
                *message = format!(
                    "{WITHOUT_KEY} in topic partition {}-{}.",
                    partition.topic(),
                    partition.index()
                );
            }
            rejected(rejection)
        }
        AppendError::Storage(error) => {
            let code = error.code();
            if !matches!(error, Error::Rejected { .. } | Error::Closed { .. }) {
                broker.logs().dirs().storage_failed(partition, &error);
            }
            let mut result = ProduceResult::refused(code, Some(error.to_string()));
            if code == ErrorCode::NOT_LEADER_OR_FOLLOWER {
                result.current_leader = partition
                    .leadership()
                    .current_leader()
                    .map(|(leader, epoch)| (leader, epoch.get()));
            }
            result
        }
    }
}
