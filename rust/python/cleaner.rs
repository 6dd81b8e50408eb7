//! The log cleaner's reports and figures as frozen Python objects.

use pyo3::prelude::*;

use super::convert::path;
use broker::{CleanerFigures, CleanerOutcome, CleanerReport};

/// A cleaning that has ended.
#[pyclass(frozen, get_all, name = "CleanerReport", module = "kafkastore._core")]
pub struct PyCleanerReport {
    topic: String,
    partition: i32,
    log_dir: String,
    outcome: &'static str,
    reason: String,
    first_dirty_offset: i64,
    end_offset: i64,
    indexed_bytes: u64,
    read_bytes: u64,
    written_bytes: u64,
    read_records: u64,
    kept_records: u64,
    records_without_key: u64,
    map_utilization: f64,
    indexing_s: f64,
    elapsed_s: f64,
}

impl PyCleanerReport {
    /// The values of `report`.
    pub fn of(report: CleanerReport) -> Self {
        let (outcome, reason) = match report.outcome {
            CleanerOutcome::Cleaned => ("cleaned", String::new()),
            CleanerOutcome::Stopped => ("stopped", String::new()),
            CleanerOutcome::Uncleanable(reason) => ("uncleanable", reason),
            CleanerOutcome::Resting(reason) => ("resting", reason),
            CleanerOutcome::Failed(reason) => ("failed", reason),
        };
        let stats = report.stats;
        Self {
            topic: report.partition.topic.to_string(),
            partition: report.partition.partition,
            log_dir: path(&report.log_dir),
            outcome,
            reason,
            first_dirty_offset: report.cleanable.first_dirty.get(),
            end_offset: report.end.get(),
            indexed_bytes: stats.indexed_bytes,
            read_bytes: stats.read_bytes,
            written_bytes: stats.written_bytes,
            read_records: stats.read_records,
            kept_records: stats.kept_records,
            records_without_key: stats.records_without_key,
            map_utilization: stats.map_utilization,
            indexing_s: report.indexing.as_secs_f64(),
            elapsed_s: report.elapsed.as_secs_f64(),
        }
    }
}

/// The figures of the last look at all logs.
#[pyclass(frozen, get_all, name = "CleanerFigures", module = "kafkastore._core")]
pub struct PyCleanerFigures {
    max_dirty_ratio: f64,
    max_compaction_delay_ms: i64,
    last_run_ms: i64,
    uncleanable: Vec<(String, usize, u64)>,
    dirty_ratios: Vec<(String, i32, f64)>,
}

impl PyCleanerFigures {
    /// The values of `figures`.
    pub fn of(figures: &CleanerFigures) -> Self {
        let uncleanable = figures.uncleanable.iter();
        let rows = figures.dirty_ratios.iter();
        Self {
            max_dirty_ratio: figures.max_dirty_ratio,
            max_compaction_delay_ms: figures.max_compaction_delay_ms,
            last_run_ms: figures.last_run_ms,
            uncleanable: uncleanable
                .map(|(log_dir, logs, bytes)| (path(log_dir), *logs, *bytes))
                .collect(),
            dirty_ratios: rows
                .map(|(topic, partition, ratio)| (topic.to_string(), *partition, *ratio))
                .collect(),
        }
    }
}
