//! [`Disk`]: what a simulated broker keeps when its process dies, and its clock.

use std::sync::Arc;

use pyo3::prelude::*;

use ::io::{FaultFileSystem, ManualClock, OsFileSystem};
use storage::{LogContext, ProducerStateConfig};

/// The disk and the wall clock of one broker, which outlive its crashes.
#[pyclass(frozen, module = "kafkastore._simulator")]
pub struct Disk {
    files: FaultFileSystem,
    clock: Arc<ManualClock>,
}

impl Disk {
    /// The context with which logs are opened.
    pub fn context(&self) -> LogContext {
        LogContext {
            fs: Arc::new(self.files.clone()),
            clock: self.clock.clone(),
            producers: ProducerStateConfig::default(),
        }
    }
}

#[pymethods]
impl Disk {
    #[new]
    fn new(now_ms: i64) -> Self {
        Self {
            files: FaultFileSystem::new(Arc::new(OsFileSystem)),
            clock: Arc::new(ManualClock::new(now_ms)),
        }
    }

    fn set_time(&self, now_ms: i64) {
        self.clock.set(now_ms);
    }

    /// A power failure: files are cut to where they were last synced. The broker must have been dropped.
    fn lose_unsynced(&self) -> PyResult<()> {
        Ok(self.files.lose_unsynced()?)
    }
}
