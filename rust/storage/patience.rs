//! Repeating calls that met a shortage (see [`base::error::shortage`]), for callers that may wait: a start, a stop,
//! the disk threads.
//!
//! Never on a network loop, and never under the lock of a log that is served.

use std::thread;
use std::time::Duration;

use ::io::FileSystem;
use base::error::Result;

/// The pause before a call that met a shortage is repeated.
pub const REST: Duration = Duration::from_millis(100);
/// Attempts: five seconds.
const ATTEMPTS: u32 = 50;

/// Repeats `call` until it meets no shortage: the first time at once, then after a pause each time. Returns the
/// shortage after some seconds.
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
#[path = "patience_tests.rs"]
mod tests;
