//! Checks that need the whole partition: how its segments follow each other, and whether the state files agree with the
//! log.
//!
//! - (a) A sealed segment ends where the next one begins, unless the log was compacted: the cleaner's checkpoint has
//!   it, or offsets are missing elsewhere too.
//! - (b) Leader epochs do not go back from one segment to the next, and agree with the checkpoint.
//! - (c) Bytes at the end of the active segment that are no batch are left by a crash: a warning, unless the broker
//!   stopped cleanly or a checkpoint says that records were kept there.
//! - (d) No checkpoint and no producer snapshot is of an offset beyond the log's end.

use std::path::Path;

use super::epochs;
use super::finding::Finding;
use super::order::EpochRun;
use super::plan::{PartitionPlan, SegmentPlan};
use super::segment::Outcome;
use super::state::StateFiles;
use ::io::FileSystem;
use base::place::{LeaderEpoch, Offset};

/// All findings in a partition's segments and between them, and the bytes of the state files read here.
pub fn finish(fs: &dyn FileSystem, plan: &PartitionPlan, outcomes: Vec<Outcome>) -> (Vec<Finding>, u64) {
    let mut state = StateFiles::new(fs);
    let is_compacted = plan.is_compacted || outcomes.iter().any(|outcome| outcome.has_gaps);
    let is_whole = outcomes.iter().all(|it| it.is_whole && !it.is_gone && !it.is_misplaced);
    let end = outcomes
        .last()
        .filter(|last| last.is_whole && !last.is_misplaced && !last.is_end_bad && !plan.is_partial);
    let end = end.map(|last| last.next_offset);
    let mut found = between(plan, &outcomes, is_compacted);
    let tail = outcomes
        .last()
        .and_then(|last| last.tail.clone())
        .zip(plan.segments.last());
    let has_tail = tail.is_some();
    let mut is_tail_bad = false;
    if let Some(((position, reason), segment)) = tail {
        let end = end.unwrap_or(Offset::MAX);
        is_tail_bad = plan.is_clean || plan.checkpoints.iter().any(|it| it.is_kept && it.offset > end);
        found.push(if is_tail_bad {
            let message = format!("{reason}, but records were kept there");
            Finding::fault(&segment.path, position.get(), message)
        } else {
            let message = format!("incomplete tail, {reason}: the next start cuts it off");
            Finding::warning(&segment.path, position.get(), message)
        }); // (c)
    }
    if !is_tail_bad {
        found.extend(beyond(plan, end)); // (d)
    }
    if !plan.is_partial {
        for (offset, path) in &plan.snapshots {
            state.snapshot(path, *offset, end.filter(|_| !has_tail)); // (d)
        }
        if let Some(file) = &plan.epochs
            && is_whole
            && found.is_empty()
            && !outcomes.iter().any(|it| it.is_epoch_misplaced)
        {
            let runs: Vec<(&Path, EpochRun)> = plan
                .segments
                .iter()
                .zip(&outcomes)
                .flat_map(|(segment, outcome)| outcome.runs.iter().map(|run| (segment.path.as_path(), *run)))
                .collect();
            state.found.extend(epochs::compare(file, &runs, end, plan.is_clean)); // (b)
        }
    }
    found.extend(state.found);
    for (segment, outcome) in plan.segments.iter().zip(outcomes) {
        if !is_compacted && lacks_its_end(segment, &outcome) {
            found.extend(outcome.found);
            continue;
        }
        found.extend(outcome.found);
        found.extend(outcome.of_indexes);
        if !is_compacted {
            found.extend(outcome.unless_compacted);
        }
    }
    (found, state.bytes)
}

/// (a) and (b)
fn between(plan: &PartitionPlan, outcomes: &[Outcome], is_compacted: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut latest: Option<(&Path, EpochRun, LeaderEpoch)> = None;
    for (segment, outcome) in plan.segments.iter().zip(outcomes) {
        if let Some(next) = segment
            .next_base
            .filter(|_| !is_compacted && lacks_its_end(segment, outcome))
        {
            let message = format!(
                "the segment ends before offset {}, but the next one begins with {next}: batches are missing",
                outcome.next_offset
            );
            found.push(Finding::fault(&segment.path, outcome.end.get(), message)); // (a)
        }
        if let (Some((path, run, before)), Some(first)) = (latest, outcome.runs.first())
            && first.epoch < run.epoch
        {
            let is_alone = run.batches == 1 && before <= first.epoch && path != segment.path;
            let (path, position) = if is_alone {
                (path, run.position)
            } else {
                (segment.path.as_path(), first.position)
            };
            let message = format!(
                "leader epoch {} stands before {}, which begins the next segment",
                run.epoch, first.epoch
            );
            found.push(Finding::fault(path, position.get(), message)); // (b)
        }
        if let Some(last) = outcome.runs.last() {
            let before = outcome.runs.len().checked_sub(2).and_then(|at| outcome.runs.get(at));
            let before = before.map_or(latest.map_or(LeaderEpoch::NONE, |(_, run, _)| run.epoch), |run| {
                run.epoch
            });
            latest = Some((&segment.path, *last, before));
        }
    }
    found
}

/// Whether offsets are missing between the segment's last batch and the next segment.
fn lacks_its_end(segment: &SegmentPlan, outcome: &Outcome) -> bool {
    let is_good = outcome.is_whole && !outcome.is_gone && !outcome.is_misplaced && !outcome.is_end_bad;
    is_good && segment.next_base.is_some_and(|next| outcome.next_offset < next)
}

/// (d) for checkpoints.
fn beyond(plan: &PartitionPlan, end: Option<Offset>) -> Vec<Finding> {
    let Some(end) = end else { return Vec::new() };
    let said = plan
        .checkpoints
        .iter()
        .filter(|it| it.offset > end || it.offset.is_none());
    said.map(|it| {
        let (what, offset, dir) = (it.what, it.offset, plan.dir.display());
        let message = format!("the {what} {offset} cannot be of {dir}, whose log ends at {end}");
        Finding::fault(&it.path, it.position, message)
    })
    .collect()
}
