//! What coordinators answer in the data plane: who coordinates a group, the next producer id, heartbeats, commits and
//! offsets.
//!
//! Place: between `net` (frames) and `broker` (partitions, the image, the ids). The control plane decides (who is a
//! member, what is deleted or has expired) and publishes leases; here requests are executed under them. The map:
//! `homes` are the partitions of an internal topic, whatever is kept there, and `append` writes to one; [`Groups`] are
//! those of `__consumer_offsets`; a `shard` is the state of one of them, groups with a `lease` and `offsets`; `loading`
//! makes it of the log, `removal` takes offsets out; one file for each API. A request that cannot be answered here goes
//! to the control plane, which makes the topic, claims ids, or says why it cannot. Never: decides who coordinates what,
//! or who is a member.

mod append;
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
mod records;
mod removal;
mod shard;
#[cfg(test)]
mod testing;

use crate::broker::{Api, Broker};
use crate::wire::ApiTable;

pub use groups::{GroupHome, GroupSettings, Groups, OFFSETS_TOPIC};
pub use lease::{GroupLease, GroupState};
pub use loading::{LoadedGroups, load};
pub use offsets::GroupOffsets;
pub use removal::{Removal, remove};
pub use shard::{Shard, session_timeout};

/// A request for a coordinator or a producer id with more bytes may name many keys: it is the control plane's, which
/// serves it in turns.
const MANY_BYTES: usize = 16 << 10;

/// The coordinators' API with this key, if the data plane serves it.
pub fn api(key: i16) -> Option<&'static dyn Api> {
    match key {
        ApiTable::FIND_COORDINATOR => Some(&find::FindCoordinator),
        ApiTable::HEARTBEAT => Some(&heartbeat::Heartbeat),
        ApiTable::INIT_PRODUCER_ID => Some(&init_producer_id::InitProducerId),
        ApiTable::OFFSET_COMMIT => Some(&offset_commit::OffsetCommit),
        ApiTable::OFFSET_FETCH => Some(&offset_fetch::OffsetFetch),
        _ => None,
    }
}

/// The groups that a broker coordinates.
pub fn groups(broker: &Broker) -> &Groups {
    broker.coordinators.get()
}
