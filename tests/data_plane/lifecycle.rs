//! Connections that come, idle and go, and the end of the broker.

use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use base::error::ErrorCode;
use broker::{ConnectionOptions, Event, Options, WaitKind};
use protocol::ApiTable;

use crate::client::frame;
use crate::fixture::{FOLLOWER, LIMIT, NODE, TOPIC, TOPIC_ID, TestBroker, wait_until};
use crate::held_sync::HeldSync;
use crate::requests::{Fetch, Produce, batch};

/// A broker with one partition that closes what is idle for 200 ms.
fn impatient() -> TestBroker {
    let options = Options {
        connections_max_idle: Duration::from_millis(200),
        ..Options::default()
    };
    let broker = TestBroker::start_with(options, 1);
    broker.create(1, &[]);
    broker
}

fn wait_until_parked(broker: &TestBroker, kind: WaitKind) {
    wait_until("the request waits", || broker.partition(0).waiters().len(kind) == 1);
}

fn stops_at_once(broker: &TestBroker) {
    let start = Instant::now();
    broker.engine.close_network(LIMIT);
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "stopped after {:?}",
        start.elapsed()
    );
}

/// The last request and the end of the stream often arrive together; neither may be missed.
#[test]
fn a_client_that_sends_and_goes_is_answered_and_closed() {
    let broker = TestBroker::start();
    for _ in 0..100 {
        let mut client = broker.connect();
        client.send(ApiTable::API_VERSIONS, 0, false, &[]);
        assert_eq!(client.receive().0, 1);
        client.send(ApiTable::API_VERSIONS, 0, false, &[]);
        client.finish_sending();
        assert_eq!(client.receive().0, 2);
        assert!(client.is_closed());
    }
    wait_until("none is counted", || broker.open_connections() == 0);
}

#[test]
fn idle_connections_are_closed_and_busy_ones_are_not() {
    let broker = impatient();
    let (mut idle, mut waiting) = (broker.connect(), broker.connect());
    waiting.send_fetch(&Fetch::waiting(0, 12_000));
    assert!(idle.is_closed());
    wait_until_parked(&broker, WaitKind::Fetch);
    broker.connect().produce(&Produce::one(1, batch(10)));
    assert_eq!(waiting.fetch_answer(12).only().base_offsets(), [0]);
}

#[test]
fn a_long_poll_of_a_client_that_has_gone_ends_when_it_is_idle() {
    let broker = impatient();
    let mut gone = broker.connect();
    gone.send_fetch(&Fetch::waiting(0, i32::MAX));
    wait_until_parked(&broker, WaitKind::Fetch);
    drop(gone);
    wait_until("it is closed", || broker.open_connections() == 0);
    assert_eq!(broker.partition(0).waiters().len(WaitKind::Fetch), 0);
}

#[test]
fn a_client_that_reads_none_of_its_answers_is_closed_as_idle() {
    let broker = impatient();
    let mut deaf = broker.connect();
    deaf.produce(&Produce::one(1, batch(1_000_000)));
    for _ in 0..50 {
        deaf.send_fetch(&Fetch::now(0));
    }
    wait_until("it is closed", || broker.open_connections() == 0);
}

#[test]
fn max_connections_refuses_the_next_until_one_goes() {
    let options = Options {
        connections: ConnectionOptions {
            max: 2,
            ..ConnectionOptions::default()
        },
        ..Options::default()
    };
    refuses_the_third(&TestBroker::start_with(options, 1));
}

#[test]
fn max_connections_per_ip_refuses_the_next_until_one_goes() {
    let options = Options {
        connections: ConnectionOptions {
            max_per_ip: 2,
            ..ConnectionOptions::default()
        },
        ..Options::default()
    };
    refuses_the_third(&TestBroker::start_with(options, 1));
}

fn refuses_the_third(broker: &TestBroker) {
    let (first, mut second) = (broker.connect(), broker.connect());
    wait_until("both are counted", || broker.open_connections() == 2);
    assert!(broker.connect().is_closed());
    drop(first);
    wait_until("one is left", || broker.open_connections() == 1);
    for client in [&mut second, &mut broker.connect()] {
        client.send(ApiTable::API_VERSIONS, 0, false, &[]);
        assert_eq!(client.receive().0, 1);
    }
}

#[test]
fn a_stop_answers_parked_fetches_at_once_and_closes() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let mut client = broker.connect();
    client.send_fetch(&Fetch::waiting(0, 25_000));
    wait_until_parked(&broker, WaitKind::Fetch);
    stops_at_once(&broker);
    assert!(client.fetch_answer(12).only().records.is_empty());
    assert!(client.is_closed());
    assert!(TcpStream::connect(("127.0.0.1", broker.port)).is_err());
}

#[test]
fn a_stop_does_not_begin_what_was_pipelined_behind_a_parked_fetch() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let mut client = broker.connect();
    let both: Vec<u8> = (1..=2)
        .flat_map(|id| frame(ApiTable::FETCH, 12, id, true, &Fetch::waiting(0, 25_000).body()))
        .collect();
    client.send_bytes(&both);
    wait_until_parked(&broker, WaitKind::Fetch);
    stops_at_once(&broker);
    assert_eq!(client.fetch_answer(12).correlation_id, 1);
    assert!(client.is_closed());
}

#[test]
fn a_stop_waits_for_parked_produces_up_to_its_timeout_and_then_answers_them() {
    let broker = TestBroker::start();
    broker.create_topic(TOPIC, TOPIC_ID, 1, &[], &[NODE, FOLLOWER]);
    let mut client = broker.connect();
    client.send_produce(&Produce::one(-1, batch(10)));
    wait_until_parked(&broker, WaitKind::Produce);
    broker.engine.close_network(Duration::from_millis(100));
    let answer = client.produce_answer(12);
    assert_eq!(answer.partitions[0].error, ErrorCode::REQUEST_TIMED_OUT.0);
    assert!(client.is_closed());
}

#[test]
fn a_stop_waits_for_the_control_planes_answer_and_sends_it() {
    let broker = TestBroker::start();
    let mut client = broker.connect();
    client.send(19, 5, true, b"body");
    let event = broker.event(|e| matches!(e, Event::Request(_)));
    let Event::Request(request) = event else { unreachable!() };
    thread::scope(|scope| {
        scope.spawn(|| stops_at_once(&broker));
        wait_until("it stops", || TcpStream::connect(("127.0.0.1", broker.port)).is_err());
        let body = b"\0\0\0\0answer".to_vec(); // an answer begins with its throttle_time_ms
        broker.engine.respond(vec![(request.token, Some(body))]);
    });
    assert_eq!(client.receive().0, 1);
    assert!(client.is_closed());
}

#[test]
fn a_connection_that_the_control_plane_closes_takes_its_parked_fetch_with_it() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let mut client = broker.connect();
    client.send(19, 5, true, b"body");
    let event = broker.event(|e| matches!(e, Event::Request(_)));
    let Event::Request(request) = event else { unreachable!() };
    let body = b"\0\0\0\0answer".to_vec(); // an answer begins with its throttle_time_ms
    broker.engine.respond(vec![(request.token, Some(body))]);
    client.receive();
    client.send_fetch(&Fetch::waiting(0, 25_000));
    wait_until_parked(&broker, WaitKind::Fetch);
    broker.engine.disconnect(request.client.connection_id);
    assert!(client.is_closed());
    assert_eq!(broker.partition(0).waiters().len(WaitKind::Fetch), 0);
}

/// Its other connections would wait for ever, so the control plane ends the process.
#[test]
fn a_panic_in_a_network_thread_is_reported_with_its_message() {
    let (fs, broker) = breakable();
    broker.create(1, &[]);
    let mut client = broker.connect();
    client.produce(&Produce::one(1, batch(10)));
    fs.break_down();
    client.send_produce(&Produce::one(1, batch(10)));
    assert_eq!(failed_thread(&broker), "network");
}

#[test]
fn a_panic_in_a_disk_thread_is_reported_with_its_message() {
    let (fs, broker) = breakable();
    broker.create(1, &[]);
    broker.connect().produce(&Produce::one(1, batch(10)));
    fs.break_down();
    broker.broker().threads().flusher().enqueue(&broker.partition(0));
    assert_eq!(failed_thread(&broker), "flush");
}

fn breakable() -> (HeldSync, TestBroker) {
    let fs = HeldSync::default();
    let broker = TestBroker::start_on(Arc::new(fs.clone()), Options::default(), 1);
    (fs, broker)
}

/// The kind of the thread that failed, once one has.
fn failed_thread(broker: &TestBroker) -> String {
    let event = broker.event(|e| matches!(e, Event::ThreadFailed { .. }));
    let Event::ThreadFailed { thread, reason } = event else {
        unreachable!("another event was asked for")
    };
    assert_eq!(reason, "panic: a bug of ours");
    let number = |c: char| c == '-' || c.is_ascii_digit();
    thread.trim_end_matches(number).to_owned()
}

#[test]
fn a_port_in_use_is_one_sentence() {
    let broker = TestBroker::start();
    let listener = net::ListenerConfig {
        name: "EXTRA".to_owned(),
        host: "127.0.0.1".to_owned(),
        port: broker.port,
    };
    let engine = net::Engine::new(broker.broker().clone());
    let error = engine.listen(&[listener]).unwrap_err();
    assert!(error.contains(&format!("EXTRA://127.0.0.1:{}", broker.port)), "{error}");
    assert!(error.contains("port is in use"), "{error}");
}
