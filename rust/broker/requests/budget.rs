//! A limit for the whole broker on something that clients can make it hold: bytes, rows.
//!
//! A budget only counts; its users decide what happens when it is used up. A [`Charge`] gives its amount back when it
//! is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// See the module.
#[derive(Debug)]
pub struct Budget {
    used: AtomicUsize,
    limit: usize,
}

impl Budget {
    /// A budget of `limit`.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicUsize::new(0),
            limit,
        })
    }

    /// The amount that is held now.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The limit.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Whether nothing is left.
    pub fn is_used_up(&self) -> bool {
        self.used() >= self.limit
    }

    /// Takes `amount`, if that much is left.
    pub fn try_charge(self: &Arc<Self>, amount: usize) -> Option<Charge> {
        let fits = |used: usize| used.checked_add(amount).filter(|sum| *sum <= self.limit);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .is_ok()
            .then(|| Charge {
                budget: Arc::clone(self),
                amount,
            })
    }

    /// A charge of nothing yet, which may go beyond the limit.
    pub fn account(self: &Arc<Self>) -> Charge {
        Charge {
            budget: Arc::clone(self),
            amount: 0,
        }
    }
}

/// How large a request is, for [`ControlBudget`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// Always received, however much is held: a heartbeat, a join.
    Small,
    /// Has extra room, which large requests cannot use up.
    Medium,
    /// Any larger request.
    Large,
}

impl Size {
    const SMALL_BYTES: usize = 4 << 10;
    const MEDIUM_BYTES: usize = 64 << 10;

    /// The size class of a frame.
    pub fn of(frame_bytes: usize) -> Self {
        if frame_bytes <= Self::SMALL_BYTES {
            Self::Small
        } else if frame_bytes <= Self::MEDIUM_BYTES {
            Self::Medium
        } else {
            Self::Large
        }
    }
}

/// Requests that the control plane serves, as bytes, until it has read them.
///
/// While there is no room, a connection leaves its frame in the socket. A whole request waits only for the control
/// plane, so its room comes back. A request that is still arriving may never be whole, so another request is always let
/// in beside it.
#[derive(Debug)]
pub struct ControlBudget {
    /// Frames that have arrived in part.
    pub arriving: Arc<Budget>,
    /// Bodies that the control plane has not read yet.
    pub waiting: Arc<Budget>,
    medium_bytes: usize,
}

impl ControlBudget {
    /// Bodies get a quarter of `limit`, the bytes for all requests of the control plane: the objects that it decodes
    /// from a body are many times larger.
    pub fn new(limit: usize) -> Self {
        Self {
            arriving: Budget::new(limit / 4),
            waiting: Budget::new(limit / 4),
            medium_bytes: limit / 8,
        }
    }

    /// Charges a body that goes to the control plane; a small body does not count.
    pub fn charge(&self, body_bytes: usize) -> Charge {
        let mut charge = self.waiting.account();
        if Size::of(body_bytes) != Size::Small {
            charge.set(body_bytes);
        }
        charge
    }

    /// Whether a request of this size may be received.
    pub fn has_room(&self, size: Size) -> bool {
        self.arriving.used().saturating_add(self.waiting.used()) < self.limit_of(size)
    }

    /// Whether there would be room for a request of this size if no frames were arriving.
    pub fn would_have_room(&self, size: Size) -> bool {
        self.waiting.used() < self.limit_of(size)
    }

    fn limit_of(&self, size: Size) -> usize {
        match size {
            Size::Small => usize::MAX,
            Size::Medium => self.waiting.limit() + self.medium_bytes,
            Size::Large => self.waiting.limit(),
        }
    }
}

/// An amount that its owner holds of a [`Budget`].
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Budget>,
    amount: usize,
}

impl Charge {
    /// The amount that is held.
    pub fn amount(&self) -> usize {
        self.amount
    }

    /// Whether its budget is used up.
    pub fn is_used_up(&self) -> bool {
        self.budget.is_used_up()
    }

    /// Holds `amount` from now on, whatever the limit.
    #[inline]
    pub fn set(&mut self, amount: usize) {
        if amount == self.amount {
            return;
        }
        if amount > self.amount {
            self.budget.used.fetch_add(amount - self.amount, Ordering::Relaxed);
        } else {
            self.budget.used.fetch_sub(self.amount - amount, Ordering::Relaxed);
        }
        self.amount = amount;
    }
}

impl PartialEq for Charge {
    fn eq(&self, other: &Self) -> bool {
        self.amount == other.amount && Arc::ptr_eq(&self.budget, &other.budget)
    }
}

impl Eq for Charge {}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
