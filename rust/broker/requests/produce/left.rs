//! A produce that is too much for a network loop, or whose verification has just been answered: another thread appends
//! its batches, slice by slice.

use std::time::Instant;

use super::appending::Appending;
use super::authorized::Unauthorized;
use super::parked::{Wait, park};
use super::unverified::Unverified;
use super::verification::{Stage, Verdicts, Verification};
use super::{Ending, encode, unanswered};
use crate::Broker;
use crate::requests::api::{Errand, Rest, Served};
use crate::requests::caller::Caller;
use protocol::{ProduceRequest, ProduceResult};
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
pub struct LeftProduce {
    version: i16,
    /// The size of the request.
    frame_bytes: usize,
    may_write_internal: bool,
    unauthorized: Unauthorized,
    request: ProduceRequest,
    results: Vec<ProduceResult>,
    waits: Vec<Wait>,
    listed: usize,
    little: Room,
    room: Room,
    is_large: bool,
    /// When the answer is due.
    pub(super) deadline: Instant,
    /// How far the verification of the transactional batches is; no batch is appended before it is settled.
    stage: Stage,
}

impl LeftProduce {
    /// A request of `body_bytes`; `results` has one result for each batch that is appended already.
    pub(super) fn new(
        (version, may_write_internal, unauthorized): (i16, bool, Unauthorized),
        request: ProduceRequest,
        results: Vec<ProduceResult>,
        (waits, listed): (Vec<Wait>, usize),
        deadline: Instant,
        (body_bytes, frame_bytes): (usize, usize),
    ) -> Self {
        let inflated = INFLATED_BYTES.saturating_add(body_bytes.saturating_mul(INFLATED_RATIO));
        Self {
            version,
            frame_bytes,
            may_write_internal,
            unauthorized,
            request,
            results,
            waits,
            listed,
            little: Room::little(LITTLE_BYTES),
            room: Room::of_request(inflated),
            is_large: false,
            deadline,
            stage: Stage::Unbegun,
        }
    }

    /// Leaves the request: to another thread, or until its verification is answered.
    pub(super) fn leave(mut self, stage: Stage, broker: &Broker, body: &[u8]) -> Served {
        match stage {
            Stage::Pending(pending) => Served::Delayed(Box::new(Unverified::new(self, pending, broker, body))),
            other => {
                self.stage = other;
                Served::Elsewhere(Errand::Append(Box::new(self)))
            }
        }
    }

    /// Notes that every row has its verdict.
    pub(super) fn settle(&mut self, verdicts: Verdicts) {
        self.stage = Stage::Settled(verdicts);
    }

    /// Whether the client expects an answer.
    pub fn is_answered(&self) -> bool {
        self.request.acks != 0
    }

    /// Whether this request has inflated more than other requests should wait for: the rest of it goes on among the
    /// large ones.
    pub fn is_large(&self) -> bool {
        self.is_large
    }

    /// Appends the next slice; true when all batches are appended, or when the transaction coordinator must answer
    /// first: then [`Self::finish`] returns an answer that waits. `body` is the body that the request was decoded from.
    pub fn run(&mut self, broker: &Broker, body: &mut [u8], (now, now_ms): (Instant, i64)) -> bool {
        if matches!(self.stage, Stage::Unbegun) {
            let verification = Verification {
                broker,
                version: self.version,
                may_write_internal: self.may_write_internal,
                unauthorized: &self.unauthorized,
                request: &self.request,
                body,
            };
            self.stage = verification.begin((now, now_ms));
        }
        let Stage::Settled(verdicts) = &self.stage else {
            return true;
        };
        let mut appending = Appending {
            broker,
            version: self.version,
            may_write_internal: self.may_write_internal,
            now_ms,
            request: &self.request,
            unauthorized: &self.unauthorized,
            verdicts,
            results: &mut self.results,
            waits: &mut self.waits,
            listed: &mut self.listed,
        };
        if self.is_large {
            return appending.append_slice(body, &mut self.room) == Some(true);
        }
        let is_last = appending.append_slice(body, &mut self.little);
        self.is_large = is_last.is_none();
        is_last == Some(true)
    }

    /// The outcome of the request, after [`Self::run`] has returned true.
    pub fn finish(
        mut self,
        broker: &Broker,
        (caller, now): (Caller<'_>, Instant),
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Served {
        let stage = std::mem::replace(&mut self.stage, Stage::Unbegun);
        if !matches!(stage, Stage::Settled(_)) {
            return self.leave(stage, broker, body);
        }
        let ending = Ending {
            caller,
            frame_bytes: self.frame_bytes,
            now,
        };
        if self.request.acks == 0 {
            return unanswered(ending, &self.results);
        }
        if !self.waits.is_empty() {
            let parked = park(
                (self.version, self.frame_bytes),
                body,
                self.request,
                self.results,
                self.waits,
                self.deadline,
            );
            return Served::Delayed(Box::new(parked));
        }
        encode(broker, self.version, ending, body, &self.request, &self.results, out);
        Served::Answered(Rest::Nothing)
    }
}
