//! The connections to other brokers, as a simulation has them: it takes each request, carries it to the other broker,
//! and brings the answer. Nothing is sent here, and nothing is retried.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::PeerRequest;
use broker::{Ask, Channel, Peers, Then};

#[derive(Default)]
struct OpenPeerRequests {
    last_token: u64,
    /// Requests that were not taken yet.
    queue: Vec<(u64, Channel, i32, Ask)>,
    /// What happens with the answer of each request.
    then: HashMap<u64, Then>,
}

/// See the module.
#[derive(Default)]
pub struct SimulatedPeers(Mutex<OpenPeerRequests>);

impl Peers for SimulatedPeers {
    fn send(&self, channel: Channel, node_id: i32, ask: Ask, then: Then) {
        let mut requests = self.0.lock();
        requests.last_token += 1;
        let token = requests.last_token;
        requests.queue.push((token, channel, node_id, ask));
        requests.then.insert(token, then);
    }

    /// At once: the simulated network delays every request.
    fn send_later(&self, _pause: Duration, channel: Channel, node_id: i32, ask: Ask, then: Then) {
        self.send(channel, node_id, ask, then);
    }
}

impl SimulatedPeers {
    /// Whether there are requests to take.
    pub fn has_requests(&self) -> bool {
        !self.0.lock().queue.is_empty()
    }

    /// The requests since the last call, in order.
    pub fn take(&self, py: Python<'_>) -> Vec<PeerRequest> {
        let queue = std::mem::take(&mut self.0.lock().queue);
        let row = |(token, channel, node_id, ask)| {
            let ask: Ask = ask;
            let body = PyBytes::new(py, &ask.body).unbind();
            let is_marker = channel == Channel::Markers;
            (token, is_marker, node_id, ask.api_key, ask.api_version, body)
        };
        queue.into_iter().map(row).collect()
    }

    /// The answer to a request; `None` when it was lost.
    pub fn answered(&self, token: u64, body: Option<&[u8]>) {
        let then = self.0.lock().then.remove(&token);
        if let Some(then) = then {
            then(body);
        }
    }

    /// Drops all requests, as when the process dies.
    pub fn forget(&self) {
        let dropped = std::mem::take(&mut *self.0.lock());
        drop(dropped); // without the lock: what hears of an answer may hold these connections
    }
}
