//! Requests that a network loop hands to other threads: to a request thread (`broker::RequestThreads`), or to a disk
//! thread when a request waits only for data that is not in memory. Their answers come back through the loop's mailbox.
//!
//! The loop keeps an [`Away`] in the operation's place, and the connection waits as it does for the control plane. A
//! task checks at every step whether its connection is still open. A produce is appended in slices, each queued behind
//! the tasks of other requests. A produce with acks=0 is appended even if its client has closed the connection. No
//! request is served twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::dispatch::{self, Refused, framed, framed_answer, metered, serve_metered};
use super::mailbox::{Mailbox, Message};
use super::operations::Framing;
use super::outbox::Outbox;
use super::serve::wall_clock_ms;
use broker::{
    Api, Attempt, Broker, Budget, Charge, ClientInfo, Delayed, Executor, Handover, Request, Scratch, Served,
    SlicedProduce, Thread, Tried, Waiter, Wake, go_on_waiting, start_waiting,
};
use protocol::mended::{MOST, mended};

/// A request's body, in the buffer in which it was received.
pub struct Body {
    bytes: Vec<u8>,
    at: usize,
    charge: Option<Charge>,
}

impl Body {
    /// The body that begins at position `at` of `bytes`.
    pub fn new(bytes: Vec<u8>, at: usize) -> Self {
        Self {
            bytes,
            at,
            charge: None,
        }
    }

    /// Counts the body in the budget `queued`.
    pub fn charge(&mut self, queued: &Arc<Budget>) {
        let mut charge = queued.account();
        charge.set(self.bytes.capacity());
        self.charge = Some(charge);
    }

    /// The body alone.
    pub fn into_vec(mut self) -> Vec<u8> {
        self.bytes.drain(..self.at.min(self.bytes.len()));
        self.bytes
    }

    /// The body.
    pub fn get(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The body, to be patched in place.
    pub fn get_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.at..).unwrap_or_default()
    }
}

/// What a loop remembers of a request that is served elsewhere.
#[derive(Default)]
pub struct Away {
    /// Set when the connection is gone; the task reads it.
    pub gone: Arc<AtomicBool>,
    /// The operation was woken while the task was away.
    pub is_woken: bool,
    /// The expected size of the answer, counted in the broker's budget of unsent bytes.
    pub expected: Option<Charge>,
}

impl Away {
    /// Counts an expected answer of one and a half times the request's size in the budget `unsent`: a row of a fetch or
    /// of a lookup is shorter than its answer. A produce's answer is small.
    pub fn expect_answer(&mut self, request_bytes: usize, work: &Work, unsent: &Arc<Budget>) {
        if work.has_large_answer() {
            let mut charge = unsent.account();
            charge.set(request_bytes / 2 * 3);
            self.expected = Some(charge);
        }
    }
}

/// The work of a task.
pub enum Work {
    /// A request from the start.
    Serve(Whole, Thread),
    /// The batches of a Produce that are not appended yet, and the body that holds them.
    Append(Box<dyn SlicedProduce>, Body),
    /// A delayed answer that is too large for a loop to complete, or that waits for the disk; and whether its deadline
    /// has come.
    Try(Box<dyn Delayed>, bool),
}

/// A request from the start.
pub struct Whole {
    /// The API.
    pub api: &'static dyn Api,
    /// The API's version.
    pub version: i16,
    /// Whether the request may be handed to the control plane first.
    pub may_hand_over: bool,
    /// The request's body.
    pub body: Body,
}

impl Work {
    /// The work of an errand; `whole` is called when the request's body is still needed.
    pub fn of(errand: Handover, whole: impl FnOnce() -> Whole) -> Self {
        match errand {
            Handover::Serve(thread) => Self::Serve(whole(), thread),
            Handover::Append(left) => Self::Append(left, whole().body),
            Handover::Try(delayed, is_due) => Self::Try(delayed, is_due),
        }
    }

    /// Counts the body in the budget of waiting requests: in the control plane's when the control plane may get the
    /// request.
    pub fn charge(&mut self, broker: &Broker) {
        match self {
            Self::Serve(whole, _) if whole.api.control_from().is_some() => whole.body.charge(&broker.control().waiting),
            Self::Serve(Whole { body, .. }, _) | Self::Append(_, body) => body.charge(broker.queued()),
            Self::Try(..) => {}
        }
    }

    fn has_large_answer(&self) -> bool {
        match self {
            Self::Serve(whole, _) => whole.api.has_large_answers(),
            Self::Append(..) => false,
            Self::Try(..) => true,
        }
    }
}

/// The result of a task.
pub enum Returned {
    /// The whole response.
    Answer(Outbox),
    /// acks=0: nothing is sent.
    Silent,
    /// A delayed answer, which watches its partitions already.
    Delayed(Box<dyn Delayed>),
    /// The control plane goes on with this request; `kept` comes back here afterwards.
    Control {
        /// The API's key and version.
        api: (i16, i16),
        /// The body for the control plane.
        request: Vec<u8>,
        /// The client's body, when the control plane is only asked first.
        kept: Option<Body>,
    },
    /// The connection is to be closed.
    Refused(Refused),
}

/// A request on its way through other threads.
pub struct Task {
    origin: Origin,
    work: Work,
}

/// Where a request came from, and its answer goes.
struct Origin {
    broker: Arc<Broker>,
    mailbox: Arc<Mailbox>,
    /// The operation's number in the loop that has the mailbox.
    number: u64,
    framing: Framing,
    client: Arc<ClientInfo>,
    /// See [`Away`].
    is_gone: Arc<AtomicBool>,
}

impl Task {
    /// A task for operation `number` of a loop; the loop keeps `away` in the operation's place.
    pub fn new(
        broker: &Arc<Broker>,
        mailbox: &Arc<Mailbox>,
        (number, framing): (u64, Framing),
        client: Arc<ClientInfo>,
        away: &Away,
        work: Work,
    ) -> Self {
        let origin = Origin {
            broker: Arc::clone(broker),
            mailbox: Arc::clone(mailbox),
            number,
            framing,
            client,
            is_gone: Arc::clone(&away.gone),
        };
        Self { origin, work }
    }

    /// Queues it.
    pub fn submit(self) {
        let broker = Arc::clone(&self.origin.broker);
        let threads = &broker.threads().requests();
        let pool = match &self.work {
            Work::Append(left, _) if left.is_large() => &threads.inflate,
            Work::Append(..) => &threads.produce,
            // A small delayed answer was handed over because it waits for the disk.
            Work::Try(delayed, _) if !delayed.is_large() => &broker.threads().disk(),
            Work::Serve(_, Thread::Disk) => &broker.threads().disk(),
            Work::Serve(_, Thread::Inflate) => &threads.inflate,
            Work::Serve(_, Thread::Load) => &threads.load,
            Work::Try(delayed, _) if delayed.inflates() => &threads.inflate,
            Work::Try(..) | Work::Serve(_, Thread::Request) => &threads.read,
        };
        pool.submit(move || self.run());
    }

    fn run(self) {
        match self.work {
            Work::Append(left, body) => self.origin.append(left, body),
            Work::Serve(whole, _) => self.origin.serve(whole),
            Work::Try(delayed, is_due) => self.origin.try_again(delayed, is_due),
        }
    }
}

impl Origin {
    fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }

    fn post(&self, returned: Returned) {
        self.mailbox.post(Message::Returned(self.number, Box::new(returned)));
    }

    fn append(self, mut left: Box<dyn SlicedProduce>, mut body: Body) {
        if left.is_answered() && self.is_gone() {
            return;
        }
        let is_last = metered(self.client.quotas.as_deref(), || {
            left.run(&self.broker, body.get_mut(), Instant::now(), wall_clock_ms())
        });
        if !is_last {
            let work = Work::Append(left, body);
            return Task { origin: self, work }.submit();
        }
        let mut answer = Outbox::default();
        let (broker, caller) = (&self.broker, self.client.caller());
        let answered = framed(&mut answer, self.framing, |out| {
            match left.finish(broker, caller, Instant::now(), body.get(), out) {
                Served::Answered(rest) => Ok(rest),
                other => Err(other),
            }
        });
        drop(body);
        match answered {
            Ok(()) => self.post(Returned::Answer(answer)),
            Err(Served::Delayed(delayed)) => self.start_waiting(delayed),
            Err(Served::Disconnect) => self.post(Returned::Refused(Refused::SilentFailure)),
            Err(_) => self.post(Returned::Silent),
        }
    }

    fn serve(self, whole: Whole) {
        self.serve_mended(whole, MOST);
    }

    /// `mends`: how many more strings of the request may be mended.
    fn serve_mended(self, mut whole: Whole, mends: u8) {
        if self.is_gone() {
            return;
        }
        let mut answer = Outbox::default();
        let request = Request {
            broker: &self.broker,
            version: whole.version,
            caller: self.client.caller(),
            body: whole.body.get_mut(),
            scratch: &mut Scratch::default(),
            executor: Executor::Worker,
            may_hand_over: whole.may_hand_over,
            now_ms: wall_clock_ms(),
            now: Instant::now(),
        };
        let answered = framed_answer(&mut answer, self.framing, |out| {
            serve_metered(whole.api, request, self.framing, out)
        });
        let Err(served) = answered else {
            return self.post(Returned::Answer(answer));
        };
        let api = (whole.api.key(), whole.version);
        match served {
            Ok(Served::Answered(_) | Served::Silent) => self.post(Returned::Silent),
            Ok(Served::Disconnect) => self.post(Returned::Refused(Refused::SilentFailure)),
            Ok(Served::Delayed(delayed)) => {
                drop(whole);
                self.start_waiting(delayed);
            }
            Ok(Served::Elsewhere(errand)) => {
                let work = Work::of(errand, || whole);
                Task { origin: self, work }.submit();
            }
            Ok(Served::Control(first)) => {
                let (request, kept) = match first {
                    None => (whole.body.into_vec(), None),
                    Some(first) => (first, Some(whole.body)),
                };
                self.post(Returned::Control { api, request, kept });
            }
            Err(error) => match mended(whole.body.get(), error) {
                Some(body) if mends > 0 => {
                    whole.body = Body::new(body, 0);
                    self.serve_mended(whole, mends - 1);
                }
                _ => self.post(Returned::Refused(Refused::Malformed(api.0, api.1, error))),
            },
        }
    }

    fn try_again(self, mut delayed: Box<dyn Delayed>, is_due: bool) {
        let waiter = self.waiter();
        if self.is_gone() {
            return delayed.forget(&waiter);
        }
        let mut answer = Outbox::default();
        let tried = go_on_waiting(&mut *delayed, &waiter, &mut |delayed| {
            self.complete(delayed, is_due, &mut answer)
        });
        self.settle(tried, delayed, answer);
    }

    fn start_waiting(self, mut delayed: Box<dyn Delayed>) {
        let waiter = self.waiter();
        let mut answer = Outbox::default();
        let tried = start_waiting(&mut *delayed, &waiter, &mut |delayed| {
            self.complete(delayed, false, &mut answer)
        });
        self.settle(tried, delayed, answer);
    }

    fn complete(&self, delayed: &mut dyn Delayed, is_due: bool, answer: &mut Outbox) -> Tried {
        let attempt = Attempt {
            broker: &self.broker,
            caller: self.client.caller(),
            is_due,
            executor: Executor::Worker,
            now: Instant::now(),
        };
        dispatch::try_complete(delayed, &attempt, self.framing, answer)
    }

    /// Posts the result of an attempt. If the answer still waits and its connection is gone, it is forgotten instead.
    fn settle(self, tried: Tried, delayed: Box<dyn Delayed>, answer: Outbox) {
        match tried {
            Tried::Answered(_) => self.post(Returned::Answer(answer)),
            Tried::Append(left, body) => {
                let mut work = Work::Append(left, Body::new(body, 0));
                work.charge(&self.broker);
                Task { origin: self, work }.submit();
            }
            _ if self.is_gone() => delayed.forget(&self.waiter()),
            _ => self.post(Returned::Delayed(delayed)),
        }
    }

    fn waiter(&self) -> Waiter {
        Waiter {
            owner: Arc::clone(&self.mailbox) as Arc<dyn Wake>,
            operation: self.number,
        }
    }
}
