//! One connection to a broker, one request after the other. Every failure names the server.
//!
//! The versions of these requests are served by every broker since Kafka 2.1 and need no tagged fields:
//!
//! ```text
//! request        := size i32, api_key i16, api_version i16, correlation_id i32, client_id string, body
//! Metadata v4    := topics [string], allow_auto_topic_creation bool
//! ListOffsets v2 := replica i32, isolation i8, topics [name string, partitions [partition i32, timestamp i64]]
//! ```

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::answers::{Malformed, read_metadata, read_offsets};
use super::{PlanError, Refusal, Server};

const CLIENT_ID: &str = "kafkastore-scan";
const LIST_OFFSETS: i16 = 2;
const LIST_OFFSETS_VERSION: i16 = 2;
const METADATA: i16 = 3;
const METADATA_VERSION: i16 = 4;
pub(super) const LATEST: i64 = -1;
pub(super) const EARLIEST: i64 = -2;
pub(super) const READ_UNCOMMITTED: u8 = 0;
pub(super) const READ_COMMITTED: u8 = 1;
/// Enough for more than a million partitions; a larger size is not Kafka's protocol (an HTTP or TLS port, say).
const MAX_RESPONSE_BYTES: u64 = 64 << 20;

/// What Metadata tells of a topic.
#[derive(Debug, Default)]
pub(super) struct Topology {
    /// By node id.
    pub(super) brokers: BTreeMap<i32, Server>,
    /// The leader's node id by partition.
    pub(super) leaders: BTreeMap<i32, i32>,
}

pub(super) struct Connection {
    address: String,
    stream: TcpStream,
    sent: i32,
}

impl Connection {
    pub(super) fn open(server: &Server, timeout: Duration) -> Result<Self, Refusal> {
        let (host, port) = server;
        let address = format!("{host}:{port}");
        match connect(server, timeout) {
            Ok(stream) => Ok(Self {
                address,
                stream,
                sent: 0,
            }),
            Err(error) => Err(failed(&address, &reason_of(&error))),
        }
    }

    /// The brokers, and the leaders of the topic.
    pub(super) fn metadata(&mut self, topic: &str) -> Result<Topology, Refusal> {
        let mut body = 1_i32.to_be_bytes().to_vec();
        push_string(&mut body, topic)?;
        body.push(0);
        let answer = self.ask(METADATA, METADATA_VERSION, &body)?;
        read_metadata(&answer, topic).map_err(|error| self.malformed(error))
    }

    /// The offset that `ListOffsets` gives for the timestamp, for each partition in turn.
    pub(super) fn list_offsets(
        &mut self,
        topic: &str,
        partitions: &[i32],
        isolation: u8,
        timestamp: i64,
    ) -> Result<Vec<i64>, Refusal> {
        let mut body = (-1_i32).to_be_bytes().to_vec();
        body.push(isolation);
        body.extend(1_i32.to_be_bytes());
        push_string(&mut body, topic)?;
        body.extend((partitions.len() as i32).to_be_bytes());
        for partition in partitions {
            body.extend(partition.to_be_bytes());
            body.extend(timestamp.to_be_bytes());
        }
        let answer = self.ask(LIST_OFFSETS, LIST_OFFSETS_VERSION, &body)?;
        let found = read_offsets(&answer, topic).map_err(|error| self.malformed(error))?;
        let each = partitions.iter().map(|partition| found.get(partition).copied());
        each.collect::<Option<_>>()
            .ok_or_else(|| self.malformed(Malformed::Bytes))
    }

    fn malformed(&self, error: Malformed) -> Refusal {
        match error {
            Malformed::Bytes => failed(&self.address, "its answer is not Kafka's protocol"),
            Malformed::Refused(refusal) => refusal,
        }
    }

    fn ask(&mut self, api_key: i16, api_version: i16, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        self.sent += 1;
        let mut header = Vec::new();
        header.extend(api_key.to_be_bytes());
        header.extend(api_version.to_be_bytes());
        header.extend(self.sent.to_be_bytes());
        push_string(&mut header, CLIENT_ID)?;
        let mut request = ((header.len() + body.len()) as i32).to_be_bytes().to_vec();
        request.extend(header);
        request.extend(body);
        let answer = self
            .exchange(&request)
            .map_err(|error| failed(&self.address, &reason_of(&error)))?;
        match answer.split_first_chunk() {
            Some((id, answer)) if *id == self.sent.to_be_bytes() => Ok(answer.to_vec()),
            _ => Err(self.malformed(Malformed::Bytes)),
        }
    }

    /// The bytes of the answer; none when its size is impossible.
    fn exchange(&mut self, request: &[u8]) -> io::Result<Vec<u8>> {
        self.stream.write_all(request)?;
        let mut size = [0; 4];
        self.stream.read_exact(&mut size)?;
        let Ok(size @ 4..=MAX_RESPONSE_BYTES) = u64::try_from(i32::from_be_bytes(size)) else {
            return Ok(Vec::new());
        };
        let mut answer = Vec::new(); // grows with what arrives, not with what the size claims
        (&mut self.stream).take(size).read_to_end(&mut answer)?;
        if (answer.len() as u64) < size {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(answer)
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

fn failed(address: &str, reason: &str) -> Refusal {
    Refusal::Server(format!(
        "bootstrap_servers: {address} cannot be asked ({reason}); name a running broker with a PLAINTEXT listener, or \
         leave bootstrap_servers out to go by the files alone"
    ))
}

fn push_string(bytes: &mut Vec<u8>, text: &str) -> Result<(), Refusal> {
    let Ok(len) = i16::try_from(text.len()) else {
        let start: String = text.chars().take(40).collect();
        return Err(Refusal::Final(PlanError::Invalid(format!(
            "topic {start}... is too long: a topic has at most 249 characters"
        ))));
    };
    bytes.extend(len.to_be_bytes());
    bytes.extend(text.as_bytes());
    Ok(())
}
