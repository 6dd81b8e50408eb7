//! The counters of one kind of quota: one for each group of clients that share a limit.
//!
//! A counter is found by a hash of the names with a key of this process; it keeps short names for the metrics, so a
//! long client id takes no memory here. A counter that no connection holds and in whose window nothing is left is
//! dropped: that loses nothing. When there are [`MAX_SLOTS`] counters, clients that would need another one share one
//! counter (the spare one of the kind), so client ids that nobody can foresee neither take more memory nor get around a
//! limit.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

use parking_lot::Mutex;

use super::counter::Counter;
use super::limits::Sharers;
use crate::published::options::QuotaWindow;

/// Counters of one kind at most; each takes about 500 bytes, and its names.
pub const MAX_SLOTS: usize = 32 << 10;
/// Counters from which on idle ones are looked for.
const MIN_SWEPT: usize = 1024;
/// How long a full table is not looked through again: that takes milliseconds, with a lock.
const FULL_MS: u64 = 1000;

/// Characters of a user or a client id whose counter keeps its name.
const NAME_BYTES: usize = 250;

/// Who shares a counter, for the metrics.
pub struct Name {
    /// As in [`Sharers`].
    pub user: Box<str>,
    /// As in [`Sharers`].
    pub client_id: Box<str>,
}

/// One counter.
pub struct Slot {
    /// `None` when the names are long, and for the spare counter.
    name: Option<Name>,
    counter: Mutex<Counter>,
}

impl Slot {
    fn new(make: fn(QuotaWindow) -> Counter, window: QuotaWindow, sharers: Option<Sharers<'_>>) -> Arc<Self> {
        let named = sharers.filter(|sharers| sharers.user.len().max(sharers.client_id.len()) <= NAME_BYTES);
        let name = named.map(|sharers| Name {
            user: sharers.user.into(),
            client_id: sharers.client_id.into(),
        });
        let counter = Mutex::new(make(window));
        Arc::new(Self { name, counter })
    }

    /// Who shares the counter, unless the names are long.
    pub fn name(&self) -> Option<&Name> {
        self.name.as_ref()
    }

    /// See [`Counter::note_throttled`].
    pub fn note_throttled(&self, throttle_time_ms: u64, now_ms: u64) {
        self.counter.lock().note_throttled(throttle_time_ms, now_ms);
    }

    /// See [`Counter::figures`].
    pub fn figures(&self, now_ms: u64) -> (f64, f64) {
        self.counter.lock().figures(now_ms)
    }

    /// See [`Counter::note`].
    pub fn note(&self, amount: f64, limit: f64, now_ms: u64) {
        self.counter.lock().note(amount, limit, now_ms);
    }

    /// See [`Counter::record`].
    pub fn record(&self, amount: f64, limit: f64, now_ms: u64) -> u64 {
        self.counter.lock().record(amount, limit, now_ms)
    }

    /// See [`Counter::record_within`].
    pub fn record_within(&self, amount: f64, limit: f64, now_ms: u64) -> u64 {
        self.counter.lock().record_within(amount, limit, now_ms)
    }

    /// See [`Counter::throttle_time_ms`].
    pub fn throttle_time_ms(&self, limit: f64, now_ms: u64) -> u64 {
        self.counter.lock().throttle_time_ms(limit, now_ms)
    }

    fn is_idle(&self, now_ms: u64) -> bool {
        self.counter.lock().is_idle(now_ms)
    }
}

struct Table {
    slots: HashMap<(u64, u64), Arc<Slot>>,
    /// The number of counters at which idle ones are looked for.
    sweep_at: usize,
    /// When they were looked for last.
    swept_ms: u64,
}

/// The counters of one kind.
pub struct Slots {
    make: fn(QuotaWindow) -> Counter,
    window: QuotaWindow,
    keys: [RandomState; 2],
    table: Mutex<Table>,
    spare: Arc<Slot>,
}

impl Slots {
    /// No counters yet; `make` makes them.
    pub fn new(make: fn(QuotaWindow) -> Counter, window: QuotaWindow) -> Self {
        Self {
            make,
            window,
            keys: [RandomState::new(), RandomState::new()],
            table: Mutex::new(Table {
                slots: HashMap::new(),
                sweep_at: MIN_SWEPT,
                swept_ms: 0,
            }),
            spare: Slot::new(make, window, None),
        }
    }

    /// The counter of the clients that share a limit.
    pub fn get(&self, sharers: Sharers<'_>, now_ms: u64) -> Arc<Slot> {
        let key = (self.keys[0].hash_one(sharers), self.keys[1].hash_one(sharers));
        let mut table = self.table.lock();
        if let Some(slot) = table.slots.get(&key) {
            return Arc::clone(slot);
        }
        if table.slots.len() >= table.sweep_at && !table.was_full_just_now(now_ms) {
            table.sweep(now_ms);
        }
        if table.slots.len() >= MAX_SLOTS {
            return Arc::clone(&self.spare);
        }
        let slot = Slot::new(self.make, self.window, Some(sharers));
        table.slots.insert(key, Arc::clone(&slot));
        slot
    }

    /// Calls `visit` with each counter, without a lock on the others.
    pub fn each(&self, mut visit: impl FnMut(&Slot)) {
        let slots: Vec<Arc<Slot>> = self.table.lock().slots.values().map(Arc::clone).collect();
        for slot in slots {
            visit(&slot);
        }
    }

    /// Drops the counters that are not needed.
    pub fn sweep(&self, now_ms: u64) {
        self.table.lock().sweep(now_ms);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.table.lock().slots.len()
    }
}

impl Table {
    fn was_full_just_now(&self, now_ms: u64) -> bool {
        self.slots.len() >= MAX_SLOTS && now_ms.saturating_sub(self.swept_ms) < FULL_MS
    }

    fn sweep(&mut self, now_ms: u64) {
        self.swept_ms = now_ms;
        self.slots
            .retain(|_, slot| Arc::strong_count(slot) > 1 || !slot.is_idle(now_ms));
        // unless the table is nearly full, it doubles before it is looked through again
        self.sweep_at = (self.slots.len() * 2).clamp(MIN_SWEPT, MAX_SLOTS);
        if self.slots.capacity() > self.slots.len() * 4 {
            self.slots.shrink_to(self.sweep_at);
        }
    }
}

#[cfg(test)]
#[path = "slots_tests.rs"]
mod tests;
