//! [`Broker`]: everything that the data plane shares between its threads.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;

use crate::attached::Attached;
use crate::logs::cleaner::Cleaner;
use crate::logs::corrupt_said::CorruptSaid;
use crate::logs::losses::Losses;
use crate::logs::stale_rows::StaleRows;
use crate::metrics::Metrics;
use crate::partition::FutureLog;
use crate::published::image::PublishedImage;
use crate::published::options::{Options, QuotaWindow};
use crate::published::producer_ids::ProducerIds;
use crate::published::registry::{Registry, TopicId};
use crate::replication::fetchers::Fetchers;
use crate::replication::peers::Peers;
use crate::replication::throttle::{Throttle, Throttles};
use crate::requests::authorization::Authorizer;
use crate::requests::budget::{Budget, ControlBudget};
use crate::requests::fetch_session::SessionCache;
use crate::requests::quotas::{ConnectionRates, Quotas};
use crate::requests::verifier::Verifier;
use crate::requests::waiters::WaitKind;
use crate::threads::events::{Event, EventQueue};
use crate::threads::flusher::Flusher;
use crate::threads::guard::guarded;
use crate::threads::materialiser::Materialiser;
use crate::threads::mover::Mover;
use crate::threads::reaper::Reaper;
use crate::threads::workers::Workers;
use protocol::{ApiTable, FinalizedFeature, TRANSACTION_VERSION};
use storage::log_dir::LogDir;
use storage::{LogContext, TopicPartition};

/// Threads that flush: one waits on the disk while the other prepares.
const FLUSH_THREADS: usize = 2;
/// Partitions that all parked fetches together may wait for; each takes some 120 bytes.
const MAX_PARKED_ROWS: usize = 1 << 18;
/// One thread for this many cores serves the produces that a network loop leaves; the other cores are for the loops.
const CORES_OF_A_PRODUCE_THREAD: usize = 2;
/// Threads that adopt the segments of bulk loads: while one waits for the disk, another one reads.
const MIN_LOAD_THREADS: usize = 2;
/// Characters of a log line that clients cause.
const LOG_LINE_CHARS: usize = 400;
/// Log lines a second at most; the rest are counted.
const LOG_LINES_PER_SECOND: u32 = 20;

/// Threads for the disk; a disk gains little from more requests at once than this.
const DISK_THREADS: usize = 2;
/// Threads for reading requests of many rows: each may take tens of megabytes, so they are served one after the other.
const READ_THREADS: usize = 1;

/// See [`Broker::request_threads`]. Requests that write do not wait for requests that read.
pub struct RequestThreads {
    /// Produces that have inflated few bytes.
    pub produce: Workers,
    /// The rest of produces that inflate many bytes. The operating system shares the cores between these threads and
    /// the others.
    pub inflate: Workers,
    /// Fetches, lookups of offsets, Metadata.
    pub read: Workers,
    /// Bulk loads, which are read whole before they are adopted.
    pub load: Workers,
}

/// Limits how many log lines clients can cause.
struct LogLimit {
    since: Instant,
    lines: u32,
}

/// The feature levels that the cluster has agreed on (KIP-584).
#[derive(Debug)]
pub struct FinalizedFeatures {
    /// Grows with each change; -1 before the features are published.
    pub epoch: i64,
    /// The features.
    pub levels: Vec<FinalizedFeature>,
}

impl Default for FinalizedFeatures {
    fn default() -> Self {
        Self {
            epoch: -1,
            levels: Vec::new(),
        }
    }
}

impl FinalizedFeatures {
    fn level(&self, name: &str) -> Option<i16> {
        let found = self.levels.iter().find(|feature| feature.name == name);
        found.map(|feature| feature.level)
    }
}

/// See the module. Its parts are public for the crate's upper layers; each part does its own locking.
pub struct Broker {
    /// This broker's node id.
    pub node_id: i32,
    cluster_id: ArcSwap<String>,
    /// See [`Self::broker_epoch`].
    epoch: AtomicI64,
    /// See [`Self::refuse_produces`].
    refuses_produces: AtomicBool,
    /// Hosted partitions.
    pub registry: Registry,
    /// The brokers, topics and leaders that Metadata answers with.
    pub image: PublishedImage,
    /// Ids for new producers.
    pub producer_ids: ProducerIds,
    /// Which client may do what.
    pub authorizer: Authorizer,
    /// Fetch sessions.
    pub sessions: SessionCache,
    /// Partitions that parked fetches wait for, all together.
    pub(crate) parked_rows: Arc<Budget>,
    /// Bytes in memory of answers that clients have not taken yet (`kafkastore.unsent.max.bytes`).
    pub unsent: Arc<Budget>,
    /// Bytes of requests that are still arriving, or wait for a request thread (`queued.max.request.bytes`).
    pub queued: Arc<Budget>,
    /// Bytes of requests for the control plane (`kafkastore.control.max.bytes`).
    pub control: ControlBudget,
    /// The events that the control plane takes.
    pub events: Arc<EventQueue>,
    /// The leaders that this broker fetches from.
    pub fetchers: Fetchers,
    /// Group commit.
    pub flusher: Flusher,
    /// Deletion in the background.
    pub reaper: Reaper,
    /// Writes new logs to disk in the background.
    pub materialiser: Materialiser,
    /// Compaction.
    pub cleaner: Cleaner,
    /// Moves between log directories in the background.
    pub mover: Mover,
    /// Future logs of an earlier run whose partition is not hosted yet.
    pub(crate) loose_futures: Mutex<Vec<(TopicPartition, TopicId, Arc<FutureLog>)>>,
    /// Disk threads.
    pub workers: Workers,
    /// Threads for requests that are too much for a network loop.
    pub request_threads: RequestThreads,
    /// What clients may use.
    pub quotas: Quotas,
    /// How many connections clients open a second.
    pub connection_rates: ConnectionRates,
    /// How fast replicas that move are copied.
    pub(crate) throttles: Throttles,
    /// Counters.
    pub metrics: Metrics,
    /// File system and clock for logs.
    pub context: Arc<LogContext>,
    /// Open log directories.
    pub(crate) log_dirs: Mutex<Vec<LogDir>>,
    /// Rows of deleted logs that the checkpoint files may still have.
    pub(crate) stale_rows: StaleRows,
    pub(crate) unclean_log_dirs: Mutex<Vec<PathBuf>>,
    /// What the start found missing.
    pub(crate) losses: Mutex<Losses>,
    options: ArcSwap<Options>,
    apis: ArcSwap<ApiTable>,
    features: ArcSwap<FinalizedFeatures>,
    failed_dirs: Mutex<HashSet<PathBuf>>,
    log_limit: Mutex<LogLimit>,
    /// When a shortage of descriptors or memory was last logged.
    pub(crate) shortage_said: Mutex<Option<Instant>>,
    pub(crate) corrupt_said: Mutex<CorruptSaid>,
    /// The state of the coordinators above.
    pub coordinators: Attached,
    /// The way to the transaction coordinators; set before the first request.
    pub verifier: OnceLock<Box<dyn Verifier>>,
    /// The connections to other brokers; unset while there are none.
    pub peers: OnceLock<Arc<dyn Peers>>,
    disk_threads: Mutex<Vec<JoinHandle<()>>>,
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
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let produce_threads = (cores / CORES_OF_A_PRODUCE_THREAD).max(1);
        let threads = (
            Workers::start(&events, "disk", DISK_THREADS)?,
            RequestThreads {
                produce: Workers::start(&events, "produce", produce_threads)?,
                inflate: Workers::start(&events, "inflate", produce_threads)?,
                read: Workers::start(&events, "read", READ_THREADS)?,
                load: Workers::start(&events, "load", produce_threads.max(MIN_LOAD_THREADS))?,
            },
        );
        let broker = Arc::new(Self::assemble(node_id, cluster_id, options, context, events, threads));
        for i in 0..FLUSH_THREADS {
            broker.start_thread(format!("flush-{i}"), |broker| {
                broker
                    .flusher
                    .run(|partition, error| broker.storage_failed(partition, error));
            })?;
        }
        if let Some(descriptors) = broker.context.fs.descriptors() {
            let descriptors = Arc::clone(descriptors);
            broker.start_thread("descriptors".into(), move |_| descriptors.run())?;
        }
        broker.start_thread("reaper".into(), |broker| broker.reaper.run())?;
        broker.start_thread("materialiser".into(), |broker| {
            broker
                .materialiser
                .run(|partition, error| broker.storage_failed(partition, error));
        })?;
        for i in 0..broker.options().replica_alter_log_dirs_threads.max(1) {
            broker.start_thread(format!("mover-{i}"), |broker| {
                broker
                    .mover
                    .run(|| broker.pause_of_moves(Instant::now()), |one| broker.move_on(one));
            })?;
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
        let events = Arc::new(EventQueue::new()?);
        let request_threads = RequestThreads {
            produce: Workers::none(),
            inflate: Workers::none(),
            read: Workers::none(),
            load: Workers::none(),
        };
        let threads = (Workers::none(), request_threads);
        Ok(Arc::new(Self::assemble(
            node_id, cluster_id, options, context, events, threads,
        )))
    }

    /// Releases the locks of the log directories, as the death of the process does.
    pub fn abandon(&self) {
        self.log_dirs.lock().clear();
    }

    fn assemble(
        node_id: i32,
        cluster_id: String,
        options: Options,
        context: Arc<LogContext>,
        events: Arc<EventQueue>,
        (workers, request_threads): (Workers, RequestThreads),
    ) -> Self {
        let throttle = |window: QuotaWindow| Throttle::new(window.samples, window.sample);
        Self {
            node_id,
            cluster_id: ArcSwap::from_pointee(cluster_id),
            epoch: AtomicI64::new(-1),
            refuses_produces: AtomicBool::new(false),
            registry: Registry::default(),
            image: PublishedImage::default(),
            producer_ids: ProducerIds::default(),
            authorizer: Authorizer::default(),
            sessions: SessionCache::new(options.fetch_session_slots, options.fetch_session_bytes),
            parked_rows: Budget::new(MAX_PARKED_ROWS),
            unsent: Budget::new(options.unsent_bytes),
            queued: Budget::new(options.queued_request_bytes),
            control: ControlBudget::new(options.control_bytes),
            fetchers: Fetchers::default(),
            flusher: Flusher::default(),
            reaper: Reaper::default(),
            materialiser: Materialiser::default(),
            cleaner: Cleaner::default(),
            mover: Mover::default(),
            loose_futures: Mutex::default(),
            workers,
            request_threads,
            quotas: Quotas::new(options.client_quota, Instant::now()),
            connection_rates: ConnectionRates::new(options.client_quota, Instant::now()),
            throttles: Throttles {
                leader: throttle(options.replication_quota),
                follower: throttle(options.replication_quota),
                log_dirs: throttle(options.alter_log_dirs_quota),
            },
            metrics: Metrics::default(),
            events,
            context,
            log_dirs: Mutex::default(),
            stale_rows: StaleRows::default(),
            unclean_log_dirs: Mutex::default(),
            losses: Mutex::default(),
            options: ArcSwap::from_pointee(options),
            apis: ArcSwap::default(),
            features: ArcSwap::default(),
            failed_dirs: Mutex::default(),
            log_limit: Mutex::new(LogLimit {
                since: Instant::now(),
                lines: 0,
            }),
            shortage_said: Mutex::default(),
            corrupt_said: Mutex::default(),
            coordinators: Attached::default(),
            verifier: OnceLock::new(),
            peers: OnceLock::new(),
            disk_threads: Mutex::default(),
        }
    }

    fn start_thread(self: &Arc<Self>, name: String, run: impl FnOnce(&Self) + Send + 'static) -> io::Result<()> {
        let broker = Arc::clone(self);
        let work = move || {
            guarded(&broker.events, || {
                run(&broker);
                Ok(())
            });
        };
        let thread = thread::Builder::new().name(name).spawn(work)?;
        self.disk_threads.lock().push(thread);
        Ok(())
    }

    /// Ends the disk threads after their queues.
    pub fn stop_threads(&self) {
        self.request_threads.produce.stop_at_once();
        self.request_threads.inflate.stop_at_once();
        self.request_threads.read.stop_at_once();
        self.request_threads.load.stop_at_once();
        self.workers.stop();
        self.flusher.stop();
        self.reaper.stop();
        self.materialiser.stop();
        self.mover.stop();
        if let Some(descriptors) = self.context.fs.descriptors() {
            descriptors.stop();
        }
        for thread in self.disk_threads.lock().drain(..) {
            // The thread's guard has reported a panic already.
            let _ = thread.join();
        }
    }

    /// The cluster's id. When none was given at the start, it is empty until it is read from the log directories.
    pub fn cluster_id(&self) -> String {
        String::clone(&self.cluster_id.load())
    }

    pub(crate) fn set_cluster_id(&self, id: &str) {
        self.cluster_id.store(Arc::new(id.to_owned()));
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
        let topics = self.registry.snapshot();
        let partitions = topics.iter().flat_map(|topic| topic.partitions());
        partitions.map(|one| one.waiters().len(WaitKind::Produce)).sum()
    }

    /// The options now.
    pub fn options(&self) -> Arc<Options> {
        self.options.load_full()
    }

    /// Replaces the options.
    pub fn set_options(&self, options: Options) {
        self.options.store(Arc::new(options));
    }

    /// The APIs served.
    pub fn apis(&self) -> Guard<Arc<ApiTable>> {
        self.apis.load()
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

    /// Publishes the APIs served.
    pub fn publish_apis(&self, table: ApiTable) {
        self.apis.store(Arc::new(table));
    }

    /// Sends a line to the control plane's log, unless this second has had too many lines. A long line is cut and
    /// control characters are escaped, since a line may contain text of clients.
    pub fn log(&self, line: &str) {
        let line = &printable(line, LOG_LINE_CHARS);
        let mut limit = self.log_limit.lock();
        if limit.since.elapsed() >= Duration::from_secs(1) {
            if limit.lines > LOG_LINES_PER_SECOND {
                let dropped = limit.lines - LOG_LINES_PER_SECOND;
                self.events.push(Event::Log(format!(
                    "{dropped} more lines of the last second are left out"
                )));
            }
            *limit = LogLimit {
                since: Instant::now(),
                lines: 0,
            };
        }
        limit.lines += 1;
        if limit.lines <= LOG_LINES_PER_SECOND {
            self.events.push(Event::Log(line.to_owned()));
        }
    }

    /// Takes a log directory offline after a storage failure; the others go on. The control plane gets one event for
    /// each directory.
    pub fn fail_log_dir(&self, log_dir: &Path, reason: &str) {
        if !self.failed_dirs.lock().insert(log_dir.to_path_buf()) {
            return;
        }
        for topic in self.registry.snapshot().iter() {
            for partition in topic.partitions() {
                if *partition.log_dir() == log_dir {
                    partition.set_offline();
                }
                if partition.future().is_some_and(|future| future.log_dir() == log_dir) {
                    partition.abandon_future();
                }
            }
        }
        self.events.push(Event::LogDirFailed {
            log_dir: log_dir.to_path_buf(),
            reason: reason.to_owned(),
        });
    }

    /// The log directories that failed.
    pub fn failed_log_dirs(&self) -> Vec<PathBuf> {
        self.failed_dirs.lock().iter().cloned().collect()
    }

    /// Whether a log directory failed.
    pub fn is_failed(&self, log_dir: &Path) -> bool {
        self.failed_dirs.lock().contains(log_dir)
    }
}

/// A line of at most `most` characters, none of which moves a terminal's cursor or begins another line.
pub(crate) fn printable(line: &str, most: usize) -> String {
    let mut text = String::with_capacity(line.len().min(most));
    for (at, character) in line.chars().enumerate() {
        if at == most {
            text.push('…');
            break;
        }
        if character.is_control() {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
    text
}
