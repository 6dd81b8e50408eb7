//! The handshakes of TLS, on a thread of their own: a network loop gets a connection when its handshake is done, so
//! that neither the arithmetic of handshakes nor clients that never finish one cost a loop anything.
//!
//! At most [`MAX_OPEN`] handshakes are open; the oldest gives way to another. Each has the time that
//! `socket.connection.setup.timeout.ms` says. Clients of addresses that were refused again and again wait for their
//! [`turns`], so that those who guess passwords leave the thread to the others. The thread asks for less of the
//! processor than the loops. It receives nothing but handshakes, and serves no requests.

mod turns;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token, Waker};
use parking_lot::Mutex;

use super::network::Network;
use super::system::lower_priority;
use super::tls::context::TlsContext;
use super::tls::{HandshakeProgress, TlsLayer, TlsPeer};
use broker::Principal;
use client::tls::{certificate, principal};
use turns::Turns;

/// Handshakes that are open at a time: some 20 KiB each. As many suspects wait at most, a socket each.
const MAX_OPEN: usize = 1024;
/// How long the thread sleeps at most.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// How much less than the loops the thread asks of the processor (the system's nice value).
const NICE: i32 = 5;
const WAKER: Token = Token(usize::MAX);

/// A connection that was accepted.
struct AcceptedSocket {
    socket: TcpStream,
    ip: IpAddr,
    listener: usize,
    context: Arc<TlsContext>,
}

/// The way to the thread.
pub struct Handshakes {
    waker: Waker,
    arrived: Mutex<Vec<AcceptedSocket>>,
    is_stopped: AtomicBool,
}

struct OpenHandshake {
    socket: mio::net::TcpStream,
    ip: IpAddr,
    listener: usize,
    context: Arc<TlsContext>,
    layer: Box<TlsLayer>,
}

/// What the thread works with.
pub struct HandshakeThread {
    handshakes: Arc<Handshakes>,
    poll: Poll,
    open: HashMap<usize, OpenHandshake>,
    /// In the order of arrival, with the time at which each ends.
    deadlines: VecDeque<(Instant, usize)>,
    next: usize,
    /// Suspects, in the order of arrival.
    waiting: VecDeque<AcceptedSocket>,
    turns: Turns,
}

impl Handshakes {
    /// The way to a thread, and what the thread runs.
    pub fn new() -> io::Result<(Arc<Self>, HandshakeThread)> {
        let poll = Poll::new()?;
        let handshakes = Arc::new(Self {
            waker: Waker::new(poll.registry(), WAKER)?,
            arrived: Mutex::default(),
            is_stopped: AtomicBool::new(false),
        });
        let shaker = HandshakeThread {
            handshakes: Arc::clone(&handshakes),
            poll,
            open: HashMap::new(),
            deadlines: VecDeque::new(),
            next: 0,
            waiting: VecDeque::new(),
            turns: Turns::new(Instant::now()),
        };
        Ok((handshakes, shaker))
    }

    /// Hands a connection to the thread.
    pub fn begin(&self, socket: TcpStream, ip: IpAddr, listener: usize, context: Arc<TlsContext>) {
        self.arrived.lock().push(AcceptedSocket {
            socket,
            ip,
            listener,
            context,
        });
        // An eventfd write fails only when the thread is gone, and then the broker stops.
        let _ = self.waker.wake();
    }

    /// Ends the thread; handshakes that are open are broken off.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
        let _ = self.waker.wake();
    }
}

impl HandshakeThread {
    /// Runs until stopped.
    pub fn run(mut self, network: &Weak<Network>) -> io::Result<()> {
        // Where it is not allowed the thread competes with the loops as an equal.
        let _ = lower_priority(NICE);
        let mut events = Events::with_capacity(256);
        loop {
            match self.poll.poll(&mut events, Some(self.sleep())) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => result?,
            }
            let Some(network) = network.upgrade() else {
                return Ok(());
            };
            if self.handshakes.is_stopped.load(Ordering::Acquire) {
                return Ok(());
            }
            for event in &events {
                if event.token() != WAKER {
                    self.go_on(event.token().0, &network);
                }
            }
            let arrived = std::mem::take(&mut *self.handshakes.arrived.lock());
            for arrived in arrived {
                if network.refusals.is_suspect(arrived.ip) {
                    self.wait(arrived, &network);
                } else {
                    self.begin(arrived, &network);
                }
            }
            while !self.waiting.is_empty() && self.turns.take(Instant::now()) {
                if let Some(suspect) = self.waiting.pop_front() {
                    self.begin(suspect, &network);
                }
            }
            self.end_late(&network);
        }
    }

    fn sleep(&self) -> Duration {
        let deadline = self.deadlines.front().map(|(at, _)| *at);
        let turn = (!self.waiting.is_empty()).then(|| self.turns.next());
        let first = deadline.into_iter().chain(turn).min();
        first.map_or(LONGEST_SLEEP, |at| {
            at.saturating_duration_since(Instant::now()).min(LONGEST_SLEEP)
        })
    }

    /// A suspect waits for its turn; the oldest gives way to another.
    fn wait(&mut self, arrived: AcceptedSocket, network: &Network) {
        if self.waiting.len() >= MAX_OPEN
            && let Some(oldest) = self.waiting.pop_front()
        {
            release_refused(oldest.ip, oldest.listener, "too many handshakes are open", network);
        }
        self.waiting.push_back(arrived);
    }

    fn begin(&mut self, arrived: AcceptedSocket, network: &Network) {
        let AcceptedSocket {
            socket,
            ip,
            listener,
            context,
        } = arrived;
        while self.open.len() >= MAX_OPEN
            && let Some((_, oldest)) = self.deadlines.pop_front()
        {
            self.refuse(oldest, "too many handshakes are open", network);
        }
        let mut socket = mio::net::TcpStream::from_std(socket);
        let number = self.next;
        self.next = self.next.wrapping_add(1) % (usize::MAX - 1);
        let interest = Interest::READABLE | Interest::WRITABLE;
        let layer = TlsLayer::new(Arc::clone(&context.config));
        let registered = self.poll.registry().register(&mut socket, Token(number), interest);
        let (Ok(layer), Ok(())) = (layer, registered) else {
            return network.release(ip, listener);
        };
        self.open.insert(
            number,
            OpenHandshake {
                socket,
                ip,
                listener,
                context,
                layer: Box::new(layer),
            },
        );
        let limit = network.broker.options().connection_setup_timeout;
        self.deadlines.push_back((Instant::now() + limit, number));
        self.go_on(number, network);
    }

    fn go_on(&mut self, number: usize, network: &Network) {
        let Some(open) = self.open.get_mut(&number) else { return };
        match open.layer.shake(&open.socket) {
            Ok(HandshakeProgress::Waits) => {}
            Ok(HandshakeProgress::Done) => self.finish(number, network),
            Err(error) => self.refuse(number, &error.to_string(), network),
        }
    }

    fn finish(&mut self, number: usize, network: &Network) {
        let found = self.open.get(&number);
        let Some(principal) = found.map(|open| principal_of(open, network.sasl_of(open.listener).is_some())) else {
            return;
        };
        let principal = match principal {
            Ok(principal) => principal,
            Err(reason) => return self.refuse(number, &reason, network),
        };
        let Some(mut open) = self.open.remove(&number) else {
            return;
        };
        if self.poll.registry().deregister(&mut open.socket).is_err() {
            return network.release(open.ip, open.listener);
        }
        if network.sasl_of(open.listener).is_none() {
            network.refusals.note_let_in(open.ip);
        }
        let secured = TlsPeer {
            layer: open.layer,
            principal,
        };
        network.hand_to_loop(open.socket.into(), open.listener, Some(Box::new(secured)));
    }

    fn end_late(&mut self, network: &Network) {
        let now = Instant::now();
        while let Some((at, number)) = self.deadlines.front().copied() {
            let is_open = self.open.contains_key(&number);
            if is_open && at > now {
                return;
            }
            self.deadlines.pop_front();
            if is_open {
                self.refuse(number, "it did not finish in time", network);
            }
        }
    }

    fn refuse(&mut self, number: usize, reason: &str, network: &Network) {
        let Some(mut open) = self.open.remove(&number) else {
            return;
        };
        // The socket is closed when it is dropped, whether deregistering fails or not.
        let _ = self.poll.registry().deregister(&mut open.socket);
        release_refused(open.ip, open.listener, reason, network);
    }
}

/// Frees the place of a client without a handshake, and says why.
fn release_refused(ip: IpAddr, listener: usize, reason: &str, network: &Network) {
    network.release(ip, listener);
    let reason = format!("SSL handshake failed: {reason}");
    let listener = network.listener_name(listener);
    network.refusals.note(&network.broker, ip, &listener, &reason);
}

/// The identity in the client's certificate. With SASL the identity comes later, and no rule for names applies.
fn principal_of(open: &OpenHandshake, has_sasl: bool) -> Result<Principal, String> {
    let Some(certificate) = open.layer.peer_certificates().first() else {
        return Ok(broker::ANONYMOUS.clone());
    };
    if !certificate::is_valid_now(certificate) {
        return Err("the certificate of the client's resumed session is not valid any more".to_owned());
    }
    if has_sasl {
        return Ok(broker::ANONYMOUS.clone());
    }
    let subject = principal::subject(certificate).ok_or("the client's certificate has no name that can be read")?;
    let name = open.context.rules.apply(&subject);
    let name = name.ok_or_else(|| format!("no rule of ssl.principal.mapping.rules matches {subject}"))?;
    Ok(Principal::user(&name))
}
