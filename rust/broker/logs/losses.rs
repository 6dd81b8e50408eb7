//! Losses that a start finds in the logs, and what it does about them: it reports them, sets the log aside, or refuses
//! to start.
//!
//! - (a) A log lacks durable records, and no other in-sync replica is known: the start is refused. One sentence says
//!   which logs these are, and what to configure when the loss is accepted.
//! - (b) A log lacks durable records, and there is another in-sync replica: the log gets another name (`-stray`), and
//!   the partition begins empty here. A log that only ends too early is opened. Either way the control plane registers
//!   the partition as unclean, so that this broker's replica leaves the in-sync set.
//! - (c) A partition has no directory: the control plane judges it, since it knows which topics were deleted.
//!
//! This module decides nothing about leadership.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::node::Node;
use base::error::{Error, Result};
use base::place::Offset;
use storage::clean_shutdown::{self, Shutdown};
use storage::log_loader::LoadRequest;
use storage::topic_partition::DirKind;
use storage::{Extent, Note, OnLoss, TopicPartition, Uuid};

/// The most logs that the refusal lists by name; the broker's log has a line for every lost log but the first.
const NAMED: usize = 10;

/// What the control plane knows about losses before the logs are opened.
#[derive(Debug, Default)]
pub struct LossPolicy {
    /// Log end offsets at which a loss has been accepted.
    pub accepted: HashMap<TopicPartition, Vec<Offset>>,
    /// Partitions with another in-sync replica.
    pub replicated: HashSet<TopicPartition>,
}

/// A partition that was in a log directory when the broker last ran, and that this start did not find there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingLog {
    /// The partition.
    pub partition: TopicPartition,
    /// Where it was.
    pub log_dir: PathBuf,
    /// Up to where it had been flushed.
    pub log_end: Offset,
}

#[derive(Debug, Default)]
struct State {
    policy: LossPolicy,
    notes: Vec<Note>,
    short: Vec<TopicPartition>,
    shutdowns: Vec<(PathBuf, Shutdown)>,
    missing: Vec<MissingLog>,
}

/// The losses that a start has found.
pub struct Losses {
    node: Arc<Node>,
    state: Mutex<State>,
}

impl Losses {
    /// None yet.
    pub(super) fn new(node: &Arc<Node>) -> Self {
        Self {
            node: Arc::clone(node),
            state: Mutex::default(),
        }
    }

    /// Sets what the opening of the logs does about losses; to be called before it.
    pub fn set_policy(&self, policy: LossPolicy) {
        self.state.lock().policy = policy;
    }

    /// Takes the notes for operators on the logs that were opened.
    pub fn take_notes(&self) -> Vec<Note> {
        std::mem::take(&mut self.state.lock().notes)
    }

    /// Partitions whose log ends before its durable end.
    pub fn short_logs(&self) -> Vec<TopicPartition> {
        self.state.lock().short.clone()
    }

    /// Partitions that are missing from their log directory.
    pub fn missing_logs(&self) -> Vec<MissingLog> {
        self.state.lock().missing.clone()
    }

    /// How far the log of a request must reach; `accepted` are its accepted ends.
    pub(super) fn extent<'a>(&self, request: &LoadRequest, accepted: &'a [Offset]) -> Extent<'a> {
        let is_replicated = self.state.lock().policy.replicated.contains(&request.partition);
        Extent {
            closed: request.closed,
            high_watermark: request.high_watermark.unwrap_or_default(),
            is_recovery_point_lost: request.is_recovery_point_lost,
            is_listed: request.is_listed,
            checkpoint_ms: request.checkpoint_ms,
            on_loss: if is_replicated {
                OnLoss::ReportShort
            } else {
                OnLoss::Refuse
            },
            accepted,
            cut_max_bytes: self.node.options().cut_files_max_bytes,
        }
    }

    /// The log end offsets at which a loss of this partition has been accepted.
    pub(super) fn accepted_ends(&self, partition: &TopicPartition) -> Vec<Offset> {
        self.state
            .lock()
            .policy
            .accepted
            .get(partition)
            .cloned()
            .unwrap_or_default()
    }

    /// Keeps the notes of a log that is open now.
    pub(super) fn note_opened(&self, partition: &TopicPartition, notes: Vec<Note>, is_short: bool) {
        let mut state = self.state.lock();
        state.notes.extend(notes);
        if is_short {
            state.short.push(partition.clone());
        }
    }

    /// Keeps a warning of the loader.
    pub(super) fn note_warning(&self, text: String) {
        self.state.lock().notes.push(Note { is_loss: true, text });
    }

    /// Keeps how the last run of a log directory ended: its clean-shutdown marker has been removed.
    pub(super) fn note_shutdown(&self, log_dir: &Path, shutdown: Shutdown) {
        self.state.lock().shutdowns.push((log_dir.to_path_buf(), shutdown));
    }

    /// Writes the clean-shutdown markers again after a refused start. Nothing was appended, so the log directories are
    /// as the last run left them, and the next start must find the same markers. Without a marker that cannot be
    /// written, the next start reads more.
    pub fn put_back_shutdown(&self) {
        let shutdowns = std::mem::take(&mut self.state.lock().shutdowns);
        for (log_dir, shutdown) in shutdowns.into_iter().filter(|(_, shutdown)| shutdown.is_clean) {
            let epoch = shutdown.broker_epoch.unwrap_or(-1);
            if let Err(error) = clean_shutdown::write(&*self.node.context().fs, &log_dir, epoch, shutdown.closed_logs) {
                self.note_warning(format!("{}: {error}", log_dir.display()));
            }
        }
    }

    /// (c)
    pub(super) fn note_missing(&self, log_dir: &Path, missing: Vec<(TopicPartition, Offset)>) {
        let of_dir = |(partition, log_end)| MissingLog {
            partition,
            log_dir: log_dir.to_path_buf(),
            log_end,
        };
        self.state.lock().missing.extend(missing.into_iter().map(of_dir));
    }

    /// (a) and (b); says whether any log was set aside.
    pub(super) fn settle_lost(&self, lost: Vec<(LoadRequest, Error)>) -> Result<bool> {
        let mut refused = Vec::new();
        let mut is_any_aside = false;
        for (request, error) in lost {
            let is_replicated = self.state.lock().policy.replicated.contains(&request.partition);
            if !is_replicated {
                refused.push((request, error));
                continue;
            }
            let to = self.set_aside(&request)?;
            let text = format!(
                "{}: {error}; set aside as {}, it is fetched again from the leader",
                request.partition,
                to.display()
            );
            self.state.lock().notes.push(Note { is_loss: true, text });
            is_any_aside = true;
        }
        if refused.is_empty() {
            return Ok(is_any_aside);
        }
        self.put_back_shutdown();
        Err(self.refusal(refused))
    }

    fn set_aside(&self, request: &LoadRequest) -> Result<PathBuf> {
        let (fs, from) = (&self.node.context().fs, &request.path);
        let to = from.with_file_name(request.partition.dir_name(DirKind::Stray, Uuid::random()));
        fs.rename(from, &to).map_err(|error| Error::io("rename", from, error))?;
        if let Some(parent) = from.parent() {
            fs.sync_dir(parent).map_err(|error| Error::io("fsync", parent, error))?;
        }
        Ok(to)
    }

    fn refusal(&self, refused: Vec<(LoadRequest, Error)>) -> Error {
        let mut accept = String::new();
        for (at, (request, error)) in refused.iter().enumerate() {
            if let Error::Lost { log_end_offset, .. } = error
                && at < NAMED
            {
                let comma = if at > 0 { "," } else { "" };
                let _ = write!(accept, "{comma}{}:{log_end_offset}", request.partition);
            }
            if at > 0 {
                let text = format!("{}: {error}", request.partition);
                self.state.lock().notes.push(Note { is_loss: true, text });
            }
        }
        let count = refused.len();
        let more = match count {
            1 => String::new(),
            _ => format!(", and {} more logs lack records, which the log names", count - 1),
        };
        let and_more = if count > NAMED { ",…" } else { "" };
        match refused.into_iter().next() {
            Some((
                _,
                Error::Lost {
                    path,
                    reason,
                    log_end_offset,
                },
            )) => Error::Lost {
                path,
                reason: format!(
                    "{reason}{more}; restore what is missing, or accept the loss (each log then ends at the offset \
                     behind its colon, and what follows is kept in .cut files: read what can be read first, with \
                     kafkastore export --ignore-corrupt-batches) with kafkastore.accept.log.loss={accept}{and_more}"
                ),
                log_end_offset,
            },
            Some((_, other)) => other,
            None => Error::Closed { path: PathBuf::new() },
        }
    }
}

#[cfg(test)]
mod tests;
