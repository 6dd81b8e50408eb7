//! [`Ends`]: the transactions whose outcome is decided, until all their markers are written and their end is recorded.
//!
//! ```text
//! decided → marker to each partition's leader, here or by WriteTxnMarkers → replicated → CompleteCommit, CompleteAbort
//! ```
//! A few markers for partitions that this broker leads are appended at once by the thread that saw the decision; all
//! other work is that of one thread in [`Ends::run`], which also aborts transactions that exceeded their timeout and
//! forgets expired ids (`expiry`). Markers are written again, to whichever broker leads the partition by then, until
//! they are replicated or this broker no longer coordinates the transaction: then the next coordinator writes all of
//! them again. Writing a marker twice does no harm.

mod table;

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use self::table::Table;
use super::expiry::Schedule;
use super::marker_append::{MarkerBy, append_marker};
use super::service::TransactionHome;
use super::table::complete;
use super::transaction::{TopicPartition, Transaction};
use super::transit::write;
use crate::Here;
use base::error::ErrorCode;
use broker::{Awaited, Marker, Partition, Wake};

/// The most partitions of a transaction whose markers are appended by the thread that saw the decision.
const FEW_PARTITIONS: usize = 16;
/// The most transactions of one look whose markers are appended by the thread that saw the decisions.
const FEW_DECISIONS: usize = 4;
/// How often changes are looked at that nobody waits for any more.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A transaction whose outcome is decided.
pub struct Decided {
    pub(super) home: Arc<TransactionHome>,
    pub(super) id: Arc<str>,
    pub(super) value: Transaction,
    /// The markers that are appended here and not replicated yet; their partitions are in the value, too.
    appended: Vec<(TopicPartition, Arc<Partition>, Awaited)>,
}

impl Decided {
    /// The marker for each of its partitions.
    pub(super) fn marker(&self) -> Marker {
        Marker {
            producer_id: self.value.producer_id,
            producer_epoch: self.value.producer_epoch,
            is_commit: self.value.state == super::TransactionState::PrepareCommit,
            coordinator_epoch: self.home.leader_epoch.get(),
            transaction_version: self.value.client_version,
        }
    }
}

/// What other threads leave for the thread of [`Ends::run`].
#[derive(Default)]
struct Inbox {
    decided: Vec<Decided>,
    woken: Vec<u64>,
    answers: Vec<table::Answer>,
    looks_often: bool,
    is_stopped: bool,
}

impl Inbox {
    fn has_work(&self) -> bool {
        !(self.decided.is_empty() && self.woken.is_empty() && self.answers.is_empty())
    }

    /// Until when a thread without work sleeps that has more to do at `next`.
    fn sleeps_until(&self, next: Instant, now: Instant) -> Instant {
        if self.looks_often {
            next.min(now + LOOK_EVERY)
        } else {
            next
        }
    }
}

/// What the thread of [`Ends::run`] keeps from one round to the next, for a simulation without threads.
#[derive(Default)]
pub struct Rounds {
    schedule: Option<Schedule>,
    /// Whether the thread would sleep [`LOOK_EVERY`] at most.
    looks_often: bool,
}

/// The inbox and the thread's alarm.
#[derive(Default)]
pub(super) struct Post {
    inbox: Mutex<Inbox>,
    alarm: Condvar,
}

impl Post {
    fn put(&self, edit: impl FnOnce(&mut Inbox)) {
        edit(&mut self.inbox.lock());
        self.alarm.notify_one();
    }

    fn answer(&self, answer: table::Answer) {
        self.put(|inbox| inbox.answers.push(answer));
    }
}

impl Wake for Post {
    fn wake(&self, operation: u64) {
        self.put(|inbox| inbox.woken.push(operation));
    }
}

/// See the module.
#[derive(Default)]
pub struct Ends {
    post: Arc<Post>,
    table: Mutex<Table>,
}

impl Ends {
    /// Begins to end transactions whose outcome was decided.
    pub fn add(&self, here: Here<'_>, home: &Arc<TransactionHome>, ids: Vec<Arc<str>>) {
        let is_few = ids.len() <= FEW_DECISIONS;
        let decided = ids.into_iter().filter_map(|id| {
            let value = home.lock().get(&id).filter(|value| value.state.is_prepared())?.clone();
            let home = Arc::clone(home);
            Some(Decided {
                home,
                id,
                value,
                appended: Vec::new(),
            })
        });
        let mut left = Vec::new();
        for one in decided.collect::<Vec<_>>() {
            if is_few && one.value.partitions.len() <= FEW_PARTITIONS {
                left.extend(end_here(here, one));
            } else {
                left.push(one);
            }
        }
        if !left.is_empty() {
            self.post.put(|inbox| inbox.decided.extend(left));
        }
    }

    /// Has the thread look for changes that are replicated without anybody waiting for them.
    pub fn look_often(&self) {
        let mut inbox = self.post.inbox.lock();
        if !std::mem::replace(&mut inbox.looks_often, true) {
            self.post.alarm.notify_one();
        }
    }

    /// Works until [`Self::stop`].
    pub fn run(&self, here: Here<'_>) {
        let mut schedule = Schedule::new(Instant::now());
        loop {
            let next = self.work(here, &mut schedule, Instant::now());
            let mut inbox = self.post.inbox.lock();
            if inbox.is_stopped {
                return;
            }
            if !inbox.has_work() {
                let until = inbox.sleeps_until(next, Instant::now());
                let _ = self.post.alarm.wait_until(&mut inbox, until);
            }
        }
    }

    /// One round of [`Self::run`], for a simulation without threads. Returns until when the thread would sleep.
    pub fn round(&self, here: Here<'_>, rounds: &mut Rounds, now: Instant) -> Instant {
        let schedule = rounds.schedule.get_or_insert_with(|| Schedule::new(now));
        let next = self.work(here, schedule, now);
        let inbox = self.post.inbox.lock();
        rounds.looks_often = inbox.looks_often;
        inbox.sleeps_until(next, now)
    }

    /// Whether the thread's alarm has rung since the last round.
    pub fn is_rung(&self, rounds: &Rounds) -> bool {
        let inbox = self.post.inbox.lock();
        inbox.has_work() || (inbox.looks_often && !rounds.looks_often)
    }

    /// Ends [`Self::run`].
    pub fn stop(&self) {
        self.post.put(|inbox| inbox.is_stopped = true);
    }

    /// Does all that can be done now. Returns when there is more to do at the latest.
    pub fn work(&self, here: Here<'_>, schedule: &mut Schedule, now: Instant) -> Instant {
        let taken = {
            let mut inbox = self.post.inbox.lock();
            let taken = std::mem::take(&mut *inbox);
            inbox.is_stopped = taken.is_stopped;
            taken
        };
        if taken.looks_often && settle_all(here) {
            self.look_often();
        }
        schedule.run(here, now);
        let mut table = self.table.lock();
        for one in taken.decided {
            table.begin(one, &self.post, now);
        }
        table.take(here, &self.post, taken.woken, taken.answers, now);
        table.work(here, &self.post, now);
        let next = table.next_look().map_or(schedule.next(), |at| at.min(schedule.next()));
        next.max(now)
    }
}

/// Folds what has been replicated meanwhile, and begins to serve what was loaded once it is; whether any partition is
/// left that waits for its replicas.
fn settle_all(here: Here<'_>) -> bool {
    let homes = here.transactions().homes.all();
    let waits = |home: &Arc<TransactionHome>| {
        let is_replicated = home.is_replicated();
        let shard = home.lock();
        !is_replicated || shard.has_pending() || shard.has_prepared()
    };
    let mut is_left = false;
    for home in homes.values().filter(|home| waits(home)) {
        is_left |= match home.with(here, |shard| shard.has_pending()) {
            Ok(has_pending) => has_pending,
            Err(code) => code == ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        };
    }
    is_left
}

/// Appends all markers and the end of the transaction, if this broker leads all partitions and nothing is left to wait
/// for. Otherwise returns the transaction with the partitions whose markers are not replicated.
fn end_here(here: Here<'_>, mut decided: Decided) -> Option<Decided> {
    let leads = |topic: &str, index: i32| {
        let partition = here.partition(topic, index);
        partition.is_ok_and(|partition| partition.leadership().leading(base::place::LeaderEpoch::NONE).is_ok())
    };
    if !decided
        .value
        .partitions
        .iter()
        .all(|(topic, index)| leads(topic, *index))
    {
        return Some(decided);
    }
    let (marker, now_ms) = (decided.marker(), here.context().clock.now_ms());
    decided.value.partitions.retain(|(topic, index)| {
        match append_marker(here, topic, *index, &marker, MarkerBy::Coordinator, now_ms) {
            Ok((_, awaited)) if awaited.is_nothing() => return false,
            Ok((partition, awaited)) => {
                let key = (Arc::clone(topic), *index);
                decided.appended.push((key, partition, awaited));
            }
            Err(_) => {} // the thread writes the marker again, and judges the error
        }
        true
    });
    if decided.value.partitions.is_empty() && record_end(here, &decided.home, &decided.id).is_ok() {
        return None;
    }
    Some(decided)
}

/// Appends the record that ends a transaction, all markers of which are written.
pub(super) fn record_end(here: Here<'_>, home: &Arc<TransactionHome>, id: &str) -> Result<(), ErrorCode> {
    let now_ms = here.context().clock.now_ms();
    home.with(here, |shard| {
        let next = shard.settled(id)?.and_then(|value| complete(value, now_ms));
        match next {
            Some(next) => write(&here, home, shard, id, next, now_ms).map(drop),
            None => Ok(()), // ended already
        }
    })?
}

#[cfg(test)]
mod tests;
