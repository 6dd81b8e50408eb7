//! `ListOffsets`: the ends of logs at once, offsets by timestamp on the disk threads.
//!
//! A lookup by timestamp may read cold pages, for which a network loop must not wait: a disk thread serves such a
//! request. A request thread serves a request of many rows. Each row of a partition that the request names twice is
//! refused (as in Kafka).

mod oldest;

use std::collections::HashSet;

use crate::Broker;
use crate::partition::{Isolation, Partition};
use crate::published::acls::{Operation, ResourceType};
use crate::requests::api::{Api, Errand, Place, Request, Rest, Served, Thread};
use crate::requests::authorization::Authorization;
use base::error::{Error, ErrorCode};
use base::place::{LeaderEpoch, Offset};
use protocol::list_offsets::{SEVERAL_OFFSETS_UNTIL, timestamp};
use protocol::{
    ApiTable, ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResult, OldestResult, WireError,
    encode_list_offsets_response, encode_oldest_response,
};

/// The first version whose clients know `OFFSET_NOT_AVAILABLE`.
const OFFSET_NOT_AVAILABLE_FROM: i16 = 5;

/// A request with more bytes is not served on a network loop: it names about a thousand partitions.
const MANY_BYTES: usize = 16 << 10;

/// The API.
pub struct ListOffsets;

impl Api for ListOffsets {
    fn key(&self) -> i16 {
        ApiTable::LIST_OFFSETS
    }

    fn serve(&self, asked: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        let (version, body) = (asked.version, &*asked.body);
        if asked.place == Place::Loop && body.len() > MANY_BYTES {
            return Ok(Served::Elsewhere(Errand::Serve(Thread::Request)));
        }
        let mut request = ListOffsetsRequest::default();
        request.decode(version, body)?;
        let is_by_segments = version <= SEVERAL_OFFSETS_UNTIL;
        let needs_files = |p: &ListOffsetsPartition| p.timestamp >= 0 || p.timestamp == timestamp::MAX;
        if asked.place == Place::Loop && (is_by_segments || request.partitions.iter().any(needs_files)) {
            return Ok(Served::Elsewhere(Errand::Serve(Thread::Disk)));
        }
        let asks = Authorization::new(asked.broker, &asked.caller, "ListOffsets");
        if is_by_segments {
            answer_by_segments(&asks, (asked.broker, asked.now_ms), body, &request, out);
        } else {
            answer(&asks, (asked.broker, version), body, &request, out);
        }
        Ok(Served::Answered(Rest::Nothing))
    }

    fn has_large_answers(&self) -> bool {
        true
    }
}

fn answer(
    asks: &Authorization<'_>,
    (broker, version): (&Broker, i16),
    body: &[u8],
    request: &ListOffsetsRequest,
    out: &mut Vec<u8>,
) {
    let isolation = match (request.replica_id, request.isolation_level) {
        (0.., _) => Isolation::LogEnd,
        (_, 1) => Isolation::ReadCommitted,
        _ => Isolation::ReadUncommitted,
    };
    let look = |partition: &Partition, row: &ListOffsetsPartition| one(partition, row, version, isolation);
    let results = each_row(asks, broker, body, request, look, ListOffsetsResult::nothing);
    encode_list_offsets_response(out, version, body, request, &results, 0);
}

/// Answers version 0: with the offsets at which segments begin.
fn answer_by_segments(
    asks: &Authorization<'_>,
    (broker, now_ms): (&Broker, i64),
    body: &[u8],
    request: &ListOffsetsRequest,
    out: &mut Vec<u8>,
) {
    let look = |partition: &Partition, row: &ListOffsetsPartition| {
        let offsets = oldest::offsets_before(partition, row, request.replica_id, now_ms)?;
        Ok(OldestResult {
            error: ErrorCode::NONE,
            offsets,
        })
    };
    let results = each_row(asks, broker, body, request, look, OldestResult::nothing);
    encode_oldest_response(out, body, request, &results);
}

/// The result of each row of the request, in order: that of `look` for a partition of this broker that the client may
/// describe, else that of `nothing`.
fn each_row<R>(
    asks: &Authorization<'_>,
    broker: &Broker,
    body: &[u8],
    request: &ListOffsetsRequest,
    look: impl Fn(&Partition, &ListOffsetsPartition) -> Result<R, Error>,
    nothing: impl Fn(ErrorCode) -> R,
) -> Vec<R> {
    let topics = broker.registry.snapshot();
    let mut results = Vec::with_capacity(request.partitions.len());
    let mut topic = None;
    let repeated = repeated(request, body);
    let names = request.partitions.iter().map(|row| row.topic.name(body));
    let allowed = asks.each(Operation::Describe, ResourceType::Topic, names);
    for (at, row) in request.partitions.iter().enumerate() {
        if row.first_of_topic {
            topic = row.topic.name(body).and_then(|name| topics.by_name(name));
        }
        if allowed.as_ref().is_some_and(|allowed| allowed.get(at) == Some(&false)) {
            results.push(nothing(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
            continue;
        }
        if !repeated.is_empty() && repeated.contains(&(row.topic.name(body), row.index)) {
            results.push(nothing(ErrorCode::INVALID_REQUEST));
            continue;
        }
        let Some(partition) = topic.and_then(|t| t.partition(row.index)) else {
            results.push(nothing(unknown(broker, row.topic.name(body), row.index)));
            continue;
        };
        results.push(match look(partition, row) {
            Ok(result) => result,
            Err(error) => {
                if matches!(error, Error::Io { .. } | Error::CorruptFile { .. }) {
                    broker.storage_failed(partition, &error);
                }
                nothing(error.code())
            }
        });
    }
    results
}

/// The partitions that are named more than once.
fn repeated<'a>(request: &ListOffsetsRequest, body: &'a [u8]) -> HashSet<(Option<&'a str>, i32)> {
    let mut repeated = HashSet::new();
    if request.partitions.len() > 1 {
        let mut seen = HashSet::with_capacity(request.partitions.len());
        for row in &request.partitions {
            let key = (row.topic.name(body), row.index);
            if !seen.insert(key) {
                repeated.insert(key);
            }
        }
    }
    repeated
}

fn unknown(broker: &Broker, name: Option<&str>, index: i32) -> ErrorCode {
    let is_elsewhere = name.is_some_and(|n| broker.image.load().topic(n).is_some_and(|t| t.has(index)));
    if is_elsewhere {
        ErrorCode::NOT_LEADER_OR_FOLLOWER
    } else {
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
    }
}

fn one(
    partition: &Partition,
    row: &ListOffsetsPartition,
    version: i16,
    isolation: Isolation,
) -> Result<ListOffsetsResult, Error> {
    if timestamp::first_version(row.timestamp).is_none_or(|first| version < first) {
        let message = format!("timestamp {} is not served in version {version}", row.timestamp);
        return Err(Error::rejected(ErrorCode::UNSUPPORTED_VERSION, message));
    }
    let lease = partition.leading(LeaderEpoch(row.current_leader_epoch))?;
    let result = |timestamp, offset: Offset, leader_epoch: LeaderEpoch| {
        Ok(ListOffsetsResult {
            error: ErrorCode::NONE,
            timestamp,
            offset: offset.get(),
            leader_epoch: leader_epoch.get(),
        })
    };
    match row.timestamp {
        timestamp::LATEST => {
            check_end_is_known(partition, version, isolation)?;
            result(-1, partition.bound(isolation), lease.leader_epoch)
        }
        timestamp::EARLIEST | timestamp::EARLIEST_LOCAL => {
            let start = partition.offsets().log_start;
            let epoch = partition.log().epochs().epoch_for_offset(start);
            result(-1, start, epoch.unwrap_or(LeaderEpoch::NONE))
        }
        timestamp::LATEST_TIERED | timestamp::EARLIEST_PENDING_UPLOAD => result(-1, Offset::NONE, LeaderEpoch::NONE),
        target => {
            if let Some((timestamp, offset, epoch)) = partition.lookup_timestamp(target, isolation)? {
                return result(timestamp, offset, epoch);
            }
            check_end_is_known(partition, version, isolation)?;
            result(-1, Offset::NONE, LeaderEpoch::NONE)
        }
    }
}

/// Checks that this leader knows its end. A new leader may have a high watermark from before its epoch, and a client
/// must not get an end that is less than an earlier answer (KIP-207).
fn check_end_is_known(partition: &Partition, version: i16, isolation: Isolation) -> Result<(), Error> {
    if isolation == Isolation::LogEnd || partition.is_end_known() {
        return Ok(());
    }
    let code = if version >= OFFSET_NOT_AVAILABLE_FROM {
        ErrorCode::OFFSET_NOT_AVAILABLE
    } else {
        ErrorCode::LEADER_NOT_AVAILABLE
    };
    let message = "the high watermark of the new leader has not reached the start of its epoch";
    Err(Error::rejected(code, message.to_owned()))
}

#[cfg(test)]
mod tests;
