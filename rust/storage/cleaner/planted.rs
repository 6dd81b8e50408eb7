//! The cleaner's bug that the simulator must find: off unless the simulator plants it (docs/internals/simulator.md).
//!
//! As `broker::planted`, which storage cannot call: the call changes nothing until the bug is planted, which works only
//! in builds with the feature `testing`. In other builds it is compiled away.

use std::sync::atomic::{AtomicBool, Ordering};

static DELETE_HORIZON_IGNORED: AtomicBool = AtomicBool::new(false);

/// Every cleaner of this process removes tombstones at the first cleaning that comes to them, whatever
/// `delete.retention.ms` says, as if KIP-534's delete horizon had passed.
pub fn ignore_delete_horizons() {
    DELETE_HORIZON_IGNORED.store(true, Ordering::Relaxed);
}

/// See [`ignore_delete_horizons`].
#[inline]
pub(super) fn ignores_delete_horizon() -> bool {
    cfg!(feature = "testing") && DELETE_HORIZON_IGNORED.load(Ordering::Relaxed)
}
