//! [`Transactions`]: the partitions of `__transaction_state` that this broker coordinates, as the control plane
//! published them, and the work on the transactions that are decided.
//!
//! Every access to a partition's transactions goes through [`TransactionHome::with`]: it folds what has been replicated
//! before and after the access, hands decided transactions to [`Ends`], and wakes the requests that wait for a change.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use super::batches::Batches;
use super::ends::{Ends, Rounds};
use super::shard::Shard;
use crate::Here;
use crate::homes::{Home, Homes};
use base::error::ErrorCode;
use broker::WaitKind;

/// The topic that keeps transactions.
pub const STATE_TOPIC: &str = "__transaction_state";

/// The part of the broker's configuration on which transactions depend.
#[derive(Debug, Clone, Copy)]
pub struct TransactionSettings {
    /// `transaction.max.timeout.ms`.
    pub max_timeout_ms: i32,
    /// `transactional.id.expiration.ms`.
    pub id_expiration_ms: i64,
    /// `transaction.abort.timed.out.transaction.cleanup.interval.ms`.
    pub abort_interval: Duration,
    /// `transaction.remove.expired.transaction.cleanup.interval.ms`.
    pub expiry_interval: Duration,
}

impl Default for TransactionSettings {
    fn default() -> Self {
        Self {
            max_timeout_ms: 900_000,
            id_expiration_ms: 604_800_000,
            abort_interval: Duration::from_secs(10),
            expiry_interval: Duration::from_hours(1),
        }
    }
}

/// A partition of `__transaction_state` that this broker leads.
pub type TransactionHome = Home<Shard>;

/// See the module.
pub struct Transactions {
    /// The partitions.
    pub homes: Homes<Shard>,
    /// The transactions whose markers are being written.
    pub(super) ends: Ends,
    /// Questions to the coordinators on other brokers.
    pub(super) batches: Batches,
    settings: ArcSwap<TransactionSettings>,
}

impl Default for Transactions {
    fn default() -> Self {
        Self {
            homes: Homes::new(STATE_TOPIC),
            ends: Ends::default(),
            batches: Batches::default(),
            settings: ArcSwap::default(),
        }
    }
}

impl Transactions {
    /// The configuration now.
    pub fn settings(&self) -> TransactionSettings {
        **self.settings.load()
    }

    /// Replaces the configuration.
    pub fn configure(&self, settings: TransactionSettings) {
        self.settings.store(Arc::new(settings));
    }

    /// Whether the thread in [`Here::run_transactions`] would have been woken since the last round.
    pub fn is_rung(&self, rounds: &Rounds) -> bool {
        self.ends.is_rung(rounds)
    }

    /// Ends the service: requests get `COORDINATOR_NOT_AVAILABLE`, and the thread in [`Here::run_transactions`]
    /// returns.
    pub fn stop(&self) {
        self.homes.stop();
        self.ends.stop();
    }
}

impl Here<'_> {
    /// Runs the work on decided, timed-out and expired transactions on the calling thread until [`Transactions::stop`].
    pub fn run_transactions(self) {
        self.transactions().ends.run(self);
    }

    /// One round of the work in [`Self::run_transactions`], for a simulation without threads. Returns until when the
    /// thread would sleep.
    pub fn round_of_transactions(self, rounds: &mut Rounds, now: Instant) -> Instant {
        self.transactions().ends.round(self, rounds, now)
    }

    /// Serves the transactions of a load from now on, and ends the transactions that the previous coordinator decided.
    pub fn activate_transactions(self, index: i32, number: u64) {
        let homes = &self.transactions().homes;
        homes.activate(index, number);
        if let Some(home) = homes.of(index).filter(|home| home.number == number) {
            // an error means that another broker leads the partition now, which ends them
            let _ = home.with(self, |_| ());
        }
    }
}

impl TransactionHome {
    /// Lets `act` use the partition's transactions, with all replicated changes folded.
    ///
    /// # Errors
    /// `NOT_COORDINATOR` when another broker may have led the partition since the load, `COORDINATOR_LOAD_IN_PROGRESS`
    /// while it loads, and until what was loaded is replicated: else a producer would be told that a partition is in
    /// its transaction, or a marker be written, of which the next coordinator knows nothing.
    pub fn with<T>(self: &Arc<Self>, here: Here<'_>, act: impl FnOnce(&mut Shard) -> T) -> Result<T, ErrorCode> {
        if self.waits_for_replicas() {
            here.transactions().ends.look_often();
            return Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        }
        let high_watermark = || self.partition.offsets().high_watermark();
        let (result, prepared, has_changed, has_pending) = {
            let mut shard = self.serve(|shard| shard.settle(high_watermark()))?;
            let result = act(&mut shard);
            // read before the lease is checked: the high watermark of a later leader says nothing about these changes
            let replicated = high_watermark();
            if self.partition.leadership().leading(self.leader_epoch).is_ok() {
                shard.settle(replicated);
            }
            let (prepared, has_changed) = (shard.take_prepared(), shard.take_changed());
            (result, prepared, has_changed, shard.has_pending())
        };
        if has_changed {
            self.partition.waiters().wake_all(WaitKind::Produce);
        }
        let ends = &here.transactions().ends;
        if !prepared.is_empty() {
            ends.add(here, self, prepared);
        }
        if has_pending {
            ends.look_often();
        }
        Ok(result)
    }
}
