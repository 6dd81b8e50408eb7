//! A fetch that waits: watching its partitions, and trying it again (spec: R0.8).

use std::time::Instant;

use super::{MANY_ROWS, ParkedFetch, Tried, is_enough};
use crate::broker::Broker;
use crate::broker::metadata::Place;
use crate::broker::waiters::{WaitKind, Waiter};

impl ParkedFetch {
    /// Whether looking after it is too much for a network loop.
    pub fn is_large(&self) -> bool {
        self.plan.rows.len() > MANY_ROWS
    }

    /// Watches every partition that it reads. Try once more afterwards.
    pub fn watch(&self, waiter: &Waiter) {
        for partition in self.plan.rows.iter().filter_map(|r| r.partition.as_ref()) {
            partition.waiters().watch(WaitKind::Fetch, waiter.clone());
        }
    }

    /// Stops watching.
    pub fn forget(&self, waiter: &Waiter) {
        for partition in self.plan.rows.iter().filter_map(|r| r.partition.as_ref()) {
            partition
                .waiters()
                .forget(WaitKind::Fetch, waiter.operation, &waiter.owner);
        }
    }

    /// Answers if there is enough now, or if `is_due`.
    pub fn try_complete(
        &self,
        broker: &Broker,
        listener: &str,
        is_due: bool,
        (place, now): (Place, Instant),
        out: &mut Vec<u8>,
    ) -> Tried {
        if !is_due && !self.may_complete() {
            return Tried::Waits;
        }
        let Some(outcomes) = self.plan.read_all(broker, listener, (place, now)) else {
            return Tried::Cold;
        };
        if !is_due && !is_enough(&self.plan, &outcomes) {
            return Tried::Waits;
        }
        Tried::Answered(self.plan.encode(broker, listener, &outcomes, now, out))
    }

    /// A cheap look that spares most wake-ups the reads.
    fn may_complete(&self) -> bool {
        self.plan.rows.iter().any(|row| match &row.partition {
            None => true,
            Some(p) => {
                p.has_data_past(row.asked.fetch_offset, self.plan.isolation)
                    || self.plan.has_news(p, &row.asked)
                    || p.check_reader(row.asked.current_leader_epoch, self.plan.served_by)
                        .is_err()
            }
        })
    }
}
