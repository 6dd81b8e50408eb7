//! The broker configs that the data plane needs, by Kafka's names; the control plane validated them.

use std::collections::HashMap;
use std::str::FromStr;
use std::time::Duration;

use crate::error::{Error, ErrorCode, Result};

/// Defaults are Kafka 4.3's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// `num.network.threads`; never more than the machine has cores.
    pub network_threads: usize,
    /// `num.recovery.threads.per.data.dir`.
    pub recovery_threads_per_data_dir: usize,
    /// `socket.request.max.bytes`.
    pub socket_request_max_bytes: usize,
    /// `socket.listen.backlog.size`.
    pub socket_listen_backlog_size: i32,
    /// `socket.send.buffer.bytes`; -1 leaves the system's choice.
    pub socket_send_buffer_bytes: i64,
    /// `socket.receive.buffer.bytes`; -1 leaves the system's choice.
    pub socket_receive_buffer_bytes: i64,
    /// `fetch.max.bytes`.
    pub fetch_max_bytes: usize,
    /// `max.incremental.fetch.session.cache.slots`.
    pub fetch_session_slots: usize,
    /// `max.connections`.
    pub max_connections: usize,
    /// `max.connections.per.ip`.
    pub max_connections_per_ip: usize,
    /// `connections.max.idle.ms`; zero for never.
    pub connections_max_idle: Duration,
    /// `auto.create.topics.enable`.
    pub auto_create_topics_enable: bool,
    /// `producer.id.expiration.ms`.
    pub producer_id_expiration_ms: i64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            network_threads: 3,
            recovery_threads_per_data_dir: 2,
            socket_request_max_bytes: 100 << 20,
            socket_listen_backlog_size: 50,
            socket_send_buffer_bytes: 102_400,
            socket_receive_buffer_bytes: 102_400,
            fetch_max_bytes: 55 << 20,
            fetch_session_slots: 1000,
            max_connections: usize::MAX,
            max_connections_per_ip: usize::MAX,
            connections_max_idle: Duration::from_mins(10),
            auto_create_topics_enable: true,
            producer_id_expiration_ms: 86_400_000,
        }
    }
}

fn parse<T: FromStr>(pairs: &HashMap<String, String>, key: &str, into: &mut T) -> Result<()> {
    let Some(text) = pairs.get(key) else { return Ok(()) };
    *into = text.parse().map_err(|_| {
        Error::rejected(
            ErrorCode::INVALID_CONFIG,
            format!("{key}={text} is not a number or boolean as it must be"),
        )
    })?;
    Ok(())
}

impl Options {
    /// Defaults, overridden by what is given; keys that the data plane does not need are ignored.
    pub fn from_pairs(pairs: &HashMap<String, String>) -> Result<Self> {
        let mut options = Self::default();
        let mut idle_ms: i64 = 600_000;
        parse(pairs, "num.network.threads", &mut options.network_threads)?;
        parse(
            pairs,
            "num.recovery.threads.per.data.dir",
            &mut options.recovery_threads_per_data_dir,
        )?;
        parse(pairs, "socket.request.max.bytes", &mut options.socket_request_max_bytes)?;
        parse(
            pairs,
            "socket.listen.backlog.size",
            &mut options.socket_listen_backlog_size,
        )?;
        parse(pairs, "socket.send.buffer.bytes", &mut options.socket_send_buffer_bytes)?;
        parse(
            pairs,
            "socket.receive.buffer.bytes",
            &mut options.socket_receive_buffer_bytes,
        )?;
        parse(pairs, "fetch.max.bytes", &mut options.fetch_max_bytes)?;
        parse(
            pairs,
            "max.incremental.fetch.session.cache.slots",
            &mut options.fetch_session_slots,
        )?;
        parse(pairs, "max.connections", &mut options.max_connections)?;
        parse(pairs, "max.connections.per.ip", &mut options.max_connections_per_ip)?;
        parse(pairs, "connections.max.idle.ms", &mut idle_ms)?;
        parse(
            pairs,
            "auto.create.topics.enable",
            &mut options.auto_create_topics_enable,
        )?;
        parse(
            pairs,
            "producer.id.expiration.ms",
            &mut options.producer_id_expiration_ms,
        )?;
        options.connections_max_idle = Duration::from_millis(u64::try_from(idle_ms).unwrap_or(0));
        Ok(options)
    }
}
