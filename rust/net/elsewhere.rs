//! Requests that a network loop leaves: they are served on a request thread (`broker::RequestThreads`), or on a disk thread when all
//! that they need is what is not in memory, and their answers come back by mail.
//!
//! The loop keeps an [`Away`] in the operation's place, and the connection waits as it does for the control plane. A task
//! looks at every step whether its connection is still there. A produce goes on in slices, each behind the tasks of others; so
//! that what its client has sent with acks=0 before it closed is appended all the same. Nothing here is served twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::dispatch::{self, Completion, Refused};
use super::mailbox::{Mailbox, Message};
use super::operations::Framing;
use super::outbox::Outbox;
use crate::broker::{
    Broker, Budget, Caller, Charge, ClientInfo, FetchOutcome, FetchScratch, LeftProduce, ListOffsetsOutcome,
    MetadataOutcome, ParkedFetch, ParkedProduce, Place, ProduceOutcome, Waiter, Wake,
};
use crate::wire::{ApiTable, WireError};

/// A request's body in the bytes that it came in.
pub struct Body {
    bytes: Vec<u8>,
    at: usize,
    charge: Option<Charge>,
}

impl Body {
    /// What follows position `at`.
    pub fn new(bytes: Vec<u8>, at: usize) -> Self {
        Self {
            bytes,
            at,
            charge: None,
        }
    }

    /// Counts it among the requests that wait.
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

    fn get_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.at..).unwrap_or_default()
    }
}

/// What a loop remembers of a request that is served elsewhere.
#[derive(Default)]
pub struct Away {
    /// Told to the task when its connection is gone.
    pub gone: Arc<AtomicBool>,
    /// What the operation waits for may have come meanwhile.
    pub is_woken: bool,
    /// Its time was up meanwhile.
    pub is_due: bool,
    /// Of the broker's unsent bytes: about what its answer will be.
    pub expected: Option<Charge>,
}

impl Away {
    /// Counts an answer of half as much again as the request, among the unsent ones: a row of a fetch or of a lookup is answered by more
    /// bytes than it has. A produce's answer is small.
    pub fn expect_answer(&mut self, request_bytes: usize, errand: &Errand, unsent: &Arc<Budget>) {
        if !matches!(errand, Errand::Produce(_)) {
            let mut charge = unsent.account();
            charge.set(request_bytes / 2 * 3);
            self.expected = Some(charge);
        }
    }
}

/// What is to be done.
pub enum Errand {
    /// The batches that are left.
    Produce(Box<LeftProduce>),
    /// A fetch from the start.
    Fetch,
    /// A parked one, or one that waits for the disk: whether it is due.
    TryFetch(Box<ParkedFetch>, bool),
    /// Metadata, and whether the control plane may be asked to create topics.
    Metadata(bool),
    /// Offsets.
    ListOffsets,
}

/// What became of it.
pub enum Returned {
    /// The whole response.
    Answer(Outbox),
    /// acks=0: nothing is sent.
    Silent,
    /// Appended; it waits for replicas or the disk.
    Produce(Box<ParkedProduce>),
    /// It waits for more bytes.
    Fetch(Box<ParkedFetch>),
    /// The control plane serves this body first; the request comes back with it.
    Control { request: Vec<u8>, version: i16, body: Body },
    /// The connection is to be closed.
    Refused(Refused),
}

/// A request on its way.
pub struct Task {
    /// The data plane's state.
    pub broker: Arc<Broker>,
    /// The loop that it came from.
    pub mailbox: Arc<Mailbox>,
    /// The operation's number there.
    pub number: u64,
    /// How to answer.
    pub framing: Framing,
    /// The API's version.
    pub version: i16,
    /// Who asks.
    pub client: Arc<ClientInfo>,
    /// See [`Away`].
    pub is_gone: Arc<AtomicBool>,
    /// The request; nothing for a parked one.
    pub body: Body,
    /// What is to be done.
    pub errand: Errand,
}

impl Task {
    /// Queues it.
    pub fn submit(self) {
        let broker = Arc::clone(&self.broker);
        let threads = &broker.request_threads;
        match &self.errand {
            Errand::Produce(left) if left.is_large() => threads.inflate.submit(move || self.run_produce()),
            Errand::Produce(_) => threads.produce.submit(move || self.run_produce()),
            // It was left because it waits for the disk.
            Errand::TryFetch(parked, _) if !parked.is_large() => broker.workers.submit(move || self.run_read()),
            _ => threads.read.submit(move || self.run_read()),
        }
    }

    fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }

    fn post(&self, returned: Returned) {
        self.mailbox.post(Message::Returned(self.number, Box::new(returned)));
    }

    fn run_produce(mut self) {
        let Errand::Produce(mut left) = self.errand else { return };
        if left.is_answered() && self.is_gone.load(Ordering::Acquire) {
            return;
        }
        if !left.run(&self.broker, self.body.get_mut(), wall_clock_ms()) {
            self.errand = Errand::Produce(left);
            return self.submit();
        }
        let mut answer = Outbox::default();
        let out = answer.tail();
        let start = dispatch::begin(out, self.framing);
        let outcome = left.finish(&self.broker, &self.client.listener, self.body.get(), out);
        let returned = match outcome {
            ProduceOutcome::Parked(parked) => Returned::Produce(parked),
            ProduceOutcome::Disconnect => Returned::Refused(Refused::SilentFailure),
            ProduceOutcome::Silent | ProduceOutcome::Left(_) => Returned::Silent,
            ProduceOutcome::Answered => {
                dispatch::finish(out, start, 0);
                Returned::Answer(answer)
            }
        };
        self.mailbox.post(Message::Returned(self.number, Box::new(returned)));
    }

    fn run_read(mut self) {
        let errand = std::mem::replace(&mut self.errand, Errand::Fetch);
        if let Errand::TryFetch(parked, is_due) = errand {
            return self.try_fetch(parked, is_due);
        }
        if self.is_gone() {
            return;
        }
        let api_key = match errand {
            Errand::Metadata(_) => ApiTable::METADATA,
            Errand::ListOffsets => ApiTable::LIST_OFFSETS,
            _ => ApiTable::FETCH,
        };
        let served = match errand {
            Errand::Metadata(may_hand_over) => self.metadata(may_hand_over),
            Errand::ListOffsets => self.list_offsets(),
            _ => self.fetch(),
        };
        match served {
            Ok(Some(returned)) => self.post(returned),
            Ok(None) => {}
            Err(error) => self.post(Returned::Refused(Refused::Malformed(api_key, self.version, error))),
        }
    }

    fn metadata(&mut self, may_hand_over: bool) -> Result<Option<Returned>, WireError> {
        let mut answer = Outbox::default();
        let out = answer.tail();
        let start = dispatch::begin(out, self.framing);
        let place = (Place::Elsewhere, may_hand_over);
        let (version, body) = (self.version, self.body.get());
        match crate::broker::metadata(&self.broker, version, &self.client.listener, body, place, out)? {
            MetadataOutcome::HandedOver(request) => {
                let body = std::mem::replace(&mut self.body, Body::new(Vec::new(), 0));
                return Ok(Some(Returned::Control { request, version, body }));
            }
            MetadataOutcome::Shared(body) => dispatch::finish_shared(&mut answer, start, body),
            MetadataOutcome::Answered | MetadataOutcome::Left => dispatch::finish(out, start, 0),
        }
        Ok(Some(Returned::Answer(answer)))
    }

    fn list_offsets(&self) -> Result<Option<Returned>, WireError> {
        let mut answer = Outbox::default();
        let out = answer.tail();
        let start = dispatch::begin(out, self.framing);
        let body = self.body.get();
        match crate::broker::list_offsets(&self.broker, self.version, body, Place::Elsewhere, out)? {
            ListOffsetsOutcome::Answered | ListOffsetsOutcome::Left => dispatch::finish(out, start, 0),
            ListOffsetsOutcome::Lookup(lookup) => {
                lookup.run(&self.broker);
                lookup.encode_if_done(&mut |body| out.extend_from_slice(body));
                dispatch::finish(out, start, 0);
            }
        }
        Ok(Some(Returned::Answer(answer)))
    }

    fn fetch(&mut self) -> Result<Option<Returned>, WireError> {
        let mut answer = Outbox::default();
        let out = answer.tail();
        let start = dispatch::begin(out, self.framing);
        let caller = Caller {
            listener: &self.client.listener,
            may_write_internal: false,
            is_broker: self.client.is_broker,
        };
        let place = (Place::Elsewhere, Instant::now());
        let mut scratch = FetchScratch::default();
        let (version, body) = (self.version, self.body.get());
        match crate::broker::fetch(&self.broker, version, caller, body, &mut scratch, place, out)? {
            FetchOutcome::Answered(splices) => dispatch::finish_with_files(&mut answer, start, splices),
            FetchOutcome::Left | FetchOutcome::Cold(..) => dispatch::finish(out, start, 0),
            FetchOutcome::Parked(parked) => {
                self.body = Body::new(Vec::new(), 0);
                let waiter = self.waiter();
                return Ok(self.watch(parked, &waiter));
            }
        }
        Ok(Some(Returned::Answer(answer)))
    }

    fn try_fetch(&self, parked: Box<ParkedFetch>, is_due: bool) {
        let waiter = self.waiter();
        parked.forget(&waiter);
        if self.is_gone() {
            return;
        }
        let returned = match self.complete(&parked, is_due) {
            Some(answer) => Some(Returned::Answer(answer)),
            None => self.watch(parked, &waiter),
        };
        if let Some(returned) = returned {
            self.post(returned);
        }
    }

    /// Watches, and tries once more; nothing when nobody waits for it any more.
    fn watch(&self, parked: Box<ParkedFetch>, waiter: &Waiter) -> Option<Returned> {
        parked.watch(waiter);
        let answer = self.complete(&parked, false);
        if answer.is_some() || self.is_gone() {
            parked.forget(waiter);
            return answer.map(Returned::Answer);
        }
        Some(Returned::Fetch(parked))
    }

    fn complete(&self, parked: &ParkedFetch, is_due: bool) -> Option<Outbox> {
        let mut answer = Outbox::default();
        let (listener, place) = (&self.client.listener, (Place::Elsewhere, Instant::now()));
        let tried = dispatch::complete_fetch(parked, self.framing, listener, is_due, &self.broker, place, &mut answer);
        (tried == Completion::Answered).then_some(answer)
    }

    fn waiter(&self) -> Waiter {
        Waiter {
            owner: Arc::clone(&self.mailbox) as Arc<dyn Wake>,
            operation: self.number,
        }
    }
}

fn wall_clock_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}
