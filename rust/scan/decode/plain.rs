//! The common walk: no headers are wanted, and every record within the offsets is.
//!
//! Records are parsed some at a time into columns of their own, so that what the walk changes stays in registers, and
//! go to the column buffers together. The short forms of a record's first fields are read out of one word. The result,
//! and the record at which it stops, are the same as those of the general walk.

use super::super::builder::{Columns, Rows};
use super::super::byte_strings::{Piece, Pieces};
use super::{Bad, Frame, INVALID, Stopped, Walk, micros_of, read_bytes, read_deltas, split_record};

/// Records parsed before they are appended: their columns take 8 KB, and the bytes of short ones are still in the first
/// cache when they are copied.
const CHUNK: usize = 256;

/// Decodes from `walk` on into `columns`, until all is done or the batch in the making is full.
pub(super) fn walk(
    payload: &[u8],
    walk: &mut Walk,
    frame: &Frame,
    columns: &mut Columns,
    chunk: &mut Chunk,
) -> Result<Stopped, Bad> {
    if columns.wanted.has_body() {
        walk_chunks::<true>(payload, walk, frame, columns, chunk)
    } else {
        walk_chunks::<false>(payload, walk, frame, columns, chunk)
    }
}

fn walk_chunks<const BODY: bool>(
    payload: &[u8],
    walk: &mut Walk,
    frame: &Frame,
    columns: &mut Columns,
    chunk: &mut Chunk,
) -> Result<Stopped, Bad> {
    if walk.left < 0 {
        return Err(Bad(0, "the declared record count is negative"));
    }
    if walk.at > payload.len() {
        return Err(Bad(walk.left, "it starts beyond the payload"));
    }
    loop {
        let stopped = chunk.parse::<BODY>(payload, walk, frame, columns)?;
        let len = chunk.len;
        let rows = Rows {
            payload,
            offsets: &chunk.offsets[..len],
            timestamps: &chunk.timestamps[..len],
            keys: chunk.keys.pieces(len),
            values: chunk.values.pieces(len),
        };
        columns.extend(&rows);
        if let Some(stopped) = stopped {
            return Ok(stopped);
        }
    }
}

/// Records on their way to the columns.
#[derive(Debug)]
pub(in super::super) struct Chunk {
    len: usize,
    offsets: [i64; CHUNK],
    timestamps: [i64; CHUNK],
    keys: Strings,
    values: Strings,
}

/// Keys or values of a chunk.
#[derive(Debug)]
struct Strings {
    each: [Piece; CHUNK],
    bytes: usize,
    has_null: bool,
}

impl Strings {
    const fn new() -> Self {
        Self {
            each: [Piece::NULL; CHUNK],
            bytes: 0,
            has_null: false,
        }
    }

    fn pieces(&self, len: usize) -> Pieces<'_> {
        Pieces {
            each: &self.each[..len],
            bytes: self.bytes,
            has_null: self.has_null,
        }
    }
}

impl Default for Chunk {
    fn default() -> Self {
        Self {
            len: 0,
            offsets: [0; CHUNK],
            timestamps: [0; CHUNK],
            keys: Strings::new(),
            values: Strings::new(),
        }
    }
}

impl Chunk {
    /// Parses the next records; `None` when the chunk is full and more are to come.
    fn parse<const BODY: bool>(
        &mut self,
        payload: &[u8],
        walk: &mut Walk,
        frame: &Frame,
        columns: &Columns,
    ) -> Result<Option<Stopped>, Bad> {
        let wanted = columns.wanted;
        let span = frame.to.wrapping_sub(frame.from) as u64;
        let (base_timestamp, mask) = frame
            .log_append_time
            .map_or((frame.base_timestamp, -1), |time| (time, 0));
        let (rows_left, bytes_left) = columns.room();
        let (key_mask, value_mask) = (mask_of(wanted.key), mask_of(wanted.value));
        let is_first = columns.rows() == 0;
        let most = rows_left.min(CHUNK);
        let (mut at, mut left, mut len) = (walk.at, walk.left, 0);
        let (mut key_bytes, mut value_bytes, mut has_null) = (0, 0, false);
        let mut stopped = None;
        loop {
            if left == 0 {
                if at < payload.len() {
                    return Err(Bad(0, "bytes remain after the declared number of records"));
                }
                stopped = Some(Stopped::Done);
                break;
            }
            let head = Head::read(payload, at).map_err(|reason| Bad(left, reason))?;
            let offset = frame.base_offset.wrapping_add(i64::from(head.offset_delta));
            if (offset.wrapping_sub(frame.from) as u64) >= span {
                if BODY {
                    // The body is not wanted, but it must be valid.
                    read_body(payload, &head).map_err(|reason| Bad(left, reason))?;
                }
                (at, left) = (head.end, left - 1);
                continue;
            }
            if len == most {
                if len == rows_left {
                    stopped = Some(Stopped::Full);
                }
                break;
            }
            if BODY {
                let (key, value) = read_body(payload, &head).map_err(|reason| Bad(left, reason))?;
                let row_bytes = (key.len() & key_mask) + (value.len() & value_mask);
                let bytes = (key_bytes & key_mask) + (value_bytes & value_mask);
                if row_bytes > bytes_left.saturating_sub(bytes) && !(is_first && len == 0) {
                    stopped = Some(Stopped::Full);
                    break;
                }
                key_bytes += key.len();
                value_bytes += value.len();
                has_null |= key.is_null() | value.is_null();
                (self.keys.each[len], self.values.each[len]) = (key, value);
            }
            let timestamp_ms = base_timestamp.wrapping_add(head.timestamp_delta & mask);
            self.offsets[len] = offset;
            self.timestamps[len] = micros_of(timestamp_ms);
            len += 1;
            (at, left) = (head.end, left - 1);
        }
        (walk.at, walk.left) = (at, left);
        self.len = len;
        (self.keys.bytes, self.keys.has_null) = (key_bytes, has_null);
        (self.values.bytes, self.values.has_null) = (value_bytes, has_null);
        Ok(stopped)
    }
}

/// All bits, or none.
const fn mask_of(is_wanted: bool) -> usize {
    (is_wanted as usize).wrapping_neg()
}

/// Key and value of a record.
#[expect(
    clippy::inline_always,
    reason = "measured, with the copying in blocks: a tenth of a scan's own time at 100 bytes"
)]
#[inline(always)]
fn read_body(payload: &[u8], head: &Head) -> Result<(Piece, Piece), &'static str> {
    let (key, at) = read_piece(payload, head.body, head.end)?;
    let (value, _) = read_piece(payload, at, head.end)?;
    Ok((key, value))
}

/// The bytes whose length stands at `at`, and where they end: not beyond `end`.
#[expect(clippy::inline_always, reason = "as `read_body`")]
#[inline(always)]
fn read_piece(payload: &[u8], at: usize, end: usize) -> Result<(Piece, usize), &'static str> {
    if let Some(word) = payload.get(at..).and_then(<[u8]>::first_chunk)
        && let Some((len, len_bytes)) = short(u64::from(u16::from_le_bytes(*word)))
        && len >= 0
    {
        let start = at + len_bytes as usize;
        let piece_end = start + len as usize;
        if piece_end <= end {
            return Ok((Piece::new(start, len as usize), piece_end));
        }
    }
    read_long_piece(payload, at, end)
}

/// As [`read_piece`], for nulls and for lengths of three and more bytes.
#[inline(never)]
fn read_long_piece(payload: &[u8], at: usize, end: usize) -> Result<(Piece, usize), &'static str> {
    let mut body = payload.get(at..end).ok_or(INVALID)?;
    let bytes = read_bytes(&mut body)?;
    let piece_end = end - body.len();
    let piece = bytes.map_or(Piece::NULL, |bytes| Piece::new(piece_end - bytes.len(), bytes.len()));
    Ok((piece, piece_end))
}

/// The first fields of a record.
struct Head {
    timestamp_delta: i64,
    offset_delta: i32,
    /// Where its key's length stands.
    body: usize,
    /// Where the next record starts.
    end: usize,
}

impl Head {
    #[expect(
        clippy::inline_always,
        reason = "measured: a call for each record costs a tenth of the walk"
    )]
    #[inline(always)]
    fn read(payload: &[u8], at: usize) -> Result<Self, &'static str> {
        if let Some(word) = payload.get(at..).and_then(<[u8]>::first_chunk)
            && let Some(head) = Self::read_word(u64::from_le_bytes(*word), at)
            && head.body <= head.end
            && head.end <= payload.len()
        {
            return Ok(head);
        }
        Self::read_long(payload, at)
    }

    /// Reads the fields out of the record's first eight bytes, when each field takes one or two bytes.
    #[inline]
    fn read_word(word: u64, at: usize) -> Option<Self> {
        let (length, length_bytes) = short(word)?;
        let word = word >> (8 * length_bytes + 8);
        let (timestamp, timestamp_bytes) = short(word)?;
        let (offset, offset_bytes) = short(word >> (8 * timestamp_bytes))?;
        // A negative length would end before it begins; `None` leaves it to the general way.
        let end = (at + length_bytes as usize).checked_add_signed(length as isize)?;
        Some(Self {
            timestamp_delta: timestamp,
            offset_delta: offset as i32,
            body: at + (length_bytes + 1 + timestamp_bytes + offset_bytes) as usize,
            end,
        })
    }

    #[inline(never)]
    fn read_long(payload: &[u8], at: usize) -> Result<Self, &'static str> {
        let rest = payload.get(at..).ok_or(INVALID)?;
        let (mut body, after) = split_record(rest)?;
        let (timestamp_delta, offset_delta) = read_deltas(&mut body).ok_or(INVALID)?;
        let end = payload.len() - after.len();
        Ok(Self {
            timestamp_delta,
            offset_delta,
            body: end - body.len(),
            end,
        })
    }
}

/// The zig-zag value at the word's low end and its bytes, when it takes one or two.
#[inline]
fn short(word: u64) -> Option<(i64, u32)> {
    let is_long = word & 0x80 != 0;
    if is_long && word & 0x8000 != 0 {
        return None;
    }
    let high = if is_long { (word >> 1) & 0x3f80 } else { 0 };
    let raw = (word & 0x7f) | high;
    Some(((raw >> 1) as i64 ^ -((raw & 1) as i64), 1 + u32::from(is_long)))
}
