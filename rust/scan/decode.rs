//! The records of one batch, straight to column buffers.
//!
//! The walk parses of a record only what the wanted columns and the predicate need; `record` has the grammar. No field
//! is trusted: a length may not reach past the payload, and the number of records must be exactly as declared. The
//! simple equivalent of this walk is [`record::RecordIter`]. The walk may stop at any record when the record
//! batch is full, and go on from there later. It never checks a CRC, inflates, or reads a file.

mod plain;

use std::collections::HashSet;
use std::str;

use super::Predicate;
use super::builder::{Columns, HEADER_OVERHEAD, Row};
use record::{read_varint, read_varlong};

pub(super) use plain::Chunk;

/// Up to this many keys are compared one after another; more keys are looked up in a table.
const FEW_KEYS: usize = 8;
/// Most bytes of one record's headers as Arrow: what 32-bit offsets reach.
const MAX_HEADER_BYTES: usize = i32::MAX as usize;

/// The values that are the same for all records of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) base_offset: i64,
    pub(super) base_timestamp: i64,
    /// Every record's timestamp under `LogAppendTime`.
    pub(super) log_append_time: Option<i64>,
    /// Offsets wanted: `[from, to)`.
    pub(super) from: i64,
    pub(super) to: i64,
}

/// How far the walk has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Walk {
    /// Byte of the payload where the next record starts.
    at: usize,
    /// Records left.
    left: i32,
}

impl Walk {
    /// Before the first of `count` records.
    pub(super) const fn new(count: i32) -> Self {
        Self { at: 0, left: count }
    }
}

/// Why a walk returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// All records are done.
    Done,
    /// The next row starts a new batch.
    Full,
}

/// A record whose bytes are wrong: the number of records left, including this record, and what is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bad(pub(super) i32, pub(super) &'static str);

/// A predicate, prepared.
#[derive(Debug)]
pub(super) struct Filter {
    is_all: bool,
    has_keys: bool,
    /// The whole predicate, or the predicate without its keys when `many` has them.
    predicate: Predicate,
    many: Option<ManyKeys>,
}

/// Keys to look up.
#[derive(Debug)]
struct ManyKeys {
    keys: HashSet<Vec<u8>>,
    has_null: bool,
}

impl Filter {
    /// Of `predicate`.
    pub(super) fn new(predicate: &Predicate) -> Self {
        let mut rest = predicate.clone();
        let many = rest.keys.take_if(|keys| keys.len() > FEW_KEYS).map(|keys| ManyKeys {
            keys: keys.iter().flatten().cloned().collect(),
            has_null: keys.iter().any(Option::is_none),
        });
        Self {
            is_all: predicate.is_all(),
            has_keys: predicate.keys.is_some(),
            predicate: rest,
            many,
        }
    }

    #[inline]
    fn wants(&self, timestamp_ms: i64, key: Option<&[u8]>) -> bool {
        self.predicate.wants(timestamp_ms, key)
            && self
                .many
                .as_ref()
                .is_none_or(|many| key.map_or(many.has_null, |key| many.keys.contains(key)))
    }
}

/// Decodes records from `walk` on into `columns`, until all are done or the batch in the making is full.
pub(super) fn decode(
    payload: &[u8],
    walk: &mut Walk,
    frame: &Frame,
    filter: &Filter,
    columns: &mut Columns,
    chunk: &mut Chunk,
) -> Result<Stopped, Bad> {
    let wanted = columns.wanted;
    if filter.is_all && !wanted.headers {
        plain::walk(payload, walk, frame, columns, chunk)
    } else if wanted.headers {
        walk_records::<true, true>(payload, walk, frame, filter, columns)
    } else if wanted.has_body() || filter.has_keys {
        walk_records::<true, false>(payload, walk, frame, filter, columns)
    } else {
        walk_records::<false, false>(payload, walk, frame, filter, columns)
    }
}

/// `BODY`: keys and values are parsed; `HEADERS`: headers too.
fn walk_records<const BODY: bool, const HEADERS: bool>(
    payload: &[u8],
    walk: &mut Walk,
    frame: &Frame,
    filter: &Filter,
    columns: &mut Columns,
) -> Result<Stopped, Bad> {
    let Some(mut rest) = payload.get(walk.at..) else {
        return Err(Bad(walk.left, "it starts beyond the payload"));
    };
    let wanted = columns.wanted;
    let span = frame.to.wrapping_sub(frame.from) as u64;
    while walk.left > 0 {
        let bad = |reason| Bad(walk.left, reason);
        let before = rest;
        let (mut body, after) = split_record(rest).map_err(bad)?;
        rest = after;
        let (timestamp_delta, offset_delta) = read_deltas(&mut body).ok_or_else(|| bad(INVALID))?;
        let offset = frame.base_offset.wrapping_add(i64::from(offset_delta));
        let timestamp_ms = frame
            .log_append_time
            .unwrap_or_else(|| frame.base_timestamp.wrapping_add(timestamp_delta));
        let (mut key, mut value, mut row_bytes) = (None, None, 0);
        if BODY {
            key = read_bytes(&mut body).map_err(bad)?;
            value = read_bytes(&mut body).map_err(bad)?;
            row_bytes = len_if(wanted.key, key) + len_if(wanted.value, value);
        }
        let is_wanted = (offset.wrapping_sub(frame.from) as u64) < span;
        if !is_wanted || !(filter.is_all || filter.wants(timestamp_ms, key)) {
            walk.left -= 1;
            continue;
        }
        if HEADERS {
            row_bytes += measure_headers(body).map_err(bad)?;
        }
        if columns.is_full(row_bytes) {
            walk.at = payload.len() - before.len();
            return Ok(Stopped::Full);
        }
        if HEADERS {
            push_headers(body, columns).map_err(bad)?;
        }
        let row = Row {
            offset,
            timestamp: micros_of(timestamp_ms),
            key,
            value,
        };
        columns.push(row, row_bytes);
        walk.left -= 1;
    }
    if walk.left < 0 {
        return Err(Bad(0, "the declared record count is negative"));
    }
    if !rest.is_empty() {
        return Err(Bad(0, "bytes remain after the declared number of records"));
    }
    walk.at = payload.len();
    Ok(Stopped::Done)
}

const INVALID: &str = "its structure is invalid";

/// A timestamp of milliseconds in microseconds. What no such timestamp can be (a client gave nanoseconds, say) is the
/// farthest one, which `DuckDB` takes as infinity.
#[inline]
const fn micros_of(timestamp_ms: i64) -> i64 {
    let micros = timestamp_ms.saturating_mul(1_000);
    if micros == i64::MIN { -i64::MAX } else { micros }
}

#[inline]
fn len_if(is_wanted: bool, bytes: Option<&[u8]>) -> usize {
    if is_wanted { bytes.map_or(0, <[u8]>::len) } else { 0 }
}

/// A record's body and what follows it.
#[inline]
fn split_record(mut input: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
    let length = read_varint(&mut input).ok_or("its length is cut short or too long")?;
    usize::try_from(length)
        .ok()
        .and_then(|length| input.split_at_checked(length))
        .ok_or("its length is negative or more than the bytes that are left")
}

/// Skips the attributes and reads the deltas of timestamp and offset.
#[inline]
fn read_deltas(body: &mut &[u8]) -> Option<(i64, i32)> {
    let (_, rest) = body.split_first()?;
    *body = rest;
    Some((read_varlong(body)?, read_varint(body)?))
}

/// Length and bytes; `None` for null, which any negative length is.
#[inline]
fn read_bytes<'a>(input: &mut &'a [u8]) -> Result<Option<&'a [u8]>, &'static str> {
    let length = read_varint(input).ok_or(INVALID)?;
    if length < 0 {
        return Ok(None);
    }
    let (bytes, rest) = input.split_at_checked(length as usize).ok_or(INVALID)?;
    *input = rest;
    Ok(Some(bytes))
}

/// The count of headers and the bytes they are in.
#[inline]
fn split_headers(mut body: &[u8]) -> Result<(usize, &[u8]), &'static str> {
    let count = read_varint(&mut body).ok_or(INVALID)?;
    // A header takes at least two bytes, so a false count costs nothing.
    let count = usize::try_from(count)
        .ok()
        .filter(|count| *count <= body.len() / 2)
        .ok_or(INVALID)?;
    Ok((count, body))
}

/// The bytes that a record's headers count in a batch; an error unless the headers are whole and end the record.
fn measure_headers(body: &[u8]) -> Result<usize, &'static str> {
    let (count, mut rest) = split_headers(body)?;
    let mut bytes = 0;
    for _ in 0..count {
        let key = read_bytes(&mut rest)?.ok_or(INVALID)?;
        let value = read_bytes(&mut rest)?;
        // Each byte that is not UTF-8 becomes at most three.
        let text_bytes = if str::from_utf8(key).is_ok() {
            key.len()
        } else {
            key.len() * 3
        };
        bytes += HEADER_OVERHEAD + text_bytes + value.map_or(0, <[u8]>::len);
    }
    if !rest.is_empty() {
        return Err(INVALID);
    }
    if bytes > MAX_HEADER_BYTES {
        return Err("its headers are too large for a column");
    }
    Ok(bytes)
}

/// Appends the headers that [`measure_headers`] found good.
fn push_headers(body: &[u8], columns: &mut Columns) -> Result<(), &'static str> {
    let (count, mut rest) = split_headers(body)?;
    for _ in 0..count {
        let key = read_bytes(&mut rest)?.ok_or(INVALID)?;
        let value = read_bytes(&mut rest)?;
        columns.push_header(key, value);
    }
    columns.end_headers();
    Ok(())
}

#[cfg(test)]
mod tests;
