//! A connection from this broker to another broker: a request, its answer, the next request.
//!
//! Blocking sockets: a thread waits for one answer at a time. This file has the frames and the address (looked up for
//! each connection, so that a broker with a new address is found); [`dial`] has TLS where the brokers' listener has it,
//! and the proof that both ends are brokers. A session that ends at some time is replaced by another connection before
//! it does. The buffer grows as a response arrives, never by the size that it declares. A socket is registered with its
//! [`Sockets`] before it is connected, so a broker that cannot be reached holds up no stop. Nothing is sent again here.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::to_brokers::ToBrokers;
use broker::{Ask, Broker};
use client::{Limits, Opened, Stream, dial};
use protocol::{Reader, write_request};

/// Largest response that is taken: the limits of a fetch may be exceeded by one batch only.
const MAX_RESPONSE_BYTES: usize = 1 << 30;
/// Memory that is kept for the next response.
const KEPT_BYTES: usize = 16 << 20;

/// The open sockets of some threads, which are shut down to end the threads' waiting; and how other brokers are
/// reached.
pub(super) struct Sockets {
    open: Mutex<OpenSockets>,
    to_brokers: Arc<ToBrokers>,
}

#[derive(Default)]
struct OpenSockets {
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

    fn open(&mut self, broker: &Broker, limits: Limits) -> io::Result<Stream> {
        let options = broker.options();
        let listener = &options.inter_broker_listener;
        let (host, port) = {
            let image = broker.image().load();
            let endpoint = image.node_endpoint(self.node_id, listener);
            let unknown = || io::Error::new(ErrorKind::NotFound, format!("it has no address on listener {listener}"));
            endpoint
                .map(|e| (e.host.to_owned(), e.port as u16))
                .ok_or_else(unknown)?
        };
        let security = self.sockets.to_brokers.security();
        let began = |socket: &TcpStream| self.sockets.register(self.key, socket);
        let Opened { stream, ends } = dial((&host, port), &self.client_id, &security, limits, &began)?;
        self.ends = ends;
        Ok(stream)
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
        stream.write_frame(&self.frame)?;
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
