//! The open writers of tasks, by number. A number is given once and never again, so a stale one finds nothing.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parking_lot::Mutex;

use super::errors::NativeError;
use crate::producer::requests::Writer;

#[derive(Default)]
struct Table {
    last: i64,
    writers: HashMap<i64, Arc<Mutex<Writer>>>,
}

static WRITERS: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);

/// Opens a writer; nothing is connected to yet.
pub(super) fn open(request: &str) -> Result<i64, NativeError> {
    let writer = Writer::open(request)?;
    let mut table = WRITERS.lock();
    table.last += 1;
    let handle = table.last;
    table.writers.insert(handle, Arc::new(Mutex::new(writer)));
    Ok(handle)
}

/// Appends the rows of a block; whether there is room for more.
pub(super) fn append(handle: i64, block: &[u8]) -> Result<bool, NativeError> {
    Ok(find(handle)?.lock().append(block)?)
}

/// Waits for room; whether there is some.
pub(super) fn drain(handle: i64, limit: Duration) -> Result<bool, NativeError> {
    Ok(find(handle)?.lock().drain(limit)?)
}

/// Waits for the acknowledgement of everything; `None` when it has not come.
pub(super) fn flush(handle: i64, limit: Duration) -> Result<Option<String>, NativeError> {
    Ok(find(handle)?.lock().flush(limit)?)
}

/// Aborts what is not flushed, and forgets the writer; a number that is not known is none.
pub(super) fn abort(handle: i64) -> Result<(), NativeError> {
    let writer = WRITERS.lock().writers.remove(&handle);
    Ok(writer.map_or(Ok(()), |writer| writer.lock().abort())?)
}

/// Forgets the writer.
pub(super) fn close(handle: i64) {
    let writer = WRITERS.lock().writers.remove(&handle);
    drop(writer); // outside of the table's lock
}

fn find(handle: i64) -> Result<Arc<Mutex<Writer>>, NativeError> {
    let found = WRITERS.lock().writers.get(&handle).cloned();
    found.ok_or_else(|| {
        NativeError::Failed(format!(
            "there is no open writer {handle}; it was closed, or never opened"
        ))
    })
}
