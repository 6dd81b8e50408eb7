//! A loop's parked operations and their timers.
//!
//! Every operation is answered at most once: by an event or by its deadline; it is not answered when its connection is
//! gone. Timers of operations that completed early stay in the heap until they are due, and then find nothing.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use super::elsewhere::{Away, Body};
use super::mailbox::ConnectionRef;
use super::outbox::Outbox;
use base::error::ErrorCode;
use base::place::Offset;
use broker::{AppendDone, Awaited, ClientInfo, Delayed, Partition};

/// How an answer is framed.
#[derive(Debug, Clone, Copy)]
pub struct Framing {
    /// The client's correlation id.
    pub correlation_id: i32,
    /// Whether the response header has tagged fields.
    pub is_flexible: bool,
    /// Where the body has `throttle_time_ms`, when that can be set afterwards.
    pub throttle_at: Option<u8>,
}

/// A control-plane append that waits.
pub struct ParkedAppend {
    /// Its number, chosen by the caller's side for this loop.
    pub operation: u64,
    /// The partition of the append.
    pub partition: Arc<Partition>,
    /// What the append waits for: replicas, a flush.
    pub awaited: Awaited,
    /// When it is answered at the latest.
    pub deadline: Instant,
    /// The answer when the append succeeds.
    pub done: AppendDone,
}

impl ParkedAppend {
    /// The answer, when the append has succeeded, failed or timed out; else `None`.
    pub fn outcome(&self, is_due: bool) -> Option<AppendDone> {
        let failed = |code, message| AppendDone {
            code,
            message: Some(message),
            base_offset: Offset::NONE,
            last_offset: Offset::NONE,
            ..self.done.clone()
        };
        match self.partition.is_satisfied(self.awaited) {
            Ok(true) => Some(self.done.clone()),
            Ok(false) if is_due => {
                let message = "the append was not replicated in time".to_owned();
                Some(failed(ErrorCode::REQUEST_TIMED_OUT, message))
            }
            Ok(false) => None,
            Err(error) => Some(failed(error.code(), error.to_string())),
        }
    }
}

/// The parked state of an operation.
pub enum Parked {
    /// A delayed answer.
    Delayed(Box<dyn Delayed>),
    /// The answer to a proof that failed: sent at the deadline, and then the connection ends.
    Refusal(Outbox),
    /// A request that is served on another thread.
    Away(Away),
    /// A request that the control plane serves; the body is kept for APIs whose requests may be handed back.
    Control {
        /// API key.
        api_key: i16,
        /// API version.
        api_version: i16,
        /// The body, for APIs that may be handed back.
        body: Option<Body>,
    },
}

/// A parked request of a connection.
pub struct Operation {
    /// The connection that waits for the answer.
    pub connection: ConnectionRef,
    /// How the answer is framed.
    pub framing: Framing,
    /// The client that sent the request.
    pub client: Arc<ClientInfo>,
    /// What the operation waits for.
    pub parked: Parked,
}

/// All parked operations of one loop.
pub struct Operations {
    next: u64,
    step: u64,
    requests: HashMap<u64, Operation>,
    appends: HashMap<u64, Box<ParkedAppend>>,
    timers: BinaryHeap<Reverse<(Instant, u64)>>,
}

impl Operations {
    /// Operations of loop `index` of `loops`: their numbers tell the loop (`number % loops`).
    pub fn new(index: usize, loops: usize) -> Self {
        Self {
            next: index as u64 + loops as u64,
            step: loops as u64,
            requests: HashMap::new(),
            appends: HashMap::new(),
            timers: BinaryHeap::new(),
        }
    }

    /// A fresh number.
    pub fn number(&mut self) -> u64 {
        self.next += self.step;
        self.next
    }

    /// How many requests are parked.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Parks a request; `deadline` sets its timer.
    pub fn park(&mut self, number: u64, operation: Operation, deadline: Option<Instant>) {
        self.requests.insert(number, operation);
        if let Some(deadline) = deadline {
            self.timers.push(Reverse((deadline, number)));
        }
    }

    /// Sets a timer for an operation that is parked already.
    pub fn wake_at(&mut self, number: u64, deadline: Instant) {
        self.timers.push(Reverse((deadline, number)));
    }

    /// Parks an append.
    pub fn park_append(&mut self, append: Box<ParkedAppend>) {
        self.timers.push(Reverse((append.deadline, append.operation)));
        self.appends.insert(append.operation, append);
    }

    /// A parked request.
    pub fn request(&mut self, number: u64) -> Option<&mut Operation> {
        self.requests.get_mut(&number)
    }

    /// Takes a request out: it is being answered, or its connection is gone.
    pub fn take(&mut self, number: u64) -> Option<Operation> {
        self.requests.remove(&number)
    }

    /// A parked append.
    pub fn append(&self, number: u64) -> Option<&ParkedAppend> {
        self.appends.get(&number).map(Box::as_ref)
    }

    /// Takes an append out.
    pub fn take_append(&mut self, number: u64) -> Option<Box<ParkedAppend>> {
        self.appends.remove(&number)
    }

    /// The next deadline.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.timers.peek().map(|Reverse((at, _))| *at)
    }

    /// The number of an operation that is due, if any; its timer is spent. The timer of an answer whose deadline was
    /// put off is set anew.
    pub fn pop_due(&mut self, now: Instant) -> Option<u64> {
        while self.next_deadline()? <= now {
            let Reverse((_, number)) = self.timers.pop()?;
            match self.requests.get(&number).map(|operation| &operation.parked) {
                Some(Parked::Delayed(delayed)) if delayed.deadline() > now => {
                    let deadline = delayed.deadline();
                    self.wake_at(number, deadline);
                }
                _ => return Some(number),
            }
        }
        None
    }

    /// Numbers of all parked requests and appends, for the end.
    pub fn numbers(&self) -> Vec<u64> {
        self.requests.keys().chain(self.appends.keys()).copied().collect()
    }
}

#[cfg(test)]
#[path = "operations_tests.rs"]
mod tests;
