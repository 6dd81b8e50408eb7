//! What is acknowledged is on disk when the topic asks for it, and a disk that fails takes only its own partitions
//! along.

use std::sync::Arc;

use ::io::Fault;
use base::error::ErrorCode;
use base::place::Offset;
use broker::{Event, Options};

use crate::fixture::{TestBroker, wait_until};
use crate::held_sync::HeldSync;
use crate::requests::{Fetch, Produce, Wanted, batch};

const EVERY_MESSAGE: &[(&str, &str)] = &[("flush.messages", "1")];
const OFFLINE: i16 = ErrorCode::KAFKA_STORAGE_ERROR.0;

// flush.messages
#[test]
fn an_answer_comes_only_after_the_sync() {
    let fs = HeldSync::default();
    let broker = TestBroker::start_on(Arc::new(fs.clone()), Options::default(), 1);
    broker.create(1, EVERY_MESSAGE);
    let mut client = broker.connect();
    for acks in [1, -1] {
        let hold = fs.hold();
        let id = client.send_produce(&Produce::one(acks, batch(10)));
        wait_until("a sync has begun", || hold.begun() == 1);
        assert!(client.is_silent(), "acks={acks}");
        drop(hold);
        let answer = client.produce_answer(12);
        assert_eq!((answer.correlation_id, answer.partitions[0].error), (id, 0));
    }
}

// group commit: one sync answers everything that was appended before it began
#[test]
fn appends_during_a_sync_share_the_next_one() {
    let fs = HeldSync::default();
    let broker = TestBroker::start_on(Arc::new(fs.clone()), Options::default(), 1);
    broker.create(1, EVERY_MESSAGE);
    let mut clients: Vec<_> = (0..4).map(|_| broker.connect()).collect();
    let hold = fs.hold();
    clients[0].send_produce(&Produce::one(1, batch(10)));
    wait_until("a sync has begun", || hold.begun() == 1);
    for client in &mut clients {
        for _ in 0..25 {
            client.send_produce(&Produce::one(1, batch(10)));
        }
    }
    wait_until("all are appended", || {
        broker.partition(0).offsets().log_end() == Offset(101)
    });
    drop(hold);
    for (i, client) in clients.iter_mut().enumerate() {
        for _ in 0..25 + usize::from(i == 0) {
            assert_eq!(client.produce_answer(12).partitions[0].error, 0);
        }
    }
    assert!(fs.begun() <= 3, "{} syncs for 101 produces", fs.begun());
}

#[test]
fn without_flush_messages_nothing_is_synced() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    broker.faults.arm("nothing", 1, Fault::NoSpace);
    broker.connect().produce(&Produce::one(-1, batch(10)));
    assert_eq!(broker.faults.counts().get("sync:.log"), None);
}

/// Two directories, partition 0 in the first and partition 1 in the second.
fn with_two_dirs(config: &[(&str, &str)]) -> TestBroker {
    let broker = TestBroker::start_with(Options::default(), 2);
    broker.create(2, config);
    broker
}

/// The first directory is offline and was said to be, once; the second serves.
fn only_the_first_dir_is_offline(broker: &TestBroker) {
    let failed = |e: &Event| matches!(e, Event::LogDirFailed { log_dir, .. } if *log_dir == broker.dirs[0]);
    broker.event(failed);
    assert_eq!(broker.engine.failed_log_dirs(), [broker.dirs[0].clone()]);
    let mut client = broker.connect();
    let rows = vec![(0, Some(batch(10))), (1, Some(batch(10)))];
    let codes: Vec<_> = client
        .produce(&Produce::of(1, rows))
        .partitions
        .iter()
        .map(|p| p.error)
        .collect();
    assert_eq!(codes, [OFFLINE, 0]);
    let fetched = client.fetch(&Fetch::of(vec![Wanted::new(0, 0), Wanted::new(1, 0)]));
    let codes: Vec<_> = fetched.partitions.iter().map(|p| p.error).collect();
    assert_eq!(codes, [OFFLINE, 0]);
    assert_eq!(fetched.partitions[1].base_offsets().last(), Some(&0));
    let again = broker
        .broker()
        .events()
        .take(usize::MAX)
        .into_iter()
        .filter(failed)
        .count();
    assert_eq!(again, 0, "said once");
    assert!(
        broker
            .broker()
            .logs()
            .dirs()
            .describe()
            .iter()
            .any(|d| d.error.0 == OFFLINE)
    );
}

// H25
#[test]
fn a_failed_sync_is_never_acknowledged_and_takes_its_directory_offline() {
    for acks in [1, -1] {
        let broker = with_two_dirs(EVERY_MESSAGE);
        broker.faults.arm("sync:.log", 1, Fault::InputOutput);
        let answer = broker.connect().produce(&Produce::one(acks, batch(10)));
        assert!(broker.faults.has_fired());
        assert_eq!(answer.outcomes(), [(OFFLINE, -1)]);
        only_the_first_dir_is_offline(&broker);
    }
}

// H25
#[test]
fn what_waited_behind_a_failed_sync_is_not_acknowledged_by_a_later_one() {
    let broker = with_two_dirs(EVERY_MESSAGE);
    let mut client = broker.connect();
    broker.faults.arm("sync:.log", 1, Fault::InputOutput);
    for _ in 0..50 {
        client.send_produce(&Produce::one(1, batch(10)));
    }
    for _ in 0..50 {
        assert_eq!(client.produce_answer(12).partitions[0].error, OFFLINE);
    }
    only_the_first_dir_is_offline(&broker);
}

// H24
#[test]
fn a_full_disk_is_reported_and_takes_only_its_directory_offline() {
    for fault in [Fault::NoSpace, Fault::ShortWrite, Fault::InputOutput] {
        let broker = with_two_dirs(&[]);
        let mut client = broker.connect();
        assert_eq!(client.produce(&Produce::one(1, batch(10))).outcomes(), [(0, 0)]);
        broker.faults.arm("write:.log", 1, fault);
        assert_eq!(
            client.produce(&Produce::one(1, batch(10))).outcomes(),
            [(OFFLINE, -1)],
            "{fault:?}"
        );
        assert!(broker.faults.has_fired());
        assert_eq!(
            broker.partition(0).offsets().log_end(),
            Offset(1),
            "nothing of it is in the log"
        );
        only_the_first_dir_is_offline(&broker);
    }
}

#[test]
fn a_directory_that_fails_answers_the_requests_that_wait_in_it() {
    let broker = with_two_dirs(&[]);
    let mut consumer = broker.connect();
    consumer.send_fetch(&Fetch::waiting(0, 30_000));
    wait_until("the fetch waits", || {
        broker.partition(0).waiters().len(broker::WaitKind::Fetch) == 1
    });
    broker.faults.arm("write:.log", 1, Fault::NoSpace);
    broker.connect().produce(&Produce::one(1, batch(10)));
    assert_eq!(consumer.fetch_answer(12).only().error, OFFLINE);
}

#[test]
fn a_topic_cannot_be_created_in_a_directory_that_is_offline() {
    let broker = with_two_dirs(&[]);
    broker.broker().logs().dirs().fail(&broker.dirs[0], "it was unplugged");
    let config = Arc::new(storage::LogConfig::default());
    let placed = [(0, broker.dirs[0].clone()), (1, broker.dirs[1].clone())];
    let errors = broker.broker().logs().create("new", [3; 16], &config, &placed);
    assert!(errors[0].as_ref().is_some_and(|e| e.contains("offline")), "{errors:?}");
    assert_eq!(errors[1], None);
}

/// Pages that are not in memory are read ahead by a disk thread, and what is sent is the same.
#[cfg(target_os = "linux")] // macOS does not tell cold pages
#[test]
fn records_whose_pages_were_dropped_arrive_whole() {
    let broker = TestBroker::start();
    broker.create(1, &[("max.message.bytes", "20000000")]);
    let mut client = broker.connect();
    let large = batch(5_000_000);
    client.produce(&Produce::one(1, large.clone()));
    broker.partition(0).flush().unwrap();
    let path = broker.dirs[0].join("flights-0/00000000000000000000.log");
    let file = std::fs::File::open(path).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let answer = client.fetch(&Fetch {
        max_bytes: i32::MAX,
        ..Fetch::now(0)
    });
    assert_eq!(answer.only().records[61..], large[61..]);
}
