//! How many connections clients may open a second: all together, on a listener, from an address (KIP-612).
//!
//! A connection above the rate of its address is closed after a while, and does not count elsewhere. Above the rate of
//! the broker or of its listener, the connection is accepted, and the listener accepts the next one after a while. The
//! listener that brokers use among themselves is not held to the rate of the broker. Connections of the broker and of
//! its listeners are counted without limits, too, for the metrics.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::account::millis;
use super::average::Average;
use super::counter::Counter;
use super::figures::ConnectionFigures;
use super::limits::Sharers;
use super::rate::Rate;
use super::slots::Slots;
use crate::published::options::QuotaWindow;

/// The limits of addresses.
#[derive(Default)]
struct IpLimits {
    by_ip: HashMap<IpAddr, f64>,
    default: Option<f64>,
}

/// A new connection's listener and its limits.
#[derive(Debug, Clone, Copy)]
pub struct Entrance<'a> {
    /// Its name.
    pub listener: &'a str,
    /// New connections a second on the listener.
    pub listener_rate: f64,
    /// New connections a second on all listeners but that of the brokers, where this is `None`.
    pub broker_rate: Option<f64>,
}

/// What becomes of a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is served; the listener accepts the next connection after this time.
    Served(Duration),
    /// Its address opens too many: it is closed after this time.
    Closed(Duration),
}

struct Listener {
    rate: Rate,
    throttled: Average,
    /// Connections above the rate of their address.
    ip_throttled: Average,
}

struct Counters {
    window: QuotaWindow,
    broker: Rate,
    listeners: HashMap<String, Listener>,
}

impl Counters {
    fn listener(&mut self, name: &str) -> &mut Listener {
        let new = || Listener {
            rate: Rate::new(self.window),
            throttled: Average::default(),
            ip_throttled: Average::default(),
        };
        self.listeners.entry(name.to_owned()).or_insert_with(new)
    }
}

/// See the module.
pub struct ConnectionRates {
    limits: ArcSwap<IpLimits>,
    ips: Slots,
    counters: Mutex<Counters>,
    window: QuotaWindow,
    start: Instant,
}

impl ConnectionRates {
    /// Without limits of addresses.
    pub fn new(window: QuotaWindow, start: Instant) -> Self {
        Self {
            limits: ArcSwap::default(),
            ips: Slots::new(Counter::new, window),
            counters: Mutex::new(Counters {
                window,
                broker: Rate::new(window),
                listeners: HashMap::new(),
            }),
            window,
            start,
        }
    }

    /// Replaces the limits of addresses; `None` is for the addresses without a limit of their own.
    pub fn publish(&self, rows: Vec<(Option<IpAddr>, f64)>) {
        let mut limits = IpLimits::default();
        for (ip, limit) in rows {
            match ip {
                Some(ip) => drop(limits.by_ip.insert(ip.to_canonical(), limit)),
                None => limits.default = Some(limit),
            }
        }
        self.limits.store(Arc::new(limits));
    }

    /// Counts a new connection.
    pub fn count(&self, ip: IpAddr, entrance: Entrance<'_>, now: Instant) -> Admission {
        let now_ms = millis(self.start, now);
        let of_ip = self.bounded(self.throttle_time_ms_of(ip, now_ms));
        let mut counters = self.counters.lock();
        if !of_ip.is_zero() {
            let listener = counters.listener(entrance.listener);
            listener.ip_throttled.add(as_millis(of_ip), self.window_ms(), now_ms);
            return Admission::Closed(of_ip);
        }
        let of_broker = entrance.broker_rate.map_or(0, |rate| {
            counters.broker.record(1.0, now_ms);
            counters.broker.throttle_time_ms(rate, now_ms)
        });
        let listener = counters.listener(entrance.listener);
        listener.rate.record(1.0, now_ms);
        let of_listener = listener.rate.throttle_time_ms(entrance.listener_rate, now_ms);
        let throttle_time = self.bounded(of_broker.max(of_listener));
        if !throttle_time.is_zero() {
            listener
                .throttled
                .add(as_millis(throttle_time), self.window_ms(), now_ms);
        }
        Admission::Served(throttle_time)
    }

    fn throttle_time_ms_of(&self, ip: IpAddr, now_ms: u64) -> u64 {
        let limits = self.limits.load();
        let Some(limit) = limits.by_ip.get(&ip).copied().or(limits.default) else {
            return 0;
        };
        let name = ip.to_string();
        let sharers = Sharers {
            user: "",
            client_id: &name,
        };
        self.ips.get(sharers, now_ms).record_within(1.0, limit, now_ms)
    }

    /// Rows of the broker and of each listener that has accepted a connection.
    pub(super) fn of_listeners(&self, now: Instant) -> Vec<ConnectionFigures> {
        let (now_ms, window_ms) = (millis(self.start, now), self.window_ms());
        let mut counters = self.counters.lock();
        let mut rows = vec![ConnectionFigures {
            label: "",
            name: String::new(),
            rate: counters.broker.measure(now_ms).0,
            throttle_time_ms: 0.0,
            ip_throttle_time_ms: 0.0,
        }];
        for (name, listener) in &mut counters.listeners {
            rows.push(ConnectionFigures {
                label: "listener",
                name: name.clone(),
                rate: listener.rate.measure(now_ms).0,
                throttle_time_ms: listener.throttled.value(window_ms, now_ms),
                ip_throttle_time_ms: listener.ip_throttled.value(window_ms, now_ms),
            });
        }
        rows
    }

    /// Calls `visit` with each address that has a counter, and its rate.
    pub(super) fn each_ip(&self, now: Instant, mut visit: impl FnMut(&str, f64)) {
        let now_ms = millis(self.start, now);
        self.ips.each(|slot| {
            if let Some(name) = slot.name() {
                visit(&name.client_id, slot.figures(now_ms).0);
            }
        });
    }

    fn window_ms(&self) -> u64 {
        as_millis(self.window.sample).saturating_mul(u64::from(self.window.samples.max(1)))
    }

    /// Kafka holds a listener or a connection back for one sample at most.
    fn bounded(&self, throttle_time_ms: u64) -> Duration {
        Duration::from_millis(throttle_time_ms).min(self.window.sample)
    }
}

fn as_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
