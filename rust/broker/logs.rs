//! The logs of the log directories: hosted, kept in order, cleaned, moved, closed.

pub mod cleaner;
pub mod closing;
pub mod corrupt_said;
pub mod hosting;
pub mod housekeeping;
pub mod losses;
pub mod moves;
pub mod stale_rows;
