//! The brokers as one writer knows them: connections to ask over, the leaders of topics, the coordinators of keys.
//!
//! Questions block, each for at most the request's timeout, and are asked again until the caller's time is up. Nothing
//! here sends records.
//!
//! ```text
//! Metadata v4 := [topic string], allow_auto_topic_creation bool
//!             -> throttle i32, [node i32, host string, port i32, rack string?], cluster string?, controller i32,
//!                [error i16, topic string, is_internal bool,
//!                 [error i16, partition i32, leader i32, replicas [i32], isr [i32]]]
//! ```

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::bodies::Encoding;
use super::error::{ProducerError, Result, Vain, advice, failed};
use super::options::ProducerOptions;
use super::transactions::{CoordinatorKind, Request};
use base::error::ErrorCode;
use client::{Connection, Malformed, Server};
use protocol::{Reader, WireError};

pub(super) const CLIENT_ID: &str = "kafkastore-sink";
const METADATA: i16 = 3;
const METADATA_VERSION: i16 = 4;
/// A host that drops packets is given up after this.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest pause before brokers are asked again, as `retry.backoff.max.ms`; each is twice the one before.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// After so many rounds in which every server closed the connection before it let the client in, none of them will:
/// a broker that restarts refuses connections meanwhile.
const MAX_SHUT_OUTS: u32 = 5;
pub(super) const NO_LEADER: i32 = -1;
const MIN_BROKER_BYTES: usize = 12;
const MIN_TOPIC_BYTES: usize = 9;
const MIN_PARTITION_BYTES: usize = 18;

/// What Metadata tells.
#[derive(Debug, Default)]
struct Told {
    brokers: BTreeMap<i32, Server>,
    /// The leaders by partition, or the topic's error.
    topics: Vec<(String, Result<Vec<i32>, ErrorCode>)>,
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
            let Some(reason) = self.refresh(std::slice::from_ref(topic))? else {
                continue;
            };
            if Instant::now() > deadline {
                return Err(failed(format!(
                    "topic {topic} was not found within kafka.max.block.ms = {} ms ({reason}); create it, or check the \
                     topic and kafka.bootstrap.servers",
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

    /// Asks for the leaders of the topics; the reason when some of them are not known now.
    pub(super) fn refresh(&mut self, topics: &[Arc<str>]) -> Result<Option<String>> {
        let body = Encoding::Plain.write(|w| {
            w.length(Some(topics.len()));
            for topic in topics {
                w.string(topic);
            }
            w.boolean(true);
        });
        let request = Request {
            key: METADATA,
            version: METADATA_VERSION,
            body,
        };
        let told = match self.ask_any(&request, read_metadata) {
            Ok(told) => told,
            Err(vain) => return vain.passing().map(Some),
        };
        self.brokers = told.brokers;
        let mut reason = None;
        for (topic, leaders) in told.topics {
            match leaders {
                Ok(leaders) if !leaders.is_empty() => {
                    self.leaders.insert(Arc::from(topic), leaders);
                }
                Ok(_) => reason = Some("it has no partitions".to_owned()),
                Err(error @ (ErrorCode::TOPIC_AUTHORIZATION_FAILED | ErrorCode::INVALID_TOPIC_EXCEPTION)) => {
                    let sentence = format!("topic '{topic}': {} ({})", advice(error), error.name());
                    return Err(ProducerError::Invalid(sentence));
                }
                Err(error) => reason = Some(error.name().to_owned()),
            }
        }
        Ok(reason)
    }

    /// The first answer of a broker that is known, or of a server of the options.
    pub(super) fn ask_any<T>(
        &mut self,
        request: &Request,
        read: impl Fn(&[u8]) -> Result<T, Malformed>,
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
        read: impl Fn(&[u8]) -> Result<T, Malformed>,
    ) -> Result<T, Vain> {
        let mut connection = match self.connections.remove(server) {
            Some(connection) => connection,
            None => Connection::open(
                server,
                CLIENT_ID,
                &self.options.security,
                CONNECT_TIMEOUT.min(self.options.request_timeout),
            )?,
        };
        let answer = connection.ask(request.key, request.version, &request.body)?;
        let told = read(&answer).map_err(|Malformed| connection.malformed())?;
        self.connections.insert(server.clone(), connection);
        self.pause = self.options.retry_backoff;
        Ok(told)
    }
}

fn read_metadata(answer: &[u8]) -> Result<Told, Malformed> {
    Encoding::Plain.read(answer, |reader| {
        let mut told = Told::default();
        reader.i32()?; // throttle time
        for _ in 0..reader.count(MIN_BROKER_BYTES)? {
            let node = reader.i32()?;
            let (host, port) = (reader.str()?.to_owned(), reader.i32()?);
            reader.nullable_str()?; // rack
            if let Ok(port) = u16::try_from(port) {
                told.brokers.insert(node, (host, port));
            }
        }
        reader.nullable_str()?; // cluster id
        reader.i32()?; // controller
        for _ in 0..reader.count(MIN_TOPIC_BYTES)? {
            told.topics.push(read_topic(reader)?);
        }
        Ok(told)
    })
}

fn read_topic(reader: &mut Reader<'_>) -> Result<(String, Result<Vec<i32>, ErrorCode>), WireError> {
    let error = ErrorCode(reader.i16()?);
    let name = reader.str()?.to_owned();
    reader.boolean()?; // internal
    let count = reader.count(MIN_PARTITION_BYTES)?;
    let mut leaders = vec![NO_LEADER; count];
    for _ in 0..count {
        reader.i16()?; // error
        let (partition, leader) = (reader.i32()?, reader.i32()?);
        for _ in ["replicas", "in-sync replicas"] {
            let count = reader.count(size_of::<i32>())?;
            reader.take(count * size_of::<i32>())?;
        }
        if let Some(known) = usize::try_from(partition).ok().and_then(|at| leaders.get_mut(at)) {
            *known = leader;
        }
    }
    let is_known = matches!(error, ErrorCode::NONE | ErrorCode::LEADER_NOT_AVAILABLE) && count > 0;
    Ok((name, if is_known { Ok(leaders) } else { Err(error) }))
}
