//! The log's lines about clients that were not let in: some in each period, then only how many more there were, so that
//! clients that try again and again do not fill the disk.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::broker::{Broker, ClientInfo};
use crate::wire::scram::Refused;

/// Lines in each [`PERIOD`].
const LINES: u32 = 10;
const PERIOD: Duration = Duration::from_secs(10);

struct Count {
    since: Instant,
    said: u32,
    left_out: u32,
}

/// See the module.
pub struct Refusals(Mutex<Count>);

impl Default for Refusals {
    fn default() -> Self {
        Self(Mutex::new(Count {
            since: Instant::now(),
            said: 0,
            left_out: 0,
        }))
    }
}

impl Refusals {
    /// How many lines were left out before the next one; `None` when that one is left out, too.
    fn next(&self) -> Option<u32> {
        let mut count = self.0.lock();
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

    /// Logs that a client has not proven who it is.
    pub fn say(&self, broker: &Broker, client: &ClientInfo, reason: &Refused) {
        self.line(broker, &client.host, &client.listener, &reason.to_string());
    }

    /// Logs why a client at `host` was not let in.
    pub fn line(&self, broker: &Broker, host: &str, listener: &str, reason: &str) {
        let Some(left_out) = self.next() else { return };
        let before = if left_out > 0 {
            format!("; {left_out} more before it")
        } else {
            String::new()
        };
        broker.log(&format!(
            "Failed authentication with {host} on {listener} ({reason}){before}"
        ));
    }
}
