//! How many connections clients may open a second: all together, on a listener, from an address (KIP-612).
//!
//! A connection above the rate of its address is closed after a while, and does not count elsewhere. Above the rate of
//! the broker or of its listener, the connection is accepted, and the listener accepts the next one after a while. The
//! listener that brokers use among themselves is not held to the rate of the broker.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::account::millis;
use super::counter::Counter;
use super::limits::Sharers;
use super::rate::Rate;
use super::slots::Slots;
use crate::broker::options::QuotaWindow;

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
    /// New connections a second on all listeners; infinite on the listener of the brokers.
    pub broker_rate: f64,
}

/// What becomes of a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is served; the listener accepts the next connection after this time.
    Served(Duration),
    /// Its address opens too many: it is closed after this time.
    Closed(Duration),
}

struct Counters {
    broker: Rate,
    listeners: HashMap<String, Rate>,
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
        let limits = self.limits.load();
        if let Some(limit) = limits.by_ip.get(&ip).copied().or(limits.default) {
            let name = ip.to_string();
            let sharers = Sharers {
                user: "",
                client_id: &name,
            };
            let throttle_time_ms = self.ips.get(sharers, now_ms).record_within(1.0, limit, now_ms);
            if throttle_time_ms > 0 {
                return Admission::Closed(self.bounded(throttle_time_ms));
            }
        }
        let is_limited = entrance.broker_rate.is_finite() || entrance.listener_rate.is_finite();
        if !is_limited {
            return Admission::Served(Duration::ZERO);
        }
        let mut counters = self.counters.lock();
        let mut throttle_time_ms = 0;
        if entrance.broker_rate.is_finite() {
            counters.broker.record(1.0, now_ms);
            throttle_time_ms = counters.broker.throttle_time_ms(entrance.broker_rate, now_ms);
        }
        if entrance.listener_rate.is_finite() {
            let listener = counters.listeners.entry(entrance.listener.to_owned());
            let listener = listener.or_insert_with(|| Rate::new(self.window));
            listener.record(1.0, now_ms);
            throttle_time_ms = throttle_time_ms.max(listener.throttle_time_ms(entrance.listener_rate, now_ms));
        }
        Admission::Served(self.bounded(throttle_time_ms))
    }

    /// Kafka holds a listener or a connection back for one sample at most.
    fn bounded(&self, throttle_time_ms: u64) -> Duration {
        Duration::from_millis(throttle_time_ms).min(self.window.sample)
    }
}

#[cfg(test)]
mod tests;
