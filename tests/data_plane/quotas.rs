//! Clients over a quota: what their answers say, and that their connections serve nothing for so long.

use std::time::{Duration, Instant};

use broker::{ConnectionOptions, Options, QuotaKind, QuotaRow, QuotaWindow};
use protocol::ApiTable;

use crate::fixture::{TestBroker, wait_until};
use crate::requests::{Fetch, Produce, Wanted, batch};

/// Bytes a second.
const LIMIT: f64 = 10_000.0;
/// More than the window of two short samples lets through at once.
const MUCH: usize = 12_000;

/// A broker whose window is one second long, with a limit for every client id.
fn limited(kind: QuotaKind, limit: f64) -> TestBroker {
    let options = Options {
        client_quota: QuotaWindow {
            samples: 2,
            sample: Duration::from_millis(500),
        },
        ..Options::default()
    };
    let broker = TestBroker::start_with(options, 1);
    broker.create(1, &[]);
    publish(&broker, kind, Some(limit));
    broker
}

fn publish(broker: &TestBroker, kind: QuotaKind, limit: Option<f64>) {
    let row = QuotaRow {
        user: None,
        client_id: Some(String::new()),
        kind,
        limit,
    };
    broker.broker().quotas.publish(vec![row], false);
}

fn much() -> Produce<'static> {
    Produce::one(1, batch(MUCH))
}

/// KIP-219: the answer comes at once, and the connection is muted for the time that the answer names.
#[test]
fn produce_above_the_quota_is_answered_at_once_and_the_next_request_waits() {
    let broker = limited(QuotaKind::Produce, LIMIT);
    let mut client = broker.connect();
    let start = Instant::now();
    let answer = client.produce(&much());
    assert_eq!(answer.outcomes(), [(0, 0)]);
    let throttle_time = Duration::from_millis(u64::try_from(answer.throttle_time_ms).unwrap());
    assert!(start.elapsed() < throttle_time, "{throttle_time:?}");
    client.send(ApiTable::API_VERSIONS, 0, false, &[]);
    assert!(client.is_silent());
    client.receive();
    assert!(
        start.elapsed() >= throttle_time,
        "{:?} of {throttle_time:?}",
        start.elapsed()
    );
    let mut other = broker.connect();
    other.send(ApiTable::API_VERSIONS, 0, false, &[]);
    other.receive();
}

#[test]
fn pipelined_produces_above_the_quota_are_served_one_after_the_other() {
    let broker = limited(QuotaKind::Produce, LIMIT);
    let mut client = broker.connect();
    let start = Instant::now();
    for _ in 0..3 {
        client.send_produce(&much());
    }
    let mut throttled = Duration::ZERO;
    for nth in 0..3 {
        let answer = client.produce_answer(12);
        assert_eq!(answer.outcomes(), [(0, nth)]);
        assert!(
            start.elapsed() >= throttled,
            "the {nth}. came after {:?}",
            start.elapsed()
        );
        throttled += Duration::from_millis(u64::try_from(answer.throttle_time_ms).unwrap());
    }
    assert!(throttled > Duration::from_secs(1));
}

#[test]
fn fetch_above_the_quota_gets_no_records_and_gets_them_afterwards() {
    let broker = limited(QuotaKind::Fetch, LIMIT);
    let mut client = broker.connect();
    for _ in 0..3 {
        client.produce(&Produce::one(1, batch(3_000)));
    }
    let two = Fetch::of(vec![Wanted {
        max_bytes: 4_000,
        ..Wanted::new(0, 0)
    }]);
    let first = client.fetch(&two);
    assert_eq!((first.throttle_time_ms, first.only().base_offsets()), (0, vec![0]));
    let held_back = client.fetch(&two);
    assert!(
        held_back.throttle_time_ms > 0 && held_back.partitions.is_empty(),
        "{held_back:?}"
    );
    let mut tries = 0;
    wait_until("the records come", || {
        tries += 1;
        let answer = client.fetch(&two);
        answer.throttle_time_ms == 0 && answer.only().base_offsets() == [0]
    });
    assert!(tries <= 3, "{tries} tries: the connection waits, the client need not");
}

#[test]
fn request_time_above_the_quota_is_in_the_answer_of_any_api() {
    let broker = limited(QuotaKind::Request, 0.000_001);
    let mut client = broker.connect();
    let ask = |client: &mut crate::client::Client| {
        client.send(ApiTable::METADATA, 4, false, &[0xff, 0xff, 0xff, 0xff, 0]);
        let (_, body) = client.receive();
        i32::from_be_bytes(body[..4].try_into().unwrap())
    };
    let throttle_time_ms = ask(&mut client);
    assert_eq!(
        throttle_time_ms, 500,
        "the time of its own request counts, for a sample at most"
    );
    publish(&broker, QuotaKind::Request, None);
    assert_eq!(ask(&mut client), 0);
}

#[test]
fn client_that_breaks_off_while_it_is_held_back_is_forgotten_at_once() {
    let broker = limited(QuotaKind::Produce, 1.0);
    let mut client = broker.connect();
    assert!(client.produce(&much()).throttle_time_ms > 1_000_000);
    client.reset();
    wait_until("it is forgotten", || broker.open_connections() == 0);
}

/// It may have sent more requests before, which are served then.
#[test]
fn client_that_ends_its_side_while_it_is_held_back_is_closed_when_its_time_is_over() {
    let broker = limited(QuotaKind::Produce, LIMIT);
    let mut client = broker.connect();
    client.produce(&much());
    client.finish_sending();
    assert!(client.is_closed());
    wait_until("it is forgotten", || broker.open_connections() == 0);
}

#[test]
fn broker_that_stops_does_not_wait_for_clients_that_are_held_back() {
    let broker = limited(QuotaKind::Produce, 1.0);
    let mut client = broker.connect();
    assert!(client.produce(&much()).throttle_time_ms > 1_000_000);
    let start = Instant::now();
    broker.engine.close_network(Duration::from_secs(20));
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// KIP-612
#[test]
fn connections_above_the_rate_of_the_broker_are_accepted_later() {
    let options = Options {
        connections: ConnectionOptions {
            creation_rate: 2.0,
            ..ConnectionOptions::default()
        },
        ..Options::default()
    };
    let broker = TestBroker::start_with(options, 1);
    let start = Instant::now();
    for _ in 0..22 {
        let mut client = broker.connect();
        client.send(ApiTable::API_VERSIONS, 0, false, &[]);
        client.receive();
    }
    assert!(start.elapsed() >= Duration::from_millis(400), "{:?}", start.elapsed());
}

/// KIP-612
#[test]
fn connections_above_the_rate_of_their_address_are_closed_unserved() {
    let broker = TestBroker::start();
    let address = std::net::IpAddr::from([127, 0, 0, 1]);
    broker.broker().connection_rates.publish(vec![(Some(address), 0.1)]);
    let mut served = broker.connect();
    served.send(ApiTable::API_VERSIONS, 0, false, &[]);
    served.receive();
    let start = Instant::now();
    let mut turned_away = broker.connect();
    assert!(turned_away.is_closed());
    assert!(start.elapsed() >= Duration::from_millis(900), "{:?}", start.elapsed());
    served.send(ApiTable::API_VERSIONS, 0, false, &[]);
    served.receive();
}
