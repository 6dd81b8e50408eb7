//! How a loop serves one connection: it receives bytes, finds whole frames, and serves one request after the other.
//!
//! All requests that have arrived are served before an answer is sent, so that a pipelined client costs one send.
//! Serving stops at a parked fetch, at a request for the control plane, and while the client does not read its answers.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::apis;
use super::connection::Connection;
use super::dispatch::{self, Context, Frame, Refused};
use super::input::{self, Front, SIZE_BYTES};
use super::mailbox::Mailbox;
use super::pressure::{DATA_LANE, lane_of};
use super::reactor::Reactor;
use super::spread;
use broker::{Api, Broker, Charge, Size, Waiter, Wake};
use protocol::ApiTable;

/// Bytes of one connection served before the others get their turn.
const TURN_BYTES: usize = 1 << 20;
/// How long one connection is served before the others get their turn.
const TURN: Duration = Duration::from_millis(1);
/// Frames that are served between two looks at the clock; a large one is followed by a look.
const CLOCK_FRAMES: usize = 16;
/// Bytes of unsent answers from which on a connection's requests are not served; one byte when the broker's budget for
/// them is used up.
const MAX_UNSENT_BYTES: usize = 256 << 10;
/// Parked operations of a loop beyond which a connection has one at a time.
const MANY_OPERATIONS: usize = 16 << 10;
/// Parked produces a connection may have before no more of its requests are served.
const MAX_QUEUED: usize = 1000;
/// Bytes received at once, at least: small frames that came together are served together.
const MIN_RECEIVED: usize = 4 << 10;

impl Reactor {
    /// Receives and serves; true when the connection has more to serve but had its turn.
    pub(super) fn serve(&mut self, key: usize, now: Instant) -> Result<bool, Closed> {
        let mut served = 0;
        loop {
            let Some(connection) = self.connections.get_mut(key) else {
                return Ok(false);
            };
            connection.is_held_up = is_held_up(connection);
            if !may_serve(connection) || (connection.has_gap() && self.operations.len() > MANY_OPERATIONS) {
                return Ok(false);
            }
            if served >= TURN_BYTES {
                return Ok(true);
            }
            if connection.input.may_be_served() {
                let mut kept = connection.input.take();
                let is_kept = if connection.for_control.is_some() {
                    input::is_one_frame(&kept, self.shared.max_frame_bytes(connection)) // the request keeps this buffer
                } else {
                    input::is_one_large_frame(&kept, self.shared.max_frame_bytes(connection))
                };
                if is_kept && may_serve_next(connection, &kept) && has_room(&self.shared.broker, &kept) {
                    served += kept.len();
                    self.serve_own(key, kept, now)?;
                    continue;
                }
                let (used, need) = self.serve_frames(key, &mut kept, now)?;
                let Some(connection) = self.connections.get_mut(key) else {
                    return Ok(false);
                };
                let size = control_size(&kept[used..]);
                connection.input.keep(kept, used, need.bytes(), &mut self.pool);
                if used > 0 {
                    connection.frame_since = now;
                    connection.is_first_starved = false;
                    connection.begin_frame(size, &self.shared.broker);
                }
                served += used;
                match need {
                    Need::Stop => return Ok(false),
                    Need::Turn => return Ok(true),
                    Need::More(_) => {}
                }
            }
            let Some(connection) = self.connections.get_mut(key) else {
                return Ok(false);
            };
            if !connection.is_readable {
                return Ok(false);
            }
            if !connection.input.is_empty() && !self.may_receive(key) {
                return Ok(false);
            }
            let Some(connection) = self.connections.get_mut(key) else {
                return Ok(false);
            };
            connection.last_active = now;
            if connection.input.is_empty() {
                match self.receive_shared(key, now)? {
                    Some(n) => served += n,
                    None => return Ok(false),
                }
            } else {
                match connection.input.receive(&mut connection.transport) {
                    Ok(0) => return Err(Closed::ByPeer),
                    Ok(n) => {
                        served += n;
                        connection.account();
                    }
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => connection.is_readable = false,
                    Err(_) => return Err(Closed::ByPeer),
                }
            }
        }
    }

    /// Whether a connection may receive more of a frame that did not come at once; else the connection waits in its
    /// lane until there is room.
    fn may_receive(&mut self, key: usize) -> bool {
        let Some(connection) = self.connections.get_mut(key) else {
            return false;
        };
        if connection.for_control.is_none() {
            // The first bytes of the frame may have been too few to tell its API and size.
            if let size @ Some(_) = control_size(connection.input.held()) {
                connection.begin_frame(size, &self.shared.broker);
            }
        }
        let lane = lane_of(connection.for_control);
        if self.shared.is_trusted(connection)
            || self.starved[lane].lets_in(&self.shared.broker, connection.is_first_starved)
        {
            return true;
        }
        if connection.starved_in.replace(lane).is_none() {
            self.starved[lane].waiting.push_back(connection.reference);
        }
        false
    }

    /// How much a connection with nothing kept may receive at once. While there is no room for the control plane's
    /// requests, it may receive no more than one frame, and nothing of a frame for the control plane.
    fn max_received(&mut self, key: usize) -> usize {
        let broker = &self.shared.broker;
        let Some(connection) = self.connections.get_mut(key) else {
            return 0;
        };
        if broker.control().has_room(Size::Large) || self.shared.is_trusted(connection) {
            return usize::MAX;
        }
        let mut front = [0; SIZE_BYTES + 2];
        let Ok(seen) = connection.transport.peek(&mut front) else {
            return usize::MAX; // receiving will report the error
        };
        let size = control_size(&front[..seen]);
        let lane = lane_of(size);
        let is_let_in = lane == DATA_LANE || self.starved[lane].lets_in(broker, connection.is_first_starved);
        if is_let_in {
            return input::frame_bytes(&front[..seen]).max(MIN_RECEIVED);
        }
        if connection.starved_in.replace(lane).is_none() {
            self.starved[lane].waiting.push_back(connection.reference);
        }
        0
    }

    /// Receives into the shared buffer and serves from there. Returns the bytes received; `None` when there is nothing
    /// more to do for now.
    fn receive_shared(&mut self, key: usize, now: Instant) -> Result<Option<usize>, Closed> {
        let most = self.max_received(key).min(self.buffer.len());
        if most == 0 {
            // A request for the control plane that has not been received is dropped with its client.
            let is_ended = self.connections.get(key).is_some_and(|c| c.is_ended);
            return if is_ended { Err(Closed::ByPeer) } else { Ok(None) };
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = self.receive_into(key, &mut buffer[..most], now);
        self.buffer = buffer;
        result
    }

    fn receive_into(&mut self, key: usize, buffer: &mut [u8], now: Instant) -> Result<Option<usize>, Closed> {
        let Some(connection) = self.connections.get_mut(key) else {
            return Ok(None);
        };
        let received = match connection.transport.receive(buffer) {
            Ok(0) => return Err(Closed::ByPeer),
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                connection.is_readable = false;
                return Ok(None);
            }
            Err(_) => return Err(Closed::ByPeer),
        };
        if received < buffer.len() && !connection.is_ended {
            // The socket is drained: more bytes raise another event. Not so when the end of the stream was reported
            // already.
            connection.is_readable = false;
        }
        let (used, need) = self.serve_frames(key, &mut buffer[..received], now)?;
        let Some(connection) = self.connections.get_mut(key) else {
            return Ok(None);
        };
        if used > 0 {
            connection.is_first_starved = false;
        }
        if used < received {
            let rest = &buffer[used..received];
            let size = control_size(rest);
            if size.is_some() {
                connection.input.keep_own_copy(rest, need.bytes());
            } else {
                connection.input.keep_copy(rest, need.bytes(), &mut self.pool);
            }
            connection.frame_since = now;
            connection.begin_frame(size, &self.shared.broker);
        }
        Ok(match need {
            Need::More(_) => Some(received),
            Need::Turn => Some(TURN_BYTES),
            Need::Stop => None,
        })
    }

    /// Serves a frame that fills its own buffer, and gives the buffer away with it.
    fn serve_own(&mut self, key: usize, bytes: Vec<u8>, now: Instant) -> Result<(), Closed> {
        let mailbox = &self.mailbox;
        let waiter = |operation| waiter_of(mailbox, operation);
        let Some(connection) = self.connections.get_mut(key) else {
            return Ok(());
        };
        if bytes.len() >= spread::HEAVY_BYTES {
            connection.weight = connection.weight.after_large();
        }
        connection.is_first_starved = false;
        let mut context = Context {
            broker: &self.shared.broker,
            proof: &self.shared.proof,
            credentials: &self.shared.credentials,
            refusals: &self.shared.refusals,
            operations: &mut self.operations,
            scratch: &mut self.scratch,
            mailbox,
            waiter: &waiter,
            now_ms: wall_clock_ms(),
            now,
        };
        dispatch::serve(Frame::Own(bytes), connection, &mut context)
            .map_err(|refused| Closed::Refused(Refusal::Request(refused)))
    }

    /// Serves the whole frames at the front of `bytes`. Returns how many bytes were used, and what must happen before
    /// the next frame.
    fn serve_frames(&mut self, key: usize, bytes: &mut [u8], now: Instant) -> Result<(usize, Need), Closed> {
        let mailbox = &self.mailbox;
        let waiter = |operation| waiter_of(mailbox, operation);
        let (mut used, mut now_ms) = (0, None);
        for nth in 1usize.. {
            let Some(connection) = self.connections.get_mut(key) else {
                return Ok((used, Need::Stop));
            };
            let rest = &mut bytes[used..];
            let len = match input::front(rest, self.shared.max_frame_bytes(connection)) {
                Front::Frame(len) => len,
                Front::Partial(needed) => return Ok((used, Need::More(needed))),
                Front::Bad(size) => return Err(Closed::Refused(Refusal::Size(size))),
            };
            if !may_serve_next(connection, rest) {
                return Ok((used, Need::Stop));
            }
            if !has_room(&self.shared.broker, &rest[..SIZE_BYTES + len]) && !self.shared.is_trusted(connection) {
                self.wait_for_room(key);
                return Ok((used, Need::Stop));
            }
            let mut context = Context {
                broker: &self.shared.broker,
                proof: &self.shared.proof,
                credentials: &self.shared.credentials,
                refusals: &self.shared.refusals,
                operations: &mut self.operations,
                scratch: &mut self.scratch,
                mailbox: &self.mailbox,
                waiter: &waiter,
                now_ms: *now_ms.get_or_insert_with(wall_clock_ms),
                now,
            };
            let frame = Frame::Shared(&mut rest[SIZE_BYTES..SIZE_BYTES + len]);
            dispatch::serve(frame, connection, &mut context)
                .map_err(|refused| Closed::Refused(Refusal::Request(refused)))?;
            if len >= spread::HEAVY_BYTES {
                connection.weight = connection.weight.after_large();
            }
            used += SIZE_BYTES + len;
            if (nth.is_multiple_of(CLOCK_FRAMES) || len >= spread::HEAVY_BYTES) && now.elapsed() >= TURN {
                return Ok((used, Need::Turn));
            }
        }
        Ok((used, Need::Turn))
    }
}

/// The size of the frame that `front` begins, when the frame is for the control plane and not small.
fn control_size(front: &[u8]) -> Option<Size> {
    let key = front.get(SIZE_BYTES..)?.first_chunk::<2>()?;
    let from = match apis::find(i16::from_be_bytes(*key)) {
        Some(api) => api.control_from()?,
        None => Size::Small,
    };
    Some(Size::of(input::frame_bytes(front))).filter(|size| *size >= from && *size != Size::Small)
}

fn waiter_of(mailbox: &Arc<Mailbox>, operation: u64) -> Waiter {
    Waiter {
        owner: Arc::clone(mailbox) as Arc<dyn Wake>,
        operation,
    }
}

/// What must happen before the next frame can be served.
enum Need {
    /// So many bytes in all must have arrived.
    More(usize),
    /// An answer must be given or sent, or room must become free, first.
    Stop,
    /// Other connections have their turn first.
    Turn,
}

impl Need {
    /// The bytes that must have arrived; 0 when the connection does not wait for bytes.
    const fn bytes(&self) -> usize {
        match self {
            Self::More(bytes) => *bytes,
            Self::Stop | Self::Turn => 0,
        }
    }
}

/// Why a connection ends.
pub(super) enum Closed {
    /// The client closed the connection, or the network failed.
    ByPeer,
    /// The broker closes the connection.
    Refused(Refusal),
}

/// What was refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// A frame size that no request can have.
    #[error("invalid request size {0}{spoken}", spoken = spoken(*.0))]
    Size(i32),
    /// A request.
    #[error("{0}")]
    Request(Refused),
}

/// What a client speaks that does not speak Kafka's protocol.
fn spoken(size: i32) -> String {
    protocol::stranger(size.to_be_bytes())
        .map(|protocol| format!(": the client speaks {protocol}, which this listener does not"))
        .unwrap_or_default()
}

/// Whether the frame at the front of `bytes` may be served: behind a parked produce only another produce.
fn may_serve_next(connection: &Connection, bytes: &[u8]) -> bool {
    may_serve(connection) && (!connection.has_gap() || is_produce(bytes.get(SIZE_BYTES..).unwrap_or_default()))
}

fn may_serve(connection: &Connection) -> bool {
    !connection.is_muted()
        && !connection.is_held_back()
        && !connection.is_closing
        && connection.queued() < MAX_QUEUED
        && !is_held_up(connection)
}

/// Whether unsent answers hold up the serving of more requests.
pub(super) fn is_held_up(connection: &Connection) -> bool {
    if connection.outbox.is_empty() {
        return false;
    }
    let is_used_up = connection.unsent.as_ref().is_some_and(Charge::is_used_up);
    let most = if is_used_up { 1 } else { MAX_UNSENT_BYTES };
    connection.outbox.has_files() || connection.outbox.buffered_bytes() >= most
}

/// Whether there is room for the answer to the frame `sized`, which includes its size prefix. Only large requests of
/// APIs with large answers wait when the budget is used up.
fn has_room(broker: &Broker, sized: &[u8]) -> bool {
    let has_rows = |key: &[u8; 2]| apis::find(i16::from_be_bytes(*key)).is_some_and(Api::has_large_answers);
    sized.len() < spread::HEAVY_BYTES
        || !broker.unsent().is_used_up()
        || !sized[SIZE_BYTES..].first_chunk().is_some_and(has_rows)
}

fn is_produce(frame: &[u8]) -> bool {
    frame
        .first_chunk::<2>()
        .is_some_and(|key| i16::from_be_bytes(*key) == ApiTable::PRODUCE)
}

pub(super) fn wall_clock_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}
