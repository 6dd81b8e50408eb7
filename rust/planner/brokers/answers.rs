//! The answers of a broker as fields, and what an error code means to a planner.
//!
//! ```text
//! Metadata v7             := throttle i32, brokers [id i32, host string, port i32, rack string?], cluster string?,
//!                            controller i32, topics [error i16, name string, internal bool,
//!                                partitions [error i16, partition i32, leader i32, leader_epoch i32, replicas [i32],
//!                                    isr [i32], offline [i32]]]
//! ListOffsets v2          := throttle i32, topics [name string,
//!                                partitions [partition i32, error i16, timestamp i64, offset i64]]
//! DescribeLogDirs v1      := throttle i32, log_dirs [error i16, log_dir string, topics [name string,
//!                                partitions [partition i32, size i64, lag i64, is_future bool]]]
//! OffsetForLeaderEpoch v2 := throttle i32, topics [name string,
//!                                partitions [error i16, partition i32, epoch i32, end_offset i64]]
//! ```

use std::collections::BTreeMap;

use super::{Away, Cluster, Placement, PlanError, Refusal, Topology};
use base::error::ErrorCode;
use client::{Fields, Malformed, Server};

/// Why an answer cannot be used.
#[derive(Debug)]
pub(super) enum Unusable {
    /// It does not follow the protocol.
    Malformed,
    /// It says that the broker refuses.
    Refused(Refusal),
}

impl From<Malformed> for Unusable {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

pub(super) type Answer<T> = Result<T, Unusable>;

/// `UNKNOWN_TOPIC_OR_PARTITION` and `INVALID_TOPIC_EXCEPTION`.
const UNKNOWN: [i16; 2] = [3, 17];
const TOPIC_AUTHORIZATION_FAILED: i16 = 29;

pub(super) fn read_metadata(answer: &[u8], topic: &str) -> Answer<Topology> {
    let mut fields = Fields::new(answer);
    let (brokers, _) = read_brokers(&mut fields)?;
    let mut found = Topology {
        brokers,
        ..Topology::default()
    };
    if fields.count()? != 1 {
        return Err(Unusable::Malformed);
    }
    let error = fields.i16()?;
    let name = fields.string()?;
    fields.flag()?; // internal
    refuse(error, if name.is_empty() { topic } else { &name })?;
    for _ in 0..fields.count()? {
        let (partition, placement) = read_partition(&mut fields)?;
        found.partitions.insert(partition, placement);
    }
    Ok(found)
}

/// The brokers, and the cluster's id.
fn read_brokers(fields: &mut Fields<'_>) -> Answer<(BTreeMap<i32, Server>, String)> {
    let mut found = BTreeMap::new();
    fields.i32()?; // throttle time
    for _ in 0..fields.count()? {
        let node = fields.i32()?;
        let (host, port) = (fields.string()?, fields.i32()?);
        fields.string()?; // rack
        found.insert(node, (host, u16::try_from(port).map_err(|_| Malformed)?));
    }
    let cluster_id = fields.string()?;
    fields.i32()?; // controller
    Ok((found, cluster_id))
}

pub(super) fn read_cluster(answer: &[u8]) -> Answer<Cluster> {
    let (brokers, id) = read_brokers(&mut Fields::new(answer))?;
    Ok(Cluster {
        id,
        nodes: brokers.into_keys().collect(),
    })
}

fn read_partition(fields: &mut Fields<'_>) -> Answer<(i32, Placement)> {
    fields.i16()?; // error: a partition without a leader has the leader -1 too
    let partition = fields.i32()?;
    let placement = Placement {
        leader: fields.i32()?,
        leader_epoch: fields.i32()?,
        replicas: fields.i32s()?,
        in_sync: fields.i32s()?,
    };
    fields.i32s()?; // offline replicas
    Ok((partition, placement))
}

pub(super) fn read_topics(answer: &[u8]) -> Answer<Vec<String>> {
    let mut fields = Fields::new(answer);
    let mut found = Vec::new();
    read_brokers(&mut fields)?;
    for _ in 0..fields.count()? {
        let error = fields.i16()?;
        let name = fields.string()?;
        let is_internal = fields.flag()?;
        for _ in 0..fields.count()? {
            read_partition(&mut fields)?;
        }
        if error == 0 && !is_internal {
            found.push(name);
        }
    }
    Ok(found)
}

pub(super) fn read_offsets(answer: &[u8], topic: &str) -> Answer<BTreeMap<i32, i64>> {
    let mut fields = Fields::new(answer);
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

/// A replica that is being moved to another disk counts where it is served from. A disk that fails is left out.
pub(super) fn read_sizes(answer: &[u8], topic: &str) -> Answer<BTreeMap<i32, u64>> {
    let mut fields = Fields::new(answer);
    let mut sizes = BTreeMap::new();
    fields.i32()?; // throttle time
    for _ in 0..fields.count()? {
        fields.i16()?; // error
        fields.string()?; // log directory
        for _ in 0..fields.count()? {
            let name = fields.string()?;
            for _ in 0..fields.count()? {
                let (partition, size) = (fields.i32()?, fields.i64()?);
                fields.i64()?; // lag
                let is_future = fields.flag()?;
                if name == topic && !is_future {
                    sizes.insert(partition, u64::try_from(size).unwrap_or_default());
                }
            }
        }
    }
    Ok(sizes)
}

pub(super) fn read_epoch_end(answer: &[u8], topic: &str) -> Answer<i64> {
    let mut fields = Fields::new(answer);
    fields.i32()?; // throttle time
    if fields.count()? != 1 {
        return Err(Unusable::Malformed);
    }
    fields.string()?;
    if fields.count()? != 1 {
        return Err(Unusable::Malformed);
    }
    let (error, partition) = (fields.i16()?, fields.i32()?);
    fields.i32()?; // the epoch that was found
    let end = fields.i64()?;
    refuse(error, &format!("{topic}-{partition}"))?;
    Ok(end)
}

fn refuse(error: i16, what: &str) -> Answer<()> {
    let refusal = match error {
        0 => return Ok(()),
        error if UNKNOWN.contains(&error) => Refusal::Final(PlanError::NotFound(format!(
            "topic {what} is not known to the broker; check the topic and bootstrap_servers"
        ))),
        TOPIC_AUTHORIZATION_FAILED => Refusal::Final(PlanError::Forbidden(format!(
            "topic {what}: the broker's ACLs do not let this client describe it; allow READ on the topic"
        ))),
        // the broker is asked again until the time is up
        error if ErrorCode(error).is_retriable() => Refusal::Passing(format!("partition {what} has no leader")),
        error => Refusal::Server(Away::refused(format!("the broker answered error {error} for {what}"))),
    };
    Err(Unusable::Refused(refusal))
}
