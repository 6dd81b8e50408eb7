//! A connection is used again by the same login alone, and not once the broker has closed it.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use protocol::messages::heartbeat::HeartbeatRequest;

use super::Pool;
use crate::Request;
use crate::connection::Connection;
use crate::security::Security;

const TIMEOUT: Duration = Duration::from_secs(5);
const ME: &str = "test";

/// A broker that answers so many questions over each connection, then closes it; the connections so far.
fn broker(answers: usize) -> ((String, u16), std::sync::mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (accepted, connections) = std::sync::mpsc::channel();
    thread::spawn(move || {
        for client in listener.incoming() {
            accepted.send(()).unwrap();
            let mut client = client.unwrap();
            for _ in 0..answers {
                let mut size = [0; 4];
                if client.read_exact(&mut size).is_err() {
                    break;
                }
                let mut request = vec![0; u32::from_be_bytes(size) as usize];
                client.read_exact(&mut request).unwrap();
                client.write_all(&4_i32.to_be_bytes()).unwrap();
                client.write_all(&request[4..8]).unwrap();
            }
        }
    });
    (("127.0.0.1".to_owned(), port), connections)
}

fn opened(server: &(String, u16), security: &Security) -> Connection {
    Connection::open(server, ME, security, TIMEOUT).unwrap()
}

fn request() -> Request {
    Request::of(0, &HeartbeatRequest::default())
}

#[test]
fn a_connection_is_used_again_by_the_same_login() {
    let (server, connections) = broker(usize::MAX);
    let (pool, security) = (Pool::default(), Security::plaintext());
    assert!(pool.take(&server, ME, &security, TIMEOUT).is_none());
    let mut connection = opened(&server, &security);
    connection.ask(&request()).unwrap();
    pool.give(connection);
    assert!(pool.take(&server, "other", &security, TIMEOUT).is_none());
    let mut connection = pool.take(&server, ME, &security, TIMEOUT).unwrap();
    connection.ask(&request()).unwrap();
    assert!(
        pool.take(&server, ME, &security, TIMEOUT).is_none(),
        "it has one caller"
    );
    assert_eq!(connections.try_iter().count(), 1);
}

#[test]
fn a_connection_of_another_login_is_not_used() {
    let (server, _connections) = broker(usize::MAX);
    let pool = Pool::default();
    let of = |password: &str| {
        let properties = [
            ("security.protocol", "SASL_PLAINTEXT"),
            ("sasl.mechanism", "PLAIN"),
            (
                "sasl.jaas.config",
                &format!("a.Module required username=\"u\" password=\"{password}\";"),
            ),
        ];
        Security::of(&properties.map(|(key, value)| (key.to_owned(), value.to_owned())).into()).unwrap()
    };
    let plain = opened(&server, &Security::plaintext());
    pool.give(plain);
    assert!(pool.take(&server, ME, &of("one"), TIMEOUT).is_none());
    assert!(!of("one").is_same(&of("one")), "read at another time");
    let one = of("one");
    assert!(one.is_same(&one.clone()));
    assert!(pool.take(&server, ME, &Security::plaintext(), TIMEOUT).is_some());
}

#[test]
fn a_connection_that_was_closed_or_waits_for_an_answer_is_not_used() {
    let (server, _connections) = broker(1);
    let (pool, security) = (Pool::default(), Security::plaintext());
    let mut closed = opened(&server, &security);
    closed.ask(&request()).unwrap();
    while closed.is_quiet() {
        thread::yield_now();
    }
    pool.give(closed);
    assert!(pool.take(&server, ME, &security, TIMEOUT).is_none());
    let mut waiting = opened(&server, &security);
    waiting.send(&request()).unwrap();
    pool.give(waiting);
    assert!(pool.take(&server, ME, &security, TIMEOUT).is_none());
}
