//! A produce that is too much for a network loop, or whose verification has just been answered: another thread appends
//! its batches, slice by slice.

use std::time::Instant;

use super::answer::{Ending, encode, unanswered};
use super::appending::Appending;
use super::authorized::Unauthorized;
use super::parked::ProduceProgress;
use super::unverified::Unverified;
use super::verification::{Stage, Verdicts, Verification};
use crate::Broker;
use crate::requests::api::{BodyTail, Handover, Served, SlicedProduce};
use crate::requests::caller::Caller;
use record::Room;

/// The most that the batches of one request inflate to where they must be inflated, beyond [`INFLATED_RATIO`] times its
/// bytes.
const INFLATED_BYTES: usize = 256 << 20;
/// See [`INFLATED_BYTES`]; records seldom shrink more.
const INFLATED_RATIO: usize = 20;
/// The bytes that a request inflates on the threads for small produces; the threads for large produces do the rest. A
/// full batch of a producer's own settings inflates to less.
const LITTLE_BYTES: usize = 1 << 20;

/// See the module. When it is dropped, its remaining batches are not appended and the client gets no answer.
pub(super) struct LeftProduce {
    progress: ProduceProgress,
    /// Records at fault that the results list.
    listed: usize,
    may_write_internal: bool,
    unauthorized: Unauthorized,
    little: Room,
    room: Room,
    is_large: bool,
    /// How far the verification of the transactional batches is; no batch is appended before it is settled.
    stage: Stage,
}

impl LeftProduce {
    /// A request of `body_bytes`.
    pub(super) fn new(
        progress: ProduceProgress,
        listed: usize,
        may_write_internal: bool,
        unauthorized: Unauthorized,
        body_bytes: usize,
    ) -> Self {
        let inflated = INFLATED_BYTES.saturating_add(body_bytes.saturating_mul(INFLATED_RATIO));
        Self {
            progress,
            listed,
            may_write_internal,
            unauthorized,
            little: Room::little(LITTLE_BYTES),
            room: Room::of_request(inflated),
            is_large: false,
            stage: Stage::Unbegun,
        }
    }

    /// When the answer is due.
    pub(super) fn deadline(&self) -> Instant {
        self.progress.deadline
    }

    /// Leaves the request: to another thread, or until its verification is answered.
    pub(super) fn leave(mut self, stage: Stage, broker: &Broker, body: &[u8]) -> Served {
        match stage {
            Stage::Pending(pending) => Served::Delayed(Box::new(Unverified::new(self, pending, broker, body))),
            other => {
                self.stage = other;
                Served::Elsewhere(Handover::Append(Box::new(self)))
            }
        }
    }

    /// Notes that every row has its verdict.
    pub(super) fn settle(&mut self, verdicts: Verdicts) {
        self.stage = Stage::Settled(verdicts);
    }
}

impl SlicedProduce for LeftProduce {
    fn is_answered(&self) -> bool {
        self.progress.request.acks != 0
    }

    fn is_large(&self) -> bool {
        self.is_large
    }

    fn run(&mut self, broker: &Broker, body: &mut [u8], now: Instant, now_ms: i64) -> bool {
        if matches!(self.stage, Stage::Unbegun) {
            let verification = Verification {
                broker,
                version: self.progress.version,
                may_write_internal: self.may_write_internal,
                unauthorized: &self.unauthorized,
                request: &self.progress.request,
                body,
            };
            self.stage = verification.begin(now, now_ms);
        }
        let Stage::Settled(verdicts) = &self.stage else {
            return true;
        };
        let mut appending = Appending {
            broker,
            version: self.progress.version,
            may_write_internal: self.may_write_internal,
            now_ms,
            request: &self.progress.request,
            unauthorized: &self.unauthorized,
            verdicts,
            results: &mut self.progress.results,
            waits: &mut self.progress.waits,
            listed: &mut self.listed,
        };
        if self.is_large {
            return appending.append_slice(body, &mut self.room) == Some(true);
        }
        let is_last = appending.append_slice(body, &mut self.little);
        self.is_large = is_last.is_none();
        is_last == Some(true)
    }

    fn finish(
        mut self: Box<Self>,
        broker: &Broker,
        caller: Caller<'_>,
        now: Instant,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Served {
        let stage = std::mem::replace(&mut self.stage, Stage::Unbegun);
        if !matches!(stage, Stage::Settled(_)) {
            return self.leave(stage, broker, body);
        }
        let ending = Ending {
            caller,
            frame_bytes: self.progress.frame_bytes,
            now,
        };
        if self.progress.request.acks == 0 {
            return unanswered(ending, &self.progress.results);
        }
        if !self.progress.waits.is_empty() {
            return Served::Delayed(Box::new(self.progress.park(body)));
        }
        let done = &self.progress;
        encode(broker, done.version, ending, body, &done.request, &done.results, out);
        Served::Answered(BodyTail::Nothing)
    }
}
