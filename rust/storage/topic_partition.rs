//! A partition's name, and the directory names that stand for it.
//!
//! ```text
//! <topic>-<partition>                      served
//! <topic>-<partition>.<unique>-delete      being deleted; the topic may be cut so that the name fits 255 bytes
//! <topic>-<partition>.<unique>-future      being moved here from another log directory
//! <topic>-<partition>.load-<producer id>-<producer epoch>-delete      built by a bulk load; cut likewise
//! <topic>-<partition>.<unique>-stray       not assigned to this broker when it was found; cut like `-delete`
//! ```
//! The partition stands after the last dash, the unique id after the last dot, so topics may contain both.

use std::fmt;
use std::sync::Arc;

use super::format::{DELETE_DIR_SUFFIX, FUTURE_DIR_SUFFIX, STRAY_DIR_SUFFIX};
use super::uuid::Uuid;

/// Kafka's limit for a topic's name.
pub const MAX_TOPIC_LEN: usize = 249;
/// Stands before the producer id in the name of a load's directory.
const LOAD_MARK: &str = ".load-";
/// The most bytes that file systems allow for one name.
const MAX_FILE_NAME: usize = 255;

/// One partition of one topic.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    /// Topic name.
    pub topic: Arc<str>,
    /// Partition number, from 0.
    pub partition: i32,
}

/// The role of a partition directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DirKind {
    /// The partition itself.
    Current,
    /// Renamed, to be removed.
    Deleted,
    /// A copy that will replace the partition in another log directory.
    Future,
    /// Set aside.
    Stray,
}

impl DirKind {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Current => "",
            Self::Deleted => DELETE_DIR_SUFFIX,
            Self::Future => FUTURE_DIR_SUFFIX,
            Self::Stray => STRAY_DIR_SUFFIX,
        }
    }
}

impl TopicPartition {
    /// Names a partition.
    pub fn new(topic: impl Into<Arc<str>>, partition: i32) -> Self {
        Self {
            topic: topic.into(),
            partition,
        }
    }

    /// The directory name of the given kind. `unique` (in hexadecimal) distinguishes several directories of one
    /// partition; `Current` has none.
    pub fn dir_name(&self, kind: DirKind, unique: Uuid) -> String {
        if kind == DirKind::Current {
            return self.to_string();
        }
        let tail = format!(
            "-{}.{:032x}{}",
            self.partition,
            u128::from_be_bytes(unique.0),
            kind.suffix()
        );
        let keep = match kind {
            DirKind::Deleted | DirKind::Stray => MAX_FILE_NAME.saturating_sub(tail.len()),
            DirKind::Current | DirKind::Future => self.topic.len(),
        };
        let topic: String = self.topic.chars().take(keep).collect();
        format!("{topic}{tail}")
    }

    /// The name of the directory in which a bulk load builds segments for this partition: a `-delete` directory, so
    /// that the next start removes it.
    pub fn load_dir_name(&self, producer_id: i64, producer_epoch: i16) -> String {
        let tail = format!(
            "-{}{LOAD_MARK}{producer_id}-{producer_epoch}{DELETE_DIR_SUFFIX}",
            self.partition
        );
        let keep = MAX_FILE_NAME.saturating_sub(tail.len());
        let topic: String = self.topic.chars().take(keep).collect();
        format!("{topic}{tail}")
    }

    /// Whether this is a name of [`Self::load_dir_name`].
    pub fn is_load_dir_name(name: &str) -> bool {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let numbers = name
            .strip_suffix(DELETE_DIR_SUFFIX)
            .and_then(|rest| rest.rsplit_once(LOAD_MARK))
            .and_then(|(_, numbers)| numbers.split_once('-'));
        numbers.is_some_and(|(producer_id, epoch)| is_number(producer_id) && is_number(epoch))
    }

    /// Reads a directory name; `None` for any name that is not a partition's.
    pub fn parse_dir_name(name: &str) -> Option<(Self, DirKind)> {
        for kind in [DirKind::Deleted, DirKind::Future, DirKind::Stray] {
            if let Some(rest) = name.strip_suffix(kind.suffix()) {
                let (partition, unique) = rest.rsplit_once('.')?;
                return (!unique.is_empty())
                    .then(|| Self::parse(partition))
                    .flatten()
                    .map(|found| (found, kind));
            }
        }
        Self::parse(name).map(|found| (found, DirKind::Current))
    }

    /// The unique id in a directory name; `None` when it has none.
    pub fn unique_of(name: &str) -> Option<Uuid> {
        let (_, tail) = name.rsplit_once('.')?;
        let (digits, _) = tail.split_once('-')?;
        let is_hexadecimal = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let id = is_hexadecimal.then(|| u128::from_str_radix(digits, 16).ok())??;
        Some(Uuid(id.to_be_bytes()))
    }

    /// Reads `<topic>-<partition>`.
    pub fn parse(text: &str) -> Option<Self> {
        let (topic, digits) = text.rsplit_once('-')?;
        if !is_valid_topic_name(topic) || digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(Self::new(topic, digits.parse().ok()?))
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}", self.topic, self.partition)
    }
}

/// Kafka's rule for topic names: 1 to 249 of `[a-zA-Z0-9._-]`, and neither `.` nor `..`.
pub fn is_valid_topic_name(name: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=MAX_TOPIC_LEN).contains(&name.len()) && name != "." && name != ".." && name.bytes().all(is_legal)
}

#[cfg(test)]
#[path = "topic_partition_tests.rs"]
mod tests;
