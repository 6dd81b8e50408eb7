//! The figures of clients and connections, for the metrics, by the names of Kafka's.
//!
//! They are taken when a scraper authorization: counting them costs a request nothing. A client has figures while it
//! has a counter, that is, while it has a limit and a connection, or something is left in its window.

use std::cmp::Ordering;
use std::time::Instant;

use super::connections::ConnectionRates;
use super::limits::QuotaKind;
use super::{Quotas, account};

/// What clients that share a limit have used of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientFigures {
    /// What is limited.
    pub kind: QuotaKind,
    /// Empty when all users share the limit.
    pub user: String,
    /// Empty when all client ids share the limit.
    pub client_id: String,
    /// Bytes a second, or percent of one thread.
    pub rate: f64,
    /// The average time for which they were held back, of the times above 0.
    pub throttle_time_ms: f64,
}

/// Connections that were accepted: by the broker (no label), by a listener, from an address.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionFigures {
    /// `listener`, `ip`, or empty.
    pub label: &'static str,
    /// The name of the listener, the address, or empty.
    pub name: String,
    /// New connections a second.
    pub rate: f64,
    /// Of a listener: how long it waits before it accepts, on average, of the times above 0.
    pub throttle_time_ms: f64,
    /// Of a listener: for how long connections above the rate of their address wait before they are closed.
    pub ip_throttle_time_ms: f64,
}

impl Quotas {
    /// At most `max_rows` rows of each kind, those with the highest rates; and for each kind how many are left out.
    pub fn figures(&self, max_rows: usize, now: Instant) -> (Vec<ClientFigures>, [usize; QuotaKind::COUNT]) {
        let now_ms = account::millis(self.start, now);
        let (mut rows, mut left_out) = (Vec::new(), [0; QuotaKind::COUNT]);
        for (kind, left_out) in QuotaKind::ALL.into_iter().zip(&mut left_out) {
            let mut of_kind = Vec::new();
            self.slots[kind as usize].each(|slot| {
                let Some(name) = slot.name() else {
                    *left_out += 1;
                    return;
                };
                let (rate, throttle_time_ms) = slot.figures(now_ms);
                of_kind.push(ClientFigures {
                    kind,
                    user: name.user.to_string(),
                    client_id: name.client_id.to_string(),
                    rate,
                    throttle_time_ms,
                });
            });
            *left_out += of_kind.len().saturating_sub(max_rows);
            keep_highest(&mut of_kind, max_rows, |row| row.rate);
            rows.append(&mut of_kind);
        }
        (rows, left_out)
    }
}

impl ConnectionRates {
    /// Rows of the broker, of each listener that has accepted a connection, and of at most `max_rows` addresses that
    /// have a limit, those with the highest rates; and how many addresses are left out.
    pub fn figures(&self, max_rows: usize, now: Instant) -> (Vec<ConnectionFigures>, usize) {
        let (mut rows, mut of_ips) = (self.of_listeners(now), Vec::new());
        self.each_ip(now, |name, rate| {
            of_ips.push(ConnectionFigures {
                label: "ip",
                name: name.to_owned(),
                rate,
                throttle_time_ms: 0.0,
                ip_throttle_time_ms: 0.0,
            });
        });
        let left_out = of_ips.len().saturating_sub(max_rows);
        keep_highest(&mut of_ips, max_rows, |row| row.rate);
        rows.append(&mut of_ips);
        (rows, left_out)
    }
}

fn keep_highest<T>(rows: &mut Vec<T>, max_rows: usize, figure: fn(&T) -> f64) {
    if rows.len() > max_rows {
        rows.sort_unstable_by(|one, other| figure(other).partial_cmp(&figure(one)).unwrap_or(Ordering::Equal));
        rows.truncate(max_rows);
    }
}
