//! The receiving side of a loop: it receives the bytes of a connection, finds whole frames, and has one request after
//! the other handled.
//!
//! All requests that have arrived are handled before an answer is sent, so that a pipelined client costs one send.
//! Receiving stops at a parked fetch, at a request for the control plane, and while the client does not read its
//! answers.

use std::io;
use std::time::{Duration, Instant};

use super::close_reason::CloseReason;
use super::connection::Connection;
use super::dispatch::RequestFrame;
use super::input::{self, BufferPool, Front, SIZE_BYTES};
use super::pressure::{DATA_LANE, Pressure, go_on, lane_of};
use super::requests::Requests;
use super::spread;
use super::wall_clock::wall_clock_ms;
use broker::{Broker, Charge, Size};
use protocol::ApiTable;

/// Bytes received at a time and shared by all connections of the loop (measured: 64 KB beats 256 KB).
const BUFFER_BYTES: usize = 64 << 10;
/// Bytes of one connection served before the others get their turn.
const TURN_BYTES: usize = 1 << 20;
/// How long one connection is served before the others get their turn.
const TURN: Duration = Duration::from_millis(1);
/// Frames that are served between two looks at the clock; a large one is followed by a look.
const CLOCK_FRAMES: usize = 16;
/// Bytes of unsent answers from which on a connection's requests are not served; one byte when the broker's budget for
/// them is used up.
const MAX_UNSENT_BYTES: usize = 256 << 10;
/// Parked produces a connection may have before no more of its requests are served.
const MAX_QUEUED: usize = 1000;
/// Bytes received at once, at least: small frames that came together are served together.
const MIN_RECEIVED: usize = 4 << 10;

/// The buffers that the connections of a loop share.
pub struct Receiver {
    buffer: Vec<u8>,
    pool: BufferPool,
}

impl Receiver {
    /// Fresh buffers.
    pub fn new() -> Self {
        Self {
            buffer: vec![0; BUFFER_BYTES],
            pool: BufferPool::default(),
        }
    }

    /// Receives from a connection and has its requests handled; true when the connection has more to serve but had its
    /// turn.
    pub fn serve(
        &mut self,
        connection: &mut Connection,
        requests: &mut Requests,
        pressure: &mut Pressure,
        now: Instant,
    ) -> Result<bool, CloseReason> {
        let turn = Turn {
            connection,
            requests,
            pressure,
            pool: &mut self.pool,
            now,
        };
        turn.run(&mut self.buffer)
    }
}

/// A turn of one connection.
struct Turn<'a> {
    connection: &'a mut Connection,
    requests: &'a mut Requests,
    pressure: &'a mut Pressure,
    pool: &'a mut BufferPool,
    now: Instant,
}

impl Turn<'_> {
    fn run(mut self, buffer: &mut [u8]) -> Result<bool, CloseReason> {
        let mut served = 0;
        loop {
            let connection = &mut *self.connection;
            connection.is_held_up = is_held_up(connection);
            if !may_serve(connection) || (connection.has_gap() && self.requests.are_many()) {
                return Ok(false);
            }
            if served >= TURN_BYTES {
                return Ok(true);
            }
            if connection.input.may_be_served() {
                let kept = connection.input.take();
                if self.fills_its_buffer(&kept) {
                    served += kept.len();
                    self.handle_own(kept)?;
                    continue;
                }
                let (used, need) = self.handle_kept(kept)?;
                served += used;
                match need {
                    Need::Stop => return Ok(false),
                    Need::Turn => return Ok(true),
                    Need::More(_) => {}
                }
            }
            if !self.connection.is_readable || !(self.connection.input.is_empty() || self.may_receive()) {
                return Ok(false);
            }
            let connection = &mut *self.connection;
            connection.last_active = self.now;
            if connection.input.is_empty() {
                match self.receive_shared(buffer)? {
                    Some(n) => served += n,
                    None => return Ok(false),
                }
            } else {
                match connection.input.receive(&mut connection.transport) {
                    Ok(0) => return Err(CloseReason::ByPeer),
                    Ok(n) => {
                        served += n;
                        connection.account();
                    }
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => connection.is_readable = false,
                    Err(_) => return Err(CloseReason::ByPeer),
                }
            }
        }
    }

    /// Whether a connection may receive more of a frame that did not come at once; else the connection waits in its
    /// lane until there is room.
    fn may_receive(&mut self) -> bool {
        let (connection, network) = (&mut *self.connection, self.requests.network());
        if connection.for_control.is_none() {
            // The first bytes of the frame may have been too few to tell its API and size.
            if let size @ Some(_) = control_size(&network.broker, connection.input.held()) {
                connection.begin_frame(size, &network.broker);
            }
        }
        let lane = lane_of(connection.for_control);
        network.is_trusted(connection) || self.pressure.lets_in(connection, lane, &network.broker)
    }

    /// How much a connection with nothing kept may receive at once. While there is no room for the control plane's
    /// requests, it may receive no more than one frame, and nothing of a frame for the control plane.
    fn max_received(&mut self) -> usize {
        let (connection, network) = (&mut *self.connection, self.requests.network());
        if network.broker.control().has_room(Size::Large) || network.is_trusted(connection) {
            go_on(connection);
            return usize::MAX;
        }
        let mut front = [0; SIZE_BYTES + 2];
        let Ok(seen) = connection.transport.peek(&mut front) else {
            return usize::MAX; // receiving will report the error
        };
        let lane = lane_of(control_size(&network.broker, &front[..seen]));
        if lane == DATA_LANE || self.pressure.lets_in(connection, lane, &network.broker) {
            return input::frame_bytes(&front[..seen]).max(MIN_RECEIVED);
        }
        0
    }

    /// Receives into the shared buffer and has the frames handled there. Returns the bytes received; `None` when there
    /// is nothing more to do for now.
    fn receive_shared(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, CloseReason> {
        let most = self.max_received().min(buffer.len());
        let connection = &mut *self.connection;
        if most == 0 {
            // A request for the control plane that has not been received is dropped with its client.
            return if connection.is_ended {
                Err(CloseReason::ByPeer)
            } else {
                Ok(None)
            };
        }
        let received = match connection.transport.receive(&mut buffer[..most]) {
            Ok(0) => return Err(CloseReason::ByPeer),
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                connection.is_readable = false;
                return Ok(None);
            }
            Err(_) => return Err(CloseReason::ByPeer),
        };
        if received < most && !connection.is_ended {
            // The socket is drained: more bytes raise another event. Not so when the end of the stream was reported
            // already.
            connection.is_readable = false;
        }
        let (used, need) = self.handle_frames(&mut buffer[..received])?;
        let connection = &mut *self.connection;
        if used > 0 {
            connection.is_first_starved = false;
        }
        if used < received {
            let rest = &buffer[used..received];
            let size = control_size(&self.requests.network().broker, rest);
            if size.is_some() {
                connection.input.keep_own_copy(rest, need.bytes());
            } else {
                connection.input.keep_copy(rest, need.bytes(), self.pool);
            }
            connection.frame_since = self.now;
            connection.begin_frame(size, &self.requests.network().broker);
        }
        Ok(match need {
            Need::More(_) => Some(received),
            Need::Turn => Some(TURN_BYTES),
            Need::Stop => None,
        })
    }

    /// Whether these bytes are one frame that keeps its buffer while it is served, and may be served now.
    fn fills_its_buffer(&self, kept: &[u8]) -> bool {
        let (connection, network) = (&*self.connection, self.requests.network());
        let max_bytes = network.max_frame_bytes(connection);
        let is_kept = if connection.for_control.is_some() {
            input::is_one_frame(kept, max_bytes)
        } else {
            input::is_one_large_frame(kept, max_bytes)
        };
        is_kept && may_serve_next(connection, kept) && has_room(&network.broker, kept)
    }

    /// Has a frame handled that fills its own buffer, and gives the buffer away with it.
    fn handle_own(&mut self, bytes: Vec<u8>) -> Result<(), CloseReason> {
        if bytes.len() >= spread::HEAVY_BYTES {
            self.connection.weight = self.connection.weight.after_large();
        }
        self.connection.is_first_starved = false;
        let frame = RequestFrame::Own(bytes);
        self.requests.handle(frame, self.connection, wall_clock_ms(), self.now)
    }

    /// Has the frames handled that have arrived in parts, and keeps the rest.
    fn handle_kept(&mut self, mut kept: Vec<u8>) -> Result<(usize, Need), CloseReason> {
        let (used, need) = self.handle_frames(&mut kept)?;
        let connection = &mut *self.connection;
        let size = control_size(&self.requests.network().broker, &kept[used..]);
        connection.input.keep(kept, used, need.bytes(), self.pool);
        if used > 0 {
            connection.frame_since = self.now;
            connection.is_first_starved = false;
            connection.begin_frame(size, &self.requests.network().broker);
        }
        Ok((used, need))
    }

    /// Has the whole frames at the front of `bytes` handled. Returns how many bytes were used, and what must happen
    /// before the next frame.
    fn handle_frames(&mut self, bytes: &mut [u8]) -> Result<(usize, Need), CloseReason> {
        let (mut used, mut now_ms) = (0, None);
        for nth in 1usize.. {
            let (connection, network) = (&mut *self.connection, self.requests.network());
            let rest = &mut bytes[used..];
            let len = match input::front(rest, network.max_frame_bytes(connection)) {
                Front::Frame(len) => len,
                Front::Partial(needed) => return Ok((used, Need::More(needed))),
                Front::Bad(size) => return Err(CloseReason::FrameSize(size)),
            };
            if !may_serve_next(connection, rest) {
                return Ok((used, Need::Stop));
            }
            if !has_room(&network.broker, &rest[..SIZE_BYTES + len]) && !network.is_trusted(connection) {
                self.pressure.wait_for_room(connection);
                return Ok((used, Need::Stop));
            }
            let frame = RequestFrame::Shared(&mut rest[SIZE_BYTES..SIZE_BYTES + len]);
            let now_ms = *now_ms.get_or_insert_with(wall_clock_ms);
            self.requests.handle(frame, connection, now_ms, self.now)?;
            if len >= spread::HEAVY_BYTES {
                connection.weight = connection.weight.after_large();
            }
            used += SIZE_BYTES + len;
            if (nth.is_multiple_of(CLOCK_FRAMES) || len >= spread::HEAVY_BYTES) && self.now.elapsed() >= TURN {
                break;
            }
        }
        Ok((used, Need::Turn))
    }
}

/// The size of the frame that `front` begins, when the frame is for the control plane and not small.
fn control_size(broker: &Broker, front: &[u8]) -> Option<Size> {
    let key = front.get(SIZE_BYTES..)?.first_chunk::<2>()?;
    let from = match broker.api(i16::from_be_bytes(*key)) {
        Some(api) => api.control_from()?,
        None => Size::Small,
    };
    Some(Size::of(input::frame_bytes(front))).filter(|size| *size >= from && *size != Size::Small)
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

/// Whether the frame at the front of `bytes` may be served: behind a parked produce only another produce.
fn may_serve_next(connection: &Connection, bytes: &[u8]) -> bool {
    may_serve(connection) && (!connection.has_gap() || is_produce(bytes.get(SIZE_BYTES..).unwrap_or_default()))
}

/// Whether the connection's next request may be served now.
pub fn may_serve(connection: &Connection) -> bool {
    !connection.is_muted()
        && !connection.is_held_back()
        && !connection.is_closing
        && connection.queued() < MAX_QUEUED
        && !is_held_up(connection)
}

/// Whether unsent answers hold up the serving of more requests.
pub fn is_held_up(connection: &Connection) -> bool {
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
    let has_rows = |key: &[u8; 2]| {
        broker
            .api(i16::from_be_bytes(*key))
            .is_some_and(|api| api.has_large_answers())
    };
    sized.len() < spread::HEAVY_BYTES
        || !broker.unsent().is_used_up()
        || !sized[SIZE_BYTES..].first_chunk().is_some_and(has_rows)
}

fn is_produce(frame: &[u8]) -> bool {
    frame
        .first_chunk::<2>()
        .is_some_and(|key| i16::from_be_bytes(*key) == ApiTable::PRODUCE)
}
