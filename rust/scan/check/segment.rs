//! One segment: its batches, and its indexes against them, in one walk.
//!
//! Index files are read before the log's size is taken, so that no index entry is newer than the walked part of the
//! log. The active segment may lack index files (they are written late), have zeros at their end (Kafka preallocates),
//! and end within a batch: `partition`, which knows the whole log, decides whether that is a fault.

use std::path::Path;

use super::finding::Finding;
use super::offset_index::OffsetEntries;
use super::order::{EpochRun, Order};
use super::plan::SegmentPlan;
use super::run::Progress;
use super::state::cause;
use super::time_index::TimeEntries;
use super::transactions::{Claim, TxnEntries};
use super::walk::{Step, Walk};
use ::io::{File, FileSystem, OpenMode};
use base::error::{Error, Result};
use base::place::{Offset, Position};
use index::{offset_index, time_index};
use record::{Batch, BatchError, BatchHeader, ControlRecord, TimestampType};
use storage::format::{INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, file_path};
use storage::state_file;

/// Most bytes that one batch may inflate to in a deep check.
const INFLATE_LIMIT: usize = 1 << 30;
/// Bytes after which progress is reported.
const PROGRESS_STEP: u64 = 1024 * 1024;

/// The outcome of one segment's walk.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each answers one question of the comparison of segments"
)]
pub struct Outcome {
    /// Faults in any case.
    pub found: Vec<Finding>,
    /// Faults unless the log was compacted.
    pub unless_compacted: Vec<Finding>,
    /// Faults of indexes, unless the log lacks its end.
    pub of_indexes: Vec<Finding>,
    /// Batches, good and bad.
    pub batches: u64,
    /// Records as good headers count them.
    pub records: u64,
    /// Bytes looked at, indexes included.
    pub bytes: u64,
    /// The offset after the last batch.
    pub next_offset: Offset,
    /// Where the last batch ends.
    pub end: Position,
    /// The walk reached the file's end, or `tail`.
    pub is_whole: bool,
    /// The active segment ends with bytes that are no batch.
    pub tail: Option<(Position, String)>,
    /// Offsets are missing between or in batches.
    pub has_gaps: bool,
    /// Batches are in the wrong order, or have wrong offsets: the indexes were not compared with them.
    pub is_misplaced: bool,
    /// The last batch is bad, so the segment's last offset is not known.
    pub is_end_bad: bool,
    /// Leader epochs are in the wrong order.
    pub is_epoch_misplaced: bool,
    /// Leader epochs in order.
    pub runs: Vec<EpochRun>,
    /// The file was deleted meanwhile.
    pub is_gone: bool,
}

/// How segments are checked.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The file system.
    pub fs: &'a dyn FileSystem,
    /// Records are decoded too.
    pub is_deep: bool,
    /// The progress of the whole check.
    pub progress: &'a Progress,
}

/// Checks a segment; a file that cannot be read is a fault.
pub fn check(look: Look<'_>, dir: &Path, plan: &SegmentPlan, claims: &[Claim], buffer: &mut Vec<u8>) -> Outcome {
    let mut out = Outcome {
        next_offset: plan.base_offset,
        ..Outcome::default()
    };
    let offset_path = file_path(dir, plan.base_offset, INDEX_SUFFIX);
    let time_path = file_path(dir, plan.base_offset, TIME_INDEX_SUFFIX);
    let offsets = read_index::<{ offset_index::ENTRY }>(look.fs, &offset_path, plan, &mut out.found);
    let times = read_index::<{ time_index::ENTRY }>(look.fs, &time_path, plan, &mut out.found);
    let (file, len) = match open(look.fs, &plan.path) {
        Ok(Some(opened)) => opened,
        Ok(None) => {
            return Outcome {
                is_gone: true,
                ..Outcome::default()
            };
        }
        Err(error) => {
            let message = format!("it cannot be opened: {}", cause(&error));
            out.found.push(Finding::whole(&plan.path, message));
            return out;
        }
    };
    let txn_path = file_path(dir, plan.base_offset, TXN_INDEX_SUFFIX);
    let txn_bytes = plan.txn_index.as_deref().unwrap_or_default();
    out.bytes = [&offsets, &times].into_iter().flatten().map(Vec::len).sum::<usize>() as u64;
    out.bytes += txn_bytes.len() as u64 + len;
    let mut judge = Judge {
        plan,
        order: Order::new(plan.base_offset, plan.next_base),
        offsets: OffsetEntries::new(&offset_path, offsets.as_deref().unwrap_or_default(), plan.base_offset),
        has_times: times.is_some(),
        times: TimeEntries::new(&time_path, times.as_deref().unwrap_or_default(), plan.base_offset),
        txns: TxnEntries::new(&txn_path, txn_bytes, plan.base_offset, plan.next_base, claims),
        is_deep: look.is_deep,
        scratch: Vec::new(),
        out,
    };
    if let Err(error) = judge.walk(look, &*file, Position(len), buffer) {
        let message = format!("it cannot be read: {}", cause(&error));
        judge.out.found.push(Finding::whole(&plan.path, message));
        judge.out.is_whole = false;
    }
    if judge.out.tail.is_some() && file.len().is_ok_and(|now| now > len) {
        judge.out.tail = None; // it is being written
    }
    judge.finish(Position(len))
}

fn open(fs: &dyn FileSystem, path: &Path) -> Result<Option<(std::sync::Arc<dyn File>, u64)>> {
    let file = match fs.open(path, OpenMode::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("open", path, error)),
    };
    let len = file.len().map_err(|error| Error::io("stat", path, error))?;
    Ok(Some((file, len)))
}

/// Whole entries of an index file, without the zeros that Kafka preallocates. `None` when the file is missing.
fn read_index<const N: usize>(
    fs: &dyn FileSystem,
    path: &Path,
    plan: &SegmentPlan,
    found: &mut Vec<Finding>,
) -> Option<Vec<u8>> {
    let mut read = state_file::read(fs, path);
    if read
        .as_ref()
        .is_ok_and(|it| it.as_ref().is_some_and(|bytes| bytes.len() % N != 0))
    {
        read = state_file::read(fs, path); // a broker may have been writing the file
    }
    let mut bytes = match read {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            if plan.next_base.is_some() && fs.exists(&plan.path) {
                found.push(Finding::whole(path, "it is missing, but its segment is complete"));
            }
            return None;
        }
        Err(error) => {
            found.push(Finding::whole(path, format!("it cannot be read: {}", cause(&error))));
            return None;
        }
    };
    let whole = bytes.len() / N * N;
    if whole != bytes.len() {
        let message = format!(
            "{} bytes are left over behind the last entry of {N}",
            bytes.len() - whole
        );
        found.push(Finding::fault(path, whole as u64, message));
    }
    bytes.truncate(whole);
    let used = bytes
        .chunks_exact(N)
        .rposition(|entry| entry.iter().any(|byte| *byte != 0));
    let mut used = used.map_or(0, |at| (at + 1) * N);
    if plan.next_base.is_some() && used < whole {
        if used == 0 && whole == N {
            used = whole; // a single entry of zeros is valid
        } else {
            found.push(Finding::fault(
                path,
                used as u64,
                "zeros follow the last entry, but its segment is complete",
            ));
        }
    }
    bytes.truncate(used);
    Some(bytes)
}

struct Judge<'a> {
    plan: &'a SegmentPlan,
    order: Order,
    offsets: OffsetEntries<'a>,
    has_times: bool,
    times: TimeEntries<'a>,
    txns: TxnEntries<'a>,
    is_deep: bool,
    scratch: Vec<u8>,
    out: Outcome,
}

impl Judge<'_> {
    fn walk(&mut self, look: Look<'_>, file: &dyn File, end: Position, buffer: &mut Vec<u8>) -> Result<()> {
        let mut walk = Walk::new(file, &self.plan.path, end, buffer);
        let mut told = Position::START;
        loop {
            let step = walk.step()?;
            let is_over = match step {
                Step::Batch(batch) => {
                    self.batch(&batch, self.out.end);
                    false
                }
                Step::Bad { base_offset, reason } => {
                    self.bad(base_offset, walk.position(), reason);
                    false
                }
                Step::Lost(reason) => {
                    self.fault(walk.position(), reason);
                    self.out.batches += 1;
                    true
                }
                Step::Torn => self.tail(walk.position(), "the last batch is not whole"),
                Step::Zeros => self.tail(walk.position(), "only zeros follow"),
                Step::End => {
                    self.out.is_whole = true;
                    true
                }
            };
            if !is_over {
                self.out.end = walk.next_position();
            }
            if self.out.end - told >= PROGRESS_STEP || is_over {
                let now = if is_over { end } else { self.out.end };
                look.progress.add_bytes(now - told);
                told = now;
            }
            if is_over || look.progress.is_cancelled() {
                return Ok(());
            }
        }
    }

    fn fault(&mut self, position: Position, message: impl Into<String>) {
        self.out
            .found
            .push(Finding::fault(&self.plan.path, position.get(), message));
    }

    fn bad(&mut self, base_offset: Offset, position: Position, reason: String) {
        self.fault(position, reason);
        self.out.batches += 1;
        self.out.is_end_bad = true;
        self.order.unknown(base_offset);
        self.offsets.batch(position, None);
        self.times.unknown();
        self.txns.unknown(base_offset);
    }

    fn tail(&mut self, position: Position, reason: &str) -> bool {
        if self.plan.next_base.is_some() {
            self.fault(position, format!("{reason}, but the segment is complete"));
        } else {
            self.out.tail = Some((position, reason.to_owned()));
            self.out.is_whole = true;
        }
        true
    }

    fn batch(&mut self, batch: &Batch<'_>, position: Position) {
        // An old wrapper message is always checked deeply; that meets an error again, and reports it.
        let full = batch.full_header(&mut self.scratch, INFLATE_LIMIT);
        let header = full.as_ref().unwrap_or(batch.header());
        self.out.batches += 1;
        self.out.is_end_bad = false;
        self.out.records += u64::try_from(header.record_count).unwrap_or(0);
        let (mut base, last) = (header.base_offset, header.last_offset());
        if position == Position::START && header.is_wrapper() {
            base = base.max(self.plan.base_offset); // a follower's log may start within a wrapper
        }
        if let Err((at, message)) = self.order.offsets(position, base, last) {
            self.out.is_misplaced = true;
            return self.fault(at, message);
        }
        if let Err((at, message)) = self.order.epoch(position, base, header.partition_leader_epoch) {
            self.out.is_epoch_misplaced = true;
            self.fault(at, message);
        }
        let declared = i64::from(header.last_offset_delta) + 1;
        self.out.has_gaps |= i64::from(header.record_count) < declared;
        if let Err(message) = sane(header) {
            self.fault(position, message);
        } else if (self.is_deep || header.is_wrapper())
            && let Err(message) = deep(batch, header, &mut self.scratch)
        {
            self.fault(position, message);
        }
        let control = match ControlRecord::of_batch(batch) {
            Ok(control) => control,
            Err(error) => {
                self.fault(position, error.to_string());
                None
            }
        };
        let least_indexed = if header.is_wrapper() { base } else { last };
        self.offsets.batch(position, Some((least_indexed, last)));
        if header.magic == 0 {
            // Kafka 0.10 converted newer messages to magic 0, and put their lost timestamps into the time index.
            self.times.unknown();
        } else {
            self.times.batch(base, last, header.max_timestamp);
        }
        self.txns.batch(header, control);
    }

    fn finish(self, end: Position) -> Outcome {
        let mut out = self.out;
        let is_certain = out.is_whole && out.tail.is_none();
        let is_sealed = self.plan.next_base.is_some();
        if !out.is_misplaced {
            out.of_indexes.extend(self.offsets.finish(is_certain, end));
            out.of_indexes
                .extend(self.times.finish(is_certain, is_sealed && self.has_times));
            let txns = self.txns.finish(is_certain, self.order.next_offset());
            out.of_indexes.extend(txns.found);
            out.unless_compacted.extend(txns.unless_compacted);
        }
        out.has_gaps |= self.order.has_holes();
        out.next_offset = self.order.next_offset();
        out.runs = self.order.runs;
        out
    }
}

/// The rules for a header whose CRC is right.
fn sane(header: &BatchHeader) -> Result<(), String> {
    header.codec().map_err(|error: BatchError| error.to_string())?;
    let offsets = i64::from(header.last_offset_delta) + 1;
    if header.record_count < 0 || i64::from(header.record_count) > offsets {
        return Err(format!("{} records cannot have {offsets} offsets", header.record_count));
    }
    if header.max_timestamp < -1 {
        return Err(format!("the greatest timestamp {} is none", header.max_timestamp));
    }
    Ok(())
}

/// Checks every record: the grammar, ascending offsets within the batch, the greatest timestamp.
fn deep(batch: &Batch<'_>, header: &BatchHeader, scratch: &mut Vec<u8>) -> Result<(), String> {
    if header.last_offset() != batch.header().last_offset() {
        return Err(format!(
            "the last message in the wrapper of offset {} has offset {}",
            batch.header().last_offset(),
            header.last_offset()
        ));
    }
    let mut previous = header.base_offset - 1;
    let mut greatest = i64::MIN;
    for record in batch
        .records(scratch, INFLATE_LIMIT)
        .map_err(|error| error.to_string())?
    {
        let record = record.map_err(|error| error.to_string())?;
        if record.offset <= previous || record.offset > header.last_offset() {
            let last = header.last_offset();
            return Err(format!(
                "record offset {} does not stand between {previous} and {last}",
                record.offset
            ));
        }
        previous = record.offset;
        greatest = greatest.max(record.timestamp);
    }
    let is_full = i64::from(header.record_count) == i64::from(header.last_offset_delta) + 1;
    if is_full && previous != header.last_offset() {
        return Err(format!(
            "the last record has offset {previous}, not {}",
            header.last_offset()
        ));
    }
    let is_created = header.timestamp_type() == TimestampType::CreateTime;
    if is_created && header.record_count > 0 && greatest != header.max_timestamp {
        return Err(format!(
            "the greatest timestamp of its records is {greatest}, not {}",
            header.max_timestamp
        ));
    }
    Ok(())
}
