//! A transaction index against the batches of its log, and of earlier segments.
//!
//! - (a) Entries are in order, and the offsets of an entry are possible.
//! - (b) An entry's last offset is an abort marker of its producer, in this segment.
//! - (c) Its first offset is where a transactional batch of its producer begins: a [`Claim`] on the segment that holds
//!   the offset. Compaction removes such batches.
//! - (d) It is the producer's first batch since its last marker, as far as this segment tells.
//! - (e) A sealed segment has an entry for every abort marker that ends records of this segment.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::finding::Finding;
use base::place::Offset;
use index::AbortedTxn;
use index::entry_file::array_at;
use index::transaction_index::ENTRY;
use record::{BatchHeader, ControlRecord, ControlType};
use storage::format::TXN_INDEX_VERSION;

/// (c): an entry's first offset, which may be in another segment.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The transaction index.
    pub path: Arc<Path>,
    /// The entry's position in the index file.
    pub at: u64,
    /// The producer of the transaction.
    pub producer_id: i64,
    /// The first offset of the transaction, by the entry.
    pub first_offset: Offset,
}

/// The whole entries of a transaction index.
pub fn entries(bytes: &[u8]) -> impl Iterator<Item = (u64, AbortedTxn)> + '_ {
    (0..bytes.len() / ENTRY).map(|index| ((index * ENTRY) as u64, AbortedTxn::decode(bytes, index * ENTRY)))
}

/// The claims of the entries of one file.
pub fn claims(path: &Arc<Path>, bytes: &[u8]) -> Vec<Claim> {
    let claim = |(at, aborted): (u64, AbortedTxn)| Claim {
        path: Arc::clone(path),
        at,
        producer_id: aborted.producer_id,
        first_offset: aborted.first_offset,
    };
    entries(bytes).map(claim).collect()
}

struct Entry {
    at: u64,
    aborted: AbortedTxn,
    is_found: bool,
}

/// The findings on a transaction index.
#[derive(Default)]
pub struct TxnFindings {
    /// Faults in any case.
    pub found: Vec<Finding>,
    /// Faults unless the log was compacted.
    pub unless_compacted: Vec<Finding>,
}

/// See the module.
pub struct TxnEntries<'a> {
    path: &'a Path,
    base_offset: Offset,
    /// By the offset of the marker.
    entries: HashMap<Offset, Entry>,
    /// Claims on this segment, by offset.
    claims: &'a [Claim],
    next_claim: usize,
    /// Producer to the first offset of its transactional batches since its last marker.
    open: HashMap<i64, Offset>,
    is_sealed: bool,
    /// False behind a bad batch.
    is_known: bool,
    out: TxnFindings,
}

impl<'a> TxnEntries<'a> {
    /// Checks the entries by themselves (a).
    pub fn new(
        path: &'a Path,
        bytes: &[u8],
        base_offset: Offset,
        next_base: Option<Offset>,
        claims: &'a [Claim],
    ) -> Self {
        let mut all = HashMap::new();
        let mut out = TxnFindings::default();
        let whole = bytes.len() / ENTRY * ENTRY;
        if whole != bytes.len() {
            let message = format!(
                "{} bytes are left over behind the last entry of {ENTRY}",
                bytes.len() - whole
            );
            out.found.push(Finding::fault(path, whole as u64, message));
        }
        let (mut last_offset, mut stable) = (base_offset - 1, Offset(i64::MIN));
        for (at, aborted) in entries(bytes) {
            let version = i16::from_be_bytes(array_at(bytes, at as usize));
            if let Err(message) = can_be(version, &aborted, last_offset, stable, next_base) {
                out.found.push(Finding::fault(path, at, message));
                // not counted as missing, whatever it says
                all.entry(aborted.last_offset).or_insert(Entry {
                    at,
                    aborted,
                    is_found: true,
                });
                continue;
            }
            (last_offset, stable) = (aborted.last_offset, aborted.last_stable_offset);
            all.insert(
                aborted.last_offset,
                Entry {
                    at,
                    aborted,
                    is_found: false,
                },
            );
        }
        Self {
            path,
            base_offset,
            entries: all,
            claims,
            next_claim: 0,
            open: HashMap::new(),
            is_sealed: next_base.is_some(),
            is_known: true,
            out,
        }
    }

    /// Notes a bad batch: it may begin or end a transaction.
    pub fn unknown(&mut self, base_offset: Offset) {
        self.is_known = false;
        self.open.clear();
        while self
            .claims
            .get(self.next_claim)
            .is_some_and(|claim| claim.first_offset <= base_offset)
        {
            self.next_claim += 1;
        }
    }

    /// Checks the next batch; `control` is its control record, if it is a marker.
    #[inline]
    pub fn batch(&mut self, header: &BatchHeader, control: Option<ControlRecord>) {
        if self
            .claims
            .get(self.next_claim)
            .is_some_and(|claim| claim.first_offset <= header.last_offset())
        {
            self.compare_claims(header);
        }
        if header.is_transactional() {
            self.transactional(header, control);
        }
    }

    fn compare_claims(&mut self, header: &BatchHeader) {
        let last = header.last_offset();
        while let Some(claim) = self
            .claims
            .get(self.next_claim)
            .filter(|claim| claim.first_offset <= last)
        {
            self.next_claim += 1;
            let is_true = claim.first_offset == header.base_offset
                && claim.producer_id == header.producer_id
                && header.is_transactional()
                && !header.is_control();
            if !is_true && self.is_known {
                let (producer, first) = (claim.producer_id, claim.first_offset);
                let message = format!(
                    "the entry says that a transaction of producer {producer} began with offset {first}, but no \
                     transactional batch of it begins there"
                );
                self.out
                    .unless_compacted
                    .push(Finding::fault(&claim.path, claim.at, message)); // (c)
            }
        }
    }

    fn transactional(&mut self, header: &BatchHeader, control: Option<ControlRecord>) {
        let producer = header.producer_id;
        let Some(control) = control else {
            if header.record_count > 0 && !header.is_control() {
                self.open.entry(producer).or_insert(header.base_offset);
            }
            return;
        };
        let first = self.open.remove(&producer);
        if control.control_type != ControlType::Abort {
            return;
        }
        let (path, marker) = (self.path, header.last_offset());
        match self.entries.get_mut(&marker) {
            Some(entry) if entry.aborted.producer_id != producer => {
                entry.is_found = true;
                let message = format!(
                    "the entry says that producer {} aborted with offset {marker}, but the marker there is of \
                     {producer}",
                    entry.aborted.producer_id
                );
                self.out.found.push(Finding::fault(path, entry.at, message)); // (b)
            }
            Some(entry) => {
                entry.is_found = true;
                let said = entry.aborted.first_offset;
                if let Some(first) = first.filter(|first| said > *first) {
                    let message =
                        format!("the entry says that the transaction began with offset {said}, but it was {first}");
                    self.out.unless_compacted.push(Finding::fault(path, entry.at, message)); // (d)
                }
            }
            None if first.is_some() && self.is_sealed => {
                let message = format!(
                    "no entry for the transaction of producer {producer} that the marker at offset {marker} aborted"
                );
                self.out.unless_compacted.push(Finding::whole(path, message)); // (e)
            }
            None => {}
        }
    }

    /// Ends the check after the last batch; `is_whole` when all of the log was walked, up to `end_offset`.
    pub fn finish(mut self, is_whole: bool, end_offset: Offset) -> TxnFindings {
        let is_certain = is_whole && self.is_known;
        for entry in self.entries.values().filter(|entry| !entry.is_found && is_certain) {
            let message = format!(
                "the entry says that producer {} aborted with offset {}, but no abort marker of it stands there",
                entry.aborted.producer_id, entry.aborted.last_offset
            );
            self.out.found.push(Finding::fault(self.path, entry.at, message)); // (b)
        }
        for claim in self.claims.get(self.next_claim..).unwrap_or_default() {
            if is_certain && claim.first_offset >= self.base_offset && claim.first_offset < end_offset {
                let message = format!("the entry names offset {}, which no batch holds", claim.first_offset);
                let fault = Finding::fault(&claim.path, claim.at, message);
                self.out.unless_compacted.push(fault); // (c)
            }
        }
        self.out
    }
}

/// (a)
fn can_be(
    version: i16,
    it: &AbortedTxn,
    before: Offset,
    stable: Offset,
    next_base: Option<Offset>,
) -> Result<(), String> {
    let (first, last) = (it.first_offset, it.last_offset);
    if version != TXN_INDEX_VERSION {
        return Err(format!(
            "version {version} of the entry is not known; {TXN_INDEX_VERSION} is"
        ));
    }
    if last <= before {
        return Err(format!("the entry's last offset {last} does not follow {before}"));
    }
    if first > last || first.is_none() {
        return Err(format!(
            "the entry's transaction cannot be of offsets {first} to {last}"
        ));
    }
    if let Some(next) = next_base.filter(|next| last >= *next) {
        return Err(format!(
            "the entry's last offset {last} is in a later segment: the next one begins with {next}"
        ));
    }
    if it.last_stable_offset > last + 1 || it.last_stable_offset < stable {
        return Err(format!(
            "the entry's last stable offset {} cannot be one when offset {last} is written",
            it.last_stable_offset
        ));
    }
    Ok(())
}
