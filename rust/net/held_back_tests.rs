use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::connection::Connection;
use crate::server::testing::reactor;
use crate::transport::Transport;
use broker::testing::Fixture;
use broker::{ClientInfo, HeldBack};

/// A connection of the loop; the time of its quota begins at `start`.
fn connection(reactor: &mut Reactor, start: Instant) -> ConnectionRef {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    socket.set_nonblocking(true).unwrap();
    let client = ClientInfo::new(1, "PLAINTEXT".into(), "/127.0.0.1".to_owned());
    let entry = reactor.connections.vacant_entry();
    let reference = ConnectionRef {
        key: entry.key(),
        id: 1,
    };
    entry.insert(Connection::new(
        reference,
        Transport::plain(mio::net::TcpStream::from_std(socket)),
        ([127, 0, 0, 1].into(), 0),
        client.into(),
        HeldBack::new(start),
        start,
    ));
    reference
}

#[test]
fn connection_whose_time_was_extended_while_its_timer_ran_gets_a_new_timer() {
    let (fixture, start) = (Fixture::new(1), Instant::now());
    let mut reactor = reactor(&fixture.broker);
    let reference = connection(&mut reactor, start);
    let second = Duration::from_secs(1);
    let held_back = Arc::clone(&reactor.connections[reference.key].held_back);
    held_back.hold_back(second, start);
    reactor.set_timer_if_held_back(reference, start);
    assert_eq!(reactor.held_back.next(), Some(start + second));
    held_back.hold_back(3 * second, start);
    reactor.serve_held_back(start + second);
    assert!(!reactor.connections[reference.key].is_queued);
    assert_eq!(reactor.held_back.next(), Some(start + 3 * second));
    reactor.serve_held_back(start + 3 * second);
    assert!(reactor.connections[reference.key].is_queued && !held_back.is_set());
    assert_eq!(reactor.held_back.next(), None);
}
