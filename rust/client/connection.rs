//! One connection to a broker. Every failure names the server.
//!
//! ```text
//! request := size i32, api_key i16, api_version i16, correlation_id i32, client_id string, body
//! answer  := size i32, correlation_id i32, body
//! ```
//!
//! A version with tagged fields has them behind the client id and behind the correlation id. Answers come in the order
//! of the requests; several may be on their way. A session of SASL that ends at some time is replaced by another, over
//! another connection, before it does.

use std::io::{self, ErrorKind, Read};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::dial::{Limits, Opened, dial};
use crate::reasons::{CLOSED, NOT_KAFKA, SPEAKS_TLS, is_closed, is_final, is_shut_out, reason_of};
use crate::security::Security;
use crate::stream::Stream;
use crate::{Request, Server};
use protocol::write_request;

/// Enough for metadata of more than a million partitions, or for what a fetch asks for; a larger size is not Kafka's
/// protocol (an HTTP port, say).
const MAX_ANSWER_BYTES: u64 = 256 << 20;

/// Why a server gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoAnswer {
    /// The server, as host:port.
    pub address: String,
    /// The reason, as a part of a sentence.
    pub reason: String,
    /// Whether asking again, or another server, gives the same: the login was refused, or TLS does not go.
    pub is_final: bool,
    /// Whether it closed the connection before it let the client in: it is about to end, or its listener is one of
    /// another `security.protocol`. When that lasts, asking again is in vain, too.
    pub is_shut_out: bool,
}

/// See the module.
pub struct Connection {
    address: String,
    server: Server,
    client_id: &'static str,
    security: Security,
    limits: Limits,
    stream: Stream,
    ends: Option<Instant>,
    /// Whether the broker has answered a request.
    is_known: bool,
    sent: i32,
    received: i32,
}

impl Connection {
    /// Connects; `timeout` bounds this wait and every later one for bytes of an answer.
    pub fn open(
        server: &Server,
        client_id: &'static str,
        security: &Security,
        timeout: Duration,
    ) -> Result<Self, NoAnswer> {
        let limits = Limits {
            connect: timeout,
            socket: timeout,
        };
        let Opened { stream, ends } = open(server, client_id, security, limits)?;
        Ok(Self {
            address: address_of(server),
            server: server.clone(),
            client_id,
            security: security.clone(),
            limits,
            stream,
            ends,
            is_known: false,
            sent: 0,
            received: 0,
        })
    }

    /// The server, as host:port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Whether it leads to this server, by this login.
    pub fn is_to(&self, server: &Server, client_id: &str, security: &Security) -> bool {
        self.server == *server && self.client_id == client_id && self.security.is_same(security)
    }

    /// Whether each request has its answer.
    pub fn is_answered(&self) -> bool {
        self.sent == self.received
    }

    /// Whether nothing has come that was not read: a broker that closes a connection says so.
    pub fn is_quiet(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], Some(&now)), Ok(0))
    }

    /// Bounds each later wait.
    pub fn set_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        self.limits = Limits {
            connect: timeout,
            socket: timeout,
        };
        let socket = self.stream.socket();
        socket.set_read_timeout(Some(timeout))?;
        socket.set_write_timeout(Some(timeout))
    }

    /// Sends a request and waits for its answer; the body of the answer.
    pub fn ask(&mut self, request: &Request) -> Result<Vec<u8>, NoAnswer> {
        self.send(request)?;
        let mut answer = Vec::new();
        self.receive(&mut answer)?;
        let body_at = request.body_at(&answer).map_err(|_| self.malformed())?;
        answer.drain(..body_at);
        Ok(answer)
    }

    /// Sends a request without waiting.
    pub fn send(&mut self, request: &Request) -> Result<(), NoAnswer> {
        let is_over = self.ends.is_some_and(|ends| Instant::now() >= ends);
        if is_over && self.sent == self.received {
            let opened = open(&self.server, self.client_id, &self.security, self.limits)?;
            (self.stream, self.ends) = (opened.stream, opened.ends);
        }
        self.sent = self.sent.wrapping_add(1);
        let api = (request.api_key, request.api_version);
        let mut frame = Vec::new();
        write_request(
            &mut frame,
            api,
            self.sent,
            self.client_id,
            request.is_flexible,
            &request.body,
        );
        let written = self.stream.write_frame(&frame);
        written.map_err(|error| self.lost(&error))
    }

    /// The answer to the first request that has none yet: its header, which begins with the correlation id (four
    /// bytes), and its body, in `answer`, whose memory is used again.
    pub fn receive(&mut self, answer: &mut Vec<u8>) -> Result<(), NoAnswer> {
        self.received = self.received.wrapping_add(1);
        answer.clear();
        let mut size = [0; 4];
        self.read(&mut size, answer).map_err(|error| self.lost(&error))?;
        if answer.first_chunk() == Some(&self.received.to_be_bytes()) {
            self.is_known = true;
            return Ok(());
        }
        if protocol::stranger(size) == Some("TLS") {
            return Err(self.failed(SPEAKS_TLS.to_owned(), true));
        }
        Err(self.malformed())
    }

    /// The failure of a server whose answer cannot be understood.
    pub fn malformed(&self) -> NoAnswer {
        self.failed(NOT_KAFKA.to_owned(), false)
    }

    fn lost(&self, error: &io::Error) -> NoAnswer {
        if self.is_known {
            return self.failed(reason_of(error), false);
        }
        let is_shut_out = is_closed(error);
        let reason = match &self.security {
            // how a listener with SASL or TLS answers a client that begins without
            security if is_shut_out && security.login.is_none() => {
                let more = if security.tls.is_some() { "a certificate" } else { "TLS" };
                format!("{CLOSED} at once: does its listener ask for a login or {more}? See security.protocol")
            }
            _ => reason_of(error),
        };
        NoAnswer {
            is_shut_out,
            ..self.failed(reason, is_final(error)) // with TLS 1.3 a refused certificate is told here
        }
    }

    fn failed(&self, reason: String, is_final: bool) -> NoAnswer {
        NoAnswer {
            address: self.address.clone(),
            reason,
            is_final,
            is_shut_out: false,
        }
    }

    /// Reads an answer; nothing but its size when that is impossible.
    fn read(&mut self, size: &mut [u8; 4], answer: &mut Vec<u8>) -> io::Result<()> {
        self.stream.read_exact(size)?;
        let Ok(size @ 4..=MAX_ANSWER_BYTES) = u64::try_from(i32::from_be_bytes(*size)) else {
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

fn address_of((host, port): &Server) -> String {
    format!("{host}:{port}")
}

fn open(server: &Server, client_id: &str, security: &Security, limits: Limits) -> Result<Opened, NoAnswer> {
    dial((&server.0, server.1), client_id, security, limits, &|_| Ok(())).map_err(|error| NoAnswer {
        address: address_of(server),
        reason: reason_of(&error),
        is_final: is_final(&error),
        is_shut_out: is_shut_out(&error),
    })
}
