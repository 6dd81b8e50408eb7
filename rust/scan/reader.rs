//! Reads one split as record batches: its slices in order, each batch's header checked, its records decoded.
//!
//! For each batch, in this order: its header must parse, lie within the slice and follow the previous header; a batch
//! wholly outside the wanted offsets is skipped; the CRC is compared (unless `check_crcs` is off); control batches,
//! aborted batches and batches too old for the predicate are skipped; then the records are inflated and decoded. So
//! before the CRC is compared only those fields are used that it does not cover: length, magic and base offset. A base
//! offset that is not between its neighbours fails the scan before the batch's rows are given out; a wrong base offset
//! that fits a gap of compaction cannot be detected.
//!
//! A slice whose file was replaced or is gone is read in the segments that the directory has now (`replaced`). What
//! they have not, and what was cut, is lost, unless brokers can be asked for the rest of the split (`elsewhere`).
//!
//! Memory is bounded by the largest batch of the split and the limits of [`ScanOptions`], and from brokers by the size
//! of an answer. The reader never writes, and never gives a record that is not within the offsets of the split.

mod damaged;
mod elsewhere;
mod replaced;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use parking_lot::Mutex;

use self::elsewhere::Elsewhere;
use self::replaced::open;
use super::builder::{Columns, Limits};
use super::current::Current;
use super::decode::{Bad, Chunk, Filter, Stopped, decode};
use super::typed_values::ValueColumn;
use super::{Result, ScanError, ScanOptions, Slice, Split};
use ::io::{File, NoFile};
use base::place::{Offset, Position};
use record::{BATCH_HEADER, BatchError, BatchHeader, Codec, crc32c, decompress, legacy};
use storage::batch_walk::{self, BatchWalk, Piece, ReadError};

/// Most bytes that a batch may inflate to. Kafka has no limit; this one is beyond what any producer's memory lets it
/// send, and within what the columns can hold.
const INFLATE_LIMIT_BYTES: usize = 1 << 30;
/// Bytes of a read: small enough that the batch read last is still in the second-level cache when it is checked and
/// decoded, large enough that the call costs nothing beside the copy.
pub(super) const READ_BYTES: usize = 256 * 1024;
/// First byte that the CRC covers.
const CRC_FROM: usize = 21;
/// Batches that were given away and whose memory a reader still reuses.
const POOLED_BATCHES: usize = 3;

/// Records that were gone when a scan reached them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRange {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: i32,
    /// First offset that is gone.
    pub from: Offset,
    /// One past the last.
    pub to: Offset,
}

/// The lost ranges that the readers of a scan have skipped; shared by all readers of the scan.
pub type LostRanges = Arc<Mutex<Vec<LostRange>>>;

/// The buffers of a reader, which the reader of the next split takes over.
pub(super) struct Workspace {
    walk: BatchWalk<Arc<dyn File>, Vec<u8>>,
    inflated: Vec<u8>,
    columns: Columns,
    filter: Filter,
    chunk: Box<Chunk>,
    values: Option<ValueColumn>,
}

impl Workspace {
    /// `pooled` more batches may be on their way to the consumer.
    pub(super) fn new(options: &ScanOptions, pooled: usize) -> Self {
        let limits = Limits {
            rows: options.batch_rows,
            bytes: options.batch_bytes,
        };
        let (schema, columns) = options.raw();
        Self {
            walk: BatchWalk::new(
                Arc::new(NoFile),
                Position::START..Position::START,
                Piece::of_batches(READ_BYTES),
                Vec::new(),
            ),
            inflated: Vec::new(),
            columns: Columns::new(schema, columns, limits, POOLED_BATCHES + pooled),
            filter: Filter::new(&options.predicate),
            chunk: Box::default(),
            values: options.typed().map(ValueColumn::new),
        }
    }

    /// Closes the open file; the memory stays for the next split.
    pub(super) fn close(&mut self) {
        self.walk.restart(Arc::new(NoFile), Position::START..Position::START);
    }
}

/// Where the reader is in its split.
enum Step {
    /// A slice is open; its next batch must not be below this offset.
    Batch(Offset),
    /// A batch is being decoded; the next one must not be below this offset.
    Records(Box<Current>, Offset),
    /// The slice is done; the next slice follows.
    Slice,
    /// The next batches come from brokers, from this offset on.
    Elsewhere(Offset),
    /// Nothing is left.
    End,
}

/// The record batches of one split, in offset order; ends after the first error.
pub struct SplitReader {
    split: Arc<Split>,
    options: Arc<ScanOptions>,
    aborted: Aborted,
    workspace: Workspace,
    lost: LostRanges,
    /// The slices that are not read yet.
    left: VecDeque<Slice>,
    /// The slice that is open, or was the last.
    open: Slice,
    /// Offsets below it are read, or lost.
    read_to: Offset,
    /// The offsets of the batch that is read, from its first one on, once they are known to be its own.
    whole: Option<(Offset, Offset)>,
    /// The batch that is read does not begin before this offset.
    due: Offset,
    /// What brokers give, once they are asked; no file is read any more then.
    elsewhere: Option<Elsewhere>,
    step: Step,
}

impl SplitReader {
    /// A reader that has opened no file yet. Ranges of lost records are added to `lost` when the options allow loss.
    pub fn new(split: Arc<Split>, options: Arc<ScanOptions>, lost: LostRanges) -> Self {
        let workspace = Workspace::new(&options, 0);
        Self::with(workspace, split, options, lost)
    }

    pub(super) fn with(workspace: Workspace, split: Arc<Split>, options: Arc<ScanOptions>, lost: LostRanges) -> Self {
        Self {
            aborted: Aborted::new(&split),
            left: split.slices.iter().cloned().collect(),
            open: Slice::nothing(split.start_offset),
            read_to: split.start_offset,
            whole: None,
            due: split.start_offset,
            split,
            options,
            workspace,
            lost,
            elsewhere: None,
            step: Step::Slice,
        }
    }

    pub(super) fn into_workspace(self) -> Workspace {
        self.workspace
    }

    fn read(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            match std::mem::replace(&mut self.step, Step::End) {
                Step::End => break,
                Step::Slice => self.step = self.open_next()?,
                Step::Elsewhere(from) => self.step = self.take_piece(from)?,
                Step::Batch(expected) => {
                    let taken = self.take_batch(expected);
                    self.step = taken.or_else(|error| self.pass_over(error))?;
                }
                Step::Records(mut current, expected) => match self.decode(&mut current)? {
                    Stopped::Full => {
                        self.step = Step::Records(current, expected);
                        return self.finish().map(Some);
                    }
                    Stopped::Done => self.step = Step::Batch(expected),
                },
            }
        }
        self.workspace.close();
        if self.workspace.columns.rows() == 0 {
            return Ok(None);
        }
        self.finish().map(Some)
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        let batch = self
            .workspace
            .columns
            .finish(&self.split.topic, self.split.partition)
            .map_err(|error| ScanError::Invalid(format!("a record batch cannot be made: {error}")))?;
        match &mut self.workspace.values {
            Some(values) => values.parse(&batch, &self.split),
            None => Ok(batch),
        }
    }

    /// The slice that is open.
    fn slice(&self) -> &Slice {
        match &self.elsewhere {
            Some(elsewhere) => elsewhere.slice(),
            None => &self.open,
        }
    }

    /// The step after the open slice, whose offsets up to `expected` are read.
    fn after_slice(&mut self, expected: Offset) -> Result<Step> {
        if self.elsewhere.is_some() {
            return Ok(Step::Elsewhere(expected));
        }
        self.read_to = self.range().1;
        match self.replaced_from(self.slice(), expected) {
            Some(from) => self.lose(from..self.read_to, "has records of a later leader in their place"),
            None => Ok(Step::Slice),
        }
    }

    /// Offsets of the open slice that are wanted and not read yet.
    fn range(&self) -> (Offset, Offset) {
        let slice = self.slice();
        (
            self.read_to.max(slice.base_offset),
            self.split.end_offset.min(slice.next_base_offset),
        )
    }

    fn open_next(&mut self) -> Result<Step> {
        let Some(slice) = self.left.pop_front() else {
            let is_all_elsewhere = self.split.slices.is_empty() && self.can_go_elsewhere();
            return Ok(if is_all_elsewhere {
                Step::Elsewhere(self.split.start_offset)
            } else {
                Step::End
            });
        };
        self.open = slice;
        let (from, to) = self.range();
        if from >= to || self.open.start >= self.open.end {
            return Ok(Step::Slice);
        }
        let opened = open(&self.open, self.options.file_system.as_ref())?;
        let Some(file) = opened.filter(|file| self.is_planned(&**file)) else {
            return self.look_again();
        };
        let (start, end) = (self.open.start, self.open.end);
        file.advise_sequential(start.get(), end.get());
        self.workspace.walk.restart(file, start..end);
        Ok(Step::Batch(self.open.base_offset))
    }

    /// The file of the open slice does not have the offsets from `from` on: brokers are asked, or they are lost.
    fn miss(&mut self, from: Offset, reason: &str) -> Result<Step> {
        let (start, to) = self.range();
        let from = from.max(start);
        if self.can_go_elsewhere() {
            return Ok(Step::Elsewhere(from));
        }
        self.read_to = to;
        self.lose(from..to, reason)
    }

    /// Offsets of the open slice are lost: an error, or reported and skipped.
    fn lose(&self, offsets: Range<Offset>, reason: &str) -> Result<Step> {
        if !offsets.is_empty() {
            self.report_lost(offsets, &format!("{} {reason}", self.slice().path.display()))?;
        }
        Ok(Step::Slice)
    }

    /// An error, or a range in the list of those that were skipped.
    fn report_lost(&self, offsets: Range<Offset>, reason: &str) -> Result<()> {
        let split = &self.split;
        if self.options.fail_on_data_loss {
            return Err(ScanError::Lost {
                topic: split.topic.to_string(),
                partition: split.partition,
                from: offsets.start,
                to: offsets.end,
                reason: reason.to_owned(),
            });
        }
        self.note_lost(offsets);
        Ok(())
    }

    fn note_lost(&self, offsets: Range<Offset>) {
        let range = LostRange {
            topic: Arc::clone(&self.split.topic),
            partition: self.split.partition,
            from: offsets.start,
            to: offsets.end,
        };
        let mut lost = self.lost.lock();
        if !lost.contains(&range) {
            lost.push(range);
        }
    }

    /// Loads `len` bytes from the batch's start into memory; `None` when the file ends before.
    fn hold(&mut self, len: usize) -> Result<Option<()>> {
        let held = self.workspace.walk.hold(len);
        self.unless_truncated(held)
    }

    fn unless_truncated<T>(&self, read: Result<T, ReadError>) -> Result<Option<T>> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error.at(&self.slice().path).into()),
        }
    }

    fn take_batch(&mut self, expected: Offset) -> Result<Step> {
        (self.whole, self.due) = (None, expected);
        let step = self.workspace.walk.step();
        let Some(step) = self.unless_truncated(step)? else {
            return self.truncated(expected);
        };
        let remaining = self.workspace.walk.rest();
        let header = match step {
            batch_walk::Step::Batch(header) => header,
            batch_walk::Step::End => return self.after_slice(expected),
            batch_walk::Step::Invalid(error) => return Err(self.corrupt(error.to_string())),
            batch_walk::Step::Short(Some(header)) => {
                return Err(self.corrupt(format!(
                    "the batch's length {} goes past the end of the range, {remaining} bytes on",
                    header.batch_length
                )));
            }
            // Too little for any batch, unless the file itself ends even earlier.
            batch_walk::Step::Short(None) => {
                return match self.hold(remaining as usize)? {
                    Some(()) => {
                        Err(self.corrupt(format!("{remaining} bytes are left, which is less than a batch header")))
                    }
                    None => self.truncated(expected),
                };
            }
        };
        let size = header.size_bytes();
        let next = self.check_order(&header, expected)?;
        let (from, to) = self.range();
        // Including the next batch's header, which is needed for its base offset and is read next anyway.
        let ahead = (size + BATCH_HEADER).min(usize::try_from(remaining).unwrap_or(usize::MAX));
        // The header of an old wrapper message does not tell its first offset.
        let least_offset = if header.is_wrapper() {
            expected
        } else {
            header.base_offset
        };
        if least_offset >= to {
            // No record of the batch is wanted, unless its base offset is wrong.
            self.hold(ahead)?;
            self.check_next(&header, expected)?;
            self.check_last(&header, expected)?;
            return self.after_slice(expected);
        }
        if next <= from {
            let behind = self.workspace.walk.peek_header(self.workspace.walk.next_position());
            let behind = self.unless_truncated(behind)?.flatten();
            if !self.options.check_crcs || behind.is_some_and(|behind| behind.base_offset <= from) {
                return Ok(Step::Batch(next));
            }
            // No batch has the first wanted offset, unless this one's last offset is wrong.
        }
        if !self.options.check_crcs && self.is_passed_over(&header) {
            return Ok(Step::Batch(next));
        }
        // The file may end with this batch, without a next header.
        if self.hold(ahead)?.is_none() && self.hold(size)?.is_none() {
            return self.truncated(expected);
        }
        let whole = Some((least_offset, next));
        if self.options.check_crcs {
            self.check_crc(&header, size)?;
            if next <= from || self.is_passed_over(&header) {
                return Ok(Step::Batch(next));
            }
        }
        self.check_next(&header, expected)?;
        self.whole = whole;
        let current = self.start_records(&header, size, from..to)?;
        if self.options.ignore_corrupt_batches {
            self.check_records(&header, &current)?; // else some of its rows may be given before the one that is damaged
        }
        Ok(Step::Records(Box::new(current), next))
    }

    fn truncated(&mut self, expected: Offset) -> Result<Step> {
        self.miss(
            expected,
            &format!(
                "was cut off at position {} or before its next batch ends",
                self.workspace.walk.position()
            ),
        )
    }

    /// The offset that follows the batch.
    fn check_order(&self, header: &BatchHeader, expected: Offset) -> Result<Offset> {
        let base = header.base_offset;
        if base < expected {
            return Err(self.corrupt(format!("the base offset {base} is below {expected}, which is due here")));
        }
        let delta = i64::from(header.last_offset_delta);
        let next = base
            .get()
            .checked_add(delta)
            .and_then(|last| last.checked_add(1))
            .map(Offset);
        let end = self.slice().next_base_offset;
        match next {
            // Batches of the next segment may stand here after a cleaner's swap, but no batch belongs to both.
            Some(next) if base < end && next > end => Err(self.corrupt(format!(
                "its offsets {base} to {} go beyond {end}, where the next segment begins",
                next - 1
            ))),
            Some(next) if delta >= 0 => Ok(next),
            _ => Err(self.corrupt(format!(
                "the last offset delta {delta} is impossible after base offset {base}"
            ))),
        }
    }

    /// Checks that the next batch, as far as it is in memory, does not start within this one: either base offset may be
    /// wrong. A next one that leaves too few offsets for this batch behind `expected` is wrong itself.
    fn check_next(&self, header: &BatchHeader, expected: Offset) -> Result<()> {
        let next = header.next_offset();
        let least = expected.saturating_add(next - header.base_offset);
        let behind = self
            .workspace
            .walk
            .held()
            .get(header.size_bytes()..)
            .unwrap_or_default();
        let Some(base) = BatchHeader::parse(behind).ok().map(|behind| behind.base_offset) else {
            return Ok(());
        };
        if !(least..next).contains(&base) {
            return Ok(());
        }
        let position = self.workspace.walk.next_position();
        Err(self.corrupt_at(
            position,
            format!("the base offset {base} is below {next}, which is due here"),
        ))
    }

    fn check_crc(&self, header: &BatchHeader, size: usize) -> Result<()> {
        let bytes = &self.workspace.walk.held()[..size];
        let computed = if header.is_legacy() {
            legacy::crc_of(bytes)
        } else {
            crc32c(&bytes[CRC_FROM..])
        };
        if computed == header.crc {
            return Ok(());
        }
        let stored = header.crc;
        Err(self.corrupt(BatchError::Crc { stored, computed }.to_string()))
    }

    /// Whether the header alone shows that no record of the batch is wanted.
    fn is_passed_over(&self, header: &BatchHeader) -> bool {
        header.is_control()
            || (header.is_transactional() && self.aborted.has(header.producer_id, header.base_offset))
            || self
                .options
                .predicate
                .min_timestamp_ms
                .is_some_and(|min| header.max_timestamp < min)
    }

    /// Prepares the batch's records for decoding; inflates them when they are compressed.
    fn start_records(&mut self, header: &BatchHeader, size: usize, wanted: Range<Offset>) -> Result<Current> {
        if header.is_legacy() {
            return self.start_legacy(size, wanted);
        }
        let codec = header.codec().map_err(|error| self.corrupt(error.to_string()))?;
        let workspace = &mut self.workspace;
        let payload = &workspace.walk.held()[BATCH_HEADER..size];
        let is_inflated = codec != Codec::None && !(payload.is_empty() && header.record_count == 0);
        if is_inflated {
            workspace.inflated.clear();
            decompress(codec, payload, INFLATE_LIMIT_BYTES, &mut workspace.inflated)
                .map_err(|error| self.corrupt(error.to_string()))?;
        }
        Ok(Current::new(header, size, is_inflated, wanted))
    }

    /// [`Self::start_records`] for a message of magic 0 or 1: its records are rewritten as those of a v2 batch.
    #[cold]
    fn start_legacy(&mut self, size: usize, wanted: Range<Offset>) -> Result<Current> {
        let workspace = &mut self.workspace;
        let bytes = &workspace.walk.held()[..size];
        let header = legacy::to_records(bytes, INFLATE_LIMIT_BYTES, &mut workspace.inflated);
        let header = header.map_err(|error| self.corrupt(error.to_string()))?;
        Ok(Current::new(&header, size, true, wanted))
    }

    fn decode(&mut self, current: &mut Current) -> Result<Stopped> {
        let workspace = &mut self.workspace;
        let left = usize::try_from(workspace.walk.rest()).unwrap_or(usize::MAX);
        let payload = if current.is_inflated {
            &workspace.inflated[..]
        } else {
            &workspace.walk.held()[BATCH_HEADER..current.size]
        };
        workspace.columns.start(left.max(payload.len()));
        let stopped = decode(
            payload,
            &mut current.walk,
            &current.frame,
            &workspace.filter,
            &mut workspace.columns,
            &mut workspace.chunk,
        );
        workspace.columns.end_run(current.timestamp_type);
        stopped.map_err(|Bad(left, reason)| {
            self.corrupt(format!(
                "record {} of {}: {reason}",
                current.record_count - left,
                current.record_count
            ))
        })
    }
}

impl Iterator for SplitReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            self.step = Step::End;
            self.workspace.columns.clear();
            self.workspace.close();
        }
        read.transpose()
    }
}

/// The aborted transactions of a split by producer, each producer's in offset order; they do not overlap.
#[derive(Debug, Default)]
struct Aborted(HashMap<i64, Vec<(Offset, Offset)>>);

impl Aborted {
    fn new(split: &Split) -> Self {
        let mut by_producer: HashMap<i64, Vec<(Offset, Offset)>> = HashMap::new();
        for range in split.aborted.iter().flatten() {
            let ranges = by_producer.entry(range.producer_id).or_default();
            ranges.push((range.first_offset, range.last_offset));
        }
        for ranges in by_producer.values_mut() {
            ranges.sort_unstable();
        }
        Self(by_producer)
    }

    fn has(&self, producer_id: i64, base_offset: Offset) -> bool {
        let Some(ranges) = self.0.get(&producer_id) else {
            return false;
        };
        let after = ranges.partition_point(|(first, _)| *first <= base_offset);
        after.checked_sub(1).is_some_and(|last| base_offset <= ranges[last].1)
    }
}

#[cfg(test)]
mod tests;
