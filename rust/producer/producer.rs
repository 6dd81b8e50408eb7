//! One writer's producer: rows in, acknowledged batches out.
//!
//! Everything happens in the caller's thread, within `append`, `drain` and `flush`: requests are written and answers
//! read as far as the sockets allow, and only `drain` and `flush` wait for a broker's answers. What is appended is
//! durable (as `acks` says) when `flush` has written all; that of a transactional producer is seen by consumers of
//! committed records when the transaction is committed, which a producer never does: a
//! [`Committer`](super::Committer) does. `answers` takes what brokers answer.

mod answers;
mod command;
mod repair;
mod transaction;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::accumulator::{Accumulator, size_of};
use super::cluster::{Cluster, Missing};
use super::committer::Prepared;
use super::delivery::Delivery;
use super::error::{ProducerError, Result, Vain, failed};
use super::identity;
use super::link::{Frame, Link};
use super::options::ProducerOptions;
use super::partitioner::Sticky;
use super::produce;
use super::report::DeliveryReport;
use super::rows::{Row, RowTopic, Rows};
use super::transactions::Identity;
use base::error::ErrorCode;
use client::{is_final, is_shut_out, reason_of};
use record::{Header, partition_of};
use transaction::Transaction;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long one wait for sockets lasts; what is due by time is looked at in between.
const WAIT: Duration = Duration::from_millis(50);
/// Kafka's `metadata.max.age.ms`: leaders, and new partitions, are looked up again.
const METADATA_MAX_AGE: Duration = Duration::from_mins(5);

/// What a flushed producer has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Acknowledged records.
    pub records: u64,
    /// Acknowledged bytes of batches, compressed.
    pub bytes: u64,
    /// The open transaction that they are in; none without records.
    pub transaction: Option<Prepared>,
}

struct Topic {
    name: Arc<str>,
    /// The number of the queue of each partition.
    queues: Vec<usize>,
    leaders: Vec<i32>,
    sticky: Sticky,
}

/// See the module.
pub struct Producer {
    options: Arc<ProducerOptions>,
    cluster: Cluster,
    transactional_id: Option<String>,
    identity: Option<Identity>,
    default_topic: Option<Arc<str>>,
    topics: Vec<Topic>,
    by_name: HashMap<Arc<str>, usize>,
    accumulator: Accumulator,
    delivery: Delivery,
    links: HashMap<i32, Link>,
    last_request: u64,
    looked_up: Instant,
    must_look_up: bool,
    written: (u64, u64),
    has_failed: Option<ProducerError>,
    /// Of a producer that goes on: what its caller has not taken yet.
    reports: Vec<DeliveryReport>,
    /// The topic that was not found last, and why.
    unfound: Option<(Arc<str>, (ErrorCode, String))>,
    transaction: Transaction,
}

impl Producer {
    /// A producer that has not connected yet.
    pub fn new(options: Arc<ProducerOptions>) -> Self {
        Self {
            cluster: Cluster::new(Arc::clone(&options)),
            transactional_id: None,
            identity: None,
            default_topic: None,
            topics: Vec::new(),
            by_name: HashMap::new(),
            accumulator: Accumulator::new(Arc::clone(&options)),
            delivery: Delivery::new(Arc::clone(&options)),
            links: HashMap::new(),
            last_request: 0,
            looked_up: Instant::now(),
            must_look_up: false,
            written: (0, 0),
            has_failed: None,
            reports: Vec::new(),
            unfound: None,
            transaction: Transaction::default(),
            options,
        }
    }

    /// Begins to write for a task: rows without a topic go to `default_topic`. Everything that a former task appended
    /// is acknowledged. With a transactional id it is another producer; without one it goes on as the same.
    pub fn begin(&mut self, default_topic: Option<&str>, transactional_id: Option<String>) {
        self.default_topic = default_topic.map(Arc::from);
        self.written = (0, 0);
        if self.looked_up.elapsed() > METADATA_MAX_AGE {
            self.must_look_up = true;
        }
        if transactional_id.is_some() || self.transactional_id.is_some() {
            self.identity = None;
            self.transactional_id = transactional_id;
            for queue in &mut self.delivery.queues {
                queue.is_added = false;
            }
        }
    }

    /// Whether a task may go on with it.
    pub fn is_reusable(&self) -> bool {
        self.has_failed.is_none() && self.delivery.is_done()
    }

    /// Appends the rows of a block (`rows.rs` has its layout). After an error every call fails with it.
    pub fn append(&mut self, block: &[u8]) -> Result<()> {
        self.guarded(|producer| producer.append_rows(block))
    }

    /// Waits, at most for `limit`, until the buffer has room (`buffer.memory`); whether it has.
    pub fn drain(&mut self, limit: Duration) -> Result<bool> {
        let buffer_bytes = self.options.buffer_bytes;
        self.wait(limit, |producer| producer.delivery.pending_bytes <= buffer_bytes)
    }

    /// Waits, at most for `limit`, until every row is acknowledged; `None` when there are others.
    pub fn flush(&mut self, limit: Duration) -> Result<Option<Written>> {
        self.guarded(|producer| {
            for at in producer.accumulator.open_since(None) {
                producer.close(at);
            }
            Ok(())
        })?;
        if !self.wait(limit, |producer| producer.delivery.is_done())? {
            return Ok(None);
        }
        let (records, bytes) = self.written;
        Ok(Some(Written {
            records,
            bytes,
            transaction: self.prepared(),
        }))
    }

    fn wait(&mut self, limit: Duration, is_met: impl Fn(&Self) -> bool) -> Result<bool> {
        let deadline = Instant::now() + limit;
        self.guarded(|producer| {
            let mut wait = Duration::ZERO;
            while !is_met(producer) && Instant::now() < deadline {
                producer.step(wait)?;
                wait = WAIT;
            }
            Ok(())
        })?;
        Ok(is_met(self))
    }

    /// Ends the transaction, if one is open, without its records. Without one, records that are on their way may come
    /// to be written.
    pub fn abort(&mut self) -> Result<()> {
        self.has_failed = Some(failed("the writer was aborted"));
        let Some(Prepared {
            transactional_id,
            producer_id,
            epoch,
        }) = self.prepared()
        else {
            return Ok(());
        };
        self.links.clear(); // nothing more is written behind the end
        let identity = Identity { producer_id, epoch };
        // any error means that the transaction is open no more
        identity::end_transaction(&mut self.cluster, &transactional_id, &identity, false).map(drop)
    }

    fn prepared(&self) -> Option<Prepared> {
        let identity = self.identity.as_ref()?;
        let is_open = self.delivery.queues.iter().any(|queue| queue.is_added);
        is_open.then(|| Prepared {
            transactional_id: self.transactional_id.clone().unwrap_or_default(),
            producer_id: identity.producer_id,
            epoch: identity.epoch,
        })
    }

    fn guarded(&mut self, call: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if let Some(error) = &self.has_failed {
            return Err(error.clone());
        }
        let done = call(self);
        self.has_failed = done.as_ref().err().cloned();
        done
    }

    // ---- rows

    fn append_rows(&mut self, block: &[u8]) -> Result<()> {
        let now = Instant::now();
        let timestamp_ms = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_millis() as i64);
        let mut rows = Rows::new(block);
        let mut headers = Vec::new();
        let mut last = None;
        while let Some(row) = rows.next(&mut headers)? {
            let topic = match last {
                Some((name, topic)) if name == row.topic => topic,
                _ => self.topic_of(row.topic)?,
            };
            last = Some((row.topic, topic));
            let times = (row.timestamp_ms.unwrap_or(timestamp_ms), now);
            match self.append_row(topic, times, &row, &headers) {
                Err((_, sentence)) if !self.options.goes_on => return Err(ProducerError::Invalid(sentence)),
                Err(mistake) => self.report_row(topic, &row, mistake),
                Ok(()) => {}
            }
        }
        self.close_due(now);
        if !self.delivery.is_done() {
            self.step(Duration::ZERO)?;
        }
        Ok(())
    }

    /// Closes the batches that have waited for `linger.ms`.
    fn close_due(&mut self, now: Instant) {
        if let Some(due) = self.options.linger.and_then(|linger| now.checked_sub(linger)) {
            for at in self.accumulator.open_since(Some(due)) {
                self.close(at);
            }
        }
    }

    fn append_row(
        &mut self,
        topic: usize,
        times: (i64, Instant),
        row: &Row<'_>,
        headers: &[Header<'_>],
    ) -> Result<(), (ErrorCode, String)> {
        let size = size_of(row, headers);
        let topic = &mut self.topics[topic];
        if size > self.options.max_request_bytes {
            let sentence = format!(
                "topic {}: a record of {size} bytes is larger than {} = {}; raise it, and max.message.bytes of the \
                 topic",
                topic.name,
                self.options.keys.named("max.request.size"),
                self.options.max_request_bytes
            );
            return Err((ErrorCode::MESSAGE_TOO_LARGE, sentence));
        }
        let count = topic.queues.len();
        let partition = match (row.partition, row.key) {
            (Some(partition), _) => usize::try_from(partition)
                .ok()
                .filter(|at| *at < count)
                .ok_or_else(|| {
                    let sentence = format!(
                        "partition: {partition} is no partition of topic {}, which has {count}; give one from 0 to {}",
                        topic.name,
                        count - 1
                    );
                    (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, sentence)
                })?,
            (None, Some(key)) if !self.options.ignores_keys => partition_of(key, count),
            (None, _) => topic.sticky.next(size, self.options.batch_bytes, &topic.leaders),
        };
        let at = topic.queues[partition];
        if let Some(full) = self.accumulator.append(at, times, row, headers, size) {
            self.delivery.push(at, full);
        }
        Ok(())
    }

    fn close(&mut self, at: usize) {
        if let Some(full) = self.accumulator.close(at) {
            self.delivery.push(at, full);
        }
    }

    fn topic_of(&mut self, topic: RowTopic<'_>) -> Result<usize> {
        let name: Arc<str> = match topic {
            RowTopic::Named(name) => match self.by_name.get(name) {
                Some(known) => return self.ready(*known),
                None => Arc::from(name),
            },
            RowTopic::Default => self.default_topic.clone().ok_or_else(null_topic)?,
            RowTopic::Null => return Err(null_topic()),
        };
        if let Some(known) = self.by_name.get(&name) {
            return self.ready(*known);
        }
        self.cluster.look_up(&name)?;
        let number = self.add_topic(name);
        self.ready(number)
    }

    /// A topic whose leaders are known.
    fn add_topic(&mut self, name: Arc<str>) -> usize {
        self.topics.push(Topic {
            name: Arc::clone(&name),
            queues: Vec::new(),
            leaders: Vec::new(),
            sticky: Sticky::new(),
        });
        let number = self.topics.len() - 1;
        self.by_name.insert(name, number);
        self.take_leaders();
        number
    }

    /// The topic, now that there is a producer id to write to it with.
    fn ready(&mut self, topic: usize) -> Result<usize> {
        if self.identity.is_none() && self.options.is_idempotent {
            let identity = identity::acquire(&mut self.cluster, self.transactional_id.as_deref())?;
            self.identity = Some(identity.clone());
            let is_transactional = self.transactional_id.is_some();
            self.accumulator.become_producer(Some(identity), is_transactional);
        }
        Ok(topic)
    }

    /// Takes the leaders over from the metadata, and partitions that are new.
    fn take_leaders(&mut self) {
        for topic in &mut self.topics {
            let leaders = self.cluster.leaders(&topic.name);
            for (partition, leader) in leaders.iter().enumerate() {
                if let Some(at) = topic.queues.get(partition) {
                    self.delivery.queues[*at].leader = *leader;
                    continue;
                }
                topic.queues.push(self.accumulator.add_partition());
                self.delivery
                    .add_queue(Arc::clone(&topic.name), partition as i32, *leader);
            }
            topic.leaders = leaders.to_vec();
        }
    }

    // ---- requests

    /// Sends what can be sent, and takes the answers that are there or come within `wait`.
    fn step(&mut self, wait: Duration) -> Result<()> {
        let now = Instant::now();
        self.refuse_late(now)?;
        self.close_due(now);
        self.repair()?;
        self.look_up(now)?;
        self.add_partitions()?;
        self.send(now)?;
        let wait = self.delivery.until_next(now).map_or(wait, |time| time.min(wait));
        self.poll(self.until_due(now).map_or(wait, |time| time.min(wait)));
        let nodes: Vec<i32> = self.links.keys().copied().collect();
        for node in nodes {
            self.serve(node)?;
        }
        Ok(())
    }

    /// How long it is until an open batch is to be closed.
    fn until_due(&self, now: Instant) -> Option<Duration> {
        let due = self.accumulator.oldest()? + self.options.linger?;
        Some(due.saturating_duration_since(now))
    }

    fn refuse_late(&mut self, now: Instant) -> Result<()> {
        let Some(oldest) = now.checked_sub(self.options.delivery_timeout) else {
            return Ok(());
        };
        if self.options.goes_on {
            self.drop_late(oldest, now);
            return Ok(());
        }
        match self.delivery.expired(oldest) {
            None => Ok(()),
            Some((queue, records, reason)) => Err(failed(format!(
                "{}: {records} records were not taken within {} = {} ms ({reason}); write again when the brokers are \
                 well, or raise it",
                queue.name(),
                self.options.keys.named("delivery.timeout.ms"),
                self.options.delivery_timeout.as_millis()
            ))),
        }
    }

    fn look_up(&mut self, now: Instant) -> Result<()> {
        let is_wanted = self.must_look_up || self.delivery.lacks_leader();
        if !is_wanted || now < self.looked_up + self.options.retry_backoff {
            return Ok(());
        }
        let topics: Vec<Arc<str>> = self.topics.iter().map(|topic| Arc::clone(&topic.name)).collect();
        let missing = self.cluster.refresh(&topics)?;
        if let Some(Missing {
            refusal: Some(_),
            reason,
            ..
        }) = &missing
            && !self.options.goes_on
        {
            return Err(ProducerError::Invalid(reason.clone()));
        }
        self.must_look_up = missing.is_some();
        self.looked_up = Instant::now();
        self.take_leaders();
        Ok(())
    }

    fn add_partitions(&mut self) -> Result<()> {
        let (Some(transactional_id), Some(identity)) = (&self.transactional_id, &self.identity) else {
            return Ok(());
        };
        let mut topics: Vec<(&str, Vec<i32>)> = Vec::new();
        let new = self
            .delivery
            .queues
            .iter()
            .filter(|queue| !queue.is_added && queue.has_waiting());
        for queue in new {
            match topics.last_mut() {
                Some((topic, partitions)) if **topic == *queue.topic => partitions.push(queue.partition),
                _ => topics.push((&queue.topic, vec![queue.partition])),
            }
        }
        if topics.is_empty() {
            return Ok(());
        }
        let added = identity::add(&mut self.cluster, transactional_id, identity, &topics);
        // some of them may be part of it though the request failed: an abort then has something to end
        for queue in self.delivery.queues.iter_mut().filter(|queue| queue.has_waiting()) {
            queue.is_added = true;
        }
        added
    }

    fn send(&mut self, now: Instant) -> Result<()> {
        for leader in self.delivery.leaders(now) {
            if let Err(vain) = self.connect(leader, now) {
                self.delivery.note(leader, &vain.passing(self.options.keys)?, now);
                self.must_look_up = true;
            }
            while self.send_one(leader, now) {}
        }
        Ok(())
    }

    fn connect(&mut self, node: i32, now: Instant) -> Result<(), Vain> {
        if let Some(link) = self.links.get(&node) {
            if !(link.is_over(now) && link.sent.is_empty()) {
                return Ok(());
            }
            self.links.remove(&node);
        }
        let server = self.cluster.server(node);
        let server = server.ok_or_else(|| Vain::now("its leader is not alive".to_owned()))?;
        let timeout = CONNECT_TIMEOUT.min(self.options.request_timeout);
        let link = Link::open(server, &self.options, timeout).map_err(|error| Vain {
            reason: format!("{}:{}: {}", server.0, server.1, reason_of(&error)),
            is_final: is_final(&error),
            is_shut_out: is_shut_out(&error),
        })?;
        self.links.insert(node, link);
        Ok(())
    }

    fn send_one(&mut self, leader: i32, now: Instant) -> bool {
        let Some(link) = self.links.get_mut(&leader) else {
            return false;
        };
        let is_throttled = link.not_before.is_some_and(|time| now < time);
        if is_throttled || link.is_over(now) || link.sent.len() >= self.options.max_in_flight {
            return false;
        }
        self.last_request += 1;
        let mut batches = self
            .delivery
            .take(leader, self.last_request, now, self.options.max_request_bytes);
        if batches.is_empty() {
            return false;
        }
        batches.sort_unstable_by_key(|(at, _)| *at); // those of a topic together
        let queues: Vec<usize> = batches.iter().map(|(at, _)| *at).collect();
        let mut frame = Frame::new(produce::KEY, produce::VERSION, &self.options.client_id);
        let topic_of = |at: usize| &self.delivery.queues[at].topic;
        let by_topic = || batches.chunk_by(|(one, _), (other, _)| topic_of(*one) == topic_of(*other));
        let timeout_ms = self.options.request_timeout.as_millis() as i32;
        let transactional_id = self.transactional_id.as_deref();
        produce::put_head(
            frame.bytes(),
            transactional_id,
            self.options.acks,
            timeout_ms,
            by_topic().count(),
        );
        for of_topic in by_topic() {
            let mut w = produce::fields(frame.bytes());
            w.string(topic_of(of_topic[0].0));
            w.length(Some(of_topic.len()));
            for (at, batch) in of_topic {
                let mut w = produce::fields(frame.bytes());
                w.i32(self.delivery.queues[*at].partition);
                w.length(Some(batch.len()));
                frame.batch(Arc::clone(batch));
            }
        }
        link.send(frame, self.last_request, queues, now + self.options.request_timeout);
        true
    }

    fn poll(&self, wait: Duration) {
        if wait.is_zero() {
            return;
        }
        let events = |link: &Link| {
            let write = if link.wants_to_write() {
                PollFlags::OUT
            } else {
                PollFlags::empty()
            };
            PollFlags::IN | write
        };
        let busy = self.links.values().filter(|link| !link.sent.is_empty());
        let mut fds: Vec<PollFd<'_>> = busy
            .map(|link| PollFd::from_borrowed_fd(link.fd(), events(link)))
            .collect();
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: wait.subsec_nanos().into(),
        };
        let _interrupted = poll(&mut fds, Some(&timeout));
    }
}

fn null_topic() -> ProducerError {
    ProducerError::Invalid(
        "null topic present in the data. Use the topic option for setting a topic.".to_owned(), // Spark's words
    )
}
