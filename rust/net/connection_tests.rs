use std::net::TcpListener;

use super::*;

/// A connection that no quota holds back before `start`.
pub fn connection(id: u64, start: Instant) -> Connection {
    connected(id, start).0
}

/// As [`connection`], and its client's end.
pub fn connected(id: u64, start: Instant) -> (Connection, std::net::TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let theirs = listener.accept().unwrap().0;
    socket.set_nonblocking(true).unwrap();
    let client = ClientInfo::new(1, "PLAINTEXT".into(), "/127.0.0.1".to_owned());
    let connection = Connection::new(
        ConnectionRef { key: 0, id },
        Transport::plain(TcpStream::from_std(socket)),
        [127, 0, 0, 1].into(),
        0,
        client.into(),
        HeldBack::new(start),
        start,
    );
    (connection, theirs)
}

fn answer(bytes: &[u8]) -> Outbox {
    let mut outbox = Outbox::default();
    outbox.tail().extend_from_slice(bytes);
    outbox
}

// Answers leave in the order of their requests
#[test]
fn later_answers_wait_behind_a_parked_one() {
    let mut connection = connection(1, Instant::now());
    connection.wait_for(1, false);
    connection.answer_box().tail().push(b'b');
    connection.wait_for(2, false);
    connection.answer_box().tail().push(b'd');
    connection.fill(2, answer(b"c"));
    assert!(connection.outbox.is_empty());
    connection.fill(1, answer(b"a"));
    assert_eq!(connection.outbox.tail(), b"abcd");
    assert!(!connection.has_gap());
}

#[test]
fn a_muting_operation_mutes_until_it_is_answered() {
    let mut connection = connection(1, Instant::now());
    connection.wait_for(5, true);
    assert!(connection.is_muted());
    connection.fill(5, answer(b"x"));
    assert!(!connection.is_muted());
    assert!(!connection.has_gap());
}

#[test]
fn parked_operations_are_known_when_the_connection_goes() {
    let mut connection = connection(1, Instant::now());
    connection.wait_for(3, false);
    connection.answer_box().tail().push(0);
    connection.wait_for(4, true);
    assert_eq!(connection.waiting(), [3, 4]);
}
