//! The configuration of compaction.

/// The `log.cleaner.*` keys that a cleaning needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CleanerConfig {
    /// `log.cleaner.threads`; the memory below is for all of them.
    pub threads: usize,
    /// `log.cleaner.dedupe.buffer.size`.
    pub dedupe_buffer_bytes: usize,
    /// `log.cleaner.io.buffer.load.factor`.
    pub load_factor: f64,
    /// `log.cleaner.io.buffer.size`: half of it for reading, half for writing.
    pub io_buffer_bytes: usize,
    /// `log.cleaner.io.max.bytes.per.second`, read and written.
    pub max_bytes_per_second: f64,
}

impl Default for CleanerConfig {
    /// Kafka's defaults.
    fn default() -> Self {
        Self {
            threads: 1,
            dedupe_buffer_bytes: 128 << 20,
            load_factor: 0.9,
            io_buffer_bytes: 512 << 10,
            max_bytes_per_second: f64::MAX,
        }
    }
}

impl CleanerConfig {
    /// Bytes of one thread's map; Kafka's limit of 2 GB holds for it, too.
    pub(super) fn map_bytes(&self) -> usize {
        (self.dedupe_buffer_bytes / self.threads.max(1)).min(i32::MAX as usize)
    }

    /// Bytes of one thread's buffer for reading, and of its buffer for writing.
    pub(super) fn piece_bytes(&self) -> usize {
        self.io_buffer_bytes / self.threads.max(1) / 2
    }
}
