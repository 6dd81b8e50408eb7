//! The logs of the log directories: hosted, kept in order, cleaned, moved, closed.

pub mod cleaner;
mod closing;
mod corrupt_places;
pub mod dirs;
pub mod hosted;
mod hosting;
mod housekeeping;
pub mod losses;
pub mod moves;
pub mod records;
mod stale_rows;

pub use hosted::Logs;
