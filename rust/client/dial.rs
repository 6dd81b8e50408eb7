//! Opens a connection: the first address of the host that accepts, TLS, then the login. Nothing is sent before the
//! login.
//!
//! ```text
//! Unconnected ─▶ Connecting ─▶ Shaking ─▶ Proving ─▶ Opened
//! ```
//! With [`Limits`] the sockets block, and one step does all of it. Without, no step waits: `WouldBlock` says that the
//! next one is due when the socket is ready. A socket is handed to the caller before it is connected, so whoever stops
//! can shut it down at any time.

use std::io::{self, ErrorKind};
use std::mem;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::AddressFamily;

use crate::frames::Frames;
use crate::login::{Login, LoginExchange, MAX_ANSWER_BYTES, Step, Unproven};
use crate::reasons::shut_out;
use crate::security::Security;
use crate::servers::Server;
use crate::stream::Stream;
use base::system::tcp_socket;

/// The part of a session after which its connection is replaced, as of Kafka's clients: between 0.85 and 0.95.
const SESSION_PART: f64 = 0.9;
const CLOSED_IN_HANDSHAKE: &str =
    "it closed the connection in the handshake of TLS: does its listener have TLS? See security.protocol";

/// How long a connection waits.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For the connection.
    pub connect: Duration,
    /// For each write, for all reads of the handshake of TLS, and for all reads of an answer; see
    /// [`Stream::limit_reads`].
    pub socket: Duration,
}

/// A connection over which requests may be sent.
pub struct Opened {
    /// Its bytes.
    pub stream: Stream,
    /// When the session of SASL is to be replaced by another; `None` is never.
    pub ends: Option<Instant>,
}

/// Gets each socket before it is connected.
pub type Began<'a> = &'a dyn Fn(&TcpStream) -> io::Result<()>;

/// A connection that is being opened; see the module.
pub struct Opening {
    pub(crate) server: Server,
    addresses: Vec<SocketAddr>,
    /// How many of them were tried.
    tried: usize,
    pub(crate) client_id: String,
    pub(crate) security: Security,
    pub(crate) limits: Option<Limits>,
    stage: Stage,
}

enum Stage {
    Unconnected,
    Connecting(TcpStream),
    Shaking(Stream),
    Proving(Box<Proof>),
}

struct Proof {
    limits: Option<Limits>,
    login: Arc<Login>,
    frames: Frames,
    exchange: LoginExchange,
    answer: Vec<u8>,
}

impl Opening {
    /// Not begun. `addresses` are those of the host; without any, the first step looks them up.
    pub fn new(
        server: &Server,
        addresses: Vec<SocketAddr>,
        client_id: &str,
        security: Security,
        limits: Option<Limits>,
    ) -> Self {
        Self {
            server: server.clone(),
            addresses,
            tried: 0,
            client_id: client_id.to_owned(),
            security,
            limits,
            stage: Stage::Unconnected,
        }
    }

    /// For another connection to the same server, which may have another address.
    pub(crate) fn begin_again(&mut self) {
        self.addresses.clear();
        self.tried = 0;
    }

    /// The socket, once there is one.
    pub fn socket(&self) -> Option<&TcpStream> {
        match &self.stage {
            Stage::Unconnected => None,
            Stage::Connecting(socket) => Some(socket),
            Stage::Shaking(stream) => Some(stream.socket()),
            Stage::Proving(proof) => Some(proof.frames.stream.socket()),
        }
    }

    /// Whether the next step is due when the socket takes bytes, not when it has some.
    pub fn wants_to_write(&self) -> bool {
        match &self.stage {
            Stage::Unconnected => false,
            Stage::Connecting(_) => true,
            Stage::Shaking(stream) => stream.wants_to_write(),
            Stage::Proving(proof) => proof.frames.wants_to_write(),
        }
    }

    /// Goes on.
    ///
    /// # Errors
    /// `WouldBlock`: see the module. `PermissionDenied` when the login failed, `InvalidData` when TLS failed,
    /// `ConnectionAborted` when the broker closed the connection before it let the client in; what the system says
    /// otherwise.
    pub fn step(&mut self, began: Began<'_>) -> io::Result<Opened> {
        loop {
            self.stage = match mem::replace(&mut self.stage, Stage::Unconnected) {
                Stage::Unconnected => Stage::Connecting(self.begin(began)?),
                Stage::Connecting(socket) => match end_connecting(&socket, self.limits) {
                    Ok(()) => Stage::Shaking(self.protect(socket)?),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        return self.wait(Stage::Connecting(socket), error);
                    }
                    Err(error) if self.tried == self.addresses.len() => return Err(error),
                    Err(_) => Stage::Unconnected,
                },
                Stage::Shaking(mut stream) => match stream.shake() {
                    Ok(()) => match &self.security.login {
                        Some(login) => {
                            let proof = Proof::begin(stream, login, &self.client_id, self.limits);
                            Stage::Proving(Box::new(proof))
                        }
                        None => return Ok(Opened { stream, ends: None }),
                    },
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        return self.wait(Stage::Shaking(stream), error);
                    }
                    Err(error) => return Err(shut_out(error, CLOSED_IN_HANDSHAKE)),
                },
                Stage::Proving(mut proof) => match proof.step() {
                    Ok(lifetime) => {
                        return Ok(Opened {
                            stream: proof.frames.stream,
                            ends: lifetime.map(|it| Instant::now() + it.mul_f64(SESSION_PART)),
                        });
                    }
                    Err(Unproven::NotServed(error) | Unproven::Failed(error))
                        if error.kind() == ErrorKind::WouldBlock && self.limits.is_none() =>
                    {
                        return self.wait(Stage::Proving(proof), error);
                    }
                    Err(Unproven::NotServed(_)) if !proof.login.is_required => {
                        (self.security.login, self.tried) = (None, 0);
                        Stage::Unconnected
                    }
                    Err(unproven) => return Err(unproven.into()),
                },
            }
        }
    }

    fn wait(&mut self, stage: Stage, error: io::Error) -> io::Result<Opened> {
        self.stage = stage;
        Err(error)
    }

    /// Begins to connect to the next address to which that is possible.
    fn begin(&mut self, began: Began<'_>) -> io::Result<TcpStream> {
        let (host, port) = (self.server.0.as_str(), self.server.1);
        if self.addresses.is_empty() {
            self.addresses = (host, port).to_socket_addrs()?.collect();
        }
        let mut last = io::Error::new(ErrorKind::NotFound, format!("{host} has no address"));
        while let Some(address) = self.addresses.get(self.tried) {
            self.tried += 1;
            match begin_connecting(*address).and_then(|socket| began(&socket).map(|()| socket)) {
                Err(error) => last = error,
                connecting => return connecting,
            }
        }
        Err(last)
    }

    fn protect(&self, socket: TcpStream) -> io::Result<Stream> {
        let mut stream = match &self.security.tls {
            Some(tls) => tls.over(&self.server.0, socket)?,
            None => Stream::Plain(socket.into()),
        };
        stream.limit_reads(self.limits.map(|limits| limits.socket));
        Ok(stream)
    }
}

impl Proof {
    fn begin(stream: Stream, login: &Arc<Login>, client_id: &str, limits: Option<Limits>) -> Self {
        let (exchange, frame) = login.begin(client_id);
        let mut frames = Frames::new(stream);
        frames.put(frame);
        Self {
            limits,
            login: Arc::clone(login),
            frames,
            exchange,
            answer: Vec::new(),
        }
    }

    /// How long the session lasts; `None` when it has no end.
    fn step(&mut self) -> Result<Option<Duration>, Unproven> {
        loop {
            let limit = self.limits.map(|limits| limits.socket);
            self.frames.stream.limit_reads(limit);
            let exchanged = self
                .frames
                .write()
                .and_then(|()| self.frames.read(&mut self.answer, MAX_ANSWER_BYTES));
            if let Err(mut error) = exchanged {
                if error.kind() == ErrorKind::Other {
                    error = io::Error::new(ErrorKind::InvalidData, error); // a login is not tried again there
                }
                let is_known = !self.exchange.is_at_handshake();
                return Err(match (is_known, self.login.is_secret) {
                    (true, true) => Unproven::Failed(error),
                    (false, true) => Unproven::NotServed(shut_out(
                        error,
                        "it does not take the proof that this is a broker (it closed the connection)",
                    )),
                    (true, false) => Unproven::Failed(shut_out(error, "it closed the connection in the login")),
                    (false, false) => Unproven::NotServed(shut_out(
                        error,
                        "it closed the connection when it was asked for a login: does its listener have SASL and no \
                         TLS? See security.protocol",
                    )),
                });
            }
            match self.exchange.take(&self.login, &self.answer)? {
                Step::Send(next) => self.frames.put(next),
                Step::Done(lifetime_ms) => {
                    let lifetime = u64::try_from(lifetime_ms).ok().filter(|ms| *ms > 0);
                    return Ok(lifetime.map(Duration::from_millis));
                }
            }
        }
    }
}

/// Begins to connect a socket to `address`; the connection is not established yet. A shutdown has an effect only from
/// here on.
fn begin_connecting(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let socket = tcp_socket(family)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.into()),
    }
}

/// Waits until the socket is connected or shut down, then has it wait within the limits; without, returns `WouldBlock`.
fn end_connecting(socket: &TcpStream, limits: Option<Limits>) -> io::Result<()> {
    let end = limits.map(|limits| Instant::now() + limits.connect);
    loop {
        let left = end.map_or(Duration::ZERO, |end| end.saturating_duration_since(Instant::now()));
        let timeout = Timespec::try_from(left).map_err(|_| ErrorKind::InvalidInput)?;
        match poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&timeout)) {
            Ok(0) if end.is_none() => return Err(ErrorKind::WouldBlock.into()),
            Ok(0) => return Err(ErrorKind::TimedOut.into()),
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(error) = socket.take_error()? {
        return Err(error);
    }
    socket.peer_addr()?; // fails for a socket that was shut down
    socket.set_nodelay(true)?;
    let Some(limits) = limits else {
        return Ok(());
    };
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(limits.socket))?;
    socket.set_write_timeout(Some(limits.socket))
}

#[cfg(test)]
#[path = "dial_tests.rs"]
mod tests;
