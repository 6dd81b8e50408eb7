//! One connection to a broker. Every failure names the server.
//!
//! ```text
//! request := size i32, api_key i16, api_version i16, correlation_id i32, client_id string, body
//! answer  := size i32, correlation_id i32, body
//! ```
//!
//! That header is the one of versions without tagged fields. Answers come in the order of the requests; several may be
//! on their way.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::{Server, push_string};

/// Enough for metadata of more than a million partitions, or for what a fetch asks for; a larger size is not Kafka's
/// protocol (an HTTP or TLS port, say).
const MAX_ANSWER_BYTES: u64 = 256 << 20;
const NOT_KAFKA: &str = "its answer is not Kafka's protocol";

/// Why a server gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoAnswer {
    /// The server, as host:port.
    pub address: String,
    /// The reason, as a part of a sentence.
    pub reason: String,
}

/// See the module.
pub struct Connection {
    address: String,
    client_id: &'static str,
    stream: TcpStream,
    sent: i32,
    received: i32,
}

impl Connection {
    /// Connects; `timeout` bounds this wait and every later one for bytes of an answer.
    pub fn open(server: &Server, client_id: &'static str, timeout: Duration) -> Result<Self, NoAnswer> {
        let (host, port) = server;
        let address = format!("{host}:{port}");
        match connect(server, timeout) {
            Ok(stream) => Ok(Self {
                address,
                client_id,
                stream,
                sent: 0,
                received: 0,
            }),
            Err(error) => Err(NoAnswer {
                address,
                reason: reason_of(&error),
            }),
        }
    }

    /// The server, as host:port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends a request and waits for its answer; the body of the answer.
    pub fn ask(&mut self, api_key: i16, api_version: i16, body: &[u8]) -> Result<Vec<u8>, NoAnswer> {
        self.send(api_key, api_version, body)?;
        let mut answer = Vec::new();
        self.receive(&mut answer)?;
        answer.drain(..size_of::<i32>());
        Ok(answer)
    }

    /// Sends a request without waiting.
    pub fn send(&mut self, api_key: i16, api_version: i16, body: &[u8]) -> Result<(), NoAnswer> {
        self.sent = self.sent.wrapping_add(1);
        let mut request = vec![0; size_of::<i32>()];
        request.extend(api_key.to_be_bytes());
        request.extend(api_version.to_be_bytes());
        request.extend(self.sent.to_be_bytes());
        let _fits = push_string(&mut request, self.client_id);
        request.extend(body);
        let size = (request.len() - size_of::<i32>()) as i32;
        request[..size_of::<i32>()].copy_from_slice(&size.to_be_bytes());
        let written = self.stream.write_all(&request);
        written.map_err(|error| self.failed(reason_of(&error)))
    }

    /// The answer to the first request that has none yet: its correlation id (four bytes) and its body, in `answer`,
    /// whose memory is used again.
    pub fn receive(&mut self, answer: &mut Vec<u8>) -> Result<(), NoAnswer> {
        self.received = self.received.wrapping_add(1);
        answer.clear();
        let read = self.read(answer);
        read.map_err(|error| self.failed(reason_of(&error)))?;
        if answer.first_chunk() == Some(&self.received.to_be_bytes()) {
            return Ok(());
        }
        Err(self.malformed())
    }

    /// The failure of a server whose answer cannot be understood.
    pub fn malformed(&self) -> NoAnswer {
        self.failed(NOT_KAFKA.to_owned())
    }

    fn failed(&self, reason: String) -> NoAnswer {
        NoAnswer {
            address: self.address.clone(),
            reason,
        }
    }

    /// Reads an answer; nothing when its size is impossible.
    fn read(&mut self, answer: &mut Vec<u8>) -> io::Result<()> {
        let mut size = [0; 4];
        self.stream.read_exact(&mut size)?;
        let Ok(size @ 4..=MAX_ANSWER_BYTES) = u64::try_from(i32::from_be_bytes(size)) else {
            return Ok(());
        };
        // grows with what arrives, not with what the size claims
        (&mut self.stream).take(size).read_to_end(answer)?;
        if (answer.len() as u64) < size {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

fn connect((host, port): &Server, timeout: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "its host has no address");
    for address in (host.as_str(), *port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => {
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))?;
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn reason_of(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => "no answer in time".to_owned(),
        ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_owned()
        }
    }
}
