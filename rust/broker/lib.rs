//! The data plane's state and its answers: partitions, leases, produce, fetch, delayed operations. It uses no sockets
//! and no Python. Callers pass the times of a request in.
//!
//! The map: [`Broker`] owns the parts; [`Node`] is what they share. `requests` serves them: `produce`, `fetch`,
//! `list_offsets`, `metadata` and `adopt_segments` one API each, through the trait of `api`; `authorization` asks the
//! ACLs, `verifier` is the way to the transaction coordinators, `waiters` is the purgatory of delayed operations.
//! `partition` appends to a log and reads from it; `logs` are the hosted logs ([`Logs`]) and their directories;
//! `replication` fetches from leaders; `published` is what the control plane publishes: the registry of partitions, the
//! metadata image, producer ids, ACLs, quotas; `threads` ([`Threads`]) wait on the disk, and have the queue of events
//! to the control plane.

#![forbid(unsafe_code)]

mod figures;
mod lines;
mod logs;
mod metrics;
mod node;
mod partition;
pub mod planted;
mod published;
mod replication;
mod requests;
mod state;
#[cfg(any(test, feature = "testing"))]
#[allow(missing_docs, clippy::expect_used, clippy::unwrap_used, clippy::pedantic)]
pub mod testing;
mod threads;

pub use figures::Figures;
pub use logs::Logs;
pub use logs::cleaner::{
    Cleaner, CleanerConfig, CleanerFigures, CleanerOutcome, CleanerReport, CleanerRun, CleaningRate,
    Step as CleanerStep,
};
pub use logs::dirs::{LogDirDescription, LogDirs};
pub use logs::hosted::HostedLog;
pub use logs::losses::{LossPolicy, Losses, MissingLog};
pub use logs::moves::Moves;
pub use logs::records::{INFLATE_LIMIT_BYTES, ReadRecord, read_batches, read_records};
pub use metrics::{COUNTS, Count, Meter, Metrics};
pub use node::Node;
pub use partition::followers::{FollowerFetch, Proposal};
pub use partition::lease::Lease;
pub use partition::{
    AdoptionTurn, Awaited, Cut, FetchPosition, Flushing, Following, FutureLog, FutureSlot, Isolation, Leadership,
    Marker, Move, MoveFailure, MoveProgress, Offsets, OffsetsView, Partition, PartitionData, PartitionFigures,
    ProducerDescription, ReadRequest, ReadResult, Readers, ServedBy, WantsFlush,
};
#[doc(hidden)] // for tests/fuzz
pub use published::acls::{AclClient, Acls};
pub use published::acls::{AclEntry, AclPattern, CLUSTER_NAME, Operation, ResourceType};
pub use published::features::FinalizedFeatures;
pub use published::image::{BrokerRow, Image, NO_CONTROLLER, PartitionRow, TopicRow};
pub use published::options::{ConnectionOptions, Options, QuotaWindow};
pub use published::producer_ids::ProducerIds;
pub use published::registry::{INTERNAL_TOPICS, Registry, Topic};
pub use published::topic_id::TopicId;
pub use replication::fetchers::{Change, Fetchers, Source};
pub use replication::peers::{Ask, Channel, Peers, Then};
pub use replication::replica_fetcher::{Next, ReplicaFetcher, backoff};
pub use requests::adopt_segments::AdoptSegments;
pub use requests::api::{
    Api, Attempt, BodyTail, Delayed, Executor, Handover, Request, Scratch, Served, ServedApis, SlicedProduce, Splice,
    Thread, Tried, go_on_waiting, start_waiting,
};
pub use requests::authorization::{Asker, Authorization};
pub use requests::budget::{Budget, Charge, ControlBudget, Size};
pub use requests::caller::{ANONYMOUS, Caller, ClientInfo, Principal};
pub use requests::fetch::scratch::FetchScratch;
pub use requests::fetch::{Fetch, INLINE_BYTES};
pub use requests::list_offsets::ListOffsets;
pub use requests::metadata::Metadata;
pub use requests::produce::Produce;
pub use requests::produce::scratch::ProduceScratch;
pub use requests::quotas::{
    Account, Admission, ClientFigures, ConnectionFigures, ConnectionRates, Entrance, HeldBack, QuotaKind, QuotaRow,
    Quotas, Rate, UNRESOLVED,
};
pub use requests::verifier::{VerificationRequest, Verified, Verifier, Verifying};
pub use requests::waiters::{WaitKind, Waiter, Waiters, Wake};
pub use state::Broker;
pub use threads::events::{AppendDone, ControlRequest, Event, EventQueue};
pub use threads::guard::{Watched, guarded, message_of};
pub use threads::pools::{RequestThreads, Threads};
