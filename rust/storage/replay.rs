//! Brings the producer state up to the log's end: of the batches behind a snapshot only the headers are read, and the
//! records of markers.

use super::batch_walk::read_batch;
use super::producer_state::ProducerState;
use super::segment::Segment;
use super::segments::Segments;
use ::io::FileSystem;
use base::error::{Error, Result};
use base::place::{Offset, Position};
use record::{Batch, BatchHeader, ControlRecord};

/// Updates the producer state from the batches between its end offset and `to`.
pub fn replay_producers(
    producers: &mut ProducerState,
    segments: &Segments,
    fs: &dyn FileSystem,
    to: Offset,
) -> Result<()> {
    let from = producers.map_end_offset();
    if from >= to {
        return Ok(());
    }
    for segment in segments.all_from(segments.place_of(from)) {
        if segment.base_offset() >= to {
            break;
        }
        let mut scan = segment.scan(segment.start_for(fs, from.max(segment.base_offset()))?);
        while let Some((position, header)) = scan.next_header()? {
            if header.last_offset() >= to {
                break;
            }
            if header.last_offset() >= from {
                producers.update(&header, read_control(segment, position, &header)?);
            }
        }
    }
    producers.update_map_end_offset(to);
    Ok(())
}

fn read_control(segment: &Segment, position: Position, header: &BatchHeader) -> Result<Option<ControlRecord>> {
    if !header.is_control() {
        return Ok(None);
    }
    let log = segment.log();
    let mut bytes = Vec::new();
    read_batch(&*log.file, position, header, &mut bytes).map_err(|error| Error::io("read", &log.path, error))?;
    let corrupt = |reason: String| Error::CorruptFile {
        path: log.path.clone(),
        position,
        reason,
    };
    match Batch::split_first(&bytes).map_err(|error| corrupt(error.to_string()))? {
        Some((batch, _)) => ControlRecord::of_batch(&batch).map_err(|error| corrupt(error.to_string())),
        None => Ok(None),
    }
}
