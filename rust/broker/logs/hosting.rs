//! The logs that this broker hosts: opened at start, created, leased, deleted. This module carries out what the control
//! plane decided; `closing` closes the logs.
//!
//! Every call may block on the disk; none is made by a network loop. After a crash in the middle of any of them the
//! next start finds either the old or the new state.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Logs;
use super::stale_rows::HARMFUL;
use crate::partition::Partition;
use crate::partition::lease::Lease;
use crate::published::topic_id::{NO_TOPIC_ID, TopicId};
use base::error::{Error, ErrorCode, Result};
use base::place::Offset;
use storage::future::finish_swaps;
use storage::log_dir::{Identity, LogDir, OpenedDirs};
use storage::log_loader::{LoadProgress, LoadRequest, LoadedLog, load_all, remove_deleted};
use storage::topic_partition::DirKind;
use storage::{LoadArgs, Log, LogConfig, RecoveryProgress, TopicPartition, Uuid};

impl Logs {
    /// Opens the log directories and recovers every log, in parallel. `config_of` gives a topic's configuration.
    /// Returns each directory with the reason why it is offline, if it is.
    ///
    /// # Errors
    /// A reason not to start: a directory in use, of another cluster, or with sealed data that is corrupt.
    pub fn open(
        &self,
        paths: &[PathBuf],
        configs: &HashMap<String, Arc<LogConfig>>,
        progress: &LoadProgress,
    ) -> Result<Vec<(PathBuf, Option<String>)>> {
        self.try_open(paths, configs, progress).map_err(|error| {
            if !error.is_shortage() {
                return error;
            }
            let message = format!(
                "{error}; nothing is wrong with the disk: give the process more descriptors (ulimit -n) or memory and \
                 start again"
            );
            Error::rejected(ErrorCode::KAFKA_STORAGE_ERROR, message)
        })
    }

    fn try_open(
        &self,
        paths: &[PathBuf],
        configs: &HashMap<String, Arc<LogConfig>>,
        progress: &LoadProgress,
    ) -> Result<Vec<(PathBuf, Option<String>)>> {
        let cluster_id = Some(self.node().cluster_id()).filter(|id| !id.is_empty());
        let identity = Identity {
            cluster_id,
            node_id: self.node().id(),
        };
        let mut opened = LogDir::open_all(
            &self.node().context().fs,
            paths,
            &identity,
            self.node().context().clock.now_ms(),
        )?;
        if let Some(dir) = opened.online.first() {
            self.node().set_cluster_id(dir.cluster_id());
        }
        self.finish_swaps_in(&mut opened)?;
        let mut outcome: Vec<(PathBuf, Option<String>)> = opened
            .offline
            .into_iter()
            .map(|(path, error)| (path, Some(error.to_string())))
            .collect();
        let default = configs
            .get("")
            .map_or_else(|| Arc::new(LogConfig::default()), Arc::clone);
        let open = |request: &LoadRequest| {
            let config = configs.get(&*request.partition.topic).unwrap_or(&default);
            self.open_partition(request, config, &progress.recovery)
        };
        let threads = self.node().options().recovery_threads_per_data_dir;
        let mut loaded = load_all(&opened.online, threads, &open, progress)?;
        for LoadedLog { request, log } in &loaded.logs {
            let mut log = log.log();
            let (notes, is_short) = (log.take_notes(), log.report().is_short);
            self.losses().note_opened(&request.partition, notes, is_short);
        }
        for (dir, report) in opened.online.iter().zip(&loaded.dirs) {
            self.losses().note_shutdown(dir.path(), report.shutdown);
        }
        let lost = loaded
            .dirs
            .iter_mut()
            .flat_map(|report| std::mem::take(&mut report.lost));
        let is_any_aside = self.losses().settle_lost(lost.collect())?;
        let (mut futures, mut unclean) = (Vec::new(), Vec::new());
        for (dir, report) in opened.online.iter().zip(&mut loaded.dirs) {
            if report.failure.is_none() {
                futures.append(&mut report.future);
            }
            for warning in report.warnings.drain(..) {
                self.losses().note_warning(warning);
            }
            self.losses()
                .note_missing(dir.path(), std::mem::take(&mut report.missing));
            for partition in &report.stale {
                self.dirs().stale_rows().note(partition, dir.path());
            }
            self.dirs().stale_rows().note_file(dir.path(), !report.has_deleted_logs);
            let failure = report.failure.as_ref().map(ToString::to_string);
            outcome.push((dir.path().to_path_buf(), failure));
            if report.failure.is_none() && !report.shutdown.is_clean {
                unclean.push(dir.path().to_path_buf());
            }
        }
        // While a log directory is missing, a deleted log may be half of a swap to that directory. The next start that
        // has both directories recognises the swap by the log's id.
        let is_one_missing = !self.dirs().failed().is_empty() || outcome.iter().any(|(_, failure)| failure.is_some());
        let deleted: Vec<PathBuf> = loaded.dirs.iter().flat_map(|report| report.deleted.clone()).collect();
        if !is_one_missing && !deleted.is_empty() {
            let fs = Arc::clone(&self.node().context().fs);
            self.threads()
                .reaper()
                .after(Duration::ZERO, move || drop(remove_deleted(&*fs, &deleted)));
        }
        let is_unclean = |request: &LoadRequest| unclean.iter().any(|dir| request.path.starts_with(dir));
        let logs = loaded.logs.iter().filter(|log| is_unclean(&log.request));
        self.set_unclean(logs.map(|log| log.request.partition.clone()).collect());
        let is_new = |dir: &&LogDir| !loaded.logs.iter().any(|log| log.request.path.starts_with(dir.path()));
        let new: Vec<PathBuf> = opened
            .online
            .iter()
            .filter(is_new)
            .map(|dir| dir.path().to_path_buf())
            .collect();
        self.host(loaded.logs);
        *self.dirs().open() = opened.online;
        self.dirs().begin_checkpoint(&new);
        for (path, failure) in &outcome {
            if let Some(reason) = failure {
                self.dirs().fail(path, reason);
            }
        }
        if is_any_aside {
            // The new log under the same name must not be compared with the checkpoints of the old log.
            self.dirs().write_checkpoints(&HARMFUL)?;
        }
        self.moves().resume(futures, configs, &default, &progress.recovery);
        Ok(outcome)
    }

    /// A directory in which a swap that was cut short cannot be finished is offline.
    fn finish_swaps_in(&self, opened: &mut OpenedDirs) -> Result<()> {
        let online: Vec<&Path> = opened.online.iter().map(LogDir::path).collect();
        let mut finished = finish_swaps(&*self.node().context().fs, &online);
        for line in &finished.lines {
            self.node().log(line);
        }
        if let Some(path) = finished
            .failed
            .iter()
            .find(|(_, error)| error.is_shortage())
            .map(|(path, _)| path.clone())
            && let Some(error) = finished.failed.remove(&path)
        {
            return Err(error);
        }
        opened.online.retain(|dir| !finished.failed.contains_key(dir.path()));
        opened.offline.extend(finished.failed.drain());
        Ok(())
    }

    /// Called by several threads.
    fn open_partition(
        &self,
        request: &LoadRequest,
        config: &Arc<LogConfig>,
        progress: &RecoveryProgress,
    ) -> Result<Arc<Partition>> {
        let accepted = self.losses().accepted_ends(&request.partition);
        let args = LoadArgs {
            recovery_point: request.recovery_point,
            log_start_offset: request.log_start_offset,
            first_dirty_offset: request.first_dirty_offset,
            clean_shutdown: request.is_clean,
            extent: self.losses().extent(request, &accepted),
            progress,
        };
        let (path, partition) = (&request.path, request.partition.clone());
        let log = Log::open(self.node().context(), path, partition, Arc::clone(config), args)?;
        let partition = Partition::new(
            self.node().id(),
            request.topic_id.map_or(NO_TOPIC_ID, |id| id.0),
            path.parent().unwrap_or(path).to_path_buf(),
            log,
            request.high_watermark.unwrap_or_default(),
        );
        Ok(Arc::new(
            partition.counted_by(self.node().metrics().meter(&request.partition.topic)),
        ))
    }

    fn host(&self, opened: Vec<LoadedLog<Arc<Partition>>>) {
        let mut by_topic: HashMap<Arc<str>, Vec<Arc<Partition>>> = HashMap::new();
        for LoadedLog { log, .. } in opened {
            by_topic.entry(Arc::clone(log.topic())).or_default().push(log);
        }
        for (name, partitions) in by_topic {
            let mut ids = partitions.iter().map(|partition| partition.topic_id());
            let id = ids.find(|id| *id != NO_TOPIC_ID).unwrap_or(NO_TOPIC_ID);
            self.node().registry().add(&name, id, partitions);
        }
    }

    /// Creates the logs of a topic's partitions, each in its log directory; those that exist are kept. The logs come to
    /// disk later: after a crash before that, the next start finds the partition in the metadata and creates its log
    /// again. Returns an error text or none for each partition.
    pub fn create(
        &self,
        topic: &str,
        topic_id: TopicId,
        config: &Arc<LogConfig>,
        partitions: &[(i32, PathBuf)],
    ) -> Vec<Option<String>> {
        let name: Arc<str> = topic.into();
        let known = self.node().registry().snapshot().by_name(topic).cloned();
        let older = |(index, _): &(i32, PathBuf)| {
            let tp = TopicPartition::new(Arc::clone(&name), *index);
            self.dirs().stale_rows().has(&tp).then_some(tp)
        };
        if partitions.iter().any(|placed| older(placed).is_some()) {
            let _ = self.dirs().write_stale_checkpoints(); // an error here has been reported
        }
        let create = |placed: &(i32, PathBuf)| -> Result<Option<Partition>> {
            let (index, dir) = placed;
            if known.as_ref().is_some_and(|t| t.partition(*index).is_some()) {
                return Ok(None);
            }
            if let Some(tp) = older(placed) {
                return Err(Error::rejected(
                    ErrorCode::KAFKA_STORAGE_ERROR,
                    format!("the checkpoints of a log directory still have a deleted {tp}, and cannot be written"),
                ));
            }
            self.create_log(&name, topic_id, *index, config, dir).map(Some)
        };
        let mut created = Vec::with_capacity(partitions.len());
        let mut errors = Vec::with_capacity(partitions.len());
        for placed @ (_, dir) in partitions {
            let outcome = create(placed);
            errors.push(outcome.as_ref().err().map(ToString::to_string));
            match outcome {
                Ok(partition) => created.extend(partition.map(Arc::new)),
                Err(Error::Taken { .. }) => {} // the control plane says it
                Err(error) => self.dirs().storage_failed_in(dir, &error),
            }
        }
        if !created.is_empty() {
            self.node().registry().add(&name, topic_id, created.clone());
            // A log directory may have failed before these partitions were in the registry; then its failure did not
            // take them offline.
            for partition in created.iter().filter(|p| self.dirs().is_failed(&p.log_dir())) {
                partition.set_offline();
            }
            self.moves().resume_of(created.iter());
            self.threads().materialiser().add(created);
        }
        errors
    }

    fn create_log(
        &self,
        name: &Arc<str>,
        id: TopicId,
        index: i32,
        config: &Arc<LogConfig>,
        dir: &Path,
    ) -> Result<Partition> {
        if self.dirs().is_failed(dir) {
            return Err(Error::rejected(
                ErrorCode::KAFKA_STORAGE_ERROR,
                format!("{} is offline", dir.display()),
            ));
        }
        let tp = TopicPartition::new(Arc::clone(name), index);
        let path = dir.join(tp.to_string());
        let topic_id = Some(Uuid(id)).filter(|id| *id != Uuid::ZERO);
        let log = Log::create(self.node().context(), &path, tp, topic_id, Arc::clone(config))?;
        let dir = dir.to_path_buf();
        let partition = Partition::new(self.node().id(), id, dir, log, Offset(0));
        Ok(partition.counted_by(self.node().metrics().meter(name)))
    }

    /// As [`Self::publish_leases`]. Before that, logs without a topic id adopt the id of their topic, since requests
    /// find them by it.
    pub fn grant(&self, topic: &str, id: TopicId, leases: Vec<(i32, Lease)>, now: Instant) {
        self.adopt(topic, id);
        self.publish_leases(topic, leases, now);
    }

    fn adopt(&self, name: &str, id: TopicId) {
        let topics = self.node().registry().snapshot();
        let Some(topic) = topics.by_name(name).filter(|_| id != NO_TOPIC_ID) else {
            return;
        };
        for partition in topic.partitions().filter(|p| p.topic_id() == NO_TOPIC_ID) {
            if let Err(error) = partition.adopt_topic_id(id) {
                self.dirs().storage_failed(partition, &error);
            }
        }
        if topic.id == NO_TOPIC_ID {
            self.node().registry().add(&topic.name, id, Vec::new());
        }
    }

    /// Replaces the leases of some partitions of a topic; partitions that are not hosted are skipped. From now on the
    /// partitions that follow are fetched from their leader.
    pub fn publish_leases(&self, topic: &str, leases: Vec<(i32, Lease)>, now: Instant) {
        let topics = self.node().registry().snapshot();
        let Some(topic) = topics.by_name(topic) else { return };
        let max_lag = self.node().options().replica_lag_time_max;
        for (index, lease) in leases {
            if let Some(partition) = topic.partition(index) {
                partition.set_lease(Some(lease), max_lag, now);
                self.fetchers().follow(partition);
            }
        }
    }

    /// Takes partitions out of service and renames their directories, if they have any yet. The reaper removes the
    /// files later.
    pub fn delete(&self, topic: &str, indexes: &[i32]) -> Result<()> {
        self.take_away(topic, indexes, DirKind::Deleted)
    }

    /// Takes a partition that is in no metadata out of service, and keeps its directory as `-stray`.
    pub fn mark_stray(&self, topic: &str, index: i32) -> Result<()> {
        self.take_away(topic, &[index], DirKind::Stray)
    }

    fn take_away(&self, topic: &str, indexes: &[i32], kind: DirKind) -> Result<()> {
        let mut first_error = None;
        for partition in self.node().registry().remove(topic, indexes) {
            partition.revoke();
            self.fetchers().follow(&partition);
            self.moves().cancel(&partition);
            self.cleaner().abort(partition.name());
            let mut log = partition.log();
            let delay = Duration::from_millis(u64::try_from(log.config().file_delete_delay_ms).unwrap_or(0));
            let renamed = log.rename_away(kind, Uuid::random());
            if renamed.is_ok() {
                self.dirs()
                    .stale_rows()
                    .note(log.topic_partition(), &partition.log_dir());
            }
            match renamed {
                Ok(Some(to)) if kind == DirKind::Deleted => {
                    let fs = Arc::clone(&self.node().context().fs);
                    self.threads()
                        .reaper()
                        .after(delay, move || drop(remove_deleted(&*fs, &[to])));
                }
                Ok(_) => {}
                Err(error) => {
                    drop(log);
                    self.dirs().storage_failed(&partition, &error);
                    first_error.get_or_insert(error);
                }
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    /// A topic's configuration takes effect at once.
    pub fn set_topic_config(&self, topic: &str, config: &Arc<LogConfig>) {
        if let Some(topic) = self.node().registry().snapshot().by_name(topic) {
            for partition in topic.partitions() {
                partition.log().set_config(Arc::clone(config));
                if let Some(future) = partition.future().get() {
                    future.log().set_config(Arc::clone(config));
                }
                partition.refresh(); // fewer in-sync replicas may be enough now
            }
        }
    }
}

#[cfg(test)]
#[path = "hosting_tests.rs"]
mod tests;
