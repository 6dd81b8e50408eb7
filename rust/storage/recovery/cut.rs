//! Cutting a log where recovery found its end. The bytes that are cut off are surveyed, kept beside the log when they
//! may have been acknowledged, and named in the report.
//!
//! - (a) A tail that was never whole (the last segment ends within a batch, or in zeros, and no whole batch follows) is
//!   the ordinary result of a crash: it is cut, and reported as ordinary.
//! - (b) Any other tail is kept in `.cut` files and reported as a loss: its bytes, whole batches and their records,
//!   offsets, and its place.
//!
//! The `.cut` files are durable before the log is cut. Later segments are removed from the last one backwards, then the
//! tail is cut: a crash leaves a longer log, which the next start cuts again, and never a hole, which would go unseen
//! in a compacted log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::extent::{LoadArgs, Loss, OnLoss};
use super::report::{Note, RecoveryReport};
use super::survey::Survey;
use crate::cut_files;
use crate::partition_dir::PartitionDir;
use crate::segment::{Segment, SegmentFile};
use crate::segments::Segments;
use crate::state_file;
use base::error::Result;
use base::place::{Offset, Position};

/// The reason why a log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Bytes that are no batch, or a batch that does not fit its place.
    Bad,
    /// The file ends within a batch.
    Torn,
    /// Zeros up to the end of the file.
    Zeros,
    /// The next segment does not follow on.
    Gap,
}

/// Where and why a log ends in one of its segments.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) kind: Kind,
    pub(super) reason: String,
    /// The position in the segment where the last good batch ends.
    pub(super) position: Position,
    /// The end of the segment's file.
    pub(super) file_end: Position,
}

/// The cut of a log in one of its segments.
pub(super) struct Cut<'r> {
    pub(super) dir: &'r PartitionDir,
    pub(super) segments: &'r mut Segments,
    /// The place of the segment.
    pub(super) at: usize,
    /// The log's end, and the offset below which its records were durable.
    pub(super) end: Offset,
    pub(super) recovery_point: Offset,
    pub(super) ending: Ending,
    pub(super) args: &'r LoadArgs<'r>,
    pub(super) report: &'r mut RecoveryReport,
}

impl Cut<'_> {
    /// Ends the log there; returns the number of bytes that were cut off. `Error::Lost` when they were durable, unless
    /// that is reported or accepted.
    pub(super) fn run(mut self) -> Result<u64> {
        let (args, end, durable) = (self.args, self.end, self.recovery_point);
        let log = Arc::clone(self.segments.at(self.at).log());
        let (position, found) = (self.ending.position, self.ending.reason.clone());
        let is_damaged = matches!(self.ending.kind, Kind::Bad | Kind::Gap) && end < durable
            || self.segments.next_base(self.at).is_some_and(|next| next <= durable);
        if is_damaged {
            let reason = format!(
                "position {position}: {found}; everything up to offset {durable} was durable, and offset {end} begins \
                 there"
            );
            self.lost(&log.path, reason, false)?;
        } else if end < args.must_reach() {
            let reason = format!("position {position}: {found}; {}", args.short_of(end));
            self.lost(&log.path, reason, true)?;
        }
        let mut survey = Survey::new(end);
        survey.look(&*log.file, &log.path, position..self.ending.file_end)?;
        for later in self.segments.all_from(self.at + 1) {
            survey.look(&*later.log().file, &later.log().path, Position::START..later.end())?;
        }
        if args.extent.is_recovery_point_lost && (survey.batches > 0 || survey.is_cut_short) {
            let at_least = if survey.is_cut_short { "at least " } else { "" };
            let reason = format!(
                "position {position}: {found}, and {at_least}{} whole batches ({} records, up to offset {}) stand \
                 behind it; without the recovery-point checkpoint nobody knows whether they were durable",
                survey.batches,
                survey.records,
                survey.end_offset - 1
            );
            self.lost(&log.path, reason, false)?;
        }
        self.carry_out(&log, &survey)
    }

    fn lost(&mut self, path: &Path, reason: String, is_short: bool) -> Result<()> {
        let loss = Loss {
            partition: self.dir.partition(),
            path,
            log_end_offset: self.end,
            is_short,
            reason,
        };
        loss.judge(self.args, self.report)
    }

    fn carry_out(mut self, log: &SegmentFile, survey: &Survey) -> Result<u64> {
        let (args, at, end) = (self.args, self.at, self.end);
        let base_offset = self.segments.at(at).base_offset();
        let (position, file_end) = (self.ending.position, self.ending.file_end);
        let tail = file_end - position;
        let later_bytes: u64 = self.segments.all_from(at + 1).map(Segment::size).sum();
        let is_torn = matches!(self.ending.kind, Kind::Torn | Kind::Zeros)
            && survey.batches == 0
            && !survey.is_cut_short
            && later_bytes == 0;
        let known_end = survey.end_offset.max(args.must_reach()).max(args.extent.high_watermark);
        let is_kept = args.extent.on_loss != OnLoss::Ignore && !(is_torn && known_end <= end);
        let mut kept = Vec::new();
        if is_kept && tail > 0 {
            let (fs, dir, max_bytes) = (&**self.dir.fs(), self.dir.path(), args.extent.cut_max_bytes);
            let range = position..file_end;
            kept.push(cut_files::keep_tail(
                fs,
                dir,
                base_offset,
                &*log.file,
                range,
                max_bytes,
            )?);
        }
        let later_count = self.segments.count() - at - 1;
        while self.segments.count() > at + 1 {
            kept.extend(self.remove_last_segment(is_kept)?);
        }
        if let Some(segment) = self.segments.get_mut(at) {
            segment.cut(position)?;
        }
        let bytes = tail + later_bytes;
        let kept_in = trim_kept(self.dir, kept, bytes, args)?;
        let reason = self.ending.reason;
        self.report.cut_reason = Some(reason.clone());
        if bytes == 0 || args.extent.on_loss == OnLoss::Ignore {
            return Ok(bytes);
        }
        let (partition, path) = (self.dir.partition(), log.path.display());
        let head = format!("{partition}: {path}: cut at position {position}, offset {end}: {reason}; {bytes} bytes");
        self.report.notes.push(if is_kept {
            let of_later = if later_count > 0 {
                format!(" ({later_count} later segments among them)")
            } else {
                String::new()
            };
            let records = named_records(survey, end, known_end);
            Note::loss(format!("{head}{of_later} with {records}{kept_in}"))
        } else {
            Note::ordinary(format!("{head} of a batch that was never whole"))
        });
        Ok(bytes)
    }

    /// Unlinks the files of the last segment. With `is_kept` a `.log` that has bytes is renamed instead; returns its
    /// new path.
    fn remove_last_segment(&mut self, is_kept: bool) -> Result<Option<PathBuf>> {
        let (fs, dir, last) = (&**self.dir.fs(), self.dir.path(), self.segments.active());
        let (base_offset, has_bytes) = (last.base_offset(), last.size() > 0);
        let [log, indexes @ ..] = Segment::paths(dir, base_offset);
        let mut kept = None;
        if is_kept && has_bytes {
            kept = Some(cut_files::keep_segment(fs, dir, base_offset, &log)?);
        } else {
            state_file::remove(fs, &log)?;
        }
        for path in indexes {
            state_file::remove(fs, &path)?;
        }
        self.segments.pop();
        Ok(kept)
    }
}

/// Keeps all batches of a log that starts anew at its log start offset, `start`, which lies above its end: by the
/// checkpoint, all its records were deleted. Returns the note about it, if there were any.
pub(super) fn keep_all(
    dir: &PartitionDir,
    segments: &Segments,
    start: Offset,
    end: Offset,
    args: &LoadArgs<'_>,
) -> Result<Option<Note>> {
    let bytes = segments.size_bytes();
    if bytes == 0 || args.extent.on_loss == OnLoss::Ignore {
        return Ok(None);
    }
    let mut kept = Vec::new();
    for segment in segments.all() {
        let (base_offset, file, range) = (
            segment.base_offset(),
            &*segment.log().file,
            Position::START..segment.end(),
        );
        let max_bytes = args.extent.cut_max_bytes;
        kept.push(cut_files::keep_tail(
            &**dir.fs(),
            dir.path(),
            base_offset,
            file,
            range,
            max_bytes,
        )?);
    }
    let kept_in = trim_kept(dir, kept, bytes, args)?;
    let (first, partition) = (segments.first().base_offset(), dir.partition());
    Ok(Some(Note::loss(format!(
        "{partition}: the log start offset {start} of the checkpoint lies above the log's end {end}: {bytes} bytes \
         with the records of offsets {first} to {} are cut off, the log begins at {start}{kept_in}",
        end - 1
    ))))
}

/// Deletes `.cut` files beyond their bounds, and returns a phrase that names the files that hold the cut `bytes`.
fn trim_kept(dir: &PartitionDir, mut kept: Vec<PathBuf>, bytes: u64, args: &LoadArgs<'_>) -> Result<String> {
    if kept.is_empty() {
        return Ok(String::new());
    }
    let gone = cut_files::trim(&**dir.fs(), dir.path(), args.extent.cut_max_bytes)?;
    kept.retain(|path| !gone.contains(path));
    let sizes = kept.iter().map(|path| dir.fs().metadata_len(path).unwrap_or(0));
    let kept_bytes: u64 = sizes.sum();
    let less = if kept_bytes < bytes {
        format!("; only {kept_bytes} bytes are within kafkastore.cut.files.max.bytes")
    } else {
        String::new()
    };
    Ok(match kept.as_slice() {
        [] => less,
        [one] => format!("{less}; kept in {}", one.display()),
        [first, rest @ ..] => format!("{less}; kept in {} and {} more .cut files", first.display(), rest.len()),
    })
}

/// A phrase that names the records in the cut bytes, as far as they are known.
fn named_records(survey: &Survey, end: Offset, known_end: Offset) -> String {
    let offsets = if known_end > end {
        format!("offsets {end} to {}", known_end - 1)
    } else {
        format!("offsets from {end} on")
    };
    let more = if survey.is_cut_short { " and maybe more" } else { "" };
    match survey.batches {
        0 if survey.is_cut_short => format!("maybe whole batches behind it, {offsets}"),
        0 => format!("no whole batch behind it, {offsets}"),
        batches => format!(
            "{batches} whole batches of {} records{more} behind it, {offsets}",
            survey.records
        ),
    }
}
