//! A connection from this broker to another broker: a request, its answer, the next request.
//!
//! A thread waits for one answer at a time over a [`Connection`]; this file has the address, looked up for each
//! connection, so that a broker with a new address is found. A session that ends at some time is replaced by another
//! connection before it does. A socket is registered with its [`Sockets`] before it is connected, so a broker that
//! cannot be reached holds up no stop. Nothing is sent again here.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use parking_lot::Mutex;

use super::to_brokers::ToBrokers;
use broker::{Ask, Broker};
use client::{Connection, Limits, NoAnswer, Opening};
use protocol::Reader;

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
    connection: Option<Connection>,
    /// The response without its length prefix.
    buffer: Vec<u8>,
}

impl<'a> BrokerConnection<'a> {
    pub(super) fn new(node_id: i32, client_id: String, sockets: &'a Sockets) -> Self {
        Self {
            node_id,
            client_id,
            key: sockets.key(),
            sockets,
            connection: None,
            buffer: Vec::new(),
        }
    }

    /// Whether the next request goes over a connection that is open already.
    pub(super) fn is_open(&self) -> bool {
        self.connection.is_some()
    }

    /// Closes it; the next request opens another.
    pub(super) fn close(&mut self) {
        self.connection = None;
        self.sockets.remove(self.key);
    }

    /// The bytes of the last answer from this position on.
    pub(super) fn body(&self, body_at: usize) -> &[u8] {
        self.buffer.get(body_at..).unwrap_or_default()
    }

    fn open(&self, broker: &Broker, limits: Limits) -> io::Result<Connection> {
        let options = broker.options();
        let listener = &options.inter_broker_listener;
        let server = {
            let image = broker.image().load();
            let endpoint = image.node_endpoint(self.node_id, listener);
            let unknown = || io::Error::new(ErrorKind::NotFound, format!("it has no address on listener {listener}"));
            endpoint
                .map(|e| (e.host.to_owned(), e.port as u16))
                .ok_or_else(unknown)?
        };
        let security = self.sockets.to_brokers.security();
        let opening = Opening::new(&server, Vec::new(), &self.client_id, security, Some(limits));
        Connection::of(opening, &|socket| self.sockets.register(self.key, socket)).map_err(unanswered)
    }

    /// Sends a request and waits for its answer, which [`Self::body`] has from the returned position on.
    pub(super) fn exchange(&mut self, broker: &Broker, ask: &Ask, limits: Limits) -> io::Result<usize> {
        let usable = self.connection.take().filter(|connection| !connection.is_over());
        let mut connection = match usable {
            Some(connection) => connection,
            None => self.open(broker, limits)?,
        };
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BYTES);
        let api = (ask.api_key, ask.api_version);
        let sent = connection.send_by(api, true, &ask.body);
        sent.and_then(|()| connection.receive(&mut self.buffer))
            .map_err(unanswered)?;
        let mut reader = Reader::new(&self.buffer, true);
        let header = reader.i32().and_then(|_| reader.skip_tags());
        header.map_err(|_| unanswered(connection.malformed()))?;
        self.connection = Some(connection);
        Ok(reader.position())
    }
}

fn unanswered(NoAnswer { reason, .. }: NoAnswer) -> io::Error {
    io::Error::other(reason)
}
