//! When the connections of a loop that are over a quota are served again.
//!
//! A connection that is held back costs a timer, nothing else: its requests stay in its socket. Each connection has one
//! timer at most; when the time has become longer meanwhile, the timer is set again. Timers of connections that are
//! closed are dropped when they are due, or when most timers are such.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use super::mailbox::ConnectionRef;
use super::reactor::Reactor;

/// Timers from which on those of closed connections are looked for.
const MIN_CHECKED: usize = 1024;

/// See the module.
#[derive(Default)]
pub(super) struct HeldBackTimers {
    /// When a connection may be served: its place in the loop's table, and its id.
    timers: BinaryHeap<Reverse<(Instant, usize, u64)>>,
}

impl HeldBackTimers {
    /// When the next timer is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.timers.peek().map(|Reverse((at, ..))| *at)
    }

    fn pop_due(&mut self, now: Instant) -> Option<ConnectionRef> {
        if self.next()? > now {
            return None;
        }
        let Reverse((_, key, id)) = self.timers.pop()?;
        Some(ConnectionRef { key, id })
    }
}

impl Reactor {
    /// Sets a timer for a connection that is held back and has none.
    pub(super) fn set_timer_if_held_back(&mut self, reference: ConnectionRef, now: Instant) {
        let Some(connection) = self.connections.get_mut(reference.key) else {
            return;
        };
        if connection.has_timer || !connection.is_held_back() {
            return;
        }
        let Some(until) = connection.held_back.end(now) else {
            return self.queue(reference); // it was held back for less than a turn of the loop
        };
        connection.has_timer = true;
        connection.is_first_starved = false; // another connection makes progress in its place
        let timers = &mut self.held_back.timers;
        timers.push(Reverse((until, reference.key, reference.id)));
        if timers.len() > MIN_CHECKED && timers.len() / 2 > self.connections.len() {
            let connections = &self.connections;
            timers.retain(|Reverse((_, key, id))| connections.get(*key).is_some_and(|c| c.reference.id == *id));
        }
    }

    /// Serves connections whose time is over.
    pub(super) fn serve_held_back(&mut self, now: Instant) {
        while let Some(reference) = self.held_back.pop_due(now) {
            if !self.find(reference) {
                continue;
            }
            let connection = &mut self.connections[reference.key];
            connection.has_timer = false;
            if connection.held_back.end(now).is_none() {
                self.queue(reference);
            } else {
                self.set_timer_if_held_back(reference, now);
            }
        }
    }
}

#[cfg(test)]
#[path = "held_back_tests.rs"]
mod tests;
