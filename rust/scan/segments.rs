//! The segment files of one partition as a scan sees them: listed, opened, searched through their indexes.
//!
//! Beside a live broker the files may be renamed, unlinked or grow at any moment. So an index entry is used only when
//! its batch begins at its position, index files are read with `pread` (their writer may shorten them, which a memory
//! map does not survive), and a missing file is an error of kind `NotFound`, after which the plan lists again. This
//! module never writes and takes no locks.

use std::collections::{BTreeMap, VecDeque};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::chain::{Chain, ChainEnd, Damage};
use super::{Result, ScanError};
use ::io::{File, FileSystem, OpenMode};
use base::error::Error;
use base::place::{Offset, Position};
use index::search::first_index_where;
use index::{OffsetPosition, TimestampOffset};
use record::{Batch, BatchHeader};
use storage::batch_walk;
use storage::format::{
    INDEX_ENTRY, INDEX_SUFFIX, LOG_SUFFIX, SNAPSHOT_SUFFIX, SWAP_SUFFIX, TIME_INDEX_ENTRY, TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX, file_name, parse_file_name,
};
use storage::header_scan::{HeaderScan, believed};
use storage::swap_rules::{Passing, SwapRules};
use storage::wait::Wait;

/// How often a directory in which a cleaner swaps files is listed again before its state counts as left by a crash.
const SWAP_TRIES: u32 = 20;
/// Pause between two listings of a directory that is changing.
pub(super) const PAUSE: Duration = Duration::from_millis(10);
/// The most bytes that a batch is inflated to.
pub(super) const INFLATE_LIMIT: usize = 256 * 1024 * 1024;
/// Batches at the end of a log that are searched for the last batch with a good checksum.
const TAIL_BATCHES: usize = 64;

/// The segments and producer snapshots in a partition's directory.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Ascending by base offset.
    pub segments: Vec<Segment>,
    /// Offsets of the producer snapshots, ascending.
    pub snapshots: Vec<Offset>,
}

/// One segment: its file, and the link or open file that keeps it readable after its deletion.
#[derive(Clone)]
pub(super) struct Segment {
    /// First offset that it may hold.
    pub base_offset: Offset,
    /// The next segment's; `Offset::MAX` for the last.
    pub next_base_offset: Offset,
    /// The `.log` file; one that a crashed cleaner left ends with `.swap`.
    pub path: PathBuf,
    /// A hard link to it.
    pub link: Option<PathBuf>,
    /// The file, when it is kept open.
    pub file: Option<Arc<dyn File>>,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())
    }
}

/// An open segment, as long as it was when it was opened.
pub(super) struct OpenSegment<'a> {
    pub segment: &'a Segment,
    pub file: Arc<dyn File>,
    pub len: u64,
    offset_index: Entries<INDEX_ENTRY>,
}

/// Where a search in a segment ended.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Where the batch found begins, or where the last whole batch ends.
    pub position: Position,
    /// Where reading begins: `position`; where the offset searched for is in no batch, as after a compaction or in
    /// front of damage, at the batch before it, so that the reader sees which of them it is.
    pub from: Position,
    /// The batch found.
    pub header: Option<BatchHeader>,
    /// When none was found: the offset after the last batch, or the base offset.
    pub next_offset: Offset,
    /// When none was found: why.
    pub end: ChainEnd,
    /// Whether what is damaged stands right in front of the batch found.
    pub is_behind_damage: bool,
    /// The damage that was met last.
    pub damage: Option<Damage>,
}

impl Listing {
    /// Lists a directory. A directory in which a cleaner swaps files is listed again until the swap has ended.
    pub fn of(fs: &dyn FileSystem, dir: &Path) -> Result<Self> {
        for _ in 0..SWAP_TRIES {
            let names = names(fs, dir)?;
            if !names
                .iter()
                .any(|name| Passing::of(name).is_some_and(Passing::is_swap_log))
            {
                return Self::from_names(fs, dir, &names);
            }
            thread::sleep(PAUSE);
        }
        Self::from_names(fs, dir, &names(fs, dir)?)
    }

    /// The segments of `names`. The segments of a finished cleaning replace the segments that they were made from, as
    /// at the next start of a broker.
    fn from_names(fs: &dyn FileSystem, dir: &Path, names: &[String]) -> Result<Self> {
        let with = |wanted: &'static str| {
            let parsed = names.iter().filter_map(|name| parse_file_name(name));
            parsed
                .filter(move |(_, suffix)| *suffix == wanted)
                .map(|(offset, _)| offset)
        };
        let mut paths: BTreeMap<Offset, PathBuf> = with(LOG_SUFFIX)
            .map(|base| (base, dir.join(file_name(base, LOG_SUFFIX))))
            .collect();
        let rules = SwapRules::of(names.iter().map(String::as_str));
        let swap_log = |base| dir.join(file_name(base, LOG_SUFFIX) + SWAP_SUFFIX);
        let end_of = |base| -> Result<Offset> {
            let swapped = Segment::new(base, swap_log(base));
            let place = swapped.open(fs)?.locate(Offset::MAX, Offset::MAX)?;
            let damage = place.damage.filter(|_| place.end != ChainEnd::Neighbour);
            damage.map_or(Ok(place.next_offset), |damage| {
                Err(ScanError::Corrupt {
                    path: damage.path,
                    position: damage.position,
                    reason: damage.reason,
                })
            })
        };
        if let Some(replaced) = rules.replaced(end_of)? {
            paths.retain(|base, _| !replaced.contains(base));
        }
        paths.extend(rules.swapped_logs().map(|base| (base, swap_log(base))));
        let mut segments: Vec<Segment> = paths.into_iter().map(|(base, path)| Segment::new(base, path)).collect();
        let mut next = Offset::MAX;
        for segment in segments.iter_mut().rev() {
            segment.next_base_offset = next;
            next = segment.base_offset;
        }
        let mut snapshots: Vec<Offset> = with(SNAPSHOT_SUFFIX).collect();
        snapshots.sort_unstable();
        Ok(Self { segments, snapshots })
    }

    /// The index of the segment that holds `offset` or would.
    pub fn index_of(&self, offset: Offset) -> Option<usize> {
        let after = self.segments.partition_point(|segment| segment.base_offset <= offset);
        after
            .checked_sub(1)
            .or_else(|| (!self.segments.is_empty()).then_some(0))
    }
}

fn names(fs: &dyn FileSystem, dir: &Path) -> Result<Vec<String>> {
    let entries = fs.read_dir(dir).map_err(|error| Error::io("list", dir, error))?;
    let files = entries.into_iter().filter(|entry| !entry.is_dir);
    Ok(files.map(|entry| entry.name).collect())
}

impl Segment {
    fn new(base_offset: Offset, path: PathBuf) -> Self {
        Self {
            base_offset,
            next_base_offset: Offset::MAX,
            path,
            link: None,
            file: None,
        }
    }

    /// Whether it is the active segment.
    pub const fn is_last(&self) -> bool {
        self.next_base_offset.get() == Offset::MAX.get()
    }

    /// Opens the segment: its open file, else its link, else its path.
    pub fn open(&self, fs: &dyn FileSystem) -> Result<OpenSegment<'_>> {
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => self.open_file(fs)?,
        };
        let len = file.len().map_err(|error| Error::io("stat", &self.path, error))?;
        Ok(OpenSegment {
            segment: self,
            file,
            len,
            offset_index: Entries::open(fs, &self.beside(INDEX_SUFFIX)),
        })
    }

    /// Opens a new descriptor of the link, else of the path.
    pub fn open_file(&self, fs: &dyn FileSystem) -> Result<Arc<dyn File>> {
        let path = self.link.as_ref().unwrap_or(&self.path);
        let opened = fs.open(path, OpenMode::Read);
        Ok(opened.map_err(|error| Error::io("open", path, error))?)
    }

    /// Whether the next segment is still there: a cleaner that puts its batches into this one removes it before.
    pub fn is_followed(&self, fs: &dyn FileSystem) -> bool {
        fs.exists(&self.path.with_file_name(file_name(self.next_base_offset, LOG_SUFFIX)))
    }

    /// The path of another file of the segment.
    fn beside(&self, suffix: &str) -> PathBuf {
        let is_swap = self.path.extension().is_some_and(|it| it == "swap");
        let name = file_name(self.base_offset, suffix);
        self.path
            .with_file_name(if is_swap { name + SWAP_SUFFIX } else { name })
    }

    /// Bytes of its transaction index; none when there is no such file.
    pub fn read_txn_index(&self, fs: &dyn FileSystem) -> Result<Vec<u8>> {
        let path = self.beside(TXN_INDEX_SUFFIX);
        match fs.read_to_vec(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            read => Ok(read.map_err(|error| Error::io("read", &path, error))?),
        }
    }
}

impl OpenSegment<'_> {
    /// Where the segment ends.
    pub fn end(&self) -> Position {
        Position(self.len)
    }

    /// The headers from `position` on.
    pub fn headers(&self, position: Position) -> HeaderScan<'_> {
        self.headers_to(position, self.end())
    }

    /// The headers from `position` to before `end`.
    pub fn headers_to(&self, position: Position, end: Position) -> HeaderScan<'_> {
        HeaderScan::new(&*self.file, &self.segment.path, position, end.min(self.end()))
    }

    /// The headers from `position` to before `end` that their neighbours confirm. No batch below `limit` is being
    /// written any more. None when `position` is behind `end`, as where a time index leads behind the high watermark.
    pub fn chain(&self, position: Position, end: Position, limit: Offset) -> Chain<'_> {
        Chain::new(
            self.segment,
            &*self.file,
            position..end.max(position).min(self.end()),
            limit,
        )
    }

    /// The first batch whose last offset is at least `offset`; `limit` as for [`Self::chain`].
    pub fn locate(&self, offset: Offset, limit: Offset) -> Result<Place> {
        let start = self.start_for(offset)?;
        let mut chain = self.chain(start, self.end(), limit);
        let (mut before, mut behind) = (start, start);
        let mut next_offset = self.segment.base_offset;
        while let Some((position, header)) = chain.next_header()? {
            if header.last_offset() >= offset {
                // A wrapper does not tell its first offset.
                let is_held = header.base_offset <= offset || header.is_wrapper() && position == behind;
                return Ok(Place {
                    position,
                    from: if is_held { position } else { before },
                    header: Some(header),
                    next_offset,
                    end: ChainEnd::Bytes,
                    is_behind_damage: position != behind,
                    damage: chain.take_damage(),
                });
            }
            (before, behind) = (position, position + header.size_bytes() as u64);
            next_offset = header.next_offset();
        }
        let is_complete = chain.expected() >= limit.min(self.segment.next_base_offset);
        Ok(Place {
            position: behind,
            from: if is_complete { behind } else { before },
            header: None,
            next_offset: chain.expected(),
            end: chain.end().unwrap_or(ChainEnd::Bytes),
            is_behind_damage: false,
            damage: chain.take_damage(),
        })
    }

    /// Where the bytes of offsets from `offset` on begin: a batch that holds it counts whole.
    pub fn position_of(&self, offset: Offset, limit: Offset) -> Result<Position> {
        if offset <= self.segment.base_offset {
            return Ok(Position::START);
        }
        Ok(self.locate(offset, limit)?.from)
    }

    /// Where the bytes of offsets below `offset` end: a batch that holds `offset - 1` counts whole. Bytes behind that
    /// batch are not read. Where that batch cannot be found, the reader is to see why: all bytes; where it may be
    /// damaged, the batch behind it, too, which tells.
    pub fn end_position_of(&self, offset: Offset, limit: Offset) -> Result<Position> {
        let place = self.locate(offset.saturating_sub(1), limit)?;
        if place.header.is_none() && place.end != ChainEnd::Bytes {
            return Ok(self.end());
        }
        // The header of an old wrapper message does not tell its first offset, which may be below.
        let is_held = |header: &BatchHeader| header.base_offset < offset || header.is_wrapper();
        let held = place.header.filter(|header| is_held(header) || place.is_behind_damage);
        Ok(place.position + held.map_or(0, |header| header.size_bytes() as u64))
    }

    /// Where a search for `offset` begins: the last index entry at or below it, if a batch begins at its position, else
    /// the start.
    fn start_for(&self, offset: Offset) -> Result<Position> {
        let relative = offset.get().saturating_sub(self.segment.base_offset.get());
        let count = first_index_where(self.offset_index.count, |at| {
            i64::from(u32::from_be_bytes(self.offset_index.field(at, 0))) > relative
        });
        self.believe(count)
    }

    /// A position at or before `position` where a batch begins, as near as the index says.
    pub fn start_before(&self, position: Position) -> Result<Position> {
        let count = first_index_where(self.offset_index.count, |at| self.indexed_position(at) > position);
        self.believe(count)
    }

    fn indexed_position(&self, at: usize) -> Position {
        Position(u64::from(u32::from_be_bytes(self.offset_index.field(at, 4))))
    }

    /// The place of the last of the first `count` entries, if a batch stands there.
    fn believe(&self, count: usize) -> Result<Position> {
        let Some(at) = count.checked_sub(1) else {
            return Ok(Position::START);
        };
        let entry = OffsetPosition {
            offset: self.segment.base_offset + i64::from(u32::from_be_bytes(self.offset_index.field(at, 0))),
            position: self.indexed_position(at),
        };
        Ok(believed(&*self.file, &self.segment.path, entry, self.end(), Wait::Yes)?)
    }

    /// Reads a whole batch.
    pub fn read_batch(&self, position: Position, header: &BatchHeader, bytes: &mut Vec<u8>) -> Result<()> {
        let read = batch_walk::read_batch(&*self.file, position, header, bytes);
        Ok(read.map_err(|error| Error::io("read", &self.segment.path, error))?)
    }

    /// Calls `each` with (offset, timestamp) of the records of a batch, its checksum verified, until it says to stop.
    pub fn each_record(
        &self,
        position: Position,
        header: &BatchHeader,
        mut each: impl FnMut(Offset, i64) -> std::ops::ControlFlow<()>,
    ) -> Result<()> {
        let mut bytes = Vec::new();
        self.read_batch(position, header, &mut bytes)?;
        let corrupt = |error: record::BatchError| self.corrupt(position, error.to_string());
        let Some((batch, _)) = Batch::split_first(&bytes).map_err(corrupt)? else {
            return Err(self.corrupt(position, "the batch is cut short".to_owned()));
        };
        batch.verify_crc().map_err(corrupt)?;
        let mut scratch = Vec::new();
        for record in batch.records(&mut scratch, INFLATE_LIMIT).map_err(corrupt)? {
            let record = record.map_err(corrupt)?;
            if each(record.offset, record.timestamp).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The error for bytes that are not valid.
    pub fn corrupt(&self, position: Position, reason: String) -> ScanError {
        ScanError::Corrupt {
            path: self.segment.path.clone(),
            position,
            reason,
        }
    }

    /// The end offset of a log whose high watermark is not known: after the last whole batch with a good checksum.
    /// Bytes behind it are an append that was not finished.
    pub fn last_good(&self) -> Result<Offset> {
        let start = self.start_for(Offset::MAX)?;
        let found = self.last_good_from(start)?;
        let found = if found.is_none() && start > Position::START {
            self.last_good_from(Position::START)?
        } else {
            found
        };
        Ok(found.unwrap_or(self.segment.base_offset))
    }

    fn last_good_from(&self, start: Position) -> Result<Option<Offset>> {
        let mut tail = VecDeque::with_capacity(TAIL_BATCHES);
        let mut scan = self.headers(start);
        loop {
            match scan.next_header() {
                Ok(Some(found)) => {
                    tail.truncate(TAIL_BATCHES - 1);
                    tail.push_front(found);
                }
                Ok(None) | Err(Error::CorruptFile { .. }) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let mut bytes = Vec::new();
        for (position, header) in tail {
            self.read_batch(position, &header, &mut bytes)?;
            if Batch::split_first(&bytes).is_ok_and(|it| it.is_some_and(|(batch, _)| batch.verify_crc().is_ok())) {
                return Ok(Some(header.next_offset()));
            }
        }
        Ok(None)
    }

    /// Where to search for the first record at or after `target`: a position before which every timestamp is lower.
    pub fn start_for_timestamp(&self, fs: &dyn FileSystem, target: i64) -> Result<Position> {
        let index = Entries::<TIME_INDEX_ENTRY>::open(fs, &self.segment.beside(TIME_INDEX_SUFFIX));
        let count = first_index_where(index.count, |at| i64::from_be_bytes(index.field(at, 0)) >= target);
        let believed = self.believe_time(&index, count)?;
        Ok(believed.map_or(Position::START, |(position, _)| position))
    }

    /// The greatest timestamp, -1 without one: the last entry of the time index, and the headers behind it.
    pub fn max_timestamp(&self, fs: &dyn FileSystem, end: Position) -> Result<i64> {
        let index = Entries::<TIME_INDEX_ENTRY>::open(fs, &self.segment.beside(TIME_INDEX_SUFFIX));
        let believed = self.believe_time(&index, index.count)?;
        let (position, mut max) = believed.unwrap_or((Position::START, -1));
        let mut scan = self.headers_to(position, end);
        while let Some((_, header)) = scan.next_header()? {
            max = max.max(header.max_timestamp);
        }
        Ok(max)
    }

    /// Position and timestamp of the last of the first `count` entries of the time index, if the batch that holds its
    /// offset has its timestamp.
    fn believe_time(&self, index: &Entries<TIME_INDEX_ENTRY>, count: usize) -> Result<Option<(Position, i64)>> {
        let Some(at) = count.checked_sub(1) else {
            return Ok(None);
        };
        let entry = TimestampOffset {
            timestamp: i64::from_be_bytes(index.field(at, 0)),
            offset: self.segment.base_offset + i64::from(u32::from_be_bytes(index.field(at, 8))),
        };
        let place = self.locate(entry.offset, Offset::MAX)?;
        let is_held = |header: &BatchHeader| {
            (header.base_offset <= entry.offset || header.is_wrapper()) && header.max_timestamp == entry.timestamp
        };
        Ok(place.header.filter(is_held).map(|_| (place.position, entry.timestamp)))
    }
}

/// The entries of an index file, read one by one. A file that is missing or cannot be read has none.
struct Entries<const N: usize> {
    file: Option<Arc<dyn File>>,
    count: usize,
}

impl<const N: usize> Entries<N> {
    fn open(fs: &dyn FileSystem, path: &Path) -> Self {
        let file = fs.open(path, OpenMode::Read).ok();
        let len = file.as_ref().and_then(|file| file.len().ok()).unwrap_or(0);
        let mut entries = Self {
            file,
            count: (len / N as u64) as usize,
        };
        // Kafka preallocates index files: entries ascend, then only zeros follow.
        if entries.count > 0 && entries.is_zero(entries.count - 1) {
            entries.count = first_index_where(entries.count, |at| entries.is_zero(at));
        }
        entries
    }

    fn is_zero(&self, at: usize) -> bool {
        self.read(at).iter().all(|byte| *byte == 0)
    }

    /// An entry; zeros when it cannot be read, which matches no batch.
    fn read(&self, at: usize) -> [u8; N] {
        let mut entry = [0; N];
        let read = self
            .file
            .as_ref()
            .map(|file| file.read_exact_at(&mut entry, (at * N) as u64));
        if read.is_some_and(|read| read.is_ok()) {
            entry
        } else {
            [0; N]
        }
    }

    fn field<const M: usize>(&self, at: usize, from: usize) -> [u8; M] {
        let entry = self.read(at);
        entry
            .get(from..)
            .and_then(|rest| rest.first_chunk())
            .copied()
            .unwrap_or([0; M])
    }
}
