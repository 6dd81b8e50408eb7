//! A produce whose batches are appended, and whose answer waits for replicas or for the disk.
//!
//! It keeps the rows and the names of the request, without the records. Each partition's wait ends on its own; the
//! answer leaves when no wait is left, or at the deadline.

use std::sync::Arc;
use std::time::Instant;

use super::{Ending, encode};
use crate::partition::{Awaited, Partition};
use crate::requests::api::{Attempt, Delayed, Rest, Tried};
use crate::requests::waiters::{WaitKind, Waiter};
use base::error::ErrorCode;
use protocol::{ProduceRequest, ProduceResult, TopicKey};

/// A produce that waits. Dropping it sends no answer: the owner must send one.
pub(super) struct ParkedProduce {
    version: i16,
    /// The size of the request.
    frame_bytes: usize,
    request: ProduceRequest,
    names: Vec<u8>,
    pub(super) results: Vec<ProduceResult>,
    waits: Vec<Wait>,
    /// All partitions that this produce ever waited for: a satisfied partition may still have a waiter in its watch
    /// list.
    watched: Vec<Arc<Partition>>,
    deadline: Instant,
}

/// One partition that a produce waits for.
pub(super) struct Wait {
    /// The row of the request.
    pub(super) at: usize,
    pub(super) partition: Arc<Partition>,
    pub(super) awaited: Awaited,
}

/// Keeps the parts of the request that the answer needs, without the records.
pub(super) fn park(
    (version, frame_bytes): (i16, usize),
    body: &[u8],
    mut request: ProduceRequest,
    results: Vec<ProduceResult>,
    waits: Vec<Wait>,
    deadline: Instant,
) -> ParkedProduce {
    let mut names = Vec::new();
    let mut last = 0..0;
    for row in &mut request.partitions {
        row.records = None;
        if let TopicKey::Name(range) = &mut row.topic {
            if row.first_of_topic {
                let at = names.len();
                names.extend_from_slice(body.get(range.clone()).unwrap_or_default());
                last = at..names.len();
            }
            *range = last.clone();
        }
    }
    request.transactional_id = None;
    let watched = waits.iter().map(|w| Arc::clone(&w.partition)).collect();
    ParkedProduce {
        version,
        frame_bytes,
        request,
        names,
        results,
        waits,
        watched,
        deadline,
    }
}

impl Delayed for ParkedProduce {
    fn watch(&self, waiter: &Waiter) {
        for wait in &self.waits {
            wait.partition.waiters().watch(WaitKind::Produce, waiter.clone());
        }
    }

    fn forget(&self, waiter: &Waiter) {
        for partition in &self.watched {
            partition
                .waiters()
                .forget(WaitKind::Produce, waiter.operation, &waiter.owner);
        }
    }

    fn try_complete(&mut self, attempt: &Attempt<'_>, out: &mut Vec<u8>) -> Tried {
        if !self.poll() {
            if !attempt.is_due {
                return Tried::Waits;
            }
            self.expire();
        }
        let ending = Ending {
            caller: attempt.caller,
            frame_bytes: self.frame_bytes,
            now: attempt.now,
        };
        encode(
            attempt.broker,
            self.version,
            ending,
            &self.names,
            &self.request,
            &self.results,
            out,
        );
        Tried::Answered(Rest::Nothing)
    }

    fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Pipelined produces wait for their replicas together; their answers leave in order.
    fn mutes(&self) -> bool {
        false
    }
}

impl ParkedProduce {
    /// Whether nothing is left to wait for. A partition that can no longer be satisfied gets its error.
    pub(super) fn poll(&mut self) -> bool {
        let results = &mut self.results;
        self.waits
            .retain(|wait| match wait.partition.is_satisfied(wait.awaited) {
                Ok(done) => !done,
                Err(error) => {
                    if let Some(result) = results.get_mut(wait.at) {
                        *result = ProduceResult::refused(error.code(), Some(error.to_string()));
                    }
                    false
                }
            });
        self.waits.is_empty()
    }

    /// Ends the waits that are left with `REQUEST_TIMED_OUT`; their records stay in the log.
    fn expire(&mut self) {
        for wait in self.waits.drain(..) {
            if let Some(result) = self.results.get_mut(wait.at) {
                *result = ProduceResult::refused(ErrorCode::REQUEST_TIMED_OUT, None);
            }
        }
    }
}
