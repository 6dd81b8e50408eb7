//! Which batch is sent when, and what an answer means: a table without I/O; the time is passed in.
//!
//! The batches of a partition are sent in their order, several at a time. What an answer means for a batch:
//!
//! - (a) no error, or `DUPLICATE_SEQUENCE_NUMBER`: the broker has it
//! - (b) an error that may pass, or no answer: it waits again, at its place, `retries` times. The partition then sends
//!   nothing until all its other batches on the way are answered, so that their order cannot change
//! - (c) `OUT_OF_ORDER_SEQUENCE_NUMBER` behind a batch of (b): the broker misses that one; as (b)
//! - (d) too large, and several records: it is cut into two, which wait at its place
//! - (e) any other error: the producer has failed; of one that goes on the batch alone has. Those behind it get the
//!   sequences that follow the batch before it, once nothing of the partition is on its way: what is comes back by (c)
//! - (f) the broker does not know the sequence, and the producer goes on: the partition begins anew with another
//!   producer id, once nothing of it is on its way
//!
//! The first batch of a partition goes alone: of a producer that it does not know a broker takes any sequence, so that
//! it might refuse the first batch, as it has just become the leader, and take the second.
//!
//! A batch that a broker has taken twice under (b) is a duplicate to it by its sequence (KIP-98), and once in the log.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::accumulator::FullBatch;
use super::cluster::NO_LEADER;
use super::error::advice;
use super::options::ProducerOptions;
use base::error::ErrorCode;

/// Where batches of a partition are.
pub(super) struct Queue {
    pub(super) topic: Arc<str>,
    pub(super) partition: i32,
    pub(super) leader: i32,
    /// Whether the partition is part of the transaction.
    pub(super) is_added: bool,
    /// Whether the broker has taken a batch.
    is_known: bool,
    /// Records that the broker has, of the producer that writes the partition now.
    taken: u64,
    /// What has to happen before it sends more.
    repair: Repair,
    waiting: VecDeque<FullBatch>,
    /// The batches on their way, each with its request.
    sent: VecDeque<(u64, FullBatch)>,
    not_before: Option<Instant>,
    reason: String,
}

/// What has to happen to a partition of which the broker misses a batch for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Repair {
    /// Nothing.
    None,
    /// What waits gets the sequences that follow what the broker has.
    Reseal,
    /// It gets another producer: what the broker has is not known.
    Renew,
}

/// What follows from an answer.
#[derive(Debug)]
pub(super) enum Settled {
    /// (a)
    Acknowledged(FullBatch),
    /// (b) and (c); whether the leader may have moved.
    Again { may_have_moved: bool },
    /// (d)
    TooLarge(FullBatch),
    /// (e)
    Refused(ErrorCode, FullBatch),
}

/// See the module.
pub(super) struct Delivery {
    pub(super) queues: Vec<Queue>,
    options: Arc<ProducerOptions>,
    /// The bytes of all batches that are not acknowledged.
    pub(super) pending_bytes: usize,
}

impl Queue {
    fn can_send(&self, now: Instant, max_in_flight: usize) -> bool {
        let is_held =
            self.not_before.is_some_and(|time| now < time) || self.is_draining() || self.repair != Repair::None;
        let most = if self.is_known { max_in_flight } else { 1 };
        !self.waiting.is_empty() && self.leader != NO_LEADER && !is_held && self.sent.len() < most
    }

    /// A batch waits that is before one on its way.
    fn is_draining(&self) -> bool {
        let last = self.sent.back().map(|(_, batch)| batch.first_record);
        let next = self.waiting.front().map(|batch| batch.first_record);
        matches!((last, next), (Some(last), Some(next)) if next < last)
    }

    fn has_before(&self, batch: &FullBatch) -> bool {
        let mut others = self.waiting.iter().chain(self.sent.iter().map(|(_, batch)| batch));
        others.any(|other| other.first_record < batch.first_record)
    }

    fn put_back(&mut self, batch: FullBatch) {
        let place = self
            .waiting
            .partition_point(|other| other.first_record < batch.first_record);
        self.waiting.insert(place, batch);
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The topic-partition as sentences name it.
    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.topic, self.partition)
    }
}

impl Delivery {
    pub(super) const fn new(options: Arc<ProducerOptions>) -> Self {
        Self {
            queues: Vec::new(),
            options,
            pending_bytes: 0,
        }
    }

    pub(super) fn add_queue(&mut self, topic: Arc<str>, partition: i32, leader: i32) {
        self.queues.push(Queue {
            topic,
            partition,
            leader,
            is_added: false,
            is_known: false,
            taken: 0,
            repair: Repair::None,
            waiting: VecDeque::new(),
            sent: VecDeque::new(),
            not_before: None,
            reason: "it was not sent".to_owned(),
        });
    }

    pub(super) fn push(&mut self, at: usize, batch: FullBatch) {
        if let Some(queue) = self.queues.get_mut(at) {
            self.pending_bytes += batch.bytes.len();
            queue.put_back(batch);
        }
    }

    pub(super) const fn is_done(&self) -> bool {
        self.pending_bytes == 0
    }

    /// The leaders that batches can be sent to now.
    pub(super) fn leaders(&self, now: Instant) -> Vec<i32> {
        let ready = self
            .queues
            .iter()
            .filter(|queue| queue.can_send(now, self.options.max_in_flight));
        let mut leaders: Vec<i32> = ready.map(|queue| queue.leader).collect();
        leaders.sort_unstable();
        leaders.dedup();
        leaders
    }

    /// How long it is until a batch that waits may be sent again; `None` when none waits for a time.
    pub(super) fn until_next(&self, now: Instant) -> Option<Duration> {
        let waiting = self.queues.iter().filter(|queue| queue.has_waiting());
        let times = waiting.filter_map(|queue| queue.not_before.filter(|time| *time > now));
        times.min().map(|time| time - now)
    }

    /// Whether a partition with batches has no leader.
    pub(super) fn lacks_leader(&self) -> bool {
        self.queues
            .iter()
            .any(|queue| queue.has_waiting() && queue.leader == NO_LEADER)
    }

    /// The batches of the leader's next request, each with the number of its queue: one of a partition, and together of
    /// `max_bytes`, but for the first.
    pub(super) fn take(
        &mut self,
        leader: i32,
        request: u64,
        now: Instant,
        max_bytes: usize,
    ) -> Vec<(usize, Arc<Vec<u8>>)> {
        let mut taken = Vec::new();
        let mut bytes = 0;
        let start = request as usize % self.queues.len().max(1); // each partition is first in turn
        let (before, behind) = (0..start, start..self.queues.len());
        for at in behind.chain(before) {
            let Some(queue) = self.queues.get_mut(at) else {
                continue;
            };
            if queue.leader != leader || !queue.can_send(now, self.options.max_in_flight) {
                continue;
            }
            let next = queue.waiting.front().map_or(0, |batch| batch.bytes.len());
            if !taken.is_empty() && bytes + next > max_bytes {
                continue;
            }
            if let Some(mut batch) = queue.waiting.pop_front() {
                batch.attempts += 1;
                bytes += next;
                taken.push((at, Arc::clone(&batch.bytes)));
                queue.sent.push_back((request, batch));
            }
        }
        taken
    }

    /// The answer for the batch of a request: `Err` with a clause when there was none.
    pub(super) fn settle(
        &mut self,
        at: usize,
        request: u64,
        answer: Result<ErrorCode, &str>,
        now: Instant,
    ) -> Option<Settled> {
        let queue = self.queues.get_mut(at)?;
        let place = queue.sent.iter().position(|(other, _)| *other == request)?;
        let (_, batch) = queue.sent.remove(place)?;
        let error = match answer {
            Ok(error) => error,
            Err(reason) => {
                reason.clone_into(&mut queue.reason);
                if batch.attempts > self.options.retries {
                    return Some(self.give_up(at, ErrorCode::NETWORK_EXCEPTION, batch));
                }
                return Some(self.again(at, batch, now, true));
            }
        };
        match error {
            // (a)
            ErrorCode::NONE | ErrorCode::DUPLICATE_SEQUENCE_NUMBER => {
                queue.is_known = true;
                queue.taken += batch.records as u64;
                self.pending_bytes -= batch.bytes.len();
                Some(Settled::Acknowledged(batch))
            }
            error if error.is_retriable() && batch.attempts > self.options.retries => {
                Some(self.give_up(at, error, batch))
            }
            // (b)
            error if error.is_retriable() => {
                queue.reason = format!("{}: {}", error.name(), advice(error, self.options.keys));
                Some(self.again(at, batch, now, has_moved(error)))
            }
            // (c)
            ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER if queue.has_before(&batch) || queue.repair == Repair::Reseal => {
                Some(self.again(at, batch, now, false))
            }
            // (d)
            ErrorCode::MESSAGE_TOO_LARGE | ErrorCode::RECORD_LIST_TOO_LARGE if batch.records > 1 => {
                self.pending_bytes -= batch.bytes.len();
                Some(Settled::TooLarge(batch))
            }
            // (f)
            ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER
            | ErrorCode::UNKNOWN_PRODUCER_ID
            | ErrorCode::INVALID_PRODUCER_EPOCH
                if self.options.goes_on && self.options.transactional_id.is_none() =>
            {
                queue.repair = Repair::Renew;
                Some(self.again(at, batch, now, false))
            }
            // (e)
            error => {
                self.pending_bytes -= batch.bytes.len();
                if self.options.is_idempotent {
                    queue.repair = queue.repair.max(Repair::Reseal);
                }
                Some(Settled::Refused(error, batch))
            }
        }
    }

    /// Takes out all batches that wait in a queue, in their order.
    pub(super) fn take_waiting(&mut self, at: usize) -> Vec<FullBatch> {
        let Some(queue) = self.queues.get_mut(at) else {
            return Vec::new();
        };
        let waiting: Vec<FullBatch> = queue.waiting.drain(..).collect();
        self.pending_bytes -= waiting.iter().map(|batch| batch.bytes.len()).sum::<usize>();
        waiting
    }

    /// A queue of which nothing is on its way, and what has to happen to it.
    pub(super) fn to_repair(&self) -> Option<(usize, Repair)> {
        let mut queues = self.queues.iter().enumerate();
        let (at, queue) = queues.find(|(_, queue)| queue.repair != Repair::None && queue.sent.is_empty())?;
        Some((at, queue.repair))
    }

    /// It is repaired; the number of records that the broker has.
    pub(super) fn repaired(&mut self, at: usize) -> u64 {
        let Some(queue) = self.queues.get_mut(at) else {
            return 0;
        };
        if queue.repair == Repair::Renew {
            (queue.taken, queue.is_known) = (0, false);
        }
        queue.repair = Repair::None;
        queue.taken
    }

    /// Every partition begins anew with another producer; nothing waits and nothing is on its way.
    pub(super) fn begin_anew(&mut self) {
        for queue in &mut self.queues {
            (queue.taken, queue.is_known, queue.is_added) = (0, false, false);
            queue.repair = Repair::None;
        }
    }

    /// The batches that are older than the time, each with its queue: they wait no longer.
    pub(super) fn take_expired(&mut self, created_before: Instant) -> Vec<(usize, FullBatch)> {
        let mut expired = Vec::new();
        for (at, queue) in self.queues.iter_mut().enumerate() {
            while let Some(batch) = queue.waiting.pop_front_if(|batch| batch.created < created_before) {
                self.pending_bytes -= batch.bytes.len();
                let repair = if batch.attempts > 0 {
                    Repair::Renew
                } else {
                    Repair::Reseal
                };
                if self.options.is_idempotent {
                    queue.repair = queue.repair.max(repair);
                }
                expired.push((at, batch));
            }
        }
        expired
    }

    /// Records that are not acknowledged.
    pub(super) fn pending_records(&self) -> u64 {
        let batches = self.queues.iter().flat_map(|queue| {
            let sent = queue.sent.iter().map(|(_, batch)| batch);
            sent.chain(&queue.waiting)
        });
        batches.map(|batch| batch.records as u64).sum()
    }

    /// Whether a batch is on its way.
    pub(super) fn has_sent(&self) -> bool {
        self.queues.iter().any(|queue| !queue.sent.is_empty())
    }

    /// Why the queue waits.
    pub(super) fn reason(&self, at: usize) -> &str {
        self.queues.get(at).map_or("", |queue| queue.reason.as_str())
    }

    fn again(&mut self, at: usize, batch: FullBatch, now: Instant, may_have_moved: bool) -> Settled {
        if let Some(queue) = self.queues.get_mut(at) {
            queue.not_before = Some(now + self.options.retry_backoff);
            queue.put_back(batch);
        }
        Settled::Again { may_have_moved }
    }

    /// (b), but it was sent often enough. A broker may have it.
    fn give_up(&mut self, at: usize, error: ErrorCode, batch: FullBatch) -> Settled {
        self.pending_bytes -= batch.bytes.len();
        if let Some(queue) = self.queues.get_mut(at).filter(|_| self.options.is_idempotent) {
            queue.repair = Repair::Renew;
        }
        Settled::Refused(error, batch)
    }

    /// The partition has waited for a leader, or for a connection to it.
    pub(super) fn note(&mut self, leader: i32, reason: &str, now: Instant) {
        for queue in self
            .queues
            .iter_mut()
            .filter(|queue| queue.leader == leader && queue.has_waiting())
        {
            reason.clone_into(&mut queue.reason);
            queue.not_before = Some(now + self.options.retry_backoff);
        }
    }

    /// A partition with a batch older than the time, how many records wait there, and why.
    pub(super) fn expired(&self, created_before: Instant) -> Option<(&Queue, i32, &str)> {
        self.queues.iter().find_map(|queue| {
            let batches = || queue.sent.iter().map(|(_, batch)| batch).chain(&queue.waiting);
            let is_late = batches().any(|batch| batch.created < created_before);
            is_late.then(|| (queue, batches().map(|batch| batch.records).sum(), queue.reason.as_str()))
        })
    }
}

/// Those after which the leader is looked up.
fn has_moved(error: ErrorCode) -> bool {
    matches!(
        error,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
            | ErrorCode::LEADER_NOT_AVAILABLE
            | ErrorCode::NOT_LEADER_OR_FOLLOWER
            | ErrorCode::REPLICA_NOT_AVAILABLE
            | ErrorCode::NETWORK_EXCEPTION
            | ErrorCode::KAFKA_STORAGE_ERROR
            | ErrorCode::FENCED_LEADER_EPOCH
            | ErrorCode::UNKNOWN_LEADER_EPOCH
    )
}
