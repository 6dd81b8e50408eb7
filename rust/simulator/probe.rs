//! [`Probe`]: what a unit test of the control plane says that threads and connections have reported, and what the
//! control plane has published.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use ::python::engine::PyEngine;
use base::error::ErrorCode;
use base::place::Offset;
use broker::{AppendDone, Broker, Budget, ClientInfo, ControlRequest, Event, Principal};

/// (leader, leader epoch, partition epoch, replicas, in-sync replicas).
type LeaseTuple = (i32, i32, i32, Vec<i32>, Vec<i32>);
/// (partition, leader, leader epoch, replicas, in-sync replicas, offline replicas).
type PartitionTuple = (i32, i32, i32, Vec<i32>, Vec<i32>, Vec<i32>);
/// (name, id, whether it is internal, among how many partitions keys choose, partitions).
type TopicTuple = (String, Py<PyBytes>, bool, i32, Vec<PartitionTuple>);
/// (node id, rack, endpoints).
type BrokerTuple = (i32, Option<String>, Vec<(String, String, u16)>);

/// Queues a request for the control plane: token, API key, version, correlation id; body.
pub(super) fn control_request(broker: &Broker, client: ClientInfo, numbers: (u64, i16, i16, i32), body: Vec<u8>) {
    let (token, api_key, api_version, correlation_id) = numbers;
    broker.events().push(Event::Request(ControlRequest {
        token,
        api_key,
        api_version,
        correlation_id,
        client: Arc::new(client),
        body,
        charge: Budget::new(0).account(),
    }));
}

/// See the module.
#[pyclass(frozen, module = "kafkastore._simulator")]
pub struct Probe {
    broker: Arc<Broker>,
}

#[pymethods]
impl Probe {
    #[new]
    fn new(engine: &PyEngine) -> Self {
        Self {
            broker: Arc::clone(engine.engine.broker()),
        }
    }

    // ---- what threads and connections report

    #[pyo3(signature = (token, api_key, api_version, body, *, correlation_id = 1, client_id = Some("test".to_owned()),
        client_host = "/127.0.0.1".to_owned(), listener = "PLAINTEXT", is_broker = false, principal = "User:ANONYMOUS",
        is_token_authenticated = false))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn request(
        &self,
        token: u64,
        api_key: i16,
        api_version: i16,
        body: Vec<u8>,
        correlation_id: i32,
        client_id: Option<String>,
        client_host: String,
        listener: &str,
        is_broker: bool,
        principal: &str,
        is_token_authenticated: bool,
    ) {
        let client = ClientInfo {
            client_id,
            is_broker,
            principal: Principal::user(principal.trim_start_matches("User:")),
            is_token_authenticated,
            ..ClientInfo::new(token, Arc::from(listener), client_host)
        };
        let numbers = (token, api_key, api_version, correlation_id);
        control_request(&self.broker, client, numbers, body);
    }

    fn request_abandoned(&self, token: u64) {
        self.broker.events().push(Event::RequestAbandoned { token });
    }

    fn append_done(&self, token: u64) {
        self.broker.events().push(Event::AppendDone(AppendDone {
            token,
            code: ErrorCode::NONE,
            base_offset: Offset(0),
            last_offset: Offset(0),
            log_append_time_ms: -1,
            message: None,
        }));
    }

    fn log_line(&self, message: String) {
        self.broker.events().push(Event::Log(message));
    }

    fn thread_failed(&self, thread: String, reason: String) {
        self.broker.events().push(Event::ThreadFailed { thread, reason });
    }

    /// The logs of the directory go offline, as after an error of the disk.
    fn fail_log_dir(&self, log_dir: PathBuf, reason: &str) {
        self.broker.logs().dirs().fail(&log_dir, reason);
    }

    // ---- what the control plane has published

    /// The leases of partitions with a log here.
    fn leases(&self) -> Vec<(String, i32, LeaseTuple)> {
        let topics = self.broker.registry().snapshot();
        let partitions = topics.iter().flat_map(|topic| topic.partitions());
        let row = |one: &Arc<broker::Partition>| {
            let lease = one.leadership().lease()?;
            let epochs = (lease.leader_epoch.get(), lease.partition_epoch);
            let sets = (lease.replicas.to_vec(), lease.in_sync_replicas.to_vec());
            let lease = (lease.leader, epochs.0, epochs.1, sets.0, sets.1);
            Some((one.topic().to_string(), one.index(), lease))
        };
        partitions.filter_map(row).collect()
    }

    /// The topics as Metadata describes them.
    fn topics(&self, py: Python<'_>) -> Vec<TopicTuple> {
        let image = self.broker.image().load();
        let row = |one: &broker::PartitionRow| {
            let sets = [&one.replicas, &one.in_sync_replicas, &one.offline_replicas].map(|set| set.to_vec());
            let [replicas, in_sync, offline] = sets;
            (
                one.index,
                one.leader,
                one.leader_epoch.get(),
                replicas,
                in_sync,
                offline,
            )
        };
        let topics = image.topics().map(|topic| {
            let rows = topic.partitions.iter().map(row).collect();
            let id = PyBytes::new(py, &topic.id).unbind();
            (topic.name.to_string(), id, topic.is_internal, topic.keys_over, rows)
        });
        topics.collect()
    }

    /// The brokers that clients are told of, and the controller.
    fn cluster(&self) -> (Vec<BrokerTuple>, i32) {
        let image = self.broker.image().load();
        let rows = image.brokers.iter();
        let rows = rows.map(|row| (row.node_id, row.rack.clone(), row.endpoints.clone()));
        (rows.collect(), image.controller_id)
    }
}
