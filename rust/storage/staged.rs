//! Segments that a bulk load has built beside a log, before the log adopts them ([`super::adopt`]).
//!
//! ```text
//! <log dir>/<topic>-<partition>.load-<producer id>-<producer epoch>-delete/
//!     <sequence, 20 digits>.log     record batches of magic 2, of that producer; the first has that base sequence
//! ```
//!
//! A load is the work of one idempotent producer: its records have the sequences from 0 on, without a gap, in the order
//! of the files. So the log itself, and every replica of it, knows how much of a load it has, as it knows the last
//! batch of any producer. The name of the directory ends with `-delete`: the start of a broker, ours or Apache Kafka's,
//! removes it with what is in it. Base offsets and leader epochs of the batches mean nothing before the adoption; the
//! CRC does not cover them.
//!
//! [`StagedSegment::check`] trusts nothing: it reads every batch as the validation of a produce does. It changes
//! nothing, and needs no lock. Only [`StagedSegment::place`] writes.
//!
//! Durability: none; the log's next flush syncs an adopted file.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::append::AppendError;
use super::batch_walk::{BatchWalk, Piece, ReadError, Step};
use super::config::LogConfig;
use super::format::{LOG_SUFFIX, parse_file_name};
use ::io::{DirEntry, File, FileSystem, OpenMode};
use base::error::{Error, ErrorCode, Result};
use base::place::{LeaderEpoch, Offset, Position};
use record::{BatchHeader, Origin, Rejection, Rules, TimestampType, Validated, placed_head, validate};

/// The most batches of one file. Their headers are in memory, and are written anew while the log is locked.
pub const MAX_BATCHES: usize = 1 << 17;
/// Bytes of one read, which stay in the cache while they are checked.
const READ_BYTES: usize = 256 << 10;

/// A file of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedFile {
    /// The file.
    pub path: PathBuf,
    /// The sequence of its first record.
    pub first_sequence: i32,
}

/// What the batches of a file must be like.
#[derive(Debug, Clone)]
pub struct Expected {
    /// The load's producer.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// The topic's rules for batches.
    pub rules: Rules,
    /// The topic's sizes of segments and indexes.
    pub config: Arc<LogConfig>,
    /// The user id that owns the log's directory.
    pub owner: u32,
    /// The clock, which the timestamps are compared with.
    pub now_ms: i64,
}

/// A file whose batches are all valid; see the module.
pub struct StagedSegment {
    file: Arc<dyn File>,
    path: PathBuf,
    size: u64,
    /// In the order of the file; their base offsets count from the first record of the file.
    headers: Vec<BatchHeader>,
    /// The offset and the leader epoch that the file's batches have now.
    placed: Option<(Offset, LeaderEpoch)>,
}

/// The files of a load, by ascending sequence; `None` without the directory. Files with other names are left out. A
/// directory that cannot be listed, or something else in its place, is refused.
pub fn list(fs: &dyn FileSystem, dir: &Path) -> Result<Option<Vec<StagedFile>>, AppendError> {
    let entries = match fs.read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        entries => entries.map_err(|error| failed("list", dir, error))?,
    };
    let of = |entry: DirEntry| {
        let (sequence, suffix) = parse_file_name(&entry.name)?;
        let first_sequence = i32::try_from(sequence.get()).ok()?;
        (suffix == LOG_SUFFIX && entry.is_file).then_some(StagedFile {
            path: entry.path,
            first_sequence,
        })
    };
    let mut files: Vec<StagedFile> = entries.into_iter().filter_map(of).collect();
    files.sort_unstable_by_key(|file| file.first_sequence);
    Ok(Some(files))
}

impl StagedSegment {
    /// Reads the whole file. A batch is refused for the reasons for which a produce would be refused, and when it is
    /// not the load's next one.
    ///
    /// # Errors
    /// `AppendError::Rejected` names the file, the position and the reason; `AppendError::Storage` is a failed read.
    pub fn check(fs: &dyn FileSystem, staged: &StagedFile, expected: &Expected) -> Result<Self, AppendError> {
        let path = &staged.path;
        let opened = fs.open_kept(path, OpenMode::ReadWrite);
        let file = opened.map_err(|error| failed("open", path, error))?;
        let size = check_file(&*file, path, expected)?;
        let headers = read_headers(&*file, staged, size, expected)?;
        if headers.is_empty() {
            return Err(refused(path, ErrorCode::INVALID_RECORD, "it has no batch").into());
        }
        file.note_unsynced();
        Ok(Self {
            file,
            path: path.clone(),
            size,
            headers,
            placed: None,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file.
    pub(super) fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// Bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size
    }

    /// Records.
    pub fn record_count(&self) -> i64 {
        self.headers.last().map_or(0, |last| last.next_offset().get())
    }

    /// The load's producer and its epoch.
    pub fn producer(&self) -> (i64, i16) {
        let first = self.headers.first();
        first.map_or((-1, -1), |first| (first.producer_id, first.producer_epoch))
    }

    /// The sequence of the first record.
    pub fn first_sequence(&self) -> i32 {
        self.headers.first().map_or(0, |first| first.base_sequence)
    }

    /// The sequence after the last record.
    pub fn next_sequence(&self) -> i32 {
        self.headers.last().map_or(0, |last| last.last_sequence() + 1)
    }

    /// Gives every batch of the file its offset, from `base_offset` on, and the leader epoch. Nothing is written when
    /// the batches have both already. Refuses a file whose length has changed since it was checked.
    pub fn place(&mut self, base_offset: Offset, leader_epoch: LeaderEpoch) -> Result<(), AppendError> {
        let size = self.file.len().map_err(|error| failed("stat", &self.path, error))?;
        if size != self.size {
            let reason = format!("it had {} bytes when it was checked, and has {size} now", self.size);
            return Err(refused(&self.path, ErrorCode::INVALID_RECORD, reason).into());
        }
        if self.placed.take() != Some((base_offset, leader_epoch)) {
            for (position, header) in self.placed_at(base_offset, leader_epoch) {
                let written = self.file.write_all_at(&placed_head(&header), position.get());
                written.map_err(|error| Error::io("write", &self.path, error))?;
            }
        }
        self.placed = Some((base_offset, leader_epoch));
        Ok(())
    }

    /// The positions and headers of the batches as [`Self::place`] leaves them.
    pub(super) fn placed_at(
        &self,
        base_offset: Offset,
        leader_epoch: LeaderEpoch,
    ) -> impl Iterator<Item = (Position, BatchHeader)> + '_ {
        let mut next = Position::START;
        self.headers.iter().map(move |header| {
            let position = next;
            next += header.size_bytes() as u64;
            let placed = BatchHeader {
                base_offset: base_offset + header.base_offset.get(),
                partition_leader_epoch: leader_epoch,
                ..*header
            };
            (position, placed)
        })
    }
}

/// Checks what can be known of a file without its batches. Returns its size.
fn check_file(file: &dyn File, path: &Path, expected: &Expected) -> Result<u64, AppendError> {
    let ownership = file.ownership().map_err(|error| failed("stat", path, error))?;
    if ownership.user != expected.owner {
        let (user, owner) = (ownership.user, expected.owner);
        let reason =
            format!("it belongs to user {user}, and the log to user {owner}: let the load run as the broker's user");
        return Err(refused(path, ErrorCode::INVALID_RECORD, reason).into());
    }
    if ownership.names != 1 {
        let reason = format!(
            "it has {} names (hard links): another file would change with it",
            ownership.names
        );
        return Err(refused(path, ErrorCode::INVALID_RECORD, reason).into());
    }
    let size = file.len().map_err(|error| failed("stat", path, error))?;
    let most = u64::from(expected.config.segment_bytes);
    if size > most {
        let reason = format!("it has {size} bytes, segment.bytes of the topic is {most}");
        return Err(refused(path, ErrorCode::RECORD_LIST_TOO_LARGE, reason).into());
    }
    if expected.rules.timestamp_type == TimestampType::LogAppendTime {
        let reason = "message.timestamp.type of the topic is LogAppendTime, and a load keeps the rows' timestamps: set \
                      it to CreateTime, or use a producer";
        return Err(refused(path, ErrorCode::INVALID_TIMESTAMP, reason).into());
    }
    Ok(size)
}

fn read_headers(
    file: &dyn File,
    staged: &StagedFile,
    size: u64,
    expected: &Expected,
) -> Result<Vec<BatchHeader>, AppendError> {
    let path = &staged.path;
    let piece = Piece::of_batches(READ_BYTES);
    let mut walk = BatchWalk::new(file, Position::START..Position(size), piece, Vec::new());
    let mut headers: Vec<BatchHeader> = Vec::new();
    let (mut sequence, mut records) = (staged.first_sequence, 0);
    loop {
        let step = walk.step().map_err(|error| unread(path, error))?;
        let position = walk.position();
        let refuse = |code, reason: String| refused(path, code, format!("position {position}: {reason}"));
        match step {
            Step::Batch(_) => {}
            Step::End => break,
            Step::Short(_) => {
                return Err(refuse(ErrorCode::CORRUPT_MESSAGE, "the last batch is not whole".into()).into());
            }
            Step::Invalid(error) => return Err(refuse(ErrorCode::CORRUPT_MESSAGE, error.to_string()).into()),
        }
        walk.hold_batch().map_err(|error| unread(path, error))?;
        let batch = walk.held_batch();
        let batch = batch.map_err(|error| refuse(ErrorCode::CORRUPT_MESSAGE, error.to_string()))?;
        let header = check_batch(batch.bytes(), sequence, expected).map_err(|rejection| {
            let first = rejection.record_errors.first();
            let at_record = first.map_or(String::new(), |(at, why)| format!(" (record {at}: {why})"));
            refuse(rejection.code, format!("{}{at_record}", rejection.message))
        })?;
        if headers.len() == MAX_BATCHES {
            let reason = format!("it has more than {MAX_BATCHES} batches: make the batches larger");
            return Err(refused(path, ErrorCode::RECORD_LIST_TOO_LARGE, reason).into());
        }
        headers.push(BatchHeader {
            base_offset: Offset(records),
            ..header
        });
        let Some(next) = sequence.checked_add(header.record_count) else {
            let reason = "a load has at most 2147483647 records for a partition: split it".to_owned();
            return Err(refuse(ErrorCode::RECORD_LIST_TOO_LARGE, reason).into());
        };
        records += i64::from(header.record_count);
        sequence = next;
    }
    Ok(headers)
}

/// Checks the load's next batch, whose first record has `sequence`.
fn check_batch(batch: &[u8], sequence: i32, expected: &Expected) -> Result<BatchHeader, Rejection> {
    let invalid = |message: String| Rejection::new(ErrorCode::INVALID_RECORD, message);
    let header = BatchHeader::parse(batch)?;
    if header.is_legacy() {
        return Err(invalid(format!("a batch of magic {}, not 2", header.magic)));
    }
    if header.is_control() || header.is_transactional() || header.has_delete_horizon() {
        return Err(invalid("a load has no control batches and no transactions".into()));
    }
    let (producer, wanted) = (
        (header.producer_id, header.producer_epoch, header.base_sequence),
        (expected.producer_id, expected.producer_epoch, sequence),
    );
    if producer != wanted {
        return Err(invalid(format!(
            "a batch of (producer id, epoch, sequence) {producer:?}, but {wanted:?} is next"
        )));
    }
    match validate(batch, &expected.rules, Origin::Load, expected.now_ms)? {
        Validated::InPlace {
            header, max_timestamp, ..
        } if header.max_timestamp == max_timestamp && header.timestamp_type() == TimestampType::CreateTime => {
            Ok(header)
        }
        Validated::InPlace { max_timestamp, .. } => Err(invalid(format!(
            "the header's greatest timestamp is {} or not of CreateTime, the records' is {max_timestamp}",
            header.max_timestamp
        ))),
        Validated::Rewritten { .. } => {
            let codec = header
                .codec()
                .map_or_else(|error| error.to_string(), |codec| format!("{codec:?}"));
            Err(invalid(format!(
                "the batch has the codec {codec}, and compression.type of the topic another one: build with that codec"
            )))
        }
    }
}

/// A failed call on what a load has staged. Whoever built it may also have removed or cut it, kept it from this user,
/// or put something else in its place: that is no disk failure.
pub(super) fn failed(operation: &'static str, path: &Path, error: io::Error) -> AppendError {
    let is_its_own = match error.kind() {
        ErrorKind::NotFound
        | ErrorKind::UnexpectedEof
        | ErrorKind::PermissionDenied
        | ErrorKind::CrossesDevices
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory => true,
        _ => error.raw_os_error() == Some(libc::ELOOP),
    };
    if is_its_own {
        return refused(path, ErrorCode::INVALID_RECORD, format!("{operation}: {error}")).into();
    }
    Error::io(operation, path, error).into()
}

fn unread(path: &Path, error: ReadError) -> AppendError {
    match error {
        ReadError::Io(error) => failed("read", path, error),
        other @ ReadError::NotAtHand => other.at(path).into(),
    }
}

fn refused(path: &Path, code: ErrorCode, reason: impl std::fmt::Display) -> Rejection {
    Rejection::new(code, format!("{}: {reason}", path.display()))
}

#[cfg(test)]
#[path = "staged_tests.rs"]
mod tests;
