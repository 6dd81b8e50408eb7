//! Repeating what met a shortage (see [`crate::error::shortage`]), for callers that may wait: a start, a stop, the disk
//! threads.
//!
//! Never on a network loop, and never under the lock of a log that is served.

use std::thread;
use std::time::Duration;

use crate::error::Result;
use crate::io::FileSystem;

/// How long to rest before what met a shortage is tried again.
pub const REST: Duration = Duration::from_millis(100);
/// Attempts: five seconds.
const ATTEMPTS: u32 = 50;

/// Calls until there is no shortage, the first time again at once, and gives up after some seconds.
pub fn patiently<T>(fs: &dyn FileSystem, mut call: impl FnMut() -> Result<T>) -> Result<T> {
    let mut attempts = 0;
    loop {
        match call() {
            Err(error) if error.is_shortage() && attempts < ATTEMPTS => {
                fs.relieve();
                if attempts > 0 {
                    thread::sleep(REST);
                }
                attempts += 1;
            }
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests;
