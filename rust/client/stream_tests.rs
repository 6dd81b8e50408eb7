//! Servers that give their bytes slowly.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::*;
use crate::{Connection, Request, Security};

const LIMIT: Duration = Duration::from_millis(200);

/// Asks a server that answers with these bytes, `piece` at a time with a pause after each.
fn ask(answer: Vec<u8>, piece: usize, pause: Duration) -> (bool, Duration) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = ("127.0.0.1".to_owned(), listener.local_addr().unwrap().port());
    let serving = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        assert!(socket.read(&mut [0; 100]).unwrap() > 0); // the request
        for piece in answer.chunks(piece) {
            if socket.write_all(piece).is_err() {
                break; // the client has gone
            }
            thread::sleep(pause);
        }
    });
    let mut connection = Connection::open(&server, "test", &Security::plaintext(), LIMIT).unwrap();
    let request = Request {
        api_key: 18,
        api_version: 0,
        is_flexible: false,
        body: Vec::new(),
    };
    let begin = Instant::now();
    let answered = connection.ask(&request);
    let time = begin.elapsed();
    drop(connection);
    serving.join().unwrap();
    (answered.is_ok(), time)
}

fn frame(body: usize) -> Vec<u8> {
    let mut frame = u32::try_from(4 + body).unwrap().to_be_bytes().to_vec();
    frame.extend(1_u32.to_be_bytes());
    frame.resize(frame.len() + body, 0);
    frame
}

#[test]
fn an_answer_that_trickles_ends_at_its_limit_and_one_that_flows_does_not() {
    let (is_answered, time) = ask(frame(1000), 1, LIMIT / 20);
    assert!(!is_answered);
    assert!((LIMIT..3 * LIMIT).contains(&time), "{time:?}");
    let (is_answered, time) = ask(frame(200_000), 20_000, LIMIT / 4);
    assert!(is_answered && time > LIMIT, "{time:?}");
}
