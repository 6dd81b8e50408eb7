//! Connections to a listener of SASL that a test makes, with a socket that blocks and with one that does not.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::*;
use crate::connection::Connection;
use crate::reasons::{NOT_KAFKA, SPEAKS_TLS};
use protocol::messages::Message;
use protocol::messages::sasl_authenticate::SaslAuthenticateResponse;
use protocol::messages::sasl_handshake::SaslHandshakeResponse;
use protocol::scram::Secret;

const ME: &str = "test";
const LIMITS: Limits = Limits {
    connect: Duration::from_secs(5),
    socket: Duration::from_secs(5),
};

/// A broker that lets everybody in for so long, then answers requests with `body`; each answer is sent byte by byte.
fn broker(lifetime_ms: i64, body: &'static [u8]) -> SocketAddr {
    broker_ahead(0, lifetime_ms, body)
}

/// As [`broker`], which answers a request as if it were so many requests further.
fn broker_ahead(requests: i32, lifetime_ms: i64, body: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client.set_nodelay(true).unwrap();
        let let_in = SaslAuthenticateResponse {
            session_lifetime_ms: lifetime_ms,
            ..SaslAuthenticateResponse::default()
        };
        for number in 0.. {
            let mut size = [0; 4];
            if client.read_exact(&mut size).is_err() {
                return;
            }
            let mut request = vec![0; u32::from_be_bytes(size) as usize];
            client.read_exact(&mut request).unwrap();
            let mut answer = request[4..8].to_vec();
            match number {
                0 => SaslHandshakeResponse::default().encode(&mut answer, 1),
                1 => let_in.encode(&mut answer, 1),
                _ => {
                    let asked = i32::from_be_bytes(*answer.first_chunk().unwrap());
                    answer = [&(asked + requests).to_be_bytes(), body].concat();
                }
            }
            let size = (answer.len() as i32).to_be_bytes();
            for byte in size.iter().chain(&answer) {
                client.write_all(&[*byte]).unwrap();
                thread::yield_now();
            }
        }
    });
    address
}

fn security() -> Security {
    let login = Login::of_user("PLAIN", "kafka", Secret::new("pencil")).unwrap();
    Security {
        tls: None,
        login: Some(login.into()),
    }
}

fn ends(lifetime_ms: i64) -> Option<Instant> {
    let server = ("127.0.0.1".to_owned(), broker(lifetime_ms, b"").port());
    let mut opening = Opening::new(&server, Vec::new(), ME, security(), Some(LIMITS));
    opening.step(&|_| Ok(())).unwrap().ends
}

#[test]
fn a_connection_is_replaced_after_nine_tenths_of_its_session() {
    let before = Instant::now();
    let ends = ends(60_000).unwrap();
    assert!(before + Duration::from_secs(54) <= ends);
    assert!(ends <= Instant::now() + Duration::from_secs(54));
}

#[test]
fn a_connection_whose_session_never_ends_is_never_replaced() {
    assert_eq!(ends(0), None);
}

fn wait(socket: &TcpStream, wants_to_write: bool) {
    let flags = if wants_to_write { PollFlags::OUT } else { PollFlags::IN };
    assert_eq!(poll(&mut [PollFd::new(socket, flags)], None), Ok(1));
}

/// A connection without limits, and how often its opening would have waited.
fn opened(address: SocketAddr) -> (Connection, usize) {
    let server = (address.ip().to_string(), address.port());
    let mut opening = Opening::new(&server, vec![address], ME, security(), None);
    assert!(opening.socket().is_none());
    let mut waits = 0;
    let opened = loop {
        match opening.step(&|_| Ok(())) {
            Ok(opened) => break opened,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        waits += 1;
        wait(opening.socket().unwrap(), opening.wants_to_write());
    };
    (Connection::over(opened, opening), waits)
}

#[test]
fn a_connection_without_limits_never_waits_and_goes_on_where_it_was() {
    let (mut connection, waits) = opened(broker(60_000, b"many bytes"));
    assert!(waits > 1);
    assert!(!connection.is_over());
    let mut answer = Vec::new();
    for _ in 0..2 {
        connection.send_by((3, 12), true, b"").unwrap();
        while !connection.receive_now(&mut answer).unwrap() {
            wait(connection.socket(), connection.wants_to_write());
        }
        assert_eq!(&answer[4..], b"many bytes");
    }
}

#[test]
fn an_answer_to_another_request_is_not_taken() {
    let (mut connection, _) = opened(broker_ahead(1, 60_000, b"of the next"));
    connection.send_by((3, 12), true, b"").unwrap();
    let mut answer = Vec::new();
    let received = loop {
        match connection.receive_now(&mut answer) {
            Ok(false) => wait(connection.socket(), connection.wants_to_write()),
            received => break received,
        }
    };
    assert_eq!(received.map_err(|error| error.reason), Err(NOT_KAFKA.to_owned()));
}

#[test]
fn a_listener_of_tls_is_told_by_its_alert() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = ("127.0.0.1".to_owned(), listener.local_addr().unwrap().port());
    let serving = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut size = [0; 4];
        client.read_exact(&mut size).unwrap();
        client
            .read_exact(&mut vec![0; u32::from_be_bytes(size) as usize])
            .unwrap();
        client.write_all(&[21, 3, 3, 0, 2, 2, 50]).unwrap();
    });
    let mut connection = Connection::open(&server, ME, &Security::plaintext(), LIMITS.socket).unwrap();
    connection.send_by((3, 12), true, b"").unwrap();
    let error = connection.receive(&mut Vec::new()).unwrap_err();
    assert_eq!(error.reason, SPEAKS_TLS);
    assert!(error.is_final);
    serving.join().unwrap();
}
