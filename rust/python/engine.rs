//! `Engine`: one broker's data plane as a Python object. Methods may be called from any thread.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

use std::collections::HashMap;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::cleaner::{PyCleanerFigures, PyCleanerReport};
use super::convert::{ConfigMap, log_config, millis, path, topic_id};
use super::errors::start_error;
use super::events::to_python;
use super::groups::PyGroups;
use super::quotas::PyQuotas;
use super::recovery::PyRecovery;
use super::security::PySecurity;
use super::transactions::PyTransactions;
use super::values::{
    EpochEnd, PartitionOffsets, PublishedBroker, PublishedTopic, PyFigures, PyHostedLog, PyLease, PyLogDir, PyRecord,
    ServedVersions,
};
use crate::errors::OrRaise;
use ::io::heap;
use base::place::{LeaderEpoch, Offset};
use broker::{Broker, FinalizedFeatures, Options, ProducerDescription, Watched};
use net::{Engine, ListenerConfig};
use protocol::{ApiTable, FinalizedFeature};
use storage::LogContext;
use storage::log_dir::Checkpoint;
use storage::log_loader::LoadProgress;

/// One broker's data plane.
#[pyclass(frozen, name = "Engine", module = "kafkastore._core")]
pub struct PyEngine {
    /// The data plane that the object calls.
    pub engine: Arc<Engine>,
    log_dirs: Vec<PathBuf>,
    progress: Arc<LoadProgress>,
    next_token: Arc<AtomicU64>,
}

/// From this many bytes on the GIL is released while answers are copied.
const MUCH_TO_COPY: usize = 1 << 20;

/// Rows of 36 bytes: id, epoch, last sequence, last timestamp, coordinator epoch, start of the ongoing transaction. A
/// log may have a million of them, which as objects would take the interpreter half a second and 300 MB.
fn packed_producers(producers: &[ProducerDescription]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(producers.len() * 36);
    for p in producers {
        packed.extend_from_slice(&p.producer_id.to_be_bytes());
        packed.extend_from_slice(&p.producer_epoch.to_be_bytes());
        packed.extend_from_slice(&p.last_sequence.to_be_bytes());
        packed.extend_from_slice(&p.last_timestamp.to_be_bytes());
        packed.extend_from_slice(&p.coordinator_epoch.to_be_bytes());
        packed.extend_from_slice(&p.current_transaction_start_offset.get().to_be_bytes());
    }
    packed
}

impl PyEngine {
    /// The engine of a broker that has started.
    pub fn of(broker: Arc<Broker>, log_dirs: Vec<PathBuf>) -> Self {
        Self {
            engine: Arc::new(Engine::new(broker)),
            log_dirs,
            progress: Arc::default(),
            next_token: Arc::new(AtomicU64::new(1)),
        }
    }

    /// The broker for one call, during which a panic ends the process: see [`Watched`].
    fn broker(&self) -> Watched<'_, Arc<Broker>> {
        let broker = self.engine.broker();
        Watched::new(broker, broker.events())
    }

    /// The engine for one call, as [`Self::broker`].
    fn engine(&self) -> Watched<'_, Engine> {
        Watched::new(&self.engine, self.engine.broker().events())
    }
}

#[pymethods]
impl PyEngine {
    #[new]
    fn new(node_id: i32, cluster_id: String, log_dirs: Vec<PathBuf>, options: ConfigMap) -> PyResult<Self> {
        let options = Options::from_pairs(&options).map_err(|e| start_error(e.to_string()))?;
        heap::keep_no_large_blocks();
        let mut context = LogContext::of_process();
        context.producers.producer_id_expiration_ms = options.producer_id_expiration_ms;
        let broker = Broker::start(node_id, cluster_id, options, Arc::new(context)).map_err(|e| {
            start_error(format!(
                "the engine's threads could not be started: {e}; give the process more (ulimit -a shows the limits)"
            ))
        })?;
        Ok(Self::of(broker, log_dirs))
    }

    // ---- start and stop

    fn open_log_dirs(
        &self,
        py: Python<'_>,
        topic_configs: HashMap<String, ConfigMap>,
        missing: HashMap<PathBuf, String>,
    ) -> PyResult<Vec<(String, Option<String>)>> {
        let configs = topic_configs
            .iter()
            .map(|(topic, pairs)| Ok((topic.clone(), log_config(pairs)?)));
        let configs = configs.collect::<base::error::Result<HashMap<_, _>>>().or_raise()?;
        for (dir, reason) in &missing {
            self.broker().logs().dirs().fail(dir, reason);
        }
        let opened = py.detach(|| {
            let mut present = self.log_dirs.clone();
            present.retain(|dir| !missing.contains_key(dir));
            self.broker().logs().open(&present, &configs, &self.progress)
        });
        let mut opened = opened.map_err(|e| start_error(e.to_string()))?;
        opened.extend(missing.into_iter().map(|(dir, reason)| (dir, Some(reason))));
        Ok(opened.into_iter().map(|(dir, failure)| (path(&dir), failure)).collect())
    }

    /// What the opening of the log directories finds, and what it may lose.
    fn recovery(&self) -> PyRecovery {
        PyRecovery::new(Arc::clone(&self.engine), Arc::clone(&self.progress))
    }

    fn cluster_id(&self) -> String {
        self.broker().cluster_id()
    }

    fn logs(&self, py: Python<'_>) -> Vec<PyHostedLog> {
        let logs = py.detach(|| self.broker().logs().hosted());
        logs.into_iter().map(|log| PyHostedLog::of(py, log)).collect()
    }

    fn listen(&self, py: Python<'_>, listeners: Vec<(String, String, u16)>) -> PyResult<Vec<u16>> {
        let listeners: Vec<_> = listeners
            .into_iter()
            .map(|(name, host, port)| ListenerConfig { name, host, port })
            .collect();
        py.detach(|| self.engine().listen(&listeners)).map_err(start_error)
    }

    fn refuse_produces(&self) {
        self.broker().refuse_produces();
    }

    fn waiting_produces(&self, py: Python<'_>) -> usize {
        py.detach(|| self.broker().waiting_produces())
    }

    fn close_network(&self, py: Python<'_>, timeout_ms: i64) {
        py.detach(|| self.engine().close_network(millis(timeout_ms)));
    }

    fn close_logs(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            self.broker().stop_threads();
            self.broker().logs().close()
        })
        .or_raise()?;
        Ok(())
    }

    // ---- partitions

    fn create_logs(
        &self,
        py: Python<'_>,
        topic: &str,
        topic_id: &[u8],
        config: ConfigMap,
        partitions: Vec<(i32, PathBuf)>,
    ) -> PyResult<Vec<Option<String>>> {
        let (id, config) = (self::topic_id(topic_id)?, log_config(&config).or_raise()?);
        Ok(py.detach(|| self.broker().logs().create(topic, id, &config, &partitions)))
    }

    fn publish_leases(&self, py: Python<'_>, topic: &str, topic_id: &[u8], leases: Vec<Py<PyLease>>) -> PyResult<()> {
        let id = self::topic_id(topic_id)?;
        let leases = leases.iter().map(|lease| lease.get().granted()).collect();
        py.detach(|| self.broker().logs().grant(topic, id, leases, Instant::now()));
        Ok(())
    }

    fn delete_logs(&self, py: Python<'_>, topic: &str, partitions: Vec<i32>) -> PyResult<()> {
        py.detach(|| self.broker().logs().delete(topic, &partitions))
            .or_raise()?;
        Ok(())
    }

    fn mark_stray(&self, py: Python<'_>, topic: &str, partition: i32) -> PyResult<()> {
        py.detach(|| self.broker().logs().mark_stray(topic, partition))
            .or_raise()?;
        Ok(())
    }

    fn alter_log_dir(&self, py: Python<'_>, topic: &str, partition: i32, log_dir: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let partition = self.broker().partition(topic, partition)?;
            self.broker().logs().moves().alter_log_dir(&partition, &log_dir)
        })
        .or_raise()?;
        Ok(())
    }

    fn set_broker_epoch(&self, epoch: i64) {
        self.broker().set_broker_epoch(epoch);
    }

    fn shrink_isrs(&self, py: Python<'_>) {
        py.detach(|| self.broker().shrink_isrs(Instant::now()));
    }

    fn withdraw_isr_change(&self, py: Python<'_>, topic: &str, partition: i32, partition_epoch: i32) -> PyResult<()> {
        py.detach(|| -> base::error::Result<()> {
            self.broker()
                .partition(topic, partition)?
                .withdraw_proposal(partition_epoch);
            Ok(())
        })
        .or_raise()?;
        Ok(())
    }

    fn set_topic_config(&self, py: Python<'_>, topic: &str, config: ConfigMap) -> PyResult<()> {
        let config = log_config(&config).or_raise()?;
        py.detach(|| self.broker().logs().set_topic_config(topic, &config));
        Ok(())
    }

    fn set_broker_options(&self, options: ConfigMap) -> PyResult<()> {
        self.broker().set_options(Options::from_pairs(&options).or_raise()?);
        Ok(())
    }

    // ---- published state

    fn publish_api_versions(&self, served: Vec<Py<ServedVersions>>) {
        let ranges = served.iter().map(|one| one.get().range());
        self.broker().publish_apis(ApiTable::new(ranges.collect()));
    }

    fn highest_producer_id(&self, py: Python<'_>) -> i64 {
        let highest = || {
            let topics = self.broker().registry().snapshot();
            let partitions = topics.iter().flat_map(|topic| topic.partitions());
            partitions
                .filter_map(|one| one.log().producers().highest_producer_id())
                .max()
        };
        py.detach(highest).unwrap_or(-1)
    }

    fn publish_features(&self, epoch: i64, levels: Vec<(String, i16)>) {
        let level = |(name, level)| FinalizedFeature { name, level };
        let levels = levels.into_iter().map(level).collect();
        self.broker().publish_features(FinalizedFeatures { epoch, levels });
    }

    fn publish_cluster(&self, brokers: Vec<Py<PublishedBroker>>, controller_id: i32) {
        let rows = brokers.iter().map(|one| one.get().row());
        self.broker().image().publish_cluster(rows.collect(), controller_id);
    }

    fn take_producer_id(&self) -> Option<i64> {
        self.broker().producer_ids().take(self.broker().events())
    }

    fn add_producer_ids(&self, first: i64, last: i64) {
        self.broker().producer_ids().add(first, last);
    }

    fn publish_topics(&self, topics: Vec<Py<PublishedTopic>>) {
        let rows = topics.iter().map(|one| one.get().row());
        self.broker().image().publish_topics(rows.collect());
    }

    fn withdraw_topics(&self, names: Vec<String>) {
        self.broker().image().withdraw_topics(&names);
    }

    // ---- requests and events

    fn fileno(&self) -> i32 {
        self.broker().events().signal().as_raw_fd()
    }

    fn take(&self, py: Python<'_>, limit: usize) -> PyResult<Vec<Py<PyAny>>> {
        self.broker()
            .events()
            .take(limit)
            .into_iter()
            .map(|event| to_python(py, event))
            .collect()
    }

    fn respond(&self, py: Python<'_>, answers: Vec<(u64, Option<PyBackedBytes>)>) {
        let copy = || {
            answers
                .iter()
                .map(|(token, body)| (*token, body.as_ref().map(|b| b.to_vec())))
        };
        let bytes: usize = answers
            .iter()
            .filter_map(|(_, body)| body.as_ref())
            .map(|b| b.len())
            .sum();
        if bytes < MUCH_TO_COPY {
            self.engine().respond(copy().collect());
        } else {
            py.detach(|| self.engine().respond(copy().collect()));
        }
    }

    fn has_much_unsent(&self) -> bool {
        self.broker().unsent().is_used_up()
    }

    /// The limits of clients.
    fn quotas(&self) -> PyQuotas {
        PyQuotas::new(Arc::clone(&self.engine))
    }

    /// How clients prove who they are.
    fn security(&self) -> PySecurity {
        PySecurity::new(Arc::clone(&self.engine))
    }

    /// The groups that this broker coordinates.
    fn groups(&self) -> PyGroups {
        PyGroups::new(Arc::clone(&self.engine), Arc::clone(&self.next_token))
    }

    /// The transactions that this broker coordinates.
    fn transactions(&self) -> PyTransactions {
        PyTransactions::new(Arc::clone(&self.engine))
    }

    fn serve_here(&self, token: u64) {
        self.engine().serve_here(token);
    }

    // ---- records and offsets

    fn append(
        &self,
        py: Python<'_>,
        topic: &str,
        partition: i32,
        batch: &[u8],
        required_acks: i16,
        timeout_ms: i64,
    ) -> u64 {
        let token = self.next_token.fetch_add(1, Ordering::Relaxed);
        let mut batch = batch.to_vec();
        py.detach(|| {
            self.engine()
                .append(token, topic, partition, &mut batch, required_acks, millis(timeout_ms));
        });
        token
    }

    fn read_records(
        &self,
        py: Python<'_>,
        topic: &str,
        partition: i32,
        offset: i64,
        max_bytes: usize,
    ) -> PyResult<(Vec<PyRecord>, i64)> {
        let (records, next) = py
            .detach(|| broker::read_records(&*self.broker().partition(topic, partition)?, Offset(offset), max_bytes))
            .or_raise()?;
        Ok((
            records.into_iter().map(|one| PyRecord::of(py, one)).collect(),
            next.get(),
        ))
    }

    fn partition_offsets(&self, topic: &str, partition: i32) -> PyResult<PartitionOffsets> {
        Ok(self
            .broker()
            .partition(topic, partition)
            .or_raise()?
            .offsets()
            .view()
            .into())
    }

    fn delete_records(&self, py: Python<'_>, topic: &str, partition: i32, before_offset: i64) -> PyResult<i64> {
        let before = Offset(before_offset);
        let low_watermark = py
            .detach(|| self.broker().partition(topic, partition)?.delete_records(before))
            .or_raise()?;
        Ok(low_watermark.get())
    }

    fn watch_low_watermark(&self, topic: &str, partition: i32, offset: i64) -> PyResult<i64> {
        Ok(self
            .broker()
            .watch_low_watermark(topic, partition, Offset(offset))
            .or_raise()?
            .get())
    }

    fn offset_for_leader_epoch(
        &self,
        py: Python<'_>,
        topic: &str,
        partition: i32,
        current_leader_epoch: i32,
        leader_epoch: i32,
    ) -> PyResult<EpochEnd> {
        let (epoch, end_offset) = py
            .detach(|| {
                let partition = self.broker().partition(topic, partition)?;
                partition.end_offset_for_epoch(LeaderEpoch(current_leader_epoch), LeaderEpoch(leader_epoch))
            })
            .or_raise()?;
        Ok(EpochEnd {
            leader_epoch: epoch.get(),
            end_offset: end_offset.get(),
        })
    }

    fn describe_producers<'py>(&self, py: Python<'py>, topic: &str, partition: i32) -> PyResult<Bound<'py, PyBytes>> {
        let packed = py
            .detach(|| {
                let producers = self.broker().partition(topic, partition)?.describe_producers()?;
                Ok::<_, base::error::Error>(packed_producers(&producers))
            })
            .or_raise()?;
        Ok(PyBytes::new(py, &packed))
    }

    fn describe_log_dirs(&self, py: Python<'_>) -> PyResult<Vec<PyLogDir>> {
        let described = py.detach(|| self.broker().logs().dirs().describe());
        described.into_iter().map(|one| PyLogDir::of(py, one)).collect()
    }

    // ---- housekeeping

    fn run_retention(&self, py: Python<'_>) -> usize {
        py.detach(|| self.broker().logs().run_retention())
    }

    fn clean_filthiest(&self, py: Python<'_>) -> Option<PyCleanerReport> {
        py.detach(|| self.broker().logs().cleaner().clean_filthiest())
            .map(PyCleanerReport::of)
    }

    fn stop_cleaning(&self) {
        self.broker().logs().cleaner().rate().stop();
    }

    fn cleaner_figures(&self, py: Python<'_>) -> PyCleanerFigures {
        PyCleanerFigures::of(&py.detach(|| self.broker().logs().cleaner().figures()))
    }

    fn flush_due(&self, py: Python<'_>) -> usize {
        py.detach(|| self.broker().logs().flush_due())
    }

    #[pyo3(signature = (*, recovery_points = false, high_watermarks = false, log_starts = false))]
    fn write_checkpoints(
        &self,
        py: Python<'_>,
        recovery_points: bool,
        high_watermarks: bool,
        log_starts: bool,
    ) -> PyResult<()> {
        let all = [
            (recovery_points, Checkpoint::RecoveryPoint),
            (high_watermarks, Checkpoint::Replication),
            (log_starts, Checkpoint::LogStart),
        ];
        let wanted: Vec<_> = all.into_iter().filter(|(w, _)| *w).map(|(_, c)| c).collect();
        py.detach(|| self.broker().logs().dirs().write_checkpoints(&wanted))
            .or_raise()?;
        Ok(())
    }

    fn note_deletions(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.broker().logs().dirs().note_deletions()).or_raise()?;
        Ok(())
    }

    fn write_stale_checkpoints(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.broker().logs().dirs().write_stale_checkpoints())
            .or_raise()?;
        Ok(())
    }

    fn expire_producers(&self, py: Python<'_>) -> usize {
        py.detach(|| self.broker().logs().expire_producers())
    }

    fn metrics(&self, py: Python<'_>, max_rows: usize) -> PyResult<PyFigures> {
        let figures = py.detach(|| self.broker().figures(max_rows));
        PyFigures::of(py, figures)
    }
}
