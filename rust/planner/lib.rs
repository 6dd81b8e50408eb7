//! The planner of a Spark read: from the options of a data source to the shares of its tasks.
//!
//! The steps: [`ReadOptions::parse`] reads the options, [`RecordFilter::narrow`] the pushed filters, [`plan`] fixes a
//! closed range of offsets for each partition, [`cut`] cuts the ranges into shares. `requests` has all of it as JSON,
//! for callers of another language. `local_files` and `network` are for the tasks: files of a split on a task's
//! machine, and its records from brokers. This folder knows no Python and no Java, and decodes no records: `scan` does.

#![forbid(unsafe_code)]

mod bounds;
mod brokers;
mod dirs;
mod error;
mod filters;
mod lease;
mod local_files;
mod network;
mod options;
mod pattern;
mod planning;
mod repr;
pub mod requests;
mod shares;

pub use bounds::{BoundKind, RangeBound};
pub use brokers::{Brokers, ClusterNodes, DEFAULT_TIMEOUT, LivePartition, OffsetLookup};
pub use dirs::LogDirs;
pub use error::{PlanError, Result};
pub use filters::{Operator, PushedFilter, Range, RecordFilter, push};
pub use lease::{ShareLease, release, take};
pub use network::BrokerLog;
pub use options::{ReadOptions, TopicSelection};
pub use planning::{PlannedPartition, ReadMethod, ReadPlan, brokers_of, loss_sentence, plan};
pub use shares::{TaskShare, cut, share_count};

#[cfg(test)]
mod testing;
