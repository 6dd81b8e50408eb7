//! Names and numbers of Kafka's log directories: every suffix, file name and entry size, and nothing else.
//!
//! ```text
//! <log dir>/<topic>-<partition>/
//!     <base offset, 20 digits>.log          record batches
//!     <base offset, 20 digits>.index        offset index: relative offset u32, position u32
//!     <base offset, 20 digits>.timeindex    time index: timestamp i64, relative offset u32
//!     <base offset, 20 digits>.txnindex     aborted transactions: 34 bytes each
//!     <offset, 20 digits>.snapshot          producer state before that offset
//!     leader-epoch-checkpoint  partition.metadata
//! <log dir>/ .lock  meta.properties  .kafka_cleanshutdown  *-checkpoint
//! ```
//! All integers are big-endian.

use std::path::{Path, PathBuf};

use base::place::Offset;

/// Record batches.
pub const LOG_SUFFIX: &str = ".log";
/// Offset index.
pub const INDEX_SUFFIX: &str = ".index";
/// Time index.
pub const TIME_INDEX_SUFFIX: &str = ".timeindex";
/// Aborted transactions.
pub const TXN_INDEX_SUFFIX: &str = ".txnindex";
/// Producer state.
pub const SNAPSHOT_SUFFIX: &str = ".snapshot";
/// Appended to a file that will be unlinked.
pub const DELETED_SUFFIX: &str = ".deleted";
/// Appended to a file that a cleaner is writing.
pub const CLEANED_SUFFIX: &str = ".cleaned";
/// Appended to a file that is about to replace others.
pub const SWAP_SUFFIX: &str = ".swap";
/// Appended to a state file while it is written, before the rename.
pub const TEMP_SUFFIX: &str = ".tmp";

/// Bytes that recovery cut out of a log and kept; see [`super::cut_files`].
pub const CUT_SUFFIX: &str = ".cut";

/// Ends the name of a partition directory that is being deleted.
pub const DELETE_DIR_SUFFIX: &str = "-delete";
/// Ends the name of a partition directory that is being moved here from another log directory.
pub const FUTURE_DIR_SUFFIX: &str = "-future";
/// Ends the name of a partition directory that this broker should not have.
pub const STRAY_DIR_SUFFIX: &str = "-stray";

/// Epochs and where they start, in a partition directory.
pub const LEADER_EPOCH_CHECKPOINT: &str = "leader-epoch-checkpoint";
/// Topic id, in a partition directory.
pub const PARTITION_METADATA: &str = "partition.metadata";
/// Held while a broker uses the log directory.
pub const LOCK_FILE: &str = ".lock";
/// Cluster, node and directory ids of a log directory.
pub const META_PROPERTIES: &str = "meta.properties";
/// Present only between a clean stop and the next start.
pub const CLEAN_SHUTDOWN: &str = ".kafka_cleanshutdown";
/// The state in which a clean stop left each log; see [`super::closed_logs`].
pub const CLOSED_LOGS: &str = "kafkastore-closed-logs";
/// Logs that were deleted after the last write of the checkpoints.
pub const DELETED_LOGS: &str = "kafkastore-deleted-logs";
/// The offset up to which each log is flushed.
pub const RECOVERY_POINT_CHECKPOINT: &str = "recovery-point-offset-checkpoint";
/// High watermarks.
pub const REPLICATION_OFFSET_CHECKPOINT: &str = "replication-offset-checkpoint";
/// Log start offsets that differ from the first segment's base.
pub const LOG_START_OFFSET_CHECKPOINT: &str = "log-start-offset-checkpoint";
/// The offset up to which each compacted log is cleaned.
pub const CLEANER_OFFSET_CHECKPOINT: &str = "cleaner-offset-checkpoint";

/// Digits of an offset in a file name.
pub const OFFSET_DIGITS: usize = 20;
/// Relative offset u32, position u32.
pub const INDEX_ENTRY: usize = 8;
/// Timestamp i64, relative offset u32.
pub const TIME_INDEX_ENTRY: usize = 12;
/// Version i16, producer id i64, first, last and last stable offset i64.
pub const TXN_INDEX_ENTRY: usize = 34;
/// The only version of a transaction index entry.
pub const TXN_INDEX_VERSION: i16 = 0;
/// No timestamp.
pub const NO_TIMESTAMP: i64 = -1;

/// `00000000000000000042.log` for (42, ".log").
pub fn file_name(offset: Offset, suffix: &str) -> String {
    format!("{offset:0OFFSET_DIGITS$}{suffix}")
}

/// The path of [`file_name`] in `dir`.
pub fn file_path(dir: &Path, offset: Offset, suffix: &str) -> PathBuf {
    dir.join(file_name(offset, suffix))
}

/// Splits `00000000000000000042.log` into (42, ".log"); `None` for any name not made by [`file_name`].
pub fn parse_file_name(name: &str) -> Option<(Offset, &str)> {
    let (digits, suffix) = name.split_at_checked(OFFSET_DIGITS)?;
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    (all_digits && suffix.starts_with('.')).then(|| digits.parse().ok().map(|offset| (Offset(offset), suffix)))?
}

/// The path with `suffix` appended to its name.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
