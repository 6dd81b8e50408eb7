//! The state that all network loops share: listeners, limits, how clients prove who they are, and the way to each loop.
//!
//! New connections are admitted here: by the rates of the broker, the listener and the address, then by how many are
//! open already. Never closes one: the acceptor and the loops do.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use super::connection::Connection;
use super::handshakes::Handshakes;
use super::limits::ConnectionLimits;
use super::mailbox::{LoopMessage, Mailbox};
use super::proof::{BrokerUsers, Proof};
use super::refusals::ClientRefusals;
use super::sasl::credentials::Credentials;
use super::sasl::mechanism::SaslSettings;
use super::spread::Spread;
use super::tls::TlsPeer;
use super::tls::context::TlsContext;
use ::io::Descriptors;
use broker::{Admission, Broker, Entrance, Options};
use coordinator::Coordinators;

/// What a listener does with TLS; swapped when its certificate is renewed.
pub type TlsSlot = Arc<ArcSwap<TlsContext>>;

/// How listeners know their clients.
pub struct ListenerSecurity {
    /// The listeners with TLS, by name.
    pub tls: HashMap<String, TlsSlot>,
    /// The listeners with SASL, by name.
    pub sasl: HashMap<String, Arc<SaslSettings>>,
    /// The users of SCRAM.
    pub credentials: Arc<Credentials>,
    /// Who is a broker, where each client of the brokers' listener proves who it is.
    pub broker_users: Option<BrokerUsers>,
}

/// The state that all loops share.
pub struct Network {
    /// The data plane's state.
    pub broker: Arc<Broker>,
    /// What the broker coordinates.
    pub coordinators: Arc<Coordinators>,
    max_frame_bytes: usize,
    /// `connections.max.idle.ms`.
    pub max_idle: Duration,
    next_connection_id: AtomicU64,
    /// Which connections may act as a broker.
    pub proof: Proof,
    limits: ConnectionLimits,
    descriptors: Option<Arc<Descriptors>>,
    listeners: Vec<Arc<str>>,
    /// What each listener does with TLS; `None` for one without.
    tls: Vec<Option<TlsSlot>>,
    handshakes: Option<Arc<Handshakes>>,
    /// What each listener does with SASL; `None` for one without.
    sasl: Vec<Option<Arc<SaslSettings>>>,
    /// The users of SCRAM.
    pub credentials: Arc<Credentials>,
    /// The clients that are not let in.
    pub refusals: ClientRefusals,
    mailboxes: Vec<Arc<Mailbox>>,
    spread: Spread,
}

impl Network {
    /// The state of loops that are reached by these mailboxes; `listeners`: the name of each socket's listener.
    pub fn new(
        broker: Arc<Broker>,
        coordinators: Arc<Coordinators>,
        listeners: Vec<Arc<str>>,
        security: &ListenerSecurity,
        handshakes: Option<Arc<Handshakes>>,
        mailboxes: Vec<Arc<Mailbox>>,
        cores: usize,
    ) -> io::Result<Self> {
        let options = broker.options();
        Ok(Self {
            max_frame_bytes: options.socket_request_max_bytes,
            max_idle: options.connections_max_idle,
            next_connection_id: AtomicU64::new(1),
            proof: Proof::new(&options, security.broker_users.clone())?,
            descriptors: broker.context().fs.descriptors().cloned(),
            limits: ConnectionLimits::new(listeners.len()),
            tls: listeners
                .iter()
                .map(|name| security.tls.get(&**name).cloned())
                .collect(),
            handshakes,
            sasl: listeners
                .iter()
                .map(|name| security.sasl.get(&**name).cloned())
                .collect(),
            credentials: Arc::clone(&security.credentials),
            refusals: ClientRefusals::default(),
            listeners,
            spread: Spread::new(mailboxes.len(), cores),
            mailboxes,
            coordinators,
            broker,
        })
    }

    /// The id of a new connection.
    pub fn next_connection_id(&self) -> u64 {
        self.next_connection_id.fetch_add(1, Ordering::Relaxed)
    }

    /// A listener's name.
    pub fn listener_name(&self, index: usize) -> Arc<str> {
        self.listeners.get(index).map_or_else(|| Arc::from(""), Arc::clone)
    }

    /// The largest frame of a client: `socket.request.max.bytes`, and less before it has proven who it is.
    pub fn max_frame_bytes(&self, connection: &Connection) -> usize {
        let unproven = connection.authentication.as_ref().and_then(|it| it.max_frame_bytes());
        unproven.map_or(self.max_frame_bytes, |most| most.min(self.max_frame_bytes))
    }

    /// What a listener does with SASL.
    pub fn sasl_of(&self, index: usize) -> Option<Arc<SaslSettings>> {
        self.sasl.get(index).cloned().flatten()
    }

    /// Frees the place of a connection that is gone: in the limits, the descriptors and the metrics.
    pub fn release(&self, ip: IpAddr, listener: usize) {
        self.limits.release(ip, self.first_socket(listener));
        self.give_back_descriptor();
        self.note_open();
    }

    /// The number of open connections.
    pub fn open_connections(&self) -> usize {
        self.limits.open()
    }

    /// Publishes the number of open connections in the metrics.
    pub fn note_open(&self) {
        let open = self.open_connections() as u64;
        self.broker.metrics().connections.store(open, Ordering::Relaxed);
    }

    /// The descriptors of the process, where they are limited.
    pub fn descriptors(&self) -> Option<&Arc<Descriptors>> {
        self.descriptors.as_ref()
    }

    /// Takes a descriptor for one more connection; false when there is none.
    pub fn take_descriptor(&self, listener: usize) -> bool {
        let Some(descriptors) = &self.descriptors else {
            return true;
        };
        let options = self.broker.options();
        descriptors.admit_connection(self.is_of_brokers(listener, &options))
    }

    /// Whether the connection's client has proven to be a broker of the cluster. Requests between brokers never wait
    /// for room, since a client's request that has its room may wait for them.
    pub fn is_trusted(&self, connection: &Connection) -> bool {
        connection.client.is_broker && self.proof.is_asked_for()
    }

    /// A connection that had a descriptor is closed.
    pub fn give_back_descriptor(&self) {
        if let Some(descriptors) = &self.descriptors {
            descriptors.release_connection();
        }
    }

    /// Gives a connection to a loop, or first to the thread that makes handshakes.
    pub fn hand_over(&self, socket: TcpStream, ip: IpAddr, listener: usize) {
        match (&self.handshakes, self.tls.get(listener)) {
            (Some(handshakes), Some(Some(slot))) => handshakes.begin(socket, ip, listener, slot.load_full()),
            _ => self.hand_to_loop(socket, listener, None),
        }
    }

    /// Gives a connection to a loop, with its layer when its listener has TLS.
    pub fn hand_to_loop(&self, socket: TcpStream, listener: usize, secured: Option<Box<TlsPeer>>) {
        self.mailboxes[self.spread.for_new()].post(LoopMessage::Accepted {
            socket,
            listener,
            secured,
        });
    }

    /// Closes one connection, whichever loop serves it.
    pub fn disconnect(&self, id: u64, asks_again: bool) {
        for mailbox in &self.mailboxes {
            mailbox.post(LoopMessage::Disconnect { id, asks_again });
        }
    }

    /// The mailbox of the loop that is to serve a heavy connection, when that loop is not `current`.
    pub fn other_loop_for_heavy(&self, current: usize) -> Option<&Arc<Mailbox>> {
        let at = self.spread.for_heavy()?;
        self.mailboxes.get(at).filter(|_| at != current)
    }

    /// The mailbox of the loop whose operation has this number.
    pub fn mailbox_of(&self, number: u64) -> &Arc<Mailbox> {
        &self.mailboxes[(number % self.mailboxes.len() as u64) as usize]
    }

    /// The mailbox of the loop that accepts.
    pub fn first_mailbox(&self) -> &Arc<Mailbox> {
        &self.mailboxes[0]
    }

    /// Ends the handshakes and the loops, which answer the requests in flight until then.
    pub fn drain(&self, until: Instant) {
        if let Some(handshakes) = &self.handshakes {
            handshakes.stop();
        }
        for mailbox in &self.mailboxes {
            mailbox.post(LoopMessage::Drain(until));
        }
    }

    /// Whether brokers have a listener for themselves, and it is this one.
    fn is_of_brokers(&self, listener: usize, options: &Options) -> bool {
        let name = self.listeners.get(listener);
        self.listeners.len() > 1 && name.is_some_and(|it| **it == *options.inter_broker_listener)
    }

    /// The first of the sockets that belong to the same listener: a listener on `localhost` may have two.
    fn first_socket(&self, listener: usize) -> usize {
        let name = self.listeners.get(listener);
        self.listeners
            .iter()
            .position(|it| Some(it) == name)
            .unwrap_or(listener)
    }

    /// Counts a new connection; `None` when there are too many connections already.
    pub fn admit(&self, ip: IpAddr, listener: usize, now: Instant) -> Option<Admission> {
        let options = self.broker.options();
        let name: &str = self.listeners.get(listener).map_or("", |it| it);
        let is_of_brokers = self.is_of_brokers(listener, &options);
        let entrance = Entrance {
            listener: name,
            listener_rate: options.connections.of_listener(name).creation_rate,
            broker_rate: (!is_of_brokers).then_some(options.connections.creation_rate),
        };
        let admission = self.broker.connection_rates().count(ip, entrance, now);
        if matches!(admission, Admission::Served(_))
            && !self
                .limits
                .admit(ip, self.first_socket(listener), name, &options.connections)
        {
            return None;
        }
        Some(admission)
    }
}
