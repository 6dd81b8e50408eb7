//! gzip (RFC 1952): reads any number of members one after another, writes one.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::Stop;

/// zlib's own default.
const DEFAULT_LEVEL: i32 = 6;

pub(super) fn decompress(src: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), Stop> {
    let before = out.len();
    // One byte beyond the limit tells "at the limit" from "beyond it".
    let mut reader = MultiGzDecoder::new(src).take(limit as u64 + 1);
    reader
        .read_to_end(out)
        .map_err(|_| Stop::Corrupt("the gzip stream is damaged or cut short"))?;
    if out.len() - before > limit {
        Err(Stop::Limit)
    } else {
        Ok(())
    }
}

pub(super) fn compress(level: Option<i32>, src: &[u8], out: &mut Vec<u8>) -> Option<()> {
    // Kafka's −1 is "the default".
    let level = level.filter(|&level| level >= 0).unwrap_or(DEFAULT_LEVEL).min(9);
    let mut encoder = GzEncoder::new(out, Compression::new(level as u32));
    encoder.write_all(src).ok()?;
    encoder.finish().ok()?;
    Some(())
}
