//! The fetches of one follower from one leader: the next request, and what to do with the response (KIP-227, KIP-279,
//! KIP-595).
//!
//! It uses no socket and no clock: its runner sends the bytes of [`ReplicaFetcher::next`], passes the answer to
//! [`ReplicaFetcher::complete`], and calls [`ReplicaFetcher::lost`] when the connection is lost. One request is under
//! way at a time. The last answer for a partition decides its state:
//!
//! - fetching: the partition is in the fetch session, so every request fetches it
//! - out of range: the fetcher asks the leader for its log end, then for its log start, and the log is cut or started
//!   anew
//! - waiting: after an error that may pass, the partition is not fetched until a given time
//! - stopped: after `FENCED_LEADER_EPOCH`, the partition is not fetched until its lease changes
//!
//! It never decides which leader to follow, and it cuts a log only where the leader's epochs or bounds say so.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::partition::{Cut, Fetched, Partition, WantsFlush};
use crate::planted;
use crate::published::registry::TopicId;
use crate::replication::fetchers::Change;
use crate::replication::throttle::UNLIMITED;
use crate::{Broker, Options};
use base::error::{Error, ErrorCode, Result};
use base::place::{LeaderEpoch, Offset};
use protocol::fetch::ABSENT_WATERMARK;
use protocol::fetch::follower::{
    self, FollowerFetchHead, FollowerFetchRow, FollowerFetched, decode_response, encode_request,
};
use protocol::list_offsets::{self, decode_follower_response, encode_follower_request, timestamp};
use protocol::{ApiTable, WireError};
use storage::AppendError;
use storage::log_dir::Checkpoint;

/// The backoff after a first failure.
const FIRST_BACKOFF: Duration = Duration::from_millis(10);

/// The state of a partition; see the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Fetching,
    AskEnd,
    AskStart,
    Waiting(Instant),
    Stopped,
}

/// The position of a partition that this follower sent to the leader last in the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SentPosition {
    fetch_offset: Offset,
    last_fetched_epoch: LeaderEpoch,
    log_start: Offset,
    leader_epoch: LeaderEpoch,
    high_watermark: Offset,
}

impl SentPosition {
    fn row(&self, (topic_id, index): Key, max_bytes: i32) -> FollowerFetchRow {
        FollowerFetchRow {
            topic_id,
            index,
            current_leader_epoch: self.leader_epoch.get(),
            fetch_offset: self.fetch_offset.get(),
            last_fetched_epoch: self.last_fetched_epoch.get(),
            log_start_offset: self.log_start.get(),
            max_bytes,
            high_watermark: self.high_watermark.get(),
        }
    }
}

struct Row {
    partition: Arc<Partition>,
    leader_epoch: LeaderEpoch,
    state: State,
    told: Option<SentPosition>,
    /// The position may differ from the one that was sent last.
    is_changed: bool,
    /// Errors since the last answer without one.
    failures: u32,
    /// Whether the replica had all committed records at the leader's last answer; before a first answer, whether it was
    /// in sync when this leader was elected. So a new leader, as at the end of each reassignment, does not make the
    /// throttle hold back replicas that are in sync.
    is_caught_up: bool,
}

type Key = (TopicId, i32);

/// A request to send; the sender adds the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// API key.
    pub api_key: i16,
    /// API version; its headers are the flexible ones.
    pub api_version: i16,
    /// The body.
    pub body: Vec<u8>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Send this request and pass its answer to [`ReplicaFetcher::complete`].
    Ask(Ask),
    /// Send nothing until this time, or until a change comes.
    Idle(Option<Instant>),
}

/// The request that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnderWay {
    Nothing,
    Fetch,
    Bound(Key),
}

/// See the module.
pub struct ReplicaFetcher {
    source: i32,
    rows: HashMap<Key, Row>,
    /// Partitions that the next request removes from the leader's fetch session.
    forgotten: Vec<Key>,
    session_id: i32,
    session_epoch: i32,
    under_way: UnderWay,
    /// A log was cut below the recovery point in its checkpoint.
    is_checkpoint_due: bool,
}

impl ReplicaFetcher {
    /// A fetcher from the broker `source`.
    pub fn new(source: i32) -> Self {
        Self {
            source,
            rows: HashMap::new(),
            forgotten: Vec::new(),
            session_id: 0,
            session_epoch: 0,
            under_way: UnderWay::Nothing,
            is_checkpoint_due: false,
        }
    }

    /// Applies the changes.
    pub fn apply(&mut self, changes: Vec<Change>) {
        for change in changes {
            match change {
                Change::Follow(partition, leader_epoch) => {
                    let key = (partition.topic_id(), partition.index());
                    let told = self.rows.get(&key).and_then(|row| row.told);
                    let row = Row {
                        is_caught_up: partition.is_in_sync_by_lease(),
                        partition,
                        leader_epoch,
                        state: State::Fetching,
                        told,
                        is_changed: true,
                        failures: 0,
                    };
                    self.rows.insert(key, row);
                }
                Change::Drop(partition) => self.forget((partition.topic_id(), partition.index()), true),
            }
        }
    }

    fn forget(&mut self, key: Key, is_dropped: bool) {
        let Some(row) = self.rows.get_mut(&key) else { return };
        if row.told.take().is_some() {
            self.forgotten.push(key);
        }
        if is_dropped {
            self.rows.remove(&key);
        }
    }

    /// The connection was lost, and with it the request under way. The next request opens a new session.
    pub fn lost(&mut self) {
        self.under_way = UnderWay::Nothing;
        self.reset_session();
    }

    fn reset_session(&mut self) {
        self.session_id = 0;
        self.session_epoch = 0;
        self.forgotten.clear();
        for row in self.rows.values_mut() {
            row.told = None;
            row.is_changed = true;
        }
    }

    /// The request to send now. No other request may be under way.
    pub fn next(&mut self, broker: &Broker, now: Instant) -> Next {
        self.wake(now);
        if let Some(ask) = self.ask_bound(broker.node_id) {
            return Next::Ask(ask);
        }
        let options = broker.options();
        self.hold_back(broker, &options, now);
        let (rows, fetching) = self.changed_rows(&options, now);
        if fetching == 0 {
            return Next::Idle(self.next_wake());
        }
        let head = FollowerFetchHead {
            replica_id: broker.node_id,
            replica_epoch: broker.broker_epoch(),
            max_wait_ms: options.replica_fetch_wait_max_ms,
            min_bytes: options.replica_fetch_min_bytes,
            max_bytes: options.replica_fetch_response_max_bytes,
            session_id: self.session_id,
            session_epoch: self.session_epoch,
        };
        let mut forgotten = std::mem::take(&mut self.forgotten);
        forgotten.retain(|key| self.rows.get(key).is_none_or(|row| row.told.is_none()));
        forgotten.sort_unstable();
        let mut body = Vec::new();
        encode_request(&mut body, &head, &rows, &forgotten);
        self.under_way = UnderWay::Fetch;
        Next::Ask(Ask {
            api_key: ApiTable::FETCH,
            api_version: follower::VERSION,
            body,
        })
    }

    /// Partitions whose waiting time has passed fetch again.
    fn wake(&mut self, now: Instant) {
        for row in self.rows.values_mut() {
            if matches!(row.state, State::Waiting(until) if until <= now) {
                row.state = State::Fetching;
                row.is_changed = true;
            }
        }
    }

    /// While the throttled rate is exceeded, throttled replicas that are not caught up wait (KIP-73).
    fn hold_back(&mut self, broker: &Broker, options: &Options, now: Instant) {
        let rate = options.follower_throttled_rate;
        if !broker.throttles.follower.is_exceeded(rate, now) {
            return;
        }
        let is_held =
            |row: &Row| row.state == State::Fetching && !row.is_caught_up && row.partition.is_throttled_follower();
        let held: Vec<Key> = self
            .rows
            .iter()
            .filter(|(_, row)| is_held(row))
            .map(|(key, _)| *key)
            .collect();
        for key in held {
            if let Some(row) = self.rows.get_mut(&key) {
                row.state = State::Waiting(now + options.replica_fetch_backoff);
            }
            self.forget(key, false);
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        let waits = self.rows.values().filter_map(|row| match row.state {
            State::Waiting(until) => Some(until),
            _ => None,
        });
        waits.min()
    }

    /// The sorted rows whose positions must be sent to the leader, and the number of all partitions that are fetched.
    /// Where consumers read from this follower, the row has the high watermark too: the leader then answers at once
    /// when it has a newer one. For other partitions that would only cost fetches (KIP-392).
    fn changed_rows(&mut self, options: &Options, now: Instant) -> (Vec<FollowerFetchRow>, usize) {
        let (mut changed, mut stopped) = (Vec::new(), Vec::new());
        let mut fetching = 0;
        for ((topic_id, index), row) in &mut self.rows {
            if row.state != State::Fetching {
                continue;
            }
            if !row.is_changed {
                fetching += 1;
                continue;
            }
            let Ok(position) = position_to_send(row, now) else {
                // The lease has changed and the [`Change`] is still to come, or the log directory has failed.
                row.state = State::Stopped;
                stopped.push((*topic_id, *index));
                continue;
            };
            fetching += 1;
            row.is_changed = false;
            if row.told != Some(position) {
                row.told = Some(position);
                changed.push(position.row((*topic_id, *index), options.replica_fetch_max_bytes));
            }
        }
        for key in stopped {
            self.forget(key, false); // else the leader answers each request at once, with unused records
        }
        changed.sort_unstable_by_key(|row| (row.topic_id, row.index));
        (changed, fetching)
    }

    /// A `ListOffsets` request for the leader's log end or log start, for a partition that is out of range.
    fn ask_bound(&mut self, node_id: i32) -> Option<Ask> {
        let is_asking = |row: &Row| matches!(row.state, State::AskEnd | State::AskStart);
        let asking = self.rows.iter().filter(|(_, row)| is_asking(row));
        let (key, row) = asking.min_by_key(|(key, _)| **key)?;
        let timestamp = match row.state {
            State::AskStart => timestamp::EARLIEST,
            _ => timestamp::LATEST,
        };
        let mut body = Vec::new();
        let place = (row.partition.topic().as_ref(), row.partition.index());
        encode_follower_request(&mut body, node_id, place, row.leader_epoch.get(), timestamp);
        self.under_way = UnderWay::Bound(*key);
        Some(Ask {
            api_key: ApiTable::LIST_OFFSETS,
            api_version: list_offsets::FOLLOWER_VERSION,
            body,
        })
    }

    /// Takes the answer to the request under way, without its header.
    ///
    /// # Errors
    /// The bytes are not the protocol: the connection must be closed, and [`Self::lost`] be called.
    pub fn complete(&mut self, broker: &Broker, body: &[u8], now: Instant) -> Result<(), WireError> {
        match std::mem::replace(&mut self.under_way, UnderWay::Nothing) {
            UnderWay::Nothing => {}
            UnderWay::Bound(key) => {
                let result = decode_follower_response(body)?;
                self.take_bound(broker, key, result.error, Offset(result.offset), now);
            }
            UnderWay::Fetch => self.take_fetched(broker, body, now)?,
        }
        if std::mem::take(&mut self.is_checkpoint_due) {
            // One write for all logs of a response. `write_checkpoints` reports a directory that fails.
            let _ = broker.write_checkpoints(&[Checkpoint::RecoveryPoint, Checkpoint::LogStart]);
        }
        Ok(())
    }

    fn take_fetched(&mut self, broker: &Broker, body: &[u8], now: Instant) -> Result<(), WireError> {
        let response = decode_response(body)?;
        if response.error != ErrorCode::NONE {
            // The leader does not know the session, or the session is invalid: a full request opens another session.
            self.reset_session();
            return Ok(());
        }
        self.session_id = response.session_id;
        self.session_epoch = match (response.session_id, self.session_epoch) {
            (0, _) => 0,
            (_, i32::MAX) => 1,
            (_, epoch) => epoch + 1,
        };
        if response.session_id == 0 {
            self.reset_session();
        }
        for fetched in &response.partitions {
            self.take_row(broker, body, fetched, now);
        }
        Ok(())
    }

    fn take_row(&mut self, broker: &Broker, body: &[u8], fetched: &FollowerFetched, now: Instant) {
        let key = (fetched.topic_id, fetched.index);
        let Some(row) = self.rows.get_mut(&key) else { return };
        if row.state != State::Fetching {
            return;
        }
        row.is_changed = true;
        let outcome = match (fetched.error, fetched.diverging_epoch) {
            (ErrorCode::NONE, Some(diverging)) => cut(broker, row, (LeaderEpoch(diverging.0), Offset(diverging.1)))
                .map(|cut| self.is_checkpoint_due |= cut.is_below_flushed),
            (ErrorCode::NONE, None) => take_records(broker, row, body, fetched),
            (error, _) => Err(error),
        };
        let Err(error) = outcome else {
            row.failures = 0;
            note_progress(broker, row, fetched, now);
            return;
        };
        self.refused(broker, key, error, now);
    }

    /// Sets the state of a row after an error code.
    fn refused(&mut self, broker: &Broker, key: Key, error: ErrorCode, now: Instant) {
        let Some(row) = self.rows.get_mut(&key) else { return };
        row.state = match error {
            ErrorCode::OFFSET_OUT_OF_RANGE => State::AskEnd,
            ErrorCode::FENCED_LEADER_EPOCH => State::Stopped,
            _ => State::Waiting(now + backoff(&mut row.failures, broker.options().replica_fetch_backoff)),
        };
        if !is_usual(error) {
            broker.log(&format!(
                "{}-{} cannot be fetched from broker {}: error {}",
                row.partition.topic(),
                row.partition.index(),
                self.source,
                error.0
            ));
        }
        self.forget(key, false);
    }

    /// Takes the leader's log end or log start: the log is cut, started anew, or was in range.
    fn take_bound(&mut self, broker: &Broker, key: Key, error: ErrorCode, bound: Offset, now: Instant) {
        if error != ErrorCode::NONE {
            return self.refused(broker, key, error, now);
        }
        let Some(row) = self.rows.get_mut(&key) else { return };
        let (partition, leader_epoch) = (Arc::clone(&row.partition), row.leader_epoch);
        let adjusted = partition.fetch_position(leader_epoch).and_then(|position| {
            if row.state == State::AskEnd && bound >= position.log_end {
                row.state = State::AskStart;
                return Ok(());
            }
            let is_end = row.state == State::AskEnd;
            row.state = State::Fetching;
            row.is_changed = true;
            if is_end {
                tell_cut(
                    broker,
                    &partition,
                    position.log_end,
                    bound,
                    "the leader's log ends there",
                );
                let cut = partition.truncate_to_end_of_leader(leader_epoch, bound);
                cut.map(|cut| self.is_checkpoint_due |= cut.is_below_flushed)
            } else if bound > position.log_end {
                tell_cut(
                    broker,
                    &partition,
                    position.log_end,
                    bound,
                    "the leader's log starts there",
                );
                partition.restart_at(leader_epoch, bound)
            } else {
                // The position is in range, so the leader epochs disagreed. That passes when the leader's own epochs
                // are flushed out.
                row.state = State::Waiting(now + broker.options().replica_fetch_backoff);
                Ok(())
            }
        });
        if let Err(error) = adjusted {
            let code = fail(broker, &partition, &error);
            self.refused(broker, key, code, now);
        }
    }
}

/// The position to send for a row now; an error when this broker does not follow in the row's leader epoch any more.
fn position_to_send(row: &Row, now: Instant) -> Result<SentPosition> {
    let position = row.partition.fetch_position(row.leader_epoch)?;
    Ok(SentPosition {
        fetch_offset: position.log_end,
        last_fetched_epoch: planted::last_fetched_epoch(position.last_epoch),
        log_start: position.log_start,
        leader_epoch: row.leader_epoch,
        high_watermark: if row.partition.has_readers(now) {
            position.high_watermark
        } else {
            Offset(ABSENT_WATERMARK)
        },
    })
}

/// How long to wait after one more failure: doubles up to `most` (`replica.fetch.backoff.ms`). It starts short because
/// a leader often gets its lease a moment after its followers, and produces wait for these followers.
pub fn backoff(failures: &mut u32, most: Duration) -> Duration {
    let doubled = FIRST_BACKOFF.saturating_mul(1 << (*failures).min(16));
    *failures = failures.saturating_add(1);
    doubled.min(most)
}

/// Cuts the log where it diverges from the leader's. On an error its code decides the row's next state.
fn cut(broker: &Broker, row: &Row, diverging: (LeaderEpoch, Offset)) -> Result<Cut, ErrorCode> {
    let partition = &row.partition;
    let before = partition.offsets();
    let cut = partition
        .truncate_to_leader(row.leader_epoch, diverging)
        .map_err(|error| fail(broker, partition, &error))?;
    tell_cut(
        broker,
        partition,
        before.log_end,
        cut.at,
        "it parts from the leader's log there",
    );
    if cut.at < before.high_watermark {
        broker.log(&format!(
            "{}-{} was cut at {}, below its high watermark {}: its leader was elected without having it all",
            partition.topic(),
            partition.index(),
            cut.at,
            before.high_watermark
        ));
    }
    Ok(cut)
}

/// Appends the fetched records. On an error its code decides the row's next state.
fn take_records(broker: &Broker, row: &Row, body: &[u8], fetched: &FollowerFetched) -> Result<(), ErrorCode> {
    let partition = &row.partition;
    let taken = Fetched {
        leader_epoch: row.leader_epoch,
        records: body.get(fetched.records.clone()).unwrap_or_default(),
        high_watermark: Offset(fetched.high_watermark),
        log_start: Offset(fetched.log_start_offset),
    };
    match partition.append_fetched(&taken, broker.context.clock.now_ms()) {
        // The next fetch tells the leader that this follower has the records, so they must be on disk first if the
        // topic's `flush.messages` says so.
        Ok(WantsFlush::BeforeNextFetch) => partition.flush().map_err(|error| fail(broker, partition, &error)),
        Ok(WantsFlush::Soon) => {
            broker.flusher.enqueue(partition);
            Ok(())
        }
        Ok(WantsFlush::No) => Ok(()),
        Err(AppendError::Rejected(rejection)) => {
            broker.log(&format!(
                "{}-{}: what the leader sent is refused: {}",
                partition.topic(),
                partition.index(),
                rejection.message
            ));
            Err(rejection.code)
        }
        Err(AppendError::Storage(error)) => Err(fail(broker, partition, &error)),
    }
}

/// Notes whether the row is caught up now, and counts the bytes of a throttled partition.
fn note_progress(broker: &Broker, row: &mut Row, fetched: &FollowerFetched, now: Instant) {
    row.is_caught_up = row.partition.offsets().log_end >= Offset(fetched.high_watermark);
    let is_limited = broker.options().follower_throttled_rate != UNLIMITED;
    if is_limited && !fetched.records.is_empty() && row.partition.is_throttled_follower() {
        broker.throttles.follower.record(fetched.records.len(), now);
    }
}

/// Returns the error's code. A storage failure takes the log directory offline; a refusal does nothing more, and a
/// corrupt file is only logged.
fn fail(broker: &Broker, partition: &Partition, error: &Error) -> ErrorCode {
    if matches!(error, Error::Rejected { .. } | Error::Closed { .. }) {
        return error.code();
    }
    broker.storage_failed(partition, error);
    error.code()
}

/// Errors that every change of leaders causes; they are not logged.
const fn is_usual(error: ErrorCode) -> bool {
    matches!(
        error,
        ErrorCode::OFFSET_OUT_OF_RANGE
            | ErrorCode::FENCED_LEADER_EPOCH
            | ErrorCode::UNKNOWN_LEADER_EPOCH
            | ErrorCode::NOT_LEADER_OR_FOLLOWER
            | ErrorCode::UNKNOWN_TOPIC_ID
            | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
            | ErrorCode::CORRUPT_MESSAGE
    )
}

fn tell_cut(broker: &Broker, partition: &Partition, end: Offset, at: Offset, why: &str) {
    let (topic, index) = (partition.topic(), partition.index());
    broker.log(&format!("{topic}-{index} ended at {end} and goes on at {at}: {why}"));
}

#[cfg(test)]
mod tests;
