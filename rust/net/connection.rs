//! One client connection: its socket, what arrived, what waits to be sent, and the order of answers.
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
use crate::broker::ClientInfo;

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

/// See the module.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, in any combination"
)]
pub struct Connection {
    /// Where it is.
    pub reference: ConnectionRef,
    /// The socket.
    pub socket: TcpStream,
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
    /// Pages are being read ahead for the front of the outbox.
    pub is_warming: bool,
    /// No more requests are taken; it closes once all is sent.
    pub is_closing: bool,
    /// How far it is with proving to be a broker.
    pub proof: Stage,
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
            socket,
            ip,
            client,
            input: Input::default(),
            outbox: Outbox::default(),
            slots: VecDeque::new(),
            muted_by: None,
            is_readable: true,
            is_ended: false,
            is_warming: false,
            is_closing: false,
            proof: Stage::default(),
            weight: Weight::Light,
            last_active: now,
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
        if self.muted_by == Some(operation) {
            self.muted_by = None;
        }
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

    /// Whether nothing is in flight in either direction.
    pub fn is_quiet(&self) -> bool {
        self.slots.is_empty() && self.outbox.is_empty()
    }
}

#[cfg(test)]
mod tests;
