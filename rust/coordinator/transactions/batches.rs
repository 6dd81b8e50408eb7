//! Questions to the coordinators on other brokers: whether partitions are in a transaction, or to add them
//! (`AddPartitionsToTxn` version 5, KIP-890).
//!
//! A broker has one request under way; the questions that come meanwhile go together in the next. A question whose
//! request is lost is answered `NETWORK_EXCEPTION`: the producer sends its batch again. An addition to a transaction
//! whose predecessor is being ended is asked again after a pause, some times: its client would pause for longer.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use base::error::ErrorCode;
use broker::{Ask, Attempt, Broker, Channel, Peers, VerificationRequest, Verifying, Waiter};
use protocol::ApiTable;
use protocol::messages::Message;
use protocol::messages::add_partitions_to_txn::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use protocol::reader::MAX_ROWS;

/// The version that brokers send.
const VERSION: i16 = AddPartitionsToTxnRequest::LAST_VERSION;

/// The most transactions in one request.
const MAX_TRANSACTIONS: usize = 1000;
/// The pause before an addition is asked for again; each pause is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// How often an addition is asked for again: 255 ms in all.
const MAX_RETRIES: u32 = 8;

/// The answer to one question, once it is there.
#[derive(Default)]
struct Slot {
    state: Mutex<SlotState>,
}

#[derive(Default)]
struct SlotState {
    answer: Option<Vec<ErrorCode>>,
    waiters: Vec<Waiter>,
}

impl Slot {
    fn put(&self, answer: Vec<ErrorCode>) {
        let waiters = {
            let mut state = self.state.lock();
            state.answer = Some(answer);
            std::mem::take(&mut state.waiters)
        };
        for waiter in waiters {
            waiter.owner.wake(waiter.operation);
        }
    }
}

/// A question to another broker.
pub struct Awaiting {
    slot: Arc<Slot>,
    count: usize,
}

impl Verifying for Awaiting {
    fn watch(&self, waiter: &Waiter) {
        self.slot.state.lock().waiters.push(waiter.clone());
    }

    fn forget(&self, waiter: &Waiter) {
        let is_other = |one: &Waiter| one.operation != waiter.operation || !Arc::ptr_eq(&one.owner, &waiter.owner);
        self.slot.state.lock().waiters.retain(is_other);
    }

    fn poll(&mut self, attempt: &Attempt<'_>) -> Option<Vec<ErrorCode>> {
        let answer = self.slot.state.lock().answer.take();
        answer.or_else(|| attempt.is_due.then(|| vec![ErrorCode::NETWORK_EXCEPTION; self.count]))
    }
}

type Question = (VerificationRequest, Arc<Slot>);

#[derive(Default)]
struct Queue {
    is_busy: bool,
    waiting: Vec<Question>,
}

/// See the module.
#[derive(Default)]
pub struct Batches(Arc<Mutex<HashMap<i32, Queue>>>);

impl Batches {
    /// Asks the coordinator on the broker `node_id`.
    pub fn ask(&self, broker: &Broker, node_id: i32, asked: VerificationRequest) -> Box<dyn Verifying> {
        let slot = Arc::new(Slot::default());
        let count = asked.partitions.len();
        let Some(peers) = broker.peers().get() else {
            slot.put(vec![ErrorCode::NETWORK_EXCEPTION; count]);
            return Box::new(Awaiting { slot, count });
        };
        let batch = {
            let mut queues = self.0.lock();
            let queue = queues.entry(node_id).or_default();
            queue.waiting.push((asked, Arc::clone(&slot)));
            queue.next()
        };
        if let Some(batch) = batch {
            send(&self.0, peers, node_id, batch, 0);
        }
        Box::new(Awaiting { slot, count })
    }
}

impl Queue {
    /// The questions of the next request, if none is under way. A transactional id is in a request once, since the
    /// answer names its transactions by their ids.
    fn next(&mut self) -> Option<Vec<Question>> {
        if self.is_busy || self.waiting.is_empty() {
            return None;
        }
        self.is_busy = true;
        let mut ids: HashSet<Arc<str>> = HashSet::new();
        let (mut batch, mut later) = (Vec::new(), Vec::new());
        let mut rows = 0;
        for question in self.waiting.drain(..) {
            let asked = &question.0;
            let fits =
                batch.is_empty() || (batch.len() < MAX_TRANSACTIONS && rows + asked.partitions.len() <= MAX_ROWS);
            if fits && ids.insert(Arc::clone(&asked.transactional_id)) {
                rows += asked.partitions.len();
                batch.push(question);
            } else {
                later.push(question);
            }
        }
        self.waiting = later;
        Some(batch)
    }
}

/// Sends a batch; `retries` is how often it was sent before.
fn send(
    queues: &Arc<Mutex<HashMap<i32, Queue>>>,
    peers: &Arc<dyn Peers>,
    node_id: i32,
    batch: Vec<Question>,
    retries: u32,
) {
    let mut body = Vec::new();
    let request = AddPartitionsToTxnRequest {
        transactions: batch.iter().map(|(asked, _)| transaction(asked)).collect(),
        ..AddPartitionsToTxnRequest::default()
    };
    request.encode(&mut body, VERSION);
    let ask = Ask {
        api_key: ApiTable::ADD_PARTITIONS_TO_TXN,
        api_version: VERSION,
        body,
    };
    let (queues, next_peers) = (Arc::clone(queues), Arc::clone(peers));
    let then = move |answer: Option<&[u8]>| {
        let again = give(batch, answer, retries < MAX_RETRIES);
        if !again.is_empty() {
            send(&queues, &next_peers, node_id, again, retries + 1);
        }
        if retries > 0 {
            return; // another request may be under way
        }
        let next = {
            let mut queues = queues.lock();
            let queue = queues.entry(node_id).or_default();
            queue.is_busy = false;
            queue.next()
        };
        if let Some(next) = next {
            send(&queues, &next_peers, node_id, next, 0);
        }
    };
    match retries.checked_sub(1) {
        None => peers.send(Channel::Transactions, node_id, ask, Box::new(then)),
        Some(doublings) => {
            let pause = FIRST_PAUSE.saturating_mul(1 << doublings);
            peers.send_later(pause, Channel::Transactions, node_id, ask, Box::new(then));
        }
    }
}

fn transaction(asked: &VerificationRequest) -> AddPartitionsToTxnTransaction<'_> {
    let mut topics: Vec<AddPartitionsToTxnTopic<'_>> = Vec::new();
    let (mut places, mut known) = (HashMap::new(), HashSet::new());
    for (topic, index) in &asked.partitions {
        if !known.insert((topic, index)) {
            continue;
        }
        let at = *places.entry(topic).or_insert(topics.len());
        match topics.get_mut(at) {
            Some(topic) => topic.partitions.push(*index),
            None => topics.push(AddPartitionsToTxnTopic {
                name: topic,
                partitions: vec![*index],
            }),
        }
    }
    AddPartitionsToTxnTransaction {
        transactional_id: &asked.transactional_id,
        producer_id: asked.producer_id,
        producer_epoch: asked.producer_epoch,
        verify_only: !asked.is_added,
        topics,
    }
}

/// Gives each question its part of the answer. Returns the questions to ask again.
fn give(batch: Vec<Question>, answer: Option<&[u8]>, may_ask_again: bool) -> Vec<Question> {
    let decoded = answer.and_then(|body| AddPartitionsToTxnResponse::decode(VERSION, body).ok());
    let error = match decoded.as_ref().map(|response| response.error_code) {
        None => ErrorCode::NETWORK_EXCEPTION,
        Some(ErrorCode::NONE) => ErrorCode::UNKNOWN_SERVER_ERROR, // of a partition that the answer lacks
        Some(error) => error,
    };
    let results = decoded.filter(|response| response.error_code == ErrorCode::NONE);
    let results = results.map_or_else(Vec::new, |response| response.results_by_transaction);
    let mut codes = HashMap::new();
    for result in &results {
        for topic in &result.topic_results {
            for row in &topic.results_by_partition {
                let key = (result.transactional_id, topic.name, row.partition_index);
                codes.entry(key).or_insert(row.partition_error_code);
            }
        }
    }
    let mut again = Vec::new();
    for (asked, slot) in batch {
        let code = |(topic, index): &(Arc<str>, i32)| {
            let known = codes.get(&(&*asked.transactional_id, &**topic, *index));
            known.copied().unwrap_or(error)
        };
        let codes: Vec<_> = asked.partitions.iter().map(code).collect();
        if may_ask_again && asked.is_added && codes.contains(&ErrorCode::CONCURRENT_TRANSACTIONS) {
            again.push((asked, slot));
        } else {
            slot.put(codes);
        }
    }
    again
}

#[cfg(test)]
#[path = "batches_tests.rs"]
mod tests;
