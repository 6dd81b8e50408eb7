//! The aborted transactions of a segment.
//!
//! ```text
//! file  := entry*
//! entry := version:i16=0  producer_id:i64  first_offset:i64  last_offset:i64  last_stable_offset:i64
//! ```
//! An entry is in the index of the segment that holds the abort marker (`last_offset`). `last_stable_offset` is the
//! last stable offset right after the marker was written: a reader below it need not read later entries.

use super::entry_file::{EntryFile, array_at};
use ::io::FileSystem;
use base::error::Result;
use base::place::Offset;

/// Bytes of an entry.
pub const ENTRY: usize = 34;
const VERSION: i16 = 0;

/// One aborted transaction of one producer in one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbortedTxn {
    /// The producer.
    pub producer_id: i64,
    /// The offset of the transaction's first record.
    pub first_offset: Offset,
    /// The offset of the abort marker.
    pub last_offset: Offset,
    /// The last stable offset once the marker was written.
    pub last_stable_offset: Offset,
}

impl AbortedTxn {
    fn encode(&self) -> [u8; ENTRY] {
        let mut raw = [0; ENTRY];
        raw[..2].copy_from_slice(&VERSION.to_be_bytes());
        raw[2..10].copy_from_slice(&self.producer_id.to_be_bytes());
        raw[10..18].copy_from_slice(&self.first_offset.get().to_be_bytes());
        raw[18..26].copy_from_slice(&self.last_offset.get().to_be_bytes());
        raw[26..].copy_from_slice(&self.last_stable_offset.get().to_be_bytes());
        raw
    }

    /// The whole entries of a file's bytes, in order.
    pub fn decode_all(bytes: &[u8]) -> impl Iterator<Item = Self> + '_ {
        (0..bytes.len() / ENTRY).map(|index| Self::decode(bytes, index * ENTRY))
    }

    /// The entry at `at`, whatever its version says.
    pub fn decode(bytes: &[u8], at: usize) -> Self {
        let field = |from: usize| i64::from_be_bytes(array_at(bytes, at + from));
        Self {
            producer_id: field(2),
            first_offset: Offset(field(10)),
            last_offset: Offset(field(18)),
            last_stable_offset: Offset(field(26)),
        }
    }
}

/// See the module. Unlike the files of the other indexes, this file exists only once it has an entry.
pub struct TransactionIndex {
    file: EntryFile<ENTRY>,
}

impl TransactionIndex {
    /// Over the entries of a segment.
    pub fn new(file: EntryFile<ENTRY>) -> Self {
        Self { file }
    }

    /// The file of entries.
    pub fn file(&mut self) -> &mut EntryFile<ENTRY> {
        &mut self.file
    }

    /// Appends to the file what it lacks. A file that holds only entries of batches that are no more is unlinked: a
    /// reader of what was appended since would skip committed records.
    pub fn write_pending(&mut self, fs: &dyn FileSystem) -> Result<()> {
        self.file.write_pending(fs)?;
        self.file.remove_stale(fs)
    }

    /// Adds an aborted transaction; markers come in the order of their offsets.
    pub fn append(&mut self, aborted: &AbortedTxn) {
        self.file.push(aborted.encode());
    }

    /// Adds to `found` what a reader of `from..upper_bound` must skip. True when later segments cannot add to it.
    pub fn collect(
        &self,
        fs: &dyn FileSystem,
        from: Offset,
        upper_bound: Offset,
        found: &mut Vec<AbortedTxn>,
    ) -> Result<bool> {
        for aborted in self.entries(fs)? {
            if aborted.last_offset >= from && aborted.first_offset < upper_bound {
                found.push(aborted);
            }
            if aborted.last_stable_offset >= upper_bound {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether [`Self::collect`] reads memory only; an error that names the file when it does not.
    pub fn check_at_hand(&self) -> Result<()> {
        self.file.check_all_at_hand()
    }

    /// All entries in order.
    pub fn entries(&self, fs: &dyn FileSystem) -> Result<impl Iterator<Item = AbortedTxn> + '_> {
        Ok(AbortedTxn::decode_all(self.file.bytes(fs)?))
    }

    /// Drops transactions whose marker is at or above `offset`; only while active.
    pub fn truncate_to(&mut self, offset: Offset) {
        if let Some(bytes) = self.file.active_bytes() {
            let keep =
                (0..bytes.len() / ENTRY).take_while(|at| AbortedTxn::decode(bytes, at * ENTRY).last_offset < offset);
            let keep = keep.count();
            self.file.truncate(keep);
        }
    }

    /// Whether every entry is of the known version, ordered, and within `base_offset..`.
    pub fn is_sane(&self, fs: &dyn FileSystem, base_offset: Offset) -> Result<bool> {
        let bytes = self.file.bytes(fs)?;
        let mut previous = base_offset - 1;
        for at in (0..bytes.len() / ENTRY).map(|index| index * ENTRY) {
            let aborted = AbortedTxn::decode(bytes, at);
            let ordered = aborted.last_offset > previous && aborted.first_offset <= aborted.last_offset;
            if i16::from_be_bytes(array_at(bytes, at)) != VERSION || !ordered {
                return Ok(false);
            }
            previous = aborted.last_offset;
        }
        Ok(true)
    }
}
