//! What a planner asks live brokers: which partitions there are, who has them, how far they may be read, and where a
//! time begins.
//!
//! A scan of files needs two offsets that the files do not tell: the high watermark is in a checkpoint that is seconds
//! old, and the last stable offset is in no file. `ListOffsets` is asked for the last stable offset, the high watermark
//! and the log start, in this order, so that last stable offset <= high watermark holds without a lock. Metadata never
//! creates the topic. Each wait ends within the timeout, with an answer or an error of one sentence. Nothing is kept
//! between two calls.

mod answers;
mod questions;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use self::questions::{BrokerClient, CLIENT_ID, EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED};
use super::repr::quoted;
use super::{PlanError, Result};
use base::place::{LeaderEpoch, Offset};
use client::{NoAnswer, Pool, Security, Server, parse_servers};
use scan::Watermarks;

/// How long a broker is asked.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A partition as its leader describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LivePartition {
    /// How far it may be read.
    pub watermarks: Watermarks,
    /// The leader's node id.
    pub leader: i32,
    /// The epoch of that leader; -1 from a broker that does not tell.
    pub leader_epoch: LeaderEpoch,
    /// Node ids of the replicas that have every committed record, the leader among them.
    pub in_sync: Vec<i32>,
    /// Hosts of all replicas, the leader's first.
    pub hosts: Vec<String>,
}

/// A cluster and the node ids of its live brokers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterNodes {
    /// As `cluster.id` in `meta.properties`.
    pub id: String,
    /// In order.
    pub nodes: Vec<i32>,
}

/// The questions of a planner, so that a test can answer them.
pub trait OffsetLookup {
    /// Which cluster answers.
    fn cluster(&self) -> Result<ClusterNodes>;

    /// The names of all topics that are not internal.
    fn topics(&self) -> Result<Vec<String>>;

    /// The partitions of a topic, all of them for `None`, at this moment.
    fn partitions(&self, topic: &str, partitions: Option<&[i32]>) -> Result<BTreeMap<i32, LivePartition>>;

    /// The first offset of each partition whose timestamp is at least the one beside it, in ms; left out where there is
    /// none.
    fn first_at(&self, topic: &str, times: &BTreeMap<i32, i64>) -> Result<BTreeMap<i32, Offset>>;

    /// Bytes of each partition on its leader's disk; left out where that is not known.
    fn sizes(&self, topic: &str, partitions: &[i32]) -> Result<BTreeMap<i32, u64>>;
}

/// The brokers of `bootstrap.servers`. The methods of [`OffsetLookup`] go on until every leader has answered or the
/// time is up; the others ask once.
#[derive(Clone)]
pub struct Brokers {
    servers: Vec<Server>,
    security: Security,
    timeout: Duration,
    /// Where connections are kept between questions; without one each question has a connection of its own.
    pool: Option<Arc<Pool>>,
}

/// Where a partition is read over the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) server: Server,
    /// Of its leader.
    pub(super) leader_epoch: LeaderEpoch,
}

/// Why the brokers could not be asked.
#[derive(Debug)]
pub(super) enum Refusal {
    /// A partition has no leader just now.
    Passing(String),
    /// The server cannot be asked; another one may.
    Server(ServerFault),
    /// The answer is final.
    Final(PlanError),
}

/// Why a server cannot be asked, and what to do about it.
#[derive(Debug)]
pub(super) struct ServerFault {
    pub(super) clause: String,
    pub(super) fix: &'static str,
    /// Whether it gave no answer: its partitions may have another leader soon.
    is_silent: bool,
}

impl ServerFault {
    /// Of a server that answered an error.
    pub(super) fn refused(clause: String) -> Self {
        Self {
            clause,
            fix: "; its log says why",
            is_silent: false,
        }
    }

    fn sentence(&self) -> String {
        format!("bootstrap_servers: {}{}", self.clause, self.fix)
    }
}

impl From<NoAnswer> for Refusal {
    fn from(error: NoAnswer) -> Self {
        let NoAnswer {
            address,
            reason,
            is_final,
            is_shut_out,
        } = error;
        if is_final {
            return Self::Final(PlanError::Forbidden(format!(
                "bootstrap_servers: {address} cannot be asked ({reason}); check security.protocol, sasl.* and ssl.*"
            )));
        }
        Self::Server(ServerFault {
            clause: format!("{address} cannot be asked ({reason})"),
            fix: if is_shut_out {
                ""
            } else {
                "; name a running broker, or leave bootstrap_servers out to go by the files alone"
            },
            is_silent: true,
        })
    }
}

impl Refusal {
    /// What a refusal of a leader means: Metadata may name another one soon when it has died.
    fn of_leader(self) -> Self {
        match self {
            Self::Server(ServerFault {
                clause,
                is_silent: true,
                ..
            }) => Self::Passing(clause),
            other => other,
        }
    }
}

impl Brokers {
    /// The brokers of a list of host:port, several by comma; the first server that answers is taken.
    pub fn parse(bootstrap_servers: &str, security: Security, timeout: Duration) -> Result<Self> {
        let servers = parse_servers(bootstrap_servers).map_err(|error| {
            let (text, fix) = (quoted(&error.text), error.fix);
            PlanError::Invalid(format!("bootstrap_servers: {text} is no server; {fix}"))
        })?;
        Ok(Self {
            servers,
            security,
            timeout,
            pool: None,
        })
    }

    /// The same, over connections that all tasks of this process share.
    #[must_use]
    pub fn pooled(self) -> Self {
        Self {
            pool: Some(Pool::shared()),
            ..self
        }
    }

    /// Calls `ask` with a connection to the server: one that is kept, or, if that was closed meanwhile, another one.
    fn with<T>(
        &self,
        server: &Server,
        mut ask: impl FnMut(&mut BrokerClient) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let (security, timeout) = (&self.security, self.timeout);
        let pool = self.pool.as_ref();
        let kept = pool.and_then(|pool| pool.take(server, CLIENT_ID, security, timeout));
        if let Some(connection) = kept {
            let mut asked = BrokerClient(connection);
            match ask(&mut asked) {
                Err(Refusal::Server(ServerFault { is_silent: true, .. })) => {}
                told => return self.keep(asked, told),
            }
        }
        let mut asked = BrokerClient::open(server, security, timeout)?;
        let told = ask(&mut asked);
        self.keep(asked, told)
    }

    fn keep<T>(&self, asked: BrokerClient, told: Result<T, Refusal>) -> Result<T, Refusal> {
        if let (Some(pool), true) = (&self.pool, told.is_ok()) {
            pool.give(asked.0);
        }
        told
    }

    /// Calls `ask` until no leader is moving or the time is up.
    fn settled<T>(&self, ask: impl Fn(&Self) -> Result<T, Refusal>) -> Result<T> {
        let deadline = Instant::now() + self.timeout;
        loop {
            match ask(self) {
                Ok(found) => return Ok(found),
                Err(Refusal::Final(error)) => return Err(error),
                Err(Refusal::Server(away)) => return Err(PlanError::Unreachable(away.sentence())),
                Err(Refusal::Passing(reason)) if Instant::now() > deadline => {
                    return Err(PlanError::Unreachable(format!(
                        "bootstrap_servers: {reason} after {} s; try again later",
                        self.timeout.as_secs_f64()
                    )));
                }
                Err(Refusal::Passing(_)) => thread::sleep(RETRY_PAUSE),
            }
        }
    }

    /// Calls `ask` with the first server that answers.
    fn of_any<T>(&self, ask: impl Fn(&mut BrokerClient) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let mut failures: Vec<ServerFault> = Vec::new();
        for server in &self.servers {
            match self.with(server, &ask) {
                Err(Refusal::Server(away)) => failures.push(away),
                asked => return asked,
            }
        }
        let clauses: Vec<&str> = failures.iter().map(|away| away.clause.as_str()).collect();
        Err(Refusal::Server(ServerFault {
            clause: clauses.join("; "),
            fix: failures.first().map_or("", |away| away.fix),
            is_silent: failures.iter().all(|away| away.is_silent),
        }))
    }

    /// Asks the leaders of partitions, each once; `ask` gets the partitions of one leader.
    fn of_leaders<T>(
        &self,
        topic: &str,
        partitions: Option<&[i32]>,
        mut ask: impl FnMut(&Topology, &mut BrokerClient, &[i32]) -> Result<BTreeMap<i32, T>, Refusal>,
    ) -> Result<BTreeMap<i32, T>, Refusal> {
        let topology = self.of_any(|asked| asked.metadata(topic))?;
        let mut found = BTreeMap::new();
        for (leader, its) in topology.by_leader(topic, partitions)? {
            let Some(server) = topology.brokers.get(&leader) else {
                return Err(Refusal::Passing(format!("partition {topic}-{} has no leader", its[0])));
            };
            let told = self
                .with(server, |asked| ask(&topology, asked, &its))
                .map_err(Refusal::of_leader)?;
            found.extend(told);
        }
        Ok(found)
    }

    /// Asks leaders once.
    pub(super) fn live(
        &self,
        topic: &str,
        partitions: Option<&[i32]>,
    ) -> Result<BTreeMap<i32, LivePartition>, Refusal> {
        self.of_leaders(topic, partitions, |topology, asked, its| {
            let stable = asked.list_offsets(topic, &every(its, LATEST), READ_COMMITTED)?;
            let high = asked.list_offsets(topic, &every(its, LATEST), READ_UNCOMMITTED)?;
            let start = asked.list_offsets(topic, &every(its, EARLIEST), READ_UNCOMMITTED)?;
            let mut found = BTreeMap::new();
            for (partition, start) in start {
                let (Some(stable), Some(high)) = (stable.get(&partition), high.get(&partition)) else {
                    return Err(Refusal::Passing(format!("partition {topic}-{partition} has no leader")));
                };
                // the log start was asked for last: retention may have moved it beyond the two other offsets
                let watermarks = Watermarks {
                    log_start_offset: Offset(start),
                    high_watermark: Offset(start.max(*high)),
                    last_stable_offset: Offset(start.max(*stable)),
                };
                found.insert(partition, topology.live(partition, watermarks));
            }
            Ok(found)
        })
    }
}

impl Brokers {
    /// The broker to read a partition from: `node` if it is alive, else the leader.
    pub(super) fn place(&self, topic: &str, partition: i32, node: Option<i32>) -> Result<Placed, Refusal> {
        let topology = self.of_any(|asked| asked.metadata(topic))?;
        let Some(placement) = topology.partitions.get(&partition) else {
            return Err(Refusal::Final(PlanError::NotFound(format!(
                "topic {topic} has no partition {partition} any more"
            ))));
        };
        let preferred = node.and_then(|node| topology.brokers.get(&node));
        let Some(server) = preferred.or_else(|| topology.brokers.get(&placement.leader)) else {
            return Err(Refusal::Passing(format!("partition {topic}-{partition} has no leader")));
        };
        Ok(Placed {
            server: server.clone(),
            leader_epoch: LeaderEpoch(placement.leader_epoch),
        })
    }

    /// Where the records of `epoch` end in the log of the leader; `None` when it does not know the epoch.
    pub(super) fn epoch_end(
        &self,
        topic: &str,
        partition: i32,
        leader: &Server,
        epoch: LeaderEpoch,
    ) -> Result<Option<Offset>, Refusal> {
        let end = self.with(leader, |asked| asked.epoch_end(topic, partition, epoch))?;
        Ok((end >= 0).then_some(Offset(end)))
    }
}

fn every(partitions: &[i32], timestamp: i64) -> BTreeMap<i32, i64> {
    partitions.iter().map(|partition| (*partition, timestamp)).collect()
}

impl OffsetLookup for Brokers {
    fn cluster(&self) -> Result<ClusterNodes> {
        self.settled(|brokers| brokers.of_any(BrokerClient::cluster))
    }

    fn topics(&self) -> Result<Vec<String>> {
        self.settled(|brokers| brokers.of_any(BrokerClient::topics))
    }

    fn partitions(&self, topic: &str, partitions: Option<&[i32]>) -> Result<BTreeMap<i32, LivePartition>> {
        self.settled(|brokers| brokers.live(topic, partitions))
    }

    fn first_at(&self, topic: &str, times: &BTreeMap<i32, i64>) -> Result<BTreeMap<i32, Offset>> {
        let partitions: Vec<i32> = times.keys().copied().collect();
        self.settled(|brokers| {
            brokers.of_leaders(topic, Some(&partitions), |_, asked, its| {
                let of_leader = its.iter().filter_map(|it| Some((*it, *times.get(it)?))).collect();
                let found = asked.list_offsets(topic, &of_leader, READ_UNCOMMITTED)?;
                let known = found.into_iter().filter(|(_, offset)| *offset >= 0);
                Ok(known.map(|(partition, offset)| (partition, Offset(offset))).collect())
            })
        })
    }

    fn sizes(&self, topic: &str, partitions: &[i32]) -> Result<BTreeMap<i32, u64>> {
        self.settled(|brokers| brokers.of_leaders(topic, Some(partitions), |_, asked, its| asked.sizes(topic, its)))
    }
}

/// What Metadata tells of a topic.
#[derive(Debug, Default)]
struct Topology {
    /// By node id.
    brokers: BTreeMap<i32, Server>,
    partitions: BTreeMap<i32, Placement>,
}

/// Who has a partition, as node ids.
#[derive(Debug, Default, Clone)]
struct Placement {
    leader: i32,
    leader_epoch: i32,
    replicas: Vec<i32>,
    in_sync: Vec<i32>,
}

impl Topology {
    /// The wanted partitions by their leader.
    fn by_leader(&self, topic: &str, partitions: Option<&[i32]>) -> Result<BTreeMap<i32, Vec<i32>>, Refusal> {
        let all: Vec<i32> = self.partitions.keys().copied().collect();
        let mut by_leader: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for partition in partitions.unwrap_or(&all) {
            let Some(placement) = self.partitions.get(partition) else {
                return Err(Refusal::Final(PlanError::NotFound(format!(
                    "topic {topic} has no partition {partition} at the broker; it has {}",
                    span(&all)
                ))));
            };
            by_leader.entry(placement.leader).or_default().push(*partition);
        }
        Ok(by_leader)
    }

    fn live(&self, partition: i32, watermarks: Watermarks) -> LivePartition {
        let placement = self.partitions.get(&partition).cloned().unwrap_or_default();
        let others = placement.replicas.iter().filter(|node| **node != placement.leader);
        let nodes = std::iter::once(&placement.leader).chain(others);
        let hosts = nodes.filter_map(|node| self.brokers.get(node));
        LivePartition {
            watermarks,
            leader: placement.leader,
            leader_epoch: LeaderEpoch(placement.leader_epoch),
            hosts: hosts.map(|(host, _)| host.clone()).collect(),
            in_sync: placement.in_sync,
        }
    }
}

fn span(partitions: &[i32]) -> String {
    match partitions {
        [] => "none".to_owned(),
        [_] => "only 0".to_owned(),
        [.., last] => format!("0 to {last}"),
    }
}

#[cfg(test)]
mod tests;
