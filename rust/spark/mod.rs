//! The planner of a Spark read (spec R5.3): from the options of a data source to the shares of its tasks.
//!
//! The steps: [`ReadOptions::parse`] reads the options, [`Wanted::narrow`] the pushed filters, [`plan`] fixes a closed
//! range of offsets for each partition, [`cut`] cuts the ranges into shares. `requests` has all of it as JSON, for
//! callers of another language. This folder knows no Python and no Java, and reads no records: `scan` does.

mod bounds;
mod error;
mod filters;
mod lease;
mod options;
mod pattern;
mod planning;
mod repr;
pub mod requests;
mod shares;
mod watermarks;

pub use bounds::{Kind, RangeBound};
pub use error::{PlanError, Result};
pub use filters::{Filter, Operator, Range, Wanted, push};
pub use lease::{Lease, release, take};
pub use options::{ReadOptions, Topics};
pub use planning::{Planned, ask_broker, loss_sentence, plan};
pub use shares::{Share, cut, share_count};
pub use watermarks::{DEFAULT_TIMEOUT, fetch_broker_offsets, parse_servers};
