//! Bytes that are no requests, and requests that are not served: the connection pays, nobody else.

use base::place::Offset;
use broker::Options;
use protocol::ApiTable;

use crate::client::frame;
use crate::fixture::{TestBroker, wait_until};
use crate::requests::{Fetch, Produce, batch};

/// Sends these bytes; the connection must be closed with one log line, which is returned, and another one must live.
fn closes_only_its_connection(broker: &TestBroker, bytes: &[u8]) -> String {
    let (mut bad, mut good) = (broker.connect(), broker.connect());
    good.send(ApiTable::API_VERSIONS, 0, false, &[]);
    bad.send_bytes(bytes);
    assert!(bad.is_closed());
    assert_eq!(good.receive().0, 1);
    let mut lines = Vec::new();
    wait_until("the line is logged", || {
        lines.extend(broker.log_lines());
        !lines.is_empty()
    });
    good.send(ApiTable::API_VERSIONS, 0, false, &[]);
    assert_eq!(good.receive().0, 2);
    lines.extend(broker.log_lines());
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines.remove(0)
}

#[test]
fn a_frame_of_an_impossible_size_closes_only_its_connection() {
    let options = Options {
        socket_request_max_bytes: 1000,
        ..Options::default()
    };
    let broker = TestBroker::start_with(options, 1);
    for size in [0, -1, i32::MIN, 1001, i32::MAX] {
        let line = closes_only_its_connection(&broker, &size.to_be_bytes());
        assert!(line.contains(&size.to_string()), "{line}");
    }
}

#[test]
fn a_frame_of_the_largest_size_is_served() {
    let frame_bytes = frame(ApiTable::API_VERSIONS, 0, 1, false, &[0; 100]);
    let options = Options {
        socket_request_max_bytes: frame_bytes.len() - 4,
        ..Options::default()
    };
    let broker = TestBroker::start_with(options, 1);
    let mut client = broker.connect();
    client.send_bytes(&frame_bytes);
    assert_eq!(client.receive().0, 1);
}

#[test]
fn an_unknown_api_or_version_closes_with_one_log_line() {
    let broker = TestBroker::start();
    let cases = [
        (9999, 0),
        (-1, 0),
        (ApiTable::PRODUCE, 2),
        (ApiTable::PRODUCE, 14),
        (ApiTable::FETCH, 99),
        (19, -1),
    ];
    for (key, version) in cases {
        let line = closes_only_its_connection(&broker, &frame(key, version, 1, false, &[0; 20]));
        assert!(line.contains(&format!("api key {key} version {version}")), "{line}");
        assert!(line.contains("/127.0.0.1 on PLAINTEXT"), "{line}");
    }
}

#[test]
fn an_api_versions_of_the_future_gets_version_0_with_error_35() {
    let broker = TestBroker::start();
    let mut client = broker.connect();
    for flexible in [true, false] {
        let id = client.send(ApiTable::API_VERSIONS, 99, flexible, &[0; 10]);
        let (answered, body) = client.receive();
        assert_eq!(answered, id);
        assert_eq!(body[..2], [0, 35]);
        let count = i32::from_be_bytes(body[2..6].try_into().unwrap());
        assert_eq!(
            body.len(),
            6 + 6 * usize::try_from(count).unwrap(),
            "version 0: no throttle time, no tags"
        );
        let range_at = body.windows(2).skip(6).position(|w| w == 18_i16.to_be_bytes());
        assert!(range_at.is_some(), "ApiVersions itself is told");
    }
    client.send(ApiTable::API_VERSIONS, 0, false, &[]);
    assert_eq!(client.receive().1[..2], [0, 0], "the connection lives");
}

#[test]
fn produce_is_advertised_from_version_0() {
    let broker = TestBroker::start();
    let mut client = broker.connect();
    client.send(ApiTable::API_VERSIONS, 0, false, &[]);
    let body = client.receive().1;
    assert!(body[6..].chunks(6).any(|row| row == [0, 0, 0, 0, 0, 13]), "{body:?}");
}

#[test]
fn a_request_cut_short_at_any_byte_closes_its_connection_and_writes_nothing() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let produce = frame(ApiTable::PRODUCE, 12, 1, true, &Produce::one(1, batch(10)).body());
    let fetch = frame(ApiTable::FETCH, 12, 1, true, &Fetch::now(0).body());
    for whole in [produce, fetch] {
        for len in 1..whole.len() - 4 {
            let mut client = broker.connect();
            client.send_bytes(&i32::try_from(len).unwrap().to_be_bytes());
            client.send_bytes(&whole[4..4 + len]);
            assert!(client.is_closed(), "cut to {len} bytes");
        }
    }
    assert_eq!(broker.partition(0).offsets().log_end(), Offset(0));
}

#[test]
fn counts_larger_than_the_bytes_that_follow_close_the_connection() {
    let broker = TestBroker::start();
    // No transactional id, acks 1, timeout, then 2^31 - 1 topics.
    let mut body = vec![0xff, 0xff, 0, 1, 0, 0, 0, 9];
    body.extend_from_slice(&i32::MAX.to_be_bytes());
    closes_only_its_connection(&broker, &frame(ApiTable::PRODUCE, 3, 1, false, &body));
}

/// Log lines are limited, so that clients cannot fill the disk with them.
#[test]
fn a_flood_of_bad_frames_is_not_a_flood_of_log_lines() {
    let broker = TestBroker::start();
    for _ in 0..100 {
        let mut client = broker.connect();
        client.send_bytes(&[0; 4]);
        assert!(client.is_closed());
    }
    let lines = broker.log_lines();
    assert!((20..100).contains(&lines.len()), "{} lines", lines.len());
}
