//! The answers of a broker as fields. Bytes are unchecked: every read is bounded by the bytes that are left.
//!
//! ```text
//! Metadata v4    := throttle i32, brokers [id i32, host string, port i32, rack string?], cluster string?,
//!                   controller i32, topics [error i16, name string, internal bool,
//!                       partitions [error i16, partition i32, leader i32, replicas [i32], isr [i32]]]
//! ListOffsets v2 := throttle i32, topics [name string,
//!                       partitions [partition i32, error i16, timestamp i64, offset i64]]
//! ```

use std::collections::BTreeMap;

use super::connection::Topology;
use super::{PlanError, Refusal};

/// Why an answer cannot be used.
#[derive(Debug)]
pub(super) enum Malformed {
    /// It does not follow the protocol.
    Bytes,
    /// It says that the broker refuses.
    Refused(Refusal),
}

type Read<T> = Result<T, Malformed>;

/// `UNKNOWN_TOPIC_OR_PARTITION` and `INVALID_TOPIC_EXCEPTION`.
const UNKNOWN: [i16; 2] = [3, 17];
const TOPIC_AUTHORIZATION_FAILED: i16 = 29;
/// Errors that end by themselves while a leader moves: `LEADER_NOT_AVAILABLE`, `NOT_LEADER_OR_FOLLOWER`,
/// `REPLICA_NOT_AVAILABLE`, `KAFKA_STORAGE_ERROR`, `FENCED_LEADER_EPOCH`, `UNKNOWN_LEADER_EPOCH`,
/// `OFFSET_NOT_AVAILABLE`. The offsets are asked for again until the time is up.
const PASSING: [i16; 7] = [5, 6, 9, 56, 74, 75, 78];

/// Reads big-endian fields from the front of an answer.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, len: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Malformed::Bytes)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        self.bytes(N)?.try_into().map_err(|_| Malformed::Bytes)
    }

    fn i16(&mut self) -> Read<i16> {
        self.array().map(i16::from_be_bytes)
    }

    fn i32(&mut self) -> Read<i32> {
        self.array().map(i32::from_be_bytes)
    }

    fn i64(&mut self) -> Read<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// A string; empty for a null string.
    fn string(&mut self) -> Read<String> {
        let len = usize::try_from(self.i16()?).unwrap_or_default();
        Ok(String::from_utf8_lossy(self.bytes(len)?).into_owned())
    }

    /// The length of an array; an element takes at least two bytes.
    fn count(&mut self) -> Read<usize> {
        let count = usize::try_from(self.i32()?).unwrap_or_default();
        if count.saturating_mul(2) > self.0.len() {
            return Err(Malformed::Bytes);
        }
        Ok(count)
    }
}

pub(super) fn read_metadata(answer: &[u8], topic: &str) -> Read<Topology> {
    let mut fields = Fields(answer);
    let mut found = Topology::default();
    fields.i32()?; // throttle time
    for _ in 0..fields.count()? {
        let node = fields.i32()?;
        let (host, port) = (fields.string()?, fields.i32()?);
        fields.string()?; // rack
        found
            .brokers
            .insert(node, (host, u16::try_from(port).map_err(|_| Malformed::Bytes)?));
    }
    fields.string()?; // cluster id
    fields.i32()?; // controller
    if fields.count()? != 1 {
        return Err(Malformed::Bytes);
    }
    let error = fields.i16()?;
    let name = fields.string()?;
    fields.bytes(1)?; // internal
    refuse(error, if name.is_empty() { topic } else { &name })?;
    for _ in 0..fields.count()? {
        fields.i16()?; // error
        let (partition, leader) = (fields.i32()?, fields.i32()?);
        found.leaders.insert(partition, leader);
        for _ in ["replicas", "in-sync replicas"] {
            let count = fields.count()?;
            fields.bytes(count * size_of::<i32>())?;
        }
    }
    Ok(found)
}

pub(super) fn read_offsets(answer: &[u8], topic: &str) -> Read<BTreeMap<i32, i64>> {
    let mut fields = Fields(answer);
    let mut offsets = BTreeMap::new();
    fields.i32()?; // throttle time
    for _ in 0..fields.count()? {
        fields.string()?;
        for _ in 0..fields.count()? {
            let (partition, error) = (fields.i32()?, fields.i16()?);
            fields.i64()?; // timestamp
            let offset = fields.i64()?;
            refuse(error, &format!("{topic}-{partition}"))?;
            offsets.insert(partition, offset);
        }
    }
    Ok(offsets)
}

fn refuse(error: i16, what: &str) -> Read<()> {
    let refusal = match error {
        0 => return Ok(()),
        error if UNKNOWN.contains(&error) => Refusal::Final(PlanError::NotFound(format!(
            "topic {what} is not known to the broker; check the topic and bootstrap_servers"
        ))),
        TOPIC_AUTHORIZATION_FAILED => Refusal::Final(PlanError::Forbidden(format!(
            "topic {what}: the broker does not let anonymous clients describe it"
        ))),
        error if PASSING.contains(&error) => Refusal::Passing(format!("partition {what} has no leader")),
        error => Refusal::Server(format!(
            "bootstrap_servers: the broker answered error {error} for {what}; its log says why"
        )),
    };
    Err(Malformed::Refused(refusal))
}
