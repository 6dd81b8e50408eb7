//! The brokers as one writer knows them: connections to ask over, the leaders of topics, the coordinators of keys.
//!
//! Questions block, each for at most the request's timeout, and are asked again until the caller's time is up. Nothing
//! here sends records.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::error::{ProducerError, Result, Vain, advice, failed};
use super::options::ProducerOptions;
use super::transactions::CoordinatorKind;
use base::error::ErrorCode;
use client::{Connection, Request, Server};
use protocol::WireError;
use protocol::messages::Message;
use protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic};

/// Served by every broker since Kafka 2.1.
const METADATA_VERSION: i16 = 7;
/// A host that drops packets is given up after this.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest pause before brokers are asked again, as `retry.backoff.max.ms`; each is twice the one before.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// After so many rounds in which every server closed the connection before it let the client in, none of them will:
/// a broker that restarts refuses connections meanwhile.
const MAX_SHUT_OUTS: u32 = 5;
pub(super) const NO_LEADER: i32 = -1;

/// What Metadata tells.
#[derive(Debug, Default)]
struct Told {
    brokers: BTreeMap<i32, Server>,
    /// The leaders by partition, or the topic's error.
    topics: Vec<(String, Result<Vec<i32>, ErrorCode>)>,
}

/// Why leaders are not known.
pub(super) struct Missing {
    /// Kafka's error that does not pass.
    pub(super) refusal: Option<ErrorCode>,
    pub(super) reason: String,
    /// What the user can do.
    pub(super) fix: String,
}

/// See the module.
pub(super) struct Cluster {
    pub(super) options: Arc<ProducerOptions>,
    connections: HashMap<Server, Connection>,
    brokers: BTreeMap<i32, Server>,
    leaders: HashMap<Arc<str>, Vec<i32>>,
    pub(super) coordinators: HashMap<(CoordinatorKind, String), Server>,
    pause: Duration,
    /// Rounds in a row, see [`MAX_SHUT_OUTS`].
    shut_outs: u32,
}

impl Cluster {
    pub(super) fn new(options: Arc<ProducerOptions>) -> Self {
        Self {
            pause: options.retry_backoff,
            shut_outs: 0,
            options,
            connections: HashMap::new(),
            brokers: BTreeMap::new(),
            leaders: HashMap::new(),
            coordinators: HashMap::new(),
        }
    }

    pub(super) fn server(&self, node: i32) -> Option<&Server> {
        self.brokers.get(&node)
    }

    /// All brokers.
    pub(super) fn servers(&self) -> Vec<Server> {
        self.brokers.values().cloned().collect()
    }

    /// The leader of each partition, [`NO_LEADER`] where there is none; empty for a topic that was never looked up.
    pub(super) fn leaders(&self, topic: &str) -> &[i32] {
        self.leaders.get(topic).map_or(&[], Vec::as_slice)
    }

    /// Waits until the topic is known, at most `max.block.ms`; the broker may create it.
    pub(super) fn look_up(&mut self, topic: &Arc<str>) -> Result<()> {
        let deadline = Instant::now() + self.options.max_block;
        while self.leaders(topic).is_empty() {
            let Some(Missing { refusal, reason, fix }) = self.refresh(std::slice::from_ref(topic))? else {
                continue;
            };
            if refusal.is_some() {
                return Err(ProducerError::Invalid(reason));
            }
            if Instant::now() > deadline {
                return Err(failed(format!(
                    "topic {topic} was not found within {} = {} ms ({reason}); {fix}",
                    self.options.keys.named("max.block.ms"),
                    self.options.max_block.as_millis()
                )));
            }
            self.wait();
        }
        Ok(())
    }

    /// Waits before brokers are asked again: `retry.backoff.ms` after an answer, longer after each vain question.
    pub(super) fn wait(&mut self) {
        thread::sleep(self.pause);
        self.pause = (2 * self.pause).min(MAX_PAUSE.max(self.options.retry_backoff));
    }

    /// Asks for the leaders of the topics; what is missing when some of them are not known now.
    pub(super) fn refresh(&mut self, topics: &[Arc<str>]) -> Result<Option<Missing>> {
        let names = topics.iter().map(|name| MetadataRequestTopic { name });
        let request = MetadataRequest {
            topics: Some(names.collect()),
            allow_auto_topic_creation: true,
        };
        let request = Request::of(METADATA_VERSION, &request);
        let told = match self.ask_any(&request, read_metadata) {
            Ok(told) => told,
            Err(vain) => {
                let reason = vain.passing(self.options.keys)?;
                let fix = format!("check {}", self.options.keys.named("bootstrap.servers"));
                return Ok(Some(Missing {
                    refusal: None,
                    reason,
                    fix,
                }));
            }
        };
        self.brokers = told.brokers;
        let (mut refusal, mut reason) = (None, None);
        for (topic, leaders) in told.topics {
            match leaders {
                Ok(leaders) if !leaders.is_empty() => {
                    self.leaders.insert(Arc::from(topic), leaders);
                }
                Ok(_) => reason = Some("it has no partitions".to_owned()),
                Err(error @ (ErrorCode::TOPIC_AUTHORIZATION_FAILED | ErrorCode::INVALID_TOPIC_EXCEPTION)) => {
                    let advice = advice(error, self.options.keys);
                    refusal = Some(error);
                    reason = Some(format!("topic '{topic}': {advice} ({})", error.name()));
                }
                Err(error) => reason = Some(error.name().to_owned()),
            }
        }
        let fix = "create it, or check its name".to_owned();
        Ok(reason.map(|reason| Missing { refusal, reason, fix }))
    }

    /// The first answer of a broker that is known, or of a server of the options.
    pub(super) fn ask_any<T>(
        &mut self,
        request: &Request,
        read: impl Fn(&[u8]) -> Result<T, WireError>,
    ) -> Result<T, Vain> {
        let mut reasons = Vec::new();
        let mut is_shut_out = true;
        let servers = self.brokers.values().chain(&self.options.servers).cloned();
        for server in servers.collect::<Vec<_>>() {
            match self.ask(&server, request, &read) {
                Ok(told) => {
                    self.shut_outs = 0;
                    return Ok(told);
                }
                Err(vain) if vain.is_final => return Err(vain),
                Err(vain) => {
                    is_shut_out &= vain.is_shut_out;
                    if !reasons.contains(&vain.reason) {
                        reasons.push(vain.reason);
                    }
                }
            }
        }
        self.shut_outs = if is_shut_out { self.shut_outs + 1 } else { 0 };
        Err(Vain {
            reason: reasons.join("; "),
            is_final: self.shut_outs >= MAX_SHUT_OUTS,
            is_shut_out,
        })
    }

    /// One question to one server, over the connection that is kept for it.
    pub(super) fn ask<T>(
        &mut self,
        server: &Server,
        request: &Request,
        read: impl Fn(&[u8]) -> Result<T, WireError>,
    ) -> Result<T, Vain> {
        let mut connection = match self.connections.remove(server) {
            Some(connection) => connection,
            None => Connection::open(
                server,
                &self.options.client_id,
                &self.options.security,
                CONNECT_TIMEOUT.min(self.options.request_timeout),
            )?,
        };
        let answer = connection.ask(request)?;
        let told = read(&answer).map_err(|_| connection.malformed())?;
        self.connections.insert(server.clone(), connection);
        self.pause = self.options.retry_backoff;
        Ok(told)
    }
}

fn read_metadata(answer: &[u8]) -> Result<Told, WireError> {
    let answer = MetadataResponse::decode(METADATA_VERSION, answer)?;
    let server = |port: i32, host: &str| Some((host.to_owned(), u16::try_from(port).ok()?));
    let brokers = answer.brokers.iter();
    Ok(Told {
        brokers: brokers
            .filter_map(|broker| Some((broker.node_id, server(broker.port, broker.host)?)))
            .collect(),
        topics: answer
            .topics
            .iter()
            .map(|topic| (topic.name.to_owned(), leaders(topic)))
            .collect(),
    })
}

fn leaders(topic: &MetadataResponseTopic<'_>) -> Result<Vec<i32>, ErrorCode> {
    let mut leaders = vec![NO_LEADER; topic.partitions.len()];
    for partition in &topic.partitions {
        let at = usize::try_from(partition.partition_index).ok();
        if let Some(known) = at.and_then(|at| leaders.get_mut(at)) {
            *known = partition.leader_id;
        }
    }
    match topic.error_code {
        ErrorCode::NONE | ErrorCode::LEADER_NOT_AVAILABLE if !leaders.is_empty() => Ok(leaders),
        error => Err(error),
    }
}
