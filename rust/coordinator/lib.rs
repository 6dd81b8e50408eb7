//! The coordinators' APIs in the data plane: `FindCoordinator`, `InitProducerId`, Heartbeat, `OffsetCommit`,
//! `OffsetFetch`, and those of transactions.
//!
//! Place: between `net` (frames) and `broker` (partitions, the image, the ids). The control plane decides (on members,
//! on deleted groups, on expired offsets) and publishes leases; this module serves requests under these leases. The
//! map: `homes` has the partitions of an internal topic, of whatever kind, and `append` writes to a partition;
//! [`Groups`] has the partitions of `__consumer_offsets`; a `shard` is the state of one partition: groups, each with a
//! `lease` and `offsets`; `loading` builds a shard from the log, `removal` removes offsets; `transactions` is the
//! transaction coordinator; each API has a file. A request that cannot be answered here goes to the control plane,
//! which creates the topic, claims ids, or answers with the error. This module never decides which broker coordinates a
//! group, or which members a group has.

#![forbid(unsafe_code)]

mod append;
mod commit_rows;
mod find;
mod groups;
mod heartbeat;
mod homes;
mod init_producer_id;
mod lease;
mod loading;
mod offset_commit;
mod offset_fetch;
mod offsets;
mod partitioning;
#[doc(hidden)] // for tests/fuzz
pub mod records;
mod removal;
mod shard;
#[cfg(test)]
mod testing;
pub mod transactions;
mod txn_offset_commit;

use std::ops::Deref;
use std::sync::Arc;

use self::partitioning::partition_for;
use broker::{Api, Broker};

pub use groups::{GroupHome, GroupSettings, Groups, OFFSETS_TOPIC};
pub use lease::{GroupLease, GroupState};
pub use loading::{LoadedGroups, load};
pub use offsets::GroupOffsets;
pub use removal::{Removal, remove};
pub use shard::{Shard, session_timeout};
pub use transactions::{STATE_TOPIC, Transactions};

/// A `FindCoordinator` request with more bytes than this may name many keys: it goes to the control plane, which serves
/// it in turns.
const MANY_BYTES: usize = 16 << 10;

/// What a broker coordinates.
#[derive(Default)]
pub struct Coordinators {
    /// The groups.
    pub groups: Groups,
    /// The transactions.
    pub transactions: Transactions,
}

impl Coordinators {
    /// With the broker that coordinates it.
    pub const fn on<'a>(self: &'a Arc<Self>, broker: &'a Broker) -> Here<'a> {
        Here {
            broker,
            coordinators: self,
        }
    }
}

/// A broker, with what it coordinates.
#[derive(Clone, Copy)]
pub struct Here<'a> {
    broker: &'a Broker,
    coordinators: &'a Arc<Coordinators>,
}

impl Deref for Here<'_> {
    type Target = Broker;

    fn deref(&self) -> &Broker {
        self.broker
    }
}

impl<'a> Here<'a> {
    /// The groups.
    pub fn groups(self) -> &'a Groups {
        &self.coordinators.groups
    }

    /// The transactions.
    pub fn transactions(self) -> &'a Transactions {
        &self.coordinators.transactions
    }
}

/// The coordinators' APIs.
pub fn apis(coordinators: &Arc<Coordinators>) -> [Arc<dyn Api>; 10] {
    let it = || Arc::clone(coordinators);
    [
        Arc::new(find::FindCoordinator),
        Arc::new(heartbeat::Heartbeat(it())),
        Arc::new(init_producer_id::InitProducerId(it())),
        Arc::new(offset_commit::OffsetCommit(it())),
        Arc::new(offset_fetch::OffsetFetch(it())),
        Arc::new(txn_offset_commit::TxnOffsetCommit(it())),
        Arc::new(transactions::AddPartitionsToTxn(it())),
        Arc::new(transactions::AddOffsetsToTxn(it())),
        Arc::new(transactions::EndTxn(it())),
        Arc::new(transactions::WriteTxnMarkers(it())),
    ]
}
