//! LZ4 frames, written the one way that Kafka's Java reader takes: independent blocks of 64 KB, no checksums, no content size.

use std::io::{Read, Write};

use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use super::Stop;

pub(super) fn decompress(src: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), Stop> {
    let before = out.len();
    let mut reader = FrameDecoder::new(src).take(limit as u64 + 1);
    reader
        .read_to_end(out)
        .map_err(|_| Stop::Corrupt("the lz4 frame is damaged or cut short"))?;
    if out.len() - before > limit {
        Err(Stop::Limit)
    } else {
        Ok(())
    }
}

pub(super) fn compress(src: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let info = FrameInfo::new()
        .block_mode(BlockMode::Independent)
        .block_size(BlockSize::Max64KB);
    let mut encoder = FrameEncoder::with_frame_info(info, out);
    encoder.write_all(src).ok()?;
    encoder.finish().ok()?;
    Some(())
}
