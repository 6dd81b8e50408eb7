//! The requests about transactions, in versions that brokers of Kafka 3.0 to 4 serve and that keep the epoch of a
//! producer over the end of its transaction: `EndTxn` below v5 may be sent again and means the same (KIP-890).
//!
//! ```text
//! FindCoordinator v4      := key_type i8, [key] -> throttle i32, [key, node i32, host, port i32, error i16, message?]
//! InitProducerId v1       := transactional_id?, timeout_ms i32 -> throttle i32, error i16, producer_id i64, epoch i16
//! AddPartitionsToTxn v1   := producer, [topic, [partition i32]] -> throttle i32, [topic, [partition i32, error i16]]
//! AddOffsetsToTxn v1      := producer, group -> throttle i32, error i16
//! EndTxn v1               := producer, committed bool -> throttle i32, error i16
//! TxnOffsetCommit v2      := transactional_id, group, producer_id i64, epoch i16,
//!                            [topic, [partition i32, offset i64, leader_epoch i32, metadata?]]
//!                         -> throttle i32, [topic, [partition i32, error i16]]
//! OffsetFetch v5          := group, [topic, [partition i32]]
//!                         -> throttle i32, [topic, [partition i32, offset i64, leader_epoch i32, metadata?,
//!                                                   error i16]], error i16
//! ListTransactions v0     := [state], [producer_id i64]
//!                         -> throttle i32, error i16, [unknown], [id, producer_id i64, state]
//! DescribeTransactions v0 := [id] -> throttle i32, [error i16, id, state, timeout i32, start i64, producer_id i64,
//!                            epoch i16, [topic, [partition i32]]]
//! producer                := transactional_id, producer_id i64, epoch i16
//! ```

use super::bodies::Encoding;
use base::error::ErrorCode;
use client::{Malformed, Server};
use protocol::{Reader, WireError, Writer};

/// A request: its API's key, its version and its body.
pub(super) struct Request {
    pub(super) key: i16,
    pub(super) version: i16,
    pub(super) body: Vec<u8>,
}

/// A producer as the coordinator knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) producer_id: i64,
    pub(super) epoch: i16,
}

/// What a key's coordinator is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum CoordinatorKind {
    Group = 0,
    Transaction = 1,
}

/// The coordinator of each key, or its error.
pub(super) type Coordinators = Vec<(String, Result<Server, ErrorCode>)>;

/// A committed offset with its metadata; `None` when there is none.
pub(super) type Committed = Option<(i64, String)>;

/// The state of a transaction that can still be committed.
pub(super) const ONGOING: &str = "Ongoing";
const NO_OFFSET: i64 = -1;
const NO_LEADER_EPOCH: i32 = -1;
/// The least that an element of an array takes; every element here has a string and a number.
const MIN_BYTES: usize = 3;

pub(super) fn find_coordinators(kind: CoordinatorKind, keys: &[&str]) -> Request {
    let body = Encoding::Tagged.write(|w| {
        w.i8(kind as i8);
        w.length(Some(keys.len()));
        for key in keys {
            w.string(key);
        }
    });
    Request {
        key: 10,
        version: 4,
        body,
    }
}

pub(super) fn read_coordinators(answer: &[u8]) -> Result<Coordinators, Malformed> {
    Encoding::Tagged.read(answer, |reader| {
        reader.i32()?;
        let mut found = Vec::new();
        for _ in 0..reader.count(MIN_BYTES)? {
            let key = reader.str()?.to_owned();
            reader.i32()?; // node
            let (host, port) = (reader.str()?.to_owned(), reader.i32()?);
            let error = ErrorCode(reader.i16()?);
            reader.nullable_str()?;
            reader.skip_tags()?;
            let server = match u16::try_from(port) {
                Ok(port) if error == ErrorCode::NONE => Ok((host, port)),
                _ if error == ErrorCode::NONE => Err(ErrorCode::COORDINATOR_NOT_AVAILABLE),
                _ => Err(error),
            };
            found.push((key, server));
        }
        Ok(found)
    })
}

pub(super) fn init_producer_id(transactional_id: Option<&str>, timeout_ms: i32) -> Request {
    let body = Encoding::Plain.write(|w| {
        w.nullable_string(transactional_id);
        w.i32(timeout_ms);
    });
    Request {
        key: 22,
        version: 1,
        body,
    }
}

pub(super) fn read_producer_id(answer: &[u8]) -> Result<(ErrorCode, Identity), Malformed> {
    Encoding::Plain.read(answer, |reader| {
        reader.i32()?;
        let error = ErrorCode(reader.i16()?);
        let producer_id = reader.i64()?;
        let epoch = reader.i16()?;
        Ok((error, Identity { producer_id, epoch }))
    })
}

fn push_producer(w: &mut Writer<'_>, transactional_id: &str, identity: &Identity) {
    w.string(transactional_id);
    w.i64(identity.producer_id);
    w.i16(identity.epoch);
}

pub(super) fn add_partitions(transactional_id: &str, identity: &Identity, topics: &[(&str, Vec<i32>)]) -> Request {
    let body = Encoding::Plain.write(|w| {
        push_producer(w, transactional_id, identity);
        w.length(Some(topics.len()));
        for (topic, partitions) in topics {
            w.string(topic);
            w.i32_array(partitions);
        }
    });
    Request {
        key: 24,
        version: 1,
        body,
    }
}

/// The first error of partitions; that of the others tells only that the request failed as a whole.
pub(super) fn read_partition_errors(answer: &[u8]) -> Result<(ErrorCode, String), Malformed> {
    Encoding::Plain.read(answer, |reader| {
        reader.i32()?;
        let mut first = (ErrorCode::NONE, String::new());
        for _ in 0..reader.count(MIN_BYTES)? {
            let topic = reader.str()?;
            for _ in 0..reader.count(MIN_BYTES)? {
                let partition = reader.i32()?;
                let error = ErrorCode(reader.i16()?);
                let is_cause = error != ErrorCode::OPERATION_NOT_ATTEMPTED;
                if error != ErrorCode::NONE && is_cause && first.0 == ErrorCode::NONE {
                    first = (error, format!("{topic}-{partition}"));
                }
            }
        }
        Ok(first)
    })
}

pub(super) fn add_offsets(transactional_id: &str, identity: &Identity, group: &str) -> Request {
    let body = Encoding::Plain.write(|w| {
        push_producer(w, transactional_id, identity);
        w.string(group);
    });
    Request {
        key: 25,
        version: 1,
        body,
    }
}

pub(super) fn end(transactional_id: &str, identity: &Identity, is_commit: bool) -> Request {
    let body = Encoding::Plain.write(|w| {
        push_producer(w, transactional_id, identity);
        w.boolean(is_commit);
    });
    Request {
        key: 26,
        version: 1,
        body,
    }
}

/// The answer of the APIs that have nothing but an error.
pub(super) fn read_error(answer: &[u8]) -> Result<(ErrorCode, ()), Malformed> {
    Encoding::Plain.read(answer, |reader| {
        reader.i32()?;
        Ok((ErrorCode(reader.i16()?), ()))
    })
}

pub(super) fn commit_offset(
    (transactional_id, identity): (&str, &Identity),
    group: &str,
    (topic, partition): (&str, i32),
    (offset, metadata): (i64, &str),
) -> Request {
    let body = Encoding::Plain.write(|w| {
        w.string(transactional_id);
        w.string(group);
        w.i64(identity.producer_id);
        w.i16(identity.epoch);
        w.length(Some(1));
        w.string(topic);
        w.length(Some(1));
        w.i32(partition);
        w.i64(offset);
        w.i32(NO_LEADER_EPOCH);
        w.nullable_string(Some(metadata));
    });
    Request {
        key: 28,
        version: 2,
        body,
    }
}

pub(super) fn fetch_offset(group: &str, topic: &str, partition: i32) -> Request {
    let body = Encoding::Plain.write(|w| {
        w.string(group);
        w.length(Some(1));
        w.string(topic);
        w.i32_array(&[partition]);
    });
    Request {
        key: 9,
        version: 5,
        body,
    }
}

pub(super) fn read_offset(answer: &[u8]) -> Result<(ErrorCode, Committed), Malformed> {
    Encoding::Plain.read(answer, |reader| {
        reader.i32()?;
        let mut found = None;
        let mut error = ErrorCode::NONE;
        for _ in 0..reader.count(MIN_BYTES)? {
            reader.str()?;
            for _ in 0..reader.count(MIN_BYTES)? {
                reader.i32()?; // partition
                let offset = reader.i64()?;
                reader.i32()?; // leader epoch
                let metadata = reader.nullable_str()?.unwrap_or_default().to_owned();
                error = ErrorCode(reader.i16()?);
                found = (offset > NO_OFFSET).then_some((offset, metadata));
            }
        }
        let top = ErrorCode(reader.i16()?);
        Ok((if top == ErrorCode::NONE { error } else { top }, found))
    })
}

/// The transactional ids with an open transaction.
pub(super) fn list_ongoing() -> Request {
    let body = Encoding::Tagged.write(|w| {
        w.length(Some(1));
        w.string(ONGOING);
        w.length(Some(0));
    });
    Request {
        key: 66,
        version: 0,
        body,
    }
}

pub(super) fn read_listed(answer: &[u8]) -> Result<(ErrorCode, Vec<String>), Malformed> {
    Encoding::Tagged.read(answer, |reader| {
        reader.i32()?;
        let error = ErrorCode(reader.i16()?);
        for _ in 0..reader.count(1)? {
            reader.str()?;
        }
        let mut found = Vec::new();
        for _ in 0..reader.count(MIN_BYTES)? {
            found.push(reader.str()?.to_owned());
            reader.i64()?; // producer id
            reader.str()?; // state
            reader.skip_tags()?;
        }
        Ok((error, found))
    })
}

pub(super) fn describe(transactional_ids: &[&str]) -> Request {
    let body = Encoding::Tagged.write(|w| {
        w.length(Some(transactional_ids.len()));
        for id in transactional_ids {
            w.string(id);
        }
    });
    Request {
        key: 65,
        version: 0,
        body,
    }
}

/// A transaction as its coordinator describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) error: ErrorCode,
    pub(super) transactional_id: String,
    pub(super) state: String,
    pub(super) identity: Identity,
}

pub(super) fn read_described(answer: &[u8]) -> Result<Vec<Described>, Malformed> {
    Encoding::Tagged.read(answer, |reader| {
        reader.i32()?;
        (0..reader.count(MIN_BYTES)?).map(|_| read_one(reader)).collect()
    })
}

fn read_one(reader: &mut Reader<'_>) -> Result<Described, WireError> {
    let error = ErrorCode(reader.i16()?);
    let transactional_id = reader.str()?.to_owned();
    let state = reader.str()?.to_owned();
    reader.i32()?; // timeout
    reader.i64()?; // start
    let producer_id = reader.i64()?;
    let epoch = reader.i16()?;
    for _ in 0..reader.count(MIN_BYTES)? {
        reader.str()?;
        for _ in 0..reader.count(size_of::<i32>())? {
            reader.i32()?;
        }
        reader.skip_tags()?;
    }
    reader.skip_tags()?;
    Ok(Described {
        error,
        transactional_id,
        state,
        identity: Identity { producer_id, epoch },
    })
}
