//! An API that the data plane serves, and an answer that is delayed.
//!
//! Place: between `net`, which frames and sends answers, and the APIs: Produce, Fetch, `ListOffsets`, Metadata and
//! those of the coordinators. A network loop, a request thread and the simulator serve every API through [`Api`], and
//! complete every delayed answer through [`Delayed`].
//!
//! ```text
//! Api::serve → Answered | Silent | Disconnect          the request has ended
//!            → Delayed(operation)                       try_complete until it is Answered, or another thread goes on
//!            → Elsewhere(errand)                        another thread goes on
//!            → Control(request)                         the control plane goes on
//! ```
//!
//! An API that writes a response body writes all of it: the caller drops the written bytes when the outcome is not
//! `Answered`. Nothing here uses frames, connections or clocks.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use crate::Broker;
use crate::requests::budget::Size;
use crate::requests::caller::Caller;
use crate::requests::fetch::{FetchScratch, Splice};
use crate::requests::produce::{LeftProduce, ProduceScratch};
use crate::requests::waiters::Waiter;
use protocol::WireError;
use record::Room;

/// Bytes that a loop inflates in a turn, over all connections: a millisecond or two.
const INFLATED_BYTES_OF_TURN: usize = 1 << 20;

/// An API that the data plane serves.
pub trait Api: Sync {
    /// Its key in the protocol.
    fn key(&self) -> i16;

    /// Serves one request. Appends the response body to `out` if the outcome is [`Served::Answered`].
    fn serve(&self, request: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError>;

    /// The size from which on an arriving frame counts against the control plane's budget; `None` when the control
    /// plane never serves this API.
    fn control_from(&self) -> Option<Size> {
        None
    }

    /// Whether a large request has a large answer, since the answer has more bytes for each row than the request.
    fn has_large_answers(&self) -> bool {
        false
    }
}

/// One request.
pub struct Request<'a> {
    /// The data plane's state.
    pub broker: &'a Broker,
    /// The API's version, which the broker has published as served.
    pub version: i16,
    /// The client that asks.
    pub caller: Caller<'a>,
    /// The body behind the request header. Produce patches it in place.
    pub body: &'a mut [u8],
    /// Buffers that outlive the request.
    pub scratch: &'a mut Scratch,
    /// Where the request is served.
    pub place: Place,
    /// Whether the request may go to the control plane first; false when it comes back from there.
    pub may_hand_over: bool,
    /// Wall clock, ms.
    pub now_ms: i64,
    /// Monotonic clock.
    pub now: Instant,
}

/// Where a request is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On a network loop: other clients wait for the loop.
    Loop,
    /// On a thread that may take its time.
    Elsewhere,
}

/// Buffers that are reused from one request to the next; one for each network loop.
#[derive(Default)]
pub struct Scratch {
    /// The buffers of Produce.
    pub produce: ProduceScratch,
    /// The buffers of Fetch.
    pub fetch: FetchScratch,
}

impl Scratch {
    /// Another turn of the loop begins.
    pub fn begin_turn(&mut self) {
        self.produce.room = Room::here(INFLATED_BYTES_OF_TURN);
    }
}

/// The outcome of a request.
pub enum Served {
    /// The response body is written, but for this part of it.
    Answered(Rest),
    /// Nothing is sent: a Produce with acks=0 that went well.
    Silent,
    /// The connection is closed: a Produce with acks=0 failed, and there is no other way to tell the client (as in
    /// Kafka).
    Disconnect,
    /// The answer waits.
    Delayed(Box<dyn Delayed>),
    /// Too much for a network loop: another thread goes on.
    Elsewhere(Errand),
    /// The control plane goes on. Without a body here it serves the request; with a body it serves that body first, and
    /// then the request comes back.
    Control(Option<Vec<u8>>),
}

/// The part of a response body that is not in the buffer.
pub enum Rest {
    /// The buffer has the whole body.
    Nothing,
    /// Ranges of files, which go between the bytes of the buffer.
    Files(Vec<Splice>),
    /// The bytes that follow.
    Bytes(Vec<u8>),
    /// The bytes that follow, which other connections send, too.
    Shared(Arc<Vec<u8>>),
}

/// How another thread goes on with a request.
pub enum Errand {
    /// Serves the request from the start.
    Serve(Thread),
    /// Appends the batches of a Produce that are left.
    Append(Box<LeftProduce>),
    /// Tries a delayed answer on a thread that may wait for the disk. The flag says whether the answer is due.
    Try(Box<dyn Delayed>, bool),
}

/// The threads that serve a request from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thread {
    /// A request thread: there is much to do.
    Request,
    /// A disk thread: there is little to do, but it may wait for the disk.
    Disk,
    /// A thread for work that takes the processor for long.
    Inflate,
    /// The thread that reads and adopts bulk loads.
    Load,
}

/// An answer that waits. Dropping it sends no answer: the owner must send one.
pub trait Delayed: Any + Send {
    /// Adds `waiter` to the watch lists of everything that the answer waits for. The caller must try once more
    /// afterwards.
    fn watch(&self, waiter: &Waiter);

    /// Removes `waiter` from all watch lists.
    fn forget(&self, waiter: &Waiter);

    /// Appends the response body to `out` if nothing is left to wait for, or if it is due.
    fn try_complete(&mut self, attempt: &Attempt<'_>, out: &mut Vec<u8>) -> Tried;

    /// The time at which the answer must be sent, whatever is left to wait for. An attempt may put it off.
    fn deadline(&self) -> Instant;

    /// Whether trying the answer is too much work for a network loop.
    fn is_large(&self) -> bool {
        false
    }

    /// Whether trying the answer takes the processor for long: then it is [`Self::is_large`], too.
    fn inflates(&self) -> bool {
        false
    }

    /// Whether later requests of the connection wait for this answer, as they do in Kafka.
    fn mutes(&self) -> bool {
        true
    }

    /// Whether a broker that stops sends the answer at once, with the data that it has.
    fn ends_early(&self) -> bool {
        false
    }
}

/// One attempt to complete a delayed answer.
pub struct Attempt<'a> {
    /// The data plane's state.
    pub broker: &'a Broker,
    /// The client that asked.
    pub caller: Caller<'a>,
    /// It must be answered now, whatever is left to wait for.
    pub is_due: bool,
    /// Where the attempt is made.
    pub place: Place,
    /// Monotonic clock.
    pub now: Instant,
}

/// The outcome of an attempt.
pub enum Tried {
    /// The response body is written, but for this part of it.
    Answered(Rest),
    /// It goes on waiting.
    Waits,
    /// The data to read is not in memory, and this place may not wait for the disk.
    Cold,
    /// The transaction coordinator has answered: another thread appends this produce, which is in this body.
    Append(Box<LeftProduce>, Vec<u8>),
}

/// Adds the waiter, then tries: the awaited event may have come before. An answer that does not wait any more has no
/// waiters afterwards.
pub fn start_waiting(
    delayed: &mut dyn Delayed,
    waiter: &Waiter,
    attempt: &mut dyn FnMut(&mut dyn Delayed) -> Tried,
) -> Tried {
    delayed.watch(waiter);
    let tried = attempt(delayed);
    if !matches!(tried, Tried::Waits) {
        delayed.forget(waiter);
    }
    tried
}

/// Tries an answer that was woken or is due. If it goes on waiting, its waiter is added again.
pub fn go_on_waiting(
    delayed: &mut dyn Delayed,
    waiter: &Waiter,
    attempt: &mut dyn FnMut(&mut dyn Delayed) -> Tried,
) -> Tried {
    delayed.forget(waiter);
    match attempt(delayed) {
        Tried::Waits => start_waiting(delayed, waiter, attempt),
        tried => tried,
    }
}

#[cfg(test)]
#[path = "api_tests.rs"]
mod tests;
