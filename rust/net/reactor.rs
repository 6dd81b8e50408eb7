//! A network loop: one thread, one poll, its connections and their parked operations.
//!
//! One turn: sleep until a socket, a message or a deadline; take the mail; serve each ready connection (all of its
//! pipelined requests, then one send); end what is due. A connection is served at most [`TURN_BYTES`] a turn, so that a
//! loud one cannot starve the others. The loop never blocks on the disk and never waits for Python.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mio::{Events, Interest, Poll, Token};
use slab::Slab;

use super::connection::Connection;
use super::dispatch::{self, Context, Refused, Scratch};
use super::input::{self, Front, SIZE_BYTES};
use super::mailbox::{ConnectionRef, Mailbox, Message};
use super::operations::{Operations, Parked};
use super::outbox::{Outbox, Sent};
use super::server::{Acceptor, Shared};
use super::warm::read_ahead;
use crate::broker::{ClientInfo, Event, Waiter, Wake};
use crate::wire::ApiTable;

/// The waker's token; listeners and connections follow.
pub const WAKER: Token = Token(0);
/// The first listener's token.
pub const FIRST_LISTENER: usize = 1;
/// The first connection's token.
pub const FIRST_CONNECTION: usize = 1024;
/// Bytes received at a time and shared by all connections of the loop (measured: 64 KB beats 256 KB).
const BUFFER_BYTES: usize = 64 << 10;
/// Bytes of one connection served before the others get their turn.
const TURN_BYTES: usize = 1 << 20;
/// Bytes of answers a connection may have unsent before no more of its requests are served.
const MAX_UNSENT_BYTES: usize = 4 << 20;
/// Parked produces a connection may have before no more of its requests are served.
const MAX_QUEUED: usize = 1000;
/// Sockets' events taken at a time.
const EVENTS: usize = 256;
/// How often idle connections are looked for, at most.
const IDLE_CHECK: Duration = Duration::from_secs(5);

/// See the module.
pub struct Reactor {
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    poll: Poll,
    acceptor: Option<Acceptor>,
    connections: Slab<Connection>,
    operations: Operations,
    scratch: Scratch,
    buffer: Vec<u8>,
    ready: VecDeque<ConnectionRef>,
    mail: Vec<Message>,
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
            ready: VecDeque::new(),
            mail: Vec::new(),
            next_idle_check: Instant::now() + IDLE_CHECK,
            drain_until: None,
        }
    }

    /// Runs until drained.
    pub fn run(mut self) -> io::Result<()> {
        self.mailbox.enter();
        let mut events = Events::with_capacity(EVENTS);
        loop {
            let timeout = self.timeout();
            match self.poll.poll(&mut events, timeout) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                result => result?,
            }
            for event in &events {
                match event.token() {
                    WAKER => {}
                    Token(t) if t < FIRST_CONNECTION => self.accept(t - FIRST_LISTENER),
                    Token(t) => self.on_event(t - FIRST_CONNECTION, event.is_readable(), event.is_writable()),
                }
            }
            for _ in 0..self.ready.len() {
                if let Some(reference) = self.ready.pop_front() {
                    self.proceed(reference);
                }
            }
            self.take_mail();
            self.end_what_is_due();
            if self.is_drained() {
                return Ok(());
            }
        }
    }

    fn timeout(&self) -> Option<Duration> {
        if !self.ready.is_empty() || self.mailbox.has_mail() {
            return Some(Duration::ZERO);
        }
        let mut until = self.next_idle_check;
        let acceptor = self.acceptor.as_ref().and_then(Acceptor::retry_at);
        for at in [self.operations.next_deadline(), self.drain_until, acceptor]
            .into_iter()
            .flatten()
        {
            until = until.min(at);
        }
        Some(until.saturating_duration_since(Instant::now()))
    }

    // ---- connections

    fn accept(&mut self, listener: usize) {
        if let Some(acceptor) = &mut self.acceptor {
            acceptor.accept(listener, &self.shared);
        }
    }

    fn adopt(&mut self, socket: std::net::TcpStream, listener: usize) {
        let ip = socket
            .peer_addr()
            .map_or(IpAddr::from([0, 0, 0, 0]), |a: SocketAddr| a.ip().to_canonical());
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
            self.shared.release(ip);
            return;
        }
        let client = Arc::new(ClientInfo {
            connection_id: id,
            listener: self.shared.listener_name(listener),
            host: format!("/{ip}"),
            software_name: String::new(),
            software_version: String::new(),
        });
        entry.insert(Connection::new(reference, socket, ip, client, Instant::now()));
        self.ready.push_back(reference);
    }

    fn close(&mut self, key: usize) {
        let Some(mut connection) = self.connections.try_remove(key) else {
            return;
        };
        // The socket is closed by its drop whatever the poll says of it.
        let _ = self.poll.registry().deregister(&mut connection.socket);
        for number in connection.waiting() {
            let waiter = self.waiter(number);
            match self.operations.take(number).map(|o| o.parked) {
                Some(Parked::Fetch(parked)) => parked.forget(&waiter),
                Some(Parked::Produce(parked)) => parked.forget(&waiter),
                _ => {}
            }
        }
        self.shared.release(connection.ip);
    }

    fn find(&self, reference: ConnectionRef) -> bool {
        self.connections
            .get(reference.key)
            .is_some_and(|c| c.reference == reference)
    }

    fn on_event(&mut self, key: usize, readable: bool, writable: bool) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        connection.is_readable |= readable;
        let reference = connection.reference;
        if writable && !connection.outbox.is_empty() && !self.send(reference.key) {
            return;
        }
        self.proceed(reference);
    }

    /// Serves what a connection has sent, then sends what it is owed.
    fn proceed(&mut self, reference: ConnectionRef) {
        if !self.find(reference) {
            return;
        }
        let now = Instant::now();
        match self.serve(reference.key, now) {
            Ok(true) => self.ready.push_back(reference),
            Ok(false) => {}
            Err(reason) => {
                self.log_refusal(reference.key, &reason);
                self.send(reference.key);
                self.close(reference.key);
                return;
            }
        }
        self.send(reference.key);
    }

    fn log_refusal(&self, key: usize, reason: &Closed) {
        if let (Closed::Refused(refused), Some(connection)) = (reason, self.connections.get(key)) {
            let client = &connection.client;
            let line = format!(
                "closing the connection from {} on {}: {refused}",
                client.host, client.listener
            );
            self.shared.broker.log(&line);
        }
    }

    /// Sends what the socket takes; false when the connection is gone.
    fn send(&mut self, key: usize) -> bool {
        let Some(connection) = self.connections.get_mut(key) else {
            return false;
        };
        if connection.is_warming {
            return true;
        }
        match connection.outbox.flush(&connection.socket) {
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
                self.shared.broker.workers.submit(move || {
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

    // ---- requests

    /// Receives and serves; true when the connection has more to serve but had its turn.
    fn serve(&mut self, key: usize, now: Instant) -> Result<bool, Closed> {
        let mut served = 0;
        loop {
            let Some(connection) = self.connections.get_mut(key) else {
                return Ok(false);
            };
            if !may_serve(connection) {
                return Ok(false);
            }
            if served >= TURN_BYTES {
                return Ok(true);
            }
            let max = self.shared.max_frame_bytes;
            let needed = if connection.input.is_empty() {
                SIZE_BYTES
            } else {
                let mut kept = connection.input.take();
                let (used, needed) = self.serve_frames(key, &mut kept, now)?;
                let Some(connection) = self.connections.get_mut(key) else {
                    return Ok(false);
                };
                let was_all = used >= kept.len();
                connection.input.keep(kept, used);
                served += used;
                match needed {
                    Need::Stop => return Ok(false),
                    Need::More(_) if was_all => SIZE_BYTES,
                    Need::More(n) => n,
                }
            };
            let Some(connection) = self.connections.get_mut(key) else {
                return Ok(false);
            };
            if !connection.is_readable {
                return Ok(false);
            }
            connection.last_active = now;
            debug_assert!(needed <= max + SIZE_BYTES);
            if connection.input.is_empty() {
                match self.receive_shared(key, now)? {
                    Some(n) => served += n,
                    None => return Ok(false),
                }
            } else {
                match connection.input.receive(&connection.socket, needed) {
                    Ok(0) => return Err(Closed::ByPeer),
                    Ok(n) => served += n,
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => connection.is_readable = false,
                    Err(_) => return Err(Closed::ByPeer),
                }
            }
        }
    }

    /// Receives into the shared buffer and serves from there. `None`: nothing more to do for now.
    fn receive_shared(&mut self, key: usize, now: Instant) -> Result<Option<usize>, Closed> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = self.receive_into(key, &mut buffer, now);
        self.buffer = buffer;
        result
    }

    fn receive_into(&mut self, key: usize, buffer: &mut [u8], now: Instant) -> Result<Option<usize>, Closed> {
        let Some(connection) = self.connections.get_mut(key) else {
            return Ok(None);
        };
        let received = match input::receive(&connection.socket, buffer) {
            Ok(0) => return Err(Closed::ByPeer),
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                connection.is_readable = false;
                return Ok(None);
            }
            Err(_) => return Err(Closed::ByPeer),
        };
        if received < buffer.len() {
            connection.is_readable = false; // drained; the next edge says when there is more
        }
        let (used, need) = self.serve_frames(key, &mut buffer[..received], now)?;
        let Some(connection) = self.connections.get_mut(key) else {
            return Ok(None);
        };
        if used < received {
            let needed = if let Need::More(n) = need { n } else { 0 };
            connection.input.keep_copy(&buffer[used..received], needed);
        }
        Ok(matches!(need, Need::More(_)).then_some(received))
    }

    /// Serves the whole frames at the front of `bytes`. Returns how many bytes were used, and what is needed next.
    fn serve_frames(&mut self, key: usize, bytes: &mut [u8], now: Instant) -> Result<(usize, Need), Closed> {
        let mailbox = &self.mailbox;
        let waiter = |operation| Waiter {
            owner: Arc::clone(mailbox) as Arc<dyn Wake>,
            operation,
        };
        let now_ms = wall_clock_ms();
        let mut used = 0;
        loop {
            let Some(connection) = self.connections.get_mut(key) else {
                return Ok((used, Need::Stop));
            };
            let rest = &mut bytes[used..];
            let len = match input::front(rest, self.shared.max_frame_bytes) {
                Front::Frame(len) => len,
                Front::Partial(needed) => return Ok((used, Need::More(needed))),
                Front::Bad(size) => return Err(Closed::Refused(Refusal::Size(size))),
            };
            if !may_serve(connection) || (connection.has_gap() && !is_produce(&rest[SIZE_BYTES..])) {
                return Ok((used, Need::Stop));
            }
            let mut context = Context {
                broker: &self.shared.broker,
                operations: &mut self.operations,
                scratch: &mut self.scratch,
                waiter: &waiter,
                now_ms,
                now,
            };
            dispatch::serve(&mut rest[SIZE_BYTES..SIZE_BYTES + len], connection, &mut context)
                .map_err(|refused| Closed::Refused(Refusal::Request(refused)))?;
            used += SIZE_BYTES + len;
        }
    }

    // ---- mail and deadlines

    fn take_mail(&mut self) {
        let mut mail = std::mem::take(&mut self.mail);
        self.mailbox.take(&mut mail);
        for message in mail.drain(..) {
            self.on_message(message);
        }
        self.mail = mail;
    }

    fn on_message(&mut self, message: Message) {
        match message {
            Message::Accepted { socket, listener } => self.adopt(socket, listener),
            Message::Wake(number) => self.try_operation(number, false),
            Message::Answer(number, body) => self.on_answer(number, body),
            Message::ServeHere(number) => self.serve_here(number),
            Message::Warmed(reference) => {
                if self.find(reference) {
                    if let Some(connection) = self.connections.get_mut(reference.key) {
                        connection.is_warming = false;
                        connection.outbox.warmed();
                    }
                    if self.send(reference.key) {
                        self.proceed(reference);
                    }
                }
            }
            Message::ParkAppend(append) => {
                let number = append.operation;
                append
                    .partition
                    .waiters()
                    .watch(crate::broker::WaitKind::Produce, self.waiter(number));
                self.operations.park_append(append);
                self.try_operation(number, false);
            }
            Message::Disconnect(id) => {
                if let Some(key) = self
                    .connections
                    .iter()
                    .find(|(_, c)| c.reference.id == id)
                    .map(|(k, _)| k)
                {
                    self.close(key);
                }
            }
            Message::Drain(until) => self.drain(until),
        }
    }

    fn waiter(&self, operation: u64) -> Waiter {
        Waiter {
            owner: Arc::clone(&self.mailbox) as Arc<dyn Wake>,
            operation,
        }
    }

    /// Completes an operation if it can be; `is_due` completes it whatever there is.
    fn try_operation(&mut self, number: u64, is_due: bool) {
        if self.operations.append(number).is_some() {
            return self.try_append(number, is_due);
        }
        let waiter = self.waiter(number);
        let now = Instant::now();
        let Some(operation) = self.operations.request(number) else {
            return;
        };
        let (reference, framing) = (operation.connection, operation.framing);
        let Some(connection) = self.connections.get(reference.key) else {
            return;
        };
        let listener = Arc::clone(&connection.client.listener);
        let broker = &self.shared.broker;
        let mut answer = Outbox::default();
        let is_answered = match &mut operation.parked {
            Parked::Fetch(parked) => {
                parked.forget(&waiter);
                dispatch::complete_fetch(parked, framing, &listener, is_due, broker, now, &mut answer) || {
                    parked.watch(&waiter);
                    dispatch::complete_fetch(parked, framing, &listener, is_due, broker, now, &mut answer)
                }
            }
            Parked::Produce(parked) => {
                parked.watch(&waiter);
                let is_done = parked.poll() || is_due;
                if is_done {
                    parked.forget(&waiter);
                    parked.expire();
                    let out = answer.tail();
                    let start = dispatch::begin(out, framing);
                    parked.encode(broker, &listener, out);
                    dispatch::finish(out, start, 0);
                }
                is_done
            }
            Parked::Lookup(lookup) => lookup.encode_if_done(&mut |body| {
                let out = answer.tail();
                let start = dispatch::begin(out, framing);
                out.extend_from_slice(body);
                dispatch::finish(out, start, 0);
            }),
            Parked::Control { .. } => false,
        };
        if is_answered {
            if let Some(Parked::Fetch(parked)) = self.operations.take(number).map(|o| o.parked) {
                parked.forget(&waiter);
            }
            self.fill(reference, number, answer);
        }
    }

    fn try_append(&mut self, number: u64, is_due: bool) {
        let waiter = self.waiter(number);
        let Some(append) = self.operations.append(number) else {
            return;
        };
        append
            .partition
            .waiters()
            .watch(crate::broker::WaitKind::Produce, waiter.clone());
        let outcome = append.outcome(is_due);
        if outcome.is_some() {
            append
                .partition
                .waiters()
                .forget(crate::broker::WaitKind::Produce, number, &waiter.owner);
            self.operations.take_append(number);
        }
        if let Some(done) = outcome {
            self.shared.broker.events.push(Event::AppendDone(done));
        }
    }

    fn on_answer(&mut self, number: u64, body: Option<Vec<u8>>) {
        let Some(operation) = self.operations.take(number) else {
            return;
        };
        let Some(body) = body else {
            if self.find(operation.connection) {
                self.close(operation.connection.key);
            }
            return;
        };
        let mut answer = Outbox::default();
        let out = answer.tail();
        let start = dispatch::begin(out, operation.framing);
        out.extend_from_slice(&body);
        dispatch::finish(out, start, 0);
        self.fill(operation.connection, number, answer);
    }

    /// Answers a Metadata request from the image, after the control plane created what was missing.
    fn serve_here(&mut self, number: u64) {
        let Some(operation) = self.operations.take(number) else {
            return;
        };
        let Parked::Control {
            api_key: ApiTable::METADATA,
            api_version,
            body: Some(body),
        } = operation.parked
        else {
            return;
        };
        let Some(connection) = self.connections.get(operation.connection.key) else {
            return;
        };
        let mut answer = Outbox::default();
        let out = answer.tail();
        let start = dispatch::begin(out, operation.framing);
        let listener = Arc::clone(&connection.client.listener);
        match crate::broker::metadata(&self.shared.broker, api_version, &listener, &body, false, out) {
            Ok(_) => dispatch::finish(out, start, 0),
            Err(_) => return self.close(operation.connection.key),
        }
        self.fill(operation.connection, number, answer);
    }

    fn fill(&mut self, reference: ConnectionRef, number: u64, answer: Outbox) {
        if !self.find(reference) {
            return;
        }
        if let Some(connection) = self.connections.get_mut(reference.key) {
            connection.last_active = Instant::now();
            connection.fill(number, answer);
        }
        if self.send(reference.key) {
            self.proceed(reference);
        }
    }

    fn end_what_is_due(&mut self) {
        let now = Instant::now();
        while let Some(number) = self.operations.pop_due(now) {
            self.try_operation(number, true);
        }
        if let Some(acceptor) = &mut self.acceptor {
            acceptor.retry(now, &self.shared);
        }
        if now >= self.next_idle_check {
            self.next_idle_check = now + IDLE_CHECK;
            self.close_idle(now);
        }
    }

    fn close_idle(&mut self, now: Instant) {
        let max_idle = self.shared.max_idle;
        if max_idle.is_zero() {
            return;
        }
        let is_idle = |c: &Connection| c.is_quiet() && now.saturating_duration_since(c.last_active) >= max_idle;
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

    fn drain(&mut self, until: Instant) {
        self.drain_until = Some(until);
        self.acceptor = None;
        for number in self.operations.numbers() {
            if matches!(
                self.operations.request(number).map(|o| &o.parked),
                Some(Parked::Fetch(_))
            ) {
                self.try_operation(number, true);
            }
        }
        let keys: Vec<usize> = self.connections.iter().map(|(k, _)| k).collect();
        for key in keys {
            if let Some(connection) = self.connections.get_mut(key) {
                connection.is_closing = true;
            }
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

/// What must happen before the next frame can be served.
enum Need {
    /// So many bytes in all must have arrived.
    More(usize),
    /// An answer must be given first.
    Stop,
}

/// Why a connection ends.
enum Closed {
    ByPeer,
    Refused(Refusal),
}

/// What was refused.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("invalid request size {0}")]
    Size(i32),
    #[error("{0}")]
    Request(Refused),
}

fn may_serve(connection: &Connection) -> bool {
    !connection.is_muted()
        && !connection.is_closing
        && connection.queued() < MAX_QUEUED
        && !connection.outbox.has_files()
        && connection.outbox.buffered_bytes() < MAX_UNSENT_BYTES
}

fn is_produce(frame: &[u8]) -> bool {
    frame
        .first_chunk::<2>()
        .is_some_and(|key| i16::from_be_bytes(*key) == ApiTable::PRODUCE)
}

fn wall_clock_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}
