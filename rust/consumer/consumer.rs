//! The consumer: one loop of questions, answers and records, which runs within [`Consumer::poll`] alone.
//!
//! A broker gets one Fetch at a time, of all its partitions; the next one is sent before the records of the last answer
//! are handed over, so that the broker works meanwhile. A partition that cannot be read fails a poll with its error, in
//! which no record is lost, and is tried again by later ones.

mod answers;
mod questions;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};

use self::questions::{Metadata, Purpose, Question};
use super::error::{ConsumerError, Result};
use super::link::Link;
use super::options::ConsumerOptions;
use super::partition::{Assigned, EARLIEST};
use super::records::FetchedRecords;
use client::Server;

/// How long one wait for sockets lasts; what is due by time is looked at in between.
const WAIT: Duration = Duration::from_millis(50);
/// Sentences that nobody has taken are kept up to this number.
const MAX_WARNINGS: usize = 64;

/// A topic and the number of a partition.
pub type TopicPartition = (Arc<str>, i32);

/// See the module.
pub struct Consumer {
    options: ConsumerOptions,
    partitions: Vec<Assigned>,
    /// Which assignment it is; answers to the questions of an earlier one are dropped.
    generation: u64,
    brokers: BTreeMap<i32, Server>,
    links: HashMap<(Server, Purpose), Link<Question>>,
    metadata: Metadata,
    errors: VecDeque<ConsumerError>,
    warnings: Vec<String>,
    /// The partition whose turn it is, among those that are fetched and those that are handed over.
    turn: usize,
    /// Memory of answers that may be used again.
    memory: Vec<Arc<Vec<u8>>>,
}

impl Consumer {
    /// A consumer of nothing, which has not connected.
    pub fn new(options: ConsumerOptions) -> Self {
        Self {
            options,
            partitions: Vec::new(),
            generation: 0,
            brokers: BTreeMap::new(),
            links: HashMap::new(),
            metadata: Metadata::new(),
            errors: VecDeque::new(),
            warnings: Vec::new(),
            turn: 0,
            memory: Vec::new(),
        }
    }

    /// Reads these partitions from these offsets on, and no others; -2 is the first record, -1 the end.
    pub fn assign(&mut self, partitions: BTreeMap<(String, i32), i64>) -> Result<()> {
        if let Some(((topic, partition), offset)) = partitions.iter().find(|(_, offset)| **offset < EARLIEST) {
            return Err(ConsumerError::lasting(format!(
                "{topic}-{partition}: {offset} is no offset; give one of at least 0, -2 for the first record, or -1 \
                 for the end"
            )));
        }
        self.generation += 1;
        self.errors.clear();
        let mut last: Arc<str> = Arc::from("");
        let assigned = partitions.into_iter().map(|((topic, partition), offset)| {
            if *last != *topic {
                last = Arc::from(topic);
            }
            Assigned::new(Arc::clone(&last), partition, offset)
        });
        self.partitions = assigned.collect();
        self.metadata.begin_anew();
        Ok(())
    }

    /// Up to `max_records` records, of each partition together; none when none came in time. Waits for `timeout` at
    /// most.
    pub fn poll(&mut self, timeout: Duration, max_records: usize) -> Result<Vec<FetchedRecords>> {
        let until = Instant::now() + timeout;
        loop {
            let now = Instant::now();
            self.ask(now);
            self.take_answers(now);
            let taken = self.take(max_records);
            if !taken.is_empty() {
                self.ask(now);
                return Ok(taken);
            }
            if let Some(error) = self.errors.pop_front() {
                return Err(error);
            }
            let Some(left) = until.checked_duration_since(now).filter(|left| !left.is_zero()) else {
                return Ok(taken);
            };
            self.ask(now); // what the answers have shown to be needed: nothing else would wake the wait
            self.wait(left.min(WAIT));
        }
    }

    fn take(&mut self, max_records: usize) -> Vec<FetchedRecords> {
        let mut taken = Vec::new();
        let mut left = max_records;
        let (turn, count) = (self.turn, self.partitions.len());
        for at in (0..count).map(|at| (turn + at) % count) {
            if left == 0 {
                break;
            }
            let one = &mut self.partitions[at];
            match one.take(left) {
                Ok(records) if records.count > 0 => {
                    left -= records.count;
                    taken.push(records);
                    self.turn = at + usize::from(left > 0); // one of which records are left is the first again
                }
                Ok(_) => {}
                Err(error) => {
                    let sentence = format!("{} cannot be read at offset {}: {error}", one.name(), one.position);
                    self.fail(ConsumerError::of_code(error.code(), sentence).lasting_too());
                }
            }
        }
        taken
    }

    /// The next offset to hand over of each partition of which it is known.
    pub fn positions(&self) -> BTreeMap<TopicPartition, i64> {
        let known = self.partitions.iter().filter(|one| one.position.get() >= 0);
        known
            .map(|one| ((Arc::clone(&one.topic), one.partition), one.position.get()))
            .collect()
    }

    /// How far each partition could be read at its last answer.
    pub fn high_watermarks(&self) -> BTreeMap<TopicPartition, i64> {
        let known = self.partitions.iter();
        known
            .filter_map(|one| Some(((Arc::clone(&one.topic), one.partition), one.high_watermark?)))
            .collect()
    }

    /// Hands over no more of a partition, or goes on with it.
    pub fn set_paused(&mut self, topic: &str, partition: i32, is_paused: bool) -> Result<()> {
        let assigned = self.partitions.iter_mut().find(|one| one.is_of(topic, partition));
        let one = assigned.ok_or_else(|| {
            ConsumerError::lasting(format!(
                "{topic}-{partition} is not assigned; assign it before it is paused"
            ))
        })?;
        one.is_paused = is_paused;
        Ok(())
    }

    /// What went wrong and is tried again, each as one sentence, since the last call.
    pub fn take_warnings(&mut self) -> Vec<String> {
        mem::take(&mut self.warnings)
    }

    /// Ends the connections; nothing is assigned any more.
    pub fn close(&mut self) {
        self.partitions.clear();
        self.links.clear();
        self.generation += 1;
    }

    /// A later poll fails with it; with what lasts only once.
    fn fail(&mut self, error: ConsumerError) {
        if !self.errors.contains(&error) {
            self.errors.push_back(error);
        }
    }

    fn warn(&mut self, sentence: String) {
        if self.warnings.len() < MAX_WARNINGS && !self.warnings.contains(&sentence) {
            self.warnings.push(sentence);
        }
    }

    fn wait(&self, limit: Duration) {
        if self.links.values().any(Link::is_new) {
            return;
        }
        let waits = self.links.values().filter_map(Link::waits_for);
        let mut fds: Vec<PollFd<'_>> = waits
            .map(|(socket, flags)| PollFd::from_borrowed_fd(socket, flags))
            .collect();
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: limit.subsec_nanos().into(),
        };
        let _interrupted = poll(&mut fds, Some(&timeout));
    }
}
