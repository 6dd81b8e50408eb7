use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::connection::Connection;
use crate::transport::Transport;
use broker::{ClientInfo, HeldBack};

/// A connection; the time of its quota begins at `start`.
fn connection(start: Instant) -> Connection {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    socket.set_nonblocking(true).unwrap();
    let client = ClientInfo::new(1, "PLAINTEXT".into(), "/127.0.0.1".to_owned());
    Connection::new(
        ConnectionRef { key: 0, id: 1 },
        Transport::plain(mio::net::TcpStream::from_std(socket)),
        [127, 0, 0, 1].into(),
        0,
        client.into(),
        HeldBack::new(start),
        start,
    )
}

#[test]
fn connection_whose_time_was_extended_while_its_timer_ran_gets_a_new_timer() {
    let (second, start) = (Duration::from_secs(1), Instant::now());
    let poll = mio::Poll::new().unwrap();
    let mut connections = Connections::new(poll.registry().try_clone().unwrap());
    let connection = connection(start);
    let held_back = Arc::clone(&connection.held_back);
    connections.add(connection).unwrap();
    let reference = connections.next_queued().unwrap();
    let mut timers = HeldBackTimers::default();
    held_back.hold_back(second, start);
    timers.set_if_held_back(reference, &mut connections, start);
    assert_eq!(timers.next(), Some(start + second));
    held_back.hold_back(3 * second, start);
    timers.release_due(&mut connections, start + second);
    assert_eq!(connections.queued(), 0);
    assert_eq!(timers.next(), Some(start + 3 * second));
    timers.release_due(&mut connections, start + 3 * second);
    assert!(connections.next_queued() == Some(reference) && !held_back.is_set());
    assert_eq!(timers.next(), None);
}
