//! An API that the data plane serves, and an answer that is delayed.
//!
//! Place: between `net`, which frames and sends answers, and the APIs: Produce, Fetch, `ListOffsets`, Metadata and
//! those of the coordinators. A network loop, a request thread and the simulator serve every API through [`Api`], and
//! complete every delayed answer through [`Delayed`].
//!
//! ```text
//! Api::serve → Answered | Silent | Disconnect          the request has ended
//!            → Delayed(operation)                       try_complete until it is Answered, or another thread goes on
//!            → Elsewhere(handover)                      another thread goes on
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
use crate::requests::fetch::scratch::FetchScratch;
use crate::requests::produce::scratch::ProduceScratch;
use crate::requests::waiters::Waiter;
use protocol::WireError;
use record::Room;
use storage::FileSlice;

/// Bytes that a loop inflates in a turn, over all connections: a millisecond or two.
const INFLATED_BYTES_OF_TURN: usize = 1 << 20;
/// Keys below this are looked up by index: those of Kafka.
const LITTLE_KEYS: usize = 1000;

/// An API that the data plane serves.
pub trait Api: Send + Sync {
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

/// The APIs that a data plane serves: those of this layer, and those of the layers above.
pub struct ServedApis {
    by_key: Vec<Option<Arc<dyn Api>>>,
    /// Those with great keys.
    others: Vec<Arc<dyn Api>>,
}

impl ServedApis {
    /// These APIs; of several with one key the last one.
    pub fn new(apis: impl IntoIterator<Item = Arc<dyn Api>>) -> Self {
        let mut served = Self {
            by_key: Vec::new(),
            others: Vec::new(),
        };
        for api in apis {
            match usize::try_from(api.key()) {
                Ok(at) if at < LITTLE_KEYS => {
                    served.by_key.resize(served.by_key.len().max(at + 1), None);
                    served.by_key[at] = Some(api);
                }
                _ => served.others.push(api),
            }
        }
        served
    }

    /// The API with this key; `None` when the data plane does not serve it.
    #[inline]
    pub fn find(&self, key: i16) -> Option<&Arc<dyn Api>> {
        match usize::try_from(key).ok().and_then(|at| self.by_key.get(at)) {
            Some(found) => found.as_ref(),
            None => self.others.iter().find(|api| api.key() == key),
        }
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
    /// What serves the request.
    pub executor: Executor,
    /// Whether the request may go to the control plane first; false when it comes back from there.
    pub may_hand_over: bool,
    /// Wall clock, ms.
    pub now_ms: i64,
    /// Monotonic clock.
    pub now: Instant,
}

/// What serves a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executor {
    /// A network loop: other clients wait for it.
    Loop,
    /// A thread that may take its time.
    Worker,
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
    Answered(BodyTail),
    /// Nothing is sent: a Produce with acks=0 that went well.
    Silent,
    /// The connection is closed: a Produce with acks=0 failed, and there is no other way to tell the client (as in
    /// Kafka).
    Disconnect,
    /// The answer waits.
    Delayed(Box<dyn Delayed>),
    /// Too much for a network loop: another thread goes on.
    Elsewhere(Handover),
    /// The control plane goes on. Without a body here it serves the request; with a body it serves that body first, and
    /// then the request comes back.
    Control(Option<Vec<u8>>),
}

/// The part of a response body that is not in the buffer.
pub enum BodyTail {
    /// The buffer has the whole body.
    Nothing,
    /// Ranges of files, which go between the bytes of the buffer.
    Files(Vec<Splice>),
    /// The bytes that follow.
    Bytes(Vec<u8>),
    /// The bytes that follow, which other connections send, too.
    Shared(Arc<Vec<u8>>),
}

/// A place in the response where bytes of a file go.
pub struct Splice {
    /// Position in the response body before which the bytes go.
    pub at: usize,
    /// The bytes.
    pub slice: FileSlice,
}

/// How another thread goes on with a request.
pub enum Handover {
    /// Serves the request from the start.
    Serve(Thread),
    /// Appends the batches of a Produce that are left.
    Append(Box<dyn SlicedProduce>),
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

/// A produce of which a part is left: another thread appends its batches, slice by slice. When it is dropped, its
/// remaining batches are not appended and the client gets no answer.
pub trait SlicedProduce: Send {
    /// Whether the client expects an answer.
    fn is_answered(&self) -> bool;

    /// Whether this request has inflated more than other requests should wait for: the rest of it goes on among the
    /// large ones.
    fn is_large(&self) -> bool;

    /// Appends the next slice; true when all batches are appended, or when the transaction coordinator must answer
    /// first: then [`Self::finish`] returns an answer that waits. `body` is the body that the request was decoded from.
    fn run(&mut self, broker: &Broker, body: &mut [u8], now: Instant, now_ms: i64) -> bool;

    /// The outcome of the request, after [`Self::run`] has returned true.
    fn finish(
        self: Box<Self>,
        broker: &Broker,
        caller: Caller<'_>,
        now: Instant,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Served;
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
    /// What makes the attempt.
    pub executor: Executor,
    /// Monotonic clock.
    pub now: Instant,
}

/// The outcome of an attempt.
pub enum Tried {
    /// The response body is written, but for this part of it.
    Answered(BodyTail),
    /// It goes on waiting.
    Waits,
    /// The data to read is not in memory, and this executor may not wait for the disk.
    Cold,
    /// The transaction coordinator has answered: another thread appends this produce, which is in this body.
    Append(Box<dyn SlicedProduce>, Vec<u8>),
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
