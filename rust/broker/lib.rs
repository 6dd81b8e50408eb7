//! The data plane's state and its answers: partitions, leases, produce, fetch, delayed operations. It uses no sockets
//! and no Python. Callers pass the times of a request in.
//!
//! The map: [`Broker`] holds everything; `registry`, `image`, `producer_ids` and `acls` hold the state that the control
//! plane publishes; `authorization` asks the ACLs for a request; `partition` appends to the log and reads from it;
//! `produce`, `fetch`, `list_offsets`, `metadata` and `adopt_segments` serve one API each, through the trait of `api`;
//! `verifier` is the way to the transaction coordinators; `quotas` counts what clients with a quota do; `waiters` is
//! the purgatory of delayed operations; `flusher`, `materialiser` and `workers` are the threads that wait on the disk;
//! `events` is the queue to the control plane.

#![forbid(unsafe_code)]

mod attached;
mod figures;
mod logs;
mod metrics;
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

pub use figures::{Figures, PartitionFigures};
pub use logs::cleaner::{
    Cleaner, CleanerConfig, CleanerFigures, CleanerOutcome, CleanerReport, CleanerRun, Step as CleanerStep,
};
pub use logs::hosting::HostedLog;
pub use logs::housekeeping::{INFLATE_LIMIT_BYTES, LogDirDescription, ReadRecord, read_batches};
pub use logs::losses::{LossPolicy, MissingLog};
pub use metrics::{COUNTS, Count, Meter, Metrics};
pub use partition::followers::{FollowerFetch, Proposal};
pub use partition::lease::Lease;
pub use partition::{
    Awaited, Cut, FetchPosition, Fetched, FutureLog, Isolation, Marker, MoveFailure, Moved, OffsetsView, Partition,
    ProducerDescription, ReadRequest, ReadResult, ServedBy, WantsFlush,
};
#[doc(hidden)] // for tests/fuzz
pub use published::acls::Acls;
pub use published::acls::{AclEntry, AclPattern, CLUSTER_NAME, Operation, ResourceType};
pub use published::image::{BrokerRow, Image, NO_CONTROLLER, PartitionRow, TopicRow};
pub use published::options::{ConnectionOptions, Options, QuotaWindow};
pub use published::producer_ids::ProducerIds;
pub use published::registry::{INTERNAL_TOPICS, Registry, Topic, TopicId};
pub use replication::fetchers::{Change, Fetchers, Source};
pub use replication::peers::{Channel, Peers, Then};
pub use replication::replica_fetcher::{Ask, Next, ReplicaFetcher, backoff};
pub use requests::adopt_segments::AdoptSegments;
pub use requests::api::{
    Api, Attempt, Delayed, Errand, Place, Request, Rest, Scratch, Served, Thread, Tried, go_on_waiting, start_waiting,
};
pub use requests::authorization::{Asker, Authorization};
pub use requests::budget::{Budget, Charge, ControlBudget, Size};
pub use requests::caller::{ANONYMOUS, Caller, ClientInfo, Principal};
pub use requests::fetch::{Fetch, FetchScratch, INLINE_BYTES, Splice};
pub use requests::list_offsets::ListOffsets;
pub use requests::metadata::Metadata;
pub use requests::produce::{LeftProduce, Produce, ProduceScratch};
pub use requests::quotas::{
    Account, Admission, ClientFigures, ConnectionFigures, ConnectionRates, Entrance, HeldBack, QuotaKind, QuotaRow,
    Quotas, Rate, UNRESOLVED,
};
pub use requests::verifier::{Asked, Verified, Verifier, Verifying};
pub use requests::waiters::{WaitKind, Waiter, Waiters, Wake};
pub use state::{Broker, FinalizedFeatures};
pub use threads::events::{AppendDone, ControlRequest, Event, EventQueue};
pub use threads::guard::{Watched, guarded, message_of};
