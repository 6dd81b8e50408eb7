//! A limit for the whole broker of something that clients can make it hold: bytes, rows.
//!
//! A budget counts; what happens when it is used up is its users' business. A [`Charge`] gives back what it took when
//! it is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// See the module.
#[derive(Debug)]
pub struct Budget {
    used: AtomicUsize,
    limit: usize,
}

impl Budget {
    /// Of so much.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicUsize::new(0),
            limit,
        })
    }

    /// What is held now.
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

    /// Takes so much, if it is left.
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

    /// An account of nothing yet, which may go beyond the limit.
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
    /// Taken whatever is held: a heartbeat, a join.
    Small,
    /// It has room that large ones do not use up.
    Medium,
    /// Anything beyond.
    Large,
}

impl Size {
    const SMALL_BYTES: usize = 4 << 10;
    const MEDIUM_BYTES: usize = 64 << 10;

    /// Of a frame.
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
/// A connection waits with its frame in the socket while there is no room. What has arrived whole waits for the control
/// plane alone, so room comes back; what is still arriving may never do so, so somebody is always let in beside it.
#[derive(Debug)]
pub struct ControlBudget {
    /// Frames of which a part is here.
    pub arriving: Arc<Budget>,
    /// Bodies that the control plane has not read yet.
    pub waiting: Arc<Budget>,
    medium_bytes: usize,
}

impl ControlBudget {
    /// Bodies get a quarter of what all that the control plane serves may hold: what is made of them is many times
    /// larger.
    pub fn new(limit: usize) -> Self {
        Self {
            arriving: Budget::new(limit / 4),
            waiting: Budget::new(limit / 4),
            medium_bytes: limit / 8,
        }
    }

    /// For a body that the control plane is given; a small one does not count.
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

    /// Whether what is still arriving is all that keeps a request of this size out.
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

/// What somebody holds of a [`Budget`].
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Budget>,
    amount: usize,
}

impl Charge {
    /// What is held.
    pub fn amount(&self) -> usize {
        self.amount
    }

    /// Whether its budget is used up.
    pub fn is_used_up(&self) -> bool {
        self.budget.is_used_up()
    }

    /// Holds so much from now on, whatever the limit.
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
mod tests;
