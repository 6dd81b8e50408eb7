//! How Python reaches brokers: TLS, the proof of who this process is, and connections for a loop that must not wait.
//! The data plane uses the same objects.
//!
//! Never: waits, keeps a connection, logs.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::mem;
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use pyo3::exceptions::{PyConnectionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::errors::start_error;
use client::tls::outgoing::OutgoingTls;
use client::tls::settings::Settings;
use client::{Connection, Login, NoAnswer, Opening, Security, reason_of};
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
}

/// A connection to a broker that never waits.
#[pyclass(frozen, name = "BrokerConnection", module = "kafkastore._core")]
pub struct PyBrokerConnection(Mutex<Link>);

/// One of the two is there.
struct Link {
    opening: Option<Opening>,
    connection: Option<Connection>,
    answer: Vec<u8>,
}

impl Link {
    fn socket(&self) -> Option<&TcpStream> {
        match &self.opening {
            Some(opening) => opening.socket(),
            None => self.connection.as_ref().map(Connection::socket),
        }
    }

    fn opened(&mut self) -> PyResult<&mut Connection> {
        let unopened = || PyConnectionError::new_err("it is not opened");
        self.connection.as_mut().ok_or_else(unopened)
    }
}

#[pymethods]
impl PyBrokerConnection {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]
    fn new(
        host: String,
        addresses: Vec<(String, u16)>,
        client_id: String,
        tls: Option<&PyBrokerTls>,
        login: Option<&PyBrokerLogin>,
    ) -> PyResult<Self> {
        let mut found = Vec::new();
        for (address, port) in &addresses {
            found.extend((address.as_str(), *port).to_socket_addrs()?);
        }
        let security = Security {
            tls: tls.map(|tls| tls.tls.load_full()),
            login: login.map(|login| Arc::clone(&login.login)),
        };
        let port = addresses.first().map_or(0, |(_, port)| *port);
        let opening = Opening::new(&(host, port), found, &client_id, security, None);
        Ok(Self(Mutex::new(Link {
            opening: Some(opening),
            connection: None,
            answer: Vec::new(),
        })))
    }

    fn fileno(&self) -> i32 {
        self.0.lock().socket().map_or(-1, AsRawFd::as_raw_fd)
    }

    #[getter]
    fn wants_to_write(&self) -> bool {
        let link = self.0.lock();
        let opening = link.opening.as_ref().map(Opening::wants_to_write);
        opening.unwrap_or_else(|| link.connection.as_ref().is_some_and(Connection::wants_to_write))
    }

    #[getter]
    fn is_usable(&self) -> bool {
        let link = self.0.lock();
        let connection = link.connection.as_ref();
        connection.is_some_and(|one| one.is_quiet() && one.is_answered() && !one.is_over())
    }

    fn open(&self, py: Python<'_>) -> PyResult<Option<bool>> {
        // hashing a password takes a millisecond, which the loop has; a token endpoint is asked by commands alone
        py.detach(|| {
            let link = &mut *self.0.lock();
            let Some(opening) = &mut link.opening else {
                return Ok(Some(true));
            };
            match opening.step(&|_| Ok(())) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
                Err(error) => Err(io::Error::new(error.kind(), reason_of(&error)).into()),
                Ok(opened) => {
                    link.connection = link.opening.take().map(|opening| Connection::over(opened, opening));
                    Ok(Some(true))
                }
            }
        })
    }

    fn send(&self, api_key: i16, api_version: i16, is_flexible: bool, body: &[u8]) -> PyResult<()> {
        let mut link = self.0.lock();
        let sent = link.opened()?.send_by((api_key, api_version), is_flexible, body);
        sent.map_err(unanswered)
    }

    fn receive<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let mut link = self.0.lock();
        let mut answer = mem::take(&mut link.answer);
        if !link.opened()?.receive_now(&mut answer).map_err(unanswered)? {
            link.answer = answer;
            return Ok(None);
        }
        Ok(Some(PyBytes::new(
            py,
            answer.get(size_of::<i32>()..).unwrap_or_default(),
        )))
    }

    fn close(&self) {
        if let Some(socket) = self.0.lock().socket() {
            // fails only when the connection is already gone
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

fn unanswered(NoAnswer { reason, .. }: NoAnswer) -> PyErr {
    PyConnectionError::new_err(reason)
}
