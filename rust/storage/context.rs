//! What all logs of a broker share: the disk, the clock, and what the configuration says about producers.

use std::sync::Arc;

use super::producer_state::ProducerStateConfig;
use ::io::{Clock, Descriptors, FileSystem, KeptFileSystem, OsFileSystem, SystemClock};

/// See the module.
#[derive(Clone)]
pub struct LogContext {
    /// The disk.
    pub fs: Arc<dyn FileSystem>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Producer expiry and transaction verification.
    pub producers: ProducerStateConfig,
}

impl LogContext {
    /// As [`Self::system`], with as many files open at a time as the process has descriptors for.
    pub fn of_process() -> Self {
        let fs = Arc::new(KeptFileSystem::new(Arc::new(OsFileSystem), Descriptors::of_process()));
        Self { fs, ..Self::system() }
    }

    /// The machine's files and clock, Kafka's defaults.
    pub fn system() -> Self {
        Self {
            fs: Arc::new(OsFileSystem),
            clock: Arc::new(SystemClock),
            producers: ProducerStateConfig::default(),
        }
    }
}
