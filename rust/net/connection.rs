//! One client connection: its transport, the bytes received, the bytes to be sent, and the order of answers.
//!
//! Answers leave in the order of their requests. A parked produce leaves a gap that later answers queue behind, so that
//! pipelined produces wait for their replicas together; a parked fetch or a request at the control plane mutes the
//! connection instead, as Kafka does for every request. A connection serves no requests itself.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use mio::net::TcpStream;

use super::framing::Framing;
use super::input::Input;
use super::operations::Requester;
use super::outbox::Outbox;
use super::proof::ProofStage;
use super::sasl::Authentication;
use super::transport::Transport;
use broker::{Broker, Charge, ClientInfo, HeldBack, Size, UNRESOLVED};

/// A connection of a loop. The id tells it from a later connection in the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionRef {
    /// Place in the loop's table.
    pub key: usize,
    /// Unique in this process.
    pub id: u64,
}

/// An answer's place in the order.
enum AnswerSlot {
    /// Answered, but behind a request that is not answered yet.
    Ready(Outbox),
    /// A parked operation.
    Waiting(u64),
}

/// Whether a connection moves much data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Small requests and answers so far.
    Light,
    /// A request or an answer was large; the connection may be handed to another loop.
    Heavy,
    /// It was heavy and has been given its final loop; it stays there.
    Settled,
}

impl Weight {
    /// After a large request.
    pub fn after_large(self) -> Self {
        if self == Self::Light { Self::Heavy } else { self }
    }
}

/// See the module.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, in any combination"
)]
pub struct Connection {
    /// The connection's place in its loop's table (set by the table), and its id.
    pub reference: ConnectionRef,
    /// Sends and receives the connection's bytes.
    pub transport: Transport<TcpStream>,
    /// The client's address, for the limits.
    pub ip: IpAddr,
    /// The number of the listener's socket, for the limits.
    pub listener: usize,
    /// The client's data that requests to the control plane carry.
    pub client: Arc<ClientInfo>,
    /// Bytes received and not yet served.
    pub input: Input,
    /// Answers that are being sent.
    pub outbox: Outbox,
    slots: VecDeque<AnswerSlot>,
    muted_by: Option<u64>,
    /// The socket may have more to read.
    pub is_readable: bool,
    /// The client sends no more; bytes that it sent before may not have been read yet.
    pub is_ended: bool,
    /// The socket failed, or is closed both ways: no answer can be sent.
    pub is_broken: bool,
    /// It had its turn and waits for the next one; other connections that have something to do come first.
    pub is_queued: bool,
    /// Pages are being read ahead for the front of the outbox.
    pub is_warming: bool,
    /// No more requests are taken; the connection closes once all answers are sent.
    pub is_closing: bool,
    /// How far the client is with proving who it is; `None` on a listener without SASL.
    pub authentication: Option<Box<Authentication>>,
    /// How far the client is with its proof to be a broker.
    pub proof: ProofStage,
    /// More requests have arrived, but its unsent answers must be sent first.
    pub is_held_up: bool,
    /// The lane in which the connection waits to receive the next frame, or the rest of it, until the broker has room;
    /// `None` when it does not wait.
    pub starved_in: Option<usize>,
    /// It may go on receiving its frame though the broker has no room, so that at least one connection always makes
    /// progress.
    pub is_first_starved: bool,
    /// Its next request waits for room for the answer.
    pub is_waiting: bool,
    /// This connection's share of the broker's budget of unsent bytes.
    pub unsent: Option<Charge>,
    /// This connection's share of the broker's budget of request bytes: the part of the next frame that is kept.
    pub received: Option<Charge>,
    /// How large that frame will be, when it is for the control plane; else `None`.
    pub for_control: Option<Size>,
    /// When the socket last took bytes while answers waited.
    pub last_sent: Instant,
    /// When the frame that is kept began to arrive.
    pub frame_since: Instant,
    /// How the connection's weight decides which loop serves it.
    pub weight: Weight,
    /// When bytes last arrived or a request was answered.
    pub last_active: Instant,
    /// Until when no request is served, since the client is over a quota.
    pub held_back: Arc<HeldBack>,
    /// Whether the loop has a timer for the end of that time.
    pub has_timer: bool,
    /// The generation of the quotas that the client's account is of.
    pub quota_generation: u64,
}

impl Connection {
    /// A fresh connection.
    pub fn new(
        reference: ConnectionRef,
        transport: Transport<TcpStream>,
        ip: IpAddr,
        listener: usize,
        client: Arc<ClientInfo>,
        held_back: Arc<HeldBack>,
        now: Instant,
    ) -> Self {
        Self {
            reference,
            transport,
            ip,
            listener,
            client,
            input: Input::default(),
            outbox: Outbox::default(),
            slots: VecDeque::new(),
            muted_by: None,
            is_readable: true,
            is_ended: false,
            is_broken: false,
            is_queued: false,
            is_warming: false,
            is_closing: false,
            authentication: None,
            proof: ProofStage::default(),
            is_held_up: false,
            starved_in: None,
            is_first_starved: false,
            is_waiting: false,
            unsent: None,
            received: None,
            for_control: None,
            last_sent: now,
            frame_since: now,
            weight: Weight::Light,
            last_active: now,
            held_back,
            has_timer: false,
            quota_generation: 0,
        }
    }

    /// Notes the name that the client gives itself in a request; clients seldom change it.
    #[inline]
    pub fn note_client_id(&mut self, client_id: Option<&str>) {
        if self.client.client_id.as_deref() != client_id {
            let known = ClientInfo::clone(&self.client);
            self.client = Arc::new(ClientInfo {
                client_id: client_id.map(ToOwned::to_owned),
                ..known
            });
            self.quota_generation = UNRESOLVED;
        }
    }

    /// Who waits for the answer to a request of this connection.
    pub fn requester(&self, framing: Framing) -> Requester {
        Requester {
            connection: self.reference,
            framing,
            client: Arc::clone(&self.client),
        }
    }

    /// The outbox for the next answer: the connection's own, or one behind the answers that wait.
    pub fn answer_box(&mut self) -> &mut Outbox {
        if self.slots.is_empty() {
            return &mut self.outbox;
        }
        if !matches!(self.slots.back(), Some(AnswerSlot::Ready(_))) {
            self.slots.push_back(AnswerSlot::Ready(Outbox::default()));
        }
        match self.slots.back_mut() {
            Some(AnswerSlot::Ready(outbox)) => outbox,
            _ => &mut self.outbox,
        }
    }

    /// Leaves a gap for a parked operation; `mutes` stops the serving of later requests until it is answered.
    pub fn wait_for(&mut self, operation: u64, mutes: bool) {
        self.slots.push_back(AnswerSlot::Waiting(operation));
        if mutes {
            self.muted_by = Some(operation);
        }
    }

    /// Fills an operation's gap, and moves the answers that are next in order to the outbox.
    pub fn fill(&mut self, operation: u64, answer: Outbox) {
        self.unmute(operation);
        if let Some(slot) = self
            .slots
            .iter_mut()
            .find(|s| matches!(s, AnswerSlot::Waiting(o) if *o == operation))
        {
            *slot = AnswerSlot::Ready(answer);
        }
        while let Some(AnswerSlot::Ready(_)) = self.slots.front() {
            if let Some(AnswerSlot::Ready(mut ready)) = self.slots.pop_front() {
                self.outbox.append(&mut ready);
            }
        }
    }

    /// Later requests are served again, though the operation is not answered yet.
    pub fn unmute(&mut self, operation: u64) {
        if self.muted_by == Some(operation) {
            self.muted_by = None;
        }
    }

    /// Whether a parked fetch or control request holds up later requests.
    pub fn is_muted(&self) -> bool {
        self.muted_by.is_some()
    }

    /// Whether the client is over a quota, so that its requests wait.
    #[inline]
    pub fn is_held_back(&self) -> bool {
        self.held_back.is_set()
    }

    /// Whether answers are queued behind a parked operation (then only produces may be served).
    pub fn has_gap(&self) -> bool {
        !self.slots.is_empty()
    }

    /// How many answers wait in order.
    pub fn queued(&self) -> usize {
        self.slots.len()
    }

    /// The parked operations, when the connection goes.
    pub fn waiting(&self) -> Vec<u64> {
        self.slots
            .iter()
            .filter_map(|s| if let AnswerSlot::Waiting(o) = s { Some(*o) } else { None })
            .collect()
    }

    /// Updates the broker's budgets with the bytes that this connection holds: 0 for most connections at most times.
    #[inline]
    pub fn account(&mut self) {
        if let Some(charge) = &mut self.unsent {
            charge.set(self.outbox.held_bytes() + self.transport.held_bytes());
        }
        if let Some(charge) = &mut self.received {
            charge.set(self.input.held_bytes());
        }
    }

    /// Notes that the kept bytes begin another frame, and counts them in the budget of the control plane (`size` given)
    /// or of the data plane.
    pub fn begin_frame(&mut self, size: Option<Size>, broker: &Broker) {
        if self.for_control.is_some() != size.is_some() {
            let budget = size.map_or(broker.queued(), |_| &broker.control().arriving);
            self.received = Some(budget.account());
        }
        self.for_control = size;
        self.account();
    }

    /// Whether the connection can be closed at once: nothing can be sent, and while it is muted, held back or closing
    /// no read would find the end of the stream.
    pub fn is_unreachable(&self) -> bool {
        self.is_broken && (self.is_muted() || self.is_held_back() || self.is_closing)
    }

    /// Whether nothing is in flight in either direction.
    pub fn is_quiet(&self) -> bool {
        self.slots.is_empty() && self.outbox.is_empty()
    }
}

#[cfg(test)]
#[path = "connection_tests.rs"]
pub mod tests;
