//! What `Engine.take` gives: requests and events as frozen Python objects.

use std::sync::Arc;

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::broker;

/// A request for the control plane.
#[pyclass(frozen, module = "kafkastore._core")]
pub struct Request {
    #[pyo3(get)]
    token: u64,
    #[pyo3(get)]
    api_key: i16,
    #[pyo3(get)]
    api_version: i16,
    #[pyo3(get)]
    correlation_id: i32,
    #[pyo3(get)]
    client_id: Option<String>,
    #[pyo3(get)]
    client_host: String,
    #[pyo3(get)]
    listener: String,
    #[pyo3(get)]
    connection_id: u64,
    #[pyo3(get)]
    software_name: String,
    #[pyo3(get)]
    software_version: String,
    #[pyo3(get)]
    is_broker: bool,
    /// With what it holds of the budget; nothing once it was let go.
    body: Mutex<Option<(Py<PyBytes>, broker::Charge)>>,
}

#[pymethods]
impl Request {
    #[getter]
    fn body(&self, py: Python<'_>) -> Py<PyBytes> {
        let kept = self.body.lock();
        kept.as_ref()
            .map_or_else(|| PyBytes::new(py, b"").unbind(), |(body, _)| body.clone_ref(py))
    }

    fn forget_body(&self) {
        let forgotten = self.body.lock().take();
        drop(forgotten);
    }
}

/// An append of the control plane that was answered.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct AppendDone {
    token: u64,
    error_code: i16,
    base_offset: i64,
    last_offset: i64,
    log_append_time_ms: i64,
    message: Option<String>,
}

/// A log directory went offline.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct LogDirFailed {
    log_dir: String,
    reason: String,
}

/// A leader asks for another in-sync set.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct IsrChange {
    topic: String,
    partition: i32,
    leader_epoch: i32,
    partition_epoch: i32,
    /// (node id, broker epoch or -1).
    in_sync_replicas: Vec<(i32, i64)>,
}

/// A partition is in another log directory now.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct ReplicaMoved {
    topic: String,
    partition: i32,
    log_dir: String,
}

/// The low watermark of a partition that is watched may have moved.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct LowWatermarkMoved {
    topic: String,
    partition: i32,
}

/// A thread of the data plane ended before its time.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct ThreadFailed {
    thread: String,
    reason: String,
}

/// The client of a request that is not answered yet has gone.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct RequestAbandoned {
    token: u64,
}

/// Few producer ids are left.
#[pyclass(frozen, module = "kafkastore._core")]
pub struct ProducerIdsLow;

/// Groups came by their first commit.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct GroupsCreated {
    partition: i32,
    group_ids: Vec<String>,
}

/// Sessions of members are over.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct SessionsExpired {
    sessions: Vec<Py<ExpiredSession>>,
}

/// A member of which nothing was heard for its session timeout.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct ExpiredSession {
    /// Of `__consumer_offsets`.
    partition: i32,
    /// Of the partition's load.
    number: u64,
    group_id: String,
    member_id: String,
}

/// A line for the log.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct LogLine {
    message: String,
}

/// Converts one event.
pub fn to_python(py: Python<'_>, event: broker::Event) -> PyResult<Py<PyAny>> {
    Ok(match event {
        broker::Event::Request(r) => Py::new(
            py,
            Request {
                token: r.token,
                api_key: r.api_key,
                api_version: r.api_version,
                correlation_id: r.correlation_id,
                client_id: r.client.client_id.clone(),
                client_host: r.client.host.clone(),
                listener: r.client.listener.to_string(),
                connection_id: r.client.connection_id,
                software_name: r.client.software_name.clone(),
                software_version: r.client.software_version.clone(),
                is_broker: r.client.is_broker,
                body: Mutex::new(Some((PyBytes::new(py, &r.body).unbind(), r.charge))),
            },
        )?
        .into_any(),
        broker::Event::AppendDone(d) => Py::new(
            py,
            AppendDone {
                token: d.token,
                error_code: d.code.0,
                base_offset: d.base_offset,
                last_offset: d.last_offset,
                log_append_time_ms: d.log_append_time_ms,
                message: d.message,
            },
        )?
        .into_any(),
        broker::Event::IsrChange { topic, index, proposal } => Py::new(
            py,
            IsrChange {
                topic: topic.to_string(),
                partition: index,
                leader_epoch: proposal.leader_epoch,
                partition_epoch: proposal.partition_epoch,
                in_sync_replicas: proposal.in_sync_replicas,
            },
        )?
        .into_any(),
        broker::Event::LogDirFailed { log_dir, reason } => Py::new(
            py,
            LogDirFailed {
                log_dir: log_dir.to_string_lossy().into_owned(),
                reason,
            },
        )?
        .into_any(),
        broker::Event::ReplicaMoved { topic, index, log_dir } => Py::new(
            py,
            ReplicaMoved {
                topic: topic.to_string(),
                partition: index,
                log_dir: log_dir.to_string_lossy().into_owned(),
            },
        )?
        .into_any(),
        broker::Event::LowWatermarkMoved { topic, index } => Py::new(
            py,
            LowWatermarkMoved {
                topic: topic.to_string(),
                partition: index,
            },
        )?
        .into_any(),
        broker::Event::RequestAbandoned { token } => Py::new(py, RequestAbandoned { token })?.into_any(),
        broker::Event::ProducerIdsLow => Py::new(py, ProducerIdsLow)?.into_any(),
        broker::Event::GroupsCreated { index, groups } => Py::new(
            py,
            GroupsCreated {
                partition: index,
                group_ids: groups.iter().map(ToString::to_string).collect(),
            },
        )?
        .into_any(),
        broker::Event::SessionsExpired(members) => {
            let row = |(partition, number, group_id, member_id): (i32, u64, Arc<str>, Arc<str>)| {
                let session = ExpiredSession {
                    partition,
                    number,
                    group_id: group_id.to_string(),
                    member_id: member_id.to_string(),
                };
                Py::new(py, session)
            };
            let sessions = members.into_iter().map(row).collect::<PyResult<_>>()?;
            Py::new(py, SessionsExpired { sessions })?.into_any()
        }
        broker::Event::ThreadFailed { thread, reason } => Py::new(py, ThreadFailed { thread, reason })?.into_any(),
        broker::Event::Log(message) => Py::new(py, LogLine { message })?.into_any(),
    })
}
