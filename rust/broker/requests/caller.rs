//! The client of a request: what a connection knows of it, and how an API sees it.
//!
//! A connection keeps one [`ClientInfo`] behind an `Arc` and replaces it when it learns more: the client id of a
//! request, the client's software, a proof that the client is a broker. A [`Caller`] borrows from it and costs no
//! allocation; each API of the data plane gets one with each request, and again when a delayed answer is tried.

use std::borrow::Cow;
use std::sync::Arc;

use crate::requests::authorization::Decisions;
use crate::requests::quotas::Account;

/// The client id under which Kafka's admin client may write internal topics.
const ADMIN_CLIENT_ID: &str = "__admin_client";

/// The principal of a client that has not authenticated.
pub static ANONYMOUS: Principal = Principal(Cow::Borrowed("User:ANONYMOUS"));

/// The identity that a client has proven, as Kafka writes it: `User:alice`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal(Cow<'static, str>);

impl Principal {
    /// The principal of a user.
    pub fn user(name: &str) -> Self {
        Self(Cow::Owned(format!("User:{name}")))
    }

    /// The principal, as Kafka writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name behind the principal's type, by which quotas know a user.
    pub fn user_name(&self) -> &str {
        self.0.split_once(':').map_or(&*self.0, |(_, name)| name)
    }
}

/// What a connection knows of its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientInfo {
    /// Unique in this process.
    pub connection_id: u64,
    /// Listener name.
    pub listener: Arc<str>,
    /// Address as Kafka shows it: `/127.0.0.1`.
    pub host: String,
    /// The client's name for itself, as its last request gave it.
    pub client_id: Option<String>,
    /// The identity that the client has proven.
    pub principal: Principal,
    /// Whether it has proven the identity by a delegation token (KIP-48).
    pub is_token_authenticated: bool,
    /// Where its requests are counted for its quotas; `None` when it has no quota.
    pub quotas: Option<Arc<Account>>,
    /// Client software (KIP-511), or empty.
    pub software_name: String,
    /// The version of the software, or empty.
    pub software_version: String,
    /// Whether it may act as a broker of the cluster: fetch as a follower, give orders. See [`net`]'s `proof`.
    pub is_broker: bool,
    /// What ACLs let it do lately.
    pub decisions: Decisions,
}

impl ClientInfo {
    /// The client of a connection that has just been accepted.
    pub fn new(connection_id: u64, listener: Arc<str>, host: String) -> Self {
        Self {
            connection_id,
            listener,
            host,
            client_id: None,
            principal: ANONYMOUS.clone(),
            is_token_authenticated: false,
            quotas: None,
            software_name: String::new(),
            software_version: String::new(),
            is_broker: false,
            decisions: Decisions::default(),
        }
    }

    /// The client of a connection that was closed.
    pub fn nobody() -> Self {
        Self::new(0, Arc::from(""), String::new())
    }

    /// The client as an API sees it.
    pub fn caller(&self) -> Caller<'_> {
        let client_id = self.client_id.as_deref();
        Caller {
            listener: &self.listener,
            principal: &self.principal,
            client_id,
            host: &self.host,
            quotas: self.quotas.as_deref(),
            is_broker: self.is_broker,
            decisions: Some(&self.decisions),
            may_write_internal: client_id == Some(ADMIN_CLIENT_ID),
        }
    }
}

/// The client of a request, as far as answers depend on it.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// The name of the listener that the connection came in on.
    pub listener: &'a str,
    /// The identity that the client has proven.
    pub principal: &'a Principal,
    /// The client's name for itself.
    pub client_id: Option<&'a str>,
    /// The client's address as Kafka shows it: `/127.0.0.1`.
    pub host: &'a str,
    /// Where the client's requests are counted for its quotas; `None` when it has no quota.
    pub quotas: Option<&'a Account>,
    /// Whether it may act as a broker: fetch as a follower.
    pub is_broker: bool,
    /// What ACLs let the client of the connection do lately.
    pub decisions: Option<&'a Decisions>,
    /// Whether it may write Kafka's internal topics.
    pub may_write_internal: bool,
}

#[cfg(test)]
#[path = "caller_tests.rs"]
mod tests;
