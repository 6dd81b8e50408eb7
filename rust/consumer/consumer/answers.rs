//! What answers mean for the partitions that they are about. What an error of a partition means:
//!
//! - (a) it may pass, or the leader has moved: Metadata is asked for, and the partition asked about again
//! - (b) the offset is out of range: the partition is reset as `auto.offset.reset` says
//! - (c) any other: a poll fails with it, and the partition is asked about again by later ones

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::chunk::Chunk;
use super::super::error::ConsumerError;
use super::super::link::Answer;
use super::super::options::Reset;
use super::super::partition::{EARLIEST, LATEST, Leader};
use super::super::requests::{self, Fetched, OffsetAnswer, TopicPlaces};
use super::Consumer;
use super::questions::{About, Question};
use base::error::ErrorCode;
use base::place::Offset;
use client::NoAnswer;
use protocol::WireError;

/// A topic that no broker knows for longer was deleted, or is not made: a new one takes a moment to be known to all.
const MISSING_FOR: Duration = Duration::from_secs(3);
/// After so many rounds in which every server closed the connection before it let the client in, none of them will.
const MAX_SHUT_OUTS: usize = 5;

impl Consumer {
    /// Goes on with every connection.
    pub(super) fn take_answers(&mut self, now: Instant) {
        let mut stepped = Vec::new();
        for (key, link) in &mut self.links {
            match link.step(now) {
                Ok(None) => {}
                Ok(Some(answered)) => stepped.push(Ok(answered)),
                Err(no_answer) => stepped.push(Err((key.clone(), no_answer))),
            }
        }
        for one in stepped {
            match one {
                Ok((question, answer)) => self.answered(question, answer, now),
                Err((key, no_answer)) => {
                    let question = self.links.remove(&key).and_then(super::Link::into_question);
                    self.unanswered(question, &no_answer, now);
                }
            }
        }
    }

    fn answered(&mut self, question: Question, answer: Answer, now: Instant) {
        if question.generation != self.generation {
            return;
        }
        let is_read = match &question.about {
            About::Metadata => requests::read_metadata(answer.body()).map(|topology| {
                self.brokers = topology.brokers;
                self.metadata.answer(now, self.options.retry_backoff);
                for topic in &topology.topics {
                    self.place(topic, now);
                }
            }),
            About::Offsets(_) => requests::read_offsets(answer.body()).map(|offsets| {
                for one in &offsets {
                    self.found_offset(one, now);
                }
            }),
            About::EpochEnds(_) => requests::read_epoch_ends(answer.body()).map(|ends| {
                for one in &ends {
                    self.checked(one, now);
                }
            }),
            About::Fetch(node, asked) => self.fetched_all(*node, asked, answer, now),
        };
        if is_read.is_err() {
            let no_answer = NoAnswer {
                address: "a broker".to_owned(),
                reason: "its answer is not Kafka's protocol".to_owned(),
                is_final: false,
                is_shut_out: false,
            };
            self.unanswered(Some(question), &no_answer, now);
        }
    }

    fn fetched_all(
        &mut self,
        node: i32,
        asked: &[(usize, Offset)],
        answer: Answer,
        now: Instant,
    ) -> Result<(), WireError> {
        let rack = &self.options.client_rack;
        let (error, fetched) = requests::read_fetched(&answer.bytes, answer.body(), rack)?;
        let bytes = Arc::new(answer.bytes);
        for (at, offset) in asked {
            let one = &self.partitions[*at];
            match fetched.iter().find(|it| one.is_of(&it.topic, it.partition)) {
                Some(of_one) if error == ErrorCode::NONE => self.fetched((node, *at, *offset), of_one, &bytes, now),
                _ => self.refused(*at, error, now),
            }
        }
        self.keep(&bytes);
        Ok(())
    }

    fn unanswered(&mut self, question: Option<Question>, no_answer: &NoAnswer, now: Instant) {
        let NoAnswer { address, reason, .. } = no_answer;
        if no_answer.is_final {
            self.fail(ConsumerError::lasting(format!(
                "bootstrap.servers: {address}: {reason}; check security.protocol, sasl.* and ssl.*"
            )));
        } else {
            self.warn(format!("{address}: {reason}"));
        }
        let Some(Question { about, .. }) = question.filter(|it| it.generation == self.generation) else {
            return;
        };
        match about {
            About::Metadata => {
                let servers = self.servers().len();
                self.metadata.shut_outs = if no_answer.is_shut_out {
                    self.metadata.shut_outs + 1
                } else {
                    0
                };
                self.metadata.fail(now, self.options.retry_backoff, servers);
                if self.metadata.shut_outs >= MAX_SHUT_OUTS * servers {
                    self.metadata.shut_outs = 0;
                    self.fail(ConsumerError::lasting(format!(
                        "bootstrap.servers: {address}: {reason}"
                    )));
                }
            }
            About::Offsets(asked) | About::EpochEnds(asked) => self.ask_again(asked.into_iter(), now),
            About::Fetch(_, asked) => self.ask_again(asked.into_iter().map(|(at, _)| at), now),
        }
    }

    /// (a)
    fn ask_again(&mut self, asked: impl Iterator<Item = usize>, now: Instant) {
        self.metadata.is_wanted = true;
        for at in asked {
            if let Some(one) = self.partitions.get_mut(at) {
                one.preferred = None;
                one.back_off(now, self.options.retry_backoff);
            }
        }
    }

    // ---- Metadata

    fn place(&mut self, topic: &TopicPlaces, now: Instant) {
        let name: Arc<str> = Arc::from(topic.name.as_str());
        match topic.error {
            ErrorCode::NONE => {
                let was_missing = self.metadata.missing.remove(&name).is_some();
                let was_seen = !self.metadata.seen.insert(Arc::clone(&name));
                if (was_missing && was_seen) || self.metadata.remade.contains(&name) {
                    return self.remade(name);
                }
            }
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => return self.missing(&name, now),
            error if error.is_retriable() => {
                self.metadata.is_wanted = true;
                return self.warn(format!("topic {name}: {}", error.name()));
            }
            error => {
                self.metadata.is_wanted = true;
                return self.fail(refusal(&name, error));
            }
        }
        for at in 0..self.partitions.len() {
            let one = &mut self.partitions[at];
            if one.topic != name {
                continue;
            }
            match topic.leaders.get(&one.partition) {
                Some((node, epoch)) if *node >= 0 => {
                    let (node, epoch) = (*node, *epoch);
                    self.metadata.is_wanted |= !one.follow(Leader { node, epoch });
                }
                Some(_) => {
                    let sentence = format!("{} has no leader; start the brokers that have its replicas", one.name());
                    self.metadata.is_wanted = true;
                    self.warn(sentence);
                }
                None => {
                    let (partition, count) = (one.partition, topic.leaders.len());
                    self.metadata.is_wanted = true;
                    self.fail(ConsumerError::of_code(
                        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                        format!("topic {name} has no partition {partition}; it has {count}, which are numbered from 0"),
                    ));
                }
            }
        }
    }

    fn remade(&mut self, name: Arc<str>) {
        self.metadata.is_wanted = true;
        for one in self.partitions.iter_mut().filter(|one| one.topic == name) {
            one.leader = None;
        }
        self.fail(ConsumerError::lasting(format!(
            "topic {name} was deleted and made again: its offsets begin anew; assign it again"
        )));
        self.metadata.remade.insert(name);
    }

    fn missing(&mut self, name: &Arc<str>, now: Instant) {
        self.metadata.is_wanted = true;
        let since = *self.metadata.missing.entry(Arc::clone(name)).or_insert(now);
        if now.duration_since(since) < MISSING_FOR {
            return;
        }
        let what = if self.metadata.seen.contains(name) {
            "was deleted; make it again, or read another one"
        } else {
            "does not exist; create it, or check its name"
        };
        self.fail(ConsumerError {
            is_retriable: false,
            ..ConsumerError::of_code(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, format!("topic {name} {what}"))
        });
    }

    // ---- offsets

    fn number_of(&self, topic: &str, partition: i32) -> Option<usize> {
        self.partitions.iter().position(|one| one.is_of(topic, partition))
    }

    fn found_offset(&mut self, found: &OffsetAnswer, now: Instant) {
        let Some(at) = self.number_of(&found.topic, found.partition) else {
            return;
        };
        if found.error != ErrorCode::NONE {
            return self.refused(at, found.error, now);
        }
        let one = &mut self.partitions[at];
        if one.position.get() < 0 {
            one.seek(Offset(found.offset.max(0)));
        }
    }

    /// Records behind the end of their epoch were cut off the log by a later leader (KIP-320).
    fn checked(&mut self, end: &OffsetAnswer, now: Instant) {
        let Some(at) = self.number_of(&end.topic, end.partition) else {
            return;
        };
        if end.error != ErrorCode::NONE {
            return self.refused(at, end.error, now);
        }
        let one = &mut self.partitions[at];
        one.is_unchecked = false;
        if end.offset < 0 || end.offset >= one.position.get() {
            return;
        }
        let (name, position) = (one.name(), one.position);
        let sentence = format!(
            "{name}: the records from offset {} to {position} were cut off by its leader",
            end.offset
        );
        if self.options.reset == Reset::None {
            one.is_unchecked = true;
            one.back_off(now, self.options.retry_backoff);
            self.fail(ConsumerError::lasting(format!(
                "{sentence}, and auto.offset.reset is none; assign it with another offset"
            )));
        } else {
            one.seek(Offset(end.offset));
            self.warn(sentence);
        }
    }

    // ---- records

    fn fetched(
        &mut self,
        (node, at, offset): (i32, usize, Offset),
        fetched: &Fetched,
        answer: &Arc<Vec<u8>>,
        now: Instant,
    ) {
        let Some(one) = self.partitions.get_mut(at) else {
            return;
        };
        if one.fetched_to != offset {
            return; // it was reset meanwhile, or another broker had an answer
        }
        match fetched.error {
            ErrorCode::NONE => {}
            ErrorCode::OFFSET_OUT_OF_RANGE if one.preferred.is_some_and(|(preferred, _)| preferred == node) => {
                one.preferred = None; // a follower may be behind
                return one.back_off(now, self.options.retry_backoff);
            }
            ErrorCode::OFFSET_OUT_OF_RANGE => return self.out_of_range(at, now),
            error => return self.refused(at, error, now),
        }
        if let Some(preferred) = fetched.preferred.filter(|_| fetched.records.is_empty()) {
            one.preferred = Some((preferred, now + self.options.metadata_max_age));
            return;
        }
        let end = if self.options.is_committed {
            fetched.last_stable_offset
        } else {
            fetched.high_watermark
        };
        one.high_watermark = Some(end);
        if fetched.records.is_empty() {
            return;
        }
        let aborted = self.options.is_committed.then(|| fetched.aborted.clone());
        let chunk = Chunk::of(answer, fetched.records.clone(), aborted, self.options.checks_crcs);
        if let Some((chunk, next_offset)) = chunk {
            return one.push(chunk, next_offset);
        }
        one.back_off(now, self.options.retry_backoff);
        let sentence = format!(
            "{} sent no whole batch at offset {offset}; its log says why",
            one.name()
        );
        self.fail(ConsumerError::lasting(sentence));
    }

    /// (b)
    fn out_of_range(&mut self, at: usize, now: Instant) {
        let one = &mut self.partitions[at];
        if one.fetched_to != one.position {
            return one.back_off(now, self.options.retry_backoff); // what was fetched is handed over before
        }
        let (name, offset) = (one.name(), one.position);
        match self.options.reset {
            Reset::Earliest => one.seek(Offset(EARLIEST)),
            Reset::Latest => one.seek(Offset(LATEST)),
            Reset::None => {
                one.back_off(now, self.options.retry_backoff);
                let sentence = format!(
                    "{name}: offset {offset} is out of range, and auto.offset.reset is none; assign it with another \
                     offset"
                );
                let error = ConsumerError::of_code(ErrorCode::OFFSET_OUT_OF_RANGE, sentence);
                return self.fail(error);
            }
        }
        self.warn(format!(
            "{name}: offset {offset} is out of range, so it is reset by auto.offset.reset"
        ));
    }

    fn refused(&mut self, at: usize, error: ErrorCode, now: Instant) {
        let Some(one) = self.partitions.get_mut(at) else {
            return;
        };
        one.back_off(now, self.options.retry_backoff);
        // (a)
        if error == ErrorCode::NONE || (error.is_retriable() && error != ErrorCode::CORRUPT_MESSAGE) {
            one.preferred = None;
            self.metadata.is_wanted = true;
            return;
        }
        // (c)
        let (topic, name) = (Arc::clone(&one.topic), one.name());
        let error = match error {
            ErrorCode::TOPIC_AUTHORIZATION_FAILED | ErrorCode::INVALID_TOPIC_EXCEPTION => refusal(&topic, error),
            _ => ConsumerError::of_code(
                error,
                format!(
                    "{name}: the broker answered {} at offset {}; its log says why",
                    error.name(),
                    one.fetched_to
                ),
            ),
        };
        self.fail(error);
    }
}

fn refusal(topic: &str, error: ErrorCode) -> ConsumerError {
    let what = match error {
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
            "the broker's ACLs do not let this client read it; allow READ on the topic"
        }
        ErrorCode::INVALID_TOPIC_EXCEPTION => {
            "a topic's name has letters, digits, dots, underscores and hyphens, at most 249"
        }
        _ => "the broker's log says why",
    };
    ConsumerError::of_code(error, format!("topic {topic}: {what} ({})", error.name()))
}
