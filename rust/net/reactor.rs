//! A network loop: one thread, one poll, its connections and their parked operations.
//!
//! One turn: sleep until a socket, a message or a deadline; serve each ready connection (all of its pipelined requests,
//! then one send); take the mail; end the operations that are due. A connection is served a limited number of bytes a
//! turn, so that a busy connection cannot starve the others. The loop never waits for Python, for an fsync, nor for a
//! read from the disk: a fetch that needs data that is not in memory goes on on another thread; ranges of records are
//! checked first, and read ahead by a disk thread when they are not in memory.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::{Events, Poll, Token};

use super::acceptor::{Acceptor, FIRST_LISTENER};
use super::close_reason::CloseReason;
use super::connection::{Connection, ConnectionRef, Weight};
use super::connections::{Connections, FIRST_CONNECTION};
use super::held_back::HeldBackTimers;
use super::mailbox::{LoopMessage, Mailbox};
use super::network::Network;
use super::outbox::SendProgress;
use super::pressure::{DATA_LANE, FEED_TURN, LANES, Pressure};
use super::receiver::{Receiver, is_held_up};
use super::requests::{Completion, Effect, Requests};
use super::sasl::Authentication;
use super::spread;
use super::tls::TlsPeer;
use super::transport::Transport;
use super::warm::read_ahead;
use ::io::scheduling::ask_for_turns_of;
use broker::{self, ClientInfo};

/// The waker's token; listeners and connections follow.
pub const WAKER: Token = Token(0);
/// The time slice asked of the scheduler: beside other busy threads an answer waits for about so long, not for the
/// default of 3 ms (measured with 16 connections and the client on the same two cores: p99 1.3 ms instead of 3.2).
const TURN_NS: u64 = 500_000;
/// Sockets' events taken at a time.
const EVENTS: usize = 256;
/// For how long connections that had their turn get further turns before the loop polls for new events.
const QUEUED_TURNS: Duration = Duration::from_millis(4);
/// How often idle connections are looked for, at most.
const IDLE_CHECK: Duration = Duration::from_secs(5);

/// See the module. Its parts know nothing of each other, unless a call gives one to another.
pub struct Reactor {
    network: Arc<Network>,
    mailbox: Arc<Mailbox>,
    poll: Poll,
    /// Of the loop that accepts.
    acceptor: Option<Acceptor>,
    connections: Connections,
    receiver: Receiver,
    requests: Requests,
    /// Connections that wait for room.
    pressure: Pressure,
    /// When connections that are over a quota are served again.
    held_back: HeldBackTimers,
    /// The buffer into which messages are taken.
    mail: Vec<LoopMessage>,
    next_idle_check: Instant,
    drain_until: Option<Instant>,
}

impl Reactor {
    /// A loop that has not started; `acceptor` makes it the one that accepts.
    pub fn new(
        network: Arc<Network>,
        mailbox: Arc<Mailbox>,
        poll: Poll,
        acceptor: Option<Acceptor>,
        loops: usize,
    ) -> io::Result<Self> {
        Ok(Self {
            acceptor,
            connections: Connections::new(poll.registry().try_clone()?),
            receiver: Receiver::new(),
            requests: Requests::new(Arc::clone(&network), Arc::clone(&mailbox), loops),
            pressure: Pressure::new(Instant::now()),
            held_back: HeldBackTimers::default(),
            mail: Vec::new(),
            next_idle_check: Instant::now() + IDLE_CHECK,
            drain_until: None,
            network,
            mailbox,
            poll,
        })
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
            self.requests.begin_turn();
            for event in &events {
                match event.token() {
                    WAKER => {}
                    Token(t) if t < FIRST_CONNECTION => self.accept(t - FIRST_LISTENER),
                    _ => self.on_event(event),
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
        for _ in 0..self.connections.queued() {
            let Some(reference) = self.connections.next_queued() else {
                return;
            };
            self.proceed(reference);
            if self.connections.queued() > 0 && Instant::now() >= until {
                return;
            }
        }
    }

    fn timeout(&self) -> Duration {
        if self.connections.queued() > 0 || self.mailbox.has_mail() {
            return Duration::ZERO;
        }
        let mut until = self.next_idle_check;
        let acceptor = self.acceptor.as_ref().and_then(Acceptor::retry_at);
        let pressure = self.pressure.next_check(&self.network.broker);
        let sessions = self.network.coordinators.groups.next_timer();
        let sessions = sessions.filter(|_| self.mailbox.index() == 0);
        for at in [
            self.requests.next_deadline(),
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
            acceptor.accept(listener, &self.network);
        }
    }

    fn adopt(&mut self, socket: std::net::TcpStream, listener: usize, secured: Option<Box<TlsPeer>>) {
        let ip = socket
            .peer_addr()
            .map_or(IpAddr::from([0, 0, 0, 0]), |address| address.ip().to_canonical());
        if self.drain_until.is_some() {
            return self.network.release(ip, listener); // it was accepted while the loops were already draining
        }
        let id = self.network.next_connection_id();
        let socket = mio::net::TcpStream::from_std(socket);
        let settings = self.network.sasl_of(listener);
        let name = self.network.listener_name(listener);
        let mut client = ClientInfo::new(id, name, format!("/{ip}"));
        let transport = match secured.map(|secured| *secured) {
            Some(TlsPeer { layer, principal }) => {
                client.principal = principal;
                Transport::secure(socket, layer)
            }
            None => Transport::plain(socket),
        };
        let proven = settings.is_none().then(|| client.principal.as_str());
        client.is_broker = self.network.proof.trusts(&client.listener, proven);
        let held_back = self.network.broker.quotas().not_held_back();
        let reference = ConnectionRef { key: 0, id };
        let client = Arc::new(client);
        let mut connection = Connection::new(reference, transport, ip, listener, client, held_back, Instant::now());
        connection.authentication = settings.map(|settings| Box::new(Authentication::new(settings)));
        connection.unsent = Some(self.network.broker.unsent().account());
        connection.received = Some(self.network.broker.queued().account());
        if self.connections.add(connection).is_err() {
            self.network.release(ip, listener);
        }
    }

    /// Takes over a connection that another loop served so far.
    fn take_over(&mut self, mut connection: Connection) {
        let (ip, listener) = (connection.ip, connection.listener);
        if self.drain_until.is_some() {
            return self.network.release(ip, listener); // it has no request or answer in flight
        }
        connection.is_readable = true; // an edge-triggered event may have been lost between the two loops
        connection.is_queued = false;
        connection.starved_in = None; // it left the other loop's lists of starved connections
        connection.is_first_starved = false;
        connection.is_waiting = false;
        connection.has_timer = false;
        if self.connections.add(connection).is_err() {
            self.network.release(ip, listener);
        }
    }

    /// Hands a heavy connection to another loop, once, when it has no request or answer in flight (see
    /// [`super::spread`]).
    fn hand_on_if_heavy(&mut self, reference: ConnectionRef) {
        let Some(connection) = self.connections.get_mut(reference) else {
            return;
        };
        let is_movable = connection.weight == Weight::Heavy
            && connection.is_quiet()
            && !(connection.is_closing || connection.is_ended || connection.is_warming);
        if !is_movable {
            return;
        }
        connection.weight = Weight::Settled;
        if let Some(mailbox) = self.network.other_loop_for_heavy(self.mailbox.index())
            && let Some((connection, deregistered)) = self.connections.remove(reference)
        {
            match deregistered {
                Ok(()) => mailbox.post(LoopMessage::Moved(Box::new(connection))),
                Err(_) => self.network.release(connection.ip, connection.listener),
            }
        }
    }

    fn close(&mut self, reference: ConnectionRef) {
        // The socket is closed when it is dropped, whether deregistering fails or not.
        if let Some((mut connection, _)) = self.connections.remove(reference) {
            connection.transport.say_end();
            self.requests.forget(&connection);
            self.network.release(connection.ip, connection.listener);
        }
    }

    fn on_event(&mut self, event: &Event) {
        let Some(connection) = self.connections.of_token(event.token()) else {
            return;
        };
        connection.is_readable |= event.is_readable();
        let ends = event.is_read_closed() && !connection.is_ended;
        connection.is_ended |= ends;
        connection.is_broken |= event.is_write_closed();
        let (reference, is_queued) = (connection.reference, connection.is_queued);
        if ends {
            if connection.starved_in.is_some_and(|lane| lane != DATA_LANE) {
                // a request for the control plane that is not served yet is dropped with its client
                return self.close(reference);
            }
            self.requests.note_ended(connection.waiting());
        }
        if event.is_writable() && (!connection.outbox.is_empty() || connection.transport.has_unsent()) {
            connection.last_active = Instant::now();
            connection.last_sent = connection.last_active;
            if !self.send(reference) {
                return;
            }
        }
        if !is_queued {
            self.proceed(reference);
        }
    }

    /// Serves what a connection has sent, then sends its pending answers.
    fn proceed(&mut self, reference: ConnectionRef) {
        let Some(connection) = self.connections.get_mut(reference) else {
            return;
        };
        let now = Instant::now();
        let served = self
            .receiver
            .serve(connection, &mut self.requests, &mut self.pressure, now);
        if connection.is_unreachable() && served.is_ok() {
            return self.close(reference);
        }
        match served {
            Ok(true) => self.connections.queue(reference),
            Ok(false) => {}
            Err(reason) => {
                self.log_refused(reference, &reason);
                if self.send(reference) && !self.is_pending(reference, &reason) {
                    self.close(reference);
                }
                return;
            }
        }
        self.held_back.set_if_held_back(reference, &mut self.connections, now);
        let was_held_up = self
            .connections
            .get(reference)
            .is_some_and(|c| c.is_held_up || is_held_up(c));
        if self.send(reference) && was_held_up && !self.connections.get(reference).is_some_and(is_held_up) {
            self.connections.queue(reference); // no event will come for the requests behind, which can be served now
        }
        self.hand_on_if_heavy(reference);
    }

    /// Whether a client that sends no more still gets answers; then the connection closes once they are sent. Only
    /// sending shows whether such a client has gone altogether.
    fn is_pending(&mut self, reference: ConnectionRef, reason: &CloseReason) -> bool {
        let is_by_peer = matches!(reason, CloseReason::ByPeer);
        let Some(connection) = self.connections.get_mut(reference).filter(|_| is_by_peer) else {
            return false;
        };
        connection.is_closing = true;
        !connection.is_broken && !connection.is_quiet()
    }

    fn log_refused(&self, reference: ConnectionRef, reason: &CloseReason) {
        if !matches!(reason, CloseReason::ByPeer) {
            self.log_closing(reference, &reason.to_string());
        }
    }

    fn log_closing(&self, reference: ConnectionRef, why: &str) {
        if let Some(connection) = self.connections.get(reference) {
            let client = &connection.client;
            let (host, listener) = (&client.host, &client.listener);
            let line = format!("closing the connection from {host} on {listener}: {why}");
            self.network.broker.log(&line);
        }
    }

    /// Sends as much as the socket takes; false when the connection is gone.
    fn send(&mut self, reference: ConnectionRef) -> bool {
        let Some(connection) = self.connections.get_mut(reference) else {
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
        if !was_unsent && !matches!(flushed, Ok(SendProgress::All)) {
            connection.last_sent = Instant::now();
        }
        match flushed {
            Ok(SendProgress::All) => {
                if connection.is_closing && connection.is_quiet() {
                    self.close(reference);
                    return false;
                }
                true
            }
            Ok(SendProgress::Blocked) => true,
            Ok(SendProgress::Cold(range)) => {
                connection.is_warming = true;
                let mailbox = Arc::clone(&self.mailbox);
                self.network.broker.threads().disk().submit(move || {
                    read_ahead(&range);
                    mailbox.post(LoopMessage::Warmed(reference));
                });
                true
            }
            Err(_) => {
                self.close(reference);
                false
            }
        }
    }

    // ---- messages

    fn take_mail(&mut self) {
        let mut mail = std::mem::take(&mut self.mail);
        self.mailbox.take(&mut mail);
        for message in mail.drain(..) {
            self.on_message(message);
        }
        self.mail = mail;
    }

    fn on_message(&mut self, message: LoopMessage) {
        let completion = match message {
            LoopMessage::Accepted {
                socket,
                listener,
                secured,
            } => return self.adopt(socket, listener, secured),
            LoopMessage::Moved(connection) => return self.take_over(*connection),
            LoopMessage::Warmed(reference) => return self.on_warmed(reference),
            LoopMessage::Disconnect { id, asks_again } => return self.disconnect(id, asks_again),
            LoopMessage::Drain(until) => return self.drain(until),
            LoopMessage::Spent(number, time) => return self.requests.note_spent(number, time),
            LoopMessage::ParkAppend(append) => return self.requests.park_append(append),
            LoopMessage::Wake(number) => self.requests.try_operation(number, false),
            LoopMessage::Answer(number, body) => self.requests.answered(number, body, &self.connections),
            LoopMessage::ServeHere(number) => self.requests.serve_here(number),
            LoopMessage::TaskDone(number, result) => self.requests.task_done(number, *result),
        };
        self.complete(completion);
    }

    /// Gives a connection the answer to one of its operations, and serves its later requests.
    fn complete(&mut self, completion: Option<Completion>) {
        let Some(Completion {
            connection: reference,
            effect,
        }) = completion
        else {
            return;
        };
        let Some(connection) = self.connections.get_mut(reference) else {
            return;
        };
        match effect {
            Effect::Unmute(number) => {
                connection.unmute(number);
                return self.proceed(reference);
            }
            Effect::Close(reason) => {
                if let Some(reason) = reason {
                    self.log_refused(reference, &reason);
                }
                return self.close(reference);
            }
            Effect::LastAnswer(number, answer) => {
                connection.is_closing = true;
                connection.fill(number, answer);
            }
            Effect::Answer(number, answer) => connection.fill(number, answer),
        }
        connection.last_active = Instant::now();
        if self.send(reference) {
            self.proceed(reference);
        }
    }

    fn on_warmed(&mut self, reference: ConnectionRef) {
        if let Some(connection) = self.connections.get_mut(reference) {
            connection.is_warming = false;
            connection.outbox.warmed();
            if self.send(reference) {
                self.proceed(reference);
            }
        }
    }

    fn disconnect(&mut self, id: u64, asks_again: bool) {
        match self.connections.select(|c| c.reference.id == id).first() {
            Some(reference) => self.close(*reference),
            None if asks_again => self.network.disconnect(id, false),
            None => {}
        }
    }

    // ---- what is due

    fn end_what_is_due(&mut self) {
        let now = Instant::now();
        while let Some(number) = self.requests.pop_due(now) {
            let completion = self.requests.try_operation(number, true);
            self.complete(completion);
        }
        self.held_back.release_due(&mut self.connections, now);
        if let Some(acceptor) = &mut self.acceptor {
            acceptor.retry(now, &self.network);
        }
        if self.mailbox.index() == 0 {
            let groups = &self.network.coordinators.groups;
            groups.expire_sessions(&self.network.broker, now);
        }
        self.relieve(now);
        if now >= self.next_idle_check {
            self.next_idle_check = now + IDLE_CHECK;
            if self.mailbox.index() == 0 {
                self.network.broker.image().load().drop_unused_answers();
                self.network.broker.quotas().sweep(now);
            }
            self.close_idle(now);
        }
    }

    /// Lets connections go on that wait for room, and closes those that keep others from it: see [`super::pressure`].
    fn relieve(&mut self, now: Instant) {
        self.pressure.begin_feeding();
        for lane in 0..LANES {
            let mut until = None;
            while let Some(reference) = self
                .pressure
                .next_starved(lane, &mut self.connections, &self.network.broker)
            {
                if lane == DATA_LANE {
                    self.connections.queue(reference);
                    continue;
                }
                let until = *until.get_or_insert_with(|| Instant::now() + FEED_TURN);
                self.proceed(reference);
                if Instant::now() >= until {
                    self.pressure.feed_again();
                    break;
                }
            }
        }
        self.pressure.serve_waiting(&mut self.connections, &self.network.broker);
        for (reference, why) in self.pressure.stuck(&self.connections, &self.network.broker, now) {
            self.log_closing(reference, why);
            self.close(reference);
        }
    }

    fn close_idle(&mut self, now: Instant) {
        let max_idle = self.network.max_idle;
        if max_idle.is_zero() {
            return;
        }
        // Unsent answers do not keep a connection open: a client that reads none of them for so long is gone as well.
        // Nor do parked operations or a quota, when the client has ended its side.
        let waits = |c: &Connection| (c.has_gap() || c.is_held_back()) && !c.is_ended;
        let is_idle = |c: &Connection| !waits(c) && now.saturating_duration_since(c.last_active) >= max_idle;
        for reference in self.connections.select(is_idle) {
            self.close(reference);
        }
    }

    // ---- the end

    fn drain(&mut self, until: Instant) {
        self.drain_until = Some(until);
        self.acceptor = None;
        for connection in self.connections.iter_mut() {
            connection.is_closing = true; // first, else an answered connection would begin its next fetch
        }
        for number in self.requests.numbers() {
            if self.requests.ends_early(number) {
                let completion = self.requests.try_operation(number, true);
                self.complete(completion);
            }
        }
        for reference in self.connections.select(|_| true) {
            self.send(reference);
        }
    }

    fn is_drained(&mut self) -> bool {
        let Some(until) = self.drain_until else { return false };
        if !self.connections.is_empty() && Instant::now() < until {
            return false;
        }
        for number in self.requests.numbers() {
            let completion = self.requests.try_operation(number, true);
            self.complete(completion);
        }
        for reference in self.connections.select(|_| true) {
            self.close(reference);
        }
        true
    }
}
