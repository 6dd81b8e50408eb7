//! The connections of a loop, and those among them that wait for another turn.
//!
//! Each connection is watched by the loop's poll under its place in the table; a [`ConnectionRef`] of a connection that
//! is gone finds nothing, even when another one has its place. Nothing here serves or sends.

use std::collections::VecDeque;
use std::io;

use mio::{Interest, Registry, Token};
use slab::Slab;

use super::connection::{Connection, ConnectionRef};

/// The first connection's token; the waker's and the listeners' are below.
pub const FIRST_CONNECTION: usize = 1024;

/// See the module.
pub struct Connections {
    table: Slab<Connection>,
    registry: Registry,
    /// Those that had their turn and have more to serve, in order. Each is in it once: its `is_queued` is set.
    queued: VecDeque<ConnectionRef>,
}

impl Connections {
    /// No connection yet; `registry` watches the sockets.
    pub fn new(registry: Registry) -> Self {
        Self {
            table: Slab::new(),
            registry,
            queued: VecDeque::new(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// The connection, unless it is gone.
    pub fn get(&self, reference: ConnectionRef) -> Option<&Connection> {
        self.table.get(reference.key).filter(|c| c.reference == reference)
    }

    /// As [`Self::get`].
    pub fn get_mut(&mut self, reference: ConnectionRef) -> Option<&mut Connection> {
        self.table.get_mut(reference.key).filter(|c| c.reference == reference)
    }

    /// The connection whose socket has this token.
    pub fn of_token(&mut self, token: Token) -> Option<&mut Connection> {
        self.table.get_mut(token.0.checked_sub(FIRST_CONNECTION)?)
    }

    /// All of them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.table.iter_mut().map(|(_, connection)| connection)
    }

    /// Those that are chosen.
    pub fn select(&self, is_chosen: impl Fn(&Connection) -> bool) -> Vec<ConnectionRef> {
        let chosen = self.table.iter().filter(|(_, connection)| is_chosen(connection));
        chosen.map(|(_, connection)| connection.reference).collect()
    }

    /// Takes a connection in, and queues it for its first turn. An error of the poll, which does not watch the socket,
    /// drops it.
    pub fn add(&mut self, mut connection: Connection) -> io::Result<()> {
        let entry = self.table.vacant_entry();
        connection.reference.key = entry.key();
        let reference = connection.reference;
        let interest = Interest::READABLE | Interest::WRITABLE;
        let token = Token(FIRST_CONNECTION + reference.key);
        self.registry.register(connection.transport.socket(), token, interest)?;
        entry.insert(connection);
        self.queue(reference);
        Ok(())
    }

    /// Takes a connection out; and whether the poll does not watch its socket any more.
    pub fn remove(&mut self, reference: ConnectionRef) -> Option<(Connection, io::Result<()>)> {
        self.get(reference)?;
        let mut connection = self.table.remove(reference.key);
        let deregistered = self.registry.deregister(connection.transport.socket());
        Some((connection, deregistered))
    }

    /// Queues a connection for another turn.
    pub fn queue(&mut self, reference: ConnectionRef) {
        if let Some(connection) = self.get_mut(reference)
            && !std::mem::replace(&mut connection.is_queued, true)
        {
            self.queued.push_back(reference);
        }
    }

    /// How many wait for another turn.
    pub fn queued(&self) -> usize {
        self.queued.len()
    }

    /// The next connection whose turn it is; it may be gone.
    pub fn next_queued(&mut self) -> Option<ConnectionRef> {
        let reference = self.queued.pop_front()?;
        if let Some(connection) = self.get_mut(reference) {
            connection.is_queued = false;
        }
        Some(reference)
    }
}
