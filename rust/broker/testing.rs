//! A broker on temporary directories with a manual clock and a file system that can fail, for unit tests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::Broker;
use crate::{
    ANONYMOUS, Attempt, BrokerRow, Caller, Executor, Lease, Options, Partition, PartitionData, PartitionRow, Request,
    Scratch, TopicRow, VerificationRequest, Verified, Verifier, Verifying, Waiter, Wake,
};
use ::io::{FaultFileSystem, ManualClock, OsFileSystem};
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use record::{BatchBuilder, Codec};
use storage::log_loader::LoadProgress;
use storage::{LogConfig, LogContext, ProducerStateConfig};

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
        Self::on(NODE, Options::default(), dirs, false)
    }

    /// A broker with one directory that verifies transactions, and its verifier.
    pub fn verifying() -> (Self, TestVerifier) {
        let fixture = Self::on(NODE, Options::default(), vec![tempfile::tempdir().unwrap()], true);
        let verifier = TestVerifier::default();
        assert!(fixture.broker.verifier().set(Box::new(verifier.clone())).is_ok());
        (fixture, verifier)
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
        Self::on(NODE, Options::default(), (0..dir_count).map(make).collect(), false)
    }

    /// A broker of a cluster, with one directory, whose fetches do not wait for records.
    pub fn replica(node_id: i32) -> Self {
        let options = Options {
            replica_fetch_wait_max_ms: 0,
            ..Options::default()
        };
        Self::on(node_id, options, vec![tempfile::tempdir().unwrap()], false)
    }

    fn on(node_id: i32, options: Options, tempdirs: Vec<tempfile::TempDir>, verifies: bool) -> Self {
        let dirs: Vec<PathBuf> = tempdirs.iter().map(|d| d.path().to_path_buf()).collect();
        let faults = FaultFileSystem::new(Arc::new(OsFileSystem));
        let clock = Arc::new(ManualClock::new(START_MS));
        let context = LogContext {
            fs: Arc::new(faults.clone()),
            clock: clock.clone(),
            producers: ProducerStateConfig {
                is_transaction_verification_enabled: verifies,
                ..ProducerStateConfig::default()
            },
        };
        let broker = Broker::start(node_id, "unit".to_owned(), options, Arc::new(context)).unwrap();
        let progress = LoadProgress::default();
        broker.logs().open(&dirs, &HashMap::new(), &progress).unwrap();
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
        let verifies = self.broker.context().producers.is_transaction_verification_enabled;
        let tempdirs = std::mem::take(&mut self.tempdirs);
        Self::on(self.broker.node_id(), options, tempdirs, verifies)
    }

    /// Creates a topic whose id is all 7; this broker is its only replica.
    pub fn create(&self, topic: &str, partitions: i32, config: &[(&str, &str)]) {
        self.create_with(topic, [7; 16], partitions, config, &[NODE]);
    }

    pub fn create_with(&self, topic: &str, id: [u8; 16], partitions: i32, config: &[(&str, &str)], replicas: &[i32]) {
        let config = Arc::new(LogConfig::from_pairs(config.iter().copied()).unwrap());
        let placed: Vec<_> = (0..partitions).zip(self.dirs.iter().cycle().cloned()).collect();
        let errors = self.broker.logs().create(topic, id, &config, &placed);
        assert!(errors.iter().all(Option::is_none), "{errors:?}");
        let leases = (0..partitions).map(|i| (i, lease(0, replicas, replicas))).collect();
        self.broker.logs().publish_leases(topic, leases, Instant::now());
        self.broker.image().publish_topics(vec![row(topic, id, partitions)]);
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
    let data = PartitionData {
        records,
        high_watermark: Offset(high_watermark),
        log_start: Offset(0),
    };
    let following = partition.following(LeaderEpoch(leader_epoch)).unwrap();
    following.append(&data, START_MS).unwrap();
}

/// A caller that is a broker, on the only listener.
pub const CALLER: Caller<'_> = Caller {
    listener: "PLAINTEXT",
    principal: &ANONYMOUS,
    client_id: None,
    host: "/127.0.0.1",
    quotas: None,
    is_broker: true,
    decisions: None,
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
        executor: Executor::Loop,
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
        keys_over: partitions,
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
pub struct Calls(pub Mutex<Vec<u64>>);

impl Wake for Calls {
    fn wake(&self, operation: u64) {
        self.0.lock().push(operation);
    }
}

/// Stands in for the transaction coordinators: answers from a table, at once or later.
#[derive(Clone, Default)]
pub struct TestVerifier(Arc<Mutex<Questions>>);

#[derive(Default)]
struct Questions {
    codes: HashMap<(String, i32), ErrorCode>,
    asked: Vec<VerificationRequest>,
    /// Answers wait for [`TestVerifier::answer`].
    is_delayed: bool,
    deadline: Option<Instant>,
    waiters: Vec<Waiter>,
}

impl Questions {
    fn answer(&self, asked: &VerificationRequest) -> Vec<ErrorCode> {
        let code = |(topic, index): &(Arc<str>, i32)| self.codes.get(&(topic.to_string(), *index)).copied();
        let partitions = asked.partitions.iter();
        partitions.map(|one| code(one).unwrap_or(ErrorCode::NONE)).collect()
    }
}

impl TestVerifier {
    /// Answers questions about this partition with a code; other partitions get NONE.
    pub fn set(&self, topic: &str, index: i32, code: ErrorCode) {
        self.0.lock().codes.insert((topic.to_owned(), index), code);
    }

    /// Answers no question from now on, until [`Self::answer`].
    pub fn delay(&self) {
        self.0.lock().is_delayed = true;
    }

    /// As [`Self::delay`]; each question says that it is due at `deadline`.
    pub fn delay_until(&self, deadline: Instant) {
        self.0.lock().deadline = Some(deadline);
        self.delay();
    }

    /// Answers all questions, and those that come from now on.
    pub fn answer(&self) {
        let waiters = {
            let mut questions = self.0.lock();
            questions.is_delayed = false;
            std::mem::take(&mut questions.waiters)
        };
        for waiter in waiters {
            waiter.owner.wake(waiter.operation);
        }
    }

    /// The questions since the last call.
    pub fn asked(&self) -> Vec<VerificationRequest> {
        std::mem::take(&mut self.0.lock().asked)
    }
}

impl Verifier for TestVerifier {
    fn ask(&self, _broker: &Broker, asked: VerificationRequest, _now: Instant, _now_ms: i64) -> Verified {
        let mut questions = self.0.lock();
        questions.asked.push(asked.clone());
        if questions.is_delayed {
            return Verified::Later(Box::new(TestQuestion(self.clone(), asked)));
        }
        Verified::Now(questions.answer(&asked))
    }
}

struct TestQuestion(TestVerifier, VerificationRequest);

impl Verifying for TestQuestion {
    fn watch(&self, waiter: &Waiter) {
        self.0.0.lock().waiters.push(waiter.clone());
    }

    fn forget(&self, waiter: &Waiter) {
        let is_same = |w: &Waiter| w.operation == waiter.operation && Arc::ptr_eq(&w.owner, &waiter.owner);
        self.0.0.lock().waiters.retain(|w| !is_same(w));
    }

    fn poll(&mut self, attempt: &Attempt<'_>) -> Option<Vec<ErrorCode>> {
        let questions = self.0.0.lock();
        if questions.is_delayed {
            let late = vec![ErrorCode::COORDINATOR_NOT_AVAILABLE; self.1.partitions.len()];
            return attempt.is_due.then_some(late);
        }
        Some(questions.answer(&self.1))
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.0.lock().deadline
    }
}

/// A batch of one record of a transaction.
pub fn transactional(producer_id: i64, producer_epoch: i16, base_sequence: i32) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Codec::None)
        .producer(producer_id, producer_epoch, base_sequence)
        .transactional(true);
    builder.append(START_MS, Some(b"key"), Some(b"value"), &[]);
    builder.build(Offset(0), LeaderEpoch::NONE)
}
