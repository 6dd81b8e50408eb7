//! Opens a connection: the first address of the host that accepts, TLS, then the login. Nothing is sent before the
//! login.
//!
//! A socket is handed to the caller before it is connected, so whoever stops can shut it down at any time.

use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::login::{Login, MAX_ANSWER_BYTES, Step, Unproven};
use crate::reasons::{NOT_KAFKA, SPEAKS_TLS, shut_out};
use crate::security::Security;
use crate::stream::Stream;

/// The part of a session after which its connection is replaced, as of Kafka's clients: between 0.85 and 0.95.
const SESSION_PART: f64 = 0.9;

/// How long a connection waits.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For the connection.
    pub connect: Duration,
    /// For each read and write.
    pub socket: Duration,
}

/// A connection over which requests may be sent.
pub struct Opened {
    /// Its bytes; the socket blocks.
    pub stream: Stream,
    /// When the session of SASL is to be replaced by another; `None` is never.
    pub ends: Option<Instant>,
}

/// Opens a connection to a host. `began` gets the socket before it is connected.
///
/// # Errors
/// `PermissionDenied` when the login failed, `InvalidData` when TLS failed, `ConnectionAborted` when the broker closed
/// the connection before it let the client in; what the system says otherwise.
pub fn dial(
    (host, port): (&str, u16),
    client_id: &str,
    security: &Security,
    limits: Limits,
    began: &dyn Fn(&TcpStream) -> io::Result<()>,
) -> io::Result<Opened> {
    let mut stream = protect(host, port, security, limits, began)?;
    let Some(login) = &security.login else {
        return Ok(Opened { stream, ends: None });
    };
    match prove(&mut stream, login, client_id) {
        Ok(lifetime) => Ok(Opened {
            stream,
            ends: lifetime.map(|it| Instant::now() + it.mul_f64(SESSION_PART)),
        }),
        Err(Unproven::NotServed(_)) if !login.is_required => Ok(Opened {
            stream: protect(host, port, security, limits, began)?,
            ends: None,
        }),
        Err(unproven) => Err(unproven.into()),
    }
}

fn protect(
    host: &str,
    port: u16,
    security: &Security,
    limits: Limits,
    began: &dyn Fn(&TcpStream) -> io::Result<()>,
) -> io::Result<Stream> {
    let socket = connect(host, port, limits.connect, began)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(limits.socket))?;
    socket.set_write_timeout(Some(limits.socket))?;
    match &security.tls {
        Some(tls) => match tls.shake(host, socket) {
            Ok(shaken) => Ok(Stream::Tls(Box::new(shaken))),
            Err(error) => Err(shut_out(
                error,
                "it closed the connection in the handshake of TLS: does its listener have TLS? See security.protocol",
            )),
        },
        None => Ok(Stream::Plain(socket)),
    }
}

/// How long the session lasts; `None` when it has no end.
fn prove(stream: &mut Stream, login: &Login, client_id: &str) -> Result<Option<Duration>, Unproven> {
    let (mut exchange, mut frame) = login.begin(client_id);
    let mut answer = Vec::new();
    loop {
        let exchanged = stream
            .write_frame(&frame)
            .and_then(|()| read_answer(stream, &mut answer));
        if let Err(error) = exchanged {
            let is_known = !exchange.is_at_handshake();
            return Err(match (is_known, login.is_secret) {
                (true, true) => Unproven::Failed(error),
                (false, true) => Unproven::NotServed(error),
                (true, false) => Unproven::Failed(shut_out(error, "it closed the connection in the login")),
                (false, false) => Unproven::NotServed(shut_out(
                    error,
                    "it closed the connection when it was asked for a login: does its listener have SASL and no TLS? \
                     See security.protocol",
                )),
            });
        }
        match exchange.take(login, &answer)? {
            Step::Send(next) => frame = next,
            Step::Done(lifetime_ms) => {
                let lifetime = u64::try_from(lifetime_ms).ok().filter(|ms| *ms > 0);
                return Ok(lifetime.map(Duration::from_millis));
            }
        }
    }
}

fn read_answer(stream: &mut Stream, answer: &mut Vec<u8>) -> io::Result<()> {
    let mut prefix = [0; 4];
    stream.read_exact(&mut prefix)?;
    let size = usize::try_from(i32::from_be_bytes(prefix)).unwrap_or(usize::MAX);
    if size > MAX_ANSWER_BYTES {
        let is_tls = protocol::stranger(prefix) == Some("TLS");
        let reason = if is_tls { SPEAKS_TLS } else { NOT_KAFKA };
        return Err(io::Error::new(ErrorKind::InvalidData, reason));
    }
    answer.clear();
    if stream.take(size as u64).read_to_end(answer)? < size {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// Connects to the first address of the host that accepts the connection.
fn connect(
    host: &str,
    port: u16,
    limit: Duration,
    began: &dyn Fn(&TcpStream) -> io::Result<()>,
) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, format!("{host} has no address"));
    for address in (host, port).to_socket_addrs()? {
        let connected = begin_connecting(address).and_then(|socket| {
            began(&socket)?;
            end_connecting(&socket, limit).map(|()| socket)
        });
        match connected {
            Err(error) => last = error,
            connected => return connected,
        }
    }
    Err(last)
}

/// Begins to connect a socket to `address`; the connection is not established yet. A shutdown has an effect only from
/// here on.
fn begin_connecting(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.into()),
    }
}

/// Waits for `limit` at most until the socket is connected or shut down, then makes the socket blocking.
fn end_connecting(socket: &TcpStream, limit: Duration) -> io::Result<()> {
    let end = Instant::now() + limit;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(|_| ErrorKind::InvalidInput)?;
        match poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&timeout)) {
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
    socket.set_nonblocking(false)
}
