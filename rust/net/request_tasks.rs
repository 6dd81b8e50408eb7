//! Requests that a network loop hands to other threads: to a request thread (`broker::RequestThreads`), or to a disk
//! thread when a request waits only for data that is not in memory. Their answers come back through the loop's mailbox.
//!
//! The loop keeps a [`TaskHandle`] in the operation's place, and the connection waits as it does for the control plane.
//! A task checks at every step whether its connection is still open. A produce is appended in slices, each queued
//! behind the tasks of other requests. A produce with acks=0 is appended even if its client has closed the connection.
//! No request is served twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::close_reason::CloseReason;
use super::completion::try_complete;
use super::framing::{Framing, framed, framed_answer};
use super::mailbox::{LoopMessage, Mailbox, TaskResult};
use super::metering::{metered, serve_metered};
use super::operations::{ApiVersion, Requester, TaskHandle};
use super::outbox::Outbox;
use super::request_body::RequestBody;
use super::wall_clock::wall_clock_ms;
use broker::{
    Api, Attempt, Broker, Budget, Charge, ClientInfo, Delayed, Executor, Handover, Request, Scratch, Served,
    SlicedProduce, Thread, Tried, go_on_waiting, start_waiting,
};
use protocol::mended::{MOST, mended};

/// The work of a task.
pub enum TaskWork {
    /// A request from the start.
    Serve(WholeRequest, Thread),
    /// The batches of a Produce that are not appended yet, and the body that holds them.
    Append(Box<dyn SlicedProduce>, RequestBody),
    /// A delayed answer that is too large for a loop to complete, or that waits for the disk; and whether its deadline
    /// has come.
    Try(Box<dyn Delayed>, bool),
}

/// A request from the start.
pub struct WholeRequest {
    /// The API.
    pub api: Arc<dyn Api>,
    /// The API's version.
    pub version: i16,
    /// Whether the request may be handed to the control plane first.
    pub may_hand_over: bool,
    /// The request's body.
    pub body: RequestBody,
}

impl TaskWork {
    /// The work that is handed over; `whole` is called when the request's body is still needed.
    pub fn of(handover: Handover, whole: impl FnOnce() -> WholeRequest) -> Self {
        match handover {
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
            Self::Serve(WholeRequest { body, .. }, _) | Self::Append(_, body) => body.charge(broker.queued()),
            Self::Try(..) => {}
        }
    }

    /// Counts an expected answer of one and a half times the request's size in the budget `unsent`: a row of a fetch or
    /// of a lookup is shorter than its answer. A produce's answer is small.
    pub fn expected_answer(&self, request_bytes: usize, unsent: &Arc<Budget>) -> Option<Charge> {
        self.has_large_answer().then(|| {
            let mut charge = unsent.account();
            charge.set(request_bytes / 2 * 3);
            charge
        })
    }

    fn has_large_answer(&self) -> bool {
        match self {
            Self::Serve(whole, _) => whole.api.has_large_answers(),
            Self::Append(..) => false,
            Self::Try(..) => true,
        }
    }
}

/// A request on its way through other threads.
pub struct RequestTask {
    origin: TaskOrigin,
    work: TaskWork,
}

/// Where a request came from, and its answer goes.
struct TaskOrigin {
    broker: Arc<Broker>,
    mailbox: Arc<Mailbox>,
    /// The operation's number in the loop that has the mailbox.
    number: u64,
    framing: Framing,
    client: Arc<ClientInfo>,
    /// See [`TaskHandle`].
    is_gone: Arc<AtomicBool>,
}

impl RequestTask {
    /// A task for operation `number` of a loop; the loop keeps `handle` in the operation's place.
    pub fn new(
        broker: &Arc<Broker>,
        mailbox: &Arc<Mailbox>,
        number: u64,
        requester: &Requester,
        handle: &TaskHandle,
        work: TaskWork,
    ) -> Self {
        let origin = TaskOrigin {
            broker: Arc::clone(broker),
            mailbox: Arc::clone(mailbox),
            number,
            framing: requester.framing,
            client: Arc::clone(&requester.client),
            is_gone: Arc::clone(&handle.is_gone),
        };
        Self { origin, work }
    }

    /// Queues it.
    pub fn submit(self) {
        let broker = Arc::clone(&self.origin.broker);
        let threads = broker.threads().requests();
        let pool = match &self.work {
            TaskWork::Append(left, _) if left.is_large() => &threads.inflate,
            TaskWork::Append(..) => &threads.produce,
            // A small delayed answer was handed over because it waits for the disk.
            TaskWork::Try(delayed, _) if !delayed.is_large() => broker.threads().disk(),
            TaskWork::Serve(_, Thread::Disk) => broker.threads().disk(),
            TaskWork::Serve(_, Thread::Inflate) => &threads.inflate,
            TaskWork::Serve(_, Thread::Load) => &threads.load,
            TaskWork::Try(delayed, _) if delayed.inflates() => &threads.inflate,
            TaskWork::Try(..) | TaskWork::Serve(_, Thread::Request) => &threads.read,
        };
        pool.submit(move || self.run());
    }

    fn run(self) {
        match self.work {
            TaskWork::Append(left, body) => self.origin.append(left, body),
            TaskWork::Serve(whole, _) => self.origin.serve(whole),
            TaskWork::Try(delayed, is_due) => self.origin.try_again(delayed, is_due),
        }
    }
}

impl TaskOrigin {
    fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }

    fn post(&self, result: TaskResult) {
        self.mailbox.post(LoopMessage::TaskDone(self.number, Box::new(result)));
    }

    fn append(self, mut left: Box<dyn SlicedProduce>, mut body: RequestBody) {
        if left.is_answered() && self.is_gone() {
            return;
        }
        let is_last = metered(self.client.quotas.as_deref(), || {
            left.run(&self.broker, body.get_mut(), Instant::now(), wall_clock_ms())
        });
        if !is_last {
            let work = TaskWork::Append(left, body);
            return RequestTask { origin: self, work }.submit();
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
            Ok(()) => self.post(TaskResult::Answer(answer)),
            Err(Served::Delayed(delayed)) => self.start_waiting(delayed),
            Err(Served::Disconnect) => self.post(TaskResult::Close(CloseReason::SilentFailure)),
            Err(_) => self.post(TaskResult::Silent),
        }
    }

    fn serve(self, whole: WholeRequest) {
        self.serve_mended(whole, MOST);
    }

    /// `mends`: how many more strings of the request may be mended.
    fn serve_mended(self, mut whole: WholeRequest, mends: u8) {
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
            serve_metered(&*whole.api, request, self.framing, out)
        });
        let Err(served) = answered else {
            return self.post(TaskResult::Answer(answer));
        };
        let api = ApiVersion {
            key: whole.api.key(),
            version: whole.version,
        };
        match served {
            Ok(Served::Answered(_) | Served::Silent) => self.post(TaskResult::Silent),
            Ok(Served::Disconnect) => self.post(TaskResult::Close(CloseReason::SilentFailure)),
            Ok(Served::Delayed(delayed)) => {
                drop(whole);
                self.start_waiting(delayed);
            }
            Ok(Served::Elsewhere(handover)) => {
                let work = TaskWork::of(handover, || whole);
                RequestTask { origin: self, work }.submit();
            }
            Ok(Served::Control(first)) => {
                let (request, kept) = match first {
                    None => (whole.body.into_vec(), None),
                    Some(first) => (first, Some(whole.body)),
                };
                self.post(TaskResult::Control { api, request, kept });
            }
            Err(error) => match mended(whole.body.get(), error) {
                Some(body) if mends > 0 => {
                    whole.body = RequestBody::new(body, 0);
                    self.serve_mended(whole, mends - 1);
                }
                _ => self.post(TaskResult::Close(CloseReason::Malformed(api.key, api.version, error))),
            },
        }
    }

    fn try_again(self, mut delayed: Box<dyn Delayed>, is_due: bool) {
        let waiter = self.mailbox.waiter(self.number);
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
        let waiter = self.mailbox.waiter(self.number);
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
        try_complete(delayed, &attempt, self.framing, answer)
    }

    /// Posts the result of an attempt. If the answer still waits and its connection is gone, it is forgotten instead.
    fn settle(self, tried: Tried, delayed: Box<dyn Delayed>, answer: Outbox) {
        match tried {
            Tried::Answered(_) => self.post(TaskResult::Answer(answer)),
            Tried::Append(left, body) => {
                let mut work = TaskWork::Append(left, RequestBody::new(body, 0));
                work.charge(&self.broker);
                RequestTask { origin: self, work }.submit();
            }
            _ if self.is_gone() => delayed.forget(&self.mailbox.waiter(self.number)),
            _ => self.post(TaskResult::Delayed(delayed)),
        }
    }
}
