//! [`Engine`]: the data plane as the control plane holds it: the broker's state and, once it listens, the network.
//!
//! Every method is one call of `broker` or `server`; no decision is made here.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};

use super::apis::serve_all;
use super::network::ListenerSecurity;
use super::operations::ParkedAppend;
use super::peers::BrokerPeers;
use super::proof::BrokerUsers;
use super::replica_fetchers::ReplicaFetchers;
use super::sasl::credentials::Credentials;
use super::sasl::mechanism::SaslSettings;
use super::server::{ListenerConfig, Server};
use super::tls::context::TlsContext;
use super::to_brokers::ToBrokers;
use base::error::{ErrorCode, Result};
use base::place::Offset;
use broker::{AppendDone, Awaited, Broker, Event, Partition, Peers, guarded};
use client::tls::settings::Settings;
use coordinator::{self, Coordinators, Groups, Here, Removal, Transactions};
use record::Origin;

/// One step of a removal of committed offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovalStep {
    /// Whether tombstones were appended; `AppendDone` reports when they are durable.
    pub has_begun: bool,
    /// Whether offsets are left for another step.
    pub has_more: bool,
    /// Whether the group keeps offsets that are not to be removed.
    pub is_kept: bool,
}

/// See the module.
pub struct Engine {
    broker: Arc<Broker>,
    coordinators: Arc<Coordinators>,
    server: RwLock<Option<Server>>,
    security: Mutex<ListenerSecurity>,
    /// The users of SCRAM.
    credentials: Arc<Credentials>,
    /// How other brokers are reached.
    pub to_brokers: Arc<ToBrokers>,
    fetchers: ReplicaFetchers,
    peers: Arc<BrokerPeers>,
    /// The thread that ends transactions, once this broker coordinates any.
    transactions: Mutex<Option<JoinHandle<()>>>,
}

impl Engine {
    /// An engine that does not listen yet.
    pub fn new(broker: Arc<Broker>) -> Self {
        let coordinators = serve_all(&broker);
        let credentials = Arc::new(Credentials::default());
        let to_brokers: Arc<ToBrokers> = Arc::default();
        Self {
            fetchers: ReplicaFetchers::start(&broker, Arc::clone(&to_brokers)),
            peers: Arc::new(BrokerPeers::new(&broker, Arc::clone(&to_brokers))),
            to_brokers,
            transactions: Mutex::default(),
            coordinators,
            broker,
            server: RwLock::new(None),
            security: Mutex::new(ListenerSecurity {
                tls: HashMap::new(),
                sasl: HashMap::new(),
                credentials: Arc::clone(&credentials),
                broker_users: None,
            }),
            credentials,
        }
    }

    /// The data plane's state.
    pub fn broker(&self) -> &Arc<Broker> {
        &self.broker
    }

    /// The groups that this broker coordinates.
    pub fn groups(&self) -> &Groups {
        &self.coordinators.groups
    }

    /// The transactions that this broker coordinates.
    pub fn transactions(&self) -> &Transactions {
        &self.coordinators.transactions
    }

    /// The broker with what it coordinates.
    pub fn here(&self) -> Here<'_> {
        self.coordinators.on(&self.broker)
    }

    /// Serves the transactions of a load from now on; with the first of them the thread starts that ends transactions.
    ///
    /// # Errors
    /// Of the system, which starts no thread.
    pub fn activate_transactions(&self, index: i32, number: u64) -> std::io::Result<()> {
        let mut running = self.transactions.lock();
        if running.is_none() {
            let (broker, coordinators) = (Arc::clone(&self.broker), Arc::clone(&self.coordinators));
            let work = move || {
                guarded(broker.events(), || {
                    coordinators.on(&broker).run_transactions();
                    Ok(())
                });
            };
            *running = Some(thread::Builder::new().name("txn-ends".into()).spawn(work)?);
        }
        drop(running);
        self.here().activate_transactions(index, number);
        Ok(())
    }

    /// Gives a listener TLS as its `ssl.*` keys say, before it is opened; or renews its certificates, which later
    /// handshakes use. An error is a sentence for the operator, and changes nothing.
    pub fn set_tls(&self, listener: &str, pairs: &HashMap<String, String>) -> Result<(), String> {
        let context = Arc::new(TlsContext::new(&Settings(pairs)).map_err(|e| format!("listener {listener}: {e}"))?);
        match self.security.lock().tls.entry(listener.to_owned()) {
            Entry::Occupied(slot) => slot.get().store(context),
            Entry::Vacant(slot) => {
                slot.insert(Arc::new(ArcSwap::new(context)));
            }
        }
        Ok(())
    }

    /// Lets clients of a listener prove who they are by SASL, before the listener is opened.
    pub fn set_sasl(&self, listener: &str, settings: SaslSettings) {
        let settings = Arc::new(settings);
        self.security.lock().sasl.insert(listener.to_owned(), settings);
    }

    /// Lets these principals act as brokers, before the brokers' listener is opened, where each of its clients proves
    /// who it is.
    pub fn set_broker_users(&self, users: BrokerUsers) {
        self.security.lock().broker_users = Some(users);
    }

    /// Replaces the keys that sign the tokens of a listener, by a JWK set. An error is a sentence for the operator, and
    /// changes nothing.
    pub fn set_token_keys(&self, listener: &str, text: &str) -> Result<usize, String> {
        let settings = self.security.lock().sasl.get(listener).cloned();
        settings.map_or(Ok(0), |settings| settings.bearer.set_keys(text))
    }

    /// How many tokens of a listener named a key that is not known.
    pub fn unknown_token_keys(&self, listener: &str) -> u64 {
        let settings = self.security.lock().sasl.get(listener).cloned();
        settings.map_or(0, |settings| settings.bearer.unknown_keys())
    }

    /// What clients prove themselves with by SCRAM.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Opens the listeners and starts the network threads; returns the bound ports.
    pub fn listen(&self, listeners: &[ListenerConfig]) -> Result<Vec<u16>, String> {
        let server = Server::start(&self.broker, &self.coordinators, listeners, &self.security.lock())?;
        let peers = Arc::clone(&self.peers) as Arc<dyn Peers>;
        let _ = self.broker.peers().set(peers); // an engine listens once
        let ports = server.ports().to_vec();
        *self.server.write() = Some(server);
        Ok(ports)
    }

    /// Stops the replica fetchers, answers the requests in flight for at most `timeout`, and ends the network threads.
    pub fn close_network(&self, timeout: Duration) {
        self.transactions().stop();
        self.fetchers.stop(&self.broker);
        self.peers.stop();
        if let Some(thread) = self.transactions.lock().take() {
            // The thread's guard has reported a panic.
            let _ = thread.join();
        }
        // it stays in its place while it drains: the control plane's answers go through it
        let threads = self.server.write().as_mut().map(|server| server.begin_stop(timeout));
        for thread in threads.into_iter().flatten() {
            // The thread's guard has reported a panic or an error.
            let _ = thread.join();
        }
        self.server.write().take();
    }

    /// Answers requests of the control plane; `None` closes the connection.
    pub fn respond(&self, answers: Vec<(u64, Option<Vec<u8>>)>) {
        if let Some(server) = &*self.server.read() {
            for (token, body) in answers {
                server.answer(token, body);
            }
        }
    }

    /// Counts the time that the control plane has spent on requests; called before they are answered.
    pub fn note_spent(&self, spent: Vec<(u64, Duration)>) {
        if let Some(server) = &*self.server.read() {
            for (token, time) in spent {
                server.note_spent(token, time);
            }
        }
    }

    /// Hands a Metadata request back to be answered from the image.
    pub fn serve_here(&self, token: u64) {
        if let Some(server) = &*self.server.read() {
            server.serve_here(token);
        }
    }

    /// Closes one connection.
    pub fn disconnect(&self, connection_id: u64) {
        if let Some(server) = &*self.server.read() {
            server.disconnect(connection_id);
        }
    }

    /// The control plane's own append, on the same path as a produce. `AppendDone` with `token` follows as
    /// an event.
    pub fn append(&self, token: u64, topic: &str, index: i32, batch: &mut [u8], acks: i16, timeout: Duration) {
        let now_ms = self.broker.context().clock.now_ms();
        let done = match self.try_append(topic, index, batch, acks, now_ms) {
            Err(error) => refused(token, error.code(), error.to_string()),
            Ok((partition, done, awaited)) => {
                return self.end_append(partition, AppendDone { token, ..done }, awaited, timeout);
            }
        };
        self.broker.events().push(Event::AppendDone(done));
    }

    /// Pushes `AppendDone` when the append has reached what `awaited` asks for (replicas, a flush), or after `timeout`.
    fn end_append(&self, partition: Arc<Partition>, done: AppendDone, awaited: Awaited, timeout: Duration) {
        if awaited.is_nothing() {
            return self.broker.events().push(Event::AppendDone(done));
        }
        if let Some(server) = &*self.server.read() {
            let (operation, deadline) = (server.append_number(), Instant::now() + timeout);
            return server.park_append(Box::new(ParkedAppend {
                operation,
                partition,
                awaited,
                deadline,
                done,
            }));
        }
        let message = "the network is closed, so replicas cannot be waited for".to_owned();
        let done = refused(done.token, ErrorCode::REQUEST_TIMED_OUT, message);
        self.broker.events().push(Event::AppendDone(done));
    }

    /// Appends the tombstones of the committed offsets that are to be removed next; when there are any, `AppendDone`
    /// with `token` follows.
    ///
    /// # Errors
    /// The error code for clients of the group.
    pub fn remove_offsets(&self, token: u64, index: i32, removal: &Removal<'_>) -> Result<RemovalStep, ErrorCode> {
        let now_ms = self.broker.context().clock.now_ms();
        let removed = coordinator::remove(&self.broker, self.groups(), index, removal, now_ms)?;
        let removing = RemovalStep {
            has_begun: removed.appended.is_some(),
            has_more: removed.has_more,
            is_kept: removed.is_kept,
        };
        if let Some(appended) = removed.appended {
            let done = AppendDone {
                token,
                code: ErrorCode::NONE,
                base_offset: appended.base_offset,
                last_offset: appended.last_offset,
                log_append_time_ms: -1,
                message: None,
            };
            let timeout = self.groups().settings().commit_timeout;
            self.end_append(appended.partition, done, appended.awaited, timeout);
        }
        Ok(removing)
    }

    fn try_append(
        &self,
        topic: &str,
        index: i32,
        batch: &mut [u8],
        acks: i16,
        now_ms: i64,
    ) -> Result<(Arc<broker::Partition>, AppendDone, Awaited)> {
        let partition = self.broker.partition(topic, index)?;
        let (appended, awaited) = partition
            .append(batch, acks, Origin::Coordinator, now_ms)
            .map_err(|error| self.broker.logs().dirs().append_failed(&partition, error))?;
        if awaited.wants_flush {
            self.broker.threads().flusher().enqueue(&partition);
        }
        let done = AppendDone {
            token: 0,
            code: ErrorCode::NONE,
            base_offset: appended.first_offset,
            last_offset: appended.last_offset,
            log_append_time_ms: appended.log_append_time_ms,
            message: None,
        };
        Ok((partition, done, awaited))
    }

    /// Paths of `log.dirs` that failed so far.
    pub fn failed_log_dirs(&self) -> Vec<PathBuf> {
        self.broker.logs().dirs().failed()
    }
}

fn refused(token: u64, code: ErrorCode, message: String) -> AppendDone {
    AppendDone {
        token,
        code,
        base_offset: Offset::NONE,
        last_offset: Offset::NONE,
        log_append_time_ms: -1,
        message: Some(message),
    }
}
