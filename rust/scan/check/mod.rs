//! `kafkastore check`: whether every file of a log directory is sound and agrees with the log. With a live broker or
//! without one.
//!
//! The steps of a check: `plan` lists directories and reads the state files in them; `run` hands the segments to
//! threads, largest first; `segment` walks the batches of one (`walk`) and compares its indexes (`offset_index`,
//! `time_index`, `transactions`) and the order of its batches (`order`) on the way; `partition` then compares the
//! outcomes of the segments with each other and with the checkpoints. `finding` has the results.
//!
//! Only bytes below a file's size when it was opened are judged. A check never writes, takes no lock and does not end
//! at the first fault: a walk goes on behind a bad batch wherever the next batch can be found.

mod epochs;
mod finding;
mod offset_index;
mod order;
mod partition;
mod plan;
mod run;
mod segment;
mod state;
mod time_index;
mod transactions;
mod walk;

pub use finding::{Finding, MAX_FINDINGS_PER_FILE, Report, Severity, Totals};
pub use run::{Check, Options, Progress};

#[cfg(test)]
mod tests;
