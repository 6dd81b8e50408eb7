//! Answers the partitions' question whether a batch belongs to an open transaction: from the coordinator on this
//! broker, or from the coordinator on another broker.

use std::sync::Arc;
use std::time::Instant;

use super::add_partitions::{Add, verified};
use super::service::STATE_TOPIC;
use super::table::Producer;
use super::transit::{Outcome, Transit};
use crate::{Coordinators, Here, partition_for};
use base::error::ErrorCode;
use broker::{Attempt, Broker, VerificationRequest, Verified, Verifier, Verifying, Waiter};

/// See the module.
pub struct CoordinatorVerifier(pub Arc<Coordinators>);

/// An addition that waits for replicas, or for the markers of the producer's last transaction.
struct Adding {
    transit: Transit<Add>,
    count: usize,
}

impl Verifier for CoordinatorVerifier {
    fn ask(&self, broker: &Broker, asked: VerificationRequest, now: Instant, now_ms: i64) -> Verified {
        let count = asked.partitions.len();
        let all = |code| Verified::Now(vec![code; count]);
        let transactions = &self.0.transactions;
        match transactions.homes.find(broker, &asked.transactional_id) {
            Err(ErrorCode::NOT_COORDINATOR) => match coordinator_of(broker, &asked.transactional_id) {
                Some(node_id) if node_id != broker.node_id() => {
                    Verified::Later(transactions.batches.ask(broker, node_id, asked))
                }
                _ => all(ErrorCode::NOT_COORDINATOR),
            },
            Err(code) => all(code),
            Ok(_) => ask_here(self.0.on(broker), asked, now, now_ms),
        }
    }
}

/// The broker that coordinates an id, if the image has one.
fn coordinator_of(broker: &Broker, transactional_id: &str) -> Option<i32> {
    let image = broker.image().load();
    let topic = image.topic(STATE_TOPIC)?;
    let row = topic.partition(partition_for(transactional_id, topic))?;
    (row.leader >= 0).then_some(row.leader)
}

fn ask_here(here: Here<'_>, asked: VerificationRequest, now: Instant, now_ms: i64) -> Verified {
    let count = asked.partitions.len();
    let producer = Producer {
        id: asked.producer_id,
        epoch: asked.producer_epoch,
    };
    if !asked.is_added {
        let codes = verified(here, &asked.transactional_id, producer, asked.partitions.into_iter());
        return Verified::Now(codes.unwrap_or_else(|code| vec![code; count]));
    }
    let add = Add {
        transactional_id: asked.transactional_id,
        producer,
        partitions: asked.partitions,
    };
    let mut transit = Transit::new(here.coordinators, add, now, true);
    match transit.run(&here, now_ms, false) {
        Some(outcome) => Verified::Now(codes(&outcome, count)),
        None => Verified::Later(Box::new(Adding { transit, count })),
    }
}

fn codes(outcome: &Outcome, count: usize) -> Vec<ErrorCode> {
    vec![outcome.err().unwrap_or(ErrorCode::NONE); count]
}

impl Verifying for Adding {
    fn watch(&self, waiter: &Waiter) {
        self.transit.watch(waiter);
    }

    fn forget(&self, waiter: &Waiter) {
        self.transit.forget(waiter);
    }

    fn poll(&mut self, attempt: &Attempt<'_>) -> Option<Vec<ErrorCode>> {
        let broker = attempt.broker;
        let outcome = self
            .transit
            .run(broker, broker.context().clock.now_ms(), attempt.is_due);
        outcome.map(|outcome| codes(&outcome, self.count))
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.transit.deadline())
    }
}

#[cfg(test)]
#[path = "verifier_tests.rs"]
mod tests;
