//! A started broker: node 1 of cluster `data-plane`, one listener on a free port, temporary log directories.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ::io::{FaultFileSystem, FileSystem, OsFileSystem};
use base::place::LeaderEpoch;
use broker::{Broker, BrokerRow, Event, Lease, Options, Partition, PartitionRow, TopicRow, Verifier};
use net::{Engine, ListenerConfig};
use protocol::{ApiRange, ApiTable};
use storage::log_loader::LoadProgress;
use storage::{LogConfig, LogContext, ProducerStateConfig};

use crate::client::Client;

/// This broker.
pub const NODE: i32 = 1;
/// The replica that never fetches.
pub const FOLLOWER: i32 = 2;
/// The topic's name where a test needs one.
pub const TOPIC: &str = "flights";
/// And its id.
pub const TOPIC_ID: [u8; 16] = [7; 16];
/// Longer than anything may take.
pub const LIMIT: Duration = Duration::from_secs(30);

/// A running broker; dropped, it stops.
pub struct TestBroker {
    pub engine: Engine,
    pub faults: FaultFileSystem,
    pub dirs: Vec<PathBuf>,
    pub port: u16,
    node_id: i32,
    tempdirs: Vec<tempfile::TempDir>,
}

fn apis() -> ApiTable {
    let range = |key, min, max, flexible_from| ApiRange {
        key,
        min,
        max,
        flexible_from,
        is_advertised: true,
    };
    ApiTable::new(vec![
        range(ApiTable::PRODUCE, 3, 13, 9),
        range(ApiTable::FETCH, 4, 18, 12),
        range(ApiTable::LIST_OFFSETS, 1, 11, 6),
        range(ApiTable::METADATA, 0, 13, 9),
        range(ApiTable::API_VERSIONS, 0, 4, 3),
        range(19, 2, 7, 5), // CreateTopics: stands for everything that the control plane serves
    ])
}

impl TestBroker {
    /// With default options and one log directory.
    pub fn start() -> Self {
        Self::start_with(Options::default(), 1)
    }

    pub fn start_with(options: Options, dir_count: usize) -> Self {
        Self::start_on(Arc::new(OsFileSystem), options, dir_count)
    }

    /// Another broker of the cluster.
    pub fn start_as(node_id: i32) -> Self {
        let tempdirs = vec![tempfile::tempdir().unwrap()];
        Self::start_in(Arc::new(OsFileSystem), Options::default(), node_id, tempdirs)
    }

    /// A broker that verifies transactions: it asks this verifier.
    pub fn start_verifying(verifier: Box<dyn Verifier>) -> Self {
        let tempdirs = vec![tempfile::tempdir().unwrap()];
        Self::start_asking(
            Some(verifier),
            Arc::new(OsFileSystem),
            Options::default(),
            NODE,
            tempdirs,
        )
    }

    pub fn start_on(fs: Arc<dyn FileSystem>, options: Options, dir_count: usize) -> Self {
        let tempdirs = (0..dir_count).map(|_| tempfile::tempdir().unwrap()).collect();
        Self::start_in(fs, options, NODE, tempdirs)
    }

    /// Stops without a word, and starts on the same directories and another port.
    pub fn restart(mut self) -> Self {
        let (node_id, tempdirs) = (self.node_id, std::mem::take(&mut self.tempdirs));
        drop(self);
        Self::start_in(Arc::new(OsFileSystem), Options::default(), node_id, tempdirs)
    }

    fn start_in(fs: Arc<dyn FileSystem>, options: Options, node_id: i32, tempdirs: Vec<tempfile::TempDir>) -> Self {
        Self::start_asking(None, fs, options, node_id, tempdirs)
    }

    fn start_asking(
        verifier: Option<Box<dyn Verifier>>,
        fs: Arc<dyn FileSystem>,
        options: Options,
        node_id: i32,
        tempdirs: Vec<tempfile::TempDir>,
    ) -> Self {
        let dirs: Vec<PathBuf> = tempdirs.iter().map(|d| d.path().to_path_buf()).collect();
        let faults = FaultFileSystem::new(fs);
        let context = LogContext {
            fs: Arc::new(faults.clone()),
            producers: ProducerStateConfig {
                is_transaction_verification_enabled: verifier.is_some(),
                ..ProducerStateConfig::default()
            },
            ..LogContext::system()
        };
        let broker = Broker::start(node_id, "data-plane".to_owned(), options, Arc::new(context)).unwrap();
        let outcome = broker
            .logs()
            .open(&dirs, &HashMap::new(), &LoadProgress::default())
            .unwrap();
        assert!(outcome.iter().all(|(_, failure)| failure.is_none()), "{outcome:?}");
        broker.publish_apis(apis());
        if let Some(verifier) = verifier {
            assert!(broker.verifier().set(verifier).is_ok());
        }
        let engine = Engine::new(broker);
        let listener = ListenerConfig {
            name: "PLAINTEXT".to_owned(),
            host: "127.0.0.1".to_owned(),
            port: 0,
        };
        let port = engine.listen(&[listener]).unwrap()[0];
        let started = Self {
            engine,
            faults,
            dirs,
            port,
            node_id,
            tempdirs,
        };
        started.broker().image().publish_cluster(vec![started.row()], NODE);
        started
    }

    /// Where it is.
    pub fn row(&self) -> BrokerRow {
        BrokerRow {
            node_id: self.node_id,
            rack: None,
            endpoints: vec![("PLAINTEXT".to_owned(), "127.0.0.1".to_owned(), self.port)],
        }
    }

    /// What stands in the segments of a partition in the only directory, in order.
    pub fn log_bytes(&self, index: i32) -> Vec<u8> {
        let entries = std::fs::read_dir(self.dirs[0].join(format!("{TOPIC}-{index}"))).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
        paths.sort();
        paths.iter().flat_map(|path| std::fs::read(path).unwrap()).collect()
    }

    pub fn broker(&self) -> &Arc<Broker> {
        self.engine.broker()
    }

    pub fn open_connections(&self) -> u64 {
        self.broker().metrics().connections.load(Ordering::Relaxed)
    }

    pub fn connect(&self) -> Client {
        Client::connect(self.port)
    }

    /// Creates `TOPIC` with so many partitions, this broker as the leader and the only replica.
    pub fn create(&self, partitions: i32, config: &[(&str, &str)]) {
        self.create_topic(TOPIC, TOPIC_ID, partitions, config, &[NODE]);
    }

    /// Creates a topic whose partitions lie in the log directories in turn, with these replicas, all in sync.
    pub fn create_topic(&self, name: &str, id: [u8; 16], partitions: i32, config: &[(&str, &str)], replicas: &[i32]) {
        let config = Arc::new(LogConfig::from_pairs(config.iter().copied()).unwrap());
        let dirs = self.dirs.iter().cycle().cloned();
        let placed: Vec<_> = (0..partitions).zip(dirs).collect();
        let errors = self.broker().logs().create(name, id, &config, &placed);
        assert!(errors.iter().all(Option::is_none), "{errors:?}");
        self.publish_topic(name, id, partitions, replicas);
        for index in 0..partitions {
            self.lease(name, index, 0, replicas, replicas);
        }
    }

    /// Tells Metadata of a topic.
    pub fn publish_topic(&self, name: &str, id: [u8; 16], partitions: i32, replicas: &[i32]) {
        let row = |index| PartitionRow {
            index,
            leader: replicas[0],
            leader_epoch: LeaderEpoch(0),
            replicas: replicas.into(),
            in_sync_replicas: replicas.into(),
            offline_replicas: [].into(),
        };
        self.broker().image().publish_topics(vec![TopicRow {
            name: name.into(),
            id,
            is_internal: name.starts_with("__"),
            keys_over: partitions,
            partitions: (0..partitions).map(row).collect(),
        }]);
    }

    /// Publishes a lease; the first replica leads.
    pub fn lease(&self, topic: &str, index: i32, leader_epoch: i32, replicas: &[i32], in_sync: &[i32]) {
        let lease = Lease {
            leader: replicas[0],
            leader_epoch: LeaderEpoch(leader_epoch),
            partition_epoch: 0,
            replicas: replicas.into(),
            in_sync_replicas: in_sync.into(),
        };
        self.broker()
            .logs()
            .publish_leases(topic, vec![(index, lease)], Instant::now());
    }

    pub fn partition(&self, index: i32) -> Arc<Partition> {
        self.broker().partition(TOPIC, index).unwrap()
    }

    /// Takes events until one fits; the others are lost.
    pub fn event(&self, mut fits: impl FnMut(&Event) -> bool) -> Event {
        let mut found = None;
        wait_until("the event comes", || {
            found = self.broker().events().take(usize::MAX).into_iter().find(|e| fits(e));
            found.is_some()
        });
        found.unwrap()
    }

    /// All log lines so far.
    pub fn log_lines(&self) -> Vec<String> {
        let line = |event| if let Event::Log(line) = event { Some(line) } else { None };
        self.broker()
            .events()
            .take(usize::MAX)
            .into_iter()
            .filter_map(line)
            .collect()
    }
}

impl Drop for TestBroker {
    fn drop(&mut self) {
        self.engine.close_network(Duration::ZERO);
        self.engine.broker().stop_threads();
    }
}

/// Gives way to other threads until the condition holds, at most for [`LIMIT`].
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < until, "waited in vain until {what}");
        std::thread::yield_now();
    }
}
