//! The requests of a loop: they are handled, parked, and completed by messages of other threads or by their deadline.
//!
//! Every parked operation is answered exactly once: the code that takes the operation out of the table answers it.
//! Connections are not touched here, except that a request is handled on its own; a [`Completion`] says what an
//! operation's end means for its connection.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::close_reason::CloseReason;
use super::completion::try_complete;
use super::connection::{Connection, ConnectionRef};
use super::connections::Connections;
use super::dispatch::{self, Context, RequestFrame};
use super::framing::{Framing, framed, framed_answer};
use super::mailbox::{Mailbox, TaskResult};
use super::metering::serve_metered;
use super::network::Network;
use super::operations::{ApiVersion, Parked, ParkedAppend, ParkedOperation, ParkedOperations, Requester, TaskHandle};
use super::outbox::Outbox;
use super::request_body::RequestBody;
use super::request_tasks::{RequestTask, TaskWork, WholeRequest};
use super::wall_clock::wall_clock_ms;
use broker::{
    Attempt, BodyTail, ClientInfo, Delayed, Event, Executor, Request, Scratch, Served, SlicedProduce, Tried, WaitKind,
    go_on_waiting,
};
use protocol::throttle_time::{is_exempt, set_throttle_time, throttle_time};

/// Parked operations of a loop beyond which a connection has one at a time.
const MANY_OPERATIONS: usize = 16 << 10;

/// See the module.
pub struct Requests {
    network: Arc<Network>,
    mailbox: Arc<Mailbox>,
    operations: ParkedOperations,
    scratch: Scratch,
    /// An empty outbox: the buffer of an attempt that completed no answer, kept for the next attempt.
    unanswered: Outbox,
}

/// What an operation's end means for its connection.
pub struct Completion {
    /// The connection.
    pub connection: ConnectionRef,
    /// What happens to it.
    pub effect: Effect,
}

/// See [`Completion`].
pub enum Effect {
    /// It gets the answer to the operation with this number.
    Answer(u64, Outbox),
    /// The same, and it closes behind it.
    LastAnswer(u64, Outbox),
    /// The operation with this number waits on, and holds up no later requests any more.
    Unmute(u64),
    /// It is closed at once.
    Close(Option<CloseReason>),
}

impl Effect {
    fn on(self, connection: ConnectionRef) -> Completion {
        Completion {
            connection,
            effect: self,
        }
    }
}

impl Requests {
    /// No request yet, in one of `loops` loops.
    pub fn new(network: Arc<Network>, mailbox: Arc<Mailbox>, loops: usize) -> Self {
        Self {
            operations: ParkedOperations::new(mailbox.index(), loops),
            network,
            mailbox,
            scratch: Scratch::default(),
            unanswered: Outbox::default(),
        }
    }

    /// The state that all loops share.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The loop begins another turn.
    pub fn begin_turn(&mut self) {
        self.scratch.begin_turn();
    }

    /// Whether so many operations are parked that a connection may have one at a time.
    pub fn are_many(&self) -> bool {
        self.operations.len() > MANY_OPERATIONS
    }

    /// When the next operation is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.operations.next_deadline()
    }

    /// Handles the request of a connection's next frame.
    pub fn handle(
        &mut self,
        frame: RequestFrame<'_>,
        connection: &mut Connection,
        now_ms: i64,
        now: Instant,
    ) -> Result<(), CloseReason> {
        let mut context = Context {
            broker: &self.network.broker,
            proof: &self.network.proof,
            credentials: &self.network.credentials,
            refusals: &self.network.refusals,
            operations: &mut self.operations,
            scratch: &mut self.scratch,
            mailbox: &self.mailbox,
            now_ms,
            now,
        };
        dispatch::serve(frame, connection, &mut context)
    }

    /// The number of an operation that is due, if any; its timer is spent.
    pub fn pop_due(&mut self, now: Instant) -> Option<u64> {
        self.operations.pop_due(now)
    }

    /// Completes an operation if it can be completed; with `is_due` (its deadline has come) it is completed with
    /// whatever data there is.
    pub fn try_operation(&mut self, number: u64, is_due: bool) -> Option<Completion> {
        if self.operations.append(number).is_some() {
            self.try_append(number, is_due);
            return None;
        }
        let operation = self.operations.request(number)?;
        let requester = &operation.requester;
        let delayed = match &mut operation.parked {
            Parked::Delayed(delayed) if delayed.is_large() => return self.move_to_task(number, is_due),
            Parked::Delayed(delayed) => delayed,
            Parked::Task(handle) => {
                handle.is_woken = true;
                return None;
            }
            Parked::Refusal(_) if is_due => return self.refuse(number),
            Parked::Control { .. } | Parked::Refusal(_) => return None,
        };
        let framing = requester.framing;
        let attempt = Attempt {
            broker: &self.network.broker,
            caller: requester.client.caller(),
            is_due,
            executor: Executor::Loop,
            now: Instant::now(),
        };
        let mut answer = std::mem::take(&mut self.unanswered);
        let tried = go_on_waiting(&mut **delayed, &self.mailbox.waiter(number), &mut |delayed| {
            try_complete(delayed, &attempt, framing, &mut answer)
        });
        match tried {
            Tried::Answered(_) => return self.finish(number, answer),
            Tried::Cold => self.move_to_task(number, is_due),
            Tried::Append(left, body) => self.append_in_task(number, left, body),
            Tried::Waits => None,
        };
        self.unanswered = answer;
        None
    }

    /// The answer to a proof that failed, behind which the connection closes.
    fn refuse(&mut self, number: u64) -> Option<Completion> {
        let ParkedOperation { requester, parked } = self.operations.take(number)?;
        let Parked::Refusal(refusal) = parked else { return None };
        Some(Effect::LastAnswer(number, refusal).on(requester.connection))
    }

    /// Parks an append of the control plane, unless it has reached what it waits for.
    pub fn park_append(&mut self, append: Box<ParkedAppend>) {
        let number = append.operation;
        self.operations.park_append(append);
        self.try_append(number, false);
    }

    fn try_append(&mut self, number: u64, is_due: bool) {
        let Some(append) = self.operations.append(number) else {
            return;
        };
        let waiter = self.mailbox.waiter(number);
        let waiters = append.partition.waiters();
        waiters.forget(WaitKind::Produce, number, &waiter.owner);
        waiters.watch(WaitKind::Produce, waiter.clone());
        if let Some(done) = append.outcome(is_due) {
            waiters.forget(WaitKind::Produce, number, &waiter.owner);
            self.operations.take_append(number);
            self.network.broker.events().push(Event::AppendDone(done));
        }
    }

    fn finish(&mut self, number: u64, answer: Outbox) -> Option<Completion> {
        let operation = self.operations.take(number)?;
        Some(Effect::Answer(number, answer).on(operation.requester.connection))
    }

    // ---- the control plane

    /// The control plane has answered a request: the body of the answer, or `None` to close the connection.
    pub fn answered(&mut self, number: u64, body: Option<Vec<u8>>, connections: &Connections) -> Option<Completion> {
        let ParkedOperation { requester, .. } = self.operations.take(number)?;
        let Some(mut body) = body else {
            return Some(Effect::Close(None).on(requester.connection));
        };
        hold_control_answer(&requester, &mut body, connections);
        let mut answer = Outbox::default();
        let whole: Result<(), ()> = framed(&mut answer, requester.framing, |_| Ok(BodyTail::Bytes(body)));
        whole.ok()?;
        Some(Effect::Answer(number, answer).on(requester.connection))
    }

    /// Counts the time of the control plane for its client's quota.
    pub fn note_spent(&mut self, number: u64, time: Duration) {
        if let Some(ParkedOperation { requester, parked }) = self.operations.request(number)
            && let Parked::Control { api, .. } = parked
            && !is_exempt(requester.client.is_broker, api.key)
            && let Some(quotas) = &requester.client.quotas
        {
            quotas.note_request_time(time, Instant::now());
        }
    }

    /// Serves a request that went to the control plane first, from the state that the control plane has published
    /// since.
    pub fn serve_here(&mut self, number: u64) -> Option<Completion> {
        let ParkedOperation { requester, parked } = self.operations.take(number)?;
        let Parked::Control {
            api: ApiVersion { key, version },
            body: Some(mut body),
        } = parked
        else {
            return None;
        };
        let api = Arc::clone(self.network.broker.api(key)?);
        let (connection, framing) = (requester.connection, requester.framing);
        let request = Request {
            broker: &self.network.broker,
            version,
            caller: requester.client.caller(),
            body: body.get_mut(),
            scratch: &mut self.scratch,
            executor: Executor::Loop,
            may_hand_over: false,
            now_ms: wall_clock_ms(),
            now: Instant::now(),
        };
        let mut answer = Outbox::default();
        let answered = framed_answer(&mut answer, framing, |out| serve_metered(&*api, request, framing, out));
        match answered {
            Ok(()) => Some(Effect::Answer(number, answer).on(connection)),
            Err(Ok(Served::Elsewhere(handover))) => {
                let work = TaskWork::of(handover, || WholeRequest {
                    api,
                    version,
                    may_hand_over: false,
                    body,
                });
                self.start_task(number, requester, work);
                None
            }
            Err(Ok(Served::Delayed(delayed))) => {
                let deadline = Some(delayed.deadline());
                let parked = Parked::Delayed(delayed);
                self.operations
                    .park(number, ParkedOperation { requester, parked }, deadline);
                self.try_operation(number, false)
            }
            Err(_) => Some(Effect::Close(None).on(connection)),
        }
    }

    /// Hands a request that another thread has begun to the control plane.
    fn hand_to_control(&mut self, number: u64, api: ApiVersion, request: Vec<u8>, kept: Option<RequestBody>) {
        if let Some(operation) = self.operations.request(number) {
            operation.parked = Parked::Control { api, body: kept };
            dispatch::push_control(&self.network.broker, number, api, &operation.requester, request);
        }
    }

    // ---- tasks on other threads

    fn start_task(&mut self, number: u64, requester: Requester, work: TaskWork) {
        let handle = TaskHandle::default();
        let task = RequestTask::new(&self.network.broker, &self.mailbox, number, &requester, &handle, work);
        let parked = Parked::Task(handle);
        self.operations
            .park(number, ParkedOperation { requester, parked }, None);
        task.submit();
    }

    /// Hands a delayed answer to another thread: a large answer, or an answer that waits for the disk.
    fn move_to_task(&mut self, number: u64, is_due: bool) -> Option<Completion> {
        let ParkedOperation { requester, parked } = self.operations.take(number)?;
        if let Parked::Delayed(delayed) = parked {
            self.start_task(number, requester, TaskWork::Try(delayed, is_due));
        }
        None
    }

    /// Hands a produce whose verification was answered to another thread.
    fn append_in_task(&mut self, number: u64, left: Box<dyn SlicedProduce>, body: Vec<u8>) -> Option<Completion> {
        let ParkedOperation { requester, .. } = self.operations.take(number)?;
        let mut work = TaskWork::Append(left, RequestBody::new(body, 0));
        work.charge(&self.network.broker);
        self.start_task(number, requester, work);
        None
    }

    /// Another thread has worked on a request.
    pub fn task_done(&mut self, number: u64, result: TaskResult) -> Option<Completion> {
        let Some(operation) = self.operations.request(number) else {
            if let TaskResult::Delayed(delayed) = result {
                self.forget_in_task(number, delayed);
            }
            return None;
        };
        let connection = operation.requester.connection;
        match result {
            TaskResult::Answer(answer) => self.finish(number, answer),
            TaskResult::Silent => self.finish(number, Outbox::default()),
            TaskResult::Close(reason) => Some(Effect::Close(Some(reason)).on(connection)),
            TaskResult::Delayed(delayed) => self.resume_delayed(number, delayed),
            TaskResult::Control { api, request, kept } => {
                self.hand_to_control(number, api, request, kept);
                None
            }
        }
    }

    /// Parks a delayed answer that another thread began. If its wake-up came before it arrived here, it is tried again
    /// at once; a timer whose deadline is over rings in the next turn.
    fn resume_delayed(&mut self, number: u64, delayed: Box<dyn Delayed>) -> Option<Completion> {
        let ParkedOperation { requester, parked } = self.operations.request(number)?;
        let is_woken = matches!(parked, Parked::Task(handle) if handle.is_woken);
        let (connection, deadline, mutes) = (requester.connection, delayed.deadline(), delayed.mutes());
        *parked = Parked::Delayed(delayed);
        self.operations.wake_at(number, deadline);
        let completion = if is_woken {
            self.try_operation(number, false)
        } else {
            None
        };
        if completion.is_some() || mutes {
            return completion;
        }
        Some(Effect::Unmute(number).on(connection))
    }

    /// Ends, on another thread, the watching of a delayed answer whose client has gone.
    fn forget_in_task(&self, number: u64, delayed: Box<dyn Delayed>) {
        let handle = TaskHandle::default();
        handle.is_gone.store(true, Ordering::Release);
        let nobody = Requester {
            connection: ConnectionRef { key: 0, id: 0 },
            framing: Framing::default(),
            client: Arc::new(ClientInfo::nobody()),
        };
        let work = TaskWork::Try(delayed, false);
        RequestTask::new(&self.network.broker, &self.mailbox, number, &nobody, &handle, work).submit();
    }

    // ---- the end

    /// A connection is gone: nobody waits for its answers.
    pub fn forget(&mut self, connection: &Connection) {
        for number in connection.waiting() {
            match self.operations.take(number).map(|operation| operation.parked) {
                Some(Parked::Delayed(delayed)) if delayed.is_large() => self.forget_in_task(number, delayed),
                Some(Parked::Delayed(delayed)) => delayed.forget(&self.mailbox.waiter(number)),
                Some(Parked::Task(handle)) => handle.is_gone.store(true, Ordering::Release),
                Some(Parked::Control { .. }) => self.report_abandoned(number),
                Some(Parked::Refusal(_)) | None => {}
            }
        }
    }

    /// The client of these operations sends no more: the control plane need not go on with its requests.
    pub fn note_ended(&mut self, numbers: Vec<u64>) {
        for number in numbers {
            let parked = self.operations.request(number).map(|operation| &operation.parked);
            if matches!(parked, Some(Parked::Control { .. })) {
                self.report_abandoned(number);
            }
        }
    }

    fn report_abandoned(&self, token: u64) {
        self.network.broker.events().push(Event::RequestAbandoned { token });
    }

    /// Numbers of all operations, for the end.
    pub fn numbers(&self) -> Vec<u64> {
        self.operations.numbers()
    }

    /// Whether an operation is answered with what there is as soon as the loops drain.
    pub fn ends_early(&mut self, number: u64) -> bool {
        let parked = self.operations.request(number).map(|operation| &operation.parked);
        matches!(parked, Some(Parked::Delayed(delayed)) if delayed.ends_early())
    }
}

/// Holds the connection back for the `throttle_time_ms` that the control plane has set (a quota of controller
/// mutations), or for the longer time of the quota of request time.
fn hold_control_answer(requester: &Requester, body: &mut [u8], connections: &Connections) {
    let Some(at) = requester.framing.throttle_at else {
        return;
    };
    let now = Instant::now();
    let by_control = throttle_time(body, at);
    if by_control > 0
        && let Some(connection) = connections.get(requester.connection)
    {
        let time = Duration::from_millis(u64::from(by_control.unsigned_abs()));
        connection.held_back.hold_back(time, now);
    }
    if let Some(quotas) = &requester.client.quotas {
        let by_time = quotas.throttle_requests(now);
        if by_time > by_control {
            set_throttle_time(body, at, by_time);
        }
    }
}
