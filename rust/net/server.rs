//! The network's start and stop: listeners, loops, and how other threads reach the loops.
//!
//! Nothing is served before [`Server::start`]. [`Server::stop`] accepts no more connections, waits for the
//! answers to requests in flight, and joins the threads.

mod admission;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use mio::{Interest, Poll, Token, Waker};

use super::connection::Connection;
use super::handshakes::{Handshakes, Secured, Shaker};
use super::limits::{ConnectionLimits, TurnedAway};
use super::mailbox::{Mailbox, Message};
use super::operations::ParkedAppend;
use super::proof::{BrokerUsers, Proof};
use super::reactor::{FIRST_LISTENER, Reactor, WAKER};
use super::refusals::Refusals;
use super::sasl::credentials::Credentials;
use super::sasl::mechanism::SaslSettings;
use super::socket_options::SocketOptions;
use super::spread::Spread;
use super::tls::context::TlsContext;
use ::io::Descriptors;
use base::error::shortage::{is_out_of_descriptors, is_shortage};
use broker::{Admission, Broker, Waiter, Wake, guarded};

/// Connections that wait to be accepted, however few `socket.listen.backlog.size` says (Kafka's default is 50): a
/// connection that finds no place is tried again by the client's kernel only after a second, and a loop may be busy
/// while hundreds of clients reconnect at once.
const MIN_BACKLOG: i32 = 1024;

/// Connections that a turn of the loop accepts from one listener: a few milliseconds.
const ACCEPTED_A_TURN: usize = 128;

/// How long accepting pauses when there is no file descriptor for another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often that is logged at most.
const SAY_AGAIN: Duration = Duration::from_mins(1);

/// A limit of descriptors below this is logged at the start.
const LOW_LIMIT: usize = 4096;
/// Files closed when the system has no free descriptor although the budget has.
const FREED: usize = 32;

/// A listener to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerConfig {
    /// Kafka's listener name, as in `PLAINTEXT`.
    pub name: String,
    /// Host to bind; empty for all interfaces.
    pub host: String,
    /// Port; 0 picks one.
    pub port: u16,
}

/// What a listener does with TLS; swapped when its certificate is renewed.
pub type TlsSlot = Arc<ArcSwap<TlsContext>>;

/// How listeners know their clients.
pub struct Security {
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
pub struct Shared {
    /// The data plane's state.
    pub broker: Arc<Broker>,
    max_frame_bytes: usize,
    /// `connections.max.idle.ms`.
    pub max_idle: Duration,
    /// The next connection's id.
    pub next_connection_id: AtomicU64,
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
    pub refusals: Refusals,
    mailboxes: Vec<Arc<Mailbox>>,
    spread: Spread,
}

impl Shared {
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
        self.broker
            .metrics
            .connections
            .store(self.limits.open() as u64, Ordering::Relaxed);
    }

    /// Takes a descriptor for one more connection; false when there is none.
    fn take_descriptor(&self, listener: usize) -> bool {
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

    fn give_back_descriptor(&self) {
        if let Some(descriptors) = &self.descriptors {
            descriptors.release_connection();
        }
    }

    /// Gives a connection to a loop, or first to the thread that makes handshakes.
    fn hand_over(&self, socket: std::net::TcpStream, ip: IpAddr, listener: usize) {
        match (&self.handshakes, self.tls.get(listener)) {
            (Some(handshakes), Some(Some(slot))) => handshakes.begin(socket, ip, listener, slot.load_full()),
            _ => self.hand_to_loop(socket, listener, None),
        }
    }

    /// Gives a connection to a loop, with its layer when its listener has TLS.
    pub fn hand_to_loop(&self, socket: std::net::TcpStream, listener: usize, secured: Option<Box<Secured>>) {
        self.mailboxes[self.spread.for_new()].post(Message::Accepted {
            socket,
            listener,
            secured,
        });
    }

    /// Closes one connection, whichever loop serves it.
    pub fn disconnect(&self, id: u64, asks_again: bool) {
        for mailbox in &self.mailboxes {
            mailbox.post(Message::Disconnect { id, asks_again });
        }
    }

    /// The mailbox of the loop that is to serve a heavy connection, when that loop is not `current`.
    pub fn other_loop_for_heavy(&self, current: usize) -> Option<&Arc<Mailbox>> {
        let at = self.spread.for_heavy()?;
        self.mailboxes.get(at).filter(|_| at != current)
    }
}

/// The accepting side, owned by the first loop.
pub struct Acceptor {
    listeners: Vec<mio::net::TcpListener>,
    /// When accepting goes on: after a pause, or in the next turn.
    resume_at: Option<Instant>,
    /// Until when each listener accepts nothing, since connections came faster than its rate.
    paused: Vec<Option<Instant>>,
    turned_away: TurnedAway,
    said: Option<Instant>,
    options: SocketOptions,
}

impl Acceptor {
    /// See [`Self::retry`].
    pub fn retry_at(&self) -> Option<Instant> {
        let paused = self.paused.iter().copied().flatten().min();
        [self.resume_at, paused, self.turned_away.next()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Goes on accepting when the pause is over, and closes connections that were turned away.
    pub fn retry(&mut self, now: Instant, shared: &Shared) {
        for _ in 0..self.turned_away.close_due(now) {
            shared.give_back_descriptor();
        }
        for listener in 0..self.listeners.len() {
            if self.paused[listener].is_some_and(|at| at <= now) {
                self.paused[listener] = None;
                self.accept(listener, shared);
            }
        }
        if self.resume_at.is_some_and(|at| at <= now) {
            self.resume_at = None;
            for listener in 0..self.listeners.len() {
                self.accept(listener, shared);
            }
        }
    }

    /// Accepts connections that wait on a listener: [`ACCEPTED_A_TURN`] now, the others in the next turn of the loop.
    pub fn accept(&mut self, listener: usize, shared: &Shared) {
        for _ in 0..ACCEPTED_A_TURN {
            let Some(from) = self.listeners.get(listener).filter(|_| self.paused[listener].is_none()) else {
                return;
            };
            if !shared.take_descriptor(listener) {
                return self.pause(shared, None);
            }
            let accepted = from.accept();
            if accepted.is_err() {
                shared.give_back_descriptor();
            }
            match accepted {
                Ok((socket, peer)) => {
                    let (ip, now) = (peer.ip().to_canonical(), Instant::now());
                    match shared.admit(ip, listener, now) {
                        Some(Admission::Served(pause)) => {
                            let open = &shared.broker.metrics.connections;
                            open.store(shared.limits.open() as u64, Ordering::Relaxed);
                            self.options.apply(&socket, socket.local_addr().ok(), peer);
                            shared.hand_over(socket.into(), ip, listener);
                            self.paused[listener] = (!pause.is_zero()).then_some(now + pause);
                        }
                        Some(Admission::Closed(after)) if self.turned_away.has_room() => {
                            self.turned_away.push(socket, now + after);
                        }
                        Some(Admission::Closed(_)) | None => shared.give_back_descriptor(),
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == io::ErrorKind::Interrupted || e.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(e) => {
                    if let Some(descriptors) = shared.descriptors.as_ref().filter(|_| is_out_of_descriptors(&e)) {
                        descriptors.close_idle(FREED);
                    }
                    return self.pause(shared, Some(&e));
                }
            }
        }
        self.resume_at = Some(Instant::now());
    }

    /// Pauses accepting; new connections meanwhile wait in the backlog of the listener.
    fn pause(&mut self, shared: &Shared, error: Option<&io::Error>) {
        let now = Instant::now();
        self.resume_at = Some(now + ACCEPT_PAUSE);
        if self.said.is_some_and(|said| now.duration_since(said) < SAY_AGAIN) {
            return;
        }
        self.said = Some(now);
        let (open, limit) = (
            shared.limits.open(),
            shared.descriptors.as_ref().map_or(0, |it| it.limit()),
        );
        shared.broker.log(&match error {
            Some(error) => format!("accepting connections pauses, {open} are open: {error}"),
            None => format!(
                "accepting connections pauses until some are closed: {open} are open, as many as the limit of {limit} \
                 descriptors has room for beside files; raise it (ulimit -n, or LimitNOFILE= of systemd)"
            ),
        });
    }
}

/// A running network.
pub struct Server {
    shared: Arc<Shared>,
    ports: Vec<u16>,
    threads: Vec<JoinHandle<()>>,
    next_append: AtomicU64,
}

impl Server {
    /// Binds every listener, then starts the loops. An error names the listener.
    ///
    pub fn start(broker: Arc<Broker>, listeners: &[ListenerConfig], security: &Security) -> Result<Self, String> {
        let Security {
            tls,
            sasl,
            credentials,
            broker_users,
        } = security;
        let options = broker.options();
        say_when_low(&broker);
        let mut sockets = Vec::new();
        let mut names: Vec<Arc<str>> = Vec::new(); // the listener's name, for each socket
        let mut ports = Vec::new();
        for listener in listeners {
            let (port, bound) = bind(listener, options.socket_listen_backlog_size)?;
            ports.push(port);
            names.extend(bound.iter().map(|_| Arc::from(listener.name.as_str())));
            sockets.extend(bound);
        }
        let (handshakes, shaker) = if tls.is_empty() {
            (None, None)
        } else {
            let (handshakes, shaker) =
                Handshakes::new().map_err(|e| format!("the thread for handshakes could not be started: {e}"))?;
            (Some(handshakes), Some(shaker))
        };
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let loops = options.network_threads.clamp(1, cores);
        let started = |e: io::Error| format!("the network threads could not be started: {e}");
        let polls = (0..loops)
            .map(|_| Poll::new())
            .collect::<io::Result<Vec<_>>>()
            .map_err(started)?;
        let mailboxes = polls
            .iter()
            .enumerate()
            .map(|(i, poll)| Ok(Mailbox::new(i, Waker::new(poll.registry(), WAKER)?)))
            .collect::<io::Result<Vec<_>>>()
            .map_err(started)?;
        let shared = Arc::new(Shared {
            max_frame_bytes: options.socket_request_max_bytes,
            max_idle: options.connections_max_idle,
            next_connection_id: AtomicU64::new(1),
            proof: Proof::new(&options, broker_users.clone()).map_err(started)?,
            descriptors: broker.context.fs.descriptors().cloned(),
            limits: ConnectionLimits::new(names.len()),
            tls: names.iter().map(|name| tls.get(&**name).cloned()).collect(),
            handshakes,
            sasl: names.iter().map(|name| sasl.get(&**name).cloned()).collect(),
            credentials: Arc::clone(credentials),
            refusals: Refusals::default(),
            listeners: names,
            mailboxes,
            spread: Spread::new(loops, cores),
            broker,
        });
        let mut acceptor = Acceptor {
            listeners: Vec::new(),
            resume_at: None,
            paused: vec![None; sockets.len()],
            turned_away: TurnedAway::default(),
            said: None,
            options: SocketOptions::new(&options),
        };
        for (i, socket) in sockets.into_iter().enumerate() {
            acceptor.options.prepare(&socket);
            let mut socket = mio::net::TcpListener::from_std(socket);
            polls[0]
                .registry()
                .register(&mut socket, Token(FIRST_LISTENER + i), Interest::READABLE)
                .map_err(started)?;
            acceptor.listeners.push(socket);
        }
        coordinator::groups(&shared.broker).set_timekeeper(Waiter {
            owner: Arc::clone(&shared.mailboxes[0]) as Arc<dyn Wake>,
            operation: 0, // no operation: the loop checks the timers before it sleeps
        });
        let mut threads = spawn(&shared, polls, acceptor).map_err(started)?;
        if let Some(shaker) = shaker {
            threads.push(spawn_handshakes(&shared, shaker).map_err(started)?);
        }
        Ok(Self {
            shared,
            ports,
            threads,
            next_append: AtomicU64::new(0),
        })
    }

    /// The bound ports, in the order of the listeners.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    fn mailbox_of(&self, number: u64) -> &Arc<Mailbox> {
        let loops = self.shared.mailboxes.len() as u64;
        &self.shared.mailboxes[(number % loops) as usize]
    }

    /// Counts time that the control plane has spent on a request; called before the request is answered.
    pub fn note_spent(&self, token: u64, time: Duration) {
        self.mailbox_of(token).post(Message::Spent(token, time));
    }

    /// Answers a request of the control plane.
    pub fn answer(&self, token: u64, body: Option<Vec<u8>>) {
        self.mailbox_of(token).post(Message::Answer(token, body));
    }

    /// Hands a Metadata request back.
    pub fn serve_here(&self, token: u64) {
        self.mailbox_of(token).post(Message::ServeHere(token));
    }

    /// Closes one connection.
    pub fn disconnect(&self, connection_id: u64) {
        self.shared.disconnect(connection_id, true);
    }

    /// Parks a control-plane append on the first loop; `AppendDone` comes as an event.
    pub fn park_append(&self, append: Box<ParkedAppend>) {
        self.shared.mailboxes[0].post(Message::ParkAppend(append));
    }

    /// A number for an append, apart from the loops' own numbers.
    pub fn append_number(&self) -> u64 {
        u64::MAX / 2 + self.next_append.fetch_add(1, Ordering::Relaxed)
    }

    /// See the module. `timeout` bounds the wait for answers.
    pub fn stop(self, timeout: Duration) {
        let until = Instant::now() + timeout;
        if let Some(handshakes) = &self.shared.handshakes {
            handshakes.stop();
        }
        for mailbox in &self.shared.mailboxes {
            mailbox.post(Message::Drain(until));
        }
        for thread in self.threads {
            // The thread's guard has reported a panic or an error.
            let _ = thread.join();
        }
    }
}

fn say_when_low(broker: &Broker) {
    if let Some(descriptors) = broker.context.fs.descriptors().filter(|it| it.limit() < LOW_LIMIT) {
        broker.log(&format!(
            "the limit of open files is {}: at most {} connections at a time, and {} files and connections together; \
             raise it \
             (ulimit -n, or LimitNOFILE= of systemd)",
            descriptors.limit(),
            descriptors.max_connections(),
            descriptors.total()
        ));
    }
}

fn spawn(shared: &Arc<Shared>, polls: Vec<Poll>, acceptor: Acceptor) -> io::Result<Vec<JoinHandle<()>>> {
    let loops = polls.len();
    let mut acceptor = Some(acceptor);
    let start = |(i, poll): (usize, Poll)| {
        let (mailbox, events) = (Arc::clone(&shared.mailboxes[i]), Arc::clone(&shared.broker.events));
        let reactor = Reactor::new(Arc::clone(shared), mailbox, poll, acceptor.take(), loops);
        thread::Builder::new()
            .name(format!("network-{i}"))
            .spawn(move || guarded(&events, || reactor.run()))
    };
    polls.into_iter().enumerate().map(start).collect()
}

fn spawn_handshakes(shared: &Arc<Shared>, shaker: Shaker) -> io::Result<JoinHandle<()>> {
    let (weak, events) = (Arc::downgrade(shared), Arc::clone(&shared.broker.events));
    thread::Builder::new()
        .name("handshakes".to_owned())
        .spawn(move || guarded(&events, || shaker.run(&weak)))
}

fn refused(listener: &ListenerConfig, e: &io::Error) -> String {
    let ListenerConfig { name, host, port } = listener;
    let why = match e.kind() {
        io::ErrorKind::AddrInUse => "the port is in use; stop what listens there or choose another port".to_owned(),
        io::ErrorKind::PermissionDenied => "ports below 1024 need more rights; choose another port".to_owned(),
        io::ErrorKind::AddrNotAvailable => {
            "no interface of this machine has the address; give one that has, or no host for all of them".to_owned()
        }
        _ if is_shortage(e) => format!("{e}; give the process more of it (ulimit -a shows the limits)"),
        _ => format!("{e}; choose another host or port"),
    };
    format!("listeners: {name}://{host}:{port} cannot be opened: {why}")
}

fn unresolved(listener: &ListenerConfig, e: &io::Error) -> String {
    let ListenerConfig { name, host, port } = listener;
    format!(
        "listeners: {name}://{host}:{port} cannot be opened: the host has no address ({e}); give one that this machine \
         has"
    )
}

/// Opens a listener; returns its port and its sockets. A name of this host alone (`localhost`) may have an IPv4 and an
/// IPv6 address; clients try either first, so both are opened. Any other name is opened at the first address that
/// works, as Kafka does.
fn bind(listener: &ListenerConfig, backlog: i32) -> Result<(u16, Vec<TcpListener>), String> {
    let fail = |e: io::Error| refused(listener, &e);
    let mut sockets = Vec::new();
    if listener.host.is_empty() {
        let socket = TcpListener::bind(SocketAddr::from(([0u16; 8], listener.port)))
            .or_else(|_| TcpListener::bind(SocketAddr::from(([0u8; 4], listener.port))))
            .map_err(fail)?;
        sockets.push(socket);
    } else {
        let addresses: Vec<_> = (listener.host.as_str(), listener.port)
            .to_socket_addrs()
            .map_err(|e| unresolved(listener, &e))?
            .collect();
        if addresses.iter().all(|address| address.ip().is_loopback()) {
            sockets = bind_each(&addresses).map_err(fail)?;
        } else {
            sockets.push(TcpListener::bind(&addresses[..]).map_err(fail)?);
        }
    }
    for socket in &sockets {
        rustix::net::listen(socket, backlog.max(MIN_BACKLOG)).map_err(|e| fail(e.into()))?;
        socket.set_nonblocking(true).map_err(fail)?;
    }
    let port = sockets
        .first()
        .ok_or_else(|| fail(io::ErrorKind::AddrNotAvailable.into()))?
        .local_addr()
        .map_err(fail)?
        .port();
    Ok((port, sockets))
}

/// Binds every address that this machine has, each once, all to one port. Addresses that it does not have are skipped;
/// any other failure fails all.
fn bind_each(addresses: &[SocketAddr]) -> io::Result<Vec<TcpListener>> {
    let mut sockets: Vec<TcpListener> = Vec::new();
    let mut missing = None;
    for (i, address) in addresses.iter().enumerate() {
        if addresses[..i].contains(address) {
            continue; // a hosts file may name it twice
        }
        let port = sockets
            .first()
            .map_or(Ok(address.port()), |first| first.local_addr().map(|bound| bound.port()))?;
        match TcpListener::bind(SocketAddr::new(address.ip(), port)) {
            Ok(socket) => sockets.push(socket),
            Err(e) if is_missing(&e) => missing = Some(e),
            Err(e) => return Err(e),
        }
    }
    match missing {
        Some(e) if sockets.is_empty() => Err(e),
        _ => Ok(sockets),
    }
}

/// Whether an address cannot be bound because this machine does not have it, or not its family.
fn is_missing(e: &io::Error) -> bool {
    e.kind() == io::ErrorKind::AddrNotAvailable
        || e.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
