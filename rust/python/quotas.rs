//! The limits of clients, and what they use of them: bytes, request time, connections.
//!
//! Never: decides which limit a client has.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use super::errors::start_error;
use broker::{ClientFigures, ConnectionFigures, QuotaKind, QuotaRow, Watched};
use net::Engine;

/// User, client id, key, limit.
type LimitRow = (Option<String>, Option<String>, String, Option<f64>);

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
        Watched::new(&self.engine, self.engine.broker().events())
    }
}

#[pymethods]
impl PyQuotas {
    /// Rows: user and client id (`None`: not part of the entity; empty: the default), key, limit (`None`: it has none).
    #[pyo3(signature = (rows, *, is_whole))]
    fn publish(&self, py: Python<'_>, rows: Vec<LimitRow>, is_whole: bool) -> PyResult<()> {
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
        py.detach(|| self.engine().broker().quotas().publish(rows, is_whole));
        Ok(())
    }

    /// Rows: token of a request, microseconds.
    fn note_request_times(&self, spent: Vec<(u64, u64)>) {
        let spent = spent.into_iter().map(|(token, us)| (token, Duration::from_micros(us)));
        self.engine().note_spent(spent.collect());
    }

    /// Rows of at most `max_rows` clients of each kind: Kafka's name of the kind, user, client id, rate, throttle time
    /// in milliseconds; and by kind how many are left out.
    #[expect(clippy::type_complexity, reason = "rows are tuples in Python, too")]
    fn client_figures(
        &self,
        py: Python<'_>,
        max_rows: usize,
    ) -> (
        Vec<(&'static str, String, String, f64, f64)>,
        Vec<(&'static str, usize)>,
    ) {
        let now = Instant::now();
        let (rows, left_out) = py.detach(|| self.engine().broker().quotas().figures(max_rows, now));
        let row = |it: ClientFigures| (it.kind.name(), it.user, it.client_id, it.rate, it.throttle_time_ms);
        let kinds = QuotaKind::ALL.map(QuotaKind::name);
        (
            rows.into_iter().map(row).collect(),
            kinds.into_iter().zip(left_out).collect(),
        )
    }

    /// Rows of the broker, its listeners and at most `max_rows` addresses: label, name, new connections a second, two
    /// throttle times in milliseconds; and how many addresses are left out.
    #[expect(clippy::type_complexity, reason = "as above")]
    fn connection_figures(
        &self,
        py: Python<'_>,
        max_rows: usize,
    ) -> (Vec<(&'static str, String, f64, f64, f64)>, usize) {
        let now = Instant::now();
        let (rows, left_out) = py.detach(|| self.engine().broker().connection_rates().figures(max_rows, now));
        let row = |it: ConnectionFigures| (it.label, it.name, it.rate, it.throttle_time_ms, it.ip_throttle_time_ms);
        (rows.into_iter().map(row).collect(), left_out)
    }

    /// Rows: an address, or `None` for all other addresses; connections a second.
    fn publish_connection_rates(&self, py: Python<'_>, rows: Vec<(Option<IpAddr>, f64)>) {
        py.detach(|| self.engine().broker().connection_rates().publish(rows));
    }
}
