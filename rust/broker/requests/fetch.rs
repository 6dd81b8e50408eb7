//! Fetch: session, leases, reads within the limits, and when to wait (KIP-74, KIP-227,
//! KIP-392).
//!
//! Place: between `net` (frames) and `partition` (read). The response is header bytes plus file slices that `net` sends
//! without copying; slices below [`INLINE_BYTES`] are read into the response, which is cheaper than a system call each.
//! A network loop does not wait for data that is not in memory: another thread continues the fetch ([`Handover::Try`]).
//! One partition's error never fails the others. A partition that the request names twice is read once, by its last row
//! (as in Kafka). A fetch of many partitions, or of a version with an old format (`old_format`), is not served on a
//! network loop. It never touches sockets or clocks.

mod authorized;
mod counting;
mod old_format;
mod outcome;
mod parked;
mod quota;
pub mod scratch;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Broker;
use crate::partition::followers::FollowerFetch;
use crate::partition::{Isolation, Partition, ReadRequest, ReadResult, ServedBy};
use crate::published::image::Image;
use crate::published::registry::Topics;
use crate::published::topic_id::TopicId;
use crate::replication::replica_selector::nearer_brokers;
use crate::replication::throttle::UNLIMITED;
use crate::requests::api::{Api, BodyTail, Executor, Handover, Request, Served, Splice, Thread};
use crate::requests::authorization::Authorization;
use crate::requests::budget::Charge;
use crate::requests::fetch_session::{FetchRow, RowTopic, RowUpdate, SessionContext, SessionRequest};
use crate::requests::quotas::Account;
use base::error::{Error, ErrorCode};
use base::place::{LeaderEpoch, Offset};
use protocol::fetch::BATCHES_FROM;
use protocol::{ApiTable, FetchRequest, FetchResponseWriter, NodeEndpoint, TopicKey, WireError};
use storage::Wait;

use outcome::{Outcome, Sink};

pub use outcome::INLINE_BYTES;

/// The bytes that one response may copy; beyond them small slices stay in their files, too, until the socket takes
/// them.
const INLINE_BYTES_OF_RESPONSE: usize = 128 * 1024;
/// A request with more bytes is not served on a network loop: it names about a thousand partitions.
const MANY_BYTES: usize = 32 << 10;
/// A fetch in a session with more partitions than this is not served on a network loop.
const MANY_ROWS: usize = 1000;
/// The first version that names topics by id.
const TOPIC_IDS_FROM: i16 = 13;
/// The first version whose answers name the current leader.
const LEADER_HINT_FROM: i16 = 16;
/// The first version whose consumers may be sent to another replica, and may read from a follower.
const ANY_REPLICA_FROM: i16 = 11;

/// A fetch that waits for more bytes.
struct ParkedFetch {
    plan: Plan,
    /// The rows that it takes of the budget for parked rows.
    _charge: Charge,
    deadline: Instant,
}

struct Row {
    asked: FetchRow,
    /// The error of a partition that the client may not read.
    refused: Option<ErrorCode>,
    partition: Option<Arc<Partition>>,
}

/// What the answer has room for when a row is read.
#[derive(Clone, Copy)]
struct RowLimits {
    bytes: usize,
    /// Whether the first batch may exceed the bytes.
    at_least_one_batch: bool,
}

struct Plan {
    version: i16,
    session: SessionContext,
    rows: Vec<Row>,
    isolation: Isolation,
    replica_id: i32,
    replica_epoch: i64,
    /// Whether the fetch is a follower's on a connection that may act as a broker.
    is_from_broker: bool,
    served_by: ServedBy,
    /// A consumer's rack, when the replica selector is rack-aware.
    rack: Box<str>,
    min_bytes: usize,
    max_bytes: usize,
    /// The throttled rate for a follower's fetch, if one is set.
    throttled_rate: Option<i64>,
}

/// The API.
pub struct Fetch;

impl Api for Fetch {
    fn key(&self) -> i16 {
        ApiTable::FETCH
    }

    fn serve(&self, mut request: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        handle(&mut request, out)
    }

    fn has_large_answers(&self) -> bool {
        true
    }
}

fn handle(asked: &mut Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
    let (broker, version, caller, body) = (asked.broker, asked.version, asked.caller, &*asked.body);
    let (executor, now) = (asked.executor, asked.now);
    if executor == Executor::Loop && version < BATCHES_FROM {
        return Ok(Served::Elsewhere(Handover::Serve(Thread::Inflate)));
    }
    if executor == Executor::Loop && body.len() > MANY_BYTES {
        return Ok(Served::Elsewhere(Handover::Serve(Thread::Request)));
    }
    let request = &mut asked.scratch.fetch.request;
    request.decode(version, body)?;
    if executor == Executor::Loop && broker.sessions().partitions_of(request.session_id) > MANY_ROWS {
        return Ok(Served::Elsewhere(Handover::Serve(Thread::Request)));
    }
    let authorization = Authorization::new(broker, &caller, "Fetch");
    let is_follower = request.replica_id >= 0 && authorization.acts_for_cluster();
    if is_follower {
        broker.metrics().count_follower_fetch();
    }
    let session = session_request(version, body, request, is_follower);
    let (session, rows) = match broker.sessions().resolve(session, now) {
        Ok(resolved) => resolved,
        Err(code) => {
            FetchResponseWriter::begin(out, version, 0, code, 0, 0).end(&[]);
            return Ok(Served::Answered(BodyTail::Nothing));
        }
    };
    let topics = broker.registry().snapshot();
    let options = broker.options();
    let is_throttled = request.replica_id >= 0 && options.leader_throttled_rate != UNLIMITED;
    let is_of_client = request.replica_id < 0 || !caller.is_broker;
    let quotas = caller.quotas.filter(|_| is_of_client);
    let max_bytes = usize::try_from(request.max_bytes)
        .unwrap_or(0)
        .min(options.fetch_max_bytes)
        .min(quotas.map_or(usize::MAX, Account::max_fetch_bytes));
    let plan = Plan {
        version,
        session,
        rows: authorized::rows(rows, request.replica_id, &authorization, is_follower, broker, &topics),
        isolation: match (request.replica_id, request.isolation_level) {
            (0.., _) => Isolation::LogEnd,
            (_, 1) => Isolation::ReadCommitted,
            _ => Isolation::ReadUncommitted,
        },
        replica_id: request.replica_id,
        replica_epoch: request.replica_epoch,
        is_from_broker: is_follower,
        served_by: if version >= ANY_REPLICA_FROM && request.replica_id < 0 {
            ServedBy::AnyReplica
        } else {
            ServedBy::Leader
        },
        rack: if options.is_rack_aware && request.replica_id < 0 {
            rack_of(request, body)
        } else {
            Box::default()
        },
        min_bytes: usize::try_from(request.min_bytes).unwrap_or(0).min(max_bytes),
        max_bytes,
        throttled_rate: is_throttled.then_some(options.leader_throttled_rate),
    };
    let wait = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0));
    let Some(mut outcomes) = plan.read_all(broker, caller.listener, executor, now) else {
        let charge = broker.parked_rows().try_charge(plan.rows.len());
        let is_due = wait.is_zero() || charge.is_none();
        let parked = ParkedFetch {
            plan,
            _charge: charge.unwrap_or_else(|| broker.parked_rows().account()),
            deadline: now + wait,
        };
        return Ok(Served::Elsewhere(Handover::Try(Box::new(parked), is_due)));
    };
    if !wait.is_zero() && !plan.rows.is_empty() && !plan.is_ready(broker, &mut outcomes) {
        // When too many rows are parked already, this fetch is answered at once with the data that there is.
        if let Some(charge) = broker.parked_rows().try_charge(plan.rows.len()) {
            return Ok(Served::Delayed(Box::new(ParkedFetch {
                plan,
                _charge: charge,
                deadline: now + wait,
            })));
        }
    }
    plan.convert(broker, &mut outcomes);
    let splices = plan.answer(broker, caller, &outcomes, now, out);
    Ok(Served::Answered(BodyTail::Files(splices)))
}

fn rack_of(request: &FetchRequest, body: &[u8]) -> Box<str> {
    let bytes = body.get(request.rack_id.clone()).unwrap_or_default();
    String::from_utf8_lossy(bytes).into()
}

fn session_request(version: i16, body: &[u8], request: &FetchRequest, is_follower: bool) -> SessionRequest {
    let mut names = NameCache::default();
    let rows = request.partitions.iter().map(|p| FetchRow {
        topic: names.topic(&p.topic, body),
        index: p.index,
        fetch_offset: Offset(p.fetch_offset),
        current_leader_epoch: LeaderEpoch(p.current_leader_epoch),
        last_fetched_epoch: LeaderEpoch(p.last_fetched_epoch),
        max_bytes: p.max_bytes,
        log_start: Offset(p.log_start_offset),
        high_watermark: Offset(p.high_watermark),
    });
    let rows = without_repeats(rows.collect());
    let forgotten = request
        .forgotten
        .iter()
        .map(|(topic, index)| (names.topic(topic, body), *index))
        .collect();
    SessionRequest {
        id: request.session_id,
        epoch: request.session_epoch,
        uses_topic_ids: version >= TOPIC_IDS_FROM,
        is_follower,
        rows,
        forgotten,
    }
}

/// Keeps each partition once: at the place of its first row, with the content of its last row.
fn without_repeats(mut rows: Vec<FetchRow>) -> Vec<FetchRow> {
    if rows.len() < 2 {
        return rows;
    }
    let mut places = HashMap::with_capacity(rows.len());
    let mut kept = 0;
    for at in 0..rows.len() {
        match places.entry((rows[at].topic.clone(), rows[at].index)) {
            Entry::Occupied(place) => rows.swap(*place.get(), at),
            Entry::Vacant(free) => {
                free.insert(kept);
                rows.swap(kept, at);
                kept += 1;
            }
        }
    }
    rows.truncate(kept);
    rows
}

/// Turns a name's bytes into one shared string for all partitions of a topic.
#[derive(Default)]
struct NameCache {
    last: Option<(std::ops::Range<usize>, Arc<str>)>,
}

impl NameCache {
    fn topic(&mut self, key: &TopicKey, body: &[u8]) -> RowTopic {
        match key {
            TopicKey::Id(id) => RowTopic::Id(*id),
            TopicKey::Name(range) => match &self.last {
                Some((known, name)) if known == range => RowTopic::Name(Arc::clone(name)),
                _ => {
                    let name: Arc<str> = key.name(body).unwrap_or_default().into();
                    self.last = Some((range.clone(), Arc::clone(&name)));
                    RowTopic::Name(name)
                }
            },
        }
    }
}

fn find(topics: &Topics, asked: &FetchRow) -> Option<Arc<Partition>> {
    let topic = match &asked.topic {
        RowTopic::Name(name) => topics.by_name(name),
        RowTopic::Id(id) => topics.by_id(id),
    };
    topic.and_then(|t| t.partition(asked.index)).cloned()
}

/// Whether there are enough bytes, or an error or news that must be sent at once.
fn is_enough(plan: &Plan, outcomes: &[Outcome]) -> bool {
    let mut bytes = 0;
    for outcome in outcomes {
        if outcome.error != ErrorCode::NONE || outcome.is_urgent() {
            return true;
        }
        bytes += outcome.read.slice.as_ref().map_or(0, |s| s.len);
    }
    bytes >= plan.min_bytes
}

impl Plan {
    /// Reads all rows. `None` when a row needs the disk and the executor may not wait for it.
    fn read_all(&self, broker: &Broker, listener: &str, executor: Executor, now: Instant) -> Option<Vec<Outcome>> {
        let nearer = if self.rack.is_empty() {
            Vec::new()
        } else {
            nearer_brokers(&broker.image().load(), broker.node_id(), &self.rack, listener)
        };
        let mut left = self.max_bytes;
        let mut has_read = false;
        let mut outcomes = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let limits = RowLimits {
                bytes: left,
                at_least_one_batch: !has_read,
            };
            let outcome = self.read_row(broker, row, limits, &nearer, executor, now)?;
            if let Some(slice) = &outcome.read.slice {
                left = left.saturating_sub(slice.len);
                has_read = true;
            }
            outcomes.push(outcome);
        }
        Some(outcomes)
    }

    fn read_row(
        &self,
        broker: &Broker,
        row: &Row,
        limits: RowLimits,
        nearer: &[i32],
        executor: Executor,
        now: Instant,
    ) -> Option<Outcome> {
        let Some(partition) = &row.partition else {
            let code = row.refused.unwrap_or_else(|| Self::unknown(broker, row));
            return Some(Outcome::failed(code));
        };
        let is_held_back = self.is_held_back(broker, partition, now);
        let left = if is_held_back { 0 } else { limits.bytes };
        let max_bytes = usize::try_from(row.asked.max_bytes).unwrap_or(0).min(left);
        let request = ReadRequest {
            offset: row.asked.fetch_offset,
            current_leader_epoch: row.asked.current_leader_epoch,
            last_fetched_epoch: row.asked.last_fetched_epoch,
            max_bytes,
            // a set that is cut at the limit needs the bytes of the first batch, too
            at_least_one_batch: (limits.at_least_one_batch || self.has_hard_limit()) && !is_held_back,
            isolation: self.isolation,
            served_by: self.served_by,
            wait: if executor == Executor::Loop {
                Wait::No
            } else {
                Wait::Yes
            },
            nearer,
        };
        let read = self.check_replica(partition).and_then(|()| partition.read(&request));
        Some(match read {
            Ok(mut read) => {
                self.note_follower(broker, partition, &row.asked, &mut read, now);
                if read.is_by_follower {
                    partition.readers().note(now);
                }
                Outcome {
                    error: ErrorCode::NONE,
                    read,
                    converted: None,
                    has_news: self.has_news(partition, &row.asked),
                }
            }
            Err(Error::NotAtHand { .. }) => return None,
            Err(error) => {
                if matches!(error, Error::Io { .. } | Error::CorruptFile { .. }) {
                    broker.logs().dirs().storage_failed(partition, &error);
                }
                Outcome::failed(error.code())
            }
        })
    }

    /// Notes a follower's fetch offset. The log was read before; the answer gets the high watermark as it
    /// is after the note.
    fn note_follower(
        &self,
        broker: &Broker,
        partition: &Partition,
        asked: &FetchRow,
        read: &mut ReadResult,
        now: Instant,
    ) {
        if self.replica_id < 0 || read.diverging_epoch.is_some() {
            return;
        }
        let fetch = FollowerFetch {
            node_id: self.replica_id,
            broker_epoch: self.replica_epoch,
            leader_epoch: asked.current_leader_epoch,
            log_start: asked.log_start,
            log_end: asked.fetch_offset,
        };
        if let Some(proposal) = partition.note_follower(fetch, now) {
            broker.propose(partition, proposal);
        }
        read.high_watermark = partition.offsets().high_watermark();
    }

    /// Whether a follower must get offsets now, without records: a log start that it has not taken over, since a
    /// deletion waits for that (KIP-107), or, when its fetch has a high watermark, a newer high watermark (KIP-392).
    fn has_news(&self, partition: &Partition, asked: &FetchRow) -> bool {
        self.replica_id >= 0
            && (partition
                .offsets()
                .has_log_start_past(asked.log_start, asked.fetch_offset)
                || partition
                    .offsets()
                    .has_watermark_past(asked.high_watermark, asked.fetch_offset))
    }

    /// Whether a replica that is not in sync gets no records for now (KIP-73). Its fetch is noted all the same.
    fn is_held_back(&self, broker: &Broker, partition: &Partition, now: Instant) -> bool {
        self.throttled_rate.is_some_and(|rate| {
            let is_in_sync = || {
                partition
                    .leadership()
                    .lease()
                    .is_some_and(|l| l.in_sync_replicas.contains(&self.replica_id))
            };
            partition.is_throttled_leader() && !is_in_sync() && broker.throttles().leader.is_exceeded(rate, now)
        })
    }

    /// Counts the bytes that go to a follower, whether it is in sync or not.
    fn record_throttled(&self, broker: &Broker, outcomes: &[Outcome], now: Instant) {
        if self.throttled_rate.is_none() {
            return;
        }
        for (row, outcome) in self.rows.iter().zip(outcomes) {
            let partition = row.partition.as_ref().filter(|p| p.is_throttled_leader());
            if let (Some(_), Some(slice)) = (partition, &outcome.read.slice) {
                broker.throttles().leader.record(slice.len, now);
            }
        }
    }

    /// Checks that a replica id is that of an assigned replica, and that the connection may act as a broker
    /// (CVE-2018-1288): records up to the follower's fetch offset count as replicated.
    fn check_replica(&self, partition: &Partition) -> Result<(), Error> {
        if self.replica_id < 0 {
            return Ok(());
        }
        if !self.is_from_broker {
            let message =
                "a follower fetches on inter.broker.listener.name, and proves the secret of the brokers".to_owned();
            return Err(Error::rejected(ErrorCode::TOPIC_AUTHORIZATION_FAILED, message));
        }
        let is_assigned = partition
            .leadership()
            .lease()
            .is_some_and(|l| l.replicas.contains(&self.replica_id));
        if is_assigned {
            return Ok(());
        }
        let message = format!(
            "broker {} is not a replica of {}-{}",
            self.replica_id,
            partition.topic(),
            partition.index()
        );
        Err(Error::rejected(ErrorCode::NOT_LEADER_OR_FOLLOWER, message))
    }

    fn unknown(broker: &Broker, row: &Row) -> ErrorCode {
        let image = broker.image().load();
        match &row.asked.topic {
            RowTopic::Id(id) if image.topic_by_id(id).is_none() => ErrorCode::UNKNOWN_TOPIC_ID,
            RowTopic::Id(id) if image.topic_by_id(id).is_some_and(|t| t.has(row.asked.index)) => {
                ErrorCode::NOT_LEADER_OR_FOLLOWER
            }
            RowTopic::Name(name) if image.topic(name).is_some_and(|t| t.has(row.asked.index)) => {
                ErrorCode::NOT_LEADER_OR_FOLLOWER
            }
            _ => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        }
    }

    fn encode(
        &self,
        broker: &Broker,
        listener: &str,
        outcomes: &[Outcome],
        now: Instant,
        out: &mut Vec<u8>,
    ) -> Vec<Splice> {
        self.record_throttled(broker, outcomes, now);
        self.count(broker, outcomes);
        let news: Vec<RowUpdate> = outcomes.iter().map(Outcome::news).collect();
        let rows: Vec<&FetchRow> = self.rows.iter().map(|r| &r.asked).collect();
        let (session_id, told) = broker.sessions().settle(&self.session, &rows, &news, now);
        let shown: Vec<usize> = (0..rows.len()).filter(|&i| told[i]).collect();
        let groups: Vec<&[usize]> = shown.chunk_by(|&a, &b| rows[a].topic == rows[b].topic).collect();
        let mut writer = FetchResponseWriter::begin(out, self.version, 0, ErrorCode::NONE, session_id, groups.len());
        let image = broker.image().load();
        let mut splices = Vec::new();
        let mut leaders = Vec::new();
        let mut inline_left = if broker.unsent().is_used_up() {
            0
        } else {
            INLINE_BYTES_OF_RESPONSE
        };
        for group in groups {
            let (name, id) = topic_names(&rows[group[0]].topic);
            writer.topic(name, id, group.len());
            for &i in group {
                let current_leader = self.leader_hint(&image, i, outcomes[i].error);
                leaders.extend(current_leader.map(|(leader, _)| leader));
                let sink = Sink {
                    writer: &mut writer,
                    splices: &mut splices,
                    inline_left: &mut inline_left,
                };
                outcomes[i].write(rows[i].index, current_leader, sink);
            }
            writer.topic_end();
        }
        leaders.sort_unstable();
        leaders.dedup();
        let endpoints: Vec<NodeEndpoint<'_>> = leaders
            .iter()
            .filter_map(|l| image.node_endpoint(*l, listener))
            .collect();
        writer.end(&endpoints);
        splices
    }

    /// The current leader, for a reader that asked the wrong broker or has an old leader epoch (KIP-951).
    fn leader_hint(&self, image: &Image, row: usize, error: ErrorCode) -> Option<(i32, LeaderEpoch)> {
        let is_moved = error == ErrorCode::NOT_LEADER_OR_FOLLOWER || error == ErrorCode::FENCED_LEADER_EPOCH;
        if !is_moved || self.version < LEADER_HINT_FROM {
            return None;
        }
        let row = &self.rows[row];
        let held = row.partition.as_ref().and_then(|p| p.leadership().current_leader());
        held.or_else(|| {
            let topic = match &row.asked.topic {
                RowTopic::Name(name) => image.topic(name),
                RowTopic::Id(id) => image.topic_by_id(id),
            };
            topic?.partition(row.asked.index).map(|p| (p.leader, p.leader_epoch))
        })
    }
}

fn topic_names(topic: &RowTopic) -> (&str, TopicId) {
    match topic {
        RowTopic::Name(name) => (name, [0; 16]),
        RowTopic::Id(id) => ("", *id),
    }
}

#[cfg(test)]
mod tests;
