//! Which new connections are served: by the rates of the broker, the listener and the address, then by how many are
//! open already. Never closes one: the acceptor does.

use std::net::IpAddr;
use std::time::Instant;

use super::Shared;
use broker::{Admission, Entrance, Options};

impl Shared {
    /// Whether brokers have a listener for themselves, and it is this one.
    pub(super) fn is_of_brokers(&self, listener: usize, options: &Options) -> bool {
        let name = self.listeners.get(listener);
        self.listeners.len() > 1 && name.is_some_and(|it| **it == *options.inter_broker_listener)
    }

    /// The first of the sockets that belong to the same listener: a listener on `localhost` may have two.
    pub(super) fn first_socket(&self, listener: usize) -> usize {
        let name = self.listeners.get(listener);
        self.listeners
            .iter()
            .position(|it| Some(it) == name)
            .unwrap_or(listener)
    }

    /// Counts a new connection; `None` when there are too many connections already.
    pub(super) fn admit(&self, ip: IpAddr, listener: usize, now: Instant) -> Option<Admission> {
        let options = self.broker.options();
        let name: &str = self.listeners.get(listener).map_or("", |it| it);
        let is_of_brokers = self.is_of_brokers(listener, &options);
        let entrance = Entrance {
            listener: name,
            listener_rate: options.connections.of_listener(name).creation_rate,
            broker_rate: (!is_of_brokers).then_some(options.connections.creation_rate),
        };
        let admission = self.broker.connection_rates().count(ip, entrance, now);
        if matches!(admission, Admission::Served(_))
            && !self
                .limits
                .admit(ip, (self.first_socket(listener), name), &options.connections)
        {
            return None;
        }
        Some(admission)
    }
}
