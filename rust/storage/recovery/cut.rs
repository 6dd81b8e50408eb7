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

use std::path::PathBuf;
use std::sync::Arc;

use super::extent::Loss;
use super::survey::Survey;
use super::{LoadArgs, Note, OnLoss};
use crate::cut_files;
use crate::log::Log;
use crate::segment::Segment;
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

impl Log {
    /// Ends the log in the segment at `at`; returns the number of bytes that were cut off. `Error::Lost` when they
    /// were durable, unless that is reported or accepted.
    pub(super) fn cut(&mut self, at: usize, ending: &Ending, args: &LoadArgs<'_>) -> Result<u64> {
        let Some(segment) = self.segments.get(at) else {
            return Ok(0);
        };
        let log = Arc::clone(segment.log());
        let end = self.offsets.end();
        let is_damaged = matches!(ending.kind, Kind::Bad | Kind::Gap) && end < self.offsets.recovery_point()
            || self.is_durable_segment(at);
        if is_damaged {
            let durable = self.offsets.recovery_point();
            let reason = format!(
                "position {}: {}; everything up to offset {durable} was durable, and offset {end} begins there",
                ending.position, ending.reason
            );
            self.lost(Loss::Damaged, &log.path, reason, args)?;
        } else if end < args.must_reach() {
            let reason = format!(
                "position {}: {}; {}",
                ending.position,
                ending.reason,
                self.short_of(args.must_reach(), args)
            );
            self.lost(Loss::Short, &log.path, reason, args)?;
        }
        let mut survey = Survey::new(end);
        survey.look(&*log.file, &log.path, (ending.position, ending.file_end))?;
        for later in self.segments.all_from(at + 1) {
            survey.look(&*later.log().file, &later.log().path, (Position::START, later.end()))?;
        }
        if args.extent.is_recovery_point_lost && (survey.batches > 0 || survey.is_cut_short) {
            let at_least = if survey.is_cut_short { "at least " } else { "" };
            let reason = format!(
                "position {}: {}, and {at_least}{} whole batches ({} records, up to offset {}) stand behind it; \
                 without the recovery-point checkpoint nobody knows whether they were durable",
                ending.position,
                ending.reason,
                survey.batches,
                survey.records,
                survey.end_offset - 1
            );
            self.lost(Loss::Damaged, &log.path, reason, args)?;
        }
        self.carry_out(at, ending, survey, args)
    }

    fn carry_out(&mut self, at: usize, ending: &Ending, survey: Survey, args: &LoadArgs<'_>) -> Result<u64> {
        let fs = self.fs();
        let Some(segment) = self.segments.get(at) else {
            return Ok(0);
        };
        let (base_offset, log) = (segment.base_offset(), Arc::clone(segment.log()));
        let (end, tail) = (self.offsets.end(), ending.file_end - ending.position);
        let later_bytes: u64 = self.segments.all_from(at + 1).map(Segment::size).sum();
        let is_torn = matches!(ending.kind, Kind::Torn | Kind::Zeros)
            && survey.batches == 0
            && !survey.is_cut_short
            && later_bytes == 0;
        let known_end = survey.end_offset.max(args.must_reach()).max(args.extent.high_watermark);
        let is_kept = args.extent.on_loss != OnLoss::Ignore && !(is_torn && known_end <= end);
        let mut kept = Vec::new();
        if is_kept && tail > 0 {
            let range = (ending.position, ending.file_end);
            let max_bytes = args.extent.cut_max_bytes;
            kept.push(cut_files::keep_tail(
                &*fs,
                &self.dir,
                (base_offset, &*log.file),
                range,
                max_bytes,
            )?);
        }
        let later_count = self.segments.count() - at - 1;
        while self.segments.count() > at + 1 {
            kept.extend(self.remove_last_segment(is_kept)?);
        }
        if let Some(segment) = self.segments.get_mut(at) {
            segment.cut(ending.position)?;
        }
        let bytes = tail + later_bytes;
        let kept_in = self.trim_kept(kept, bytes, args)?;
        self.report.cut_reason = Some(ending.reason.clone());
        if bytes == 0 || args.extent.on_loss == OnLoss::Ignore {
            return Ok(bytes);
        }
        let (partition, path) = (&self.topic_partition, log.path.display());
        let (position, reason) = (ending.position, &ending.reason);
        let head = format!("{partition}: {path}: cut at position {position}, offset {end}: {reason}; {bytes} bytes");
        self.report.notes.push(if is_kept {
            let of_later = if later_count > 0 {
                format!(" ({later_count} later segments among them)")
            } else {
                String::new()
            };
            let records = named_records(&survey, end, known_end);
            Note::loss(format!("{head}{of_later} with {records}{kept_in}"))
        } else {
            Note::ordinary(format!("{head} of a batch that was never whole"))
        });
        Ok(bytes)
    }

    /// Deletes `.cut` files beyond their bounds, and returns a phrase that names the files that hold the cut `bytes`.
    fn trim_kept(&self, mut kept: Vec<PathBuf>, bytes: u64, args: &LoadArgs<'_>) -> Result<String> {
        if kept.is_empty() {
            return Ok(String::new());
        }
        let gone = cut_files::trim(&*self.context.fs, &self.dir, args.extent.cut_max_bytes)?;
        kept.retain(|path| !gone.contains(path));
        let sizes = kept.iter().map(|path| self.context.fs.metadata_len(path).unwrap_or(0));
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

    /// Whether the next segment begins at or below the recovery point, so that all of the segment at `at` was durable.
    fn is_durable_segment(&self, at: usize) -> bool {
        self.segments
            .next_base(at)
            .is_some_and(|next| next <= self.offsets.recovery_point())
    }

    /// Unlinks the files of the last segment. With `is_kept` a `.log` that has bytes is renamed instead; returns its
    /// new path.
    fn remove_last_segment(&mut self, is_kept: bool) -> Result<Option<PathBuf>> {
        let fs = self.fs();
        let last = self.segments.active();
        let (base_offset, has_bytes) = (last.base_offset(), last.size() > 0);
        let [log, indexes @ ..] = Segment::paths(&self.dir, base_offset);
        let mut kept = None;
        if is_kept && has_bytes {
            kept = Some(cut_files::keep_segment(&*fs, &self.dir, base_offset, &log)?);
        } else {
            state_file::remove(&*fs, &log)?;
        }
        for path in indexes {
            state_file::remove(&*fs, &path)?;
        }
        self.segments.pop();
        Ok(kept)
    }

    /// Starts the log anew at the log start offset, which lies above the log's end: by the checkpoint, all its records
    /// were deleted. The batches are kept in `.cut` files.
    pub(super) fn start_after_end(&mut self, args: &LoadArgs<'_>) -> Result<()> {
        let (start, end, bytes) = (self.offsets.start(), self.offsets.end(), self.size_bytes());
        let fs = self.fs();
        let mut kept = Vec::new();
        if bytes > 0 && args.extent.on_loss != OnLoss::Ignore {
            for segment in self.segments.all() {
                let named = (segment.base_offset(), &*segment.log().file);
                kept.push(cut_files::keep_tail(
                    &*fs,
                    &self.dir,
                    named,
                    (Position::START, segment.end()),
                    args.extent.cut_max_bytes,
                )?);
            }
            let kept_in = self.trim_kept(kept, bytes, args)?;
            let (first, partition) = (self.segments.first().base_offset(), &self.topic_partition);
            let text = format!(
                "{partition}: the log start offset {start} of the checkpoint lies above the log's end {end}: {bytes} \
                 bytes with the records of offsets {first} to {} are cut off, the log begins at {start}{kept_in}",
                end - 1
            );
            self.report.notes.push(Note::loss(text));
        }
        self.truncate_fully_and_start_at(start)
    }
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
