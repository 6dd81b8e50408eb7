//! A fetch that waits: watching its partitions, and trying it again.

use std::time::Instant;

use super::{MANY_ROWS, ParkedFetch};
use crate::requests::api::{Attempt, Delayed, Rest, Tried};
use crate::requests::waiters::{WaitKind, Waiter};

impl Delayed for ParkedFetch {
    fn watch(&self, waiter: &Waiter) {
        for partition in self.plan.rows.iter().filter_map(|r| r.partition.as_ref()) {
            partition.waiters().watch(WaitKind::Fetch, waiter.clone());
        }
    }

    fn forget(&self, waiter: &Waiter) {
        for partition in self.plan.rows.iter().filter_map(|r| r.partition.as_ref()) {
            partition
                .waiters()
                .forget(WaitKind::Fetch, waiter.operation, &waiter.owner);
        }
    }

    fn try_complete(&mut self, attempt: &Attempt<'_>, out: &mut Vec<u8>) -> Tried {
        let (broker, listener, is_due) = (attempt.broker, attempt.caller.listener, attempt.is_due);
        if !is_due && !self.may_complete() {
            return Tried::Waits;
        }
        let Some(mut outcomes) = self.plan.read_all(broker, listener, (attempt.place, attempt.now)) else {
            return Tried::Cold;
        };
        if !is_due && !self.plan.is_ready(broker, &mut outcomes) {
            return Tried::Waits;
        }
        self.plan.convert(broker, &mut outcomes);
        let splices = self.plan.answer(broker, attempt.caller, &outcomes, attempt.now, out);
        Tried::Answered(Rest::Files(splices))
    }

    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn is_large(&self) -> bool {
        self.plan.rows.len() > MANY_ROWS || self.plan.is_old_format()
    }

    fn inflates(&self) -> bool {
        self.plan.is_old_format()
    }

    fn ends_early(&self) -> bool {
        true
    }
}

impl ParkedFetch {
    /// A cheap check, with which most wake-ups need no reads.
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
