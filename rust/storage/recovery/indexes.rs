//! Case (d) of [`super`]: the indexes of segments that are not read.

use std::sync::Arc;

use crate::header_scan::HeaderScan;
use crate::segment::Segment;
use crate::segments::Segments;
use ::io::FileSystem;
use base::error::{Error, Result};
use base::place::Position;

/// Checks the indexes of the first `count` segments and rebuilds the damaged ones; returns how many segments had such.
pub(super) fn check(segments: &mut Segments, count: usize, fs: &dyn FileSystem, interval: u32) -> Result<u64> {
    let mut rebuilt = 0;
    for at in 0..count {
        let Some(segment) = segments.get_mut(at) else { break };
        if !are_sane(fs, segment)? {
            rebuild(fs, segment, interval)?;
            rebuilt += 1;
        }
    }
    Ok(rebuilt)
}

/// Checks both ends of the index files, and keeps the greatest timestamp that the time index names.
pub(super) fn are_sane(fs: &dyn FileSystem, segment: &mut Segment) -> Result<bool> {
    if !segment.offset_index.is_sane(fs, segment.end())? {
        return Ok(false);
    }
    let Some(max) = segment.time_index.sane_last_entry(fs)? else {
        return Ok(false);
    };
    segment.set_max_timestamp(max);
    Ok(true)
}

/// Rebuilds offset and time index from headers. The transaction index stays: rebuilding it needs the producer
/// state.
fn rebuild(fs: &dyn FileSystem, segment: &mut Segment, interval: u32) -> Result<()> {
    let end = segment.end();
    let log = Arc::clone(segment.log());
    segment.offset_index.file().restart();
    segment.time_index.file().restart();
    segment.begin_notes();
    let mut scan = HeaderScan::new(&*log.file, &log.path, Position::START, end);
    while let Some((position, header)) = scan.next_header()? {
        segment.note(&header, position, interval);
    }
    if scan.position() != end {
        let reason = "the segment does not end with a whole batch".to_owned();
        return Err(Error::CorruptFile {
            path: log.path.clone(),
            position: scan.position(),
            reason,
        });
    }
    segment.write_indexes(fs)?;
    segment.seal();
    Ok(())
}
