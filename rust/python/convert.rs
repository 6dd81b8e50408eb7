//! Values across the boundary: topic ids, paths, configurations, durations.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use base::error::Result;
use broker::TopicId;
use storage::LogConfig;

/// Kafka's topic configs by name, values as text.
pub type ConfigMap = HashMap<String, String>;

/// Sixteen bytes.
pub fn topic_id(bytes: &[u8]) -> PyResult<TopicId> {
    bytes
        .try_into()
        .map_err(|_| PyValueError::new_err(format!("a topic id has 16 bytes, not {}", bytes.len())))
}

/// A topic's configuration.
pub fn log_config(pairs: &ConfigMap) -> Result<Arc<LogConfig>> {
    LogConfig::from_pairs(pairs.iter().map(|(k, v)| (k.as_str(), v.as_str()))).map(Arc::new)
}

/// Milliseconds; negative counts as none.
pub fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

/// A path as Python shows it.
pub fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
