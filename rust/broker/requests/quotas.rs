//! Client quotas: how many bytes a second clients may produce and fetch, and how much of the threads their requests may
//! take (KIP-13, KIP-55, KIP-124, KIP-219).
//!
//! Place: the control plane publishes the limits; `net` resolves each connection once (and again when the limits or
//! the client's names change) to an [`Account`], which the APIs count in. While no quota was ever published, a request
//! costs one relaxed load of [`Quotas::generation`]. The map: `limits` knows which limit a client has, `slots` keeps
//! the counters, `counter` is one, `rate` is Kafka's window, `account` is what a connection holds;
//! `connections` counts how many are opened; `figures` are the metrics.
//!
//! It never delays anything: `net` serves nothing of a connection that is held back. It reads no clock.

mod account;
mod average;
mod connections;
mod counter;
mod figures;
mod limits;
mod rate;
mod slots;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::RwLock;

use crate::published::options::QuotaWindow;
use crate::requests::caller::Principal;
use counter::Counter;
use limits::Limits;
use slots::Slots;

pub use account::{Account, HeldBack};
pub use connections::{Admission, ConnectionRates, Entrance};
pub use figures::{ClientFigures, ConnectionFigures};
pub use limits::{QuotaKind, QuotaRow};
pub use rate::Rate;

/// The generation of a connection that has to be resolved before its next request.
pub const UNRESOLVED: u64 = u64::MAX;

/// See the module.
pub struct Quotas {
    /// Grows with each publication; 0 before the first.
    generation: AtomicU64,
    limits: RwLock<Limits>,
    slots: [Slots; QuotaKind::COUNT],
    window: QuotaWindow,
    start: Instant,
}

impl Quotas {
    /// Without limits; rates are measured over `window`.
    pub fn new(window: QuotaWindow, start: Instant) -> Self {
        Self {
            generation: AtomicU64::new(0),
            limits: RwLock::default(),
            slots: [
                Slots::new(Counter::paced, window), // produce
                Slots::new(Counter::paced, window), // fetch
                Slots::new(Counter::new, window),   // request time
            ],
            window,
            start,
        }
    }

    /// The number of the limits. A connection that was resolved under another number is resolved again.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// As [`Self::generation`], before the limits are looked up: they are those of this number, or newer ones.
    pub fn generation_to_resolve(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Replaces the limits of some entities, or all limits; what was counted stays. As long as there never was a limit,
    /// none is no news.
    pub fn publish(&self, rows: Vec<QuotaRow>, is_whole: bool) {
        if self.generation() == 0 && rows.iter().all(|row| row.limit.is_none()) {
            return;
        }
        let mut limits = self.limits.write();
        if is_whole {
            *limits = Limits::default();
        }
        limits.put(rows);
        drop(limits);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// The account of a client; `None` when it has no limit. `held_back` is the connection's own state.
    pub fn account(
        &self,
        principal: &Principal,
        client_id: Option<&str>,
        held_back: &Arc<HeldBack>,
        now: Instant,
    ) -> Option<Arc<Account>> {
        let limits = self.limits.read();
        let (user, client_id) = (principal.user_name(), client_id.unwrap_or_default());
        let now_ms = account::millis(self.start, now);
        let counted = |kind: QuotaKind| {
            let (limit, sharers) = limits.find(kind, user, client_id)?;
            Some((self.slots[kind as usize].get(sharers, now_ms), limit))
        };
        let counters = [
            counted(QuotaKind::Produce),
            counted(QuotaKind::Fetch),
            counted(QuotaKind::Request),
        ];
        if counters.iter().all(Option::is_none) {
            return None;
        }
        Some(Arc::new(Account::new(
            counters,
            self.window,
            self.start,
            Arc::clone(held_back),
        )))
    }

    /// Drops counters that are not needed any more.
    pub fn sweep(&self, now: Instant) {
        for slots in &self.slots {
            slots.sweep(account::millis(self.start, now));
        }
    }

    /// The state of a connection that is not held back.
    pub fn not_held_back(&self) -> Arc<HeldBack> {
        HeldBack::new(self.start)
    }
}

#[cfg(test)]
mod tests;
