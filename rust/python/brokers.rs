//! How this broker reaches other brokers, for the control plane, whose sockets are Python's: TLS, and the proof of who
//! this broker is. The data plane uses the same objects.
//!
//! Never: opens a socket; logs.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use pyo3::exceptions::{PyConnectionError, PyPermissionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rustls::ClientConnection;

use super::errors::start_error;
use client::tls::outgoing::OutgoingTls;
use client::tls::settings::Settings;
use client::{Login, LoginExchange, MAX_ANSWER_BYTES, Security, Step, Unproven};
use protocol::scram::Secret;

/// TLS of connections to other brokers.
#[pyclass(frozen, name = "BrokerTls", module = "kafkastore._core")]
pub struct PyBrokerTls {
    pub tls: Arc<ArcSwap<OutgoingTls>>,
}

#[pymethods]
impl PyBrokerTls {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]
    fn new(py: Python<'_>, pairs: HashMap<String, String>) -> PyResult<Self> {
        let made = py.detach(|| OutgoingTls::new(&Settings(&pairs))).map_err(start_error)?;
        Ok(Self {
            tls: Arc::new(ArcSwap::from_pointee(made)),
        })
    }

    #[expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]
    fn renew(&self, py: Python<'_>, pairs: HashMap<String, String>) -> PyResult<()> {
        let made = py.detach(|| OutgoingTls::new(&Settings(&pairs))).map_err(start_error)?;
        self.tls.store(Arc::new(made));
        Ok(())
    }

    #[getter]
    fn user(&self) -> Option<String> {
        self.tls.load().user.clone()
    }

    fn begin(&self, host: &str) -> PyResult<PyTlsLink> {
        let mut connection = self
            .tls
            .load()
            .begin(host)
            .map_err(|e| PyConnectionError::new_err(e.to_string()))?;
        // whoever sends takes the records at once; an order of the controller may be larger than the limit of 64 KB
        connection.set_buffer_limit(None);
        Ok(PyTlsLink {
            connection: Mutex::new(connection),
        })
    }
}

/// What `security.protocol`, `ssl.*` and `sasl.*` of a client say.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]
pub fn client_security(
    py: Python<'_>,
    properties: HashMap<String, String>,
) -> PyResult<(Option<PyBrokerTls>, Option<PyBrokerLogin>)> {
    let Security { tls, login } = py.detach(|| Security::of(&properties)).map_err(start_error)?;
    let tls = tls.map(|tls| PyBrokerTls {
        tls: Arc::new(ArcSwap::new(tls)),
    });
    Ok((tls, login.map(|login| PyBrokerLogin { login })))
}

/// One connection's TLS, without its socket.
#[pyclass(frozen, name = "TlsLink", module = "kafkastore._core")]
pub struct PyTlsLink {
    connection: Mutex<ClientConnection>,
}

#[pymethods]
impl PyTlsLink {
    /// Whether the handshake is done.
    #[getter]
    fn is_shaken(&self) -> bool {
        !self.connection.lock().is_handshaking()
    }

    fn receive<'py>(&self, py: Python<'py>, mut data: &[u8]) -> PyResult<(Bound<'py, PyBytes>, bool)> {
        let mut connection = self.connection.lock();
        let (mut plain, mut is_ended) = (Vec::new(), false);
        while !data.is_empty() && !is_ended {
            connection.read_tls(&mut data)?; // reading from memory does not fail
            let state = connection
                .process_new_packets()
                .map_err(|error| PyConnectionError::new_err(format!("TLS: {error}")))?;
            let from = plain.len();
            plain.resize(from + state.plaintext_bytes_to_read(), 0);
            connection.reader().read_exact(&mut plain[from..])?;
            is_ended = state.peer_has_closed();
        }
        Ok((PyBytes::new(py, &plain), is_ended))
    }

    fn send(&self, data: &[u8]) -> PyResult<()> {
        Ok(self.connection.lock().writer().write_all(data)?)
    }

    fn close(&self) {
        self.connection.lock().send_close_notify();
    }

    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut connection = self.connection.lock();
        let mut records = Vec::new();
        while connection.wants_write() {
            connection.write_tls(&mut records)?;
        }
        Ok(PyBytes::new(py, &records))
    }
}

/// What proves who this broker is.
#[pyclass(frozen, name = "BrokerLogin", module = "kafkastore._core")]
pub struct PyBrokerLogin {
    pub login: Arc<Login>,
}

#[pymethods]
impl PyBrokerLogin {
    #[staticmethod]
    #[pyo3(signature = (secret, *, is_required))]
    fn of_secret(secret: &str, is_required: bool) -> Self {
        Self {
            login: Arc::new(Login::of_secret(Secret::new(secret), is_required)),
        }
    }

    #[staticmethod]
    fn of_user(mechanism: &str, user: &str, password: &str) -> PyResult<Self> {
        let login = Login::of_user(mechanism, user, Secret::new(password))
            .ok_or_else(|| PyValueError::new_err(format!("{mechanism} is not a mechanism of brokers")))?;
        Ok(Self { login: Arc::new(login) })
    }

    #[getter]
    fn is_secret(&self) -> bool {
        self.login.is_secret
    }

    #[getter]
    fn is_required(&self) -> bool {
        self.login.is_required
    }

    fn begin<'py>(&self, py: Python<'py>, client_id: &str) -> (PyLoginExchange, Bound<'py, PyBytes>) {
        let (exchange, frame) = self.login.begin(client_id);
        let begun = PyLoginExchange {
            login: Arc::clone(&self.login),
            exchange: Mutex::new(exchange),
        };
        (begun, PyBytes::new(py, &frame))
    }
}

/// A proof that has begun.
#[pyclass(frozen, name = "LoginExchange", module = "kafkastore._core")]
pub struct PyLoginExchange {
    login: Arc<Login>,
    exchange: Mutex<LoginExchange>,
}

#[pymethods]
impl PyLoginExchange {
    #[classattr]
    const MAX_ANSWER_BYTES: usize = MAX_ANSWER_BYTES;

    #[getter]
    fn is_at_handshake(&self) -> bool {
        self.exchange.lock().is_at_handshake()
    }

    fn take<'py>(&self, py: Python<'py>, answer: &[u8]) -> PyResult<(Option<Bound<'py, PyBytes>>, i64)> {
        // hashing a password takes a millisecond, which the loop has; a token endpoint is asked by commands alone
        match py.detach(|| self.exchange.lock().take(&self.login, answer)) {
            Ok(Step::Send(frame)) => Ok((Some(PyBytes::new(py, &frame)), 0)),
            Ok(Step::Done(lifetime_ms)) => Ok((None, lifetime_ms)),
            Err(Unproven::NotServed(error) | Unproven::Failed(error)) => {
                Err(PyPermissionError::new_err(error.to_string()))
            }
        }
    }
}
