//! Produces of transactions whose coordinator answers late: nothing overtakes them, and each is answered once.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use broker::{Attempt, Broker, VerificationRequest, Verified, Verifier, Verifying, Waiter};
use record::{BatchBuilder, Codec};

use crate::client::Client;
use crate::fixture::{FOLLOWER, NODE, TOPIC, TOPIC_ID, TestBroker, wait_until};
use crate::requests::{Produce, batch};

/// A coordinator that gives no answer until the test has one.
#[derive(Clone, Default)]
struct Coordinator(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    answer: Option<ErrorCode>,
    asked: usize,
    waiters: Vec<Waiter>,
}

impl Coordinator {
    fn answer(&self, code: ErrorCode) {
        let waiters = {
            let mut held = self.0.lock().unwrap();
            held.answer = Some(code);
            std::mem::take(&mut held.waiters)
        };
        for waiter in waiters {
            waiter.owner.wake(waiter.operation);
        }
    }

    fn wait_until_asked(&self, times: usize) {
        wait_until("the coordinator is asked", || self.0.lock().unwrap().asked == times);
    }
}

struct Question(Coordinator, usize);

impl Verifier for Coordinator {
    fn ask(&self, _: &Broker, asked: VerificationRequest, _: Instant, _: i64) -> Verified {
        self.0.lock().unwrap().asked += 1;
        Verified::Later(Box::new(Question(self.clone(), asked.partitions.len())))
    }
}

impl Verifying for Question {
    fn watch(&self, waiter: &Waiter) {
        self.0.0.lock().unwrap().waiters.push(waiter.clone());
    }

    fn forget(&self, waiter: &Waiter) {
        let mut held = self.0.0.lock().unwrap();
        held.waiters.retain(|known| known.operation != waiter.operation);
    }

    fn poll(&mut self, attempt: &Attempt<'_>) -> Option<Vec<ErrorCode>> {
        let late = attempt.is_due.then_some(ErrorCode::NETWORK_EXCEPTION);
        let answer = self.0.0.lock().unwrap().answer.or(late);
        answer.map(|code| vec![code; self.1])
    }
}

fn start(replicas: &[i32]) -> (TestBroker, Coordinator, Client) {
    let coordinator = Coordinator::default();
    let broker = TestBroker::start_verifying(Box::new(coordinator.clone()));
    broker.create_topic(TOPIC, TOPIC_ID, 2, &[], replicas);
    let client = broker.connect();
    (broker, coordinator, client)
}

/// A produce of a transaction's batch to partition 0.
fn transactional(acks: i16, sequence: i32, value_bytes: usize) -> Produce<'static> {
    let mut builder = BatchBuilder::new(Codec::None)
        .producer(5, 0, sequence)
        .transactional(true);
    builder.append(1, None, Some(&vec![b'v'; value_bytes]), &[]);
    Produce {
        transactional_id: Some("t"),
        ..Produce::one(acks, builder.build(Offset(0), LeaderEpoch::NONE))
    }
}

fn refused(code: ErrorCode) -> (i16, i64) {
    (code.0, -1)
}

#[test]
fn produces_behind_an_unverified_one_wait_for_it_and_are_answered_in_order() {
    // Also a body that a network loop leaves to another thread.
    for value_bytes in [1, 5 << 20] {
        let (broker, coordinator, mut client) = start(&[NODE]);
        broker.create_topic("wide", [8; 16], 1, &[("max.message.bytes", "20000000")], &[NODE]);
        let first = Produce {
            topic: "wide",
            ..transactional(-1, 0, value_bytes)
        };
        let plain = Produce {
            topic: "wide",
            ..Produce::one(-1, batch(10))
        };
        let first_id = client.send_produce(&first);
        let second_id = client.send_produce(&plain);
        coordinator.wait_until_asked(1);
        assert!(client.is_silent());
        let partition = broker.broker().partition("wide", 0).unwrap();
        assert_eq!(partition.offsets().log_end(), Offset(0));
        coordinator.answer(ErrorCode::NONE);
        for (id, offset) in [(first_id, 0), (second_id, 1)] {
            let answer = client.produce_answer(12);
            assert_eq!((answer.correlation_id, answer.outcomes()), (id, vec![(0, offset)]));
        }
    }
}

#[test]
fn unverified_produce_is_answered_at_its_deadline() {
    let (broker, coordinator, mut client) = start(&[NODE]);
    let request = Produce {
        timeout_ms: 50,
        ..transactional(-1, 0, 1)
    };
    assert_eq!(
        client.produce(&request).outcomes(),
        [refused(ErrorCode::NOT_ENOUGH_REPLICAS)]
    );
    coordinator.wait_until_asked(1);
    coordinator.answer(ErrorCode::NONE);
    assert_eq!(client.produce(&transactional(-1, 0, 1)).outcomes(), [(0, 0)]);
    assert_eq!(broker.broker().queued().used(), 0);
}

#[test]
fn verified_produce_goes_on_to_wait_for_its_replicas() {
    let (broker, coordinator, mut client) = start(&[NODE, FOLLOWER]);
    let request = transactional(-1, 0, 1);
    let id = client.send_produce(&request);
    coordinator.wait_until_asked(1);
    coordinator.answer(ErrorCode::NONE);
    wait_until("the batch is appended", || {
        broker.partition(0).offsets().log_end() == Offset(1)
    });
    assert!(client.is_silent());
    broker.lease(TOPIC, 0, 0, &[NODE, FOLLOWER], &[NODE]);
    let answer = client.produce_answer(12);
    assert_eq!((answer.correlation_id, answer.outcomes()), (id, vec![(0, 0)]));
}

#[test]
fn produce_without_acks_is_silent_after_its_verification_or_closes_the_connection() {
    let (broker, coordinator, mut client) = start(&[NODE]);
    client.send_produce(&transactional(0, 0, 1));
    let id = client.send_produce(&Produce::one(1, batch(10)));
    coordinator.wait_until_asked(1);
    assert!(client.is_silent());
    coordinator.answer(ErrorCode::NONE);
    let answer = client.produce_answer(12);
    assert_eq!((answer.correlation_id, answer.outcomes()), (id, vec![(0, 1)]));
    coordinator.answer(ErrorCode::INVALID_TXN_STATE);
    let elsewhere = Produce {
        partitions: vec![(1, transactional(0, 0, 1).partitions.remove(0).1)],
        ..transactional(0, 0, 1)
    };
    client.send_produce(&elsewhere);
    assert!(client.is_closed());
    assert_eq!(broker.partition(1).offsets().log_end(), Offset(0));
}

#[test]
fn unverified_produce_whose_client_goes_is_dropped() {
    let (broker, coordinator, mut client) = start(&[NODE]);
    client.send_produce(&transactional(-1, 0, 1));
    coordinator.wait_until_asked(1);
    wait_until("the produce waits", || coordinator.0.lock().unwrap().waiters.len() == 1);
    client.reset();
    wait_until("the broker notices", || broker.open_connections() == 0);
    wait_until("it is forgotten", || coordinator.0.lock().unwrap().waiters.is_empty());
    wait_until("its bytes are given back", || broker.broker().queued().used() == 0);
    coordinator.answer(ErrorCode::NONE);
    let mut client = broker.connect();
    assert_eq!(client.produce(&transactional(-1, 0, 1)).outcomes(), [(0, 0)]);
}
