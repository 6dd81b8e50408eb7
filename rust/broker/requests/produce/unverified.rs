//! A produce that waits for the transaction coordinator: nothing of it is appended yet (KIP-890).
//!
//! It owns a copy of the request's body, counted in the budget of waiting requests. Once the coordinator has answered,
//! another thread appends all batches in order. Later requests of the connection wait meanwhile, so no batch overtakes.
//! A produce whose client has closed its connection is not appended.

use std::time::Instant;

use super::left::LeftProduce;
use super::verification::Pending;
use crate::Broker;
use crate::requests::api::{Attempt, Delayed, Tried};
use crate::requests::budget::Charge;
use crate::requests::waiters::Waiter;

/// See the module. Dropping it sends no answer: the owner must send one.
pub(super) struct Unverified {
    /// `None` once it was handed on.
    left: Option<Box<LeftProduce>>,
    pending: Pending,
    body: Vec<u8>,
    /// The end of the verification; the produce itself has until the client's timeout.
    deadline: Instant,
    _charge: Charge,
}

impl Unverified {
    pub(super) fn new(left: LeftProduce, pending: Pending, broker: &Broker, body: &[u8]) -> Self {
        let mut charge = broker.queued().account();
        charge.set(body.len());
        Self {
            deadline: pending
                .verifying
                .deadline()
                .map_or(left.deadline(), |own| own.min(left.deadline())),
            left: Some(Box::new(left)),
            pending,
            body: body.to_vec(),
            _charge: charge,
        }
    }
}

impl Delayed for Unverified {
    fn watch(&self, waiter: &Waiter) {
        self.pending.verifying.watch(waiter);
    }

    fn forget(&self, waiter: &Waiter) {
        self.pending.verifying.forget(waiter);
    }

    fn try_complete(&mut self, attempt: &Attempt<'_>, _out: &mut Vec<u8>) -> Tried {
        let Some(answer) = self.pending.poll(attempt) else {
            return Tried::Waits;
        };
        let Some(mut left) = self.left.take() else {
            return Tried::Waits;
        };
        left.settle(self.pending.settle(answer));
        Tried::Append(left, std::mem::take(&mut self.body))
    }

    fn deadline(&self) -> Instant {
        self.deadline
    }
}
