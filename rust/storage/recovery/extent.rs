//! The offset that a log must reach, by the state files of its directory, and what happens when it does not.
//!
//! - (a) A clean stop leaves the end offsets of all logs and a digest of their files ([`ClosedLog`]).
//! - (b) The recovery point is always a lower bound of the log end offset: it moves only after an fsync.
//! - (c) The high watermark is a lower bound too, unless power was lost: records that were acknowledged from the page
//!   cache may be gone then. So a log that ends below its high watermark is opened, and the loss is reported.
//!
//! Records that are missing below (a) or (b) were durable: no crash took them. [`OnLoss`] says what happens then.

use std::path::Path;
use std::sync::atomic::AtomicU64;

use super::report::{Note, RecoveryReport};
use crate::closed_logs::ClosedLog;
use crate::partition_dir::PartitionDir;
use crate::topic_partition::TopicPartition;
use base::error::{Error, Result};
use base::place::Offset;

/// The checkpoints' values for a log, and the counters of the start.
#[derive(Clone, Copy)]
pub struct LoadArgs<'a> {
    /// From `recovery-point-offset-checkpoint`; 0 when it has no entry.
    pub recovery_point: Offset,
    /// From `log-start-offset-checkpoint`; 0 when it has no entry.
    pub log_start_offset: Offset,
    /// From `cleaner-offset-checkpoint`; `None` when it has no entry.
    pub first_dirty_offset: Option<Offset>,
    /// The broker stopped cleanly.
    pub clean_shutdown: bool,
    /// How far the log must reach.
    pub extent: Extent<'a>,
    /// Counters that are updated while the log is opened.
    pub progress: &'a RecoveryProgress,
}

/// Counters that many logs share while they are opened.
#[derive(Debug, Default)]
pub struct RecoveryProgress {
    /// Segments that must be read.
    pub segments_to_check: AtomicU64,
    /// Segments that have been read.
    pub segments_checked: AtomicU64,
    /// Bytes read and found good.
    pub bytes_checked: AtomicU64,
    /// Bytes cut off.
    pub bytes_cut: AtomicU64,
}

/// What happens to a log that lacks durable records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnLoss {
    /// [`Error::Lost`]: nothing is changed.
    #[default]
    Refuse,
    /// As `Refuse`, but a log that only ends too early is opened with [`RecoveryReport::is_short`] set: another
    /// replica has the rest.
    ReportShort,
    /// The log is a copy: the records that are left may be used.
    Ignore,
}

/// See the module.
#[derive(Debug, Clone, Copy)]
pub struct Extent<'a> {
    /// (a)
    pub closed: Option<ClosedLog>,
    /// (c); 0 when unknown.
    pub high_watermark: Offset,
    /// There is no recovery-point checkpoint that can be read, though the broker has written checkpoints before.
    pub is_recovery_point_lost: bool,
    /// The recovery-point checkpoint has an entry of the log; it has none of a log that was made since it was written,
    /// or that somebody has put there.
    pub is_listed: bool,
    /// When the recovery-point checkpoint was written, in ms: a sealed segment below it that changed since is read
    /// whole.
    pub checkpoint_ms: Option<i64>,
    /// What happens to a log that lacks durable records.
    pub on_loss: OnLoss,
    /// Losses at these log end offsets have been accepted (`kafkastore.accept.log.loss`).
    pub accepted: &'a [Offset],
    /// Most bytes that the `.cut` files of the partition may have.
    pub cut_max_bytes: u64,
}

/// A segment of the default size.
const DEFAULT_CUT_MAX_BYTES: u64 = 1 << 30;

impl Default for Extent<'_> {
    fn default() -> Self {
        Self {
            closed: None,
            high_watermark: Offset(0),
            is_recovery_point_lost: false,
            is_listed: true,
            checkpoint_ms: None,
            on_loss: OnLoss::Refuse,
            accepted: &[],
            cut_max_bytes: DEFAULT_CUT_MAX_BYTES,
        }
    }
}

impl LoadArgs<'_> {
    /// The lower bound of the log end offset, by (a) or (b).
    pub(super) fn must_reach(&self) -> Offset {
        self.extent.closed.map_or(self.recovery_point, |closed| closed.log_end)
    }

    /// What a log lacks that ends at `end`, below [`must_reach`](Self::must_reach).
    pub(super) fn short_of(&self, end: Offset) -> String {
        let must_reach = self.must_reach();
        format!(
            "it ends at offset {end}, but {} says that the log reached {must_reach}: {} records (offsets {end} to {}) \
             are missing",
            self.witness(),
            must_reach - end,
            must_reach - 1
        )
    }

    /// The source of [`must_reach`](Self::must_reach), for messages.
    fn witness(&self) -> &'static str {
        if self.extent.closed.is_some() {
            "the clean stop"
        } else {
            "its recovery point"
        }
    }

    /// The log start offset: the clean stop knows it better than the checkpoint, which has no checksum.
    pub(super) fn log_start(&self) -> Offset {
        self.extent
            .closed
            .map_or(self.log_start_offset, |closed| closed.log_start)
            .max(Offset(0))
    }
}

/// The base offset of the first segment of a log that has no segment files. [`Error::Lost`] when the log had
/// durable records, unless that is ignored or accepted.
pub(super) fn begin_without_segments(dir: &PartitionDir, args: &LoadArgs<'_>, notes: &mut Vec<Note>) -> Result<Offset> {
    let (start, must_reach) = (args.log_start(), args.must_reach());
    if must_reach <= start || args.extent.on_loss == OnLoss::Ignore {
        return Ok(start.max(if args.extent.closed.is_some() {
            must_reach
        } else {
            Offset(0)
        }));
    }
    let reason = format!(
        "no segment is there, but {} says that the log reached offset {must_reach}: {} records (offsets {start} to \
         {}) are missing",
        args.witness(),
        must_reach - start,
        must_reach - 1
    );
    if args.extent.accepted.contains(&start) {
        notes.push(Note::loss(format!(
            "{}: {}: {reason}; accepted, it goes on at offset {must_reach}",
            dir.partition(),
            dir.path().display()
        )));
        return Ok(must_reach);
    }
    Err(Error::Lost {
        path: dir.path().to_path_buf(),
        reason,
        log_end_offset: start,
    })
}

/// Durable records that a log lacks.
pub(super) struct Loss<'a> {
    pub(super) partition: &'a TopicPartition,
    pub(super) path: &'a Path,
    pub(super) log_end_offset: Offset,
    /// The log only ends too early; false: something before its end is missing, or can be read no more.
    pub(super) is_short: bool,
    pub(super) reason: String,
}

impl Loss<'_> {
    /// [`Error::Lost`], unless the loss is ignored, accepted or only noted in the report.
    pub(super) fn judge(self, args: &LoadArgs<'_>, report: &mut RecoveryReport) -> Result<()> {
        let named = format!("{}: {}: {}", self.partition, self.path.display(), self.reason);
        match args.extent.on_loss {
            OnLoss::Ignore => {}
            _ if args.extent.accepted.contains(&self.log_end_offset) => {
                if !std::mem::replace(&mut report.is_accepted, true) {
                    report.notes.push(Note::loss(format!("{named}; accepted")));
                }
            }
            OnLoss::ReportShort if self.is_short => {
                if !std::mem::replace(&mut report.is_short, true) {
                    let text = format!("{named}; it is fetched again from the leader");
                    report.notes.push(Note::loss(text));
                }
            }
            _ => {
                return Err(Error::Lost {
                    path: self.path.to_path_buf(),
                    reason: self.reason,
                    log_end_offset: self.log_end_offset,
                });
            }
        }
        Ok(())
    }
}
