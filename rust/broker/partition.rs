//! One hosted partition: its log, its lease, its offsets and the requests that wait for it.
//!
//! Place: `produce`, `fetch` and the control plane's appends call a partition; a partition calls `storage::Log`.
//! Invariants: the lease and the log's end change only under the log's lock, so an append sees one lease from check to
//! write; `log_start ≤ last_stable ≤ high_watermark ≤ log_end`; the high watermark never moves back within a lease. It
//! knows no sockets and no clock, and decides nothing about leadership.
//!
//! The map: `hosted` has the [`Partition`], the owner of the parts `leadership` (with `lease` and `followers`),
//! `offsets`, `flushing`, `refusals`, `readers` and `future`, which do not know it. `append`, `message_set`, `read`,
//! `flush`, `leading`, `following`, `adopt`, `moving` and `describe` are what is done with it.

mod adopt;
mod append;
mod awaited;
mod describe;
mod flush;
mod flushing;
pub mod followers;
mod following;
mod future;
mod hosted;
mod leadership;
mod leading;
pub mod lease;
pub mod low_watermark;
mod marker;
mod message_set;
mod moving;
mod offsets;
mod read;
mod readers;
pub(crate) mod refusals;

pub use adopt::AdoptionTurn;
pub use awaited::Awaited;
pub use describe::{PartitionFigures, ProducerDescription};
pub use flushing::Flushing;
pub use following::{Cut, FetchPosition, Following, PartitionData, WantsFlush};
pub use future::{FutureLog, FutureSlot};
pub use hosted::Partition;
pub use leadership::{IsrSize, Leadership, ServedBy};
pub use marker::Marker;
pub use moving::{Move, MoveFailure, MoveProgress};
pub use offsets::{Isolation, Offsets, OffsetsView};
pub use read::{ReadRequest, ReadResult};
pub use readers::Readers;

#[cfg(test)]
mod closest_tests;
#[cfg(test)]
mod tests;
