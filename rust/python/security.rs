//! How clients prove who they are: TLS and SASL of the listeners, and the users of SCRAM; and what they may do: the
//! access control lists.
//!
//! Never: keeps a password or a key longer than a call; decides.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::brokers::{PyBrokerLogin, PyBrokerTls};
use super::convert::millis;
use super::errors::start_error;
use broker::{AclEntry, AclPattern, Asker, Authorization, Operation, ResourceType, Watched};
use client::tls::settings::Settings;
use net::{
    Bearer, CertificatePair, DelegationToken, Engine, Mechanism, PlainUsers, SaslSettings, TokenRules, issue, validity,
};
use protocol::scram::server::{ScramCredential, ScramMechanism};

/// A delegation token: id; owner, password, end in milliseconds since 1970, unless it is gone.
type TokenRow = (String, Option<(String, String, i64)>);

/// A user of SCRAM: number of the mechanism, user; salt, stored key, server key, iterations, unless it has none.
type ScramRow = (i8, String, Option<(Vec<u8>, Vec<u8>, Vec<u8>, u32)>);

/// An ACL without its resource: principal, host, operation (2 is all), permission (2 denies, 3 allows).
type EntryRow = (String, String, i8, i8);
/// The ACLs of a resource pattern: resource type, pattern type, name, ACLs.
type PatternRow = (i8, i8, String, Vec<EntryRow>);

/// Kafka's number of the operation "all".
const ALL_OPERATIONS: i8 = 2;
/// Kafka's number of the pattern type "prefixed".
const PREFIXED: i8 = 4;
/// Kafka's number of the permission "allow".
const ALLOW: i8 = 3;

/// See the module.
#[pyclass(frozen, name = "Security", module = "kafkastore._core")]
pub struct PySecurity {
    engine: Arc<Engine>,
}

impl PySecurity {
    /// Of one broker.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    /// The engine for one call, during which a panic ends the process: see [`Watched`].
    fn engine(&self) -> Watched<'_, Engine> {
        Watched::new(&self.engine, self.engine.broker().events())
    }
}

#[pymethods]
impl PySecurity {
    fn set_tls(&self, py: Python<'_>, listener: &str, pairs: HashMap<String, String>) -> PyResult<()> {
        py.detach(|| self.engine().set_tls(listener, &pairs))
            .map_err(start_error)
    }

    #[pyo3(signature = (listener, mechanisms, plain_users, *, max_session_ms, max_frame_bytes, failure_delay_ms,
        audiences, issuer, clock_skew_s, user_claim))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn set_sasl(
        &self,
        listener: &str,
        mechanisms: Vec<String>,
        plain_users: HashMap<String, String>,
        max_session_ms: i64,
        max_frame_bytes: usize,
        failure_delay_ms: i64,
        audiences: Vec<String>,
        issuer: Option<String>,
        clock_skew_s: u64,
        user_claim: String,
    ) -> PyResult<()> {
        let mechanisms = mechanisms.iter().map(|name| {
            Mechanism::named(name).ok_or_else(|| start_error(format!("{name} is not a mechanism that is served")))
        });
        let plain = PlainUsers::new(&plain_users).map_err(|e| start_error(format!("no random bytes: {e}")))?;
        let rules = TokenRules {
            audiences,
            issuer,
            clock_skew: Duration::from_secs(clock_skew_s),
            user_claim,
        };
        let settings = SaslSettings {
            bearer: Arc::new(Bearer::new(rules)),
            mechanisms: mechanisms.collect::<PyResult<_>>()?,
            plain,
            max_session: (max_session_ms > 0).then(|| millis(max_session_ms)),
            max_frame_bytes,
            failure_delay: millis(failure_delay_ms),
        };
        self.engine().set_sasl(listener, settings);
        Ok(())
    }

    fn set_token_keys(&self, py: Python<'_>, listener: &str, text: &str) -> PyResult<usize> {
        py.detach(|| self.engine().set_token_keys(listener, text))
            .map_err(start_error)
    }

    fn unknown_token_keys(&self, listener: &str) -> u64 {
        self.engine().unknown_token_keys(listener)
    }

    #[staticmethod]
    fn scram_keys<'py>(
        py: Python<'py>,
        mechanism: i8,
        salted_password: &[u8],
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let found = ScramMechanism::from_number(mechanism)
            .ok_or_else(|| PyValueError::new_err(format!("{mechanism} is not a mechanism of SCRAM")))?;
        let (stored_key, server_key) = found.keys(salted_password);
        Ok((PyBytes::new(py, &stored_key), PyBytes::new(py, &server_key)))
    }

    #[staticmethod]
    fn delegation_token_hmac<'py>(py: Python<'py>, secret: &str, token_id: &str) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &ScramMechanism::Sha512.mac(secret.as_bytes(), token_id.as_bytes()))
    }

    #[pyo3(signature = (tokens, *, is_whole))]
    fn publish_delegation_tokens(&self, tokens: Vec<TokenRow>, is_whole: bool) {
        let token = |(owner, password, ends_ms)| DelegationToken::new(owner, password, ends_ms);
        let changed = tokens.into_iter().map(|(id, row)| (id, row.map(token)));
        self.engine().credentials().publish_tokens(changed.collect(), is_whole);
    }

    #[pyo3(signature = (users, *, is_whole))]
    fn publish_scram_credentials(&self, users: Vec<ScramRow>, is_whole: bool) {
        let credential = |(salt, stored_key, server_key, iterations)| ScramCredential {
            salt,
            stored_key,
            server_key,
            iterations,
        };
        let changed = users.into_iter().filter_map(|(number, user, row)| {
            let key = (ScramMechanism::from_number(number)?, user);
            Some((key, row.map(credential)))
        });
        self.engine().credentials().publish_users(changed.collect(), is_whole);
    }

    #[pyo3(signature = (tls, login, users))]
    fn reach_brokers(&self, tls: Option<&PyBrokerTls>, login: Option<&PyBrokerLogin>, users: Option<HashSet<String>>) {
        let engine = self.engine();
        let to_brokers = &engine.to_brokers;
        // a broker says it once
        tls.map(|it| to_brokers.tls.set(Arc::clone(&it.tls)));
        login.map(|it| to_brokers.login.set(Arc::clone(&it.login)));
        if let Some(users) = users {
            engine.set_broker_users(users);
        }
    }

    fn set_authorizer(&self, super_users: HashSet<String>, allows_everyone: bool) {
        self.engine().broker().authorizer().begin(super_users, allows_everyone);
    }

    #[pyo3(signature = (patterns, *, is_whole))]
    fn publish_acls(&self, py: Python<'_>, patterns: Vec<PatternRow>, is_whole: bool) -> PyResult<()> {
        let patterns = patterns.into_iter().map(pattern).collect::<PyResult<_>>()?;
        py.detach(|| self.engine().broker().authorizer().publish(patterns, is_whole));
        Ok(())
    }

    #[pyo3(signature = (request, client, operation, resource_type, names, *, is_logged))]
    fn authorize(
        &self,
        request: &str,
        client: (String, String),
        operation: i8,
        resource_type: i8,
        names: Vec<String>,
        is_logged: bool,
    ) -> PyResult<Option<Vec<bool>>> {
        let (operation, resource) = (operation_of(operation)?, resource_of(resource_type)?);
        let engine = self.engine();
        let asks = Authorization::of(engine.broker(), asker(request, &client));
        if is_logged {
            return Ok(asks.each(operation, resource, names.iter().map(|name| Some(name.as_str()))));
        }
        let allowed = names.iter().map(|name| asks.allows_quietly(operation, resource, name));
        Ok(Some(allowed.collect()))
    }

    fn log_refused_order(&self, request: &str, client: (String, String)) {
        let engine = self.engine();
        Authorization::of(engine.broker(), asker(request, &client)).acts_for_cluster();
    }

    fn authorized_operations(
        &self,
        client: (String, String),
        resource_type: i8,
        names: Vec<String>,
    ) -> PyResult<Vec<i32>> {
        let resource = resource_of(resource_type)?;
        let engine = self.engine();
        let asks = Authorization::of(engine.broker(), asker("", &client));
        Ok(names.iter().map(|name| asks.operations(resource, name)).collect())
    }
}

fn asker<'a>(request: &'a str, client: &'a (String, String)) -> Asker<'a> {
    let (principal, host) = client;
    Asker {
        principal,
        host,
        request,
    }
}

fn operation_of(number: i8) -> PyResult<Operation> {
    Operation::from_number(number).ok_or_else(|| PyValueError::new_err(format!("{number} is no operation")))
}

fn resource_of(number: i8) -> PyResult<ResourceType> {
    ResourceType::from_number(number).ok_or_else(|| PyValueError::new_err(format!("{number} is no resource type")))
}

fn pattern((resource, kind, name, entries): PatternRow) -> PyResult<AclPattern> {
    let entry = |(principal, host, operation, permission): EntryRow| {
        let operation = match operation {
            ALL_OPERATIONS => None,
            number => Some(operation_of(number)?),
        };
        Ok(AclEntry {
            principal,
            host,
            operation,
            is_allow: permission == ALLOW,
        })
    };
    Ok(AclPattern {
        resource: resource_of(resource)?,
        is_prefixed: kind == PREFIXED,
        name: name.into(),
        entries: entries.into_iter().map(entry).collect::<PyResult<_>>()?,
    })
}

/// (certificate, private key), in PEM.
type Pem = (String, String);

/// The certificates of a private authority: the authority's, the broker's, one for each user.
#[pyfunction]
#[pyo3(signature = (hosts, users, now_s, days, authority=None))]
pub fn issue_certificates(
    py: Python<'_>,
    hosts: Vec<String>,
    users: Vec<String>,
    now_s: i64,
    days: i64,
    authority: Option<&str>,
) -> PyResult<(Pem, Pem, Vec<Pem>)> {
    let issued = py
        .detach(|| issue(&hosts, &users, now_s, days, authority))
        .map_err(start_error)?;
    let pem = |pair: CertificatePair| (pair.certificate, pair.key);
    let users = issued.users.into_iter().map(pem).collect();
    Ok((pem(issued.authority), pem(issued.broker), users))
}

/// Rows: beginning of the keys, subject, end in seconds since 1970.
#[pyfunction]
pub fn certificate_ends(py: Python<'_>, pairs: HashMap<String, String>) -> PyResult<Vec<(&'static str, String, i64)>> {
    let found = py
        .detach(|| validity::endings(&Settings(&pairs)))
        .map_err(start_error)?;
    Ok(found
        .into_iter()
        .map(|one| (one.key, one.subject, one.ends_s))
        .collect())
}

/// The hosts of the first certificate.
#[pyfunction]
pub fn certificate_hosts(pem: &[u8]) -> Option<Vec<String>> {
    validity::hosts(pem)
}
