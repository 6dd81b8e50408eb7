//! Clients that were not let in. The log has some lines in each period, then only how many more there were, so that
//! clients that try again and again do not fill the disk; and [`suspects`] knows the addresses of these.

mod suspects;

use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use broker::Broker;
use suspects::Suspects;

/// Lines in each [`PERIOD`].
const LINES: u32 = 10;
const PERIOD: Duration = Duration::from_secs(10);

struct LineCount {
    since: Instant,
    said: u32,
    left_out: u32,
}

/// See the module.
pub struct ClientRefusals {
    count: Mutex<LineCount>,
    suspects: Suspects,
}

impl Default for ClientRefusals {
    fn default() -> Self {
        let now = Instant::now();
        let count = LineCount {
            since: now,
            said: 0,
            left_out: 0,
        };
        Self {
            count: Mutex::new(count),
            suspects: Suspects::new(now),
        }
    }
}

impl ClientRefusals {
    /// How many lines were left out before the next one; `None` when that one is left out, too.
    fn next(&self) -> Option<u32> {
        let mut count = self.count.lock();
        if count.since.elapsed() >= PERIOD {
            (count.since, count.said) = (Instant::now(), 0);
        }
        if count.said >= LINES {
            count.left_out = count.left_out.saturating_add(1);
            return None;
        }
        count.said += 1;
        Some(std::mem::take(&mut count.left_out))
    }

    /// A client at `ip` was not let in: counts it, and logs why.
    pub fn note(&self, broker: &Broker, ip: IpAddr, listener: &str, reason: &str) {
        self.suspects.note(ip, Instant::now());
        let Some(left_out) = self.next() else { return };
        let before = if left_out > 0 {
            format!("; {left_out} more before it")
        } else {
            String::new()
        };
        broker.log(&format!(
            "Failed authentication with /{ip} on {listener} ({reason}){before}"
        ));
    }

    /// A client at `ip` was let in.
    pub fn note_let_in(&self, ip: IpAddr) {
        self.suspects.take_back(ip);
    }

    /// Whether clients at `ip` were refused again and again lately.
    pub fn is_suspect(&self, ip: IpAddr) -> bool {
        self.suspects.has(ip, Instant::now())
    }
}
