//! When the connections of a loop that are over a quota are served again.
//!
//! A connection that is held back costs a timer, nothing else: its requests stay in its socket. Each connection has one
//! timer at most; when the time has become longer meanwhile, the timer is set again. Timers of connections that are
//! closed are dropped when they are due, or when most timers are such.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use super::connection::ConnectionRef;
use super::connections::Connections;

/// Timers from which on those of closed connections are looked for.
const MIN_CHECKED: usize = 1024;

/// See the module.
#[derive(Default)]
pub struct HeldBackTimers {
    /// When a connection may be served: its place in the loop's table, and its id.
    timers: BinaryHeap<Reverse<(Instant, usize, u64)>>,
}

impl HeldBackTimers {
    /// When the next timer is due.
    pub fn next(&self) -> Option<Instant> {
        self.timers.peek().map(|Reverse((at, ..))| *at)
    }

    fn pop_due(&mut self, now: Instant) -> Option<ConnectionRef> {
        if self.next()? > now {
            return None;
        }
        let Reverse((_, key, id)) = self.timers.pop()?;
        Some(ConnectionRef { key, id })
    }

    /// Sets a timer for a connection that is held back and has none.
    pub fn set_if_held_back(&mut self, reference: ConnectionRef, connections: &mut Connections, now: Instant) {
        let Some(connection) = connections.get_mut(reference) else {
            return;
        };
        if connection.has_timer || !connection.is_held_back() {
            return;
        }
        let Some(until) = connection.held_back.end(now) else {
            return connections.queue(reference); // it was held back for less than a turn of the loop
        };
        connection.has_timer = true;
        connection.is_first_starved = false; // another connection makes progress in its place
        self.timers.push(Reverse((until, reference.key, reference.id)));
        if self.timers.len() > MIN_CHECKED && self.timers.len() / 2 > connections.len() {
            let is_open = |key, id| connections.get(ConnectionRef { key, id }).is_some();
            self.timers.retain(|Reverse((_, key, id))| is_open(*key, *id));
        }
    }

    /// Queues the connections whose time is over.
    pub fn release_due(&mut self, connections: &mut Connections, now: Instant) {
        while let Some(reference) = self.pop_due(now) {
            let Some(connection) = connections.get_mut(reference) else {
                continue;
            };
            connection.has_timer = false;
            if connection.held_back.end(now).is_none() {
                connections.queue(reference);
            } else {
                self.set_if_held_back(reference, connections, now);
            }
        }
    }
}

#[cfg(test)]
#[path = "held_back_tests.rs"]
mod tests;
