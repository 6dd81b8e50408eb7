//! The verification of a request's transactional batches, before any batch of the request is appended (KIP-890).
//!
//! The transaction coordinator is asked once for all batches of a request that begin a transaction on their partition.
//! A batch whose transaction is open on its partition needs no question. A batch:
//!
//! - (a) without a transactional id in its request: every partition of the request is refused;
//! - (b) of another producer than the request's other transactional batches: all of these are refused;
//! - (c) that its partition refuses (another leader, a fenced producer): this batch is refused;
//! - (d) whose transaction is open: it is appended, and nobody is asked;
//! - (e) else: the coordinator's answer decides.
//!
//! It appends nothing, and never waits: an answer that comes later is a [`Pending`].

use std::iter;
use std::sync::Arc;
use std::time::Instant;

use super::appending::{append_refused, check_request, not_here, rejected, topic_of};
use super::authorized::Unauthorized;
use crate::Broker;
use crate::published::registry::Topic;
use crate::requests::api::Attempt;
use crate::requests::verifier::{VerificationRequest, Verified, Verifying};
use base::error::ErrorCode;
use protocol::{ProducePartition, ProduceRequest, ProduceResult};
use record::{BatchHeader, has_transactional_bit, single_batch};
use storage::producer_state::VerificationGuard;

/// From this version on clients know `TRANSACTION_ABORTABLE`.
const ABORTABLE_FROM: i16 = 11;
/// From this version on clients use transactions of version 2: the produce adds its partitions to the transaction.
const ADDS_FROM: i16 = 12;

/// What may be done with the batch of one row.
#[derive(Debug)]
enum Verdict {
    /// It is appended with this guard.
    Append(VerificationGuard),
    /// It is refused.
    Refuse(Box<ProduceResult>),
}

impl Verdict {
    const PLAIN: Self = Self::Append(VerificationGuard::SENTINEL);

    fn refuse(result: ProduceResult) -> Self {
        Self::Refuse(Box::new(result))
    }
}

/// The verdicts of a request's rows, in order; empty when no batch is transactional.
#[derive(Debug, Default)]
pub(super) struct Verdicts(Vec<Verdict>);

impl Verdicts {
    /// The guard with which a row's batch is appended, or its refusal.
    pub(super) fn of(&self, at: usize) -> Result<VerificationGuard, ProduceResult> {
        match self.0.get(at) {
            None => Ok(VerificationGuard::SENTINEL),
            Some(Verdict::Append(guard)) => Ok(*guard),
            Some(Verdict::Refuse(result)) => Err(ProduceResult::clone(result)),
        }
    }
}

/// How far the verification of a request is.
pub(super) enum Stage {
    /// It is to begin on another thread.
    Unbegun,
    /// The coordinator has yet to answer.
    Pending(Pending),
    /// Every row has its verdict.
    Settled(Verdicts),
}

/// The rows for which the coordinator was asked, as far as their verdicts are known.
#[derive(Default)]
struct Unsettled {
    version: i16,
    verdicts: Vec<Verdict>,
    /// The rows, in the order of [`VerificationRequest::partitions`].
    rows: Vec<usize>,
}

impl Unsettled {
    /// The verdicts, by the coordinator's answer. A row that the answer lacks is refused.
    fn settle(mut self, answer: Vec<ErrorCode>) -> Verdicts {
        let lacking = iter::repeat(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        for (at, code) in self.rows.into_iter().zip(answer.into_iter().chain(lacking)) {
            if let (Some(verdict), Some(refused)) = (self.verdicts.get_mut(at), refusal(code, self.version)) {
                *verdict = Verdict::refuse(refused);
            }
        }
        Verdicts(self.verdicts)
    }
}

/// A verification that the coordinator has yet to answer.
pub(super) struct Pending {
    unsettled: Unsettled,
    /// The question.
    pub(super) verifying: Box<dyn Verifying>,
}

impl Pending {
    /// The coordinator's answer, if it has come. An attempt that is due always has one.
    pub(super) fn poll(&mut self, attempt: &Attempt<'_>) -> Option<Vec<ErrorCode>> {
        let answer = self.verifying.poll(attempt);
        answer.or_else(|| attempt.is_due.then(Vec::new))
    }

    /// The verdicts of all rows, by the coordinator's answer. There is one answer.
    pub(super) fn settle(&mut self, answer: Vec<ErrorCode>) -> Verdicts {
        std::mem::take(&mut self.unsettled).settle(answer)
    }
}

/// The verification of one request.
pub(super) struct Verification<'a> {
    pub(super) broker: &'a Broker,
    pub(super) version: i16,
    pub(super) may_write_internal: bool,
    pub(super) unauthorized: &'a Unauthorized,
    pub(super) request: &'a ProduceRequest,
    pub(super) body: &'a [u8],
}

impl Verification<'_> {
    /// Begins the verification, and asks the coordinator if there is something to ask.
    pub(super) fn begin(&self, now: Instant, now_ms: i64) -> Stage {
        let rows = &self.request.partitions;
        let mut headers = rows
            .iter()
            .enumerate()
            .filter_map(|(at, row)| self.transactional(at, row));
        let Some(first) = headers.next() else {
            return Stage::Settled(Verdicts::default());
        };
        let id = self.request.transactional_id.clone();
        let id = id.and_then(|range| self.body.get(range));
        let Some(transactional_id) = id.and_then(|id| std::str::from_utf8(id).ok()) else {
            let message = "a transactional batch needs a transactional id in its request"; // (a)
            let refuse = || refused(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, message);
            return Stage::Settled(Verdicts(iter::repeat_with(refuse).take(rows.len()).collect()));
        };
        let producer = |header: &BatchHeader| (header.producer_id, header.producer_epoch);
        if headers.any(|header| producer(&header) != producer(&first)) {
            let message = "Transactional records contained more than one producer ID"; // (b)
            let verdict = |(at, row)| match self.transactional(at, row) {
                Some(_) => refused(ErrorCode::INVALID_PRODUCER_ID_MAPPING, message),
                None => Verdict::PLAIN,
            };
            return Stage::Settled(Verdicts(rows.iter().enumerate().map(verdict).collect()));
        }
        self.ask(transactional_id, &first, now, now_ms)
    }

    /// The header of a row's batch, if the batch is a transaction's and may be written.
    fn transactional(&self, at: usize, row: &ProducePartition) -> Option<BatchHeader> {
        if self.unauthorized.has(at) {
            return None;
        }
        let records = row.records.clone().and_then(|range| self.body.get(range))?;
        if !has_transactional_bit(records) {
            return None;
        }
        BatchHeader::parse(records).ok().filter(BatchHeader::is_transactional)
    }

    fn ask(&self, transactional_id: &str, first: &BatchHeader, now: Instant, now_ms: i64) -> Stage {
        let mut unsettled = Unsettled {
            version: self.version,
            verdicts: Vec::with_capacity(self.request.partitions.len()),
            rows: Vec::new(),
        };
        let mut partitions = Vec::new();
        let topics = self.broker.registry().snapshot();
        let mut topic: Option<&Arc<Topic>> = None;
        for (at, row) in self.request.partitions.iter().enumerate() {
            if row.first_of_topic {
                topic = topic_of(&topics, &row.topic, self.body);
            }
            let verdict = match self.transactional(at, row) {
                Some(header) => self.judge(topic, row, &header, now_ms),
                None => Verdict::PLAIN,
            };
            if let (Verdict::Append(guard), Some(topic)) = (&verdict, topic)
                && guard.is_question()
            {
                partitions.push((Arc::clone(&topic.name), row.index)); // (e)
                unsettled.rows.push(at);
            }
            unsettled.verdicts.push(verdict);
        }
        if partitions.is_empty() {
            return Stage::Settled(Verdicts(unsettled.verdicts));
        }
        let asked = VerificationRequest {
            transactional_id: transactional_id.into(),
            producer_id: first.producer_id,
            producer_epoch: first.producer_epoch,
            partitions,
            is_added: self.version >= ADDS_FROM,
        };
        match self.broker.verify(asked, now, now_ms) {
            Verified::Now(answer) => Stage::Settled(unsettled.settle(answer)),
            Verified::Later(verifying) => Stage::Pending(Pending { unsettled, verifying }),
        }
    }

    /// The verdict of a row with a transactional batch, as far as it does not depend on the coordinator.
    fn judge(&self, topic: Option<&Arc<Topic>>, row: &ProducePartition, header: &BatchHeader, now_ms: i64) -> Verdict {
        let broker = self.broker;
        let Some(partition) = topic.and_then(|topic| topic.partition(row.index)) else {
            let result = not_here(broker, topic.is_some(), row, self.body, now_ms);
            return Verdict::refuse(result); // (c)
        };
        if let Some(result) = check_request(broker, self.request.acks, self.may_write_internal, topic) {
            return Verdict::refuse(result);
        }
        if !header.is_idempotent() || header.base_sequence < 0 || header.is_control() {
            return Verdict::PLAIN; // in no transaction, or invalid
        }
        let records = row.records.clone().and_then(|range| self.body.get(range));
        if let Err(rejection) = single_batch(records.unwrap_or_default(), self.version) {
            return Verdict::refuse(rejected(rejection));
        }
        match broker.begin_verification(partition, header, self.version >= ADDS_FROM, now_ms) {
            Ok(guard) => Verdict::Append(guard),                                     // (d), (e)
            Err(error) => Verdict::refuse(append_refused(broker, partition, error)), // (c)
        }
    }
}

fn refused(code: ErrorCode, message: &str) -> Verdict {
    Verdict::refuse(ProduceResult::refused(code, Some(message.to_owned())))
}

/// The result for a partition that the coordinator answered with `code`, in the words of Produce; `None` when its batch
/// may be written. Clients of earlier versions know fewer codes, and try again after `NOT_ENOUGH_REPLICAS` without a
/// look at the metadata.
fn refusal(code: ErrorCode, version: i16) -> Option<ProduceResult> {
    let code = match code {
        ErrorCode::NONE => return None,
        ErrorCode::PRODUCER_FENCED => ErrorCode::INVALID_PRODUCER_EPOCH,
        ErrorCode::TRANSACTION_ABORTABLE if version < ABORTABLE_FROM => ErrorCode::INVALID_TXN_STATE,
        other => other,
    };
    Some(match code {
        ErrorCode::CONCURRENT_TRANSACTIONS if version >= ADDS_FROM => ProduceResult::refused(code, None),
        ErrorCode::CONCURRENT_TRANSACTIONS
        | ErrorCode::NETWORK_EXCEPTION
        | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        | ErrorCode::COORDINATOR_NOT_AVAILABLE
        | ErrorCode::NOT_COORDINATOR => {
            let name = code.name();
            let message =
                format!("Unable to verify the partition has been added to the transaction. Underlying error: {name}");
            ProduceResult::refused(ErrorCode::NOT_ENOUGH_REPLICAS, Some(message))
        }
        ErrorCode::INVALID_TXN_STATE => {
            let message = "Partition was not added to the transaction".to_owned();
            ProduceResult::refused(code, Some(message))
        }
        _ => ProduceResult::refused(code, None),
    })
}
