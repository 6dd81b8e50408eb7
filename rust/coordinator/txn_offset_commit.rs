//! `TxnOffsetCommit`: offsets that count when the producer's transaction is committed (KIP-98, KIP-447, KIP-890).
//!
//! ```text
//! rows → is the group's partition in the transaction? (the transaction coordinator) → the group's lease → append
//!      → unstable until the marker → answered when replicated
//! ```
//! From version 5 on the coordinator adds the partition to the transaction when it is asked. As with Produce, a batch
//! is appended with the guard of its question: a marker in between refuses it.

use std::sync::Arc;
use std::time::Instant;

use super::append::{append_guarded, client_error};
use super::commit_rows::{CommitRows, is_known};
use super::groups::{GroupHome, Groups};
use super::lease::Claim;
use super::shard::Commit;
use super::{Coordinators, OFFSETS_TOPIC};
use base::error::ErrorCode;
use base::place::Offset;
use broker::{
    Api, Attempt, Authorization, Awaited, BodyTail, Broker, Delayed, Executor, Handover, Operation, Partition, Request,
    ResourceType, Served, Thread, Tried, VerificationRequest, Verified, Verifying, WaitKind, Waiter,
};
use protocol::offset_commit::DEFAULT_RETENTION;
use protocol::topic::text;
use protocol::{ApiTable, TxnOffsetCommitRequest, WireError, encode_txn_offset_commit_response};
use record::{BatchBuilder, BatchHeader};
use storage::producer_state::VerificationGuard;

/// A request with more bytes than this is not served on a network loop.
const MANY_BYTES: usize = 16 << 10;
/// From this version on clients know `TRANSACTION_ABORTABLE`.
const ABORTABLE_FROM: i16 = 4;
/// From this version on the coordinator adds the partition to the transaction.
const ADDED_FROM: i16 = 5;
/// The batch of a coordinator has no sequence.
const NO_SEQUENCE: i32 = -1;

/// The API.
pub struct TxnOffsetCommit(pub Arc<Coordinators>);

/// A commit on its way.
struct Committing {
    home: Arc<GroupHome>,
    group_id: Box<str>,
    member_id: Box<str>,
    group_instance_id: Option<Box<str>>,
    generation_id: i32,
    producer_id: i64,
    version: i16,
    batch: Vec<u8>,
    rows: Commit,
    guard: VerificationGuard,
}

enum Stage {
    Verifying(Box<dyn Verifying>, Box<Committing>),
    Appended(Arc<GroupHome>, Awaited),
    Done(ErrorCode),
}

struct DelayedTxnCommit {
    stage: Stage,
    /// The response body for a commit that succeeds.
    body: Vec<u8>,
    /// The positions of the error codes that an error replaces.
    places: Vec<usize>,
    deadline: Instant,
}

impl Api for TxnOffsetCommit {
    fn key(&self) -> i16 {
        ApiTable::TXN_OFFSET_COMMIT
    }

    fn serve(&self, asked: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        if asked.executor == Executor::Loop && asked.body.len() > MANY_BYTES {
            return Ok(Served::Elsewhere(Handover::Serve(Thread::Request)));
        }
        let mut request = TxnOffsetCommitRequest::default();
        request.decode(asked.version, asked.body)?;
        Ok(serve(&self.0.groups, &asked, &request, out))
    }
}

fn serve(groups: &Groups, asked: &Request<'_>, request: &TxnOffsetCommitRequest, out: &mut Vec<u8>) -> Served {
    let (broker, body, version) = (asked.broker, &*asked.body, asked.version);
    let settings = groups.settings();
    let image = broker.image().load();
    let rows = CommitRows {
        settings,
        body,
        group_id: text(body, &request.group_id).unwrap_or_default(),
        topics: &request.topics,
        partitions: &request.partitions,
        retention_time_ms: DEFAULT_RETENTION,
        now_ms: asked.now_ms,
    };
    let authorization = Authorization::new(broker, &asked.caller, "TxnOffsetCommit");
    let id = text(body, &request.transactional_id).unwrap_or_default();
    let is_allowed = authorization.allows(Operation::Write, ResourceType::TransactionalId, id);
    let refusal = if is_allowed {
        rows.authorize(&authorization).err()
    } else {
        Some(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    };
    if let Some(code) = refusal {
        let errors = vec![code; request.partitions.len()];
        encode_txn_offset_commit_response(out, version, body, request, &errors, None);
        return Served::Answered(BodyTail::Nothing);
    }
    let topics = rows.topics_of(&image);
    let errors = rows.known_errors(&image, &topics, &authorization);
    let mut places = Vec::new();
    let mut answer = Vec::new();
    encode_txn_offset_commit_response(&mut answer, version, body, request, &errors, Some(&mut places));
    let places = places.into_iter().zip(&errors).filter(|(_, error)| is_known(**error));
    let mut delayed = DelayedTxnCommit {
        stage: Stage::Done(ErrorCode::NONE),
        body: answer,
        places: places.map(|(at, _)| at).collect(),
        deadline: asked.now + settings.commit_timeout,
    };
    if !delayed.places.is_empty() {
        let committing = begin(groups, asked, request, |home| {
            let builder = BatchBuilder::new(settings.codec)
                .producer(request.producer_id, request.producer_epoch, NO_SEQUENCE)
                .transactional(true);
            rows.write(&topics, &errors, &home.partition, builder)
        });
        delayed.stage = match committing {
            Err(code) => Stage::Done(code),
            Ok(None) => Stage::Done(ErrorCode::NONE),
            Ok(Some(committing)) => verify(asked, request, committing),
        };
    }
    match delayed.finish() {
        Some(body) => {
            out.extend_from_slice(&body);
            Served::Answered(BodyTail::Nothing)
        }
        None => Served::Delayed(Box::new(delayed)),
    }
}

/// The commit with its batch and its guard; `None` when no row is to be written.
fn begin(
    groups: &Groups,
    asked: &Request<'_>,
    request: &TxnOffsetCommitRequest,
    write: impl FnOnce(&GroupHome) -> (Option<Vec<u8>>, Commit),
) -> Result<Option<Committing>, ErrorCode> {
    let body = &*asked.body;
    let group_id = text(body, &request.group_id).unwrap_or_default();
    if group_id.is_empty() {
        return Err(ErrorCode::INVALID_GROUP_ID);
    }
    if request.transactional_id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    let home = groups.homes.find(asked.broker, group_id)?;
    let (batch, rows) = write(&home);
    if rows.is_empty() {
        return Ok(None);
    }
    let batch = batch.ok_or(ErrorCode::INVALID_COMMIT_OFFSET_SIZE)?;
    let header = BatchHeader::parse(&batch).map_err(|_| ErrorCode::UNKNOWN_SERVER_ERROR)?;
    let is_added = asked.version >= ADDED_FROM;
    let guard = asked
        .broker
        .begin_verification(&home.partition, &header, is_added, asked.now_ms);
    let guard = guard.map_err(|error| client_error(error.code()))?;
    let instance = request.group_instance_id.as_ref().and_then(|range| text(body, range));
    Ok(Some(Committing {
        group_id: group_id.into(),
        member_id: text(body, &request.member_id).unwrap_or_default().into(),
        group_instance_id: instance.map(Into::into),
        generation_id: request.generation_id,
        producer_id: request.producer_id,
        version: asked.version,
        home,
        batch,
        rows,
        guard,
    }))
}

fn verify(asked: &Request<'_>, request: &TxnOffsetCommitRequest, committing: Committing) -> Stage {
    if !committing.guard.is_question() {
        return committing.commit(asked.broker);
    }
    let question = VerificationRequest {
        transactional_id: text(asked.body, &request.transactional_id).unwrap_or_default().into(),
        producer_id: request.producer_id,
        producer_epoch: request.producer_epoch,
        partitions: vec![(Arc::from(OFFSETS_TOPIC), committing.home.partition.index())],
        is_added: asked.version >= ADDED_FROM,
    };
    match asked.broker.verify(question, asked.now, asked.now_ms) {
        Verified::Later(verifying) => Stage::Verifying(verifying, Box::new(committing)),
        Verified::Now(codes) => committing.verified(asked.broker, &codes),
    }
}

/// The error for the client when the transaction coordinator has refused.
fn refusal(code: ErrorCode, version: i16) -> ErrorCode {
    match code {
        ErrorCode::NETWORK_EXCEPTION | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS => {
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        }
        // these are the transaction coordinator's: the client would look for the group's coordinator
        ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE => ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode::CONCURRENT_TRANSACTIONS if version < ADDED_FROM => ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode::TRANSACTION_ABORTABLE if version < ABORTABLE_FROM => ErrorCode::INVALID_TXN_STATE,
        ErrorCode::PRODUCER_FENCED => ErrorCode::INVALID_PRODUCER_EPOCH,
        other => other,
    }
}

impl Committing {
    fn verified(self, broker: &Broker, codes: &[ErrorCode]) -> Stage {
        match codes.first() {
            Some(&ErrorCode::NONE) => self.commit(broker),
            code => {
                let code = code.copied().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR);
                Stage::Done(refusal(code, self.version))
            }
        }
    }

    /// Checks the group and appends, in one step.
    fn commit(self, broker: &Broker) -> Stage {
        let home = Arc::clone(&self.home);
        match self.append(broker) {
            Err(code) => Stage::Done(code),
            Ok(awaited) if awaited.is_nothing() => Stage::Done(ErrorCode::NONE),
            Ok(awaited) => Stage::Appended(home, awaited),
        }
    }

    fn append(mut self, broker: &Broker) -> Result<Awaited, ErrorCode> {
        let mut shard = self.home.shard(broker)?;
        let claim = Claim {
            member_id: &self.member_id,
            group_instance_id: self.group_instance_id.as_deref(),
            generation_id: self.generation_id,
        };
        shard.check_transactional_commit(&self.group_id, claim)?;
        let now_ms = broker.context().clock.now_ms();
        let (appended, awaited) = append_guarded(broker, &self.home, &mut self.batch, self.guard, now_ms)?;
        let id = shard.group_id(&self.group_id);
        for (at, (topic, index, mut offset)) in (appended.first_offset.get()..).map(Offset).zip(self.rows) {
            offset.record_offset = at;
            let topic = shard.topic(&topic).unwrap_or(topic); // one copy of the name for all groups
            shard.put_unstable(&id, &topic, index, self.producer_id, offset);
        }
        Ok(awaited)
    }
}

impl DelayedTxnCommit {
    /// The group's partition, unless the commit has ended.
    fn partition(&self) -> Option<&Partition> {
        match &self.stage {
            Stage::Verifying(_, committing) => Some(&committing.home.partition),
            Stage::Appended(home, _) => Some(&home.partition),
            Stage::Done(_) => None,
        }
    }

    /// The response body if the commit has ended.
    fn finish(&mut self) -> Option<Vec<u8>> {
        let Stage::Done(code) = self.stage else { return None };
        if code != ErrorCode::NONE {
            for at in &self.places {
                if let Some(place) = self.body.get_mut(*at..*at + size_of::<i16>()) {
                    place.copy_from_slice(&code.0.to_be_bytes());
                }
            }
        }
        Some(std::mem::take(&mut self.body))
    }

    /// Goes on as far as it can.
    fn go_on(&mut self, attempt: &Attempt<'_>) {
        let stage = std::mem::replace(&mut self.stage, Stage::Done(ErrorCode::UNKNOWN_SERVER_ERROR));
        self.stage = match stage {
            Stage::Verifying(mut verifying, committing) => match verifying.poll(attempt) {
                None => Stage::Verifying(verifying, committing),
                Some(codes) => committing.verified(attempt.broker, &codes),
            },
            stage => stage,
        };
        if let Stage::Appended(home, awaited) = &self.stage {
            match home.partition.is_satisfied(*awaited) {
                Ok(true) => self.stage = Stage::Done(ErrorCode::NONE),
                Ok(false) if attempt.is_due => {
                    self.stage = Stage::Done(client_error(ErrorCode::REQUEST_TIMED_OUT));
                }
                Ok(false) => {}
                Err(error) => self.stage = Stage::Done(client_error(error.code())),
            }
        }
    }
}

impl Delayed for DelayedTxnCommit {
    /// Watches the partition from the beginning on: the attempt after a watch may append the batch.
    fn watch(&self, waiter: &Waiter) {
        if let Stage::Verifying(verifying, _) = &self.stage {
            verifying.watch(waiter);
        }
        if let Some(partition) = self.partition() {
            partition.waiters().watch(WaitKind::Produce, waiter.clone());
        }
    }

    fn forget(&self, waiter: &Waiter) {
        if let Stage::Verifying(verifying, _) = &self.stage {
            verifying.forget(waiter);
        }
        if let Some(partition) = self.partition() {
            let waiters = partition.waiters();
            waiters.forget(WaitKind::Produce, waiter.operation, &waiter.owner);
        }
    }

    fn try_complete(&mut self, attempt: &Attempt<'_>, out: &mut Vec<u8>) -> Tried {
        self.go_on(attempt);
        match self.finish() {
            None => Tried::Waits,
            Some(body) => {
                out.extend_from_slice(&body);
                Tried::Answered(BodyTail::Nothing)
            }
        }
    }

    fn deadline(&self) -> Instant {
        let own = match &self.stage {
            Stage::Verifying(verifying, _) => verifying.deadline(),
            _ => None,
        };
        own.map_or(self.deadline, |own| own.min(self.deadline))
    }
}

#[cfg(test)]
#[path = "txn_offset_commit_tests.rs"]
mod tests;
