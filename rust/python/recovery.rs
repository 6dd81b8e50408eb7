//! What the opening of the log directories finds, and what it may lose.
//!
//! Never: opens a directory, or decides which loss is accepted.

use std::sync::Arc;

use pyo3::prelude::*;

use super::values::{PyMissingLog, PyRecoveryProgress, RecoveryNote};
use base::place::Offset;
use broker::{Broker, LossPolicy, Watched};
use net::Engine;
use storage::TopicPartition;
use storage::log_loader::LoadProgress;

/// See the module.
#[pyclass(frozen, name = "Recovery", module = "kafkastore._core")]
pub struct PyRecovery {
    engine: Arc<Engine>,
    progress: Arc<LoadProgress>,
}

impl PyRecovery {
    /// Of one broker, whose log directories are opened with this `progress`.
    pub fn new(engine: Arc<Engine>, progress: Arc<LoadProgress>) -> Self {
        Self { engine, progress }
    }

    fn broker(&self) -> Watched<'_, Arc<Broker>> {
        let broker = self.engine.broker();
        Watched::new(broker, broker.events())
    }
}

#[pymethods]
impl PyRecovery {
    fn set_loss_policy(&self, accepted: Vec<(String, i32, i64)>, replicated: Vec<(String, Vec<i32>)>) {
        let mut policy = LossPolicy::default();
        for (topic, partition, log_end) in accepted {
            let partition = TopicPartition::new(topic, partition);
            policy.accepted.entry(partition).or_default().push(Offset(log_end));
        }
        for (topic, partitions) in replicated {
            let topic: Arc<str> = topic.into();
            let named = partitions
                .into_iter()
                .map(|one| TopicPartition::new(Arc::clone(&topic), one));
            policy.replicated.extend(named);
        }
        self.broker().logs().losses().set_policy(policy);
    }

    fn progress(&self) -> PyRecoveryProgress {
        PyRecoveryProgress::from(&*self.progress)
    }

    fn take_notes(&self) -> Vec<RecoveryNote> {
        let notes = self.broker().logs().losses().take_notes();
        notes.into_iter().map(RecoveryNote::from).collect()
    }

    fn short_logs(&self) -> Vec<(String, i32)> {
        let short = self.broker().logs().losses().short_logs().into_iter();
        short.map(|one| (one.topic.to_string(), one.partition)).collect()
    }

    fn missing_logs(&self) -> Vec<PyMissingLog> {
        let missing = self.broker().logs().losses().missing_logs();
        missing.into_iter().map(PyMissingLog::from).collect()
    }

    fn unclean_logs(&self) -> Vec<(String, i32)> {
        let unclean = self.broker().logs().unclean().into_iter();
        unclean.map(|one| (one.topic.to_string(), one.partition)).collect()
    }

    fn put_back_shutdown(&self, py: Python<'_>) {
        py.detach(|| self.broker().logs().losses().put_back_shutdown());
    }
}
