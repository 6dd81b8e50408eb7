//! Loading a partition of `__consumer_offsets`: its records are folded from its start to its end.
//!
//! Offsets of a transaction count from its commit marker on, in the log order of their own records; an abort marker
//! drops them (KIP-98). Offsets of transactions without a marker are kept apart. The control plane gets the last record
//! of each group. Records of unknown kinds and malformed records are skipped and counted. Loading blocks on the disk.
//! No request sees the groups before all are loaded.

use std::collections::HashMap;
use std::sync::Arc;

use super::groups::Groups;
use super::offsets::CommittedOffset;
use super::records::{Key, read_key, read_offset_value};
use super::shard::Shard;
use base::error::Result;
use base::place::Offset;
use broker::{Broker, INFLATE_LIMIT_BYTES};
use protocol::WireError;
use record::{Batch, BatchError, ControlType, Record};

/// The result of a load, from which the control plane builds its groups.
#[derive(Debug, Default)]
pub struct LoadedGroups {
    /// The last record of each group that has one.
    pub metadata: Vec<(Arc<str>, Vec<u8>)>,
    /// Groups that have offsets but no group record.
    pub simple: Vec<Arc<str>>,
    /// Groups with offsets of open transactions.
    pub unstable: Vec<Arc<str>>,
    /// Records that were skipped.
    pub skipped: u64,
    /// Why the first of them was skipped.
    pub skip_reason: String,
}

/// The fold so far.
#[derive(Default)]
struct Folding {
    shard: Shard,
    metadata: HashMap<Arc<str>, Vec<u8>>,
    skipped: u64,
    skip_reason: String,
}

/// Loads the whole partition for the load `number`. `None` when the partition was closed or begun anew before the end
/// of this load.
pub fn load(broker: &Broker, groups: &Groups, index: i32, number: u64) -> Result<Option<LoadedGroups>> {
    let homes = &groups.homes;
    let Some(home) = homes.of(index).filter(|home| home.number == number) else {
        return Ok(None);
    };
    let mut folding = Folding::default();
    let mut scratch = Vec::new();
    if !homes.fold(broker, &home, |batch| folding.apply(batch, &mut scratch))? {
        return Ok(None);
    }
    let (shard, loaded) = folding.finish();
    *home.lock() = shard;
    Ok(Some(loaded))
}

impl Folding {
    fn apply(&mut self, batch: &Batch<'_>, scratch: &mut Vec<u8>) -> Result<(), BatchError> {
        let header = batch.header();
        let producer_id = if header.is_transactional() {
            header.producer_id
        } else {
            -1
        };
        for record in batch.records(scratch, INFLATE_LIMIT_BYTES)? {
            let record = record?;
            if header.is_control() {
                self.end_transaction(&record, producer_id);
            } else if let Some(key) = record.key
                && let Err(error) = self.apply_record(&record, key, producer_id)
            {
                self.skip(record.offset, &error.to_string());
            }
        }
        Ok(())
    }

    fn end_transaction(&mut self, record: &Record<'_>, producer_id: i64) {
        let is_committed = match ControlType::parse_key(record.key.unwrap_or_default()) {
            Ok(ControlType::Commit) => true,
            Ok(ControlType::Abort) => false,
            _ => return self.skip(record.offset, "a control record that is no transaction marker"),
        };
        self.shard.end_transactions(producer_id, is_committed);
    }

    fn apply_record(&mut self, record: &Record<'_>, key: &[u8], producer_id: i64) -> Result<(), WireError> {
        match read_key(key)? {
            Key::Other(version) => self.skip(record.offset, &format!("unknown key version {version}")),
            Key::Group(group_id) => {
                match record.value {
                    None => self.metadata.remove(group_id),
                    Some(value) => self.metadata.insert(group_id.into(), value.to_vec()),
                };
            }
            Key::Offset { group_id, topic, index } => {
                let topic = self.shard.topic(topic).unwrap_or_else(|| topic.into());
                let Some(value) = record.value else {
                    let group_id: Arc<str> = group_id.into();
                    self.shard.remove(&group_id, &topic, index, record.offset);
                    return Ok(());
                };
                let offset = CommittedOffset::new(&read_offset_value(value)?, record.offset);
                let group_id = self.shard.group_id(group_id);
                if producer_id < 0 {
                    self.shard.put(&group_id, &topic, index, offset);
                } else {
                    self.shard.put_unstable(&group_id, &topic, index, producer_id, offset);
                }
            }
        }
        Ok(())
    }

    fn skip(&mut self, offset: Offset, reason: &str) {
        self.skipped += 1;
        if self.skip_reason.is_empty() {
            self.skip_reason = format!("offset {offset}: {reason}");
        }
    }

    fn finish(mut self) -> (Shard, LoadedGroups) {
        drop(self.shard.take_created()); // of markers that the load has folded
        let mut simple = self.shard.take_simple_groups();
        simple.retain(|group_id| !self.metadata.contains_key(group_id));
        let loaded = LoadedGroups {
            simple,
            unstable: self.shard.groups_with_unstable(),
            metadata: self.metadata.into_iter().collect(),
            skipped: self.skipped,
            skip_reason: self.skip_reason,
        };
        (self.shard, loaded)
    }
}

#[cfg(test)]
#[path = "loading_tests.rs"]
mod tests;
