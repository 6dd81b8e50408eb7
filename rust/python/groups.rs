//! The groups that this broker coordinates, as the control plane publishes them: partitions, leases, removals of
//! offsets.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{OrRaise, Raise};
use base::error::{Error, ErrorCode};
use broker::{Broker, Watched};
use coordinator::{self, GroupOffsets, GroupSettings, GroupState, Groups, Removal, Shard, session_timeout};
use net::Engine;
use record::Codec;

/// The groups of a partition of `__consumer_offsets`, as it was loaded.
#[pyclass(frozen, get_all, name = "LoadedGroups", module = "kafkastore._core")]
pub struct PyLoadedGroups {
    /// (group id, value of its last record).
    records: Vec<(String, Py<PyBytes>)>,
    /// Groups that have offsets and no record.
    simple_groups: Vec<String>,
    /// Groups with offsets of open transactions.
    unstable_groups: Vec<String>,
    /// Records that were skipped, and why the first of them was skipped.
    skipped: u64,
    skip_reason: String,
}

/// One step of a removal of offsets.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct OffsetsRemoval {
    /// The token of `AppendDone`; `None` when there was no offset to remove.
    token: Option<u64>,
    /// Whether offsets are left to remove because one batch does not hold all tombstones.
    has_more: bool,
    /// Whether the group keeps offsets that are not to be removed.
    is_kept: bool,
}

/// The groups that a broker coordinates.
#[pyclass(frozen, name = "Groups", module = "kafkastore._core")]
pub struct PyGroups {
    engine: Arc<Engine>,
    next_token: Arc<AtomicU64>,
}

/// A group's lease; its methods change nothing when another broker leads the group's partition, or the partition was
/// loaded anew.
#[pyclass(frozen, name = "GroupLease", module = "kafkastore._core")]
pub struct PyGroupLease {
    engine: Arc<Engine>,
    home: Option<Arc<coordinator::GroupHome>>,
    group_id: Arc<str>,
}

impl PyGroupLease {
    fn with<T: Default>(&self, act: impl FnOnce(&mut Shard) -> T) -> T {
        self.home.as_ref().map_or_else(T::default, |home| act(&mut home.lock()))
    }

    /// Changes the lease, if the group still has it.
    fn edit(&self, act: impl FnOnce(&mut coordinator::GroupLease)) {
        self.with(|shard| shard.lease(&self.group_id).map(act));
    }
}

fn state(index: u8) -> GroupState {
    match index {
        1 => GroupState::PreparingRebalance,
        2 => GroupState::CompletingRebalance,
        3 => GroupState::Stable,
        _ => GroupState::Empty,
    }
}

#[pymethods]
impl PyGroupLease {
    /// `state`: the index of the state among those of a classic group.
    fn set_state(&self, state: u8, generation_id: i32) {
        self.edit(|lease| {
            lease.state = self::state(state);
            lease.generation_id = generation_id;
        });
    }

    fn add_member(&self, member_id: &str, group_instance_id: Option<&str>) {
        self.edit(|lease| lease.add_member(member_id, group_instance_id));
    }

    fn remove_member(&self, member_id: &str, group_instance_id: Option<&str>) {
        self.edit(|lease| lease.remove_member(member_id, group_instance_id));
    }

    fn replace_member(&self, old_member_id: &str, new_member_id: &str, group_instance_id: &str) {
        self.edit(|lease| lease.replace_member(old_member_id, new_member_id, group_instance_id));
    }

    fn start_session(&self, member_id: &str, timeout_ms: i64) {
        let (timeout, now) = (session_timeout(timeout_ms), Instant::now());
        self.with(|shard| shard.begin_session(&self.group_id, member_id, timeout, now));
        self.engine.groups().note_timer(now + timeout);
    }

    fn cancel_session(&self, member_id: &str) {
        self.with(|shard| shard.end_session(&self.group_id, member_id));
    }

    fn has_session(&self, member_id: &str) -> bool {
        self.with(|shard| shard.has_session(&self.group_id, member_id))
    }

    fn has_offsets(&self) -> bool {
        let home = self.home.as_ref();
        home.is_some_and(|home| home.settled(self.engine.broker()).has_offsets(&self.group_id))
    }

    /// Topics with committed offsets.
    fn offset_topics(&self) -> Vec<String> {
        let Some(home) = &self.home else { return Vec::new() };
        let shard = home.settled(self.engine.broker());
        let topics = shard.offsets(&self.group_id).into_iter().flat_map(GroupOffsets::topics);
        topics.map(|(topic, _)| topic.to_string()).collect()
    }

    fn release(&self) {
        let Some(home) = &self.home else { return };
        if !home.is_current() {
            return; // the lease has ended with its partition
        }
        let mut shard = home.settled(self.engine.broker());
        shard.release(&self.group_id);
        home.report(&mut shard, self.engine.broker());
    }
}

fn failed(code: ErrorCode) -> PyErr {
    Error::rejected(code, "the tombstones could not be appended".to_owned()).raised()
}

#[pymethods]
impl PyGroups {
    fn configure(&self, offset_metadata_max_bytes: usize, commit_timeout_ms: u64, codec: i16) -> PyResult<()> {
        let codec = Codec::from_attributes(codec).ok_or_else(|| failed(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE))?;
        self.groups().configure(GroupSettings {
            offset_metadata_max_bytes,
            commit_timeout: Duration::from_millis(commit_timeout_ms),
            codec,
        });
        Ok(())
    }

    fn stop(&self) {
        self.groups().homes.stop();
    }

    fn begin(&self, partition: i32) -> PyResult<u64> {
        self.groups().homes.begin(&self.broker(), partition).or_raise()
    }

    fn load(&self, py: Python<'_>, partition: i32, number: u64) -> PyResult<Option<PyLoadedGroups>> {
        let Some(loaded) = py
            .detach(|| coordinator::load(&self.broker(), self.groups(), partition, number))
            .or_raise()?
        else {
            return Ok(None);
        };
        let names = |ids: Vec<Arc<str>>| ids.iter().map(ToString::to_string).collect();
        let record = |(id, value): (Arc<str>, Vec<u8>)| (id.to_string(), PyBytes::new(py, &value).unbind());
        Ok(Some(PyLoadedGroups {
            records: loaded.metadata.into_iter().map(record).collect(),
            simple_groups: names(loaded.simple),
            unstable_groups: names(loaded.unstable),
            skipped: loaded.skipped,
            skip_reason: loaded.skip_reason,
        }))
    }

    fn activate(&self, partition: i32, number: u64) {
        self.groups().homes.activate(partition, number);
    }

    fn close(&self, partition: i32) {
        self.groups().homes.close(partition);
    }

    fn lease(&self, partition: i32, number: u64, group_id: &str) -> PyGroupLease {
        let home = self.groups().homes.of(partition).filter(|home| home.number == number);
        if let Some(home) = &home {
            home.lock().grant(group_id, GroupState::Empty, 0);
        }
        PyGroupLease {
            engine: Arc::clone(&self.engine),
            home,
            group_id: group_id.into(),
        }
    }

    fn delete_offsets(
        &self,
        partition: i32,
        group_id: &str,
        topics: Option<Vec<(String, Vec<i32>)>>,
    ) -> PyResult<OffsetsRemoval> {
        let topics = topics.as_deref();
        self.remove(partition, &Removal::Asked { group_id, topics })
    }

    fn forget_topic(&self, partition: i32, topic: &str) -> PyResult<OffsetsRemoval> {
        self.remove(partition, &Removal::Topic(topic))
    }

    fn expire_offsets(
        &self,
        partition: i32,
        group_id: &str,
        subscribed: HashSet<String>,
        now_ms: i64,
        retention_ms: i64,
        since_ms: Option<i64>,
    ) -> PyResult<OffsetsRemoval> {
        let removal = Removal::Expired {
            group_id,
            subscribed: &subscribed,
            now_ms,
            retention_ms,
            since_ms,
        };
        self.remove(partition, &removal)
    }
}

impl PyGroups {
    /// Tokens come from `next_token`, which the engine's appends use, too.
    pub fn new(engine: Arc<Engine>, next_token: Arc<AtomicU64>) -> Self {
        Self { engine, next_token }
    }

    fn broker(&self) -> Watched<'_, Arc<Broker>> {
        let broker = self.engine.broker();
        Watched::new(broker, broker.events())
    }

    fn groups(&self) -> &Groups {
        self.engine.groups()
    }

    fn remove(&self, partition: i32, removal: &Removal<'_>) -> PyResult<OffsetsRemoval> {
        let _watched = self.broker();
        let token = self.next_token.fetch_add(1, Ordering::Relaxed);
        let removing = self.engine.remove_offsets(token, partition, removal).map_err(failed)?;
        Ok(OffsetsRemoval {
            token: removing.has_begun.then_some(token),
            has_more: removing.has_more,
            is_kept: removing.is_kept,
        })
    }
}
