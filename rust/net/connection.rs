//! One client connection: its transport, what arrived, what waits to be sent, and the order of answers.
//!
//! Answers leave in the order of their requests. A parked produce leaves a gap that later answers queue behind, so that
//! pipelined produces wait for their replicas together; a parked fetch or a request at the control plane mutes the
//! connection instead, as Kafka does for every request. It serves nothing itself.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use mio::net::TcpStream;

use super::input::Input;
use super::mailbox::ConnectionRef;
use super::outbox::Outbox;
use super::proof::Stage;
use super::transport::Transport;
use crate::broker::{Broker, Charge, ClientInfo, Size};

/// An answer's place in the order.
enum Slot {
    /// Answered, but behind one that is not.
    Ready(Outbox),
    /// A parked operation.
    Waiting(u64),
}

/// Whether a connection moves much data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Small requests and answers so far.
    Light,
    /// It has moved much at once; it may be handed to another loop.
    Heavy,
    /// It was given its loop as a heavy one and stays there.
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
    /// Where it is.
    pub reference: ConnectionRef,
    /// How bytes come and go.
    pub transport: Transport<TcpStream>,
    /// The client's address, for the limits.
    pub ip: IpAddr,
    /// What requests to the control plane carry.
    pub client: Arc<ClientInfo>,
    /// Received, not yet served.
    pub input: Input,
    /// Being sent.
    pub outbox: Outbox,
    slots: VecDeque<Slot>,
    muted_by: Option<u64>,
    /// The socket may have more to read.
    pub is_readable: bool,
    /// The client sends no more; what it sent may not have been read yet.
    pub is_ended: bool,
    /// The socket failed, or is closed both ways: no answer can be sent.
    pub is_broken: bool,
    /// It had its turn and waits for the next one; others that have something to do come first.
    pub is_queued: bool,
    /// Pages are being read ahead for the front of the outbox.
    pub is_warming: bool,
    /// No more requests are taken; it closes once all is sent.
    pub is_closing: bool,
    /// How far it is with proving to be a broker.
    pub proof: Stage,
    /// More requests are there, but its unsent answers come first.
    pub is_held_up: bool,
    /// The next frame, or the rest of it, is received when the broker has room for it; the lane in which it waits.
    pub starved_in: Option<usize>,
    /// It may go on receiving its frame though the broker has no room, so that somebody always can.
    pub is_first_starved: bool,
    /// Its next request waits for room for the answer.
    pub is_waiting: bool,
    /// Of the broker's unsent bytes: what this connection holds.
    pub unsent: Option<Charge>,
    /// Of the broker's bytes of requests: what is kept of the next frame.
    pub received: Option<Charge>,
    /// When that frame is the control plane's: how large it will be.
    pub for_control: Option<Size>,
    /// When the socket last took something while answers waited.
    pub last_sent: Instant,
    /// When the frame that is kept began to arrive.
    pub frame_since: Instant,
    /// How the connection's weight decides which loop serves it.
    pub weight: Weight,
    /// When something last arrived or was answered.
    pub last_active: Instant,
}

impl Connection {
    /// A fresh connection.
    pub fn new(reference: ConnectionRef, socket: TcpStream, ip: IpAddr, client: Arc<ClientInfo>, now: Instant) -> Self {
        Self {
            reference,
            transport: Transport::plain(socket),
            ip,
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
            proof: Stage::default(),
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
        }
    }

    /// Where the next answer goes: straight out, or behind those that wait.
    pub fn answer_box(&mut self) -> &mut Outbox {
        if self.slots.is_empty() {
            return &mut self.outbox;
        }
        if !matches!(self.slots.back(), Some(Slot::Ready(_))) {
            self.slots.push_back(Slot::Ready(Outbox::default()));
        }
        match self.slots.back_mut() {
            Some(Slot::Ready(outbox)) => outbox,
            _ => &mut self.outbox,
        }
    }

    /// Leaves a gap for a parked operation; `mutes` stops the serving of later requests until it is answered.
    pub fn wait_for(&mut self, operation: u64, mutes: bool) {
        self.slots.push_back(Slot::Waiting(operation));
        if mutes {
            self.muted_by = Some(operation);
        }
    }

    /// Fills an operation's gap, and moves what is next in order to the outbox.
    pub fn fill(&mut self, operation: u64, answer: Outbox) {
        self.unmute(operation);
        if let Some(slot) = self
            .slots
            .iter_mut()
            .find(|s| matches!(s, Slot::Waiting(o) if *o == operation))
        {
            *slot = Slot::Ready(answer);
        }
        while let Some(Slot::Ready(_)) = self.slots.front() {
            if let Some(Slot::Ready(mut ready)) = self.slots.pop_front() {
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
            .filter_map(|s| if let Slot::Waiting(o) = s { Some(*o) } else { None })
            .collect()
    }

    /// Tells the broker's budgets what is held of them: nothing, for most connections at most times.
    #[inline]
    pub fn account(&mut self) {
        if let Some(charge) = &mut self.unsent {
            charge.set(self.outbox.held_bytes());
        }
        if let Some(charge) = &mut self.received {
            charge.set(self.input.held_bytes());
        }
    }

    /// What is kept begins another frame: whose budget it counts in.
    pub fn begin_frame(&mut self, size: Option<Size>, broker: &Broker) {
        if self.for_control.is_some() != size.is_some() {
            let budget = size.map_or(&broker.queued, |_| &broker.control.arriving);
            self.received = Some(budget.account());
        }
        self.for_control = size;
        self.account();
    }

    /// Whether it can end at once: nothing can be sent, and nothing that would show it is read while an answer is
    /// waited for.
    pub fn waits_in_vain(&self) -> bool {
        self.is_broken && (self.is_muted() || self.is_closing)
    }

    /// Whether nothing is in flight in either direction.
    pub fn is_quiet(&self) -> bool {
        self.slots.is_empty() && self.outbox.is_empty()
    }
}

#[cfg(test)]
mod tests;
