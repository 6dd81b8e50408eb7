//! gzip (RFC 1952): reads any number of members one after another, writes one.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

use super::Stop;

/// The first bytes of a member.
const MEMBER_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The reason for a stream that is no valid gzip stream.
pub(super) const DAMAGED: Stop = Stop::Corrupt("the gzip stream is damaged or cut short");
/// zlib's own default.
const DEFAULT_LEVEL: i32 = 6;

pub(super) fn decompress(src: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), Stop> {
    let before = out.len();
    let mut rest = src;
    loop {
        // One byte beyond the limit tells "at the limit" from "beyond it".
        let allowed = ((limit - (out.len() - before)) as u64).saturating_add(1);
        let mut member = GzDecoder::new(&mut rest).take(allowed);
        member.read_to_end(out).map_err(|_| DAMAGED)?;
        if out.len() - before > limit {
            return Err(Stop::Limit);
        }
        // As in Java's reader, bytes behind a member that are no member are ignored.
        if !starts_member(rest) {
            return Ok(());
        }
    }
}

/// Whether another member follows.
pub(super) fn starts_member(rest: &[u8]) -> bool {
    rest.starts_with(&MEMBER_MAGIC)
}

pub(super) fn compress(level: Option<i32>, src: &[u8], out: &mut Vec<u8>) -> Option<()> {
    // Kafka's −1 is "the default".
    let level = level.filter(|&level| level >= 0).unwrap_or(DEFAULT_LEVEL).min(9);
    let mut encoder = GzEncoder::new(out, Compression::new(level as u32));
    encoder.write_all(src).ok()?;
    encoder.finish().ok()?;
    Some(())
}
