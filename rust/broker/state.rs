//! [`Broker`]: the parts of the data plane that its threads share.
//!
//! Each part does its own locking. What a part needs of others it holds itself: the [`Node`], which all share, and the
//! parts that are built before it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arc_swap::{ArcSwap, Guard};

use crate::logs::Logs;
use crate::metrics::Metrics;
use crate::node::Node;
use crate::partition::Partition;
use crate::partition::followers::Proposal;
use crate::published::features::FinalizedFeatures;
use crate::published::image::PublishedImage;
use crate::published::options::Options;
use crate::published::producer_ids::ProducerIds;
use crate::published::registry::Registry;
use crate::replication::fetchers::Fetchers;
use crate::replication::peers::Peers;
use crate::replication::throttle::{Throttle, Throttles};
use crate::requests::api::{Api, ServedApis};
use crate::requests::authorization::authorizer::Authorizer;
use crate::requests::budget::{Budget, ControlBudget};
use crate::requests::fetch_session::SessionCache;
use crate::requests::quotas::{ConnectionRates, Quotas};
use crate::requests::verifier::Verifier;
use crate::requests::waiters::WaitKind;
use crate::threads::events::{Event, EventQueue};
use crate::threads::pools::Threads;
use base::error::Result;
use protocol::{ApiTable, TRANSACTION_VERSION};
use storage::LogContext;

/// Threads that flush: one waits on the disk while the other prepares.
const FLUSH_THREADS: usize = 2;
/// Partitions that all parked fetches together may wait for; each takes some 120 bytes.
const MAX_PARKED_ROWS: usize = 1 << 18;

/// See the module.
pub struct Broker {
    node: Arc<Node>,
    threads: Arc<Threads>,
    fetchers: Arc<Fetchers>,
    logs: Logs,
    epoch: AtomicI64,
    refuses_produces: AtomicBool,
    apis: ArcSwap<ApiTable>,
    features: ArcSwap<FinalizedFeatures>,
    image: PublishedImage,
    producer_ids: ProducerIds,
    authorizer: Authorizer,
    sessions: SessionCache,
    parked_rows: Arc<Budget>,
    unsent: Arc<Budget>,
    queued: Arc<Budget>,
    control: ControlBudget,
    quotas: Quotas,
    connection_rates: ConnectionRates,
    throttles: Throttles,
    served: OnceLock<ServedApis>,
    verifier: OnceLock<Box<dyn Verifier>>,
    peers: OnceLock<Arc<dyn Peers>>,
}

impl Broker {
    /// A broker that hosts nothing yet, with its disk threads running.
    pub fn start(
        node_id: i32,
        cluster_id: String,
        options: Options,
        context: Arc<LogContext>,
    ) -> io::Result<Arc<Self>> {
        let events = Arc::new(EventQueue::new()?);
        let threads = Threads::start(&events)?;
        let broker = Self::assemble(Node::new(node_id, cluster_id, options, context, events), threads);
        for i in 0..FLUSH_THREADS {
            broker.start_thread(format!("flush-{i}"), |broker| {
                let failed =
                    |partition: &Arc<Partition>, error: &_| broker.logs.dirs().storage_failed(partition, error);
                broker.threads.flusher().run(failed);
            })?;
        }
        if let Some(descriptors) = broker.context().fs.descriptors() {
            let descriptors = Arc::clone(descriptors);
            broker.start_thread("descriptors".into(), move |_| descriptors.run())?;
        }
        broker.start_thread("reaper".into(), |broker| broker.threads.reaper().run())?;
        broker.start_thread("materialiser".into(), |broker| {
            let failed = |partition: &Arc<Partition>, error: &_| broker.logs.dirs().storage_failed(partition, error);
            broker.threads.materialiser().run(failed);
        })?;
        for i in 0..broker.options().replica_alter_log_dirs_threads.max(1) {
            broker.start_thread(format!("mover-{i}"), |broker| broker.logs.moves().run())?;
        }
        Ok(broker)
    }

    /// As [`Self::start`], without threads: a simulation does their work when it chooses to.
    pub fn without_threads(
        node_id: i32,
        cluster_id: String,
        options: Options,
        context: Arc<LogContext>,
    ) -> io::Result<Arc<Self>> {
        let node = Node::new(node_id, cluster_id, options, context, Arc::new(EventQueue::new()?));
        Ok(Self::assemble(node, Threads::none()))
    }

    fn assemble(node: Arc<Node>, threads: Arc<Threads>) -> Arc<Self> {
        let options = node.options();
        let throttle = || Throttle::new(options.replication_quota.samples, options.replication_quota.sample);
        let fetchers = Arc::new(Fetchers::default());
        Arc::new(Self {
            logs: Logs::new(&node, &threads, &fetchers),
            node,
            threads,
            fetchers,
            epoch: AtomicI64::new(-1),
            refuses_produces: AtomicBool::new(false),
            apis: ArcSwap::default(),
            features: ArcSwap::default(),
            image: PublishedImage::default(),
            producer_ids: ProducerIds::default(),
            authorizer: Authorizer::default(),
            sessions: SessionCache::new(options.fetch_session_slots, options.fetch_session_bytes),
            parked_rows: Budget::new(MAX_PARKED_ROWS),
            unsent: Budget::new(options.unsent_bytes),
            queued: Budget::new(options.queued_request_bytes),
            control: ControlBudget::new(options.control_bytes),
            quotas: Quotas::new(options.client_quota, Instant::now()),
            connection_rates: ConnectionRates::new(options.client_quota, Instant::now()),
            throttles: Throttles {
                leader: throttle(),
                follower: throttle(),
            },
            served: OnceLock::new(),
            verifier: OnceLock::new(),
            peers: OnceLock::new(),
        })
    }

    fn start_thread(self: &Arc<Self>, name: String, run: impl FnOnce(&Self) + Send + 'static) -> io::Result<()> {
        let broker = Arc::clone(self);
        self.threads.run(self.events(), name, move || run(&broker))
    }

    /// Ends the disk threads after their queues.
    pub fn stop_threads(&self) {
        self.threads.stop();
        self.logs.moves().stop();
        if let Some(descriptors) = self.context().fs.descriptors() {
            descriptors.stop();
        }
        self.threads.join();
    }

    /// This broker's node id.
    pub fn node_id(&self) -> i32 {
        self.node.id()
    }

    /// The cluster's id; see [`Node::cluster_id`].
    pub fn cluster_id(&self) -> String {
        self.node.cluster_id()
    }

    /// File system and clock for logs.
    pub fn context(&self) -> &Arc<LogContext> {
        self.node.context()
    }

    /// The events that the control plane takes.
    pub fn events(&self) -> &Arc<EventQueue> {
        self.node.events()
    }

    /// The options now.
    pub fn options(&self) -> Arc<Options> {
        self.node.options()
    }

    /// Replaces the options.
    pub fn set_options(&self, options: Options) {
        self.node.set_options(options);
    }

    /// Hosted partitions.
    pub fn registry(&self) -> &Registry {
        self.node.registry()
    }

    /// A hosted partition.
    pub fn partition(&self, topic: &str, index: i32) -> Result<Arc<Partition>> {
        self.registry().find(topic, index)
    }

    /// Counters.
    pub fn metrics(&self) -> &Metrics {
        self.node.metrics()
    }

    /// Sends a line to the control plane's log; see [`Node::log`].
    pub fn log(&self, line: &str) {
        self.node.log(line);
    }

    /// The hosted logs and their directories.
    pub fn logs(&self) -> &Logs {
        &self.logs
    }

    /// The threads but those of the network.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// The leaders that this broker fetches from.
    pub fn fetchers(&self) -> &Fetchers {
        &self.fetchers
    }

    /// The brokers, topics and leaders that Metadata answers with.
    pub fn image(&self) -> &PublishedImage {
        &self.image
    }

    /// Ids for new producers.
    pub fn producer_ids(&self) -> &ProducerIds {
        &self.producer_ids
    }

    /// Which client may do what.
    pub fn authorizer(&self) -> &Authorizer {
        &self.authorizer
    }

    /// Fetch sessions.
    pub fn sessions(&self) -> &SessionCache {
        &self.sessions
    }

    /// Partitions that parked fetches wait for, all together.
    pub(crate) fn parked_rows(&self) -> &Arc<Budget> {
        &self.parked_rows
    }

    /// Bytes in memory of answers that clients have not taken yet (`kafkastore.unsent.max.bytes`).
    pub fn unsent(&self) -> &Arc<Budget> {
        &self.unsent
    }

    /// Bytes of requests that are still arriving, or wait for a request thread (`queued.max.request.bytes`).
    pub fn queued(&self) -> &Arc<Budget> {
        &self.queued
    }

    /// Bytes of requests for the control plane (`kafkastore.control.max.bytes`).
    pub fn control(&self) -> &ControlBudget {
        &self.control
    }

    /// What clients may use.
    pub fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// How many connections clients open a second.
    pub fn connection_rates(&self) -> &ConnectionRates {
        &self.connection_rates
    }

    /// How fast replicas that move between brokers are copied.
    pub(crate) fn throttles(&self) -> &Throttles {
        &self.throttles
    }

    /// The APIs of the data plane; set before the first request.
    pub fn served(&self) -> &OnceLock<ServedApis> {
        &self.served
    }

    /// The API with this key; `None` when the data plane does not serve it.
    #[inline]
    pub fn api(&self, key: i16) -> Option<&Arc<dyn Api>> {
        self.served.get()?.find(key)
    }

    /// The way to the transaction coordinators; set before the first request.
    pub fn verifier(&self) -> &OnceLock<Box<dyn Verifier>> {
        &self.verifier
    }

    /// The connections to other brokers; unset while there are none.
    pub fn peers(&self) -> &OnceLock<Arc<dyn Peers>> {
        &self.peers
    }

    /// This life of the broker, as the metadata store numbers it; -1 before it is registered (KIP-903).
    pub fn broker_epoch(&self) -> i64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Sets the broker epoch, once the broker is registered.
    pub fn set_broker_epoch(&self, epoch: i64) {
        self.epoch.store(epoch, Ordering::Release);
    }

    /// Refuses clients' produces from now on, before any of their batches is appended: this broker is about to give its
    /// leaderships away. Produces that wait for followers go on waiting.
    pub fn refuse_produces(&self) {
        self.refuses_produces.store(true, Ordering::Release);
    }

    /// See [`Self::refuse_produces`].
    pub fn has_refused_produces(&self) -> bool {
        self.refuses_produces.load(Ordering::Acquire)
    }

    /// The number of produces that were appended and wait for followers or a flush, counted once for each partition.
    pub fn waiting_produces(&self) -> usize {
        let topics = self.registry().snapshot();
        let partitions = topics.iter().flat_map(|topic| topic.partitions());
        partitions.map(|one| one.waiters().len(WaitKind::Produce)).sum()
    }

    /// The APIs served.
    pub fn apis(&self) -> Guard<Arc<ApiTable>> {
        self.apis.load()
    }

    /// Publishes the APIs served.
    pub fn publish_apis(&self, table: ApiTable) {
        self.apis.store(Arc::new(table));
    }

    /// The finalized features.
    pub fn features(&self) -> Guard<Arc<FinalizedFeatures>> {
        self.features.load()
    }

    /// The finalized level of `transaction.version`; before features are published the highest level.
    pub fn transaction_version(&self) -> i16 {
        self.features.load().level(TRANSACTION_VERSION).unwrap_or(2)
    }

    /// Publishes the finalized features.
    pub fn publish_features(&self, features: FinalizedFeatures) {
        self.features.store(Arc::new(features));
    }

    /// Asks the control plane to change the in-sync set.
    pub(crate) fn propose(&self, partition: &Partition, proposal: Proposal) {
        self.events().push(Event::IsrChange {
            topic: Arc::clone(partition.topic()),
            index: partition.index(),
            proposal,
        });
    }

    /// Proposes to remove the followers that lag from the in-sync set, for every partition that this broker leads.
    pub fn shrink_isrs(&self, now: Instant) {
        for partition in self.registry().online_partitions() {
            if let Some(proposal) = partition.propose_leaving(now) {
                self.propose(&partition, proposal);
            }
        }
    }
}
