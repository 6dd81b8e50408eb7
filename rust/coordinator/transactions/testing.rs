//! A broker that coordinates every transactional id and every group, for unit tests: `__transaction_state` has two
//! partitions, `__consumer_offsets` one, topic `t` four. Requests and answers are encoded as on the wire.
//!
//! A topic that the test names has a second replica, [`FOLLOWER`], whose fetch moves the high watermark. The thread of
//! `Ends` does not run: a test calls [`World::work`]. Requests to other brokers are kept until the test answers them.

mod log;
mod wire;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::expiry::Schedule;
pub use super::table::Producer;
use super::{CoordinatorVerifier, STATE_TOPIC, Transaction, TransactionState, Transactions, describe};
use crate::{Coordinators, Groups, Here, OFFSETS_TOPIC, apis, load as load_groups};
use ::io::{FaultFileSystem, ManualClock, OsFileSystem};
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use broker::testing::{Calls, NODE, START_MS, give, lease, row};
use broker::{
    Ask, Attempt, BodyTail, Broker, Channel, ClientInfo, Delayed, Event, Executor, FollowerFetch, Options, Partition,
    Peers, Request, Scratch, Served, ServedApis, Then, TopicRow, Tried, Waiter, go_on_waiting, start_waiting,
};
use protocol::WireError;
use storage::log_loader::LoadProgress;
use storage::{LogConfig, LogContext, ProducerStateConfig};

pub use log::{LoggedMarker, home_of};
pub use wire::{
    Claimed, Member, NO_MEMBER, add_body, add_offsets_body, add_rows, added_many, answer_added, answer_markers,
    claimed, init_body, marker_codes, markers_body, txn_commit_body,
};

/// The second replica of replicated topics.
pub const FOLLOWER: i32 = 2;
/// The first producer id that the broker gives out.
pub const FIRST_PRODUCER_ID: i64 = 1000;
/// The timeout of the producers' transactions.
pub const TIMEOUT_MS: i32 = 60_000;

/// See the module.
pub struct World {
    pub broker: Arc<Broker>,
    pub coordinators: Arc<Coordinators>,
    pub clock: Arc<ManualClock>,
    pub faults: FaultFileSystem,
    pub peers: Arc<TestPeers>,
    pub now: Instant,
    schedule: Mutex<Schedule>,
    dir: tempfile::TempDir,
}

impl World {
    /// A world in which this broker is the only replica of all partitions.
    pub fn new() -> Self {
        Self::replicated(&[])
    }

    /// A world in which the partitions of these topics have two replicas, both in sync.
    pub fn replicated(topics: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (faults, clock) = (
            FaultFileSystem::new(Arc::new(OsFileSystem)),
            Arc::new(ManualClock::new(START_MS)),
        );
        let context = LogContext {
            fs: Arc::new(faults.clone()),
            clock: clock.clone(),
            producers: ProducerStateConfig {
                is_transaction_verification_enabled: true,
                ..ProducerStateConfig::default()
            },
        };
        let broker = Broker::start(NODE, "unit".to_owned(), Options::default(), Arc::new(context)).unwrap();
        let dirs = [dir.path().to_path_buf()];
        broker
            .logs()
            .open(&dirs, &HashMap::new(), &LoadProgress::default())
            .unwrap();
        let (peers, now) = (Arc::new(TestPeers::default()), Instant::now());
        let coordinators = Arc::<Coordinators>::default();
        let verifier = CoordinatorVerifier(Arc::clone(&coordinators));
        assert!(broker.verifier().set(Box::new(verifier)).is_ok());
        let served = ServedApis::new(apis(&coordinators));
        assert!(broker.served().set(served).is_ok());
        assert!(broker.peers().set(peers.clone()).is_ok());
        broker.image().publish_cluster(Vec::new(), NODE);
        broker.producer_ids().add(FIRST_PRODUCER_ID, FIRST_PRODUCER_ID + 999);
        let world = Self {
            schedule: Mutex::new(Schedule::new(now)),
            broker,
            coordinators,
            clock,
            faults,
            peers,
            now,
            dir,
        };
        for (topic, id, partitions) in [(STATE_TOPIC, 8, 2), (OFFSETS_TOPIC, 9, 1), ("t", 3, 4)] {
            let replicas: &[i32] = if topics.contains(&topic) {
                &[NODE, FOLLOWER]
            } else {
                &[NODE]
            };
            world.create(topic, [id; 16], partitions, replicas);
        }
        world.load_groups();
        world.load();
        world.work();
        world
    }

    fn create(&self, topic: &str, id: [u8; 16], partitions: i32, replicas: &[i32]) {
        let config = Arc::new(LogConfig::default());
        let placed: Vec<(i32, PathBuf)> = (0..partitions).map(|i| (i, self.dir.path().to_path_buf())).collect();
        let errors = self.broker.logs().create(topic, id, &config, &placed);
        assert!(errors.iter().all(Option::is_none), "{errors:?}");
        let leases = (0..partitions).map(|i| (i, lease(0, replicas, replicas))).collect();
        self.broker.logs().publish_leases(topic, leases, self.now);
        self.broker.image().publish_topics(vec![row(topic, id, partitions)]);
    }

    pub fn transactions(&self) -> &Transactions {
        &self.coordinators.transactions
    }

    pub fn groups(&self) -> &Groups {
        &self.coordinators.groups
    }

    pub fn here(&self) -> Here<'_> {
        self.coordinators.on(&self.broker)
    }

    pub fn partition(&self, topic: &str, index: i32) -> Arc<Partition> {
        self.broker.partition(topic, index).unwrap()
    }

    /// Loads both partitions of `__transaction_state`, as after an election.
    pub fn load(&self) {
        for index in 0..2 {
            self.begin(index);
        }
    }

    /// Loads a partition of `__transaction_state` and serves its transactions.
    pub fn begin(&self, index: i32) -> super::LoadedTransactions {
        let transactions = self.transactions();
        let number = transactions.homes.begin(&self.broker, index).unwrap();
        let loaded = super::load(&self.broker, transactions, index, number).unwrap();
        self.here().activate_transactions(index, number);
        loaded.unwrap()
    }

    /// Loads the groups, as after an election.
    pub fn load_groups(&self) {
        let groups = self.groups();
        let number = groups.homes.begin(&self.broker, 0).unwrap();
        load_groups(&self.broker, groups, 0, number).unwrap().unwrap();
        groups.homes.activate(0, number);
    }

    // ---- replicas and leaders

    /// The follower fetches from the end of the log: the high watermark is there.
    pub fn replicate(&self, topic: &str, index: i32) {
        let end = self.partition(topic, index).offsets().log_end();
        self.replicate_to(topic, index, end);
    }

    /// The follower fetches from this offset.
    pub fn replicate_to(&self, topic: &str, index: i32, log_end: Offset) {
        let fetch = FollowerFetch {
            node_id: FOLLOWER,
            broker_epoch: -1,
            leader_epoch: LeaderEpoch::NONE,
            log_start: Offset(0),
            log_end,
        };
        let _ = self.partition(topic, index).note_follower(fetch, Instant::now());
    }

    /// The in-sync set of a replicated partition shrinks to this broker, or grows to both replicas.
    pub fn set_in_sync(&self, topic: &str, index: i32, in_sync: &[i32]) {
        give(
            &self.partition(topic, index),
            Some(lease(0, &[NODE, FOLLOWER], in_sync)),
        );
    }

    /// This broker leads a partition in this leader epoch, alone.
    pub fn lead(&self, topic: &str, index: i32, leader_epoch: i32) {
        give(
            &self.partition(topic, index),
            Some(lease(leader_epoch, &[NODE], &[NODE])),
        );
        self.publish_leader(topic, index, NODE);
    }

    /// Another broker leads a partition from now on.
    pub fn move_away(&self, topic: &str, index: i32, leader: i32, leader_epoch: i32) {
        give(
            &self.partition(topic, index),
            Some(lease(leader_epoch, &[leader, NODE], &[leader, NODE])),
        );
        self.publish_leader(topic, index, leader);
    }

    /// Publishes a partition's leader in the image; -1 for none.
    pub fn publish_leader(&self, topic: &str, index: i32, leader: i32) {
        let before = Arc::clone(self.broker.image().load().topic(topic).unwrap());
        let mut partition = before.partition(index).unwrap().clone();
        partition.leader = leader;
        self.broker.image().publish_topics(vec![TopicRow {
            partitions: vec![partition],
            ..TopicRow::clone(&before)
        }]);
    }

    // ---- time and work

    /// Time goes on, also for the wall clock.
    pub fn advance(&mut self, time: Duration) {
        self.now += time;
        self.clock.advance(i64::try_from(time.as_millis()).unwrap());
    }

    /// Does what the thread of `Ends` does when it wakes up. Returns when it would look again.
    pub fn work(&self) -> Instant {
        let ends = &self.transactions().ends;
        ends.work(self.here(), &mut self.schedule.lock(), self.now)
    }

    /// Lines of the broker's log since the last call that contain this text.
    pub fn logged(&self, text: &str) -> usize {
        let events = self.broker.events().take(usize::MAX);
        let has = |event: &&Event| matches!(event, Event::Log(line) if line.contains(text));
        events.iter().filter(has).count()
    }

    // ---- requests

    /// Serves a request of a client, or of a broker.
    pub fn try_serve(
        &self,
        key: i16,
        version: i16,
        body: &[u8],
        is_broker: bool,
        executor: Executor,
    ) -> (Result<Served, WireError>, Vec<u8>) {
        let (mut body, mut out) = (body.to_vec(), Vec::new());
        let client = client(is_broker);
        let request = Request {
            broker: &self.broker,
            version,
            caller: client.caller(),
            body: &mut body,
            scratch: &mut Scratch::default(),
            executor,
            may_hand_over: true,
            now_ms: self.broker.context().clock.now_ms(),
            now: self.now,
        };
        (self.broker.api(key).unwrap().serve(request, &mut out), out)
    }

    /// Serves a request that must be answered, or wait.
    pub fn serve(&self, key: i16, version: i16, body: &[u8], is_broker: bool) -> Reply {
        match self.try_serve(key, version, body, is_broker, Executor::Loop) {
            (Ok(Served::Answered(BodyTail::Nothing)), out) => Reply::Now(out),
            (Ok(Served::Delayed(delayed)), _) => Reply::Later(Waiting::start(self, delayed)),
            _ => panic!("the request is neither answered nor does it wait"),
        }
    }

    pub fn attempt<T>(&self, is_due: bool, act: impl FnOnce(&Attempt<'_>) -> T) -> T {
        let client = client(false);
        act(&Attempt {
            broker: &self.broker,
            caller: client.caller(),
            is_due,
            executor: Executor::Loop,
            now: self.now,
        })
    }

    // ---- what is known

    pub fn describe(&self, transactional_id: &str) -> Result<Transaction, ErrorCode> {
        describe(self.here(), transactional_id)
    }

    pub fn state(&self, transactional_id: &str) -> TransactionState {
        self.describe(transactional_id).unwrap().state
    }

    /// The producer of an id.
    pub fn producer(&self, transactional_id: &str) -> Producer {
        let now = self.describe(transactional_id).unwrap();
        Producer {
            id: now.producer_id,
            epoch: now.producer_epoch,
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.broker.stop_threads();
    }
}

fn client(is_broker: bool) -> ClientInfo {
    ClientInfo {
        is_broker,
        ..ClientInfo::nobody()
    }
}

/// The answer to a request.
pub enum Reply {
    Now(Vec<u8>),
    Later(Waiting),
}

impl Reply {
    /// The answer of a request that must be answered at once.
    pub fn now(self) -> Vec<u8> {
        match self {
            Self::Now(answer) => answer,
            Self::Later(_) => panic!("the request waits"),
        }
    }

    /// The request, which must wait.
    pub fn later(self) -> Waiting {
        match self {
            Self::Now(answer) => panic!("the request is answered: {answer:?}"),
            Self::Later(waiting) => waiting,
        }
    }
}

/// A request that waits, as a network loop keeps it.
pub struct Waiting {
    delayed: Box<dyn Delayed>,
    calls: Arc<Calls>,
}

impl Waiting {
    fn start(world: &World, mut delayed: Box<dyn Delayed>) -> Self {
        let calls = Arc::new(Calls::default());
        let tried = start_waiting(&mut *delayed, &waiter(&calls), &mut |delayed| {
            world.attempt(false, |attempt| delayed.try_complete(attempt, &mut Vec::new()))
        });
        assert!(matches!(tried, Tried::Waits));
        Self { delayed, calls }
    }

    /// The answer, if the request was woken and nothing is left to wait for.
    pub fn answer(&mut self, world: &World) -> Option<Vec<u8>> {
        if std::mem::take(&mut *self.calls.0.lock()).is_empty() {
            return None;
        }
        self.try_again(world, false)
    }

    /// For how long it may wait from now on.
    pub fn patience(&self, world: &World) -> Duration {
        self.delayed.deadline().duration_since(world.now)
    }

    /// The answer of a request that is due.
    pub fn due(mut self, world: &World) -> Vec<u8> {
        self.try_again(world, true).unwrap()
    }

    fn try_again(&mut self, world: &World, is_due: bool) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let tried = go_on_waiting(&mut *self.delayed, &waiter(&self.calls), &mut |delayed| {
            world.attempt(is_due, |attempt| delayed.try_complete(attempt, &mut out))
        });
        match tried {
            Tried::Answered(_) => Some(out),
            Tried::Waits => None,
            _ => panic!("no request of a coordinator goes on elsewhere"),
        }
    }
}

pub fn waiter(calls: &Arc<Calls>) -> Waiter {
    Waiter {
        owner: Arc::clone(calls) as Arc<dyn broker::Wake>,
        operation: 1,
    }
}

/// A request to another broker that is not answered yet.
pub struct Sent {
    pub channel: Channel,
    pub node_id: i32,
    pub ask: Ask,
    /// The pause before it is sent.
    pub pause: Duration,
    then: Then,
}

impl Sent {
    /// Answers with this body.
    pub fn answer(self, body: &[u8]) {
        (self.then)(Some(body));
    }

    /// The connection is lost.
    pub fn lose(self) {
        (self.then)(None);
    }
}

/// Keeps the requests to other brokers.
#[derive(Default)]
pub struct TestPeers(Mutex<Vec<Sent>>);

impl TestPeers {
    /// The requests since the last call.
    pub fn take(&self) -> Vec<Sent> {
        std::mem::take(&mut self.0.lock())
    }

    /// The only request since the last call.
    pub fn take_one(&self) -> Sent {
        let mut sent = self.take();
        assert_eq!(sent.len(), 1);
        sent.remove(0)
    }
}

impl Peers for TestPeers {
    fn send(&self, channel: Channel, node_id: i32, ask: Ask, then: Then) {
        self.send_later(Duration::ZERO, channel, node_id, ask, then);
    }

    fn send_later(&self, pause: Duration, channel: Channel, node_id: i32, ask: Ask, then: Then) {
        let sent = Sent {
            channel,
            node_id,
            ask,
            pause,
            then,
        };
        self.0.lock().push(sent);
    }
}
