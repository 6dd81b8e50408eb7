//! The partitions in log directories: where they are, and how much they hold.
//!
//! Directories that a broker is deleting, moving or has set aside are not partitions. No lock is taken, and a directory
//! that a broker has open may change between two calls.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::bounds::{Checkpoints, Limits, end_position};
use super::segments::{Listing as Segments, OpenSegment};
use super::{Result, ScanError};
use ::io::FileSystem;
use base::error::Error;
use base::place::Offset;
use record::TimestampType;
use storage::TopicPartition;
use storage::format::{LOG_SUFFIX, META_PROPERTIES};
use storage::log_dir::Listing;

/// Topics that a message about an unknown topic names at most.
const TOPICS_NAMED: usize = 10;

/// A partition found on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicPartitionFiles {
    /// Topic and number.
    pub partition: TopicPartition,
    /// The log directory, as it was given.
    pub log_dir: PathBuf,
    /// The partition's directory.
    pub path: PathBuf,
    /// Segments.
    pub segments: usize,
    /// Bytes of their `.log` files.
    pub size_bytes: u64,
    /// First offset that may be read.
    pub log_start_offset: Offset,
    /// One past the last offset that may be read under `read_uncommitted`.
    pub end_offset: Offset,
    /// One past the last offset in the files, at least `end_offset`: records behind `end_offset` are not known to be
    /// committed, since a broker writes its checkpoints every few seconds.
    pub log_end_offset: Offset,
    /// Timestamp of the first batch that may be read, in ms; -1 when unknown.
    pub first_timestamp_ms: i64,
    /// The greatest timestamp, in ms; -1 when unknown.
    pub max_timestamp_ms: i64,
}

/// Where a partition is.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub partition: TopicPartition,
    pub log_dir: PathBuf,
    pub path: PathBuf,
}

/// The partitions in `log_dirs`, of one topic or of all, in order. The same partition in two directories is an error,
/// since either may be the right one.
pub(super) fn find(fs: &dyn FileSystem, log_dirs: &[PathBuf], topic: Option<&str>) -> Result<Vec<Found>> {
    if log_dirs.is_empty() {
        return Err(ScanError::Invalid(
            "log_dirs is empty; name at least one log directory".to_owned(),
        ));
    }
    let mut all: Vec<Found> = Vec::new();
    for log_dir in log_dirs {
        let listing = Listing::of(fs, log_dir).map_err(|error| described(error, log_dir))?;
        if listing.partitions.is_empty() {
            refuse_other(fs, log_dir, &listing)?;
        }
        all.extend(listing.partitions.into_iter().map(|(partition, path)| Found {
            partition,
            log_dir: log_dir.clone(),
            path,
        }));
    }
    all.sort_by(|a, b| a.partition.cmp(&b.partition));
    let is_wanted = |found: &Found| topic.is_none_or(|topic| &*found.partition.topic == topic);
    all.retain(is_wanted);
    for pair in all.windows(2) {
        if let [one, other] = pair
            && one.partition == other.partition
        {
            return Err(ScanError::Invalid(format!(
                "log_dirs: {} is in {} and in {}; name only the one that is in use",
                one.partition,
                one.path.display(),
                other.path.display()
            )));
        }
    }
    Ok(all)
}

/// The partitions in `log_dirs`, of one topic or of all, in order, by the names of directories alone: no segment is
/// opened.
pub fn find_partitions(fs: &dyn FileSystem, log_dirs: &[PathBuf], topic: Option<&str>) -> Result<Vec<TopicPartition>> {
    let found = find(fs, log_dirs, topic)?;
    Ok(found.into_iter().map(|it| it.partition).collect())
}

/// The error for a topic that does not exist.
pub(super) fn unknown_topic(fs: &dyn FileSystem, log_dirs: &[PathBuf], topic: &str) -> Result<ScanError> {
    let mut topics: Vec<_> = find(fs, log_dirs, None)?
        .into_iter()
        .map(|it| it.partition.topic)
        .collect();
    topics.dedup();
    let more = if topics.len() > TOPICS_NAMED { ", …" } else { "" };
    topics.truncate(TOPICS_NAMED);
    let dirs: Vec<String> = log_dirs.iter().map(|dir| dir.display().to_string()).collect();
    let there = if topics.is_empty() {
        "there is none at all".to_owned()
    } else {
        format!("there are {}{more}", topics.join(", "))
    };
    Ok(ScanError::NotFound(format!(
        "topic: there is no topic {topic} in {}; {there}",
        dirs.join(", ")
    )))
}

/// The system's reason, with advice what to do about it.
fn described(error: Error, log_dir: &Path) -> ScanError {
    let Error::Io { op, path, source } = error else {
        return error.into();
    };
    let fix = match source.kind() {
        ErrorKind::NotFound => {
            return ScanError::NotFound(format!(
                "log_dirs: there is no directory {}; name one that a broker writes",
                log_dir.display()
            ));
        }
        ErrorKind::NotADirectory => "it is no directory; log_dirs must name log directories of a broker",
        ErrorKind::PermissionDenied => "this user may not read it; run as the broker's user or grant access",
        _ => return ScanError::Io { op, path, source },
    };
    ScanError::Io {
        op,
        path: log_dir.to_path_buf(),
        source: io::Error::new(source.kind(), fix),
    }
}

/// A directory without partitions is a log directory only when a broker has made it one.
fn refuse_other(fs: &dyn FileSystem, log_dir: &Path, listing: &Listing) -> Result<()> {
    let has_others = !(listing.deleted.is_empty() && listing.future.is_empty() && listing.stray.is_empty());
    if has_others || fs.exists(&log_dir.join(META_PROPERTIES)) {
        return Ok(());
    }
    let names = fs.read_dir(log_dir).unwrap_or_default();
    let is_partition = names.iter().any(|entry| entry.name.ends_with(LOG_SUFFIX));
    let (what, fix) = if is_partition {
        ("is a partition's directory", "name the log directory that holds it")
    } else {
        (
            "is no log directory: it has neither meta.properties nor partitions",
            "name one that a broker writes",
        )
    };
    Err(ScanError::Invalid(format!(
        "log_dirs: {} {what}; {fix}",
        log_dir.display()
    )))
}

/// Every partition in `log_dirs`, of one topic or of all, in order.
pub fn list_partitions(
    fs: &dyn FileSystem,
    log_dirs: &[PathBuf],
    topic: Option<&str>,
) -> Result<Vec<TopicPartitionFiles>> {
    let mut partitions = Vec::new();
    let mut checkpoints: Option<(PathBuf, Checkpoints)> = None;
    let mut found = find(fs, log_dirs, topic)?;
    found.sort_by(|a, b| a.log_dir.cmp(&b.log_dir));
    for found in found {
        if checkpoints.as_ref().is_none_or(|(dir, _)| *dir != found.log_dir) {
            checkpoints = Some((found.log_dir.clone(), Checkpoints::read(fs, &found.log_dir)?));
        }
        let Some((_, checkpoints)) = &checkpoints else { continue };
        let described = super::plan::while_moving(&found.partition, |_| describe(fs, &found, checkpoints));
        match described {
            Ok(described) => partitions.push(described),
            // The partition was deleted after it was listed.
            Err(ScanError::NotFound(_)) if !fs.exists(&found.path) => {}
            Err(error) => return Err(error),
        }
    }
    partitions.sort_by(|a, b| a.partition.cmp(&b.partition));
    Ok(partitions)
}

fn describe(fs: &dyn FileSystem, found: &Found, checkpoints: &Checkpoints) -> Result<TopicPartitionFiles> {
    let listing = Segments::of(fs, &found.path)?;
    let (limits, _) = Limits::of(fs, &listing, checkpoints, &found.partition, None)?;
    let (mut size_bytes, mut first_timestamp_ms, mut max_timestamp_ms) = (0, -1, -1);
    let mut log_end_offset = limits.end;
    for segment in &listing.segments {
        let segment = segment.open(fs)?;
        size_bytes += segment.len;
        if segment.segment.is_last() {
            log_end_offset = log_end_of(&segment)?.max(limits.end);
        }
        let (base, next) = (segment.segment.base_offset, segment.segment.next_base_offset);
        if base >= limits.end || next <= limits.log_start_offset {
            continue;
        }
        let end = end_position(&segment, limits.end, limits.end)?;
        match segment.max_timestamp(fs, end) {
            Ok(max) => max_timestamp_ms = max.max(max_timestamp_ms),
            Err(ScanError::Corrupt { .. }) => {} // a scan of the partition names the batch
            Err(error) => return Err(error),
        }
        if first_timestamp_ms < 0 {
            let place = segment.locate(limits.log_start_offset, limits.end)?;
            let first = segment.chain(place.position, end, limits.end).next_header()?;
            first_timestamp_ms = first.map_or(-1, |(_, header)| match header.timestamp_type() {
                TimestampType::CreateTime => header.base_timestamp,
                TimestampType::LogAppendTime => header.max_timestamp,
            });
        }
    }
    Ok(TopicPartitionFiles {
        partition: found.partition.clone(),
        log_dir: found.log_dir.clone(),
        path: found.path.clone(),
        segments: listing.segments.len(),
        size_bytes,
        log_start_offset: limits.log_start_offset,
        end_offset: limits.end,
        log_end_offset,
        first_timestamp_ms,
        max_timestamp_ms,
    })
}

/// One past the last offset in the last segment, by the headers behind its last index entry. A batch that is cut short
/// or damaged does not count, nor does what follows it.
fn log_end_of(segment: &OpenSegment<'_>) -> Result<Offset> {
    let mut headers = segment.headers(segment.start_before(segment.end())?);
    let mut end = segment.segment.base_offset;
    while let Ok(Some((_, header))) = headers.next_header() {
        end = header.next_offset();
    }
    Ok(end)
}

#[cfg(test)]
#[path = "topics_tests.rs"]
mod tests;
