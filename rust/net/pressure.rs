//! What a loop does when the broker's budgets for bytes of clients are used up.
//!
//! Unsent answers (`kafkastore.unsent.max.bytes`): connections with anything unsent are not served (`serve`). A client that has taken
//! nothing for [`PATIENCE`] is closed, the one with the most bytes first, until there is room again; sooner when twice the
//! budget is held.
//!
//! Requests that arrive in parts (`queued.max.request.bytes`): connections wait with the rest of their frames in the kernel's
//! buffers, in the order in which they came; the first of each loop goes on, so that somebody always can. A frame that trickles is
//! closed. Frames that come at once need no budget, so small requests are served as ever.

use std::time::{Duration, Instant};

use super::connection::Connection;
use super::reactor::Reactor;

/// How long a client may take nothing of its answers while the budget is used up.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same while twice the budget is held.
const SHORT_PATIENCE: Duration = Duration::from_secs(1);
/// How long a frame may arrive before its rate counts.
const FRAME_PATIENCE: Duration = Duration::from_secs(10);
/// Bytes a second that a frame must arrive at from then on.
const LEAST_RATE: usize = 4096;
/// How often the budgets are looked at while one is used up.
const CHECK: Duration = Duration::from_millis(250);

impl Reactor {
    /// When the budgets are to be looked at next.
    pub(super) fn next_pressure_check(&self) -> Option<Instant> {
        self.is_pressed().then_some(self.next_pressure_check)
    }

    fn is_pressed(&self) -> bool {
        let broker = &self.shared.broker;
        !self.starved.is_empty() || broker.unsent.is_used_up() || broker.queued.is_used_up()
    }

    /// See the module.
    pub(super) fn relieve(&mut self, now: Instant) {
        self.feed_starved();
        if now < self.next_pressure_check || !self.is_pressed() {
            return;
        }
        self.next_pressure_check = now + CHECK;
        let broker = &self.shared.broker;
        let (unsent, queued) = (broker.unsent.used(), broker.queued.is_used_up());
        if broker.unsent.is_used_up() {
            let limit = broker.unsent.limit();
            let patience = if unsent / 2 >= limit { SHORT_PATIENCE } else { PATIENCE };
            self.close_unread(now, patience, unsent.saturating_sub(limit));
        }
        if queued {
            self.close_trickling(now);
        }
    }

    /// Lets starved connections go on: all when there is room, else the first.
    fn feed_starved(&mut self) {
        if self.starved.is_empty() {
            return;
        }
        let is_used_up = self.shared.broker.queued.is_used_up();
        let has_first = self.first_starved.is_some_and(|first| {
            self.connections
                .get(first.key)
                .is_some_and(|c| c.reference == first && c.is_first_starved)
        });
        if is_used_up && has_first {
            return;
        }
        while let Some(reference) = self.starved.pop_front() {
            if !self.find(reference) {
                continue;
            }
            let connection = &mut self.connections[reference.key];
            connection.is_starved = false;
            connection.is_first_starved = is_used_up;
            if is_used_up {
                self.first_starved = Some(reference);
            }
            self.queue(reference);
            if is_used_up {
                return;
            }
        }
    }

    /// Closes clients that do not read, until `excess` bytes are free.
    fn close_unread(&mut self, now: Instant, patience: Duration, excess: usize) {
        let held = |c: &Connection| c.unsent.as_ref().map_or(0, crate::broker::Charge::amount);
        let is_stalled =
            |c: &Connection| held(c) > 0 && !c.is_warming && now.saturating_duration_since(c.last_sent) >= patience;
        let mut stalled: Vec<(usize, usize)> = self
            .connections
            .iter()
            .filter(|(_, c)| is_stalled(c))
            .map(|(key, c)| (held(c), key))
            .collect();
        stalled.sort_unstable_by(|a, b| b.cmp(a));
        let mut freed = 0;
        for (bytes, key) in stalled {
            if freed > excess {
                return;
            }
            freed += bytes;
            self.log_closing(
                key,
                "it does not read its answers, and too many wait (kafkastore.unsent.max.bytes)",
            );
            self.close(key);
        }
    }

    /// Closes clients whose frames do not arrive.
    fn close_trickling(&mut self, now: Instant) {
        let is_trickling = |c: &Connection| {
            let age = now.saturating_duration_since(c.frame_since);
            let due = usize::try_from(age.as_secs())
                .unwrap_or(usize::MAX)
                .saturating_mul(LEAST_RATE);
            !c.input.is_empty() && !c.is_starved && !c.is_muted() && age >= FRAME_PATIENCE && c.input.held_bytes() < due
        };
        let trickling: Vec<usize> = self
            .connections
            .iter()
            .filter(|(_, c)| is_trickling(c))
            .map(|(key, _)| key)
            .collect();
        for key in trickling {
            self.log_closing(
                key,
                "its request does not arrive, and too many others wait (queued.max.request.bytes)",
            );
            self.close(key);
        }
    }

    fn log_closing(&self, key: usize, why: &str) {
        if let Some(connection) = self.connections.get(key) {
            let client = &connection.client;
            let line = format!(
                "closing the connection from {} on {}: {why}",
                client.host, client.listener
            );
            self.shared.broker.log(&line);
        }
    }
}
