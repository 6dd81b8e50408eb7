//! LZ4 frames, written in the only form that Kafka's Java reader accepts: independent blocks of 64 KB, no checksums, no
//! content size.
//!
//! ```text
//! frame := magic u32 0x184D2204, flags u8, block_maximum u8, [content_size u64], header_checksum u8,
//!          { size u32 (top bit: stored), bytes, [checksum u32] }*, end u32 0, [content_checksum u32]
//! flags := version 01, independent blocks 1, block checksums, content size, content checksum, 0, dictionary 0
//! ```
//! All integers are little-endian. A batch that is checked is inflated as Kafka's reader does ([`Blocks::new`]): one
//! frame of independent blocks, and what follows it is ignored. A batch that is in the log was perhaps not inflated
//! before it was taken, so [`decompress`] also reads what other libraries write: blocks that refer to those before them
//! (bit 5 of the flags is 0 then), and several frames. The checksums are not compared: the batch's CRC covers the same
//! bytes.

use std::cell::RefCell;

use lz4_flex::block::{
    CompressTable, compress_into_with_table, decompress_into, decompress_into_with_dict, get_maximum_output_size,
};

use super::Stop;

const MAGIC: [u8; 4] = 0x184D_2204u32.to_le_bytes();
/// Version 1, independent blocks.
const FLAGS: u8 = 0x60;
/// Of the flags: the blocks are independent.
const INDEPENDENT: u8 = 0x20;
/// How far back a block refers to those before it.
const WINDOW: usize = 64 * 1024;
/// Blocks of at most 64 KB.
const BLOCK_MAXIMUM: u8 = 0x40;
/// The second byte of the xxHash32 of the two bytes above; a constant, since they are.
const HEADER_CHECKSUM: u8 = 0x82;
/// Inflated bytes of a block that this module writes.
const BLOCK: usize = 64 * 1024;
/// In a block's size: its bytes are stored as they are.
const STORED: u32 = 1 << 31;

/// The ratio of inflated to compressed bytes that is first assumed for a block.
const LIKELY_RATIO: usize = 6;

thread_local! {
    static TABLE: RefCell<CompressTable> = RefCell::new(CompressTable::default());
}

const UNSUPPORTED: Stop = Stop::Corrupt("the lz4 frame is of an unsupported kind");

/// The properties of a frame's blocks, from its header.
struct Frame {
    block_maximum: usize,
    is_linked: bool,
    has_block_checksums: bool,
    has_content_checksum: bool,
}

pub(super) fn decompress(src: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), Stop> {
    let before = out.len();
    let mut rest = inflate_frame(src, limit, out)?;
    while rest.starts_with(&MAGIC) {
        rest = inflate_frame(rest, limit - (out.len() - before), out)?;
    }
    Ok(())
}

/// Inflates the frame at the front, at most `limit` bytes; gives what follows it.
fn inflate_frame<'a>(src: &'a [u8], limit: usize, out: &mut Vec<u8>) -> Result<&'a [u8], Stop> {
    let (frame, rest) = read_header(src)?;
    let start = out.len();
    let mut blocks = Blocks {
        linked_from: frame.is_linked.then_some(start),
        frame,
        rest,
        has_ended: false,
    };
    while blocks.inflate_next(limit - (out.len() - start), out)? {}
    Ok(blocks.rest)
}

/// The blocks of one frame, in order.
pub(super) struct Blocks<'a> {
    frame: Frame,
    /// Where the frame's inflated bytes begin, when its blocks are linked.
    linked_from: Option<usize>,
    /// What follows; at the end, what follows the frame.
    rest: &'a [u8],
    has_ended: bool,
}

impl<'a> Blocks<'a> {
    /// Independent ones, each of which may be inflated to where it likes.
    pub(super) fn new(src: &'a [u8]) -> Result<Self, Stop> {
        let (frame, rest) = read_header(src)?;
        if frame.is_linked {
            return Err(UNSUPPORTED);
        }
        Ok(Self {
            frame,
            linked_from: None,
            rest,
            has_ended: false,
        })
    }

    /// Inflates the next block onto the end of `out`, at most `room` bytes; false after the last one.
    pub(super) fn inflate_next(&mut self, room: usize, out: &mut Vec<u8>) -> Result<bool, Stop> {
        const CUT: Stop = Stop::Corrupt("the lz4 frame is cut short");
        if self.has_ended {
            return Ok(false);
        }
        let (size, after) = self.rest.split_first_chunk::<4>().ok_or(CUT)?;
        let size = u32::from_le_bytes(*size);
        if size & !STORED == 0 {
            self.has_ended = true;
            let checksum = if self.frame.has_content_checksum { 4 } else { 0 };
            self.rest = after.get(checksum..).ok_or(CUT)?;
            return Ok(false);
        }
        let (block, after) = after.split_at_checked((size & !STORED) as usize).ok_or(CUT)?;
        if block.len() > self.frame.block_maximum {
            return Err(Stop::Corrupt("an lz4 block is larger than the frame allows"));
        }
        if size & STORED == 0 {
            let linked_from = self.linked_from.unwrap_or(out.len());
            inflate_block(block, self.frame.block_maximum, room, linked_from, out)?;
        } else if block.len() <= room {
            out.extend_from_slice(block);
        } else {
            return Err(Stop::Limit);
        }
        self.rest = if self.frame.has_block_checksums {
            after.get(4..).ok_or(CUT)?
        } else {
            after
        };
        Ok(true)
    }
}

fn read_header(src: &[u8]) -> Result<(Frame, &[u8]), Stop> {
    let Some((&[m0, m1, m2, m3, flags, maximum], rest)) = src.split_first_chunk::<6>() else {
        return Err(Stop::Corrupt("the lz4 frame is cut short"));
    };
    if [m0, m1, m2, m3] != MAGIC {
        return Err(Stop::Corrupt("it is no lz4 frame"));
    }
    if (flags | INDEPENDENT) & 0xe3 != FLAGS || maximum & 0x8f != 0 || maximum < BLOCK_MAXIMUM {
        return Err(UNSUPPORTED);
    }
    let has_content_size = flags & 0x08 != 0;
    let rest = rest
        .get(if has_content_size { 9 } else { 1 }..)
        .ok_or(Stop::Corrupt("the lz4 frame is cut short"))?;
    let frame = Frame {
        // 4, 5, 6, 7: 64 KB, 256 KB, 1 MB, 4 MB
        block_maximum: 1 << (8 + 2 * (maximum >> 4)),
        is_linked: flags & INDEPENDENT == 0,
        has_block_checksums: flags & 0x10 != 0,
        has_content_checksum: flags & 0x04 != 0,
    };
    Ok((frame, rest))
}

/// Inflates one block straight into `out`, which grows by no more than a block can give. The block may refer to what
/// `out` has from `linked_from` on.
fn inflate_block(
    block: &[u8],
    block_maximum: usize,
    room: usize,
    linked_from: usize,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let start = out.len();
    let window_from = linked_from.max(start.saturating_sub(WINDOW));
    // A byte of LZ4 gives 255 at most.
    let most = block_maximum.min(block.len().saturating_mul(255));
    let allowed = most.min(room);
    // Records seldom shrink more than this; clearing all that a small block might give would cost more than inflating
    // it.
    let likely = allowed.min(block.len().saturating_mul(LIKELY_RATIO));
    for size in [likely, allowed] {
        out.resize(start + size, 0);
        let (before, space) = out.split_at_mut(start);
        let done = match &before[window_from..] {
            [] => decompress_into(block, space),
            window => decompress_into_with_dict(block, space, window),
        };
        if let Ok(inflated) = done {
            out.truncate(start + inflated);
            return Ok(());
        }
    }
    out.truncate(start);
    Err(if allowed < most {
        Stop::Limit
    } else {
        Stop::Corrupt("an lz4 block is damaged")
    })
}

pub(super) fn compress(src: &[u8], out: &mut Vec<u8>) -> Option<()> {
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[FLAGS, BLOCK_MAXIMUM, HEADER_CHECKSUM]);
    for block in src.chunks(BLOCK) {
        let size_at = out.len();
        out.resize(size_at + 4 + get_maximum_output_size(block.len()), 0);
        let size = TABLE
            .with_borrow_mut(|table| compress_into_with_table(block, &mut out[size_at + 4..], table))
            .ok()?;
        let mut head = size as u32;
        out.truncate(size_at + 4 + size);
        if size >= block.len() {
            head = block.len() as u32 | STORED;
            out.truncate(size_at + 4);
            out.extend_from_slice(block);
        }
        out[size_at..size_at + 4].copy_from_slice(&head.to_le_bytes());
    }
    out.extend_from_slice(&[0; 4]);
    Some(())
}
