//! Many requests on one connection: in order, however the bytes arrive.

use base::place::Offset;
use broker::{Event, Options};
use protocol::ApiTable;

use crate::client::{Client, frame};
use crate::fixture::{TestBroker, wait_until};
use crate::requests::{Fetch, Produce, batch};

const API_VERSIONS_V0: &[u8] = &[];

/// Requests 1 to `count`: produces, fetches and `ApiVersions` in turn, as one stream of bytes.
fn stream(count: i32) -> Vec<u8> {
    let one = |id: i32| match id % 3 {
        0 => frame(ApiTable::PRODUCE, 12, id, true, &Produce::one(1, batch(10)).body()),
        1 => frame(ApiTable::FETCH, 12, id, true, &Fetch::now(0).body()),
        _ => frame(ApiTable::API_VERSIONS, 0, id, false, API_VERSIONS_V0),
    };
    (1..=count).flat_map(one).collect()
}

fn ids(client: &mut Client, count: i32) -> Vec<i32> {
    (0..count).map(|_| client.receive().0).collect()
}

#[test]
fn a_thousand_pipelined_requests_are_answered_in_order() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let client = broker.connect();
    let mut reader = Client::of(client.socket.try_clone().unwrap());
    let mut writer = client;
    std::thread::scope(|scope| {
        scope.spawn(move || writer.send_bytes(&stream(1000)));
        assert_eq!(ids(&mut reader, 1000), (1..=1000).collect::<Vec<_>>());
    });
}

#[test]
fn segments_of_any_size_give_the_same_answers() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let bytes = stream(1000);
    let client = broker.connect();
    let mut reader = Client::of(client.socket.try_clone().unwrap());
    let mut writer = client;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut at, mut seed) = (0, 0x2545_f491_4f6c_dd1d_u64);
            while at < bytes.len() {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                // Every third segment is one byte, the others up to 400.
                let len = if seed.is_multiple_of(3) {
                    1
                } else {
                    usize::try_from(seed % 400).unwrap() + 1
                };
                let end = (at + len).min(bytes.len());
                writer.send_bytes(&bytes[at..end]);
                at = end;
            }
        });
        assert_eq!(ids(&mut reader, 1000), (1..=1000).collect::<Vec<_>>());
    });
    assert_eq!(broker.partition(0).offsets().log_end(), Offset(333));
}

#[test]
fn two_requests_cut_at_every_byte_are_both_answered() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let bytes: Vec<u8> = [3, 1]
        .into_iter()
        .flat_map(|id| stream(id).into_iter().collect::<Vec<_>>())
        .collect();
    let mut client = broker.connect();
    for cut in 0..bytes.len() {
        client.send_bytes(&bytes[..cut]);
        client.send_bytes(&bytes[cut..]);
        assert_eq!(ids(&mut client, 4), [1, 2, 3, 1], "cut at {cut}");
    }
}

#[test]
fn one_byte_at_a_time_is_enough() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let mut client = broker.connect();
    for byte in stream(9) {
        client.send_bytes(&[byte]);
    }
    assert_eq!(ids(&mut client, 9), (1..=9).collect::<Vec<_>>());
}

/// What follows an answer that left by `sendfile` is served as soon as that has left.
#[test]
fn a_request_behind_a_large_fetch_is_served() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let mut client = broker.connect();
    client.produce(&Produce::one(1, batch(200_000)));
    let mut both = Vec::new();
    for id in 1..=5 {
        both.extend(frame(ApiTable::FETCH, 12, id, true, &Fetch::now(0).body()));
    }
    client.send_bytes(&both);
    assert_eq!(ids(&mut client, 5), [1, 2, 3, 4, 5]);
}

/// A client that does not read is served no further, and loses nothing.
#[test]
fn a_client_that_reads_late_gets_everything() {
    let options = Options {
        socket_send_buffer_bytes: 256 << 10,
        ..Options::default()
    };
    let broker = TestBroker::start_with(options, 1);
    broker.create(1, &[]);
    let mut client = broker.connect();
    client.produce(&Produce::one(1, batch(1_000_000)));
    client.produce(&Produce::one(1, batch(20_000)));
    for i in 0..40 {
        client.send_fetch(&Fetch::now(i % 2));
    }
    for i in 0..40 {
        let answer = client.fetch_answer(12);
        assert_eq!(answer.only().base_offsets()[0], i % 2);
    }
}

#[test]
fn a_large_request_arrives_whole() {
    let broker = TestBroker::start();
    broker.create(1, &[("max.message.bytes", "20000000")]);
    let mut client = broker.connect();
    let large = batch(9_000_000);
    assert_eq!(client.produce(&Produce::one(1, large.clone())).outcomes(), [(0, 0)]);
    let answer = client.fetch(&Fetch {
        max_bytes: i32::MAX,
        ..Fetch::now(0)
    });
    assert_eq!(answer.only().records[61..], large[61..]);
}

/// Requests of the control plane: answered by their token, in order, one at a time.
#[test]
fn a_request_of_the_control_plane_holds_up_what_follows_it() {
    let broker = TestBroker::start();
    let mut client = broker.connect();
    client.send(19, 5, true, b"body");
    client.send(ApiTable::API_VERSIONS, 0, false, API_VERSIONS_V0);
    let event = broker.event(|e| matches!(e, Event::Request(_)));
    let Event::Request(request) = event else { unreachable!() };
    assert_eq!(
        (request.api_key, request.api_version, request.correlation_id),
        (19, 5, 1)
    );
    assert_eq!(request.body, b"body");
    assert_eq!(request.client.client_id.as_deref(), Some("data-plane-test"));
    assert_eq!(&*request.client.listener, "PLAINTEXT");
    assert!(client.is_silent());
    // an answer begins with its throttle_time_ms
    let body = b"\0\0\0\0answer".to_vec();
    broker.engine.respond(vec![(request.token, Some(body))]);
    assert_eq!(client.receive(), (1, b"\0\0\0\0\0answer".to_vec()));
    assert_eq!(client.receive().0, 2);
    broker.engine.respond(vec![(request.token, Some(b"again".to_vec()))]);
    assert!(client.is_silent(), "answered once");
}

#[test]
fn the_control_plane_can_close_a_connection() {
    let broker = TestBroker::start();
    for by_answer in [true, false] {
        let mut client = broker.connect();
        client.send(19, 5, true, b"body");
        let event = broker.event(|e| matches!(e, Event::Request(_)));
        let Event::Request(request) = event else { unreachable!() };
        if by_answer {
            broker.engine.respond(vec![(request.token, None)]);
        } else {
            broker.engine.disconnect(request.client.connection_id);
        }
        assert!(client.is_closed());
    }
    wait_until("no connection is counted", || broker.open_connections() == 0);
}

/// The control plane need not go on with what nobody waits for.
#[test]
fn a_client_that_goes_before_its_answer_is_reported_to_the_control_plane() {
    let broker = TestBroker::start();
    let mut client = broker.connect();
    client.send(19, 5, true, b"body");
    let event = broker.event(|e| matches!(e, Event::Request(_)));
    let Event::Request(request) = event else { unreachable!() };
    drop(client);
    let event = broker.event(|e| matches!(e, Event::RequestAbandoned { .. }));
    assert_eq!(event, Event::RequestAbandoned { token: request.token });
    broker.engine.respond(vec![(request.token, Some(b"late".to_vec()))]);
    wait_until("no connection is counted", || broker.open_connections() == 0);
}

#[test]
fn a_connection_that_turns_heavy_keeps_its_order_and_its_answers() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let heavy = |id: i32| match id % 3 {
        0 => frame(ApiTable::PRODUCE, 12, id, true, &Produce::one(1, batch(20_000)).body()),
        1 => frame(ApiTable::FETCH, 12, id, true, &Fetch::now(0).body()),
        _ => frame(ApiTable::API_VERSIONS, 0, id, false, API_VERSIONS_V0),
    };
    let clients: Vec<Client> = (0..4).map(|_| broker.connect()).collect();
    std::thread::scope(|scope| {
        for client in clients {
            let mut reader = Client::of(client.socket.try_clone().unwrap());
            let mut writer = client;
            scope.spawn(move || writer.send_bytes(&(1..=300).flat_map(heavy).collect::<Vec<u8>>()));
            scope.spawn(move || assert_eq!(ids(&mut reader, 300), (1..=300).collect::<Vec<_>>()));
        }
    });
    assert_eq!(broker.partition(0).offsets().log_end(), Offset(400));
    wait_until("no connection is counted", || broker.open_connections() == 0);
}

#[test]
fn the_control_plane_can_close_a_connection_that_turned_heavy() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    for _ in 0..20 {
        let mut client = broker.connect();
        assert_eq!(client.produce(&Produce::one(1, batch(20_000))).outcomes()[0].0, 0);
        client.send(19, 5, true, b"body");
        let event = broker.event(|e| matches!(e, Event::Request(_)));
        let Event::Request(request) = event else { unreachable!() };
        broker.engine.disconnect(request.client.connection_id);
        assert!(client.is_closed());
    }
}
