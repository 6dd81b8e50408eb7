//! One connection to a broker. Every failure names the server.
//!
//! ```text
//! request := size i32, api_key i16, api_version i16, correlation_id i32, client_id string, body
//! answer  := size i32, correlation_id i32, body
//! ```
//!
//! A version with tagged fields has them behind the client id and behind the correlation id. Answers come in the order
//! of the requests; several may be on their way. A session of SASL that ends at some time is replaced by another, over
//! another connection, before it does; where the connection never waits its caller has to do that.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use protocol::write_request;

use crate::dial::{Began, Limits, Opened, Opening};
use crate::frames::Frames;
use crate::reasons::{CLOSED, NOT_KAFKA, is_closed, is_final, is_shut_out, reason_of};
use crate::security::Security;
use crate::{Request, Server};

/// Enough for what a fetch asks for, whose limits may be exceeded by one batch only; a larger size is not Kafka's
/// protocol (an HTTP port, say).
const MAX_ANSWER_BYTES: usize = 1 << 30;

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
    /// How it was opened.
    opening: Opening,
    frames: Frames,
    ends: Option<Instant>,
    /// Whether the broker has answered a request.
    is_known: bool,
    sent: i32,
    received: i32,
}

impl Connection {
    /// Connects; `timeout` bounds this wait and each later one for an answer.
    pub fn open(server: &Server, client_id: &str, security: &Security, timeout: Duration) -> Result<Self, NoAnswer> {
        let limits = Limits {
            connect: timeout,
            socket: timeout,
        };
        let security = security.clone();
        Self::of(
            Opening::new(server, Vec::new(), client_id, security, Some(limits)),
            &|_| Ok(()),
        )
    }

    /// Connects within the limits of `opening`; `began` gets each socket before it is connected.
    pub fn of(mut opening: Opening, began: Began<'_>) -> Result<Self, NoAnswer> {
        match opening.step(began) {
            Ok(opened) => Ok(Self::over(opened, opening)),
            Err(error) => Err(unopened(&opening.server, &error)),
        }
    }

    /// Over what `opening` has opened.
    pub fn over(Opened { stream, ends }: Opened, opening: Opening) -> Self {
        Self {
            address: address_of(&opening.server),
            opening,
            frames: Frames::new(stream),
            ends,
            is_known: false,
            sent: 0,
            received: 0,
        }
    }

    /// The server, as host:port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its socket.
    pub fn socket(&self) -> &TcpStream {
        self.frames.stream.socket()
    }

    /// Whether a request is not written yet: only where the connection never waits.
    pub fn wants_to_write(&self) -> bool {
        self.frames.wants_to_write()
    }

    /// Whether its session of SASL is to be replaced.
    pub fn is_over(&self) -> bool {
        self.ends.is_some_and(|ends| Instant::now() >= ends)
    }

    /// Whether it leads to this server, by this login.
    pub fn is_to(&self, server: &Server, client_id: &str, security: &Security) -> bool {
        let own = &self.opening;
        own.server == *server && own.client_id == client_id && own.security.is_same(security)
    }

    /// Whether each request has its answer.
    pub fn is_answered(&self) -> bool {
        self.sent == self.received
    }

    /// Whether nothing has come that was not read: a broker that closes a connection says so.
    pub fn is_quiet(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(
            poll(&mut [PollFd::new(&self.frames.stream, PollFlags::IN)], Some(&now)),
            Ok(0)
        )
    }

    /// Bounds each later wait.
    pub fn set_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        self.opening.limits = Some(Limits {
            connect: timeout,
            socket: timeout,
        });
        let socket = self.socket();
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

    /// Sends a request, and waits for nothing.
    pub fn send(&mut self, request: &Request) -> Result<(), NoAnswer> {
        if self.is_over() && self.is_answered() && self.opening.limits.is_some() {
            self.opening.begin_again();
            let opened = self.opening.step(&|_| Ok(()));
            let opened = opened.map_err(|error| unopened(&self.opening.server, &error))?;
            (self.frames, self.ends) = (Frames::new(opened.stream), opened.ends);
        }
        let api = (request.api_key, request.api_version);
        self.send_by(api, request.is_flexible, &request.body)
    }

    /// Sends a request; what a socket that does not block takes not now goes with [`Self::receive_now`].
    pub fn send_by(&mut self, api: (i16, i16), is_flexible: bool, body: &[u8]) -> Result<(), NoAnswer> {
        self.sent = self.sent.wrapping_add(1);
        let mut request = Vec::new();
        write_request(&mut request, api, self.sent, &self.opening.client_id, is_flexible, body);
        self.frames.put(request);
        match self.frames.write() {
            Err(error) if self.has_to_wait(&error) => Ok(()),
            written => written.map_err(|error| self.lost(&error)),
        }
    }

    /// The answer to the first request that has none yet: its header, which begins with the correlation id (four
    /// bytes), and its body, in `answer`, whose memory is used again.
    pub fn receive(&mut self, answer: &mut Vec<u8>) -> Result<(), NoAnswer> {
        self.receive_now(answer).map(drop)
    }

    /// As [`Self::receive`]; `false` is not yet, and the next call must be with the same `answer`.
    pub fn receive_now(&mut self, answer: &mut Vec<u8>) -> Result<bool, NoAnswer> {
        let limit = self.opening.limits.map(|limits| limits.socket);
        self.frames.stream.limit_reads(limit);
        let received = self
            .frames
            .write()
            .and_then(|()| self.frames.read(answer, MAX_ANSWER_BYTES));
        match received {
            Err(error) if self.has_to_wait(&error) => return Ok(false),
            received => received.map_err(|error| self.lost(&error))?,
        }
        self.received = self.received.wrapping_add(1);
        if answer.first_chunk() != Some(&self.received.to_be_bytes()) {
            return Err(self.malformed());
        }
        self.is_known = true;
        Ok(true)
    }

    fn has_to_wait(&self, error: &io::Error) -> bool {
        error.kind() == ErrorKind::WouldBlock && self.opening.limits.is_none()
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
        let reason = match &self.opening.security {
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
}

fn address_of((host, port): &Server) -> String {
    format!("{host}:{port}")
}

/// The failure of an [`Opening`] of a connection to `server`.
pub fn unopened(server: &Server, error: &io::Error) -> NoAnswer {
    NoAnswer {
        address: address_of(server),
        reason: reason_of(error),
        is_final: is_final(error),
        is_shut_out: is_shut_out(error),
    }
}
