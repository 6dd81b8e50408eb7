//! The open scans, by number. A failed scan stays failed: it never seems to end early.

use std::sync::{Arc, LazyLock};

use super::columns::Addresses;
use super::errors::NativeError;
use super::numbered::Numbered;
use planner::requests;
use scan::{LostRange, LostRanges, ScanReader};

/// One scan: its reader and the batch that Java looks at.
struct OpenScan {
    reader: ScanReader,
    lost: LostRanges,
    batch: Option<Addresses>,
    has_failed: bool,
}

static SCANS: LazyLock<Numbered<OpenScan>> = LazyLock::new(|| Numbered::new("scan"));

/// Opens a scan; no file is opened yet.
pub(super) fn open(request: &str) -> Result<i64, NativeError> {
    let (splits, options) = requests::open(request)?;
    let lost = LostRanges::default();
    let reader = ScanReader::new(splits, Arc::new(options), Arc::clone(&lost)).map_err(planner::PlanError::from)?;
    Ok(SCANS.insert(OpenScan {
        reader,
        lost,
        batch: None,
        has_failed: false,
    }))
}

/// Reads the next batch and gives its rows and addresses to `fill`; `None` at the end. The batch before is dropped.
pub(super) fn next<T>(
    handle: i64,
    fill: impl FnOnce(usize, &[i64]) -> Result<T, NativeError>,
) -> Result<Option<T>, NativeError> {
    let scan = SCANS.find(handle)?;
    let mut scan = scan.lock();
    if scan.has_failed {
        return Err(NativeError::Failed(format!("scan {handle} has failed before")));
    }
    scan.batch = None;
    scan.has_failed = true; // unless all of the rest succeeds, without a panic
    let filled = match scan.reader.next_batch() {
        None => None,
        Some(Ok(batch)) => {
            let addresses = Addresses::of(batch).map_err(NativeError::Failed)?;
            let filled = fill(addresses.rows(), &addresses.numbers)?;
            scan.batch = Some(addresses);
            Some(filled)
        }
        Some(Err(error)) => return Err(NativeError::of_reading(&error)),
    };
    scan.has_failed = false;
    Ok(filled)
}

/// The offsets that the scan has skipped.
pub(super) fn lost(handle: i64) -> Result<Vec<LostRange>, NativeError> {
    let scan = SCANS.find(handle)?;
    let lost = Arc::clone(&scan.lock().lost);
    let ranges = lost.lock().clone();
    Ok(ranges)
}

/// Forgets a scan and frees its memory; a number that is not known is none.
pub(super) fn close(handle: i64) {
    SCANS.remove(handle);
}

#[cfg(test)]
#[path = "handles_tests.rs"]
mod tests;
