//! What a producer could not do, by what the caller can do about it. Every error is one sentence.

use super::options::Keys;
use base::error::ErrorCode;
use client::NoAnswer;

/// What a producer could not do.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ProducerError {
    /// A mistake in an option or in a row: the sentence names it and the fix.
    #[error("{0}")]
    Invalid(String),
    /// The records were not taken; nothing of this writer's transaction will be.
    #[error("{0}")]
    Failed(String),
    /// Records whose commit was decided are gone.
    #[error("{0}")]
    Lost(String),
}

/// A producer's result.
pub type Result<T, E = ProducerError> = std::result::Result<T, E>;

pub(super) fn failed(sentence: impl Into<String>) -> ProducerError {
    ProducerError::Failed(sentence.into())
}

/// Why a server was asked in vain; another one may be asked, or the same one later.
#[derive(Debug, Clone)]
pub(super) struct Vain {
    /// A clause that names the server.
    pub(super) reason: String,
    /// Whether asking again is in vain, too: TLS or the login failed.
    pub(super) is_final: bool,
    /// Whether the server closed the connection before it let the client in; see [`NoAnswer::is_shut_out`].
    pub(super) is_shut_out: bool,
}

impl Vain {
    /// It may be another time.
    pub(super) fn now(reason: String) -> Self {
        Self {
            reason,
            is_final: false,
            is_shut_out: false,
        }
    }

    /// The reason, when asking again may help.
    pub(super) fn passing(self, keys: Keys) -> Result<String> {
        if self.is_final {
            return Err(refused(&self.reason, keys));
        }
        Ok(self.reason)
    }
}

/// TLS or the login failed; `reason` names the server.
pub(super) fn refused(reason: &str, keys: Keys) -> ProducerError {
    let [servers, protocol, login, tls] =
        ["bootstrap.servers", "security.protocol", "sasl.*", "ssl.*"].map(|key| keys.named(key));
    ProducerError::Invalid(format!("{servers}: {reason}; check {protocol}, {login} and {tls}"))
}

impl From<NoAnswer> for Vain {
    fn from(
        NoAnswer {
            address,
            reason,
            is_final,
            is_shut_out,
        }: NoAnswer,
    ) -> Self {
        Self {
            reason: format!("{address}: {reason}"),
            is_final,
            is_shut_out,
        }
    }
}

/// What to do about an error of a broker.
pub(super) fn advice(error: ErrorCode, keys: Keys) -> String {
    match error {
        ErrorCode::CLUSTER_AUTHORIZATION_FAILED => format!(
            "the broker's ACLs do not let this client write idempotently; allow IDEMPOTENT_WRITE, or set {} to false",
            keys.named("enable.idempotence")
        ),
        ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED => format!(
            "the broker's ACLs do not let this client use the transactional id; allow it, or choose another {}",
            keys.transactional_id
        ),
        ErrorCode::INVALID_TRANSACTION_TIMEOUT => format!(
            "{} is more than the broker's transaction.max.timeout.ms; lower it",
            keys.named("transaction.timeout.ms")
        ),
        ErrorCode::UNSUPPORTED_COMPRESSION_TYPE => format!("choose another {}", keys.named("compression.type")),
        ErrorCode::GROUP_AUTHORIZATION_FAILED => format!(
            "the broker's ACLs do not let this client commit as the group; allow READ on the group{}",
            keys.of_group
        ),
        other => plain_advice(other).to_owned(),
    }
}

fn plain_advice(error: ErrorCode) -> &'static str {
    match error {
        ErrorCode::KAFKA_STORAGE_ERROR => "a disk of the broker is full or has failed; free space there",
        ErrorCode::NOT_ENOUGH_REPLICAS | ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND => {
            "fewer replicas are in sync than min.insync.replicas; start the other brokers"
        }
        ErrorCode::LEADER_NOT_AVAILABLE | ErrorCode::NOT_LEADER_OR_FOLLOWER => {
            "the partition has no leader; start the brokers that have its replicas"
        }
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => "the topic was deleted; create it",
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => "the broker's ACLs do not let this client write to the topic",
        ErrorCode::INVALID_TIMESTAMP => {
            "the clock of this machine is too far from the broker's (message.timestamp.after.max.ms); set it"
        }
        ErrorCode::INVALID_TOPIC_EXCEPTION => {
            "a topic's name has letters, digits, dots, underscores and hyphens, at most 249"
        }
        _ => "the broker's log says why",
    }
}
