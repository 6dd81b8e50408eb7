//! One segment: a `.log` file and its indexes.
//!
//! Only the last segment of a log is *active*: it is written at its end, and its index entries are in memory. Rolling
//! *seals* the segment: its index files are complete, and only truncation or recovery changes it again.
//!
//! Invariants: `size` is the end of the last whole batch, whatever the file holds beyond it; base offset ≤ every offset
//! in the segment; offsets and positions fit 32 bits relative to the base.
//!
//! Durability: nothing here syncs; [`super::flush`] does. [`Segment::append`] may overlap only with reads of bytes
//! below `size`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::config::LogConfig;
use super::format::{
    INDEX_ENTRY, INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_ENTRY, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, file_path,
    with_suffix,
};
use super::header_scan::{HeaderScan, believed};
use super::wait::Wait;
use ::io::{File, FileSystem, NoFile, OpenMode};
use base::error::{Error, Result};
use base::place::{Offset, Position};
use index::entry_file::EntryFile;
use index::{OffsetIndex, TimeIndex, TimestampOffset, TransactionIndex};
use record::BatchHeader;

/// The number of index entries in memory from which on they are appended to their file.
const INDEX_BATCH: usize = 1024;

/// The open `.log` file of a segment; shared with readers.
pub struct SegmentFile {
    /// The file.
    pub file: Arc<dyn File>,
    /// The file's path, valid as long as its directory keeps its name.
    pub path: PathBuf,
}

/// See the module.
pub struct Segment {
    base_offset: Offset,
    log: Arc<SegmentFile>,
    size: u64,
    /// A failed write left bytes beyond `size`, which must be cut off before any other change of the file.
    has_torn_tail: bool,
    pub(super) offset_index: OffsetIndex,
    pub(super) time_index: TimeIndex,
    pub(super) txn_index: TransactionIndex,
    created_ms: i64,
    /// Greatest timestamp of the first batch; unset while empty or not yet read.
    rolling_timestamp: Option<i64>,
    bytes_since_index_entry: u64,
    /// Greatest timestamp and the last offset of its batch; unset until read from the time index.
    max_timestamp: OnceLock<TimestampOffset>,
}

/// The values that decide whether a segment must be rolled.
pub struct RollCheck<'a> {
    /// Sizes and times.
    pub config: &'a LogConfig,
    /// Subtracted from `segment.ms`; constant for one segment.
    pub jitter_ms: i64,
    /// The clock.
    pub now_ms: i64,
    /// Greatest timestamp of the first batch of the same write, which an empty segment would begin with.
    pub begun: Option<i64>,
    /// Bytes to append.
    pub bytes: u64,
    /// Their last offset.
    pub last_offset: Offset,
    /// Their greatest timestamp.
    pub max_timestamp: i64,
}

impl Segment {
    /// Makes an empty segment with its file: one system call. A file of that name that exists already is emptied.
    pub fn create(fs: &dyn FileSystem, dir: &Path, base_offset: Offset, now_ms: i64) -> Result<Self> {
        let mut segment = Self::unmade(dir, base_offset, now_ms);
        segment.make_file(fs)?;
        Ok(segment)
    }

    /// An empty segment in memory; [`make_file`](Self::make_file) must come before the first append.
    pub(super) fn unmade(dir: &Path, base_offset: Offset, now_ms: i64) -> Self {
        Self {
            base_offset,
            log: Arc::new(SegmentFile {
                file: Arc::new(NoFile),
                path: file_path(dir, base_offset, LOG_SUFFIX),
            }),
            size: 0,
            has_torn_tail: false,
            offset_index: OffsetIndex::new(EntryFile::new(file_path(dir, base_offset, INDEX_SUFFIX)), base_offset),
            time_index: TimeIndex::new(
                EntryFile::new(file_path(dir, base_offset, TIME_INDEX_SUFFIX)),
                base_offset,
            ),
            txn_index: TransactionIndex::new(EntryFile::new(file_path(dir, base_offset, TXN_INDEX_SUFFIX))),
            created_ms: now_ms,
            rolling_timestamp: None,
            bytes_since_index_entry: 0,
            max_timestamp: OnceLock::from(TimestampOffset {
                timestamp: -1,
                offset: base_offset,
            }),
        }
    }

    /// A segment in memory for a file that is about to get its name in `dir`; the caller notes its batches.
    pub(super) fn of_file(dir: &Path, base_offset: Offset, file: &Arc<dyn File>, now_ms: i64) -> Self {
        let mut segment = Self::unmade(dir, base_offset, now_ms);
        let path = segment.log.path.clone();
        segment.log = Arc::new(SegmentFile {
            file: Arc::clone(file),
            path,
        });
        segment
    }

    /// Makes the file of an empty segment.
    pub(super) fn make_file(&mut self, fs: &dyn FileSystem) -> Result<()> {
        let path = self.log.path.clone();
        let file = fs
            .open_kept(&path, OpenMode::Create)
            .map_err(|error| Error::io("create", &path, error))?;
        self.log = Arc::new(SegmentFile { file, path });
        Ok(())
    }

    /// Opens an existing segment as sealed; its size is the file's. The caller has listed the directory and says in
    /// `has_txn_index` whether the segment has a transaction index; most have none. An empty segment has empty indexes,
    /// even when the index files still name batches that were cut off.
    pub fn open(
        fs: &dyn FileSystem,
        dir: &Path,
        base_offset: Offset,
        has_txn_index: bool,
        now_ms: i64,
    ) -> Result<Self> {
        let path = file_path(dir, base_offset, LOG_SUFFIX);
        let file = fs
            .open_kept(&path, OpenMode::ReadWrite)
            .map_err(|error| Error::io("open", &path, error))?;
        let size = file.len().map_err(|error| Error::io("stat", &path, error))?;
        let txn_path = file_path(dir, base_offset, TXN_INDEX_SUFFIX);
        let mut segment = Self {
            base_offset,
            log: Arc::new(SegmentFile { file, path }),
            size,
            has_torn_tail: false,
            offset_index: OffsetIndex::new(
                EntryFile::sealed(file_path(dir, base_offset, INDEX_SUFFIX)),
                base_offset,
            ),
            time_index: TimeIndex::new(
                EntryFile::sealed(file_path(dir, base_offset, TIME_INDEX_SUFFIX)),
                base_offset,
            ),
            txn_index: TransactionIndex::new(if has_txn_index {
                EntryFile::sealed(txn_path)
            } else {
                EntryFile::missing(txn_path)
            }),
            created_ms: now_ms,
            rolling_timestamp: None,
            bytes_since_index_entry: 0,
            max_timestamp: OnceLock::new(),
        };
        if size == 0 {
            segment.reset();
        }
        Ok(segment)
    }

    /// The first offset that the segment may hold.
    pub fn base_offset(&self) -> Offset {
        self.base_offset
    }

    /// Bytes of whole batches.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The position where the segment's last whole batch ends.
    pub fn end(&self) -> Position {
        Position(self.size)
    }

    /// The open `.log` file.
    pub fn log(&self) -> &Arc<SegmentFile> {
        &self.log
    }

    /// Walks the headers from `position`.
    pub fn scan(&self, position: Position) -> HeaderScan<'_> {
        HeaderScan::new(&*self.log.file, &self.log.path, position, self.end())
    }

    /// Where to start scanning for `offset`.
    pub fn start_for(&self, fs: &dyn FileSystem, offset: Offset) -> Result<Position> {
        believed(
            &*self.log.file,
            &self.log.path,
            self.offset_index.lookup(fs, offset)?,
            self.end(),
            Wait::Yes,
        )
    }

    /// Writes whole batches that are known to fit, in one write, and returns their position; the caller then records
    /// each with [`Self::note`]. `Err((error, true))` says that the file could not be cut back and must not be written
    /// again.
    pub fn append(&mut self, bytes: &[u8]) -> Result<Position, (Error, bool)> {
        let position = self.end();
        if self.has_torn_tail {
            self.cut_torn_tail().map_err(|error| {
                let is_ruined = !error.is_shortage();
                (error, is_ruined)
            })?;
        }
        if let Err(error) = self.log.file.write_all_at(bytes, position.get()) {
            self.has_torn_tail = true;
            let is_ruined = self.cut_torn_tail().is_err_and(|error| !error.is_shortage());
            return Err((Error::io("write", &self.log.path, error), is_ruined));
        }
        Ok(position)
    }

    /// Cuts off the bytes that a failed write left. This happens before the segment is written, sealed or closed: else
    /// a reader would take those bytes for a corrupt batch.
    fn cut_torn_tail(&mut self) -> Result<()> {
        if self.has_torn_tail {
            let cut = self.log.file.set_len(self.size);
            cut.map_err(|error| Error::io("truncate", &self.log.path, error))?;
            self.has_torn_tail = false;
        }
        Ok(())
    }

    /// Updates size, timestamps and indexes for a batch that was written at `position` (the old size).
    #[inline]
    pub fn note(&mut self, header: &BatchHeader, position: Position, index_interval_bytes: u32) {
        let (last_offset, bytes) = (header.last_offset(), header.size_bytes() as u64);
        if position == Position::START {
            self.rolling_timestamp = Some(header.max_timestamp);
        }
        let so_far = self.max_timestamp.get().map_or(-1, |so_far| so_far.timestamp);
        if header.max_timestamp > so_far {
            self.max_timestamp = OnceLock::from(TimestampOffset {
                timestamp: header.max_timestamp,
                offset: last_offset,
            });
        }
        if self.bytes_since_index_entry > u64::from(index_interval_bytes) {
            self.offset_index.append(last_offset, position);
            if let Some(max) = self.max_timestamp.get() {
                self.time_index.maybe_append(max.timestamp, max.offset);
            }
            self.bytes_since_index_entry = 0;
        }
        self.bytes_since_index_entry += bytes;
        self.size = (position + bytes).get();
    }

    /// Appends index entries to their files once there are many.
    pub fn write_index_batch(&mut self, fs: &dyn FileSystem) -> Result<()> {
        if self.offset_index.file().pending() >= INDEX_BATCH {
            self.write_pending(fs)?;
        }
        Ok(())
    }

    /// Appends the index entries that the files lack.
    pub fn write_pending(&mut self, fs: &dyn FileSystem) -> Result<()> {
        self.offset_index.file().write_pending(fs)?;
        self.time_index.file().write_pending(fs)?;
        self.txn_index.write_pending(fs)
    }

    /// Greatest timestamp and the last offset of its batch; timestamp -1 when the segment has none.
    pub fn max_timestamp(&self, fs: &dyn FileSystem) -> Result<TimestampOffset> {
        if let Some(max) = self.max_timestamp.get() {
            return Ok(*max);
        }
        let last = self.time_index.last_entry(fs)?;
        Ok(*self.max_timestamp.get_or_init(|| last))
    }

    /// Sets the greatest timestamp to the one that the time index's file names.
    pub(super) fn set_max_timestamp(&mut self, max: TimestampOffset) {
        self.max_timestamp = OnceLock::from(max);
    }

    /// The time that retention compares: the greatest timestamp, or the file's modification time without a timestamp.
    pub fn largest_timestamp(&self, fs: &dyn FileSystem) -> Result<i64> {
        let max = self.max_timestamp(fs)?.timestamp;
        if max >= 0 {
            return Ok(max);
        }
        let metadata = fs
            .metadata(&self.log.path)
            .map_err(|error| Error::io("stat", &self.log.path, error))?;
        Ok(metadata.modified_ms)
    }

    /// Whether a new segment must be begun before the append.
    ///
    /// (a) no room, (b) too old, (c) an index is full, (d) offsets too far from the base.
    pub fn should_roll(&self, check: &RollCheck<'_>) -> bool {
        let config = check.config;
        let has_records = self.size > 0 || check.begun.is_some();
        self.size + check.bytes > u64::from(config.segment_bytes) // (a)
            || (has_records && self.waited_ms(check) > config.max_segment_ms().saturating_sub(check.jitter_ms)) // (b)
            || self.offset_index.is_full(config.segment_index_bytes) // (c)
            || self.time_index.is_full(config.segment_index_bytes)
            || check.last_offset - self.base_offset > i64::from(i32::MAX) // (d)
    }

    /// Whether the indexes take more entries than `entries`, at most one of each for a batch.
    pub fn has_index_room(&self, entries: usize, max_bytes: u32) -> bool {
        let left = |entry_bytes: usize| max_bytes.saturating_sub((entries * entry_bytes) as u32);
        !self.offset_index.is_full(left(INDEX_ENTRY)) && !self.time_index.is_full(left(TIME_INDEX_ENTRY))
    }

    /// The segment's age in ms: by record timestamps when the first batch has one, else by the clock.
    fn waited_ms(&self, check: &RollCheck<'_>) -> i64 {
        match self.rolling_timestamp.or(check.begun) {
            Some(first) if first >= 0 => check.max_timestamp.saturating_sub(first),
            _ => check.now_ms.saturating_sub(self.created_ms),
        }
    }

    /// Greatest timestamp of the first batch, which is read when it is not in memory; `None` without a batch.
    pub(super) fn first_batch_timestamp(&self) -> Result<Option<i64>> {
        if self.rolling_timestamp.is_some() {
            return Ok(self.rolling_timestamp);
        }
        let first = self.scan(Position::START).next_header()?;
        Ok(first.map(|(_, header)| header.max_timestamp))
    }

    /// Writes the final time index entry and all index files, and creates missing ones: the segment's files are then
    /// as Kafka leaves them. May be repeated after an error.
    pub fn write_indexes(&mut self, fs: &dyn FileSystem) -> Result<()> {
        self.cut_torn_tail()?;
        if let Some(max) = self.max_timestamp.get().copied() {
            self.time_index.maybe_append(max.timestamp, max.offset);
        }
        self.offset_index.file().write_whole(fs)?;
        self.time_index.file().write_whole(fs)?;
        self.txn_index.write_pending(fs)
    }

    /// Drops the indexes from memory; [`Self::write_indexes`] has succeeded before.
    pub fn seal(&mut self) {
        self.offset_index.file().seal();
        self.time_index.file().seal();
        self.txn_index.file().seal();
    }

    /// Loads the indexes into memory, so that entries can be appended.
    pub fn unseal_indexes(&mut self, fs: &dyn FileSystem) -> Result<()> {
        self.offset_index.file().unseal(fs)?;
        self.time_index.file().unseal(fs)?;
        self.txn_index.file().unseal(fs)
    }

    /// Makes a sealed segment active. Reads the first batch's timestamp, which rolls by time need.
    pub fn unseal(&mut self, fs: &dyn FileSystem) -> Result<()> {
        self.unseal_indexes(fs)?;
        self.max_timestamp(fs)?;
        self.rolling_timestamp = None;
        self.rolling_timestamp = self.first_batch_timestamp()?;
        Ok(())
    }

    /// Forgets all noted batches and empties the indexes, before a recovery scan from position 0.
    pub(super) fn reset(&mut self) {
        self.offset_index.file().restart();
        self.time_index.file().restart();
        self.txn_index.file().restart();
        self.begin_notes();
    }

    /// Forgets sizes and times, before every batch is noted again.
    pub(super) fn begin_notes(&mut self) {
        let base_offset = self.base_offset;
        self.size = 0;
        self.bytes_since_index_entry = 0;
        self.rolling_timestamp = None;
        self.max_timestamp = OnceLock::from(TimestampOffset {
            timestamp: -1,
            offset: base_offset,
        });
    }

    /// Cuts the file at `end`, where a batch ends. The caller truncates the indexes.
    pub(super) fn cut(&mut self, end: Position) -> Result<()> {
        self.log
            .file
            .set_len(end.get())
            .map_err(|error| Error::io("truncate", &self.log.path, error))?;
        self.size = end.get();
        self.has_torn_tail = false;
        Ok(())
    }

    /// Cuts off every batch that holds `offset` or a later offset; the segment must be active. Returns the new end
    /// offset: `offset`, or the base offset of the batch that holds it. The header of an old wrapper message does not
    /// tell its first offset: the end of the batch before it is then the new end offset. All reads come before the cut,
    /// so that the call may be repeated after an error.
    pub fn truncate_to(&mut self, fs: &dyn FileSystem, offset: Offset, now_ms: i64) -> Result<Offset> {
        let (mut end, mut end_offset) = (Position::START, offset);
        let mut expected = self.base_offset;
        let mut scan = self.scan(self.start_for(fs, offset.saturating_sub(1))?);
        while let Some((position, header)) = scan.next_header()? {
            if header.last_offset() >= offset {
                let base_offset = if header.is_wrapper() {
                    expected
                } else {
                    header.base_offset
                };
                end_offset = offset.min(base_offset);
                break;
            }
            end = position + header.size_bytes() as u64;
            expected = header.next_offset();
        }
        self.offset_index.truncate_to(offset);
        self.time_index.truncate_to(offset);
        self.txn_index.truncate_to(offset);
        let size = std::mem::replace(&mut self.size, end.get());
        if let Err(error) = self.load_max_timestamp(fs).and_then(|()| self.cut(end)) {
            self.size = size;
            return Err(error);
        }
        self.bytes_since_index_entry = 0;
        if end == Position::START {
            (self.created_ms, self.rolling_timestamp) = (now_ms, None);
        }
        Ok(end_offset)
    }

    /// The greatest timestamp of an active segment: that of its last time index entry or of a batch after it.
    pub(super) fn load_max_timestamp(&mut self, fs: &dyn FileSystem) -> Result<()> {
        let mut max = self.time_index.last_entry(fs)?;
        let from = self.start_for(
            fs,
            if max.timestamp < 0 {
                self.base_offset
            } else {
                max.offset
            },
        )?;
        let mut scan = self.scan(from);
        while let Some((_, header)) = scan.next_header()? {
            if header.max_timestamp > max.timestamp {
                max = TimestampOffset {
                    timestamp: header.max_timestamp,
                    offset: header.last_offset(),
                };
            }
        }
        self.max_timestamp = OnceLock::from(max);
        Ok(())
    }

    /// Takes over the new name of the segment's directory. Readers that hold the file go on.
    pub(super) fn move_to(&mut self, dir: &Path) {
        let path = file_path(dir, self.base_offset, LOG_SUFFIX);
        self.log.file.moved_to(&path);
        self.log = Arc::new(SegmentFile {
            file: Arc::clone(&self.log.file),
            path,
        });
        self.offset_index.file().move_to(dir);
        self.time_index.file().move_to(dir);
        self.txn_index.file().move_to(dir);
    }

    /// As [`Self::create`], under names that end with `suffix`. [`Self::rename_suffix`] gives the files their real
    /// names.
    pub(super) fn create_aside(
        fs: &dyn FileSystem,
        dir: &Path,
        base_offset: Offset,
        suffix: &str,
        now_ms: i64,
    ) -> Result<Self> {
        let mut segment = Self::unmade(dir, base_offset, now_ms);
        segment.name_files(&|path| with_suffix(&path, suffix));
        segment.make_file(fs)?;
        Ok(segment)
    }

    /// Renames the files: each name ends with `to` instead of `from`. The transaction index need not exist. The caller
    /// holds [`FileSystem::hold_names`]. After an error some files have their new names, and the segment is of no use.
    pub(super) fn rename_suffix(&mut self, fs: &dyn FileSystem, from: &str, to: &str) -> Result<()> {
        let renamed = |path: &Path| {
            let text = path.as_os_str().to_string_lossy();
            PathBuf::from(format!("{}{to}", text.strip_suffix(from).unwrap_or(&text)))
        };
        for path in self.file_paths() {
            match fs.rename(&path, &renamed(&path)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::io("rename", &path, error)),
                _ => {}
            }
        }
        self.name_files(&|path| renamed(&path));
        self.log.file.moved_to(&self.log.path);
        Ok(())
    }

    fn name_files(&mut self, rename: &dyn Fn(PathBuf) -> PathBuf) {
        self.log = Arc::new(SegmentFile {
            file: Arc::clone(&self.log.file),
            path: rename(self.log.path.clone()),
        });
        self.offset_index.file().rename(rename);
        self.time_index.file().rename(rename);
        self.txn_index.file().rename(rename);
    }

    /// Where the files are, whether they exist or not; the `.log` first.
    pub(super) fn file_paths(&mut self) -> [PathBuf; 4] {
        [
            self.log.path.clone(),
            self.offset_index.file().path().to_path_buf(),
            self.time_index.file().path().to_path_buf(),
            self.txn_index.file().path().to_path_buf(),
        ]
    }

    /// Paths of all files of a segment, whether they exist or not; the `.log` first.
    pub fn paths(dir: &Path, base_offset: Offset) -> [PathBuf; 4] {
        [LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX]
            .map(|suffix| file_path(dir, base_offset, suffix))
    }
}
