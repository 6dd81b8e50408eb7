//! The broker configs that the data plane needs, by Kafka's names; the control plane validated them.

mod connections;

use std::collections::HashMap;
use std::str::FromStr;
use std::time::Duration;

use crate::logs::cleaner::config::CleanerConfig;
use crate::replication::replica_selector::RACK_AWARE;
use crate::replication::throttle::UNLIMITED;
use base::error::{Error, ErrorCode, Result};
use protocol::scram::Secret;

pub use connections::ConnectionOptions;

/// The option that holds the secret itself; the control plane has read it from its file.
const SECRET: &str = "kafkastore.inter.broker.secret";
/// The option that says that no other broker shares the metadata store.
const ALONE: &str = "kafkastore.is.alone";
/// The option that says that the brokers' listener knows each of its clients, and brokers by their principals.
const BROKERS_BY_PRINCIPAL: &str = "kafkastore.inter.broker.principals";

/// The window over which a rate is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaWindow {
    /// How many samples.
    pub samples: u32,
    /// How long each sample is.
    pub sample: Duration,
}

impl Default for QuotaWindow {
    fn default() -> Self {
        Self {
            samples: 11,
            sample: Duration::from_secs(1),
        }
    }
}

impl QuotaWindow {
    fn parse(&mut self, pairs: &HashMap<String, String>, prefix: &str) -> Result<()> {
        parse(pairs, &format!("{prefix}.num"), &mut self.samples)?;
        let mut seconds = self.sample.as_secs();
        parse(pairs, &format!("{prefix}.size.seconds"), &mut seconds)?;
        self.sample = Duration::from_secs(seconds);
        Ok(())
    }
}

/// Defaults are Kafka 4.4's.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the configuration")]
pub struct Options {
    /// `num.network.threads`; never more than the machine has cores.
    pub network_threads: usize,
    /// `num.recovery.threads.per.data.dir`.
    pub recovery_threads_per_data_dir: usize,
    /// `num.replica.alter.log.dirs.threads`; one for each of `log.dirs` when it is not set.
    pub replica_alter_log_dirs_threads: usize,
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
    /// `kafkastore.fetch.session.cache.max.bytes`.
    pub fetch_session_bytes: usize,
    /// `kafkastore.control.max.bytes`.
    pub control_bytes: usize,
    /// `kafkastore.unsent.max.bytes`.
    pub unsent_bytes: usize,
    /// `queued.max.request.bytes`.
    pub queued_request_bytes: usize,
    /// The limits on connections.
    pub connections: ConnectionOptions,
    /// `connections.max.idle.ms`; zero for never.
    pub connections_max_idle: Duration,
    /// `auto.create.topics.enable`.
    pub auto_create_topics_enable: bool,
    /// `replica.lag.time.max.ms`.
    pub replica_lag_time_max: Duration,
    /// `replica.fetch.wait.max.ms`.
    pub replica_fetch_wait_max_ms: i32,
    /// `replica.fetch.min.bytes`.
    pub replica_fetch_min_bytes: i32,
    /// `replica.fetch.max.bytes`.
    pub replica_fetch_max_bytes: i32,
    /// `replica.fetch.response.max.bytes`.
    pub replica_fetch_response_max_bytes: i32,
    /// `replica.fetch.backoff.ms`.
    pub replica_fetch_backoff: Duration,
    /// `replica.socket.timeout.ms`.
    pub replica_socket_timeout: Duration,
    /// `socket.connection.setup.timeout.ms`.
    pub connection_setup_timeout: Duration,
    /// `replica.socket.receive.buffer.bytes`; -1 leaves the system's choice.
    pub replica_socket_receive_buffer_bytes: i64,
    /// `leader.replication.throttled.rate`, bytes a second.
    pub leader_throttled_rate: i64,
    /// `follower.replication.throttled.rate`, bytes a second.
    pub follower_throttled_rate: i64,
    /// `quota.window.num` and `.size.seconds`.
    pub client_quota: QuotaWindow,
    /// `replication.quota.window.num` and `.size.seconds`.
    pub replication_quota: QuotaWindow,
    /// `replica.alter.log.dirs.io.max.bytes.per.second`.
    pub alter_log_dirs_rate: i64,
    /// `alter.log.dirs.replication.quota.window.num` and `.size.seconds`.
    pub alter_log_dirs_quota: QuotaWindow,
    /// `inter.broker.listener.name`, or the name of the listener with `security.inter.broker.protocol`.
    pub inter_broker_listener: String,
    /// The content of `kafkastore.inter.broker.secret.file`.
    pub inter_broker_secret: Option<Secret>,
    /// `kafkastore.inter.broker.secret.required`: a connection that has not proven the secret may not act as a broker.
    pub is_inter_broker_secret_required: bool,
    /// The broker shares its metadata store with no other.
    pub is_alone: bool,
    /// Whether there is something that brokers prove to each other: the secret, or a principal.
    pub has_broker_proof: bool,
    /// `producer.id.expiration.ms`.
    pub producer_id_expiration_ms: i64,
    /// `transaction.partition.verification.enable`: the coordinator is asked before the first batch of a transaction of
    /// version 0 or 1 is written to a partition. In version 2 the coordinator is always asked, since it adds the
    /// partition.
    pub verifies_transactions: bool,
    /// `kafkastore.cut.files.max.bytes`: most bytes of the `.cut` files of a partition.
    pub cut_files_max_bytes: u64,
    /// Whether `replica.selector.class` is Kafka's selector by racks.
    pub is_rack_aware: bool,
    /// The `log.cleaner.*` keys.
    pub cleaner: CleanerConfig,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            network_threads: 3,
            recovery_threads_per_data_dir: 2,
            replica_alter_log_dirs_threads: 1,
            socket_request_max_bytes: 100 << 20,
            socket_listen_backlog_size: 50,
            socket_send_buffer_bytes: 102_400,
            socket_receive_buffer_bytes: 102_400,
            fetch_max_bytes: 55 << 20,
            fetch_session_slots: 1000,
            fetch_session_bytes: 32 << 20,
            control_bytes: 32 << 20,
            unsent_bytes: 32 << 20,
            queued_request_bytes: 32 << 20,
            connections: ConnectionOptions::default(),
            connections_max_idle: Duration::from_mins(10),
            auto_create_topics_enable: true,
            replica_lag_time_max: Duration::from_secs(30),
            replica_fetch_wait_max_ms: 500,
            replica_fetch_min_bytes: 1,
            replica_fetch_max_bytes: 1 << 20,
            replica_fetch_response_max_bytes: 10 << 20,
            replica_fetch_backoff: Duration::from_secs(1),
            replica_socket_timeout: Duration::from_secs(30),
            connection_setup_timeout: Duration::from_secs(10),
            replica_socket_receive_buffer_bytes: 65_536,
            leader_throttled_rate: UNLIMITED,
            follower_throttled_rate: UNLIMITED,
            client_quota: QuotaWindow::default(),
            replication_quota: QuotaWindow::default(),
            alter_log_dirs_rate: UNLIMITED,
            alter_log_dirs_quota: QuotaWindow::default(),
            inter_broker_listener: "PLAINTEXT".to_owned(),
            inter_broker_secret: None,
            is_inter_broker_secret_required: true,
            is_alone: false,
            has_broker_proof: false,
            producer_id_expiration_ms: 86_400_000,
            verifies_transactions: true,
            cut_files_max_bytes: 1 << 30,
            is_rack_aware: false,
            cleaner: CleanerConfig::default(),
        }
    }
}

fn parse_ms(pairs: &HashMap<String, String>, key: &str, into: &mut Duration) -> Result<()> {
    let mut ms = into.as_millis() as i64;
    parse(pairs, key, &mut ms)?;
    *into = Duration::from_millis(u64::try_from(ms).unwrap_or(0));
    Ok(())
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
    /// The defaults, overridden by the given values; keys that the data plane does not need are ignored.
    pub fn from_pairs(pairs: &HashMap<String, String>) -> Result<Self> {
        let mut options = Self::default();
        parse(pairs, "num.network.threads", &mut options.network_threads)?;
        parse(
            pairs,
            "num.recovery.threads.per.data.dir",
            &mut options.recovery_threads_per_data_dir,
        )?;
        let log_dirs = pairs.get("log.dirs").map_or(1, |dirs| dirs.split(',').count());
        options.replica_alter_log_dirs_threads = log_dirs;
        parse(
            pairs,
            "num.replica.alter.log.dirs.threads",
            &mut options.replica_alter_log_dirs_threads,
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
        options.parse_budgets(pairs)?;
        options.connections = ConnectionOptions::parse(pairs)?;
        parse_ms(pairs, "connections.max.idle.ms", &mut options.connections_max_idle)?;
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
        parse(
            pairs,
            "transaction.partition.verification.enable",
            &mut options.verifies_transactions,
        )?;
        parse(
            pairs,
            "kafkastore.cut.files.max.bytes",
            &mut options.cut_files_max_bytes,
        )?;
        options.parse_replication(pairs)?;
        options.parse_throttles(pairs)?;
        options.parse_cleaner(pairs)?;
        Ok(options)
    }

    fn parse_budgets(&mut self, pairs: &HashMap<String, String>) -> Result<()> {
        let sessions = &mut self.fetch_session_bytes;
        parse(pairs, "kafkastore.fetch.session.cache.max.bytes", sessions)?;
        parse(pairs, "kafkastore.control.max.bytes", &mut self.control_bytes)?;
        parse(pairs, "kafkastore.unsent.max.bytes", &mut self.unsent_bytes)?;
        let mut queued = -1i64;
        parse(pairs, "queued.max.request.bytes", &mut queued)?;
        // Kafka's default, -1, means no limit there; here it means the default limit.
        self.queued_request_bytes = usize::try_from(queued).unwrap_or(self.queued_request_bytes);
        Ok(())
    }

    fn parse_throttles(&mut self, pairs: &HashMap<String, String>) -> Result<()> {
        parse(
            pairs,
            "leader.replication.throttled.rate",
            &mut self.leader_throttled_rate,
        )?;
        parse(
            pairs,
            "follower.replication.throttled.rate",
            &mut self.follower_throttled_rate,
        )?;
        parse(
            pairs,
            "replica.alter.log.dirs.io.max.bytes.per.second",
            &mut self.alter_log_dirs_rate,
        )?;
        self.client_quota.parse(pairs, "quota.window")?;
        self.replication_quota.parse(pairs, "replication.quota.window")?;
        self.alter_log_dirs_quota
            .parse(pairs, "alter.log.dirs.replication.quota.window")
    }

    fn parse_cleaner(&mut self, pairs: &HashMap<String, String>) -> Result<()> {
        let cleaner = &mut self.cleaner;
        parse(pairs, "log.cleaner.threads", &mut cleaner.threads)?;
        parse(
            pairs,
            "log.cleaner.dedupe.buffer.size",
            &mut cleaner.dedupe_buffer_bytes,
        )?;
        parse(pairs, "log.cleaner.io.buffer.load.factor", &mut cleaner.load_factor)?;
        parse(pairs, "log.cleaner.io.buffer.size", &mut cleaner.io_buffer_bytes)?;
        parse(
            pairs,
            "log.cleaner.io.max.bytes.per.second",
            &mut cleaner.max_bytes_per_second,
        )
    }

    fn parse_replication(&mut self, pairs: &HashMap<String, String>) -> Result<()> {
        parse_ms(pairs, "replica.lag.time.max.ms", &mut self.replica_lag_time_max)?;
        parse(pairs, "replica.fetch.wait.max.ms", &mut self.replica_fetch_wait_max_ms)?;
        parse(pairs, "replica.fetch.min.bytes", &mut self.replica_fetch_min_bytes)?;
        parse(pairs, "replica.fetch.max.bytes", &mut self.replica_fetch_max_bytes)?;
        parse(
            pairs,
            "replica.fetch.response.max.bytes",
            &mut self.replica_fetch_response_max_bytes,
        )?;
        parse_ms(pairs, "replica.fetch.backoff.ms", &mut self.replica_fetch_backoff)?;
        parse_ms(pairs, "replica.socket.timeout.ms", &mut self.replica_socket_timeout)?;
        let setup_timeout = &mut self.connection_setup_timeout;
        parse_ms(pairs, "socket.connection.setup.timeout.ms", setup_timeout)?;
        parse(
            pairs,
            "replica.socket.receive.buffer.bytes",
            &mut self.replica_socket_receive_buffer_bytes,
        )?;
        parse(pairs, "inter.broker.listener.name", &mut self.inter_broker_listener)?;
        self.inter_broker_secret = pairs.get(SECRET).map(|text| Secret::new(text));
        parse(
            pairs,
            "kafkastore.inter.broker.secret.required",
            &mut self.is_inter_broker_secret_required,
        )?;
        self.is_alone = pairs.contains_key(ALONE);
        self.has_broker_proof = self.inter_broker_secret.is_some() || pairs.contains_key(BROKERS_BY_PRINCIPAL);
        let selector = pairs.get("replica.selector.class");
        self.is_rack_aware = selector.is_some_and(|name| name == RACK_AWARE);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
