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

use self::partitioning::partition_for;
use broker::{Api, Broker};
use protocol::ApiTable;

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

/// The coordinators' API with this key, if the data plane serves it.
pub fn api(key: i16) -> Option<&'static dyn Api> {
    match key {
        ApiTable::FIND_COORDINATOR => Some(&find::FindCoordinator),
        ApiTable::HEARTBEAT => Some(&heartbeat::Heartbeat),
        ApiTable::INIT_PRODUCER_ID => Some(&init_producer_id::InitProducerId),
        ApiTable::OFFSET_COMMIT => Some(&offset_commit::OffsetCommit),
        ApiTable::OFFSET_FETCH => Some(&offset_fetch::OffsetFetch),
        ApiTable::TXN_OFFSET_COMMIT => Some(&txn_offset_commit::TxnOffsetCommit),
        ApiTable::ADD_PARTITIONS_TO_TXN => Some(&transactions::AddPartitionsToTxn),
        ApiTable::ADD_OFFSETS_TO_TXN => Some(&transactions::AddOffsetsToTxn),
        ApiTable::END_TXN => Some(&transactions::EndTxn),
        ApiTable::WRITE_TXN_MARKERS => Some(&transactions::WriteTxnMarkers),
        _ => None,
    }
}

/// The state of all coordinators of a broker.
#[derive(Default)]
struct Coordinators {
    groups: Groups,
    transactions: Transactions,
}

/// The groups that a broker coordinates.
pub fn groups(broker: &Broker) -> &Groups {
    &broker.coordinators().get::<Coordinators>().groups
}

/// The transactions that a broker coordinates.
pub fn transactions(broker: &Broker) -> &Transactions {
    &broker.coordinators().get::<Coordinators>().transactions
}
