//! What the control plane publishes: topics, brokers, ACLs, producer ids, options. Immutable, swapped whole.

pub(crate) mod absent;
pub mod acls;
pub mod features;
pub mod image;
pub mod options;
pub mod producer_ids;
pub mod registry;
pub mod topic_id;
