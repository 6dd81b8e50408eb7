//! How many connections there may be: `max.connections`, `max.connections.per.ip`.

use std::collections::HashMap;
use std::net::IpAddr;

use parking_lot::Mutex;

#[derive(Default)]
struct Counts {
    all: usize,
    by_ip: HashMap<IpAddr, usize>,
}

/// The counts of one broker.
pub struct ConnectionLimits {
    max: usize,
    max_per_ip: usize,
    counts: Mutex<Counts>,
}

impl ConnectionLimits {
    /// Limits as configured.
    pub fn new(max: usize, max_per_ip: usize) -> Self {
        Self {
            max,
            max_per_ip,
            counts: Mutex::default(),
        }
    }

    /// Counts a new connection; false when it must be refused.
    pub fn admit(&self, ip: IpAddr) -> bool {
        let mut counts = self.counts.lock();
        let of_ip = counts.by_ip.get(&ip).copied().unwrap_or(0);
        if counts.all >= self.max || of_ip >= self.max_per_ip {
            return false;
        }
        counts.all += 1;
        counts.by_ip.insert(ip, of_ip + 1);
        true
    }

    /// A connection has gone.
    pub fn release(&self, ip: IpAddr) {
        let mut counts = self.counts.lock();
        counts.all = counts.all.saturating_sub(1);
        if let Some(of_ip) = counts.by_ip.get_mut(&ip) {
            *of_ip -= 1;
            if *of_ip == 0 {
                counts.by_ip.remove(&ip);
            }
        }
    }

    /// The number of open connections.
    pub fn open(&self) -> usize {
        self.counts.lock().all
    }
}

#[cfg(test)]
mod tests;
