//! Zstandard, with one compression and one decompression context per thread: making them costs more than a small batch.

use std::cell::RefCell;

use zstd::zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd::zstd_safe::{
    CCtx, CParameter, DCtx, InBuffer, OutBuffer, ResetDirective, compress_bound, get_frame_content_size, max_c_level,
    min_c_level,
};

use super::Stop;

/// zstd's and Kafka's default.
const DEFAULT_LEVEL: i32 = 3;
/// Bytes that are reserved first when a frame does not declare its size.
const MIN_ROOM: usize = 16 * 1024;
/// A context that has grown beyond this is not kept: a frame of a few bytes may ask for a window of 128 MB. Kafka's
/// default level asks for 2 MB.
const KEPT_BYTES: usize = 16 << 20;

thread_local! {
    static COMPRESSOR: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
    static DECOMPRESSOR: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

pub(super) fn decompress(src: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), Stop> {
    // No frame at all is no records at all: the count then tells.
    if src.is_empty() {
        return Ok(());
    }
    DECOMPRESSOR.with_borrow_mut(|context| {
        context
            .reset(ResetDirective::SessionOnly)
            .map_err(|_| Stop::Corrupt("no context"))?;
        let done = inflate(context, src, limit, out);
        if context.sizeof() > KEPT_BYTES {
            *context = DCtx::create();
        }
        done
    })
}

fn inflate(context: &mut DCtx<'static>, src: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), Stop> {
    let before = out.len();
    let mut input = InBuffer::around(src);
    let mut room = src.len().saturating_mul(4).max(MIN_ROOM);
    if let Ok(Some(size)) = get_frame_content_size(src) {
        // The declared size only decides how much to reserve, at most up to the limit.
        room = usize::try_from(size).map_or(usize::MAX, |size| size.max(1));
    }
    loop {
        // One byte beyond the limit tells "at the limit" from "beyond it".
        let allowed = (limit - (out.len() - before)).saturating_add(1);
        out.reserve_exact(room.min(allowed));
        let position = out.len();
        let mut output = OutBuffer::around_pos(out, position);
        let hint = context
            .decompress_stream(&mut output, &mut input)
            .map_err(|_| Stop::Corrupt("the zstd frame is damaged"))?;
        let is_full = output.pos() == output.capacity();
        if out.len() - before > limit {
            return Err(Stop::Limit);
        }
        if hint == 0 && input.pos() == src.len() {
            return Ok(());
        }
        if input.pos() == src.len() && !is_full {
            return Err(Stop::Corrupt("the zstd frame is cut short"));
        }
        room = (out.len() - before).max(MIN_ROOM);
    }
}

/// Bytes of the context that this thread keeps.
#[cfg(test)]
pub(super) fn kept_bytes() -> usize {
    DECOMPRESSOR.with_borrow(DCtx::sizeof)
}

pub(super) fn compress(level: Option<i32>, src: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let level = level.unwrap_or(DEFAULT_LEVEL).clamp(min_c_level(), max_c_level());
    COMPRESSOR.with_borrow_mut(|context| {
        context.reset(ResetDirective::SessionOnly).ok()?;
        context.set_parameter(CParameter::CompressionLevel(level)).ok()?;
        // With room for the worst case zstd works in one pass, straight from the source into `out`.
        out.reserve(compress_bound(src.len()));
        let position = out.len();
        let mut output = OutBuffer::around_pos(out, position);
        let mut input = InBuffer::around(src);
        let left = context
            .compress_stream2(&mut output, &mut input, ZSTD_EndDirective::ZSTD_e_end)
            .ok()?;
        (left == 0).then_some(())
    })
}
