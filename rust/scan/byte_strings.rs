//! A column of byte strings in the making: their bytes one after another, where each ends, which are null.
//!
//! Short strings are copied in blocks of fixed size that may reach over their end, within both buffers: a call of
//! `memcpy` costs more than the bytes of most keys. Bytes behind the last string are never given away. No record is
//! parsed here.

use arrow_buffer::{Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer};

use super::buffers::{Numbers, Pool};

/// Longest string that is copied as a block, and the bytes that a block may reach over the end of a string.
const BLOCK: usize = 128;

/// Where bytes stand in a payload, or null: the start below, the length above. A payload is below 4 GiB, as a batch and
/// what it inflates to are. One word, not two halves: a read of the whole word behind writes of its halves would stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Piece(u64);

impl Piece {
    /// The piece of a null.
    pub(super) const NULL: Self = Self(u64::MAX << 32);

    /// `len` bytes from `start` on.
    #[inline]
    pub(super) const fn new(start: usize, len: usize) -> Self {
        Self(start as u64 | (len as u64) << 32)
    }

    #[inline]
    pub(super) const fn is_null(self) -> bool {
        self.0 == Self::NULL.0
    }

    #[inline]
    const fn start(self) -> usize {
        (self.0 & 0xffff_ffff) as usize
    }

    #[inline]
    pub(super) const fn len(self) -> usize {
        if self.is_null() { 0 } else { (self.0 >> 32) as usize }
    }
}

/// Byte strings of a payload, with the sum of their lengths and whether any may be null.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces<'a> {
    pub(super) each: &'a [Piece],
    /// The sum of their lengths.
    pub(super) bytes: usize,
    /// Whether any may be null.
    pub(super) has_null: bool,
}

/// Byte strings, with nulls.
#[derive(Debug)]
pub(super) struct ByteStrings {
    /// Bytes from `filled` on are left from an earlier batch.
    data: Vec<u8>,
    filled: usize,
    pool: Pool,
    offsets: Numbers<i32>,
    nulls: NullBufferBuilder,
}

impl ByteStrings {
    pub(super) fn new(pooled: usize) -> Self {
        Self {
            data: Vec::new(),
            filled: 0,
            pool: Pool::new(pooled),
            offsets: Numbers::new(pooled),
            nulls: NullBufferBuilder::new(0),
        }
    }

    /// Makes room before strings are pushed: for `rows` strings of `bytes` bytes in all, as far as known.
    pub(super) fn start(&mut self, rows: usize, bytes: usize) {
        if self.data.capacity() == 0 {
            self.data = self.pool.take(bytes + BLOCK);
        }
        self.offsets.start(rows + 1);
        if self.offsets.values.is_empty() {
            self.offsets.values.push(0);
        }
    }

    #[inline]
    pub(super) fn rows(&self) -> usize {
        self.offsets.values.len() - 1
    }

    #[inline]
    pub(super) fn push(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.append(bytes),
            None => self.push_null(),
        }
        self.offsets.values.push(self.filled as i32);
    }

    /// Appends `pieces` of `payload`.
    pub(super) fn extend(&mut self, payload: &[u8], pieces: Pieces<'_>) {
        if pieces.has_null {
            self.mark_nulls(pieces.each);
        }
        if pieces.bytes > pieces.each.len() * BLOCK {
            self.extend_long(payload, pieces.each);
        } else {
            self.extend_short(payload, pieces);
        }
    }

    fn extend_long(&mut self, payload: &[u8], pieces: &[Piece]) {
        for piece in pieces {
            self.append(&payload[piece.start()..][..piece.len()]);
            self.offsets.values.push(self.filled as i32);
        }
    }

    fn extend_short(&mut self, payload: &[u8], pieces: Pieces<'_>) {
        let needed = self.filled + pieces.bytes + BLOCK;
        if self.data.len() < needed {
            self.data.resize(needed, 0);
        }
        let (data, mut at) = (&mut self.data[..], self.filled);
        self.offsets.values.extend(pieces.each.iter().map(|piece| {
            copy(&mut data[at..], &payload[piece.start()..], piece.len());
            at += piece.len();
            at as i32
        }));
        self.filled = at;
    }

    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        self.data.truncate(self.filled);
        self.data.extend_from_slice(bytes);
        self.filled = self.data.len();
    }

    #[inline(never)]
    fn push_null(&mut self) {
        self.nulls.append_n_non_nulls(self.rows() - self.nulls.len());
        self.nulls.append_null();
    }

    #[inline(never)]
    fn mark_nulls(&mut self, pieces: &[Piece]) {
        self.nulls.append_n_non_nulls(self.rows() - self.nulls.len());
        for piece in pieces {
            self.nulls.append(!piece.is_null());
        }
    }

    /// The strings as Arrow: where they end, their bytes, which are null. The column is empty afterwards.
    pub(super) fn finish(&mut self) -> (OffsetBuffer<i32>, Buffer, Option<NullBuffer>) {
        self.nulls.append_n_non_nulls(self.rows() - self.nulls.len());
        let nulls = self.nulls.finish();
        self.data.truncate(self.filled);
        self.filled = 0;
        let data = self.pool.give(std::mem::take(&mut self.data));
        (OffsetBuffer::new(self.offsets.finish()), data, nulls)
    }
}

/// Copies `len` bytes, and up to [`BLOCK`] more bytes where both buffers have them.
#[inline]
fn copy(to: &mut [u8], from: &[u8], len: usize) {
    let is_copied = match len {
        0..=16 => copy_block::<16>(to, from),
        17..=64 => copy_block::<64>(to, from),
        65..=BLOCK => copy_block::<BLOCK>(to, from),
        _ => false,
    };
    if !is_copied {
        to[..len].copy_from_slice(&from[..len]);
    }
}

#[inline]
fn copy_block<const N: usize>(to: &mut [u8], from: &[u8]) -> bool {
    match (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
        (Some(to), Some(from)) => {
            *to = *from;
            true
        }
        _ => false,
    }
}
