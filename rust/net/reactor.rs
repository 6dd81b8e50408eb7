//! A network loop: one thread, one poll, its connections and their parked operations.
//!
//! One turn: sleep until a socket, a message or a deadline; serve each ready connection (all of its pipelined requests,
//! then one send); take the mail; end the operations that are due. A connection is served a limited number of bytes a
//! turn, so that a busy connection cannot starve the others. The loop never waits for Python, for an fsync, nor for a
//! read from the disk: a fetch that needs data that is not in memory goes on on another thread; ranges of records are
//! checked first, and read ahead by a disk thread when they are not in memory.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::{Events, Interest, Poll, Token};
use slab::Slab;

use super::connection::{Connection, Weight};
use super::handshakes::Secured;
use super::held_back::HeldBackTimers;
use super::input::BufferPool;
use super::mailbox::{ConnectionRef, Mailbox, Message};
use super::operations::{Operation, Operations, Parked};
use super::outbox::{Outbox, Sent};
use super::pressure::{DATA_LANE, LANES, Starved};
use super::sasl::Authentication;
use super::serve::{Closed, is_held_up};
use super::server::{Acceptor, Shared};
use super::spread;
use super::transport::Transport;
use super::warm::read_ahead;
use ::io::scheduling::ask_for_turns_of;
use broker::{self, ClientInfo, Scratch};

/// The waker's token; listeners and connections follow.
pub const WAKER: Token = Token(0);
/// The first listener's token.
pub const FIRST_LISTENER: usize = 1;
/// The first connection's token.
pub const FIRST_CONNECTION: usize = 1024;
/// Bytes received at a time and shared by all connections of the loop (measured: 64 KB beats 256 KB).
const BUFFER_BYTES: usize = 64 << 10;
/// The time slice asked of the scheduler: beside other busy threads an answer waits for about so long, not for the
/// default of 3 ms (measured with 16 connections and the client on the same two cores: p99 1.3 ms instead of 3.2).
const TURN_NS: u64 = 500_000;
/// Sockets' events taken at a time.
const EVENTS: usize = 256;
/// For how long connections that had their turn get further turns before the loop polls for new events.
const QUEUED_TURNS: Duration = Duration::from_millis(4);
/// How often idle connections are looked for, at most.
const IDLE_CHECK: Duration = Duration::from_secs(5);

/// See the module.
pub struct Reactor {
    pub(super) shared: Arc<Shared>,
    pub(super) mailbox: Arc<Mailbox>,
    poll: Poll,
    acceptor: Option<Acceptor>,
    pub(super) connections: Slab<Connection>,
    pub(super) operations: Operations,
    pub(super) scratch: Scratch,
    pub(super) buffer: Vec<u8>,
    pub(super) pool: BufferPool,
    /// An empty outbox: the buffer of an attempt that completed no answer, kept for the next attempt.
    pub(super) unanswered: Outbox,
    ready: VecDeque<ConnectionRef>,
    pub(super) mail: Vec<Message>,
    /// Connections whose frames wait for room.
    pub(super) starved: [Starved; LANES],
    /// Connections whose next request waits for room for its answer, in order.
    pub(super) waiting: VecDeque<ConnectionRef>,
    pub(super) next_pressure_check: Instant,
    /// Whether starved connections might go on at once.
    pub(super) is_feeding: bool,
    /// When connections that are over a quota are served again.
    pub(super) held_back: HeldBackTimers,
    next_idle_check: Instant,
    drain_until: Option<Instant>,
}

impl Reactor {
    /// A loop that has not started; `acceptor` makes it the one that accepts.
    pub fn new(
        shared: Arc<Shared>,
        mailbox: Arc<Mailbox>,
        poll: Poll,
        acceptor: Option<Acceptor>,
        loops: usize,
    ) -> Self {
        let operations = Operations::new(mailbox.index(), loops);
        Self {
            shared,
            mailbox,
            poll,
            acceptor,
            connections: Slab::new(),
            operations,
            scratch: Scratch::default(),
            buffer: vec![0; BUFFER_BYTES],
            pool: BufferPool::default(),
            unanswered: Outbox::default(),
            ready: VecDeque::new(),
            mail: Vec::new(),
            starved: Starved::lanes(),
            waiting: VecDeque::new(),
            next_pressure_check: Instant::now(),
            is_feeding: false,
            held_back: HeldBackTimers::default(),
            next_idle_check: Instant::now() + IDLE_CHECK,
            drain_until: None,
        }
    }

    /// Runs until drained.
    pub fn run(mut self) -> io::Result<()> {
        self.mailbox.enter();
        // An older kernel or a sandbox may refuse the time slice; that costs only latency beside busy threads.
        let _ = ask_for_turns_of(TURN_NS);
        let mut events = Events::with_capacity(EVENTS);
        loop {
            let timeout = Some(self.timeout());
            match self.poll.poll(&mut events, timeout) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                result => result?,
            }
            self.scratch.begin_turn();
            for event in &events {
                match event.token() {
                    WAKER => {}
                    Token(t) if t < FIRST_CONNECTION => self.accept(t - FIRST_LISTENER),
                    Token(t) => self.on_event(t - FIRST_CONNECTION, event),
                }
            }
            self.serve_queued();
            self.take_mail();
            self.end_what_is_due();
            if self.is_drained() {
                return Ok(());
            }
        }
    }

    /// Gives each connection that had its turn another one, for [`QUEUED_TURNS`] at most, so that connections with new
    /// events do not wait long.
    fn serve_queued(&mut self) {
        let until = Instant::now() + QUEUED_TURNS;
        for _ in 0..self.ready.len() {
            let Some(reference) = self.ready.pop_front() else {
                return;
            };
            if self.find(reference) {
                self.connections[reference.key].is_queued = false;
                self.proceed(reference);
            }
            if !self.ready.is_empty() && Instant::now() >= until {
                return;
            }
        }
    }

    /// Queues a connection for another turn.
    pub(super) fn queue(&mut self, reference: ConnectionRef) {
        if let Some(connection) = self.connections.get_mut(reference.key)
            && connection.reference == reference
            && !std::mem::replace(&mut connection.is_queued, true)
        {
            self.ready.push_back(reference);
        }
    }

    fn timeout(&self) -> Duration {
        if !self.ready.is_empty() || self.mailbox.has_mail() {
            return Duration::ZERO;
        }
        let mut until = self.next_idle_check;
        let acceptor = self.acceptor.as_ref().and_then(Acceptor::retry_at);
        let pressure = self.next_pressure_check();
        let sessions = coordinator::groups(&self.shared.broker).next_timer();
        let sessions = sessions.filter(|_| self.mailbox.index() == 0);
        for at in [
            self.operations.next_deadline(),
            self.held_back.next(),
            self.drain_until,
            acceptor,
            pressure,
            sessions,
        ]
        .into_iter()
        .flatten()
        {
            until = until.min(at);
        }
        until.saturating_duration_since(Instant::now())
    }

    // ---- connections

    fn accept(&mut self, listener: usize) {
        if let Some(acceptor) = &mut self.acceptor {
            acceptor.accept(listener, &self.shared);
        }
    }

    pub(super) fn adopt(&mut self, socket: std::net::TcpStream, listener: usize, secured: Option<Box<Secured>>) {
        let ip = socket
            .peer_addr()
            .map_or(IpAddr::from([0, 0, 0, 0]), |a: SocketAddr| a.ip().to_canonical());
        if self.drain_until.is_some() {
            return self.shared.release(ip, listener); // it was accepted while the loops were already draining
        }
        let id = self.shared.next_connection_id.fetch_add(1, Ordering::Relaxed);
        let entry = self.connections.vacant_entry();
        let reference = ConnectionRef { key: entry.key(), id };
        let mut socket = mio::net::TcpStream::from_std(socket);
        let token = Token(FIRST_CONNECTION + reference.key);
        if self
            .poll
            .registry()
            .register(&mut socket, token, Interest::READABLE | Interest::WRITABLE)
            .is_err()
        {
            self.shared.release(ip, listener);
            return;
        }
        let settings = self.shared.sasl_of(listener);
        let name = self.shared.listener_name(listener);
        let mut client = ClientInfo::new(id, name, format!("/{ip}"));
        let transport = match secured.map(|secured| *secured) {
            Some(Secured { layer, principal }) => {
                client.principal = principal;
                Transport::secure(socket, layer)
            }
            None => Transport::plain(socket),
        };
        let proven = settings.is_none().then(|| client.principal.as_str());
        client.is_broker = self.shared.proof.trusts(&client.listener, proven);
        let held_back = self.shared.broker.quotas().not_held_back();
        let mut connection = Connection::new(
            reference,
            transport,
            (ip, listener),
            Arc::new(client),
            held_back,
            Instant::now(),
        );
        connection.authentication = settings.map(|settings| Box::new(Authentication::new(settings)));
        connection.unsent = Some(self.shared.broker.unsent().account());
        connection.received = Some(self.shared.broker.queued().account());
        entry.insert(connection);
        self.queue(reference);
    }

    /// Takes over a connection that another loop served so far.
    pub(super) fn take_over(&mut self, mut connection: Connection) {
        if self.drain_until.is_some() {
            return self.shared.release(connection.ip, connection.listener); // it has no request or answer in flight
        }
        let entry = self.connections.vacant_entry();
        let reference = ConnectionRef {
            key: entry.key(),
            id: connection.reference.id,
        };
        let token = Token(FIRST_CONNECTION + reference.key);
        let interest = Interest::READABLE | Interest::WRITABLE;
        if self
            .poll
            .registry()
            .register(connection.transport.socket(), token, interest)
            .is_err()
        {
            return self.shared.release(connection.ip, connection.listener);
        }
        connection.reference = reference;
        connection.is_readable = true; // an edge-triggered event may have been lost between the two loops
        connection.is_queued = false;
        connection.starved_in = None; // it left the other loop's lists of starved connections
        connection.is_first_starved = false;
        connection.is_waiting = false;
        connection.has_timer = false;
        entry.insert(connection);
        self.queue(reference);
    }

    /// Hands a heavy connection to another loop, once, when it has no request or answer in flight (see
    /// [`super::spread`]).
    fn hand_on_if_heavy(&mut self, key: usize) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let is_movable = connection.weight == Weight::Heavy
            && connection.is_quiet()
            && !(connection.is_closing || connection.is_ended || connection.is_warming);
        if !is_movable {
            return;
        }
        connection.weight = Weight::Settled;
        let Some(mailbox) = self.shared.other_loop_for_heavy(self.mailbox.index()) else {
            return;
        };
        let mut connection = self.connections.remove(key);
        if self.poll.registry().deregister(connection.transport.socket()).is_ok() {
            mailbox.post(Message::Moved(Box::new(connection)));
        } else {
            self.shared.release(connection.ip, connection.listener);
        }
    }

    pub(super) fn close(&mut self, key: usize) {
        let Some(mut connection) = self.connections.try_remove(key) else {
            return;
        };
        connection.transport.say_end();
        // The socket is closed when it is dropped, whether deregistering fails or not.
        let _ = self.poll.registry().deregister(connection.transport.socket());
        for number in connection.waiting() {
            let waiter = self.waiter(number);
            match self.operations.take(number).map(|o| o.parked) {
                Some(Parked::Delayed(delayed)) if delayed.is_large() => self.forget_elsewhere(number, delayed),
                Some(Parked::Delayed(delayed)) => delayed.forget(&waiter),
                Some(Parked::Away(away)) => away.gone.store(true, Ordering::Release),
                Some(Parked::Control { .. }) => self.tell_abandoned(number),
                Some(Parked::Refusal(_)) | None => {}
            }
        }
        self.shared.release(connection.ip, connection.listener);
    }

    /// Reports to the control plane that the client of one of its requests has gone, so that it need not go on with the
    /// request.
    fn tell_abandoned(&self, token: u64) {
        self.shared
            .broker
            .events()
            .push(broker::Event::RequestAbandoned { token });
    }

    pub(super) fn find(&self, reference: ConnectionRef) -> bool {
        self.connections
            .get(reference.key)
            .is_some_and(|c| c.reference == reference)
    }

    fn on_event(&mut self, key: usize, event: &Event) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        connection.is_readable |= event.is_readable();
        let ends = event.is_read_closed() && !connection.is_ended;
        connection.is_ended |= ends;
        connection.is_broken |= event.is_write_closed();
        let (reference, is_queued) = (connection.reference, connection.is_queued);
        if ends && connection.starved_in.is_some_and(|lane| lane != DATA_LANE) {
            return self.close(key); // a request for the control plane that is not served yet is dropped with its client
        }
        let waiting = if ends { connection.waiting() } else { Vec::new() };
        for number in waiting {
            let is_control = |one: &mut Operation| matches!(one.parked, Parked::Control { .. });
            if self.operations.request(number).is_some_and(is_control) {
                self.tell_abandoned(number);
            }
        }
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        if event.is_writable() && (!connection.outbox.is_empty() || connection.transport.has_unsent()) {
            connection.last_active = Instant::now();
            connection.last_sent = connection.last_active;
            if !self.send(reference.key) {
                return;
            }
        }
        if !is_queued {
            self.proceed(reference);
        }
    }

    /// Serves what a connection has sent, then sends its pending answers.
    pub(super) fn proceed(&mut self, reference: ConnectionRef) {
        if !self.find(reference) {
            return;
        }
        let now = Instant::now();
        match self.serve(reference.key, now) {
            Ok(true) => self.queue(reference),
            Ok(false) => {}
            Err(reason) => {
                self.log_refusal(reference.key, &reason);
                if self.send(reference.key) && !self.is_pending(reference.key, &reason) {
                    self.close(reference.key);
                }
                return;
            }
        }
        if self
            .connections
            .get(reference.key)
            .is_some_and(Connection::waits_in_vain)
        {
            return self.close(reference.key);
        }
        self.set_timer_if_held_back(reference, now);
        let was_held_up = self
            .connections
            .get(reference.key)
            .is_some_and(|c| c.is_held_up || is_held_up(c));
        if self.send(reference.key) && was_held_up && !self.connections.get(reference.key).is_some_and(is_held_up) {
            self.queue(reference); // no event will come for the requests behind, which can be served now
        }
        self.hand_on_if_heavy(reference.key);
    }

    /// Whether a client that sends no more still gets answers; then the connection closes once they are sent. Only
    /// sending shows whether such a client has gone altogether.
    fn is_pending(&mut self, key: usize, reason: &Closed) -> bool {
        let Some(connection) = self.connections.get_mut(key) else {
            return false;
        };
        connection.is_closing |= matches!(reason, Closed::ByPeer);
        matches!(reason, Closed::ByPeer) && !connection.is_broken && !connection.is_quiet()
    }

    pub(super) fn log_refusal(&self, key: usize, reason: &Closed) {
        if let (Closed::Refused(refused), Some(connection)) = (reason, self.connections.get(key)) {
            let client = &connection.client;
            let line = format!(
                "closing the connection from {} on {}: {refused}",
                client.host, client.listener
            );
            self.shared.broker.log(&line);
        }
    }

    /// Sends as much as the socket takes; false when the connection is gone.
    pub(super) fn send(&mut self, key: usize) -> bool {
        let Some(connection) = self.connections.get_mut(key) else {
            return false;
        };
        if connection.is_warming {
            return true;
        }
        if connection.weight == Weight::Light && spread::is_heavy_answer(&connection.outbox) {
            connection.weight = Weight::Heavy;
        }
        let was_unsent = connection.unsent.as_ref().is_some_and(|charge| charge.amount() > 0);
        let flushed = connection.outbox.flush(&mut connection.transport);
        connection.account();
        if !was_unsent && !matches!(flushed, Ok(Sent::All)) {
            connection.last_sent = Instant::now();
        }
        match flushed {
            Ok(Sent::All) => {
                if connection.is_closing && connection.is_quiet() {
                    self.close(key);
                    return false;
                }
                true
            }
            Ok(Sent::Blocked) => true,
            Ok(Sent::Cold(range)) => {
                connection.is_warming = true;
                let (mailbox, reference) = (Arc::clone(&self.mailbox), connection.reference);
                self.shared.broker.threads().disk().submit(move || {
                    read_ahead(&range);
                    mailbox.post(Message::Warmed(reference));
                });
                true
            }
            Err(_) => {
                self.close(key);
                false
            }
        }
    }

    fn end_what_is_due(&mut self) {
        let now = Instant::now();
        while let Some(number) = self.operations.pop_due(now) {
            self.try_operation(number, true);
        }
        self.serve_held_back(now);
        if let Some(acceptor) = &mut self.acceptor {
            acceptor.retry(now, &self.shared);
        }
        if self.mailbox.index() == 0 {
            coordinator::groups(&self.shared.broker).expire_sessions(&self.shared.broker, now);
        }
        self.relieve(now);
        if now >= self.next_idle_check {
            self.next_idle_check = now + IDLE_CHECK;
            if self.mailbox.index() == 0 {
                self.shared.broker.image().load().drop_unused_answers();
                self.shared.broker.quotas().sweep(now);
            }
            self.close_idle(now);
        }
    }

    fn close_idle(&mut self, now: Instant) {
        let max_idle = self.shared.max_idle;
        if max_idle.is_zero() {
            return;
        }
        // Unsent answers do not keep a connection open: a client that reads none of them for so long is gone as well.
        // Nor do parked operations or a quota, when the client has ended its side.
        let waits = |c: &Connection| (c.has_gap() || c.is_held_back()) && !c.is_ended;
        let is_idle = |c: &Connection| !waits(c) && now.saturating_duration_since(c.last_active) >= max_idle;
        let idle: Vec<usize> = self
            .connections
            .iter()
            .filter(|(_, c)| is_idle(c))
            .map(|(k, _)| k)
            .collect();
        for key in idle {
            self.close(key);
        }
    }

    // ---- the end

    pub(super) fn drain(&mut self, until: Instant) {
        self.drain_until = Some(until);
        self.acceptor = None;
        for (_, connection) in &mut self.connections {
            connection.is_closing = true; // first, else an answered connection would begin its next fetch
        }
        for number in self.operations.numbers() {
            let ends_early = |one: &mut Operation| matches!(&one.parked, Parked::Delayed(it) if it.ends_early());
            if self.operations.request(number).is_some_and(ends_early) {
                self.try_operation(number, true);
            }
        }
        let keys: Vec<usize> = self.connections.iter().map(|(k, _)| k).collect();
        for key in keys {
            self.send(key);
        }
    }

    fn is_drained(&mut self) -> bool {
        let Some(until) = self.drain_until else { return false };
        if !self.connections.is_empty() && Instant::now() < until {
            return false;
        }
        for number in self.operations.numbers() {
            self.try_operation(number, true);
        }
        let keys: Vec<usize> = self.connections.iter().map(|(k, _)| k).collect();
        for key in keys {
            self.close(key);
        }
        true
    }
}
