//! A connection from this broker to another broker: a request, its answer, the next request.
//!
//! Blocking sockets: a thread waits for one answer at a time. This file has the frames, the address (looked up for each
//! connection, so that a broker with a new address is found), TLS where the brokers' listener has it, and the proof
//! that both ends are brokers. A session that ends at some time is replaced by another connection before it does. The
//! buffer grows as a response arrives, never by the size that it declares. A socket is registered with its [`Sockets`]
//! before it is connected, so a broker that cannot be reached holds up no stop. Nothing is sent again here.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustls::{ClientConnection, StreamOwned};

use super::login::{Login, MAX_ANSWER_BYTES, Step, Unproven};
use super::to_brokers::ToBrokers;
use broker::{Ask, Broker};
use protocol::{Reader, write_request};

/// Largest response that is taken: the limits of a fetch may be exceeded by one batch only.
const MAX_RESPONSE_BYTES: usize = 1 << 30;
/// The part of a session after which its connection is replaced, as of Kafka's clients: between 0.85 and 0.95.
const SESSION_PART: f64 = 0.9;
/// Memory that is kept for the next response.
const KEPT_BYTES: usize = 16 << 20;

/// The open sockets of some threads, which are shut down to end the threads' waiting; and how other brokers are
/// reached.
pub(super) struct Sockets {
    open: Mutex<Open>,
    to_brokers: Arc<ToBrokers>,
}

#[derive(Default)]
struct Open {
    streams: HashMap<u64, TcpStream>,
    last_key: u64,
    is_stopped: bool,
}

impl Sockets {
    /// No socket yet.
    pub(super) fn new(to_brokers: Arc<ToBrokers>) -> Self {
        Self {
            open: Mutex::default(),
            to_brokers,
        }
    }

    /// Shuts all sockets down, and those that are registered from now on are refused.
    pub(super) fn stop(&self) {
        let mut open = self.open.lock();
        open.is_stopped = true;
        for socket in open.streams.values() {
            // Fails only when the connection is already gone.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Whether [`Self::stop`] was called.
    pub(super) fn is_stopped(&self) -> bool {
        self.open.lock().is_stopped
    }

    fn key(&self) -> u64 {
        let mut open = self.open.lock();
        open.last_key += 1;
        open.last_key
    }

    fn register(&self, key: u64, stream: &TcpStream) -> io::Result<()> {
        let mut open = self.open.lock();
        if open.is_stopped {
            return Err(ErrorKind::Interrupted.into());
        }
        open.streams.insert(key, stream.try_clone()?);
        Ok(())
    }

    fn remove(&self, key: u64) {
        self.open.lock().streams.remove(&key);
    }
}

/// How long a connection waits.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// For the connection.
    pub connect: Duration,
    /// For each read and write.
    pub socket: Duration,
}

/// The bytes of a connection.
enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// The connection to one broker, opened when it is needed.
pub(super) struct BrokerConnection<'a> {
    node_id: i32,
    /// The client id of its requests.
    client_id: String,
    key: u64,
    sockets: &'a Sockets,
    stream: Option<Stream>,
    /// When another connection is to be opened; `None` is never.
    ends: Option<Instant>,
    correlation_id: i32,
    /// The response without its length prefix.
    buffer: Vec<u8>,
    frame: Vec<u8>,
}

impl<'a> BrokerConnection<'a> {
    pub(super) fn new(node_id: i32, client_id: String, sockets: &'a Sockets) -> Self {
        Self {
            node_id,
            client_id,
            key: sockets.key(),
            sockets,
            stream: None,
            ends: None,
            correlation_id: 0,
            buffer: Vec::new(),
            frame: Vec::new(),
        }
    }

    /// Whether the next request goes over a connection that is open already.
    pub(super) fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    /// Closes it; the next request opens another.
    pub(super) fn close(&mut self) {
        self.stream = None;
        self.sockets.remove(self.key);
    }

    /// The bytes of the last answer from this position on.
    pub(super) fn body(&self, body_at: usize) -> &[u8] {
        self.buffer.get(body_at..).unwrap_or_default()
    }

    /// Opens the connection: where brokers have something to prove, both ends prove it. While the proof is not
    /// required, a leader that does not serve it is fetched from without a proof.
    fn open(&mut self, broker: &Broker, limits: Limits) -> io::Result<Stream> {
        let mut stream = self.dial(broker, limits)?;
        self.ends = None;
        let to_brokers = Arc::clone(&self.sockets.to_brokers);
        let Some(login) = to_brokers.login.get() else {
            return Ok(stream);
        };
        match self.prove(&mut stream, login) {
            Ok(lifetime) => {
                self.ends = lifetime.map(|it| Instant::now() + it.mul_f64(SESSION_PART));
                Ok(stream)
            }
            Err(Unproven::NotServed(_)) if !login.is_required => self.dial(broker, limits),
            Err(unproven) => Err(unproven.into()),
        }
    }

    /// How long the session lasts; `None` when it has no end.
    fn prove(&mut self, stream: &mut Stream, login: &Login) -> Result<Option<Duration>, Unproven> {
        let (mut exchange, mut frame) = login.begin(&self.client_id);
        loop {
            let exchanged = write_all(stream, &frame).and_then(|()| self.read_frame(stream, MAX_ANSWER_BYTES));
            if let Err(error) = exchanged {
                let is_known = !exchange.is_at_handshake();
                return Err(if is_known {
                    Unproven::Failed(error)
                } else {
                    Unproven::NotServed(error)
                });
            }
            match exchange.take(login, &self.buffer)? {
                Step::Send(next) => frame = next,
                Step::Done(lifetime_ms) => {
                    let lifetime = u64::try_from(lifetime_ms).ok().filter(|ms| *ms > 0);
                    return Ok(lifetime.map(Duration::from_millis));
                }
            }
        }
    }

    fn dial(&self, broker: &Broker, limits: Limits) -> io::Result<Stream> {
        let options = broker.options();
        let listener = &options.inter_broker_listener;
        let (host, port) = {
            let image = broker.image.load();
            let endpoint = image.node_endpoint(self.node_id, listener);
            let unknown = || io::Error::new(ErrorKind::NotFound, format!("it has no address on listener {listener}"));
            endpoint
                .map(|e| (e.host.to_owned(), e.port as u16))
                .ok_or_else(unknown)?
        };
        let stream = self.connect(&host, port, limits.connect)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(limits.socket))?;
        stream.set_write_timeout(Some(limits.socket))?;
        match self.sockets.to_brokers.tls.get() {
            Some(tls) => Ok(Stream::Tls(Box::new(tls.load().shake(&host, stream)?))),
            None => Ok(Stream::Plain(stream)),
        }
    }

    /// Connects to the first address of the host that accepts the connection.
    fn connect(&self, host: &str, port: u16, limit: Duration) -> io::Result<TcpStream> {
        let mut last = io::Error::new(ErrorKind::NotFound, format!("{host} has no address"));
        for address in (host, port).to_socket_addrs()? {
            let connected = begin_connecting(address).and_then(|stream| {
                self.sockets.register(self.key, &stream)?;
                end_connecting(&stream, limit).map(|()| stream)
            });
            match connected {
                Err(error) => last = io::Error::new(error.kind(), format!("{address}: {error}")),
                connected => return connected,
            }
        }
        Err(last)
    }

    /// Sends a request and waits for its answer, which [`Self::body`] has from the returned position on.
    pub(super) fn exchange(&mut self, broker: &Broker, ask: &Ask, limits: Limits) -> io::Result<usize> {
        self.try_exchange(broker, ask, limits).map_err(|error| {
            if error.kind() == ErrorKind::UnexpectedEof {
                return io::Error::new(error.kind(), "it closed the connection");
            }
            error
        })
    }

    fn try_exchange(&mut self, broker: &Broker, ask: &Ask, limits: Limits) -> io::Result<usize> {
        if self.ends.is_some_and(|ends| Instant::now() >= ends) {
            self.stream = None;
        }
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.open(broker, limits)?,
        };
        self.correlation_id = self.correlation_id.wrapping_add(1);
        self.frame.clear();
        let api = (ask.api_key, ask.api_version);
        write_request(
            &mut self.frame,
            api,
            self.correlation_id,
            &self.client_id,
            true,
            &ask.body,
        );
        write_all(&mut stream, &self.frame)?;
        self.read_frame(&mut stream, MAX_RESPONSE_BYTES)?;
        self.stream = Some(stream);
        let mut reader = Reader::new(&self.buffer, true);
        let header = reader.i32().and_then(|id| reader.skip_tags().map(|()| id));
        match header {
            Ok(id) if id == self.correlation_id => Ok(reader.position()),
            _ => Err(io::Error::new(ErrorKind::InvalidData, "it answered something else")),
        }
    }

    fn read_frame(&mut self, stream: &mut Stream, max_bytes: usize) -> io::Result<()> {
        let mut size = [0; 4];
        stream.read_exact(&mut size)?;
        let stranger = protocol::stranger(size);
        let size = usize::try_from(i32::from_be_bytes(size)).unwrap_or(usize::MAX);
        if size > max_bytes {
            let reason = match stranger {
                Some("TLS") => "it speaks TLS, which this broker's listener for brokers does not",
                _ => "its answer is too large",
            };
            return Err(io::Error::new(ErrorKind::InvalidData, reason));
        }
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BYTES);
        if stream.take(size as u64).read_to_end(&mut self.buffer)? < size {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

/// A frame as a whole: TLS would keep a part of it otherwise.
fn write_all(stream: &mut Stream, frame: &[u8]) -> io::Result<()> {
    stream.write_all(frame)?;
    stream.flush()
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
fn end_connecting(stream: &TcpStream, limit: Duration) -> io::Result<()> {
    let end = Instant::now() + limit;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(|_| ErrorKind::InvalidInput)?;
        match poll(&mut [PollFd::new(stream, PollFlags::OUT)], Some(&timeout)) {
            Ok(0) => return Err(ErrorKind::TimedOut.into()),
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    stream.peer_addr()?; // fails for a socket that was shut down
    stream.set_nonblocking(false)
}
