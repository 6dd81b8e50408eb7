//! `OffsetCommit`: checked against the group's lease, appended to `__consumer_offsets`, answered when it is durable.
//!
//! The check and the append are one step under the shard's lock, so that no commit of an older generation follows a
//! rebalance in the log. An error of the group or of the append applies to every partition of the request. A partition
//! that the cluster does not have, or with metadata that is too large, is refused on its own.

use std::sync::Arc;
use std::time::Instant;

use super::Coordinators;
use super::append::{append, client_error};
use super::commit_rows::{CommitRows, is_known};
use super::groups::{GroupHome, Groups};
use super::lease::Claim;
use base::error::ErrorCode;
use base::place::Offset;
use broker::{
    Api, Attempt, Authorization, Awaited, BodyTail, Broker, Delayed, Executor, Handover, Request, Served, Thread,
    TopicRow, Tried, WaitKind, Waiter,
};
use protocol::offset_commit::GROUP_ID_NOT_FOUND_FROM;
use protocol::topic::text;
use protocol::{ApiTable, OffsetCommitRequest, WireError, encode_offset_commit_response};
use record::BatchBuilder;

/// A request with more bytes than this is not served on a network loop.
const MANY_BYTES: usize = 16 << 10;

/// A commit that waits for replicas or for the disk. When it is dropped, the client gets no answer; its records stay in
/// the log.
struct DelayedCommit {
    home: Arc<GroupHome>,
    awaited: Awaited,
    /// The response body for a commit that succeeds.
    body: Vec<u8>,
    /// The positions of the error codes that an error of the append replaces.
    places: Vec<usize>,
    deadline: Instant,
}

/// The API.
pub struct OffsetCommit(pub Arc<Coordinators>);

impl Api for OffsetCommit {
    fn key(&self) -> i16 {
        ApiTable::OFFSET_COMMIT
    }

    fn serve(&self, asked: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        if asked.executor == Executor::Loop && asked.body.len() > MANY_BYTES {
            return Ok(Served::Elsewhere(Handover::Serve(Thread::Request)));
        }
        let mut request = OffsetCommitRequest::default();
        request.decode(asked.version, asked.body)?;
        let call = Call {
            broker: asked.broker,
            authorization: &asked.authorization("OffsetCommit"),
            groups: &self.0.groups,
            version: asked.version,
            body: asked.body,
            request: &request,
            now_ms: asked.now_ms,
            now: asked.now,
        };
        Ok(serve(&call, out))
    }
}

/// One request and its surroundings.
#[derive(Clone, Copy)]
struct Call<'a> {
    broker: &'a Broker,
    authorization: &'a Authorization<'a>,
    groups: &'a Groups,
    version: i16,
    body: &'a [u8],
    request: &'a OffsetCommitRequest,
    now_ms: i64,
    now: Instant,
}

impl<'a> Call<'a> {
    fn rows(&self) -> CommitRows<'a> {
        CommitRows {
            settings: self.groups.settings(),
            body: self.body,
            group_id: text(self.body, &self.request.group_id).unwrap_or_default(),
            topics: &self.request.topics,
            partitions: &self.request.partitions,
            retention_time_ms: self.request.retention_time_ms,
            now_ms: self.now_ms,
        }
    }
}

fn serve(call: &Call<'_>, out: &mut Vec<u8>) -> Served {
    let (request, version, body) = (call.request, call.version, call.body);
    let image = call.broker.image().load();
    let rows = call.rows();
    if let Err(code) = rows.authorize(call.authorization) {
        let errors = vec![code; request.partitions.len()];
        encode_offset_commit_response(out, version, body, request, &errors, None);
        return Served::Answered(BodyTail::Nothing);
    }
    let topics = rows.topics_of(&image);
    let mut errors = rows.known_errors(&image, &topics, call.authorization);
    let mut parked = None;
    if errors.iter().copied().any(is_known) {
        match commit(call, &rows, &topics, &errors) {
            Ok(waits) => parked = waits,
            Err(code) => errors
                .iter_mut()
                .filter(|error| is_known(**error))
                .for_each(|error| *error = code),
        }
    }
    let Some((home, awaited)) = parked else {
        encode_offset_commit_response(out, version, body, request, &errors, None);
        return Served::Answered(BodyTail::Nothing);
    };
    let (mut answer, mut places) = (Vec::new(), Vec::new());
    encode_offset_commit_response(&mut answer, version, body, request, &errors, Some(&mut places));
    let known = errors.iter().copied().map(is_known);
    let places = places
        .into_iter()
        .zip(known)
        .filter(|(_, known)| *known)
        .map(|(at, _)| at);
    Served::Delayed(Box::new(DelayedCommit {
        home,
        awaited,
        body: answer,
        places: places.collect(),
        deadline: call.now + call.groups.settings().commit_timeout,
    }))
}

/// Checks, appends and notes the rows without an error. Returns what the answer must wait for, if anything; or the
/// error for all of these rows.
fn commit(
    call: &Call<'_>,
    written: &CommitRows<'_>,
    topics: &[Option<&Arc<TopicRow>>],
    errors: &[ErrorCode],
) -> Result<Option<(Arc<GroupHome>, Awaited)>, ErrorCode> {
    let (broker, request, body) = (call.broker, call.request, call.body);
    let group_id = written.group_id;
    let home = call.groups.homes.find(broker, group_id)?;
    let builder = BatchBuilder::new(call.groups.settings().codec);
    let (batch, mut rows) = written.write(topics, errors, &home.partition, builder);
    let claim = Claim {
        member_id: text(body, &request.member_id).unwrap_or_default(),
        group_instance_id: request.group_instance_id.as_ref().and_then(|range| text(body, range)),
        generation_id: request.generation_id,
    };
    let mut shard = home.shard(broker)?;
    shard.check_commit(group_id, claim, call.version >= GROUP_ID_NOT_FOUND_FROM, call.now)?;
    call.groups.note_timers(&shard);
    if rows.is_empty() {
        return Ok(None);
    }
    let Some(mut batch) = batch else {
        return Err(ErrorCode::UNKNOWN_SERVER_ERROR);
    };
    let (appended, awaited) = append(broker, &home, &mut batch, call.now_ms)?;
    let id = shard.group_id(group_id);
    for (at, row) in (appended.first_offset.get()..).map(Offset).zip(&mut rows) {
        row.2.record_offset = at;
        if let Some(topic) = shard.topic(&row.0) {
            row.0 = topic; // one copy of the name for all groups
        }
    }
    shard.note_commit(&id, rows, appended.last_offset + 1);
    if awaited.is_nothing() {
        home.settle(&mut shard, broker);
        return Ok(None);
    }
    drop(shard);
    Ok(Some((home, awaited)))
}

impl Delayed for DelayedCommit {
    fn watch(&self, waiter: &Waiter) {
        self.home.partition.waiters().watch(WaitKind::Produce, waiter.clone());
    }

    fn forget(&self, waiter: &Waiter) {
        let waiters = self.home.partition.waiters();
        waiters.forget(WaitKind::Produce, waiter.operation, &waiter.owner);
    }

    /// An `OffsetFetch` after the answer sees the commit. A commit that is due fails with a timeout, though its records
    /// stay in the log.
    fn try_complete(&mut self, attempt: &Attempt<'_>, out: &mut Vec<u8>) -> Tried {
        match self.home.partition.is_satisfied(self.awaited) {
            Ok(true) => drop(self.home.settled(attempt.broker)),
            Ok(false) if attempt.is_due => self.fail(client_error(ErrorCode::REQUEST_TIMED_OUT)),
            Ok(false) => return Tried::Waits,
            Err(error) => self.fail(client_error(error.code())),
        }
        out.extend_from_slice(&self.body);
        Tried::Answered(BodyTail::Nothing)
    }

    fn deadline(&self) -> Instant {
        self.deadline
    }
}

impl DelayedCommit {
    fn fail(&mut self, code: ErrorCode) {
        for at in &self.places {
            if let Some(place) = self.body.get_mut(*at..*at + size_of::<i16>()) {
                place.copy_from_slice(&code.0.to_be_bytes());
            }
        }
    }
}

#[cfg(test)]
#[path = "offset_commit_tests.rs"]
mod tests;
