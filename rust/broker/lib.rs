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

mod acls;
mod adopt_segments;
mod api;
mod attached;
mod authorization;
mod budget;
mod caller;
mod cleaner;
mod closing;
mod corrupt_said;
mod events;
mod fetch;
mod fetch_session;
mod fetchers;
mod figures;
mod flusher;
mod followers;
mod guard;
mod hosting;
mod housekeeping;
mod image;
mod lease;
mod list_offsets;
mod losses;
mod low_watermark;
mod materialiser;
mod metadata;
mod metrics;
mod mover;
mod moves;
mod options;
mod partition;
mod peers;
pub mod planted;
mod produce;
mod producer_ids;
mod quotas;
mod reaper;
mod registry;
mod replica_fetcher;
mod replica_selector;
mod stale_rows;
mod state;
#[cfg(any(test, feature = "testing"))]
#[allow(missing_docs, clippy::expect_used, clippy::unwrap_used, clippy::pedantic)]
pub mod testing;
mod throttle;
mod verifier;
mod waiters;
mod workers;

#[doc(hidden)] // for tests/fuzz
pub use acls::Acls;
pub use acls::{AclEntry, AclPattern, CLUSTER_NAME, Operation, ResourceType};
pub use adopt_segments::AdoptSegments;
pub use api::{
    Api, Attempt, Delayed, Errand, Place, Request, Rest, Scratch, Served, Thread, Tried, go_on_waiting, start_waiting,
};
pub use authorization::{Asker, Authorization};
pub use budget::{Budget, Charge, ControlBudget, Size};
pub use caller::{ANONYMOUS, Caller, ClientInfo, Principal};
pub use cleaner::{
    Cleaner, CleanerConfig, CleanerFigures, CleanerOutcome, CleanerReport, CleanerRun, Step as CleanerStep,
};
pub use events::{AppendDone, ControlRequest, Event, EventQueue};
pub use fetch::{Fetch, FetchScratch, INLINE_BYTES, Splice};
pub use fetchers::{Change, Fetchers, Source};
pub use figures::{Figures, PartitionFigures};
pub use followers::{FollowerFetch, Proposal};
pub use guard::{Watched, guarded, message_of};
pub use hosting::HostedLog;
pub use housekeeping::{INFLATE_LIMIT_BYTES, LogDirDescription, ReadRecord, read_batches};
pub use image::{BrokerRow, Image, NO_CONTROLLER, PartitionRow, TopicRow};
pub use lease::Lease;
pub use list_offsets::ListOffsets;
pub use losses::{LossPolicy, MissingLog};
pub use metadata::Metadata;
pub use metrics::{COUNTS, Count, Meter, Metrics};
pub use options::{ConnectionOptions, Options, QuotaWindow};
pub use partition::{
    Awaited, Cut, FetchPosition, Fetched, FutureLog, Isolation, Marker, MoveFailure, Moved, OffsetsView, Partition,
    ProducerDescription, ReadRequest, ReadResult, ServedBy, WantsFlush,
};
pub use peers::{Channel, Peers, Then};
pub use produce::{LeftProduce, Produce, ProduceScratch};
pub use producer_ids::ProducerIds;
pub use quotas::{
    Account, Admission, ClientFigures, ConnectionFigures, ConnectionRates, Entrance, HeldBack, QuotaKind, QuotaRow,
    Quotas, Rate, UNRESOLVED,
};
pub use registry::{INTERNAL_TOPICS, Registry, Topic, TopicId};
pub use replica_fetcher::{Ask, Next, ReplicaFetcher, backoff};
pub use state::{Broker, FinalizedFeatures};
pub use verifier::{Asked, Verified, Verifier, Verifying};
pub use waiters::{WaitKind, Waiter, Waiters, Wake};
