//! What a loop does when the broker's budgets for bytes of clients are used up.
//!
//! Unsent answers (`kafkastore.unsent.max.bytes`): connections with unsent bytes are not served, and large requests of
//! other connections wait for room, one after the other (`receiver`). Connections whose clients have taken no bytes for
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

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::connection::{Connection, ConnectionRef};
use super::connections::Connections;
use super::receiver::may_serve;
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
pub const FEED_TURN: Duration = Duration::from_millis(2);

/// Number of lanes. Frames wait in lanes, so that a frame waits only for frames of its kind: one lane for the data
/// plane, two for the control plane, by size.
pub const LANES: usize = 3;
/// The lane of frames for the data plane, and of small frames for the control plane.
pub const DATA_LANE: usize = 0;

const UNREAD: &str = "it does not read its answers, and too many wait (kafkastore.unsent.max.bytes)";
const TRICKLING: &str = "its request does not arrive, and too many others wait (queued.max.request.bytes, \
                         kafkastore.control.max.bytes)";

/// The lane of a frame; `for_control` is the size of a frame for the control plane.
pub const fn lane_of(for_control: Option<Size>) -> usize {
    match for_control {
        None | Some(Size::Small) => DATA_LANE,
        Some(Size::Medium) => 1,
        Some(Size::Large) => 2,
    }
}

/// Connections whose frames wait for room in one lane, in order; and the first connection, which goes on without room.
struct Lane {
    size: Option<Size>,
    waiting: VecDeque<ConnectionRef>,
    first: Option<ConnectionRef>,
}

impl Lane {
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

    /// The next connection that goes on: one after the other while there is room, else only the first. Those that have
    /// gone on by themselves, or cannot be served now and come back once they can, are passed over: as the first they
    /// would keep all others waiting.
    fn next(&mut self, lane: usize, connections: &mut Connections, broker: &Broker) -> Option<ConnectionRef> {
        while !self.waiting.is_empty() {
            let has_room = self.has_room(broker);
            let first = self.first.and_then(|first| connections.get(first));
            let has_first = first.is_some_and(|c| c.is_first_starved && c.starved_in.is_none());
            if !has_room && (has_first || !self.has_room_for_first(broker)) {
                return None;
            }
            let reference = self.waiting.pop_front()?;
            let Some(connection) = connections.get_mut(reference) else {
                continue;
            };
            if connection.starved_in != Some(lane) {
                continue;
            }
            go_on(connection);
            if !may_serve(connection) {
                continue;
            }
            connection.is_first_starved = !has_room;
            if !has_room {
                self.first = Some(reference);
            }
            return Some(reference);
        }
        None
    }
}

/// The connections of a loop that wait for room, and when the budgets are checked next.
pub struct Pressure {
    lanes: [Lane; LANES],
    /// Connections whose next request waits for room for its answer, in order.
    waiting: VecDeque<ConnectionRef>,
    next_check: Instant,
    /// Whether starved connections might go on at once.
    is_feeding: bool,
}

impl Pressure {
    /// No connection waits.
    pub fn new(now: Instant) -> Self {
        Self {
            lanes: [None, Some(Size::Medium), Some(Size::Large)].map(|size| Lane {
                size,
                waiting: VecDeque::new(),
                first: None,
            }),
            waiting: VecDeque::new(),
            next_check: now,
            is_feeding: false,
        }
    }

    /// When the budgets are to be checked next; `None` while no budget is used up and no connection waits.
    pub fn next_check(&self, broker: &Broker) -> Option<Instant> {
        if self.has_starved() {
            let feed_after = if self.is_feeding { Duration::ZERO } else { FEED };
            return Some(self.next_check.min(Instant::now() + feed_after));
        }
        self.is_pressed(broker).then_some(self.next_check)
    }

    fn has_starved(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.waiting.is_empty())
    }

    fn is_pressed(&self, broker: &Broker) -> bool {
        self.has_starved()
            || !self.waiting.is_empty()
            || broker.unsent().is_used_up()
            || broker.queued().is_used_up()
            || broker.control().arriving.is_used_up()
    }

    /// Whether a connection may receive a frame of this lane; else it waits there until there is room.
    pub fn lets_in(&mut self, connection: &mut Connection, lane: usize, broker: &Broker) -> bool {
        let frames = &mut self.lanes[lane];
        if frames.has_room(broker) || (connection.is_first_starved && frames.has_room_for_first(broker)) {
            go_on(connection);
            return true;
        }
        if connection.starved_in.replace(lane).is_none() {
            frames.waiting.push_back(connection.reference);
        }
        false
    }

    /// Queues a connection whose next request needs room for its answer.
    pub fn wait_for_room(&mut self, connection: &mut Connection) {
        if !std::mem::replace(&mut connection.is_waiting, true) {
            self.waiting.push_back(connection.reference);
        }
    }

    /// A turn of feeding begins.
    pub fn begin_feeding(&mut self) {
        self.is_feeding = false;
    }

    /// The next connection of a lane that goes on. The bytes that it receives count before the next one is asked for.
    pub fn next_starved(
        &mut self,
        lane: usize,
        connections: &mut Connections,
        broker: &Broker,
    ) -> Option<ConnectionRef> {
        self.lanes[lane].next(lane, connections, broker)
    }

    /// A lane had its turn: it goes on in the loop's next turn, at once.
    pub fn feed_again(&mut self) {
        self.is_feeding = true;
    }

    /// Lets the first connection that waits for room go on when there is room; the next connection follows in the
    /// loop's next turn, if there is still room.
    pub fn serve_waiting(&mut self, connections: &mut Connections, broker: &Broker) {
        while !broker.unsent().is_used_up()
            && let Some(reference) = self.waiting.pop_front()
        {
            if let Some(connection) = connections.get_mut(reference) {
                connection.is_waiting = false;
                return connections.queue(reference);
            }
        }
    }

    /// The connections that keep others from going on and are to be closed, and why.
    pub fn stuck(
        &mut self,
        connections: &Connections,
        broker: &Broker,
        now: Instant,
    ) -> Vec<(ConnectionRef, &'static str)> {
        if now < self.next_check || !self.is_pressed(broker) {
            return Vec::new();
        }
        self.next_check = now + CHECK;
        let mut closed = Vec::new();
        let unsent = broker.unsent().used();
        if broker.unsent().is_used_up() {
            let limit = broker.unsent().limit();
            let patience = if unsent / 2 >= limit || !self.waiting.is_empty() {
                SHORT_PATIENCE
            } else {
                PATIENCE
            };
            let unread = unread(connections, now, patience, unsent.saturating_sub(limit));
            closed.extend(unread.into_iter().map(|reference| (reference, UNREAD)));
        }
        if broker.queued().is_used_up() || !broker.control().has_room(Size::Large) {
            let trickling = connections.select(|connection| is_trickling(connection, now));
            closed.extend(trickling.into_iter().map(|reference| (reference, TRICKLING)));
        }
        closed
    }
}

/// A connection waits in no lane any more; while it did, its frame could not arrive.
pub fn go_on(connection: &mut Connection) {
    if connection.starved_in.take().is_some() {
        connection.frame_since = Instant::now();
    }
}

/// The connections of clients that do not read their answers, the largest first, until `excess` bytes are free.
fn unread(connections: &Connections, now: Instant, patience: Duration, excess: usize) -> Vec<ConnectionRef> {
    let held = |c: &Connection| c.unsent.as_ref().map_or(0, broker::Charge::amount);
    let is_stalled =
        |c: &Connection| held(c) > 0 && !c.is_warming && now.saturating_duration_since(c.last_sent) >= patience;
    let stalled = connections.select(is_stalled).into_iter();
    let mut stalled: Vec<_> = stalled.map(|it| (connections.get(it).map_or(0, held), it)).collect();
    stalled.sort_unstable_by_key(|(bytes, it)| std::cmp::Reverse((*bytes, it.key)));
    let mut freed = 0;
    let is_needed = |(bytes, it): (usize, ConnectionRef)| {
        (freed <= excess).then(|| {
            freed += bytes;
            it
        })
    };
    stalled.into_iter().map_while(is_needed).collect()
}

/// Whether a connection's frame arrives more slowly than [`MIN_RATE`].
fn is_trickling(c: &Connection, now: Instant) -> bool {
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
}

#[cfg(test)]
#[path = "pressure_tests.rs"]
mod tests;
