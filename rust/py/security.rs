//! How clients prove who they are: TLS and SASL of the listeners, and the users of SCRAM.
//!
//! Never: keeps a password or a key longer than a call.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::convert::millis;
use super::errors::start_error;
use crate::broker::Watched;
use crate::net::{Bearer, DelegationToken, Engine, Mechanism, PlainUsers, SaslSettings, TokenRules};
use crate::wire::scram::server::{ScramCredential, ScramMechanism};

/// A user of SCRAM: number of the mechanism, user, salt, stored key, server key, iterations.
type ScramRow = (i8, String, Vec<u8>, Vec<u8>, Vec<u8>, u32);

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
        Watched::new(&self.engine, &self.engine.broker().events)
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

    fn publish_delegation_tokens(&self, tokens: Vec<(String, String, String, i64)>) {
        let known = tokens
            .into_iter()
            .map(|(id, owner, password, ends_ms)| (id, DelegationToken::new(owner, password, ends_ms)));
        self.engine().publish_tokens(known.collect());
    }

    fn publish_scram_credentials(&self, users: Vec<ScramRow>) {
        let known = users
            .into_iter()
            .filter_map(|(number, user, salt, stored_key, server_key, iterations)| {
                let credential = ScramCredential {
                    salt,
                    stored_key,
                    server_key,
                    iterations,
                };
                Some(((ScramMechanism::from_number(number)?, user), credential))
            });
        self.engine().publish_credentials(known.collect());
    }
}
