//! Requests over real sockets to a broker that a test plays.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;
use broker::testing::Fixture;
use broker::{BrokerRow, Event};

const OTHER: i32 = 2;
/// More than any answer here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// The body of an answer, if there was one.
type Answer = Option<Vec<u8>>;

/// A broker with connections to broker 2, which listens on a socket of the test.
struct World {
    fixture: Fixture,
    peers: BrokerPeers,
    listener: TcpListener,
    answers: (Sender<Answer>, Receiver<Answer>),
}

impl World {
    fn new() -> Self {
        let fixture = Fixture::new(1);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let other = BrokerRow {
            node_id: OTHER,
            rack: None,
            endpoints: vec![("PLAINTEXT".to_owned(), "127.0.0.1".to_owned(), port)],
        };
        fixture.broker.image().publish_cluster(vec![other], OTHER);
        Self {
            peers: BrokerPeers::new(&fixture.broker, Arc::default()),
            fixture,
            listener,
            answers: channel(),
        }
    }

    fn ask(&self, channel: Channel, node_id: i32, body: &[u8]) {
        self.ask_later(Duration::ZERO, channel, node_id, body);
    }

    fn ask_later(&self, pause: Duration, channel: Channel, node_id: i32, body: &[u8]) {
        let ask = Ask {
            api_key: 27,
            api_version: 2,
            body: body.to_vec(),
        };
        let answers = self.answers.0.clone();
        let then = move |body: Option<&[u8]>| drop(answers.send(body.map(<[u8]>::to_vec)));
        if pause.is_zero() {
            self.peers.send(channel, node_id, ask, Box::new(then));
        } else {
            self.peers.send_later(pause, channel, node_id, ask, Box::new(then));
        }
    }

    /// The next answer.
    fn answer(&self) -> Option<Vec<u8>> {
        self.answers.1.recv_timeout(PATIENCE).unwrap()
    }

    fn accept(&self) -> Theirs {
        let socket = self.listener.accept().unwrap().0;
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Theirs(socket)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.peers.stop();
    }
}

/// The other broker's end of a connection.
struct Theirs(TcpStream);

impl Theirs {
    /// The correlation id, the client id and the body of the next request.
    fn request(&mut self) -> (i32, String, Vec<u8>) {
        let mut size = [0; 4];
        self.0.read_exact(&mut size).unwrap();
        let mut frame = vec![0; i32::from_be_bytes(size) as usize];
        self.0.read_exact(&mut frame).unwrap();
        assert_eq!(frame[..4], [0, 27, 0, 2], "key and version");
        let correlation_id = i32::from_be_bytes(frame[4..8].try_into().unwrap());
        let end = 10 + usize::from(u16::from_be_bytes([frame[8], frame[9]]));
        let client_id = String::from_utf8(frame[10..end].to_vec()).unwrap();
        (correlation_id, client_id, frame[end + 1..].to_vec())
    }

    fn respond(&mut self, correlation_id: i32, body: &[u8]) {
        let mut frame = (5 + body.len() as i32).to_be_bytes().to_vec();
        frame.extend_from_slice(&correlation_id.to_be_bytes());
        frame.push(0);
        frame.extend_from_slice(body);
        self.0.write_all(&frame).unwrap();
    }

    /// Answers the next request with its own body.
    fn echo(&mut self) -> Vec<u8> {
        let (correlation_id, _, body) = self.request();
        self.respond(correlation_id, &body);
        body
    }
}

#[test]
fn requests_of_a_channel_go_over_one_connection_and_are_answered_in_order() {
    let world = World::new();
    for number in 0..5 {
        world.ask(Channel::Markers, OTHER, &[number]);
    }
    let mut theirs = world.accept();
    for number in 0..5 {
        let (correlation_id, client_id, body) = theirs.request();
        assert_eq!((client_id.as_str(), &body[..]), ("broker-1-markers", &[number][..]));
        theirs.respond(correlation_id, &[number, 9]);
        assert_eq!(world.answer(), Some(vec![number, 9]));
    }
}

#[test]
fn channels_do_not_wait_for_each_other() {
    let world = World::new();
    world.ask(Channel::Markers, OTHER, b"markers");
    let mut markers = world.accept();
    let (correlation_id, _, _) = markers.request(); // not answered yet
    world.ask(Channel::Transactions, OTHER, b"questions");
    let mut questions = world.accept();
    questions.echo();
    assert_eq!(world.answer(), Some(b"questions".to_vec()));
    markers.respond(correlation_id, b"late");
    assert_eq!(world.answer(), Some(b"late".to_vec()));
}

#[test]
fn request_to_a_broker_that_cannot_be_reached_is_answered_with_nothing_and_logged_once() {
    let mut world = World::new();
    world.ask(Channel::Markers, 7, b"unknown");
    assert_eq!(world.answer(), None);
    // nobody listens any more
    world.listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for _ in 0..2 {
        world.ask(Channel::Markers, OTHER, b"refused");
        assert_eq!(world.answer(), None);
    }
    let said = "broker 2 cannot be asked about transactions";
    let is_line = |event: &Event| matches!(event, Event::Log(line) if line.contains(said));
    let events = world.fixture.broker.events().take(usize::MAX);
    assert_eq!(events.iter().filter(|event| is_line(event)).count(), 1);
}

#[test]
fn request_on_a_new_connection_that_is_closed_is_answered_with_nothing_and_the_next_is_sent() {
    let world = World::new();
    world.ask(Channel::Markers, OTHER, b"lost");
    let mut theirs = world.accept();
    theirs.request();
    drop(theirs);
    assert_eq!(world.answer(), None);
    world.ask(Channel::Markers, OTHER, b"next");
    assert_eq!(world.accept().echo(), b"next");
    assert_eq!(world.answer(), Some(b"next".to_vec()));
}

#[test]
fn request_on_an_idle_connection_that_was_closed_goes_over_another_connection_once() {
    let world = World::new();
    world.ask(Channel::Markers, OTHER, b"first");
    let mut theirs = world.accept();
    theirs.echo();
    assert_eq!(world.answer(), Some(b"first".to_vec()));
    drop(theirs);
    world.ask(Channel::Markers, OTHER, b"second");
    let mut theirs = world.accept();
    assert_eq!(theirs.echo(), b"second");
    assert_eq!(world.answer(), Some(b"second".to_vec()));
    drop(theirs);
    world.ask(Channel::Markers, OTHER, b"third");
    drop(world.accept());
    assert_eq!(world.answer(), None, "it is sent twice at most");
}

#[test]
fn answer_to_another_request_counts_as_none() {
    let world = World::new();
    world.ask(Channel::Markers, OTHER, b"asked");
    let mut theirs = world.accept();
    let (correlation_id, _, _) = theirs.request();
    theirs.respond(correlation_id + 1, b"wrong");
    assert_eq!(world.answer(), None);
}

#[test]
fn request_with_a_pause_holds_up_no_other_request() {
    let world = World::new();
    let (begin, pause) = (Instant::now(), Duration::from_millis(50));
    world.ask_later(pause, Channel::Transactions, OTHER, b"later");
    world.ask(Channel::Transactions, OTHER, b"now");
    let mut theirs = world.accept();
    assert_eq!(theirs.echo(), b"now");
    assert_eq!(theirs.echo(), b"later");
    assert!(begin.elapsed() >= pause);
    assert_eq!(world.answer(), Some(b"now".to_vec()));
    assert_eq!(world.answer(), Some(b"later".to_vec()));
}

#[test]
fn stop_answers_the_requests_that_are_left_and_those_that_come_later() {
    let world = World::new();
    for number in 0..3 {
        world.ask(Channel::Markers, OTHER, &[number]);
    }
    let mut theirs = world.accept();
    theirs.request(); // under way
    world.ask_later(PATIENCE, Channel::Markers, OTHER, b"with a pause");
    world.peers.stop();
    world.ask(Channel::Markers, OTHER, b"later");
    world.ask(Channel::Transactions, OTHER, b"later");
    for _ in 0..6 {
        assert_eq!(world.answer(), None);
    }
}
