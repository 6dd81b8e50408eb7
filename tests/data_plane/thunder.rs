//! Ten thousand operations that wait while their leader goes (H29): each is answered in time, and nothing stays behind.

use std::time::{Duration, Instant};

use base::error::ErrorCode;
use broker::WaitKind;

use crate::client::Client;
use crate::fixture::{FOLLOWER, NODE, TOPIC, TOPIC_ID, TestBroker, wait_until};
use crate::requests::{Fetch, Produce, Wanted, batch};

const PARTITIONS: i32 = 20;
const PRODUCERS: usize = 150;
const PIPELINED: usize = 40;
const CONSUMERS: usize = 200;
/// A produce waits in one list, a fetch in one of each partition.
const WAITING: usize = PRODUCERS * PIPELINED + CONSUMERS * PARTITIONS as usize;
/// How late the last answer may be: 0.2 s is usual, and eight times that beside fifteen busy programs.
const LATE_LIMIT: Duration = Duration::from_secs(5);

struct Thunder {
    broker: TestBroker,
    producers: Vec<Client>,
    consumers: Vec<Client>,
    sent: Instant,
}

impl Thunder {
    /// Everybody waits: the follower never fetches, so nothing is committed.
    fn gather(wait: Duration) -> Self {
        let mut thunder = Self::of_producers(wait);
        thunder.consume(wait);
        thunder
    }

    fn of_producers(wait: Duration) -> Self {
        let broker = TestBroker::start();
        broker.create_topic(TOPIC, TOPIC_ID, PARTITIONS, &[], &[NODE, FOLLOWER]);
        let mut producers: Vec<_> = (0..PRODUCERS).map(|_| broker.connect()).collect();
        let consumers = (0..CONSUMERS).map(|_| broker.connect()).collect();
        for (number, producer) in producers.iter_mut().enumerate() {
            let index = i32::try_from(number).unwrap() % PARTITIONS;
            let request = Produce {
                timeout_ms: i32::try_from(wait.as_millis()).unwrap(),
                ..Produce::of(-1, vec![(index, Some(batch(10)))])
            };
            for _ in 0..PIPELINED {
                producer.send_produce(&request);
            }
        }
        Self {
            broker,
            producers,
            consumers,
            sent: Instant::now(),
        }
    }

    fn consume(&mut self, wait: Duration) {
        for consumer in &mut self.consumers {
            let everything = (0..PARTITIONS).map(|index| Wanted::new(index, 0)).collect();
            consumer.send_fetch(&Fetch {
                max_wait_ms: i32::try_from(wait.as_millis()).unwrap(),
                ..Fetch::of(everything)
            });
        }
        self.sent = Instant::now();
    }

    fn waiting(&self) -> usize {
        let of = |index| {
            let partition = self.broker.partition(index);
            partition.waiters().len(WaitKind::Produce) + partition.waiters().len(WaitKind::Fetch)
        };
        (0..PARTITIONS).map(of).sum()
    }

    /// Every answer has come by then, once and in order, the produces' with this error; nothing waits any more.
    fn end_by(mut self, deadline: Instant, produced: ErrorCode, fetched: ErrorCode) {
        for producer in &mut self.producers {
            for id in 1..=PIPELINED {
                let answer = producer.produce_answer(12);
                assert_eq!(usize::try_from(answer.correlation_id), Ok(id));
                assert_eq!(answer.partitions[0].error, produced.0);
            }
        }
        for consumer in &mut self.consumers {
            assert!(
                consumer
                    .fetch_answer(12)
                    .partitions
                    .iter()
                    .any(|p| p.error == fetched.0)
            );
        }
        check_late(deadline);
        wait_until("nothing waits any more", || self.waiting() == 0);
        for producer in &mut self.producers {
            producer.produce(&Produce::one(1, batch(10))); // what comes next is its answer, and none of before again
        }
        for consumer in &mut self.consumers {
            consumer.fetch(&Fetch::now(0));
        }
    }
}

fn check_late(deadline: Instant) {
    let late = Instant::now().saturating_duration_since(deadline);
    assert!(late <= LATE_LIMIT, "the last answer came {late:?} late");
}

// H29
#[test]
fn ten_thousand_that_wait_are_answered_by_their_deadlines() {
    let wait = Duration::from_millis(1500);
    let thunder = Thunder::gather(wait);
    let deadline = thunder.sent + wait;
    thunder.end_by(deadline, ErrorCode::REQUEST_TIMED_OUT, ErrorCode::NONE);
}

// H29
#[test]
fn ten_thousand_that_wait_are_answered_when_their_leader_goes() {
    let wait = Duration::from_secs(25);
    let mut thunder = Thunder::of_producers(wait);
    // The produces come first: an append that is still on its way would complete a fetch too.
    let produces = PRODUCERS * PIPELINED;
    wait_until("all produces wait", || thunder.waiting() == produces);
    thunder.consume(wait);
    wait_until("ten thousand wait", || thunder.waiting() == WAITING);
    for index in 0..PARTITIONS {
        thunder.broker.partition(index).revoke();
    }
    let gone = ErrorCode::NOT_LEADER_OR_FOLLOWER;
    thunder.end_by(Instant::now(), gone, gone);
}

// H29
#[test]
fn ten_thousand_that_wait_leave_nothing_when_their_clients_go() {
    let wait = Duration::from_secs(2);
    let mut thunder = Thunder::gather(wait);
    let deadline = thunder.sent + wait;
    thunder.producers.clear();
    // A consumer is not read before its fetch is answered, as in Apache Kafka: the deadline ends its connection.
    thunder.consumers.clear();
    wait_until("nothing waits any more", || thunder.waiting() == 0);
    check_late(deadline);
    wait_until("the connections are closed", || thunder.broker.open_connections() == 0);
}
