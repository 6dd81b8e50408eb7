//! The properties of a consumer: names, values and defaults of Kafka's consumer configs.
//!
//! Every mistake is one sentence. Nothing is connected to. Source: Kafka 4.4, `ConsumerConfig`.

use std::time::Duration;

use super::error::{ConsumerError, Result};
use client::{Properties, Security, Server};

/// Keys that mean something here, beside those of `client::Security`.
const KNOWN: [&str; 15] = [
    "allow.auto.create.topics",
    "auto.offset.reset",
    "bootstrap.servers",
    "check.crcs",
    "client.id",
    "client.rack",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "isolation.level",
    "max.partition.fetch.bytes",
    "metadata.max.age.ms",
    "request.timeout.ms",
    "retry.backoff.ms",
    "socket.connection.setup.timeout.ms",
];

/// Where a partition is read from when it has no record at the wanted offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// Its first record.
    Earliest,
    /// Behind its last record.
    Latest,
    /// Nowhere: that is an error.
    None,
}

/// The options of a consumer.
#[derive(Debug, Clone)]
pub struct ConsumerOptions {
    /// `bootstrap.servers`.
    pub servers: Vec<Server>,
    /// `security.protocol`, `ssl.*`, `sasl.*`.
    pub security: Security,
    /// `client.id`.
    pub client_id: String,
    /// `client.rack`.
    pub client_rack: String,
    /// `isolation.level`: whether records of open and aborted transactions are left out.
    pub is_committed: bool,
    /// `auto.offset.reset`.
    pub reset: Reset,
    /// `fetch.min.bytes`.
    pub min_bytes: i32,
    /// `fetch.max.wait.ms`.
    pub max_wait_ms: i32,
    /// `fetch.max.bytes`.
    pub max_bytes: i32,
    /// `max.partition.fetch.bytes`.
    pub max_partition_bytes: i32,
    /// `check.crcs`.
    pub checks_crcs: bool,
    /// `allow.auto.create.topics`.
    pub creates_topics: bool,
    /// `request.timeout.ms`.
    pub request_timeout: Duration,
    /// `socket.connection.setup.timeout.ms`.
    pub connect_timeout: Duration,
    /// `retry.backoff.ms`.
    pub retry_backoff: Duration,
    /// `metadata.max.age.ms`.
    pub metadata_max_age: Duration,
}

impl ConsumerOptions {
    /// The options, and the keys that have no effect.
    pub fn parse(properties: &Properties) -> Result<(Self, Vec<String>)> {
        let options = Self::read(properties).map_err(ConsumerError::lasting)?;
        Ok((options, properties.ignored(&KNOWN)))
    }

    fn read(given: &Properties) -> Result<Self, String> {
        let resets = [
            ("earliest", Reset::Earliest),
            ("latest", Reset::Latest),
            ("none", Reset::None),
        ];
        let isolations = [("read_uncommitted", false), ("read_committed", true)];
        Ok(Self {
            servers: given.servers()?,
            security: given.security()?,
            client_id: given.get("client.id").unwrap_or_default().to_owned(),
            client_rack: given.get("client.rack").unwrap_or_default().to_owned(),
            is_committed: given.choice("isolation.level", false, &isolations)?,
            reset: given.choice("auto.offset.reset", Reset::Latest, &resets)?,
            min_bytes: given.int("fetch.min.bytes", 1, 0)?,
            max_wait_ms: given.int("fetch.max.wait.ms", 500, 0)?,
            max_bytes: given.int("fetch.max.bytes", 50 << 20, 0)?,
            max_partition_bytes: given.int("max.partition.fetch.bytes", 1 << 20, 0)?,
            checks_crcs: given.flag("check.crcs", true)?,
            creates_topics: given.flag("allow.auto.create.topics", true)?,
            request_timeout: given.ms("request.timeout.ms", 30_000)?,
            connect_timeout: given.ms("socket.connection.setup.timeout.ms", 10_000)?,
            retry_backoff: given.ms("retry.backoff.ms", 100)?,
            metadata_max_age: given.ms("metadata.max.age.ms", 300_000)?,
        })
    }
}
