//! snappy: reads raw blocks and snappy-java's framing, writes the framing, as Kafka's own clients do.
//!
//! ```text
//! raw    := one snappy block
//! xerial := 82 "SNAPPY" 00, version i32, compatible i32, { length i32, snappy block }*
//! ```
//! Integers are big-endian. A framed stream may start over with a new head in the middle (two streams joined).

use super::Stop;

/// The first bytes of every framed stream.
const MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
/// Magic, version 1, compatible with 1.
const HEAD: [u8; 16] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1];
/// Inflated bytes of a block that this module writes: snappy-java's default, which bounds a reader's memory.
const BLOCK: usize = 32 * 1024;

pub(super) fn decompress(src: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), Stop> {
    let before = out.len();
    let mut blocks = Blocks::new(src);
    while blocks.inflate_next(limit - (out.len() - before), out)? {}
    Ok(())
}

/// The blocks of a payload, in order; a raw payload has one block.
pub(super) struct Blocks<'a> {
    is_framed: bool,
    has_ended: bool,
    rest: &'a [u8],
}

impl<'a> Blocks<'a> {
    pub(super) fn new(src: &'a [u8]) -> Self {
        Self {
            is_framed: src.starts_with(&MAGIC),
            has_ended: false,
            rest: src,
        }
    }

    /// Inflates the next block onto the end of `out`, at most `room` bytes; false after the last one.
    pub(super) fn inflate_next(&mut self, room: usize, out: &mut Vec<u8>) -> Result<bool, Stop> {
        if self.has_ended {
            return Ok(false);
        }
        if !self.is_framed {
            self.has_ended = true;
            return inflate_block(self.rest, room, out).map(|()| true);
        }
        while self.rest.starts_with(&MAGIC) {
            self.rest = self
                .rest
                .get(HEAD.len()..)
                .ok_or(Stop::Corrupt("the stream's head is cut short"))?;
        }
        // As snappy-java does: fewer bytes than a length end the stream.
        let Some((length, after)) = self.rest.split_first_chunk::<4>() else {
            self.has_ended = true;
            return Ok(false);
        };
        let (block, after) = usize::try_from(i32::from_be_bytes(*length))
            .ok()
            .and_then(|length| after.split_at_checked(length))
            .ok_or(Stop::Corrupt("a block is cut short"))?;
        inflate_block(block, room, out)?;
        self.rest = after;
        Ok(true)
    }
}

fn inflate_block(block: &[u8], room: usize, out: &mut Vec<u8>) -> Result<(), Stop> {
    let size = snap::raw::decompress_len(block).map_err(|_| Stop::Corrupt("a block's size is invalid"))?;
    if size > room {
        return Err(Stop::Limit);
    }
    // A snappy element of three bytes yields 64 bytes at most, so a size beyond that ratio is wrong; no memory is
    // allocated for it.
    if size / 32 > block.len() {
        return Err(Stop::Corrupt("a block's size is more than its bytes can give"));
    }
    let start = out.len();
    out.resize(start + size, 0);
    let written = snap::raw::Decoder::new().decompress(block, &mut out[start..]);
    if written.is_ok_and(|written| written == size) {
        Ok(())
    } else {
        Err(Stop::Corrupt("a block is damaged"))
    }
}

pub(super) fn compress(src: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut encoder = snap::raw::Encoder::new();
    out.extend_from_slice(&HEAD);
    for chunk in src.chunks(BLOCK) {
        let length_at = out.len();
        out.resize(length_at + 4 + snap::raw::max_compress_len(chunk.len()), 0);
        let written = encoder.compress(chunk, &mut out[length_at + 4..]).ok()?;
        out[length_at..length_at + 4].copy_from_slice(&(written as u32).to_be_bytes());
        out.truncate(length_at + 4 + written);
    }
    Some(())
}
