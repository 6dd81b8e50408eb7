//! What a loop does when the broker's budgets for bytes of clients are used up.
//!
//! Unsent answers (`kafkastore.unsent.max.bytes`): connections with unsent bytes are not served, and large requests of
//! other connections wait for room, one after the other (`serve`). Connections whose clients have taken no bytes for
//! [`PATIENCE`] are closed, the connection with the most bytes first, until there is room again; after
//! [`SHORT_PATIENCE`] when requests wait or twice the budget is held.
//!
//! Requests that arrive in parts (`queued.max.request.bytes`): connections wait, in order, with the rest of their
//! frames in the kernel's buffers; the first connection of each loop goes on receiving, so that one frame always makes
//! progress. A connection whose frame trickles is closed. Frames that arrive whole need no budget, so small requests
//! are served as before.
//!
//! Requests of the control plane (`kafkastore.control.max.bytes`): requests beyond 4 KB are not even received while
//! there is no room; requests of up to 64 KB wait in a lane of their own. A request that has arrived whole counts until
//! the control plane has read it.

use std::time::{Duration, Instant};

use std::collections::VecDeque;

use super::connection::Connection;
use super::mailbox::ConnectionRef;
use super::reactor::Reactor;
use broker::{Broker, Size};

/// How long a client may leave its answers unread while the budget is used up.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same while requests wait for room, or twice the budget is held.
const SHORT_PATIENCE: Duration = Duration::from_secs(1);
/// How long a frame may arrive before its rate counts.
const FRAME_PATIENCE: Duration = Duration::from_secs(10);
/// Bytes a second that a frame must arrive at from then on.
const MIN_RATE: usize = 4096;
/// How often the budgets are checked while one of them is used up.
const CHECK: Duration = Duration::from_millis(250);

/// How often starved connections are tried again: other threads free the room that they wait for.
const FEED: Duration = Duration::from_millis(20);
/// How long those of a lane go on before the loop's other connections get their turn.
const FEED_TURN: Duration = Duration::from_millis(2);

/// Number of lanes. Frames wait in lanes, so that a frame waits only for frames of its kind: one lane for the data
/// plane, two for the control plane, by size.
pub(super) const LANES: usize = 3;
/// The lane of frames for the data plane, and of small frames for the control plane.
pub(super) const DATA_LANE: usize = 0;

/// The lane of a frame; `for_control` is the size of a frame for the control plane.
pub(super) const fn lane_of(for_control: Option<Size>) -> usize {
    match for_control {
        None | Some(Size::Small) => DATA_LANE,
        Some(Size::Medium) => 1,
        Some(Size::Large) => 2,
    }
}

/// Connections whose frames wait for room in one lane, in order; and the first connection, which goes on without room.
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
            None => !broker.queued().is_used_up(),
            Some(size) => broker.control().has_room(size),
        }
    }

    /// Whether one connection may go on receiving though there is no room. If all connections that hold part of a frame
    /// waited, the room that these parts take would never become free.
    fn has_room_for_first(&self, broker: &Broker) -> bool {
        self.size.is_none_or(|size| broker.control().would_have_room(size))
    }

    /// Whether a connection may receive its frame; `is_first`: it is the connection that may go on without room.
    pub(super) fn lets_in(&self, broker: &Broker, is_first: bool) -> bool {
        self.has_room(broker) || (is_first && self.has_room_for_first(broker))
    }
}

impl Reactor {
    /// When the budgets are to be checked next; `None` while no budget is used up and no connection waits.
    pub(super) fn next_pressure_check(&self) -> Option<Instant> {
        if self.starved.iter().any(|lane| !lane.waiting.is_empty()) {
            let feed_after = if self.is_feeding { Duration::ZERO } else { FEED };
            return Some(self.next_pressure_check.min(Instant::now() + feed_after));
        }
        self.is_pressed().then_some(self.next_pressure_check)
    }

    fn is_pressed(&self) -> bool {
        let broker = &self.shared.broker;
        self.starved.iter().any(|lane| !lane.waiting.is_empty())
            || !self.waiting.is_empty()
            || broker.unsent().is_used_up()
            || broker.queued().is_used_up()
            || broker.control().arriving.is_used_up()
    }

    /// See the module.
    pub(super) fn relieve(&mut self, now: Instant) {
        self.is_feeding = false;
        for lane in 0..LANES {
            if !self.starved[lane].waiting.is_empty() {
                self.is_feeding |= self.feed_starved(lane);
            }
        }
        self.serve_waiting();
        if now < self.next_pressure_check || !self.is_pressed() {
            return;
        }
        self.next_pressure_check = now + CHECK;
        let broker = &self.shared.broker;
        let unsent = broker.unsent().used();
        let is_trickled = broker.queued().is_used_up() || !broker.control().has_room(Size::Large);
        if broker.unsent().is_used_up() {
            let limit = broker.unsent().limit();
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

    /// Lets starved connections of a lane go on: one after the other while there is room, else only the first. True
    /// when they had their turn and others might go on.
    fn feed_starved(&mut self, lane: usize) -> bool {
        let until = Instant::now() + FEED_TURN;
        while !self.starved[lane].waiting.is_empty() {
            let broker = &self.shared.broker;
            let has_room = self.starved[lane].has_room(broker);
            let is_first = |first: ConnectionRef| {
                let found = self.connections.get(first.key);
                found.is_some_and(|c| c.reference == first && c.is_first_starved && c.starved_in.is_none())
            };
            let has_first = self.starved[lane].first.is_some_and(is_first);
            if !has_room && (has_first || !self.starved[lane].has_room_for_first(broker)) {
                return false;
            }
            let Some(reference) = self.starved[lane].waiting.pop_front() else {
                return false;
            };
            if !self.find(reference) {
                continue;
            }
            let connection = &mut self.connections[reference.key];
            connection.starved_in = None;
            if connection.is_held_back() {
                continue; // it comes back once its quota lets it
            }
            connection.frame_since = Instant::now();
            connection.is_first_starved = !has_room;
            if !has_room {
                self.starved[lane].first = Some(reference);
            }
            if lane == DATA_LANE {
                self.queue(reference);
            } else {
                self.proceed(reference); // the bytes that it receives count before the next connection is tried
                if Instant::now() >= until {
                    return true;
                }
            }
        }
        false
    }

    /// Queues a connection whose next request needs room for its answer.
    pub(super) fn wait_for_room(&mut self, key: usize) {
        if let Some(connection) = self.connections.get_mut(key)
            && !std::mem::replace(&mut connection.is_waiting, true)
        {
            self.waiting.push_back(connection.reference);
        }
    }

    /// Lets the first connection that waits for room go on when there is room; the next connection follows in the
    /// loop's next turn, if there is still room.
    fn serve_waiting(&mut self) {
        while !self.waiting.is_empty() && !self.shared.broker.unsent().is_used_up() {
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

    /// Closes the connections of clients that do not read their answers, until `excess` bytes are free.
    fn close_unread(&mut self, now: Instant, patience: Duration, excess: usize) {
        let held = |c: &Connection| c.unsent.as_ref().map_or(0, broker::Charge::amount);
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

    /// Closes connections whose frames arrive more slowly than [`MIN_RATE`].
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
                && !c.is_held_back()
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
