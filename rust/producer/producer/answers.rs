//! What brokers answer to a producer's requests, and what follows when they answer nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::accumulator::FullBatch;
use super::super::delivery::Settled;
use super::super::error::{ProducerError, Result, advice, failed};
use super::super::identity;
use super::super::link::Sent;
use super::super::produce::{self, Outcome};
use super::super::report::DeliveryReport;
use super::Producer;
use base::error::ErrorCode;
use client::reason_of;

const NO_ACKS: i16 = 0;
/// What a broker says that is not asked.
const NOT_ASKED: Outcome = Outcome {
    topic: String::new(),
    partition: -1,
    error: ErrorCode::NONE,
    base_offset: -1,
    message: String::new(),
};

impl Producer {
    /// Writes to a broker and takes its answers.
    pub(super) fn serve(&mut self, node: i32) -> Result<()> {
        let now = Instant::now();
        let Some(link) = self.links.get_mut(&node) else {
            return Ok(());
        };
        let mut answers = Vec::new();
        let written = link.write();
        let served = link.read(&mut answers).and(written);
        if self.options.acks == NO_ACKS {
            for sent in link.take_written() {
                for at in sent.queues {
                    self.settle(at, sent.request, Ok(&NOT_ASKED), now)?;
                }
            }
        }
        for (sent, answer) in answers {
            self.answered(node, &sent, &answer, now)?;
        }
        match served {
            Ok(()) => {
                let is_late = self.links.get(&node).is_some_and(|link| link.is_late(now));
                if is_late {
                    let key = self.options.keys.named("request.timeout.ms");
                    self.lose(node, &format!("no answer within {key}"), now)
                } else {
                    Ok(())
                }
            }
            Err(error) => self.lose(node, &reason_of(&error), now),
        }
    }

    fn answered(&mut self, node: i32, sent: &Sent, answer: &[u8], now: Instant) -> Result<()> {
        let Ok((outcomes, throttle_ms)) = produce::read(answer) else {
            for at in &sent.queues {
                self.settle(*at, sent.request, Err("its answer is not Kafka's protocol"), now)?;
            }
            return self.lose(node, "its answer is not Kafka's protocol", now);
        };
        if let Some(link) = self.links.get_mut(&node) {
            link.not_before = (throttle_ms > 0).then(|| now + Duration::from_millis(throttle_ms.into()));
        }
        for at in &sent.queues {
            let queue = &self.delivery.queues[*at];
            let is_its = |outcome: &&Outcome| outcome.partition == queue.partition && *outcome.topic == *queue.topic;
            match outcomes.iter().find(is_its) {
                Some(outcome) => self.settle(*at, sent.request, Ok(outcome), now)?,
                None => self.settle(*at, sent.request, Err("the broker's answer leaves it out"), now)?,
            }
        }
        Ok(())
    }

    /// The connection is gone; what was on its way is sent again.
    fn lose(&mut self, node: i32, reason: &str, now: Instant) -> Result<()> {
        let Some(link) = self.links.remove(&node) else {
            return Ok(());
        };
        let reason = format!("{}: {reason}", link.address);
        for sent in link.sent {
            for at in sent.queues {
                self.settle(at, sent.request, Err(&reason), now)?;
            }
        }
        Ok(())
    }

    fn settle(&mut self, at: usize, request: u64, answer: Result<&Outcome, &str>, now: Instant) -> Result<()> {
        match self
            .delivery
            .settle(at, request, answer.map(|outcome| outcome.error), now)
        {
            None => Ok(()),
            Some(Settled::Acknowledged(batch)) => {
                self.written.0 += batch.records as u64;
                self.written.1 += batch.bytes.len() as u64;
                let base_offset = answer.map_or(NOT_ASKED.base_offset, |outcome| outcome.base_offset);
                self.report(at, batch, now, Ok(base_offset));
                Ok(())
            }
            Some(Settled::Again { may_have_moved }) => {
                self.must_look_up |= may_have_moved;
                Ok(())
            }
            Some(Settled::TooLarge(batch)) => {
                for half in self.accumulator.split(at, &batch)? {
                    self.delivery.push(at, half);
                }
                Ok(())
            }
            Some(Settled::Refused(error, batch)) => {
                let message = answer.map_or("", |outcome| outcome.message.as_str());
                let refused = self.refused(at, error, message, &batch);
                if !self.options.goes_on || is_fatal(error) {
                    return Err(refused);
                }
                self.fail(at, batch, now, (error, refused.to_string()));
                Ok(())
            }
        }
    }

    /// The records of a batch are not written, and the producer goes on; its transaction can only be aborted.
    pub(super) fn fail(&mut self, at: usize, batch: FullBatch, now: Instant, error: (ErrorCode, String)) {
        if self.transactional_id.is_some() {
            self.transaction.fail(&error);
        }
        self.report(at, batch, now, Err(error));
    }

    fn report(&mut self, at: usize, batch: FullBatch, now: Instant, end: Result<i64, (ErrorCode, String)>) {
        if !self.options.goes_on {
            return;
        }
        let queue = &self.delivery.queues[at];
        let waited = batch.appended.into_iter();
        self.reports.push(DeliveryReport {
            topic: Arc::clone(&queue.topic),
            partition: queue.partition,
            count: batch.records as u64,
            bytes: batch.payload_bytes,
            waited: waited.map(|(time, count)| (now.duration_since(time), count)).collect(),
            end,
        });
    }

    fn refused(&self, at: usize, error: ErrorCode, message: &str, batch: &FullBatch) -> ProducerError {
        let queue = &self.delivery.queues[at];
        let name = queue.name();
        match error {
            ErrorCode::MESSAGE_TOO_LARGE | ErrorCode::RECORD_LIST_TOO_LARGE => ProducerError::Invalid(format!(
                "{name}: the broker takes no record of {} bytes; raise max.message.bytes of topic {}",
                batch.bytes.len(),
                queue.topic
            )),
            ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER | ErrorCode::UNKNOWN_PRODUCER_ID => failed(format!(
                "{name}: the broker misses records that it had acknowledged to this producer ({}); they were lost \
                 there, by an unclean leader election or a deletion; write again",
                error.name()
            )),
            ErrorCode::INVALID_PRODUCER_EPOCH
            | ErrorCode::PRODUCER_FENCED
            | ErrorCode::INVALID_TXN_STATE
            | ErrorCode::TRANSACTION_ABORTABLE
            | ErrorCode::INVALID_PRODUCER_ID_MAPPING => {
                let transactional_id = self.transactional_id.as_deref().unwrap_or("of no id");
                identity::refused(&self.cluster, transactional_id, &name, error)
            }
            error if message.is_empty() => failed(format!(
                "{name}: {} ({})",
                advice(error, self.options.keys),
                error.name()
            )),
            error => failed(format!("{name}: {message} ({})", error.name())),
        }
    }
}

/// Whether the producer cannot go on after it.
fn is_fatal(error: ErrorCode) -> bool {
    matches!(
        error,
        ErrorCode::INVALID_PRODUCER_EPOCH
            | ErrorCode::PRODUCER_FENCED
            | ErrorCode::CLUSTER_AUTHORIZATION_FAILED
            | ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            | ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT
    )
}
