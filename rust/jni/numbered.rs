//! Things that Java knows by a number. A number is given once and never again, so a stale one finds nothing.
//!
//! The table is locked to look up; each thing has a lock of its own while it works. What is removed while another
//! thread works with it lives until that call returns.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::errors::NativeError;

/// See the module.
pub(super) struct Numbered<T> {
    /// What one is called in a sentence.
    what: &'static str,
    table: Mutex<Table<T>>,
}

struct Table<T> {
    last: i64,
    open: HashMap<i64, Arc<Mutex<T>>>,
}

impl<T> Numbered<T> {
    pub(super) fn new(what: &'static str) -> Self {
        let open = HashMap::new();
        Self {
            what,
            table: Mutex::new(Table { last: 0, open }),
        }
    }

    pub(super) fn insert(&self, one: T) -> i64 {
        let mut table = self.table.lock();
        table.last += 1;
        let handle = table.last;
        table.open.insert(handle, Arc::new(Mutex::new(one)));
        handle
    }

    pub(super) fn find(&self, handle: i64) -> Result<Arc<Mutex<T>>, NativeError> {
        let found = self.table.lock().open.get(&handle).cloned();
        found.ok_or_else(|| {
            NativeError::Failed(format!(
                "there is no open {} {handle}; it was closed, or never opened",
                self.what
            ))
        })
    }

    /// Forgets it; `None` for a number that is not known. Drop it outside of other locks.
    pub(super) fn remove(&self, handle: i64) -> Option<Arc<Mutex<T>>> {
        self.table.lock().open.remove(&handle)
    }
}
