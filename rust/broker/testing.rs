//! A broker on temporary directories with a manual clock and a file system that can fail, for unit tests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{
    ANONYMOUS, BrokerRow, Caller, Fetched, Lease, Options, Partition, PartitionRow, Place, QuotaSlots, Request,
    Scratch, TopicRow, Wake,
};
use crate::broker::Broker;
use crate::io::{FaultFileSystem, ManualClock, OsFileSystem};
use crate::place::{LeaderEpoch, Offset};
use crate::record::{BatchBuilder, Codec};
use crate::storage::log_loader::LoadProgress;
use crate::storage::{LogConfig, LogContext, ProducerStateConfig};

/// The time at which tests begin.
pub const START_MS: i64 = 1_700_000_000_000;
/// The broker's node id.
pub const NODE: i32 = 1;

/// See the module.
pub struct Fixture {
    pub broker: Arc<Broker>,
    pub faults: FaultFileSystem,
    pub clock: Arc<ManualClock>,
    pub dirs: Vec<PathBuf>,
    pub progress: LoadProgress,
    tempdirs: Vec<tempfile::TempDir>,
}

impl Fixture {
    pub fn new(dir_count: usize) -> Self {
        let dirs = (0..dir_count).map(|_| tempfile::tempdir().unwrap()).collect();
        Self::on(NODE, Options::default(), dirs)
    }

    /// A broker with directories in memory (`/dev/shm`), where that exists: the syncs are real, and some tests make
    /// thousands.
    pub fn in_memory(dir_count: usize) -> Self {
        let memory = Path::new("/dev/shm");
        let make = |_| {
            if memory.is_dir() {
                tempfile::tempdir_in(memory).unwrap()
            } else {
                tempfile::tempdir().unwrap()
            }
        };
        Self::on(NODE, Options::default(), (0..dir_count).map(make).collect())
    }

    /// A broker of a cluster, with one directory, whose fetches do not wait for records.
    pub fn replica(node_id: i32) -> Self {
        let options = Options {
            replica_fetch_wait_max_ms: 0,
            ..Options::default()
        };
        Self::on(node_id, options, vec![tempfile::tempdir().unwrap()])
    }

    fn on(node_id: i32, options: Options, tempdirs: Vec<tempfile::TempDir>) -> Self {
        let dirs: Vec<PathBuf> = tempdirs.iter().map(|d| d.path().to_path_buf()).collect();
        let faults = FaultFileSystem::new(Arc::new(OsFileSystem));
        let clock = Arc::new(ManualClock::new(START_MS));
        let context = LogContext {
            fs: Arc::new(faults.clone()),
            clock: clock.clone(),
            producers: ProducerStateConfig {
                is_transaction_verification_enabled: false,
                ..ProducerStateConfig::default()
            },
        };
        let broker = Broker::start(node_id, "unit".to_owned(), options, Arc::new(context)).unwrap();
        let progress = LoadProgress::default();
        broker.open_log_dirs(&dirs, &HashMap::new(), &progress).unwrap();
        Self {
            broker,
            faults,
            clock,
            dirs,
            progress,
            tempdirs,
        }
    }

    /// Stops the broker and starts it again on the same directories.
    pub fn restart(self) -> Self {
        self.restart_after(|| ())
    }

    /// As [`Self::restart`]; `meanwhile` runs while the broker is stopped.
    pub fn restart_after(mut self, meanwhile: impl FnOnce()) -> Self {
        self.broker.stop_threads();
        meanwhile();
        let options = Options::clone(&self.broker.options());
        Self::on(self.broker.node_id, options, std::mem::take(&mut self.tempdirs))
    }

    /// Creates a topic whose id is all 7; this broker is its only replica.
    pub fn create(&self, topic: &str, partitions: i32, config: &[(&str, &str)]) {
        self.create_with(topic, [7; 16], partitions, config, &[NODE]);
    }

    pub fn create_with(&self, topic: &str, id: [u8; 16], partitions: i32, config: &[(&str, &str)], replicas: &[i32]) {
        let config = Arc::new(LogConfig::from_pairs(config.iter().copied()).unwrap());
        let placed: Vec<_> = (0..partitions).zip(self.dirs.iter().cycle().cloned()).collect();
        let errors = self.broker.create_logs(topic, id, &config, &placed);
        assert!(errors.iter().all(Option::is_none), "{errors:?}");
        let leases = (0..partitions).map(|i| (i, lease(0, replicas, replicas))).collect();
        self.broker.publish_leases(topic, leases, Instant::now());
        self.broker.image.publish_topics(vec![row(topic, id, partitions)]);
    }

    pub fn partition(&self, topic: &str, index: i32) -> Arc<Partition> {
        self.broker.partition(topic, index).unwrap()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.broker.stop_threads();
    }
}

/// A lease with the first replica as the leader.
pub fn lease(leader_epoch: i32, replicas: &[i32], in_sync: &[i32]) -> Lease {
    Lease {
        leader: replicas[0],
        leader_epoch: LeaderEpoch(leader_epoch),
        partition_epoch: 0,
        replicas: replicas.into(),
        in_sync_replicas: in_sync.into(),
    }
}

/// Replaces a partition's lease; `None` revokes it.
pub fn give(partition: &Partition, lease: Option<Lease>) {
    partition.set_lease(lease, Duration::from_secs(30), Instant::now());
}

/// Appends records to a partition as if its leader had sent them with this high watermark.
pub fn take_fetched(partition: &Partition, leader_epoch: i32, records: &[u8], high_watermark: i64) {
    let fetched = Fetched {
        leader_epoch: LeaderEpoch(leader_epoch),
        records,
        high_watermark: Offset(high_watermark),
        log_start: Offset(0),
    };
    partition.append_fetched(&fetched, START_MS).unwrap();
}

/// A caller that is a broker, on the only listener.
pub const CALLER: Caller<'_> = Caller {
    listener: "PLAINTEXT",
    principal: &ANONYMOUS,
    client_id: None,
    host: "/127.0.0.1",
    quota_slots: QuotaSlots {
        produce: None,
        fetch: None,
        request: None,
    },
    is_broker: true,
    may_write_internal: false,
};

/// A request of [`CALLER`] on a network loop, which has come back from the control plane.
pub fn request<'a>(broker: &'a Broker, version: i16, body: &'a mut [u8], scratch: &'a mut Scratch) -> Request<'a> {
    Request {
        broker,
        version,
        caller: CALLER,
        body,
        scratch,
        place: Place::Loop,
        may_hand_over: false,
        now_ms: START_MS,
        now: Instant::now(),
    }
}

/// A topic led by this broker.
pub fn row(topic: &str, id: [u8; 16], partitions: i32) -> TopicRow {
    let partition = |index| PartitionRow {
        index,
        leader: NODE,
        leader_epoch: LeaderEpoch(0),
        replicas: [NODE].into(),
        in_sync_replicas: [NODE].into(),
        offline_replicas: [].into(),
    };
    TopicRow {
        name: topic.into(),
        id,
        is_internal: false,
        partitions: (0..partitions).map(partition).collect(),
    }
}

/// A broker that is reached on `PLAINTEXT` only.
pub fn broker_row(node_id: i32) -> BrokerRow {
    BrokerRow {
        node_id,
        rack: None,
        endpoints: vec![("PLAINTEXT".to_owned(), format!("host{node_id}"), 9092)],
    }
}

/// A batch of one record with this timestamp.
pub fn batch(timestamp: i64) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Codec::None);
    builder.append(timestamp, Some(b"key"), Some(b"value"), &[]);
    builder.build(Offset(0), LeaderEpoch::NONE)
}

/// Collects the operations with which it was woken.
#[derive(Default)]
pub struct Calls(pub parking_lot::Mutex<Vec<u64>>);

impl Wake for Calls {
    fn wake(&self, operation: u64) {
        self.0.lock().push(operation);
    }
}
