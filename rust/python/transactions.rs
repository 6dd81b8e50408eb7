//! The transactions that this broker coordinates, as the control plane begins, loads and lists them.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use regex::RegexBuilder;

use crate::errors::{OrRaise, Raise};
use base::error::{Error, ErrorCode};
use broker::{Broker, Watched};
use coordinator::transactions::{self, Selection, Transaction, TransactionSettings};
use net::Engine;

/// Bytes of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// A partition of `__transaction_state`, as it was loaded.
#[pyclass(frozen, get_all, name = "LoadedTransactions", module = "kafkastore._core")]
pub struct PyLoadedTransactions {
    /// Transactional ids.
    count: usize,
    /// Records that were skipped, and why the first of them was skipped.
    skipped: u64,
    skip_reason: String,
}

/// The transaction of a transactional id.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct TransactionDescription {
    transactional_id: String,
    producer_id: i64,
    producer_epoch: i16,
    state: &'static str,
    timeout_ms: i32,
    /// -1 before the first transaction.
    start_ms: i64,
    partitions: Vec<(String, i32)>,
}

/// A row of a list.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct ListedTransaction {
    transactional_id: String,
    producer_id: i64,
    state: &'static str,
}

/// The transactions that a broker coordinates.
#[pyclass(frozen, name = "Transactions", module = "kafkastore._core")]
pub struct PyTransactions {
    engine: Arc<Engine>,
}

#[pymethods]
impl PyTransactions {
    #[pyo3(signature = (*, max_timeout_ms, id_expiration_ms, abort_interval_ms, expiry_interval_ms))]
    fn configure(&self, max_timeout_ms: i32, id_expiration_ms: i64, abort_interval_ms: u64, expiry_interval_ms: u64) {
        self.engine.transactions().configure(TransactionSettings {
            max_timeout_ms,
            id_expiration_ms,
            abort_interval: Duration::from_millis(abort_interval_ms),
            expiry_interval: Duration::from_millis(expiry_interval_ms),
        });
    }

    fn stop(&self) {
        self.engine.transactions().stop();
    }

    fn begin(&self, partition: i32) -> PyResult<u64> {
        self.engine
            .transactions()
            .homes
            .begin(&self.broker(), partition)
            .or_raise()
    }

    fn load(&self, py: Python<'_>, partition: i32, number: u64) -> PyResult<Option<PyLoadedTransactions>> {
        let load = || transactions::load(&self.broker(), self.engine.transactions(), partition, number);
        let loaded = py.detach(load).or_raise()?;
        Ok(loaded.map(|loaded| PyLoadedTransactions {
            count: loaded.count,
            skipped: loaded.skipped,
            skip_reason: loaded.skip_reason,
        }))
    }

    fn activate(&self, partition: i32, number: u64) -> PyResult<()> {
        let _watched = self.broker();
        Ok(self.engine.activate_transactions(partition, number)?)
    }

    fn close(&self, partition: i32) {
        self.engine.transactions().homes.close(partition);
    }

    fn describe(&self, transactional_id: &str) -> PyResult<TransactionDescription> {
        let _watched = self.broker();
        let found = transactions::describe(self.engine.here(), transactional_id);
        let found = found.map_err(|code| refused(code, "the transactional id cannot be described"))?;
        Ok(description(transactional_id, found))
    }

    fn list(
        &self,
        partition: i32,
        states: Vec<String>,
        producer_ids: Vec<i64>,
        min_duration_ms: i64,
        pattern: Option<String>,
        now_ms: i64,
    ) -> PyResult<Vec<ListedTransaction>> {
        let compiled = pattern.map(|pattern| {
            let whole = RegexBuilder::new(&format!("^(?:{pattern})$"))
                .size_limit(MAX_PATTERN_BYTES)
                .build();
            whole.map_err(|error| refused(ErrorCode::INVALID_REGULAR_EXPRESSION, &error.to_string()))
        });
        let selection = Selection {
            states,
            producer_ids,
            min_duration_ms,
            pattern: compiled.transpose()?,
        };
        let _watched = self.broker();
        let listed = transactions::list(self.engine.here(), partition, &selection, now_ms);
        let row = |one: transactions::Listed| ListedTransaction {
            transactional_id: one.transactional_id,
            producer_id: one.producer_id,
            state: one.state.name(),
        };
        Ok(listed.into_iter().map(row).collect())
    }
}

impl PyTransactions {
    /// Those of this engine.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    fn broker(&self) -> Watched<'_, Arc<Broker>> {
        let broker = self.engine.broker();
        Watched::new(broker, broker.events())
    }
}

fn refused(code: ErrorCode, message: &str) -> PyErr {
    Error::rejected(code, message.to_owned()).raised()
}

fn description(transactional_id: &str, found: Transaction) -> TransactionDescription {
    TransactionDescription {
        transactional_id: transactional_id.to_owned(),
        producer_id: found.producer_id,
        producer_epoch: found.producer_epoch,
        state: found.state.name(),
        timeout_ms: found.timeout_ms,
        start_ms: found.start_ms,
        partitions: found
            .partitions
            .iter()
            .map(|(topic, index)| (topic.to_string(), *index))
            .collect(),
    }
}
