//! Runs the replica fetchers: a thread and one connection for each broker that this broker follows.
//!
//! A follower waits for one leader's answer at a time. [`ReplicaFetcher`] makes the requests and applies the responses,
//! `broker_connection` sends them; this file has the threads and the pause after a failure.

use std::io::{self, ErrorKind};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::broker_connection::{BrokerConnection, Sockets};
use super::to_brokers::ToBrokers;
use broker::{Broker, Next, ReplicaFetcher, Source, backoff, guarded};
use client::Limits;

/// How long a thread without anything to fetch sleeps at most; a change wakes it.
const IDLE: Duration = Duration::from_mins(1);
/// The threads and their sockets.
struct Running {
    threads: Mutex<Vec<JoinHandle<()>>>,
    sockets: Sockets,
}

/// See the module.
pub(super) struct ReplicaFetchers {
    running: Arc<Running>,
}

impl ReplicaFetchers {
    /// From now on a thread is started for each broker that this broker follows.
    pub(super) fn start(broker: &Arc<Broker>, to_brokers: Arc<ToBrokers>) -> Self {
        let running = Arc::new(Running {
            threads: Mutex::default(),
            sockets: Sockets::new(to_brokers),
        });
        let (weak, shared) = (Arc::downgrade(broker), Arc::clone(&running));
        broker
            .fetchers
            .run_with(Box::new(move |source| spawn(&weak, source, &shared)));
        Self { running }
    }

    /// Ends all threads, whatever they wait for.
    pub(super) fn stop(&self, broker: &Broker) {
        broker.fetchers.stop();
        self.running.sockets.stop();
        let threads = std::mem::take(&mut *self.running.threads.lock());
        for thread in threads {
            // The thread's guard has reported a panic.
            let _ = thread.join();
        }
    }
}

fn spawn(broker: &Weak<Broker>, source: Arc<Source>, running: &Arc<Running>) {
    let Some(broker) = broker.upgrade() else { return };
    let shared = Arc::clone(running);
    let name = format!("fetcher-{}", source.node_id);
    let logger = Arc::clone(&broker);
    let work = move || {
        let events = Arc::clone(&broker.events);
        guarded(&events, || {
            fetch_from(&broker, &source, &shared.sockets);
            Ok(())
        });
    };
    match thread::Builder::new().name(name.clone()).spawn(work) {
        Ok(thread) => running.threads.lock().push(thread),
        Err(error) => logger.log(&format!(
            "thread {name} cannot be started, nothing is replicated: {error}"
        )),
    }
}

fn fetch_from(broker: &Broker, source: &Source, sockets: &Sockets) {
    let mut fetcher = ReplicaFetcher::new(source.node_id);
    let client_id = format!("broker-{}-fetcher-0", broker.node_id);
    let mut connection = BrokerConnection::new(source.node_id, client_id, sockets);
    let mut failures = 0;
    while let Some(changes) = source.take() {
        fetcher.apply(changes);
        let ask = match fetcher.next(broker, Instant::now()) {
            Next::Ask(ask) => ask,
            Next::Idle(until) => {
                source.wait(until.map_or(IDLE, |at| at.saturating_duration_since(Instant::now())));
                continue;
            }
        };
        let options = broker.options();
        let limits = Limits {
            connect: options.connection_setup_timeout,
            socket: options.replica_socket_timeout,
        };
        let outcome = connection.exchange(broker, &ask, limits).and_then(|body_at| {
            let completed = fetcher.complete(broker, connection.body(body_at), Instant::now());
            completed.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
        });
        let Err(error) = outcome else {
            failures = 0;
            continue;
        };
        connection.close();
        fetcher.lost();
        if failures == 0 && !sockets.is_stopped() {
            broker.log(&format!("broker {} cannot be fetched from: {error}", source.node_id));
        }
        source.wait(backoff(&mut failures, broker.options().replica_fetch_backoff));
    }
}
