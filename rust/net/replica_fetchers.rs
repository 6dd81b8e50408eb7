//! Runs the replica fetchers: a thread and one connection for each broker that this broker follows (spec: R0.15, R1.5).
//!
//! Blocking sockets: a follower waits for one leader's answer at a time. [`ReplicaFetcher`] makes the requests and
//! applies the responses; this file has the frames, the address (looked up for each connection, so that a broker with a
//! new address is found), the proof that both ends are brokers, and the pause after a failure. The buffer grows as a
//! response arrives, never by the size that it declares. A socket is registered with [`ReplicaFetchers::stop`] before
//! it is connected, so a broker that cannot be reached holds up no stop.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::replica_proof::{Unproven, prove};
use super::transport::Transport;
use crate::broker::{Ask, Broker, Next, ReplicaFetcher, Source, backoff, guarded};
use crate::wire::Reader;
use crate::wire::scram::{ClientKeys, Secret};

/// How long a thread without anything to fetch sleeps at most; a change wakes it.
const IDLE: Duration = Duration::from_mins(1);
/// Largest response that is taken: the limits of a fetch may be exceeded by one batch only.
const MAX_RESPONSE_BYTES: usize = 1 << 30;
/// Largest response of a leader that has not proven to be a broker.
const MAX_UNPROVEN_BYTES: usize = 16 << 10;
/// Memory that is kept for the next response.
const KEPT_BYTES: usize = 16 << 20;

/// The threads, and their sockets, which are shut down to end the threads' waiting.
#[derive(Default)]
struct Running {
    threads: Vec<JoinHandle<()>>,
    sockets: HashMap<i32, TcpStream>,
    is_stopped: bool,
}

/// See the module.
pub(super) struct ReplicaFetchers {
    running: Arc<Mutex<Running>>,
}

impl ReplicaFetchers {
    /// From now on a thread is started for each broker that this broker follows.
    pub(super) fn start(broker: &Arc<Broker>) -> Self {
        let running: Arc<Mutex<Running>> = Arc::default();
        let (weak, shared) = (Arc::downgrade(broker), Arc::clone(&running));
        broker
            .fetchers
            .run_with(Box::new(move |source| spawn(&weak, source, &shared)));
        Self { running }
    }

    /// Ends all threads, whatever they wait for.
    pub(super) fn stop(&self, broker: &Broker) {
        broker.fetchers.stop();
        let threads = {
            let mut running = self.running.lock();
            running.is_stopped = true;
            for socket in running.sockets.values() {
                // Fails only when the connection is already gone.
                let _ = socket.shutdown(Shutdown::Both);
            }
            std::mem::take(&mut running.threads)
        };
        for thread in threads {
            // The thread's guard has reported a panic.
            let _ = thread.join();
        }
    }
}

fn spawn(broker: &Weak<Broker>, source: Arc<Source>, running: &Arc<Mutex<Running>>) {
    let Some(broker) = broker.upgrade() else { return };
    let shared = Arc::clone(running);
    let name = format!("fetcher-{}", source.node_id);
    let logger = Arc::clone(&broker);
    let work = move || {
        let events = Arc::clone(&broker.events);
        guarded(&events, || {
            fetch_from(&broker, &source, &shared);
            Ok(())
        });
    };
    match thread::Builder::new().name(name.clone()).spawn(work) {
        Ok(thread) => running.lock().threads.push(thread),
        Err(error) => logger.log(&format!(
            "thread {name} cannot be started, nothing is replicated: {error}"
        )),
    }
}

fn fetch_from(broker: &Broker, source: &Source, running: &Mutex<Running>) {
    let mut fetcher = ReplicaFetcher::new(source.node_id);
    let mut connection = Connection::new(source.node_id, running);
    let mut failures = 0;
    while let Some(changes) = source.take() {
        fetcher.apply(changes);
        let ask = match fetcher.next(broker, Instant::now()) {
            Next::Ask(ask) => ask,
            Next::Idle(until) => {
                source.wait(until.map_or(IDLE, |at| at.saturating_duration_since(Instant::now())));
                continue;
            }
        };
        let outcome = connection.exchange(broker, &ask).and_then(|body_at| {
            let body = connection.buffer.get(body_at..).unwrap_or_default();
            let completed = fetcher.complete(broker, body, Instant::now());
            completed.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
        });
        let Err(error) = outcome else {
            failures = 0;
            continue;
        };
        connection.close();
        fetcher.lost();
        if failures == 0 && !running.lock().is_stopped {
            broker.log(&format!("broker {} cannot be fetched from: {error}", source.node_id));
        }
        source.wait(backoff(&mut failures, broker.options().replica_fetch_backoff));
    }
}

/// The connection to one broker, opened when it is needed.
struct Connection<'a> {
    node_id: i32,
    running: &'a Mutex<Running>,
    transport: Option<Transport<TcpStream>>,
    correlation_id: i32,
    keys: Option<ClientKeys>,
    /// The response without its length prefix.
    buffer: Vec<u8>,
    frame: Vec<u8>,
}

impl<'a> Connection<'a> {
    const fn new(node_id: i32, running: &'a Mutex<Running>) -> Self {
        Self {
            node_id,
            running,
            transport: None,
            correlation_id: 0,
            keys: None,
            buffer: Vec::new(),
            frame: Vec::new(),
        }
    }

    fn close(&mut self) {
        self.transport = None;
        self.running.lock().sockets.remove(&self.node_id);
    }

    /// Opens a connection for fetching: when the brokers have a secret, both ends prove it. While the proof is not
    /// required, a leader that does not serve it is fetched from without a proof.
    fn open(&mut self, broker: &Broker) -> io::Result<Transport<TcpStream>> {
        let options = broker.options();
        let transport = self.dial(broker)?;
        let Some(secret) = &options.inter_broker_secret else {
            return Ok(transport);
        };
        match self.prove(transport, secret, broker.node_id) {
            Ok(transport) => Ok(transport),
            Err(Unproven::NotServed(_)) if !options.is_inter_broker_secret_required => self.dial(broker),
            Err(unproven) => Err(unproven.into()),
        }
    }

    fn prove(
        &mut self,
        mut transport: Transport<TcpStream>,
        secret: &Secret,
        node_id: i32,
    ) -> Result<Transport<TcpStream>, Unproven> {
        let mut keys = self.keys.take().unwrap_or_else(|| ClientKeys::new(secret.clone()));
        let proven = prove(&mut keys, |api_key, api_version, body| {
            self.write_frame(node_id, (api_key, api_version), false, body);
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

    fn dial(&self, broker: &Broker) -> io::Result<Transport<TcpStream>> {
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
        let stream = self.connect(&host, port, options.connection_setup_timeout)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(options.replica_socket_timeout))?;
        stream.set_write_timeout(Some(options.replica_socket_timeout))?;
        Ok(Transport::plain(stream))
    }

    /// Connects to the first address of the host that accepts the connection.
    fn connect(&self, host: &str, port: u16, limit: Duration) -> io::Result<TcpStream> {
        let mut last = io::Error::new(ErrorKind::NotFound, format!("{host} has no address"));
        for address in (host, port).to_socket_addrs()? {
            let connected = begin_connecting(address).and_then(|stream| {
                self.register(&stream)?;
                end_connecting(&stream, limit).map(|()| stream)
            });
            match connected {
                Err(error) => last = io::Error::new(error.kind(), format!("{address}: {error}")),
                connected => return connected,
            }
        }
        Err(last)
    }

    /// From now on the socket is shut when the fetchers stop.
    fn register(&self, stream: &TcpStream) -> io::Result<()> {
        let mut running = self.running.lock();
        if running.is_stopped {
            return Err(ErrorKind::Interrupted.into());
        }
        running.sockets.insert(self.node_id, stream.try_clone()?);
        Ok(())
    }

    /// Sends a request and waits for its answer, which is in `buffer` from the returned position on.
    fn exchange(&mut self, broker: &Broker, ask: &Ask) -> io::Result<usize> {
        let mut transport = match self.transport.take() {
            Some(transport) => transport,
            None => self.open(broker)?,
        };
        self.write_frame(broker.node_id, (ask.api_key, ask.api_version), true, &ask.body);
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
    fn write_frame(&mut self, node_id: i32, (api_key, api_version): (i16, i16), is_flexible: bool, body: &[u8]) {
        self.correlation_id = self.correlation_id.wrapping_add(1);
        let client_id = format!("broker-{node_id}-fetcher-0");
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
