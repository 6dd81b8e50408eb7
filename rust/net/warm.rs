//! Reading cold pages into memory, so that a network loop never waits for the disk (KAFKA-7504).

use std::thread;
use std::time::Duration;

use super::outbox::FileRange;
use base::error::shortage::is_out_of_descriptors;

/// Bytes read at a time.
const READ_BYTES: usize = 128 << 10;
/// How long the sending of a range pauses when there is no descriptor for its file.
const REST: Duration = Duration::from_millis(20);

/// Reads a range and drops the bytes: the pages stay in the page cache. An error is reported when the range is sent.
pub fn read_ahead(range: &FileRange) {
    let mut buffer = vec![0u8; READ_BYTES.min(range.len)];
    let end = range.position + range.len as u64;
    let mut at = range.position;
    while at < end {
        let wanted = usize::try_from(end - at).unwrap_or(READ_BYTES).min(buffer.len());
        match range.file.read_at(&mut buffer[..wanted], at) {
            Ok(n) if n > 0 => at += n as u64,
            // The file cannot be opened again for now. The loop tries again after this pause.
            Err(error) if is_out_of_descriptors(&error) => return thread::sleep(REST),
            _ => return,
        }
    }
}
