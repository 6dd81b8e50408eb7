//! The table of transactions that are being ended, and of their markers: which are to be written, are under way, or are
//! to be written again. Only one thread works on it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::marker_append::{MarkerBy, append_marker};
use super::super::service::TransactionHome;
use super::super::transaction::TopicPartition;
use super::{Decided, Post, record_end};
use crate::Here;
use base::error::ErrorCode;
use broker::{Ask, Awaited, Broker, Channel, Marker, Partition, WaitKind, Waiter, Wake, planted};
use protocol::ApiTable;
use protocol::messages::Message;
use protocol::messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};

/// The pause before a marker is written again.
const RETRY_AFTER: Duration = Duration::from_millis(100);
/// The pause before a commit marker is written again that the partition refused, having seen a later epoch.
const REFUSED_AGAIN_AFTER: Duration = Duration::from_mins(1);
/// How long the cluster must lack a topic before its markers are given up: it is deleted, and not only unknown here
/// yet.
const GONE_AFTER: Duration = Duration::from_secs(5);
/// The version that coordinators send.
const VERSION: i16 = WriteTxnMarkersRequest::LAST_VERSION;
/// The most markers in one request to a broker.
const MAX_MARKERS: usize = 5000;

/// A marker: the number of its transaction, and its partition.
type MarkerKey = (u64, TopicPartition);

/// A broker's answer to `WriteTxnMarkers`, or its absence.
pub struct Answer {
    node_id: i32,
    sent: Vec<MarkerKey>,
    body: Option<Vec<u8>>,
}

/// A transaction that is being ended.
struct End {
    home: Arc<TransactionHome>,
    id: Arc<str>,
    marker: Marker,
    /// Partitions without a marker, and how far each marker is.
    left: BTreeMap<TopicPartition, Progress>,
    /// When the record of the end is to be appended again.
    record_at: Option<Instant>,
}

#[derive(Clone, Copy)]
enum Progress {
    ToWrite,
    UnderWay,
    Again(Instant),
    /// The cluster does not have the partition since then.
    Missing(Instant),
}

/// A marker that this broker has appended and that is not replicated yet.
struct Appended {
    key: MarkerKey,
    partition: Arc<Partition>,
    awaited: Awaited,
}

#[derive(Default)]
struct Sending {
    is_busy: bool,
    queue: Vec<MarkerKey>,
}

/// See the module.
#[derive(Default)]
pub struct Table {
    last_number: u64,
    ends: BTreeMap<u64, End>,
    appended: HashMap<u64, Appended>,
    brokers: BTreeMap<i32, Sending>,
    /// Markers to write, in order.
    to_write: Vec<MarkerKey>,
    /// Transactions to look at: all of their markers may be written.
    to_record: Vec<u64>,
    look_at: Option<Instant>,
}

enum Route {
    Here,
    To(i32),
    Unknown,
    Missing,
}

impl Table {
    /// When a marker is to be written again, if any is.
    pub fn next_look(&self) -> Option<Instant> {
        self.look_at
    }

    /// Adds a transaction; the markers that it lacks are written at the next [`Self::work`].
    pub fn begin(&mut self, decided: Decided, post: &Arc<Post>, now: Instant) {
        self.last_number += 1;
        let (number, marker) = (self.last_number, decided.marker());
        let mut left: BTreeMap<_, _> = decided
            .value
            .partitions
            .into_iter()
            .map(|one| (one, Progress::ToWrite))
            .collect();
        for (one, ..) in &decided.appended {
            left.insert(one.clone(), Progress::UnderWay);
        }
        let lacking = left.iter().filter(|(_, one)| matches!(one, Progress::ToWrite));
        self.to_write.extend(lacking.map(|(one, _)| (number, one.clone())));
        self.to_record.push(number);
        let end = End {
            home: decided.home,
            id: decided.id,
            marker,
            left,
            record_at: None,
        };
        self.ends.insert(number, end);
        for (one, partition, awaited) in decided.appended {
            self.await_marker(post, (number, one), partition, awaited, now);
        }
    }

    /// Takes in what other threads have left: markers that may be replicated now, answers of brokers.
    pub fn take(&mut self, here: Here<'_>, post: &Arc<Post>, woken: Vec<u64>, answers: Vec<Answer>, now: Instant) {
        for number in woken {
            if let Some(one) = self.appended.remove(&number) {
                self.watch(post, one, number, now);
            }
        }
        for answer in answers {
            self.answered(here, answer, now);
        }
    }

    /// Begins to watch the partition of a marker that was appended here.
    fn await_marker(
        &mut self,
        post: &Arc<Post>,
        key: MarkerKey,
        partition: Arc<Partition>,
        awaited: Awaited,
        now: Instant,
    ) {
        self.last_number += 1;
        let one = Appended {
            key,
            partition,
            awaited,
        };
        self.watch(post, one, self.last_number, now);
    }

    /// Watches the partition of a marker that was appended here, unless the marker is replicated. A wake-up ends the
    /// watch, and the marker may have been replicated before the watch began: so the watch comes first.
    fn watch(&mut self, post: &Arc<Post>, one: Appended, number: u64, now: Instant) {
        let waiter = Waiter {
            owner: Arc::clone(post) as Arc<dyn Wake>,
            operation: number,
        };
        one.partition.waiters().watch(WaitKind::Produce, waiter.clone());
        let is_satisfied = one.partition.is_satisfied(one.awaited);
        if let Ok(false) = is_satisfied {
            self.appended.insert(number, one);
            return;
        }
        let waiters = one.partition.waiters();
        waiters.forget(WaitKind::Produce, waiter.operation, &waiter.owner);
        match is_satisfied {
            Ok(_) => self.done(&one.key),
            Err(_) => self.again(&one.key, now),
        }
    }

    fn done(&mut self, (number, partition): &MarkerKey) {
        if let Some(end) = self.ends.get_mut(number) {
            end.left.remove(partition);
            if end.left.is_empty() {
                self.to_record.push(*number);
            }
        }
    }

    fn again(&mut self, key: &MarkerKey, now: Instant) {
        self.again_after(key, now, RETRY_AFTER);
    }

    fn again_after(&mut self, (number, partition): &MarkerKey, now: Instant, pause: Duration) {
        let at = now + pause;
        if let Some(progress) = self.ends.get_mut(number).and_then(|end| end.left.get_mut(partition)) {
            *progress = Progress::Again(at);
            self.look_no_later_than(at);
        }
    }

    fn look_no_later_than(&mut self, at: Instant) {
        self.look_at = Some(self.look_at.map_or(at, |before| before.min(at)));
    }

    /// Writes the markers that are due, sends requests, records the ends.
    pub fn work(&mut self, here: Here<'_>, post: &Arc<Post>, now: Instant) {
        if self.look_at.is_some_and(|at| at <= now) {
            self.collect_due(now);
        }
        for key in std::mem::take(&mut self.to_write) {
            self.write(here, post, key, now);
        }
        self.send(&here, post, now);
        for number in std::mem::take(&mut self.to_record) {
            self.record(here, number, now);
        }
    }

    /// Collects what is to be done again, and drops the transactions that another broker coordinates now.
    fn collect_due(&mut self, now: Instant) {
        self.look_at = None;
        self.ends
            .retain(|_, end| end.home.is_current() || planted::keeps_transactions_of_others());
        let mut next: Option<Instant> = None;
        let mut later = |at: Instant| next = Some(next.map_or(at, |before: Instant| before.min(at)));
        for (number, end) in &mut self.ends {
            for (partition, progress) in &mut end.left {
                match *progress {
                    Progress::Again(at) if at > now => later(at),
                    Progress::Again(_) | Progress::Missing(_) => {
                        self.to_write.push((*number, partition.clone()));
                    }
                    Progress::ToWrite | Progress::UnderWay => {}
                }
            }
            match end.record_at {
                Some(at) if at > now => later(at),
                Some(_) => self.to_record.push(*number),
                None => {}
            }
        }
        self.look_at = next;
    }

    fn write(&mut self, here: Here<'_>, post: &Arc<Post>, key: MarkerKey, now: Instant) {
        let Some(end) = self.ends.get_mut(&key.0) else { return };
        let marker = end.marker;
        let Some(progress) = end.left.get_mut(&key.1) else {
            return;
        };
        let route = route(&here, &key.1);
        if let Route::Missing = route {
            let since = if let Progress::Missing(since) = *progress {
                since
            } else {
                now
            };
            *progress = Progress::Missing(since);
            if now.saturating_duration_since(since) >= GONE_AFTER {
                return self.done(&key);
            }
            return self.look_no_later_than(now + RETRY_AFTER);
        }
        *progress = Progress::UnderWay;
        match route {
            Route::To(node_id) => self.brokers.entry(node_id).or_default().queue.push(key),
            Route::Here => self.append(here, post, key, &marker, now),
            Route::Unknown | Route::Missing => self.again(&key, now),
        }
    }

    fn append(&mut self, here: Here<'_>, post: &Arc<Post>, key: MarkerKey, marker: &Marker, now: Instant) {
        let now_ms = here.context().clock.now_ms();
        match append_marker(here, &key.1.0, key.1.1, marker, MarkerBy::Coordinator, now_ms) {
            Ok((_, awaited)) if awaited.is_nothing() => self.done(&key),
            Ok((partition, awaited)) => self.await_marker(post, key, partition, awaited, now),
            Err(code) => self.judge(here, &key, code, now),
        }
    }

    /// Judges the code that the leader of a partition gave for a marker.
    fn judge(&mut self, here: Here<'_>, key: &MarkerKey, code: ErrorCode, now: Instant) {
        match code {
            ErrorCode::NONE | ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT => self.done(key),
            ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::TRANSACTION_COORDINATOR_FENCED => {
                // the partition has seen a later epoch: the marker of this one will never be taken
                let (topic, index) = &key.1;
                let Some(end) = self.ends.get(&key.0) else { return };
                let (id, is_commit) = (Arc::clone(&end.id), end.marker.is_commit);
                let so = if is_commit {
                    "; it stays in PrepareCommit, since its records there may have been aborted"
                } else {
                    ""
                };
                here.log(&format!(
                    "the marker of transaction {id} for {topic}-{index} is refused for good: {}{so}",
                    code.name()
                ));
                match is_commit.then_some(REFUSED_AGAIN_AFTER) {
                    Some(pause) => self.again_after(key, now, pause),
                    None => self.done(key),
                }
            }
            _ => self.again(key, now),
        }
    }

    /// Sends each broker the markers that wait for it, unless a request is under way.
    fn send(&mut self, broker: &Broker, post: &Arc<Post>, now: Instant) {
        let Some(peers) = broker.peers().get() else {
            let queued = self
                .brokers
                .values_mut()
                .flat_map(|sending| std::mem::take(&mut sending.queue));
            for key in queued.collect::<Vec<_>>() {
                self.again(&key, now);
            }
            return;
        };
        for (node_id, sending) in &mut self.brokers {
            if sending.is_busy || sending.queue.is_empty() {
                continue;
            }
            let count = sending.queue.len().min(MAX_MARKERS);
            let sent: Vec<MarkerKey> = sending.queue.drain(..count).collect();
            let body = request(&self.ends, &sent);
            sending.is_busy = true;
            let (post, node_id) = (Arc::clone(post), *node_id);
            let ask = Ask {
                api_key: ApiTable::WRITE_TXN_MARKERS,
                api_version: VERSION,
                body,
            };
            let then = move |body: Option<&[u8]>| {
                post.answer(Answer {
                    node_id,
                    sent,
                    body: body.map(<[u8]>::to_vec),
                });
            };
            peers.send(Channel::Markers, node_id, ask, Box::new(then));
        }
    }

    fn answered(&mut self, here: Here<'_>, answer: Answer, now: Instant) {
        self.brokers.entry(answer.node_id).or_default().is_busy = false;
        let response = answer
            .body
            .as_deref()
            .map(|body| WriteTxnMarkersResponse::decode(VERSION, body));
        let mut codes = HashMap::new();
        for marker in response
            .and_then(Result::ok)
            .iter()
            .flat_map(|response| &response.markers)
        {
            for topic in &marker.topics {
                for row in &topic.partitions {
                    codes.insert((marker.producer_id, topic.name, row.partition_index), row.error_code);
                }
            }
        }
        for key in answer.sent {
            let Some(producer_id) = self.ends.get(&key.0).map(|end| end.marker.producer_id) else {
                continue;
            };
            let code = codes.get(&(producer_id, &*key.1.0, key.1.1)).copied();
            self.judge(here, &key, code.unwrap_or(ErrorCode::NETWORK_EXCEPTION), now);
        }
    }

    /// Records the end of a transaction without markers left.
    fn record(&mut self, here: Here<'_>, number: u64, now: Instant) {
        let Some(end) = self.ends.get_mut(&number).filter(|end| end.left.is_empty()) else {
            return;
        };
        if !end.home.is_current() {
            self.ends.remove(&number);
            return;
        }
        match record_end(here, &end.home, &end.id) {
            Ok(()) | Err(ErrorCode::NOT_COORDINATOR) => drop(self.ends.remove(&number)),
            Err(_) => {
                end.record_at = Some(now + RETRY_AFTER);
                self.look_no_later_than(now + RETRY_AFTER);
            }
        }
    }
}

/// The broker to which a marker goes.
fn route(broker: &Broker, (topic, index): &TopicPartition) -> Route {
    let image = broker.image().load();
    if image.controller_id == broker::NO_CONTROLLER {
        return Route::Unknown; // the image may lack topics
    }
    match image.topic(topic).and_then(|row| row.partition(*index)) {
        None => Route::Missing,
        Some(row) if row.leader == broker.node_id() => Route::Here,
        Some(row) if row.leader >= 0 => Route::To(row.leader),
        Some(_) => Route::Unknown,
    }
}

/// The body of `WriteTxnMarkers` with these markers.
fn request(ends: &BTreeMap<u64, End>, sent: &[MarkerKey]) -> Vec<u8> {
    let mut by_end: BTreeMap<u64, BTreeMap<&str, Vec<i32>>> = BTreeMap::new();
    for (number, (topic, index)) in sent {
        let topics = by_end.entry(*number).or_default();
        topics.entry(topic).or_default().push(*index);
    }
    let marker = |(number, topics): (u64, BTreeMap<_, _>)| {
        let marker = ends.get(&number)?.marker;
        let topics = topics
            .into_iter()
            .map(|(name, partition_indexes)| WritableTxnMarkerTopic {
                name,
                partition_indexes,
            });
        Some(WritableTxnMarker {
            producer_id: marker.producer_id,
            producer_epoch: marker.producer_epoch,
            transaction_result: marker.is_commit,
            coordinator_epoch: marker.coordinator_epoch,
            transaction_version: i8::try_from(marker.transaction_version).unwrap_or(0),
            topics: topics.collect(),
        })
    };
    let markers = by_end.into_iter().filter_map(marker).collect();
    let mut body = Vec::new();
    WriteTxnMarkersRequest { markers }.encode(&mut body, VERSION);
    body
}
