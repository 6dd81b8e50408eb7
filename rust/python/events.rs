//! What `Engine.take` gives: requests and events as frozen Python objects.

use std::path::PathBuf;

use parking_lot::Mutex;
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A request for the control plane.
#[pyclass(frozen, name = "Request", module = "kafkastore._core")]
pub struct PyRequest {
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
    is_broker: bool,
    #[pyo3(get)]
    principal: String,
    #[pyo3(get)]
    is_token_authenticated: bool,
    /// The body and its charge on the budget; `None` once the body was dropped.
    body: Mutex<Option<(Py<PyBytes>, broker::Charge)>>,
}

#[pymethods]
impl PyRequest {
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

/// The end of an append of the control plane.
#[pyclass(frozen, get_all, name = "AppendDone", module = "kafkastore._core")]
pub struct PyAppendDone {
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

/// A leader proposes another in-sync set.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct IsrChange {
    topic: String,
    partition: i32,
    leader_epoch: i32,
    partition_epoch: i32,
    /// (node id, broker epoch or -1).
    in_sync_replicas: Vec<(i32, i64)>,
}

/// A partition has been moved to another log directory.
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

/// A thread of the data plane ended by a panic or an error.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct ThreadFailed {
    thread: String,
    reason: String,
}

/// The client of an unanswered request has gone.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct RequestAbandoned {
    token: u64,
}

/// Few producer ids are left.
#[pyclass(frozen, module = "kafkastore._core")]
pub struct ProducerIdsLow;

/// Groups that their first commit created.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct GroupsCreated {
    partition: i32,
    group_ids: Vec<String>,
}

/// Sessions of members have expired.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct SessionsExpired {
    sessions: Vec<Py<ExpiredSession>>,
}

/// A member whose session has expired.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct ExpiredSession {
    /// The group's partition of `__consumer_offsets`.
    partition: i32,
    /// The number of the partition's load.
    number: u64,
    group_id: String,
    member_id: String,
}

/// A line for the log.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct LogLine {
    message: String,
    /// Whether it is for the audit log.
    is_audit: bool,
}

/// Converts one event.
pub fn to_python(py: Python<'_>, event: broker::Event) -> PyResult<Py<PyAny>> {
    use broker::Event;
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    match event {
        Event::Request(request) => object(py, PyRequest::new(py, request)),
        Event::AppendDone(done) => object(py, PyAppendDone::new(done)),
        Event::IsrChange { topic, index, proposal } => object(
            py,
            IsrChange {
                topic: topic.to_string(),
                partition: index,
                leader_epoch: proposal.leader_epoch.get(),
                partition_epoch: proposal.partition_epoch,
                in_sync_replicas: proposal.in_sync_replicas,
            },
        ),
        Event::LogDirFailed { log_dir, reason } => object(
            py,
            LogDirFailed {
                log_dir: text(log_dir),
                reason,
            },
        ),
        Event::ReplicaMoved { topic, index, log_dir } => object(
            py,
            ReplicaMoved {
                topic: topic.to_string(),
                partition: index,
                log_dir: text(log_dir),
            },
        ),
        Event::LowWatermarkMoved { topic, index } => object(
            py,
            LowWatermarkMoved {
                topic: topic.to_string(),
                partition: index,
            },
        ),
        Event::RequestAbandoned { token } => object(py, RequestAbandoned { token }),
        Event::ProducerIdsLow => object(py, ProducerIdsLow),
        Event::GroupsCreated { index, groups } => object(
            py,
            GroupsCreated {
                partition: index,
                group_ids: groups.iter().map(ToString::to_string).collect(),
            },
        ),
        Event::SessionsExpired(members) => {
            let sessions = members.into_iter().map(|(partition, number, group_id, member_id)| {
                let session = ExpiredSession {
                    partition,
                    number,
                    group_id: group_id.to_string(),
                    member_id: member_id.to_string(),
                };
                Py::new(py, session)
            });
            let sessions = sessions.collect::<PyResult<_>>()?;
            object(py, SessionsExpired { sessions })
        }
        Event::ThreadFailed { thread, reason } => object(py, ThreadFailed { thread, reason }),
        Event::Log(message) => object(
            py,
            LogLine {
                message,
                is_audit: false,
            },
        ),
        Event::Refused(message) => object(
            py,
            LogLine {
                message,
                is_audit: true,
            },
        ),
    }
}

fn object<T>(py: Python<'_>, value: T) -> PyResult<Py<PyAny>>
where
    T: PyClass + Into<PyClassInitializer<T>>,
{
    Ok(Py::new(py, value)?.into_any())
}

impl PyRequest {
    fn new(py: Python<'_>, request: broker::ControlRequest) -> Self {
        Self {
            token: request.token,
            api_key: request.api_key,
            api_version: request.api_version,
            correlation_id: request.correlation_id,
            client_id: request.client.client_id.clone(),
            client_host: request.client.host.clone(),
            listener: request.client.listener.to_string(),
            is_broker: request.client.is_broker,
            principal: request.client.principal.as_str().to_owned(),
            is_token_authenticated: request.client.is_token_authenticated,
            body: Mutex::new(Some((PyBytes::new(py, &request.body).unbind(), request.charge))),
        }
    }
}

impl PyAppendDone {
    fn new(done: broker::AppendDone) -> Self {
        Self {
            token: done.token,
            error_code: done.code.0,
            base_offset: done.base_offset.get(),
            last_offset: done.last_offset.get(),
            log_append_time_ms: done.log_append_time_ms,
            message: done.message,
        }
    }
}
