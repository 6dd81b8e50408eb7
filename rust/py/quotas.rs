//! The limits of clients: bytes, request time, connections.
//!
//! Never: decides which limit a client has.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;

use super::errors::start_error;
use crate::broker::{QuotaKind, QuotaRow, Watched};
use crate::net::Engine;

/// See the module.
#[pyclass(frozen, name = "Quotas", module = "kafkastore._core")]
pub struct PyQuotas {
    engine: Arc<Engine>,
}

impl PyQuotas {
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
impl PyQuotas {
    /// Rows: user and client id (`None`: not part of the entity; empty: the default), key, limit.
    fn publish(&self, py: Python<'_>, rows: Vec<(Option<String>, Option<String>, String, f64)>) -> PyResult<()> {
        let rows = rows.into_iter().map(|(user, client_id, key, limit)| {
            let kind = QuotaKind::of_key(&key).ok_or_else(|| start_error(format!("{key} is not a client's quota")))?;
            Ok(QuotaRow {
                user,
                client_id,
                kind,
                limit,
            })
        });
        let rows = rows.collect::<PyResult<Vec<_>>>()?;
        py.detach(|| self.engine().broker().quotas.publish(rows));
        Ok(())
    }

    /// Rows: token of a request, microseconds.
    fn note_request_times(&self, spent: Vec<(u64, u64)>) {
        let spent = spent.into_iter().map(|(token, us)| (token, Duration::from_micros(us)));
        self.engine().note_spent(spent.collect());
    }

    /// Rows: an address, or `None` for all other addresses; connections a second.
    fn publish_connection_rates(&self, py: Python<'_>, rows: Vec<(Option<IpAddr>, f64)>) {
        py.detach(|| self.engine().broker().connection_rates.publish(rows));
    }
}
