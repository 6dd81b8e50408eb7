//! One TCP connection: sends frames, receives frames, sees the end of the stream.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use protocol::{ApiTable, Writer};

use crate::fixture::LIMIT;
use crate::requests::{Fetch, Produce};
use crate::responses::{FetchAnswer, ProduceAnswer};

/// How long a client listens to make sure that nothing comes.
const SILENCE: Duration = Duration::from_millis(30);

pub struct Client {
    pub socket: TcpStream,
    next_correlation_id: i32,
}

/// A request's frame with its size prefix.
pub fn frame(api_key: i16, version: i16, correlation_id: i32, flexible: bool, body: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 4];
    let mut writer = Writer::new(&mut out, false);
    writer.i16(api_key);
    writer.i16(version);
    writer.i32(correlation_id);
    writer.string("data-plane-test");
    if flexible {
        out.push(0);
    }
    out.extend_from_slice(body);
    let size = i32::try_from(out.len() - 4).unwrap();
    out[..4].copy_from_slice(&size.to_be_bytes());
    out
}

impl Client {
    pub fn connect(port: u16) -> Self {
        Self::of(TcpStream::connect(("127.0.0.1", port)).unwrap())
    }

    pub fn of(socket: TcpStream) -> Self {
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        socket.set_write_timeout(Some(LIMIT)).unwrap();
        Self {
            socket,
            next_correlation_id: 1,
        }
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    /// Sends a request; returns its correlation id.
    pub fn send(&mut self, api_key: i16, version: i16, flexible: bool, body: &[u8]) -> i32 {
        let id = self.next_correlation_id;
        self.next_correlation_id += 1;
        self.send_bytes(&frame(api_key, version, id, flexible, body));
        id
    }

    /// The next response: correlation id, and what follows it.
    pub fn receive(&mut self) -> (i32, Vec<u8>) {
        let mut size = [0; 4];
        self.socket.read_exact(&mut size).unwrap();
        let mut response = vec![0; usize::try_from(i32::from_be_bytes(size)).unwrap()];
        self.socket.read_exact(&mut response).unwrap();
        let body = response.split_off(4);
        (i32::from_be_bytes(response.try_into().unwrap()), body)
    }

    pub fn send_produce(&mut self, request: &Produce<'_>) -> i32 {
        let version = request.version;
        self.send(ApiTable::PRODUCE, version, version >= 9, &request.body())
    }

    /// Sends a produce and reads its answer.
    pub fn produce(&mut self, request: &Produce<'_>) -> ProduceAnswer {
        let id = self.send_produce(request);
        let answer = self.produce_answer(request.version);
        assert_eq!(answer.correlation_id, id);
        answer
    }

    pub fn produce_answer(&mut self, version: i16) -> ProduceAnswer {
        let (id, body) = self.receive();
        ProduceAnswer::parse(id, version, &body)
    }

    pub fn send_fetch(&mut self, request: &Fetch<'_>) -> i32 {
        let version = request.version;
        self.send(ApiTable::FETCH, version, version >= 12, &request.body())
    }

    /// Sends a fetch and reads its answer.
    pub fn fetch(&mut self, request: &Fetch<'_>) -> FetchAnswer {
        let id = self.send_fetch(request);
        let answer = self.fetch_answer(request.version);
        assert_eq!(answer.correlation_id, id);
        answer
    }

    pub fn fetch_answer(&mut self, version: i16) -> FetchAnswer {
        let (id, body) = self.receive();
        FetchAnswer::parse(id, version, &body)
    }

    /// Whether the broker closed the connection, without another byte.
    pub fn is_closed(&mut self) -> bool {
        let mut byte = [0; 1];
        match self.socket.read(&mut byte) {
            Ok(0) => true,
            Err(e) if e.kind() == ErrorKind::ConnectionReset => true,
            Ok(_) => panic!("a byte came where the end was expected"),
            Err(e) => panic!("neither a byte nor the end came: {e}"),
        }
    }

    /// Whether nothing comes for a while.
    pub fn is_silent(&mut self) -> bool {
        self.socket.set_read_timeout(Some(SILENCE)).unwrap();
        let result = self.socket.read(&mut [0; 1]);
        self.socket.set_read_timeout(Some(LIMIT)).unwrap();
        matches!(result, Err(e) if e.kind() == ErrorKind::WouldBlock || e.kind() == ErrorKind::TimedOut)
    }

    /// The client goes, and its system says so at once (RST).
    pub fn reset(self) {
        rustix::net::sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO)).unwrap();
    }

    /// The client says that it will send no more.
    pub fn finish_sending(&self) {
        self.socket.shutdown(Shutdown::Write).unwrap();
    }
}
