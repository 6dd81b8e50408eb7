//! Values across the boundary by name: the arguments and results of `Engine`'s methods, as frozen Python objects.
//!
//! The control plane makes the values that go down to the engine, by keywords alone, so that two numbers cannot be
//! swapped unnoticed; the engine makes the values that come up. The objects hold what they were given, and neither
//! check nor decide.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::convert::{path, topic_id};
use base::place::LeaderEpoch;
use broker::{
    self, BrokerRow, COUNTS, Figures, HostedLog, LogDirDescription, MissingLog, OffsetsView, PartitionFigures,
    PartitionRow, ReadRecord, TopicRow,
};
use protocol::ApiRange;
use record::ControlType;
use storage::Note;
use storage::log_loader::LoadProgress;

// ---- down

/// A partition's lease; leader -1 for none.
#[pyclass(frozen, get_all, name = "Lease", module = "kafkastore._core")]
pub struct PyLease {
    partition: i32,
    leader: i32,
    leader_epoch: i32,
    partition_epoch: i32,
    replicas: Vec<i32>,
    in_sync_replicas: Vec<i32>,
}

#[pymethods]
impl PyLease {
    #[new]
    #[pyo3(signature = (*, partition, leader, leader_epoch, partition_epoch, replicas, in_sync_replicas))]
    fn new(
        partition: i32,
        leader: i32,
        leader_epoch: i32,
        partition_epoch: i32,
        replicas: Vec<i32>,
        in_sync_replicas: Vec<i32>,
    ) -> Self {
        Self {
            partition,
            leader,
            leader_epoch,
            partition_epoch,
            replicas,
            in_sync_replicas,
        }
    }
}

impl PyLease {
    /// The partition's index and its lease.
    pub fn granted(&self) -> (i32, broker::Lease) {
        let lease = broker::Lease {
            leader: self.leader,
            leader_epoch: LeaderEpoch(self.leader_epoch),
            partition_epoch: self.partition_epoch,
            replicas: self.replicas.as_slice().into(),
            in_sync_replicas: self.in_sync_replicas.as_slice().into(),
        };
        (self.partition, lease)
    }
}

/// A partition as Metadata describes it to clients.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct PublishedPartition {
    partition: i32,
    leader: i32,
    leader_epoch: i32,
    replicas: Vec<i32>,
    in_sync_replicas: Vec<i32>,
    offline_replicas: Vec<i32>,
}

#[pymethods]
impl PublishedPartition {
    #[new]
    #[pyo3(signature = (*, partition, leader, leader_epoch, replicas, in_sync_replicas, offline_replicas))]
    fn new(
        partition: i32,
        leader: i32,
        leader_epoch: i32,
        replicas: Vec<i32>,
        in_sync_replicas: Vec<i32>,
        offline_replicas: Vec<i32>,
    ) -> Self {
        Self {
            partition,
            leader,
            leader_epoch,
            replicas,
            in_sync_replicas,
            offline_replicas,
        }
    }
}

impl PublishedPartition {
    /// Its row; rows that are made with the same `lists` share equal lists.
    fn row(&self, lists: &mut HashSet<Arc<[i32]>>) -> PartitionRow {
        let mut shared = |ids: &[i32]| -> Arc<[i32]> {
            if let Some(known) = lists.get(ids) {
                return Arc::clone(known);
            }
            let list = Arc::<[i32]>::from(ids);
            lists.insert(Arc::clone(&list));
            list
        };
        PartitionRow {
            index: self.partition,
            leader: self.leader,
            leader_epoch: LeaderEpoch(self.leader_epoch),
            replicas: shared(&self.replicas),
            in_sync_replicas: shared(&self.in_sync_replicas),
            offline_replicas: shared(&self.offline_replicas),
        }
    }
}

/// A topic, or some of its partitions, as Metadata describes it to clients.
#[pyclass(frozen, module = "kafkastore._core")]
pub struct PublishedTopic {
    #[pyo3(get)]
    name: String,
    id: [u8; 16],
    #[pyo3(get)]
    is_internal: bool,
    #[pyo3(get)]
    keys_over: i32,
    partitions: Vec<Py<PublishedPartition>>,
}

#[pymethods]
impl PublishedTopic {
    #[new]
    #[pyo3(signature = (*, name, topic_id, is_internal, keys_over, partitions))]
    fn new(
        name: String,
        topic_id: &[u8],
        is_internal: bool,
        keys_over: i32,
        partitions: Vec<Py<PublishedPartition>>,
    ) -> PyResult<Self> {
        Ok(Self {
            name,
            id: self::topic_id(topic_id)?,
            is_internal,
            keys_over,
            partitions,
        })
    }

    #[getter]
    fn topic_id(&self, py: Python<'_>) -> Py<PyBytes> {
        PyBytes::new(py, &self.id).unbind()
    }

    #[getter]
    fn partitions(&self, py: Python<'_>) -> Vec<Py<PublishedPartition>> {
        self.partitions.iter().map(|one| one.clone_ref(py)).collect()
    }
}

impl PublishedTopic {
    /// Its row of the metadata image.
    pub fn row(&self) -> TopicRow {
        let mut lists = HashSet::new();
        let partitions = self.partitions.iter().map(|one| one.get().row(&mut lists));
        TopicRow {
            name: self.name.as_str().into(),
            id: self.id,
            is_internal: self.is_internal,
            keys_over: self.keys_over,
            partitions: partitions.collect(),
        }
    }
}

/// A broker as Metadata describes it to clients; `endpoints` are (listener, host, port).
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct PublishedBroker {
    node_id: i32,
    rack: Option<String>,
    endpoints: Vec<(String, String, u16)>,
}

#[pymethods]
impl PublishedBroker {
    #[new]
    #[pyo3(signature = (*, node_id, rack, endpoints))]
    fn new(node_id: i32, rack: Option<String>, endpoints: Vec<(String, String, u16)>) -> Self {
        Self {
            node_id,
            rack,
            endpoints,
        }
    }
}

impl PublishedBroker {
    /// Its row of the metadata image.
    pub fn row(&self) -> BrokerRow {
        BrokerRow {
            node_id: self.node_id,
            rack: self.rack.clone(),
            endpoints: self.endpoints.clone(),
        }
    }
}

/// The versions of an API that are served.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct ServedVersions {
    api_key: i16,
    min_version: i16,
    max_version: i16,
    flexible_from: i16,
    is_advertised: bool,
}

#[pymethods]
impl ServedVersions {
    #[new]
    #[pyo3(signature = (*, api_key, min_version, max_version, flexible_from, is_advertised))]
    fn new(api_key: i16, min_version: i16, max_version: i16, flexible_from: i16, is_advertised: bool) -> Self {
        Self {
            api_key,
            min_version,
            max_version,
            flexible_from,
            is_advertised,
        }
    }
}

impl ServedVersions {
    /// Its row of the table of APIs.
    pub fn range(&self) -> ApiRange {
        ApiRange {
            key: self.api_key,
            min: self.min_version,
            max: self.max_version,
            flexible_from: self.flexible_from,
            is_advertised: self.is_advertised,
        }
    }
}

// ---- up

/// A record that the control plane reads.
#[pyclass(frozen, get_all, name = "Record", module = "kafkastore._core")]
pub struct PyRecord {
    offset: i64,
    timestamp_ms: i64,
    key: Option<Py<PyBytes>>,
    value: Option<Py<PyBytes>>,
    producer_id: i64,
    control: Option<&'static str>,
}

impl PyRecord {
    /// The Python object of a record that was read.
    pub fn of(py: Python<'_>, record: ReadRecord) -> Self {
        let bytes = |b: Option<Vec<u8>>| b.map(|b| PyBytes::new(py, &b).unbind());
        let said = |control| match control {
            ControlType::Commit => "commit",
            ControlType::Abort => "abort",
            ControlType::Other(_) => "other",
        };
        Self {
            offset: record.offset.get(),
            timestamp_ms: record.timestamp,
            key: bytes(record.key),
            value: bytes(record.value),
            producer_id: record.producer_id,
            control: record.control.map(said),
        }
    }
}

/// The offsets of a partition.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct PartitionOffsets {
    log_start_offset: i64,
    high_watermark: i64,
    last_stable_offset: i64,
    log_end_offset: i64,
}

impl From<OffsetsView> for PartitionOffsets {
    fn from(offsets: OffsetsView) -> Self {
        Self {
            log_start_offset: offsets.log_start.get(),
            high_watermark: offsets.high_watermark.get(),
            last_stable_offset: offsets.last_stable.get(),
            log_end_offset: offsets.log_end.get(),
        }
    }
}

/// Where a leader epoch ends in a partition's log.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct EpochEnd {
    /// The last epoch that is not larger than the epoch asked for.
    pub leader_epoch: i32,
    /// Where that epoch ends in the log.
    pub end_offset: i64,
}

/// How far the opening of the log directories is.
#[pyclass(frozen, get_all, name = "RecoveryProgress", module = "kafkastore._core")]
pub struct PyRecoveryProgress {
    logs_loaded: u64,
    logs: u64,
    segments_checked: u64,
    segments_to_check: u64,
}

impl From<&LoadProgress> for PyRecoveryProgress {
    fn from(load: &LoadProgress) -> Self {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Self {
            logs_loaded: get(&load.logs_loaded),
            logs: get(&load.logs),
            segments_checked: get(&load.recovery.segments_checked),
            segments_to_check: get(&load.recovery.segments_to_check),
        }
    }
}

/// A log that was found or created.
#[pyclass(frozen, get_all, name = "HostedLog", module = "kafkastore._core")]
pub struct PyHostedLog {
    topic: String,
    partition: i32,
    topic_id: Option<Py<PyBytes>>,
    log_dir: String,
    log_start_offset: i64,
    log_end_offset: i64,
}

impl PyHostedLog {
    /// The Python object of a log of the broker.
    pub fn of(py: Python<'_>, log: HostedLog) -> Self {
        Self {
            topic: log.topic.to_string(),
            partition: log.index,
            topic_id: (log.topic_id != [0; 16]).then(|| PyBytes::new(py, &log.topic_id).unbind()),
            log_dir: path(&log.log_dir),
            log_start_offset: log.log_start.get(),
            log_end_offset: log.log_end.get(),
        }
    }
}

/// A log that existed in the last run and is missing now.
#[pyclass(frozen, get_all, name = "MissingLog", module = "kafkastore._core")]
pub struct PyMissingLog {
    topic: String,
    partition: i32,
    log_dir: String,
    log_end_offset: i64,
}

impl From<MissingLog> for PyMissingLog {
    fn from(missing: MissingLog) -> Self {
        Self {
            topic: missing.partition.topic.to_string(),
            partition: missing.partition.partition,
            log_dir: path(&missing.log_dir),
            log_end_offset: missing.log_end.get(),
        }
    }
}

/// One note of a recovery: what it found or did.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct RecoveryNote {
    is_loss: bool,
    text: String,
}

impl From<Note> for RecoveryNote {
    fn from(note: Note) -> Self {
        Self {
            is_loss: note.is_loss,
            text: note.text,
        }
    }
}

/// A replica in a log directory.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct LogDirReplica {
    topic: String,
    partition: i32,
    size_bytes: u64,
    offset_lag: i64,
    is_future: bool,
}

/// A log directory with its replicas.
#[pyclass(frozen, get_all, name = "LogDir", module = "kafkastore._core")]
pub struct PyLogDir {
    path: String,
    error_code: i16,
    total_bytes: i64,
    usable_bytes: i64,
    replicas: Vec<Py<LogDirReplica>>,
}

impl PyLogDir {
    /// The Python object of a description.
    pub fn of(py: Python<'_>, description: LogDirDescription) -> PyResult<Self> {
        let replicas = description.replicas.into_iter();
        let replica = |(topic, partition, size_bytes, offset_lag, is_future): (Arc<str>, _, _, _, _)| {
            let topic = topic.to_string();
            Py::new(
                py,
                LogDirReplica {
                    topic,
                    partition,
                    size_bytes,
                    offset_lag,
                    is_future,
                },
            )
        };
        Ok(Self {
            path: path(&description.log_dir),
            error_code: description.error.0,
            total_bytes: description.total_bytes,
            usable_bytes: description.usable_bytes,
            replicas: replicas.map(replica).collect::<PyResult<_>>()?,
        })
    }
}

/// One partition in the metrics.
#[pyclass(frozen, get_all, name = "PartitionFigures", module = "kafkastore._core")]
pub struct PyPartitionFigures {
    topic: String,
    partition: i32,
    size_bytes: u64,
    log_start_offset: i64,
    log_end_offset: i64,
    segments: usize,
}

/// The figures for the metrics.
#[pyclass(frozen, get_all, name = "Figures", module = "kafkastore._core")]
pub struct PyFigures {
    totals: HashMap<&'static str, u64>,
    requests: HashMap<i16, u64>,
    topics: Vec<(String, Vec<u64>)>,
    partitions: Vec<Py<PyPartitionFigures>>,
}

impl PyFigures {
    /// The Python object of the broker's figures.
    pub fn of(py: Python<'_>, figures: Figures) -> PyResult<Self> {
        let topic = |(name, counts): (Arc<str>, [u64; COUNTS])| (name.to_string(), counts.to_vec());
        let partition = |one: PartitionFigures| {
            let row = PyPartitionFigures {
                topic: one.topic.to_string(),
                partition: one.index,
                size_bytes: one.size,
                log_start_offset: one.log_start.get(),
                log_end_offset: one.log_end.get(),
                segments: one.segments,
            };
            Py::new(py, row)
        };
        Ok(Self {
            totals: figures.totals.into_iter().collect(),
            requests: figures.requests.into_iter().collect(),
            topics: figures.topics.into_iter().map(topic).collect(),
            partitions: figures.partitions.into_iter().map(partition).collect::<PyResult<_>>()?,
        })
    }
}

/// Adds the classes to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyLease>()?;
    module.add_class::<PublishedPartition>()?;
    module.add_class::<PublishedTopic>()?;
    module.add_class::<PublishedBroker>()?;
    module.add_class::<ServedVersions>()?;
    module.add_class::<PyRecord>()?;
    module.add_class::<PartitionOffsets>()?;
    module.add_class::<EpochEnd>()?;
    module.add_class::<PyRecoveryProgress>()?;
    module.add_class::<PyHostedLog>()?;
    module.add_class::<PyMissingLog>()?;
    module.add_class::<RecoveryNote>()?;
    module.add_class::<PyLogDir>()?;
    module.add_class::<LogDirReplica>()?;
    module.add_class::<PyFigures>()?;
    module.add_class::<PyPartitionFigures>()?;
    Ok(())
}
