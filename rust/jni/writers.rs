//! The open writers of tasks, by number.

use std::sync::LazyLock;
use std::time::Duration;

use super::errors::NativeError;
use super::numbered::Numbered;
use producer::requests::Writer;

static WRITERS: LazyLock<Numbered<Writer>> = LazyLock::new(|| Numbered::new("writer"));

/// Opens a writer; nothing is connected to yet.
pub(super) fn open(request: &str) -> Result<i64, NativeError> {
    Ok(WRITERS.insert(Writer::open(request)?))
}

/// Appends the rows of a block; whether there is room for more.
pub(super) fn append(handle: i64, block: &[u8]) -> Result<bool, NativeError> {
    Ok(WRITERS.find(handle)?.lock().append(block)?)
}

/// Waits for room; whether there is some.
pub(super) fn drain(handle: i64, limit: Duration) -> Result<bool, NativeError> {
    Ok(WRITERS.find(handle)?.lock().drain(limit)?)
}

/// Waits for the acknowledgement of everything; `None` when it has not come.
pub(super) fn flush(handle: i64, limit: Duration) -> Result<Option<String>, NativeError> {
    Ok(WRITERS.find(handle)?.lock().flush(limit)?)
}

/// Aborts what is not flushed, and forgets the writer; a number that is not known is none.
pub(super) fn abort(handle: i64) -> Result<(), NativeError> {
    let writer = WRITERS.remove(handle);
    Ok(writer.map_or(Ok(()), |writer| writer.lock().abort())?)
}

/// Forgets the writer.
pub(super) fn close(handle: i64) {
    WRITERS.remove(handle);
}
