//! A limit for the whole broker of something that clients can make it hold: bytes, rows.
//!
//! A budget counts; what happens when it is used up is its users' business. A [`Charge`] gives back what it took when it is dropped.

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

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests;
