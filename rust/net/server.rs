//! The network's start and stop: listeners, loops, and how other threads reach the loops.
//!
//! Nothing is served before [`Server::start`]. [`Server::stop`] accepts no more connections, waits for the
//! answers to requests in flight, and joins the threads.

use std::io;
use std::mem;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mio::{Poll, Waker};

use super::acceptor::Acceptor;
use super::handshakes::{HandshakeThread, Handshakes};
use super::mailbox::{LoopMessage, Mailbox};
use super::network::{ListenerSecurity, Network};
use super::operations::ParkedAppend;
use super::reactor::{Reactor, WAKER};
use super::socket_options::SocketOptions;
use base::error::shortage::is_shortage;
use broker::{Broker, guarded};
use coordinator::Coordinators;

/// The number of no operation: the first loop checks the coordinators' timers before it sleeps.
const NO_OPERATION: u64 = 0;

/// Connections that wait to be accepted, however few `socket.listen.backlog.size` says (Kafka's default is 50): a
/// connection that finds no place is tried again by the client's kernel only after a second, and a loop may be busy
/// while hundreds of clients reconnect at once.
const MIN_BACKLOG: i32 = 1024;

/// A limit of descriptors below this is logged at the start.
const LOW_LIMIT: usize = 4096;
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

/// A running network.
pub struct Server {
    network: Arc<Network>,
    ports: Vec<u16>,
    threads: Vec<JoinHandle<()>>,
    next_append: AtomicU64,
}

impl Server {
    /// Binds every listener, then starts the loops. An error names the listener.
    pub fn start(
        broker: &Arc<Broker>,
        coordinators: &Arc<Coordinators>,
        listeners: &[ListenerConfig],
        security: &ListenerSecurity,
    ) -> Result<Self, String> {
        let options = broker.options();
        say_when_low(broker);
        let mut sockets = Vec::new();
        let mut names: Vec<Arc<str>> = Vec::new(); // the listener's name, for each socket
        let mut ports = Vec::new();
        for listener in listeners {
            let (port, bound) = bind(listener, options.socket_listen_backlog_size)?;
            ports.push(port);
            names.extend(bound.iter().map(|_| Arc::from(listener.name.as_str())));
            sockets.extend(bound);
        }
        let (handshakes, shaker) = if security.tls.is_empty() {
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
        let acceptor = Acceptor::new(sockets, polls[0].registry(), SocketOptions::new(&options)).map_err(started)?;
        let (broker, coordinators) = (Arc::clone(broker), Arc::clone(coordinators));
        let network =
            Network::new(broker, coordinators, names, security, handshakes, mailboxes, cores).map_err(started)?;
        let network = Arc::new(network);
        let groups = &network.coordinators.groups;
        groups.set_timekeeper(network.first_mailbox().waiter(NO_OPERATION));
        let mut threads = spawn(&network, polls, acceptor).map_err(started)?;
        if let Some(shaker) = shaker {
            threads.push(spawn_handshakes(&network, shaker).map_err(started)?);
        }
        Ok(Self {
            network,
            ports,
            threads,
            next_append: AtomicU64::new(0),
        })
    }

    /// The bound ports, in the order of the listeners.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Counts time that the control plane has spent on a request; called before the request is answered.
    pub fn note_spent(&self, token: u64, time: Duration) {
        self.network.mailbox_of(token).post(LoopMessage::Spent(token, time));
    }

    /// Answers a request of the control plane.
    pub fn answer(&self, token: u64, body: Option<Vec<u8>>) {
        self.network.mailbox_of(token).post(LoopMessage::Answer(token, body));
    }

    /// Hands a Metadata request back.
    pub fn serve_here(&self, token: u64) {
        self.network.mailbox_of(token).post(LoopMessage::ServeHere(token));
    }

    /// Closes one connection.
    pub fn disconnect(&self, connection_id: u64) {
        self.network.disconnect(connection_id, true);
    }

    /// Parks a control-plane append on the first loop; `AppendDone` comes as an event.
    pub fn park_append(&self, append: Box<ParkedAppend>) {
        self.network.first_mailbox().post(LoopMessage::ParkAppend(append));
    }

    /// A number for an append, apart from the loops' own numbers.
    pub fn append_number(&self) -> u64 {
        u64::MAX / 2 + self.next_append.fetch_add(1, Ordering::Relaxed)
    }

    /// See the module. `timeout` bounds the wait for answers, which may still be given meanwhile. What it returns ends
    /// with the network; there is nothing the second time.
    pub fn begin_stop(&mut self, timeout: Duration) -> Vec<JoinHandle<()>> {
        self.network.drain(Instant::now() + timeout);
        mem::take(&mut self.threads)
    }
}

fn say_when_low(broker: &Broker) {
    if let Some(descriptors) = broker.context().fs.descriptors().filter(|it| it.limit() < LOW_LIMIT) {
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

fn spawn(network: &Arc<Network>, polls: Vec<Poll>, acceptor: Acceptor) -> io::Result<Vec<JoinHandle<()>>> {
    let loops = polls.len();
    let mut acceptor = Some(acceptor);
    let mut threads = Vec::new();
    for (i, poll) in polls.into_iter().enumerate() {
        let mailbox = Arc::clone(network.mailbox_of(i as u64));
        let events = Arc::clone(network.broker.events());
        let reactor = Reactor::new(Arc::clone(network), mailbox, poll, acceptor.take(), loops)?;
        let builder = thread::Builder::new().name(format!("network-{i}"));
        threads.push(builder.spawn(move || guarded(&events, || reactor.run()))?);
    }
    Ok(threads)
}

fn spawn_handshakes(network: &Arc<Network>, shaker: HandshakeThread) -> io::Result<JoinHandle<()>> {
    let (weak, events) = (Arc::downgrade(network), Arc::clone(network.broker.events()));
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
mod tests;
