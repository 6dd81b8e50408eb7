//! The bugs that a test plants, by name.

use ::python::errors::Raise;
use base::error::{Error, ErrorCode};
use broker::planted::{self, Bug};
use pyo3::prelude::*;
use storage::cleaner::planted::ignore_delete_horizons;

use crate::late_offset_commit;

/// Plants a bug in every broker of this process.
#[pyfunction]
pub fn plant(name: &str) -> PyResult<()> {
    planted::plant(match name {
        "truncate-to-hw" => Bug::TruncateToHighWatermark,
        "no-min-isr-gate" => Bug::CommitBelowMinIsr,
        "fetch-without-epoch" => Bug::FetchWithoutEpoch,
        "lost-wake-up" => Bug::LostWakeUp,
        "late-produce" => Bug::LateProduce,
        "marker-in-newer-epoch" => Bug::MarkerInNewerEpoch,
        "delete-horizon-ignored" => {
            ignore_delete_horizons();
            return Ok(());
        }
        "late-offset-commit" => {
            late_offset_commit::plant();
            return Ok(());
        }
        other => {
            let message = format!("there is no bug {other}");
            return Err(Error::rejected(ErrorCode::INVALID_REQUEST, message).raised());
        }
    });
    Ok(())
}
