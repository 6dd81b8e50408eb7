//! The way of a request about one transactional id: decide, append, wait for the replicas, answer.
//!
//! ```text
//! Transit::run → decide (table) → nothing to write                     → answer
//!                               → append → replicated                  → answer, or decide again after an abort
//!                                        → is_satisfied, later         → the same
//!                               → CONCURRENT_TRANSACTIONS              → waits for a change, then decides again
//! ```
//! Kafka answers `CONCURRENT_TRANSACTIONS` at once, and its clients ask again after a pause. Here the request waits for
//! [`PATIENCE`] at most, so that a producer begins its next transaction when the markers of the last one are written.
//! The checks and the append are one step under the partition's lock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::records::{write_key, write_value};
use super::service::TransactionHome;
use super::shard::Shard;
use super::table::{Step, complete};
use super::transaction::Transaction;
use crate::append::{append, client_error};
use crate::{Coordinators, Here};
use base::error::ErrorCode;
use base::place::LeaderEpoch;
use base::place::Offset;
use broker::{Attempt, Awaited, BodyTail, Broker, Delayed, Request, Served, Tried, WaitKind, Waiter};
use record::{BatchBuilder, Codec};

/// How long a request waits for markers and for replicas.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// What a request wants of a transactional id.
pub trait Question: Send + 'static {
    /// The id.
    fn transactional_id(&self) -> &str;

    /// Decides on the transaction as it is now; `None` for an id that is not known.
    fn decide(&mut self, broker: &Broker, now: Option<&Transaction>, now_ms: i64) -> Result<Step, ErrorCode>;
}

/// The producer id and epoch from the request on, or its error.
pub type Outcome = Result<(i64, i16), ErrorCode>;

/// The outcome for a client that may not know `PRODUCER_FENCED`: before the version `fenced_from` of its API it gets
/// `INVALID_PRODUCER_EPOCH` (KIP-588).
pub fn for_version(outcome: Outcome, version: i16, fenced_from: i16) -> Outcome {
    match outcome {
        Err(ErrorCode::PRODUCER_FENCED) if version < fenced_from => Err(ErrorCode::INVALID_PRODUCER_EPOCH),
        outcome => outcome,
    }
}

/// Where the request is on its way.
enum Stage {
    Decide,
    /// A record is appended; it is the end of the request, or an abort after which the request is decided anew.
    Appended {
        home: Arc<TransactionHome>,
        awaited: Awaited,
        outcome: (i64, i16),
        is_abort: bool,
    },
}

/// See the module.
pub struct Transit<Q> {
    coordinators: Arc<Coordinators>,
    /// What is asked.
    pub question: Q,
    stage: Stage,
    /// The partition whose changes the request waits for.
    watched: Option<Arc<TransactionHome>>,
    waits_for_markers: bool,
    deadline: Instant,
}

/// The result of the first step.
struct Written {
    awaited: Option<Awaited>,
    outcome: (i64, i16),
    is_abort: bool,
}

impl<Q: Question> Transit<Q> {
    /// A request that begins now. `waits_for_markers`: it waits where Kafka answers `CONCURRENT_TRANSACTIONS`.
    pub fn new(coordinators: &Arc<Coordinators>, question: Q, now: Instant, waits_for_markers: bool) -> Self {
        Self {
            coordinators: Arc::clone(coordinators),
            question,
            stage: Stage::Decide,
            watched: None,
            waits_for_markers,
            deadline: now + PATIENCE,
        }
    }

    /// Goes on as far as it can. `None`: the request waits for the watched partition.
    pub fn run(&mut self, broker: &Broker, now_ms: i64, is_due: bool) -> Option<Outcome> {
        let coordinators = Arc::clone(&self.coordinators);
        let here = coordinators.on(broker);
        loop {
            match self.step(here, now_ms, is_due) {
                Stepped::Done(outcome) => return Some(outcome),
                Stepped::Waits => return None,
                Stepped::On => {}
            }
        }
    }

    fn step(&mut self, here: Here<'_>, now_ms: i64, is_due: bool) -> Stepped {
        match std::mem::replace(&mut self.stage, Stage::Decide) {
            Stage::Decide => self.decide(here, now_ms, is_due),
            Stage::Appended {
                home,
                awaited,
                outcome,
                is_abort,
            } => match home.partition.is_satisfied(awaited) {
                Err(error) => Stepped::Done(Err(client_error(error.code()))),
                Ok(false) if is_due => Stepped::Done(Err(client_error(ErrorCode::REQUEST_TIMED_OUT))),
                Ok(false) => {
                    self.stage = Stage::Appended {
                        home,
                        awaited,
                        outcome,
                        is_abort,
                    };
                    Stepped::Waits
                }
                Ok(true) => match home.with(here, |_| ()) {
                    Err(code) => Stepped::Done(Err(code)),
                    Ok(()) if is_abort => Stepped::On,
                    Ok(()) => Stepped::Done(Ok(outcome)),
                },
            },
        }
    }

    fn decide(&mut self, here: Here<'_>, now_ms: i64, is_due: bool) -> Stepped {
        let homes = &here.transactions().homes;
        let home = match homes.find(&here, self.question.transactional_id()) {
            Ok(home) => home,
            Err(code) => return Stepped::Done(Err(code)),
        };
        let written = home.with(here, |shard| self.write(&here, &home, shard, now_ms));
        match written.and_then(|written| written) {
            Ok(Written {
                awaited: None,
                is_abort: true,
                ..
            }) => Stepped::On,
            Ok(Written {
                awaited: None, outcome, ..
            }) => Stepped::Done(Ok(outcome)),
            Ok(Written {
                awaited: Some(awaited),
                outcome,
                is_abort,
            }) => {
                self.watched = Some(Arc::clone(&home));
                self.stage = Stage::Appended {
                    home,
                    awaited,
                    outcome,
                    is_abort,
                };
                Stepped::Waits
            }
            Err(ErrorCode::CONCURRENT_TRANSACTIONS) if self.waits_for_markers && !is_due => {
                self.watched = Some(home);
                Stepped::Waits
            }
            Err(code) => Stepped::Done(Err(code)),
        }
    }

    fn write(
        &mut self,
        broker: &Broker,
        home: &TransactionHome,
        shard: &mut Shard,
        now_ms: i64,
    ) -> Result<Written, ErrorCode> {
        let id = self.question.transactional_id();
        let now = shard.settled(id)?.cloned();
        let (next, is_abort) = match self.question.decide(broker, now.as_ref(), now_ms)? {
            Step::Nothing => {
                let outcome = now.map_or((-1, -1), |now| (now.producer_id, now.producer_epoch));
                return Ok(Written {
                    awaited: None,
                    outcome,
                    is_abort: false,
                });
            }
            Step::Write(next) => (next, false),
            Step::Abort(next) => (next, true),
        };
        let outcome = outcome_of(&next);
        let awaited = write(broker, home, shard, self.question.transactional_id(), next, now_ms)?;
        Ok(Written {
            awaited: (!awaited.is_nothing()).then_some(awaited),
            outcome,
            is_abort,
        })
    }

    /// Adds a waiter for the next change.
    pub fn watch(&self, waiter: &Waiter) {
        if let Some(home) = &self.watched {
            home.partition.waiters().watch(WaitKind::Produce, waiter.clone());
        }
    }

    /// Removes the waiter.
    pub fn forget(&self, waiter: &Waiter) {
        if let Some(home) = &self.watched {
            let waiters = home.partition.waiters();
            waiters.forget(WaitKind::Produce, waiter.operation, &waiter.owner);
        }
    }

    /// The partition whose changes the request waits for.
    pub const fn watched(&self) -> Option<&Arc<TransactionHome>> {
        self.watched.as_ref()
    }

    /// When the request ends, whatever is left to wait for.
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }
}

enum Stepped {
    Done(Outcome),
    Waits,
    On,
}

/// The producer id and epoch that the client goes on with: after a decided transaction, those of its end.
fn outcome_of(next: &Transaction) -> (i64, i16) {
    let end = complete(next, next.last_update_ms);
    let last = end.as_ref().unwrap_or(next);
    (last.producer_id, last.producer_epoch)
}

/// Appends the record of a value, and notes the change; the caller has locked the partition's transactions.
pub fn write(
    broker: &Broker,
    home: &TransactionHome,
    shard: &mut Shard,
    id: &str,
    next: Transaction,
    now_ms: i64,
) -> Result<Awaited, ErrorCode> {
    write_all(broker, home, shard, vec![(id, Some(next))], now_ms)
}

/// As [`write`], for the changes of several ids in one batch; a change to `None` forgets the id.
pub fn write_all(
    broker: &Broker,
    home: &TransactionHome,
    shard: &mut Shard,
    changes: Vec<(&str, Option<Transaction>)>,
    now_ms: i64,
) -> Result<Awaited, ErrorCode> {
    let mut builder = BatchBuilder::new(Codec::None);
    let (mut key, mut value) = (Vec::new(), Vec::new());
    for (id, next) in &changes {
        key.clear();
        value.clear();
        write_key(&mut key, id);
        if let Some(next) = next {
            write_value(&mut value, next, broker.transaction_version());
        }
        builder.append(now_ms, Some(&key), next.as_ref().map(|_| value.as_slice()), &[]);
    }
    let mut batch = builder.build(Offset(0), LeaderEpoch::NONE);
    let (appended, awaited) = append(broker, home, &mut batch, now_ms)?;
    for (id, next) in changes {
        shard.note(id, next, appended.last_offset + 1);
    }
    Ok(awaited)
}

/// A request whose answer is made by `encode` from its outcome.
pub struct DelayedTransit<Q, E> {
    transit: Transit<Q>,
    encode: E,
}

/// Serves a request about one id: answers it, or parks it.
pub fn serve<Q, E>(
    coordinators: &Arc<Coordinators>,
    question: Q,
    asked: &Request<'_>,
    encode: E,
    out: &mut Vec<u8>,
) -> Served
where
    Q: Question,
    E: Fn(&Q, Outcome, &mut Vec<u8>) + Send + 'static,
{
    let mut transit = Transit::new(coordinators, question, asked.now, true);
    match transit.run(asked.broker, asked.now_ms, false) {
        Some(outcome) => {
            encode(&transit.question, outcome, out);
            Served::Answered(BodyTail::Nothing)
        }
        None => Served::Delayed(Box::new(DelayedTransit { transit, encode })),
    }
}

impl<Q, E> Delayed for DelayedTransit<Q, E>
where
    Q: Question,
    E: Fn(&Q, Outcome, &mut Vec<u8>) + Send + 'static,
{
    fn watch(&self, waiter: &Waiter) {
        self.transit.watch(waiter);
    }

    fn forget(&self, waiter: &Waiter) {
        self.transit.forget(waiter);
    }

    fn try_complete(&mut self, attempt: &Attempt<'_>, out: &mut Vec<u8>) -> Tried {
        let now_ms = attempt.broker.context().clock.now_ms();
        match self.transit.run(attempt.broker, now_ms, attempt.is_due) {
            None => Tried::Waits,
            Some(outcome) => {
                (self.encode)(&self.transit.question, outcome, out);
                Tried::Answered(BodyTail::Nothing)
            }
        }
    }

    fn deadline(&self) -> Instant {
        self.transit.deadline
    }
}

#[cfg(test)]
#[path = "transit_tests.rs"]
mod tests;
