//! A connection from this broker to another broker: a request, its answer, the next request.
//!
//! Blocking sockets: a thread waits for one answer at a time. This file has the frames, the address (looked up for each
//! connection, so that a broker with a new address is found), and the proof that both ends are brokers. The buffer
//! grows as a response arrives, never by the size that it declares. A socket is registered with its [`Sockets`] before
//! it is connected, so a broker that cannot be reached holds up no stop. Nothing is sent again here.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::replica_proof::{Unproven, prove};
use super::transport::Transport;
use crate::broker::{Ask, Broker};
use crate::wire::Reader;
use crate::wire::scram::{ClientKeys, Secret};

/// Largest response that is taken: the limits of a fetch may be exceeded by one batch only.
const MAX_RESPONSE_BYTES: usize = 1 << 30;
/// Largest response of a broker that has not proven to be one.
const MAX_UNPROVEN_BYTES: usize = 16 << 10;
/// Memory that is kept for the next response.
const KEPT_BYTES: usize = 16 << 20;

/// The open sockets of some threads, which are shut down to end the threads' waiting.
#[derive(Default)]
pub(super) struct Sockets(Mutex<Open>);

#[derive(Default)]
struct Open {
    streams: HashMap<u64, TcpStream>,
    last_key: u64,
    is_stopped: bool,
}

impl Sockets {
    /// Shuts all sockets down, and those that are registered from now on are refused.
    pub(super) fn stop(&self) {
        let mut open = self.0.lock();
        open.is_stopped = true;
        for socket in open.streams.values() {
            // Fails only when the connection is already gone.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Whether [`Self::stop`] was called.
    pub(super) fn is_stopped(&self) -> bool {
        self.0.lock().is_stopped
    }

    fn key(&self) -> u64 {
        let mut open = self.0.lock();
        open.last_key += 1;
        open.last_key
    }

    fn register(&self, key: u64, stream: &TcpStream) -> io::Result<()> {
        let mut open = self.0.lock();
        if open.is_stopped {
            return Err(ErrorKind::Interrupted.into());
        }
        open.streams.insert(key, stream.try_clone()?);
        Ok(())
    }

    fn remove(&self, key: u64) {
        self.0.lock().streams.remove(&key);
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

/// The connection to one broker, opened when it is needed.
pub(super) struct BrokerConnection<'a> {
    node_id: i32,
    /// The client id of its requests.
    client_id: String,
    key: u64,
    sockets: &'a Sockets,
    transport: Option<Transport<TcpStream>>,
    correlation_id: i32,
    keys: Option<ClientKeys>,
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
            transport: None,
            correlation_id: 0,
            keys: None,
            buffer: Vec::new(),
            frame: Vec::new(),
        }
    }

    /// Whether the next request goes over a connection that is open already.
    pub(super) fn is_open(&self) -> bool {
        self.transport.is_some()
    }

    /// Closes it; the next request opens another.
    pub(super) fn close(&mut self) {
        self.transport = None;
        self.sockets.remove(self.key);
    }

    /// The bytes of the last answer from this position on.
    pub(super) fn body(&self, body_at: usize) -> &[u8] {
        self.buffer.get(body_at..).unwrap_or_default()
    }

    /// Opens the connection: when the brokers have a secret, both ends prove it. While the proof is not
    /// required, a leader that does not serve it is fetched from without a proof.
    fn open(&mut self, broker: &Broker, limits: Limits) -> io::Result<Transport<TcpStream>> {
        let options = broker.options();
        let transport = self.dial(broker, limits)?;
        let Some(secret) = &options.inter_broker_secret else {
            return Ok(transport);
        };
        match self.prove(transport, secret) {
            Ok(transport) => Ok(transport),
            Err(Unproven::NotServed(_)) if !options.is_inter_broker_secret_required => self.dial(broker, limits),
            Err(unproven) => Err(unproven.into()),
        }
    }

    fn prove(
        &mut self,
        mut transport: Transport<TcpStream>,
        secret: &Secret,
    ) -> Result<Transport<TcpStream>, Unproven> {
        let mut keys = self.keys.take().unwrap_or_else(|| ClientKeys::new(secret.clone()));
        let proven = prove(&mut keys, |api_key, api_version, body| {
            self.write_frame((api_key, api_version), false, body);
            transport.write_all(&self.frame)?;
            self.read_frame(&mut transport, MAX_UNPROVEN_BYTES)?;
            let mut reader = Reader::new(&self.buffer, false);
            match reader.i32() {
                Ok(id) if id == self.correlation_id => Ok(self.buffer[reader.position()..].to_vec()),
                _ => Err(io::Error::new(ErrorKind::InvalidData, "it answered something else")),
            }
        });
        self.keys = Some(keys);
        proven.map(|()| transport)
    }

    fn dial(&self, broker: &Broker, limits: Limits) -> io::Result<Transport<TcpStream>> {
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
        Ok(Transport::plain(stream))
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
        let mut transport = match self.transport.take() {
            Some(transport) => transport,
            None => self.open(broker, limits)?,
        };
        self.write_frame((ask.api_key, ask.api_version), true, &ask.body);
        transport.write_all(&self.frame)?;
        self.read_frame(&mut transport, MAX_RESPONSE_BYTES)?;
        self.transport = Some(transport);
        let mut reader = Reader::new(&self.buffer, true);
        let header = reader.i32().and_then(|id| reader.skip_tags().map(|()| id));
        match header {
            Ok(id) if id == self.correlation_id => Ok(reader.position()),
            _ => Err(io::Error::new(ErrorKind::InvalidData, "it answered something else")),
        }
    }

    /// Length, header (version 2 when it is flexible, else 1) and body; under a new correlation id.
    fn write_frame(&mut self, (api_key, api_version): (i16, i16), is_flexible: bool, body: &[u8]) {
        self.correlation_id = self.correlation_id.wrapping_add(1);
        let client_id = &self.client_id;
        let length = 2 + 2 + 4 + 2 + client_id.len() + usize::from(is_flexible) + body.len();
        let frame = &mut self.frame;
        frame.clear();
        frame.extend_from_slice(&(length as i32).to_be_bytes());
        frame.extend_from_slice(&api_key.to_be_bytes());
        frame.extend_from_slice(&api_version.to_be_bytes());
        frame.extend_from_slice(&self.correlation_id.to_be_bytes());
        frame.extend_from_slice(&(client_id.len() as i16).to_be_bytes());
        frame.extend_from_slice(client_id.as_bytes());
        if is_flexible {
            frame.push(0); // no tagged fields
        }
        frame.extend_from_slice(body);
    }

    fn read_frame(&mut self, transport: &mut Transport<TcpStream>, max_bytes: usize) -> io::Result<()> {
        let mut size = [0; 4];
        transport.read_exact(&mut size)?;
        let size = usize::try_from(i32::from_be_bytes(size)).unwrap_or(usize::MAX);
        if size > max_bytes {
            return Err(io::Error::new(ErrorKind::InvalidData, "its answer is too large"));
        }
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BYTES);
        if transport.take(size as u64).read_to_end(&mut self.buffer)? < size {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(())
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
