//! Requests of this broker's coordinators to other brokers: a thread and a connection for each broker and channel,
//! begun with the first request.
//!
//! A request that cannot be sent, or whose answer does not come, is answered with nothing at once; who asked decides
//! whether to ask again. A connection that was idle may have been closed by the other broker: then the request goes
//! over another connection, once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::broker_connection::{BrokerConnection, Sockets};
use super::to_brokers::ToBrokers;
use broker::{Ask, Broker, Channel, Peers, Then, guarded};
use client::Limits;

/// The times after which a broker counts as not reached: who asks waits for less.
const LIMITS: Limits = Limits {
    connect: Duration::from_secs(2),
    socket: Duration::from_secs(5),
};

/// The requests to one broker on one channel.
#[derive(Default)]
struct PeerLink {
    queue: Mutex<PeerQueue>,
    signal: Condvar,
}

#[derive(Default)]
struct PeerQueue {
    /// Those that were sent first are first.
    requests: VecDeque<PeerRequest>,
    is_stopped: bool,
}

struct PeerRequest {
    not_before: Instant,
    ask: Ask,
    then: Then,
}

/// See the module.
pub(super) struct BrokerPeers {
    broker: Weak<Broker>,
    sockets: Arc<Sockets>,
    links: Mutex<HashMap<(Channel, i32), Arc<PeerLink>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl BrokerPeers {
    /// No connection yet.
    pub(super) fn new(broker: &Arc<Broker>, to_brokers: Arc<ToBrokers>) -> Self {
        Self {
            broker: Arc::downgrade(broker),
            sockets: Arc::new(Sockets::new(to_brokers)),
            links: Mutex::default(),
            threads: Mutex::default(),
        }
    }

    /// Ends all threads; the requests that are left are answered with nothing.
    pub(super) fn stop(&self) {
        self.sockets.stop();
        for link in self.links.lock().values() {
            link.queue.lock().is_stopped = true;
            link.signal.notify_one();
        }
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // The thread's guard has reported a panic.
            let _ = thread.join();
        }
    }

    fn link(&self, channel: Channel, node_id: i32) -> Option<Arc<PeerLink>> {
        let mut links = self.links.lock();
        if self.sockets.is_stopped() {
            return None;
        }
        if let Some(link) = links.get(&(channel, node_id)) {
            return Some(Arc::clone(link));
        }
        let (broker, link) = (self.broker.upgrade()?, Arc::new(PeerLink::default()));
        let (sockets, own) = (Arc::clone(&self.sockets), Arc::clone(&link));
        let builder = match channel {
            Channel::Transactions => thread::Builder::new().name(format!("txn-{node_id}")),
            Channel::Markers => thread::Builder::new().name(format!("markers-{node_id}")),
        };
        let work = move || {
            let events = Arc::clone(broker.events());
            guarded(&events, || {
                own.run(&broker, channel, node_id, &sockets);
                Ok(())
            });
        };
        let thread = builder.spawn(work).ok()?;
        self.threads.lock().push(thread);
        links.insert((channel, node_id), Arc::clone(&link));
        Some(link)
    }
}

impl Peers for BrokerPeers {
    fn send(&self, channel: Channel, node_id: i32, ask: Ask, then: Then) {
        self.send_later(Duration::ZERO, channel, node_id, ask, then);
    }

    fn send_later(&self, pause: Duration, channel: Channel, node_id: i32, ask: Ask, then: Then) {
        let Some(link) = self.link(channel, node_id) else {
            return then(None);
        };
        let refused = {
            let mut queue = link.queue.lock();
            if queue.is_stopped {
                Some(then)
            } else {
                queue.requests.push_back(PeerRequest {
                    not_before: Instant::now() + pause,
                    ask,
                    then,
                });
                None
            }
        };
        link.signal.notify_one();
        if let Some(then) = refused {
            then(None);
        }
    }
}

impl PeerLink {
    fn next(&self) -> Option<PeerRequest> {
        let mut queue = self.queue.lock();
        loop {
            if queue.is_stopped {
                return None;
            }
            let now = Instant::now();
            if let Some(at) = queue.requests.iter().position(|request| request.not_before <= now) {
                return queue.requests.remove(at);
            }
            match queue.requests.iter().map(|request| request.not_before).min() {
                Some(at) => drop(self.signal.wait_until(&mut queue, at)),
                None => self.signal.wait(&mut queue),
            }
        }
    }

    fn run(&self, broker: &Broker, channel: Channel, node_id: i32, sockets: &Sockets) {
        let kind = match channel {
            Channel::Transactions => "txn",
            Channel::Markers => "markers",
        };
        let client_id = format!("broker-{}-{kind}", broker.node_id());
        let mut connection = BrokerConnection::new(node_id, client_id, sockets);
        let mut has_failed = false;
        while let Some(PeerRequest { ask, then, .. }) = self.next() {
            let was_open = connection.is_open();
            let mut answered = connection.exchange(broker, &ask, LIMITS);
            if answered.is_err() && was_open && !sockets.is_stopped() {
                connection.close();
                answered = connection.exchange(broker, &ask, LIMITS);
            }
            match answered {
                Ok(body_at) => {
                    has_failed = false;
                    then(Some(connection.body(body_at)));
                }
                Err(error) => {
                    connection.close();
                    if !std::mem::replace(&mut has_failed, true) && !sockets.is_stopped() {
                        broker.log(&format!("broker {node_id} cannot be asked about transactions: {error}"));
                    }
                    then(None);
                }
            }
        }
        let left = std::mem::take(&mut self.queue.lock().requests);
        for request in left {
            (request.then)(None);
        }
    }
}

#[cfg(test)]
#[path = "peers_tests.rs"]
mod tests;
