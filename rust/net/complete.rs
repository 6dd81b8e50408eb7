//! A loop's completions: what other threads tell it, and what comes due (spec: R0.8).
//!
//! Every parked operation is answered exactly once: taking it out of the table is the decision.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::dispatch::{self, Completion};
use super::elsewhere::{Away, Body, Errand, Returned, Task};
use super::mailbox::{ConnectionRef, Message};
use super::operations::{Framing, Parked};
use super::outbox::Outbox;
use super::reactor::Reactor;
use super::serve::{Closed, Refusal};
use crate::broker::{ClientInfo, Event, MetadataOutcome, ParkedFetch, Place, WaitKind, Waiter, Wake};
use crate::wire::ApiTable;

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
            Message::Accepted { socket, listener } => self.adopt(socket, listener),
            Message::Moved(connection) => self.take_over(*connection),
            Message::Wake(number) => self.try_operation(number, false),
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

    /// Completes an operation if it can be; `is_due` completes it whatever there is.
    pub(super) fn try_operation(&mut self, number: u64, is_due: bool) {
        if self.operations.append(number).is_some() {
            return self.try_append(number, is_due);
        }
        let waiter = self.waiter(number);
        let now = Instant::now();
        let Some(operation) = self.operations.request(number) else {
            return;
        };
        let (reference, framing) = (operation.connection, operation.framing);
        match &mut operation.parked {
            Parked::Away(away) => {
                away.is_woken = true;
                away.is_due |= is_due;
                return;
            }
            Parked::Fetch(parked) if parked.is_large() => return self.send_away(number, is_due),
            _ => {}
        }
        let Some(connection) = self.connections.get(reference.key) else {
            return;
        };
        let listener = Arc::clone(&connection.client.listener);
        let broker = &self.shared.broker;
        let mut answer = Outbox::default();
        let is_answered = match &mut operation.parked {
            Parked::Fetch(parked) => {
                parked.forget(&waiter);
                let mut try_once = || {
                    let place = (Place::Loop, now);
                    dispatch::complete_fetch(parked, framing, &listener, is_due, broker, place, &mut answer)
                };
                let mut tried = try_once();
                if tried == Completion::Waits {
                    parked.watch(&waiter);
                    tried = try_once();
                }
                if tried == Completion::Cold {
                    parked.forget(&waiter);
                    return self.send_away(number, is_due);
                }
                tried == Completion::Answered
            }
            Parked::Produce(parked) => {
                parked.forget(&waiter);
                let is_done = parked.poll() || is_due || {
                    parked.watch(&waiter);
                    parked.poll()
                };
                if is_done {
                    parked.forget(&waiter);
                    parked.expire();
                    let out = answer.tail();
                    let start = dispatch::begin(out, framing);
                    parked.encode(broker, &listener, out);
                    dispatch::finish(out, start, 0);
                }
                is_done
            }
            Parked::Lookup(lookup) => lookup.encode_if_done(&mut |body| {
                let out = answer.tail();
                let start = dispatch::begin(out, framing);
                out.extend_from_slice(body);
                dispatch::finish(out, start, 0);
            }),
            Parked::Control { .. } | Parked::Away(_) => false,
        };
        if is_answered {
            if let Some(Parked::Fetch(parked)) = self.operations.take(number).map(|o| o.parked) {
                parked.forget(&waiter);
            }
            self.fill(reference, number, answer);
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
        let Some(body) = body else {
            if self.find(operation.connection) {
                self.close(operation.connection.key);
            }
            return;
        };
        let mut answer = Outbox::default();
        let out = answer.tail();
        let start = dispatch::begin(out, operation.framing);
        dispatch::finish(out, start, body.len());
        answer.push_bytes(body);
        self.fill(operation.connection, number, answer);
    }

    /// Answers a Metadata request from the image, after the control plane created what was missing.
    fn serve_here(&mut self, number: u64) {
        let Some(mut operation) = self.operations.take(number) else {
            return;
        };
        let Parked::Control {
            api_key: ApiTable::METADATA,
            api_version,
            body: Some(body),
        } = operation.parked
        else {
            return;
        };
        let Some(connection) = self.connections.get(operation.connection.key) else {
            return;
        };
        let (broker, listener) = (&self.shared.broker, Arc::clone(&connection.client.listener));
        let mut answer = Outbox::default();
        let out = answer.tail();
        let start = dispatch::begin(out, operation.framing);
        match crate::broker::metadata(broker, api_version, &listener, body.get(), (Place::Loop, false), out) {
            Ok(MetadataOutcome::Left) => {
                let (framing, away) = (operation.framing, Away::default());
                let client = Arc::clone(&connection.client);
                let task = self.task(
                    (number, framing),
                    client,
                    &away,
                    api_version,
                    body,
                    Errand::Metadata(false),
                );
                operation.parked = Parked::Away(away);
                self.operations.park(number, operation, None);
                return task.submit();
            }
            Ok(MetadataOutcome::Shared(body)) => dispatch::finish_shared(&mut answer, start, body),
            Ok(_) => dispatch::finish(out, start, 0),
            Err(_) => return self.close(operation.connection.key),
        }
        self.fill(operation.connection, number, answer);
    }

    fn task(
        &self,
        (number, framing): (u64, Framing),
        client: Arc<ClientInfo>,
        away: &Away,
        version: i16,
        body: Body,
        errand: Errand,
    ) -> Task {
        Task {
            broker: Arc::clone(&self.shared.broker),
            mailbox: Arc::clone(&self.mailbox),
            number,
            framing,
            version,
            client,
            is_gone: Arc::clone(&away.gone),
            body,
            errand,
        }
    }

    /// Has a parked fetch looked after elsewhere: a large one, or one that waits for the disk.
    fn send_away(&mut self, number: u64, is_due: bool) {
        let Some(operation) = self.operations.request(number) else {
            return;
        };
        let (reference, framing, away) = (operation.connection, operation.framing, Away::default());
        let is_gone = Arc::clone(&away.gone);
        let parked = std::mem::replace(&mut operation.parked, Parked::Away(away));
        let client = self.connections.get(reference.key).map(|c| Arc::clone(&c.client));
        if let Parked::Fetch(parked) = parked {
            self.try_elsewhere(number, framing, parked, is_due, client.map(|client| (client, is_gone)));
        }
    }

    /// `client` is nobody when the connection is gone: then the fetch only stops watching.
    pub(super) fn try_elsewhere(
        &self,
        number: u64,
        framing: Framing,
        parked: Box<ParkedFetch>,
        is_due: bool,
        client: Option<(Arc<ClientInfo>, Arc<AtomicBool>)>,
    ) {
        let (client, is_gone) =
            client.unwrap_or_else(|| (Arc::new(ClientInfo::nobody()), Arc::new(AtomicBool::new(true))));
        let away = Away {
            gone: is_gone,
            ..Away::default()
        };
        let (nothing, errand) = (Body::new(Vec::new(), 0), Errand::TryFetch(parked, is_due));
        self.task((number, framing), client, &away, 0, nothing, errand).submit();
    }

    fn on_returned(&mut self, number: u64, returned: Returned) {
        let Some(operation) = self.operations.request(number) else {
            if let Returned::Fetch(parked) = returned {
                let framing = Framing {
                    correlation_id: 0,
                    is_flexible: false,
                };
                self.try_elsewhere(number, framing, parked, false, None);
            }
            return;
        };
        let reference = operation.connection;
        let (is_woken, is_due) = match &operation.parked {
            Parked::Away(away) => (away.is_woken, away.is_due),
            _ => (false, false),
        };
        match returned {
            Returned::Answer(answer) => self.finish(reference, number, answer),
            Returned::Silent => self.finish(reference, number, Outbox::default()),
            Returned::Refused(refused) => {
                self.log_refusal(reference.key, &Closed::Refused(Refusal::Request(refused)));
                self.close(reference.key);
            }
            Returned::Fetch(parked) => {
                let deadline = parked.deadline;
                operation.parked = Parked::Fetch(parked);
                self.operations.wake_at(number, deadline);
                if is_woken || is_due {
                    self.try_operation(number, is_due);
                }
            }
            Returned::Produce(parked) => {
                parked.watch(&Waiter {
                    owner: Arc::clone(&self.mailbox) as Arc<dyn Wake>,
                    operation: number,
                });
                self.operations.wake_at(number, parked.deadline);
                if let Some(operation) = self.operations.request(number) {
                    operation.parked = Parked::Produce(parked);
                }
                if let Some(connection) = self.connections.get_mut(reference.key) {
                    connection.unmute(number);
                }
                self.try_operation(number, false);
                self.proceed(reference);
            }
            Returned::Control { request, version, body } => self.hand_to_control(number, version, request, body),
        }
    }

    fn finish(&mut self, reference: ConnectionRef, number: u64, answer: Outbox) {
        self.operations.take(number);
        self.fill(reference, number, answer);
    }

    /// A Metadata request that the control plane serves first.
    fn hand_to_control(&mut self, number: u64, api_version: i16, request: Vec<u8>, body: Body) {
        let Some(operation) = self.operations.request(number) else {
            return;
        };
        let (reference, framing) = (operation.connection, operation.framing);
        let Parked::Away(_) = &operation.parked else { return };
        operation.parked = Parked::Control {
            api_key: ApiTable::METADATA,
            api_version,
            body: Some(body),
        };
        if let Some(connection) = self.connections.get(reference.key) {
            let api = (ApiTable::METADATA, api_version, None);
            let client = Arc::clone(&connection.client);
            dispatch::push_control(&self.shared.broker, (number, framing), api, client, request);
        }
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
