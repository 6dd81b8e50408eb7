//! What a loop does when the broker's budgets for bytes of clients are used up.
//!
//! Unsent answers (`kafkastore.unsent.max.bytes`): connections with anything unsent are not served, and large requests
//! of others wait for room, one after the other (`serve`). A client that has taken nothing for [`PATIENCE`] is closed,
//! the one with the most bytes first, until there is room again; sooner when others wait or twice the budget is held.
//!
//! Requests that arrive in parts (`queued.max.request.bytes`): connections wait with the rest of their frames in the
//! kernel's buffers, in the order in which they came; the first of each loop goes on, so that somebody always can. A
//! frame that trickles is closed. Frames that come at once need no budget, so small requests are served as ever.
//!
//! Requests of the control plane (`kafkastore.control.max.bytes`): beyond 4 KB they are not even received while there
//! is no room, those of up to 64 KB in a lane of their own. What has arrived whole counts until the control plane has
//! read it.

use std::time::{Duration, Instant};

use std::collections::VecDeque;

use super::connection::Connection;
use super::mailbox::ConnectionRef;
use super::reactor::Reactor;
use crate::broker::{Broker, Size};

/// How long a client may take nothing of its answers while the budget is used up.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same while requests wait for room, or twice the budget is held.
const SHORT_PATIENCE: Duration = Duration::from_secs(1);
/// How long a frame may arrive before its rate counts.
const FRAME_PATIENCE: Duration = Duration::from_secs(10);
/// Bytes a second that a frame must arrive at from then on.
const MIN_RATE: usize = 4096;
/// How often the budgets are looked at while one is used up.
const CHECK: Duration = Duration::from_millis(250);

/// How often starved connections are looked at: what they wait for comes back on other threads.
const FEED: Duration = Duration::from_millis(20);

/// Frames wait in lanes, so that those of one wait for their like alone: the data plane's, the control plane's by their
/// size.
pub(super) const LANES: usize = 3;
/// The lane of frames that are not the control plane's.
pub(super) const DATA_LANE: usize = 0;

/// The lane of a frame; the size is given for those of the control plane.
pub(super) const fn lane_of(for_control: Option<Size>) -> usize {
    match for_control {
        None | Some(Size::Small) => DATA_LANE,
        Some(Size::Medium) => 1,
        Some(Size::Large) => 2,
    }
}

/// Connections whose frames wait for the room of one lane, in order; and the one that goes on without.
pub(super) struct Starved {
    size: Option<Size>,
    pub(super) waiting: VecDeque<ConnectionRef>,
    first: Option<ConnectionRef>,
}

impl Starved {
    pub(super) fn lanes() -> [Self; LANES] {
        [None, Some(Size::Medium), Some(Size::Large)].map(|size| Self {
            size,
            waiting: VecDeque::new(),
            first: None,
        })
    }

    fn has_room(&self, broker: &Broker) -> bool {
        match self.size {
            None => !broker.queued.is_used_up(),
            Some(size) => broker.control.has_room(size),
        }
    }

    /// Whether one may go on though there is no room: it would never come back if all who have a part of it waited for
    /// it.
    fn has_room_for_first(&self, broker: &Broker) -> bool {
        self.size.is_none_or(|size| broker.control.would_have_room(size))
    }

    /// Whether a frame may be received.
    pub(super) fn lets_in(&self, broker: &Broker, is_first: bool) -> bool {
        self.has_room(broker) || (is_first && self.has_room_for_first(broker))
    }
}

impl Reactor {
    /// When the budgets are to be looked at next.
    pub(super) fn next_pressure_check(&self) -> Option<Instant> {
        if self.starved.iter().any(|lane| !lane.waiting.is_empty()) {
            return Some(self.next_pressure_check.min(Instant::now() + FEED));
        }
        self.is_pressed().then_some(self.next_pressure_check)
    }

    fn is_pressed(&self) -> bool {
        let broker = &self.shared.broker;
        self.starved.iter().any(|lane| !lane.waiting.is_empty())
            || !self.waiting.is_empty()
            || broker.unsent.is_used_up()
            || broker.queued.is_used_up()
            || broker.control.arriving.is_used_up()
    }

    /// See the module.
    pub(super) fn relieve(&mut self, now: Instant) {
        for lane in 0..LANES {
            self.feed_starved(lane);
        }
        self.serve_waiting();
        if now < self.next_pressure_check || !self.is_pressed() {
            return;
        }
        self.next_pressure_check = now + CHECK;
        let broker = &self.shared.broker;
        let unsent = broker.unsent.used();
        let is_trickled = broker.queued.is_used_up() || !broker.control.has_room(Size::Large);
        if broker.unsent.is_used_up() {
            let limit = broker.unsent.limit();
            let patience = if unsent / 2 >= limit || !self.waiting.is_empty() {
                SHORT_PATIENCE
            } else {
                PATIENCE
            };
            self.close_unread(now, patience, unsent.saturating_sub(limit));
        }
        if is_trickled {
            self.close_trickling(now);
        }
    }

    /// Lets starved connections of a lane go on: one after the other while there is room, else the first.
    fn feed_starved(&mut self, lane: usize) {
        while !self.starved[lane].waiting.is_empty() {
            let broker = &self.shared.broker;
            let has_room = self.starved[lane].has_room(broker);
            let is_first = |first: ConnectionRef| {
                let found = self.connections.get(first.key);
                found.is_some_and(|c| c.reference == first && c.is_first_starved && c.starved_in.is_none())
            };
            let has_first = self.starved[lane].first.is_some_and(is_first);
            if !has_room && (has_first || !self.starved[lane].has_room_for_first(broker)) {
                return;
            }
            let Some(reference) = self.starved[lane].waiting.pop_front() else {
                return;
            };
            if !self.find(reference) {
                continue;
            }
            let connection = &mut self.connections[reference.key];
            connection.starved_in = None;
            connection.frame_since = Instant::now();
            connection.is_first_starved = !has_room;
            if !has_room {
                self.starved[lane].first = Some(reference);
            }
            if lane == DATA_LANE {
                self.queue(reference);
            } else {
                self.proceed(reference); // what it receives counts before the next one is asked
            }
        }
    }

    /// Puts a connection whose next request needs room for its answer behind those that wait for room.
    pub(super) fn wait_for_room(&mut self, key: usize) {
        if let Some(connection) = self.connections.get_mut(key)
            && !std::mem::replace(&mut connection.is_waiting, true)
        {
            self.waiting.push_back(connection.reference);
        }
    }

    /// Lets the first of those that wait for room go on when there is some; the next one follows in the loop's next
    /// pass, if there is room still.
    fn serve_waiting(&mut self) {
        while !self.waiting.is_empty() && !self.shared.broker.unsent.is_used_up() {
            let Some(reference) = self.waiting.pop_front() else {
                return;
            };
            if self.find(reference) {
                self.connections[reference.key].is_waiting = false;
                self.queue(reference);
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
                .saturating_mul(MIN_RATE);
            !c.input.is_empty()
                && c.starved_in.is_none()
                && !c.is_waiting
                && !c.is_muted()
                && age >= FRAME_PATIENCE
                && c.input.held_bytes() < due
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
                "its request does not arrive, and too many others wait (queued.max.request.bytes, \
                 kafkastore.control.max.bytes)",
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
