//! A loop's completions: the messages of other threads, and the operations whose deadline has come.
//!
//! Every parked operation is answered exactly once: the code that takes the operation out of the table answers it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::apis;
use super::dispatch::{self, framed, framed_answer, serve_metered};
use super::elsewhere::{Away, Body, Returned, Task, Whole, Work};
use super::mailbox::{ConnectionRef, Message};
use super::operations::{Framing, Operation, Parked};
use super::outbox::Outbox;
use super::reactor::Reactor;
use super::serve::{Closed, Refusal, wall_clock_ms};
use broker::{
    Attempt, ClientInfo, Delayed, Event, LeftProduce, Place, Request, Rest, Served, Tried, WaitKind, Waiter, Wake,
    go_on_waiting,
};
use protocol::throttle_time::{is_exempt, set_throttle_time, throttle_time};

impl Reactor {
    pub(super) fn take_mail(&mut self) {
        let mut mail = std::mem::take(&mut self.mail);
        self.mailbox.take(&mut mail);
        for message in mail.drain(..) {
            self.on_message(message);
        }
        self.mail = mail;
    }

    fn on_message(&mut self, message: Message) {
        match message {
            Message::Accepted {
                socket,
                listener,
                secured,
            } => self.adopt(socket, listener, secured),
            Message::Moved(connection) => self.take_over(*connection),
            Message::Wake(number) => self.try_operation(number, false),
            Message::Spent(number, time) => self.note_spent(number, time),
            Message::Answer(number, body) => self.on_answer(number, body),
            Message::ServeHere(number) => self.serve_here(number),
            Message::Returned(number, returned) => self.on_returned(number, *returned),
            Message::Warmed(reference) => {
                if self.find(reference) {
                    if let Some(connection) = self.connections.get_mut(reference.key) {
                        connection.is_warming = false;
                        connection.outbox.warmed();
                    }
                    if self.send(reference.key) {
                        self.proceed(reference);
                    }
                }
            }
            Message::ParkAppend(append) => {
                let number = append.operation;
                self.operations.park_append(append);
                self.try_operation(number, false);
            }
            Message::Disconnect { id, asks_again } => self.disconnect(id, asks_again),
            Message::Drain(until) => self.drain(until),
        }
    }

    fn disconnect(&mut self, id: u64, asks_again: bool) {
        let found = self
            .connections
            .iter()
            .find(|(_, c)| c.reference.id == id)
            .map(|(k, _)| k);
        match found {
            Some(key) => self.close(key),
            None if asks_again => self.shared.disconnect(id, false),
            None => {}
        }
    }

    pub(super) fn waiter(&self, operation: u64) -> Waiter {
        Waiter {
            owner: Arc::clone(&self.mailbox) as Arc<dyn Wake>,
            operation,
        }
    }

    /// Completes an operation if it can be completed; with `is_due` (its deadline has come) it is completed with
    /// whatever data there is.
    pub(super) fn try_operation(&mut self, number: u64, is_due: bool) {
        if self.operations.append(number).is_some() {
            return self.try_append(number, is_due);
        }
        let waiter = self.waiter(number);
        let Some(operation) = self.operations.request(number) else {
            return;
        };
        let delayed = match &mut operation.parked {
            Parked::Delayed(delayed) if delayed.is_large() => return self.send_away(number, is_due),
            Parked::Delayed(delayed) => delayed,
            Parked::Away(away) => {
                away.is_woken = true;
                return;
            }
            Parked::Refusal(_) if is_due => return self.refuse(number),
            Parked::Control { .. } | Parked::Refusal(_) => return,
        };
        let (reference, framing) = (operation.connection, operation.framing);
        let attempt = Attempt {
            broker: &self.shared.broker,
            caller: operation.client.caller(),
            is_due,
            place: Place::Loop,
            now: Instant::now(),
        };
        let mut answer = std::mem::take(&mut self.unanswered);
        let tried = go_on_waiting(&mut **delayed, &waiter, &mut |delayed| {
            dispatch::try_complete(delayed, &attempt, framing, &mut answer)
        });
        match tried {
            Tried::Answered(_) => return self.finish(reference, number, answer),
            Tried::Cold => self.send_away(number, is_due),
            Tried::Append(left, body) => self.append_away(number, left, body),
            Tried::Waits => {}
        }
        self.unanswered = answer;
    }

    /// Sends the answer to a proof that failed, and closes the connection behind it.
    fn refuse(&mut self, number: u64) {
        let Some(Operation {
            connection: reference,
            parked: Parked::Refusal(refusal),
            ..
        }) = self.operations.take(number)
        else {
            return;
        };
        if self.find(reference)
            && let Some(connection) = self.connections.get_mut(reference.key)
        {
            connection.is_closing = true;
            self.fill(reference, number, refusal);
        }
    }

    fn try_append(&mut self, number: u64, is_due: bool) {
        let waiter = self.waiter(number);
        let Some(append) = self.operations.append(number) else {
            return;
        };
        let waiters = append.partition.waiters();
        waiters.forget(WaitKind::Produce, number, &waiter.owner);
        waiters.watch(WaitKind::Produce, waiter.clone());
        let outcome = append.outcome(is_due);
        if outcome.is_some() {
            waiters.forget(WaitKind::Produce, number, &waiter.owner);
            self.operations.take_append(number);
        }
        if let Some(done) = outcome {
            self.shared.broker.events.push(Event::AppendDone(done));
        }
    }

    fn on_answer(&mut self, number: u64, body: Option<Vec<u8>>) {
        let Some(operation) = self.operations.take(number) else {
            return;
        };
        let Some(mut body) = body else {
            if self.find(operation.connection) {
                self.close(operation.connection.key);
            }
            return;
        };
        self.hold_control_answer(&operation, &mut body);
        let mut answer = Outbox::default();
        let whole: Result<(), ()> = framed(&mut answer, operation.framing, |_| Ok(Rest::Bytes(body)));
        if whole.is_ok() {
            self.fill(operation.connection, number, answer);
        }
    }

    /// Counts the time of the control plane for its client's quota.
    fn note_spent(&mut self, number: u64, time: Duration) {
        if let Some(operation) = self.operations.request(number)
            && let Parked::Control { api_key, .. } = operation.parked
            && !is_exempt(operation.client.is_broker, api_key)
            && let Some(quotas) = &operation.client.quotas
        {
            quotas.note_request_time(time, Instant::now());
        }
    }

    /// Holds the connection back for the `throttle_time_ms` that the control plane has set (a quota of controller
    /// mutations), or for the longer time of the quota of request time.
    fn hold_control_answer(&mut self, operation: &Operation, body: &mut [u8]) {
        let Some(at) = operation.framing.throttle_at else {
            return;
        };
        let now = Instant::now();
        let by_control = throttle_time(body, at);
        if by_control > 0
            && self.find(operation.connection)
            && let Some(connection) = self.connections.get_mut(operation.connection.key)
        {
            let time = Duration::from_millis(u64::from(by_control.unsigned_abs()));
            connection.held_back.hold_back(time, now);
        }
        if let Some(quotas) = &operation.client.quotas {
            let by_time = quotas.throttle_requests(now);
            if by_time > by_control {
                set_throttle_time(body, at, by_time);
            }
        }
    }

    /// Serves a request that went to the control plane first, from the state that the control plane has published
    /// since.
    fn serve_here(&mut self, number: u64) {
        let Some(Operation {
            connection,
            framing,
            client,
            parked:
                Parked::Control {
                    api_key,
                    api_version: version,
                    body: Some(mut body),
                },
        }) = self.operations.take(number)
        else {
            return;
        };
        let Some(api) = apis::find(api_key) else { return };
        let request = Request {
            broker: &self.shared.broker,
            version,
            caller: client.caller(),
            body: body.get_mut(),
            scratch: &mut self.scratch,
            place: Place::Loop,
            may_hand_over: false,
            now_ms: wall_clock_ms(),
            now: Instant::now(),
        };
        let mut answer = Outbox::default();
        let answered = framed_answer(&mut answer, framing, |out| serve_metered(api, request, framing, out));
        match answered {
            Ok(()) => self.fill(connection, number, answer),
            Err(Ok(Served::Elsewhere(errand))) => {
                let work = Work::of(errand, || Whole {
                    api,
                    version,
                    may_hand_over: false,
                    body,
                });
                self.park_away(number, (connection, framing), client, work);
            }
            Err(Ok(Served::Delayed(delayed))) => {
                let deadline = Some(delayed.deadline());
                let operation = Operation {
                    connection,
                    framing,
                    client,
                    parked: Parked::Delayed(delayed),
                };
                self.operations.park(number, operation, deadline);
                self.try_operation(number, false);
            }
            Err(_) => self.close(connection.key),
        }
    }

    /// Hands a request to another thread; `client` waits for the answer.
    fn park_away(
        &mut self,
        number: u64,
        (connection, framing): (ConnectionRef, Framing),
        client: Arc<ClientInfo>,
        work: Work,
    ) {
        let away = Away::default();
        let (broker, mailbox) = (&self.shared.broker, &self.mailbox);
        let task = Task::new(broker, mailbox, (number, framing), Arc::clone(&client), &away, work);
        let operation = Operation {
            connection,
            framing,
            client,
            parked: Parked::Away(away),
        };
        self.operations.park(number, operation, None);
        task.submit();
    }

    /// Hands a delayed answer to another thread: a large answer, or an answer that waits for the disk.
    fn send_away(&mut self, number: u64, is_due: bool) {
        let Some(Operation {
            connection,
            framing,
            client,
            parked: Parked::Delayed(delayed),
        }) = self.operations.take(number)
        else {
            return;
        };
        self.park_away(number, (connection, framing), client, Work::Try(delayed, is_due));
    }

    /// Hands a produce whose verification was answered to another thread.
    fn append_away(&mut self, number: u64, left: Box<LeftProduce>, body: Vec<u8>) {
        let Some(operation) = self.operations.take(number) else {
            return;
        };
        let mut work = Work::Append(left, Body::new(body, 0));
        work.charge(&self.shared.broker);
        let reference = (operation.connection, operation.framing);
        self.park_away(number, reference, operation.client, work);
    }

    /// Ends, on another thread, the watching of a delayed answer whose client has gone.
    pub(super) fn forget_elsewhere(&self, number: u64, delayed: Box<dyn Delayed>) {
        let gone = Away {
            gone: Arc::new(AtomicBool::new(true)),
            ..Away::default()
        };
        let framing = Framing {
            correlation_id: 0,
            is_flexible: false,
            throttle_at: None,
        };
        let (broker, mailbox) = (&self.shared.broker, &self.mailbox);
        let (client, work) = (Arc::new(ClientInfo::nobody()), Work::Try(delayed, false));
        Task::new(broker, mailbox, (number, framing), client, &gone, work).submit();
    }

    fn on_returned(&mut self, number: u64, returned: Returned) {
        let Some(operation) = self.operations.request(number) else {
            if let Returned::Delayed(delayed) = returned {
                self.forget_elsewhere(number, delayed);
            }
            return;
        };
        let reference = operation.connection;
        match returned {
            Returned::Answer(answer) => self.finish(reference, number, answer),
            Returned::Silent => self.finish(reference, number, Outbox::default()),
            Returned::Refused(refused) => {
                self.log_refusal(reference.key, &Closed::Refused(Refusal::Request(refused)));
                self.close(reference.key);
            }
            Returned::Delayed(delayed) => self.on_delayed(number, delayed),
            Returned::Control { api, request, kept } => self.hand_to_control(number, api, request, kept),
        }
    }

    /// Parks a delayed answer that another thread began. If its wake-up came before it arrived here, it is tried again
    /// at once; a timer whose deadline is over rings in the next turn.
    fn on_delayed(&mut self, number: u64, delayed: Box<dyn Delayed>) {
        let Some(operation) = self.operations.request(number) else {
            return;
        };
        let is_woken = matches!(&operation.parked, Parked::Away(away) if away.is_woken);
        let (reference, deadline, mutes) = (operation.connection, delayed.deadline(), delayed.mutes());
        operation.parked = Parked::Delayed(delayed);
        self.operations.wake_at(number, deadline);
        if !mutes && let Some(connection) = self.connections.get_mut(reference.key) {
            connection.unmute(number);
        }
        if is_woken {
            self.try_operation(number, false);
        }
        if !mutes {
            self.proceed(reference);
        }
    }

    fn finish(&mut self, reference: ConnectionRef, number: u64, answer: Outbox) {
        self.operations.take(number);
        self.fill(reference, number, answer);
    }

    /// Hands a request that another thread has begun to the control plane.
    fn hand_to_control(&mut self, number: u64, api: (i16, i16), request: Vec<u8>, kept: Option<Body>) {
        let Some(operation) = self.operations.request(number) else {
            return;
        };
        operation.parked = Parked::Control {
            api_key: api.0,
            api_version: api.1,
            body: kept,
        };
        let (framing, client) = (operation.framing, Arc::clone(&operation.client));
        dispatch::push_control(&self.shared.broker, (number, framing), api, client, request);
    }

    fn fill(&mut self, reference: ConnectionRef, number: u64, answer: Outbox) {
        if !self.find(reference) {
            return;
        }
        if let Some(connection) = self.connections.get_mut(reference.key) {
            connection.last_active = Instant::now();
            connection.fill(number, answer);
        }
        if self.send(reference.key) {
            self.proceed(reference);
        }
    }
}
