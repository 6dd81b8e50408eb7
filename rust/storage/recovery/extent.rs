//! The offset that a log must reach, by the state files of its directory, and what happens when it does not.
//!
//! - (a) A clean stop leaves the end offsets of all logs and a digest of their files ([`ClosedLog`]).
//! - (b) The recovery point is always a lower bound of the log end offset: it moves only after an fsync.
//! - (c) The high watermark is a lower bound too, unless power was lost: records that were acknowledged from the page
//!   cache may be gone then. So a log that ends below its high watermark is opened, and the loss is reported.
//!
//! Records that are missing below (a) or (b) were durable: no crash took them. [`OnLoss`] says what happens then.

use std::path::Path;
use std::sync::Arc;

use super::{LoadArgs, Note};
use crate::closed_logs::ClosedLog;
use crate::log::Log;
use crate::segment::Segment;
use crate::topic_partition::TopicPartition;
use base::error::{Error, Result};
use base::place::Offset;

/// What happens to a log that lacks durable records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnLoss {
    /// [`Error::Lost`]: nothing is changed.
    #[default]
    Refuse,
    /// As `Refuse`, but a log that only ends too early is opened with [`super::RecoveryReport::is_short`] set: another
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

/// What a log lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// Its end.
    Short,
    /// Something before its end, or bytes that can be read no more.
    Damaged,
}

impl LoadArgs<'_> {
    /// The lower bound of the log end offset, by (a) or (b).
    pub(super) fn must_reach(&self) -> Offset {
        self.extent.closed.map_or(self.recovery_point, |closed| closed.log_end)
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

impl Log {
    /// The base offset of the first segment of a log that has no segment files. [`Error::Lost`] when the log had
    /// durable records, unless that is ignored or accepted.
    pub(super) fn begin_without_segments(
        dir: &Path,
        topic_partition: &TopicPartition,
        args: &LoadArgs<'_>,
        notes: &mut Vec<Note>,
    ) -> Result<Offset> {
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
                "{topic_partition}: {}: {reason}; accepted, it goes on at offset {must_reach}",
                dir.display()
            )));
            return Ok(must_reach);
        }
        Err(Error::Lost {
            path: dir.to_path_buf(),
            reason,
            log_end_offset: start,
        })
    }

    /// Reports that durable records behind the log's present end are gone: [`Error::Lost`], unless the loss is ignored,
    /// accepted or only noted.
    pub(super) fn lost(&mut self, loss: Loss, path: &Path, reason: String, args: &LoadArgs<'_>) -> Result<()> {
        let end = self.offsets.end();
        let partition = &self.topic_partition;
        match args.extent.on_loss {
            OnLoss::Ignore => Ok(()),
            _ if args.extent.accepted.contains(&end) => {
                if !std::mem::replace(&mut self.report.is_accepted, true) {
                    let text = format!("{partition}: {}: {reason}; accepted", path.display());
                    self.report.notes.push(Note::loss(text));
                }
                Ok(())
            }
            OnLoss::ReportShort if loss == Loss::Short => {
                if !std::mem::replace(&mut self.report.is_short, true) {
                    let text = format!(
                        "{partition}: {}: {reason}; it is fetched again from the leader",
                        path.display()
                    );
                    self.report.notes.push(Note::loss(text));
                }
                Ok(())
            }
            _ => Err(Error::Lost {
                path: path.to_path_buf(),
                reason,
                log_end_offset: end,
            }),
        }
    }

    /// Checks, after the log has been read, that it has all records that it must have. `orphans` are the base offsets
    /// of segments of which only index files are left.
    pub(super) fn check_extent(&mut self, args: &LoadArgs<'_>, orphans: &[Offset]) -> Result<()> {
        let (end, must_reach) = (self.offsets.end(), args.must_reach());
        let path = Arc::clone(self.segments.active().log());
        if end < must_reach {
            let reason = self.short_of(must_reach, args);
            self.lost(Loss::Short, &path.path, reason, args)?;
        }
        self.check_first_segment(args, orphans)?;
        let high_watermark = args.extent.high_watermark;
        let is_said = self.report.is_short || self.report.is_accepted;
        if end < high_watermark && args.extent.on_loss != OnLoss::Ignore && !is_said {
            let text = format!(
                "{}: {}: it ends at offset {end}, but its high watermark was {high_watermark}: {} records (offsets \
                 {end} to {}) that were acknowledged are gone",
                self.topic_partition,
                path.path.display(),
                high_watermark - end,
                high_watermark - 1
            );
            self.report.notes.push(Note::loss(text));
        }
        Ok(())
    }

    pub(super) fn short_of(&self, must_reach: Offset, args: &LoadArgs<'_>) -> String {
        let end = self.offsets.end();
        format!(
            "it ends at offset {end}, but {} says that the log reached {must_reach}: {} records (offsets {end} to {}) \
             are missing",
            args.witness(),
            must_reach - end,
            must_reach - 1
        )
    }

    /// Checks that the first segments are not gone: the broker raises the log start offset before it deletes a segment.
    fn check_first_segment(&mut self, args: &LoadArgs<'_>, orphans: &[Offset]) -> Result<()> {
        let first = self.segments.first().base_offset();
        let orphan = orphans.first().copied().filter(|orphan| *orphan < first);
        let known = args.extent.closed.map(|closed| closed.first_base).or(orphan);
        let Some(known) = known.filter(|known| *known < first && first > args.log_start()) else {
            return Ok(());
        };
        let from = known.max(args.log_start());
        let [path, ..] = Segment::paths(&self.dir, known);
        let reason = format!(
            "it is missing, and the log begins at offset {first}: {} records (offsets {from} to {}) are missing",
            first - from,
            first - 1
        );
        self.lost(Loss::Damaged, &path, reason, args)
    }

    /// The place of the segment from which on every batch must be read: the first of the `below` sealed segments whose
    /// file changed after the checkpoint was written, which the broker never does, or else `below`.
    pub(super) fn first_changed(&self, below: usize, args: &LoadArgs<'_>) -> Result<usize> {
        let Some(written_ms) = args.extent.checkpoint_ms else {
            return Ok(below);
        };
        for (at, segment) in self.segments.all().enumerate().take(below) {
            let path = &segment.log().path;
            let metadata = self
                .context
                .fs
                .metadata(path)
                .map_err(|error| Error::io("stat", path, error))?;
            if metadata.modified_ms > written_ms {
                return Ok(at);
            }
        }
        Ok(below)
    }

    /// Checks that each of the first `count` segments, which are durable, ends where the next one begins; only
    /// compaction leaves gaps.
    pub(super) fn check_sealed(&mut self, count: usize, args: &LoadArgs<'_>) -> Result<()> {
        let fs = self.fs();
        for at in 0..count {
            let (Some(segment), Some(next)) = (self.segments.get(at), self.segments.get(at + 1)) else {
                break;
            };
            let (next_base, segment_end, file) = (next.base_offset(), segment.end(), Arc::clone(segment.log()));
            let mut end = segment.base_offset();
            let mut scan = segment.scan(segment.start_for(&*fs, Offset::MAX)?);
            let damage = loop {
                match scan.next_header() {
                    Ok(Some((_, header))) => end = header.next_offset(),
                    Ok(None) => break None,
                    Err(Error::CorruptFile { reason, .. }) => break Some(reason),
                    Err(error) => return Err(error),
                }
            };
            let position = scan.position();
            let has_gap = end < next_base && !self.was_compacted(at, next_base, false)?;
            if damage.is_none() && position == segment_end && !has_gap {
                continue;
            }
            let what = damage.unwrap_or_else(|| "it ends there".to_owned());
            let reason = format!(
                "position {position}: {what}; offset {end} and what follows up to the next segment, {next_base}, were \
                 durable: {} records (offsets {end} to {}) are missing",
                next_base - end,
                next_base - 1
            );
            self.offsets.end_at(end);
            self.lost(Loss::Damaged, &file.path, reason, args)?;
        }
        Ok(())
    }
}
