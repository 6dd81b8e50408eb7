//! The five codecs behind two functions: [`compress`] and [`decompress`].
//!
//! Inflating stops as soon as it reaches the caller's limit, so that a bomb costs no more memory than the limit. Both
//! functions append to `out`; after an error `out` keeps the bytes that were written before. Contexts that are
//! expensive to make are kept per thread.

mod gzip;
mod lz4;
mod snappy;
mod stream;
mod zstd;

#[cfg(test)]
mod tests;

pub(super) use stream::Source;

use super::codec::Codec;
use super::error::BatchError;

/// Why a codec stopped inflating.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The bytes are wrong.
    Corrupt(&'static str),
    /// The payload inflates to more bytes than allowed.
    Limit,
    /// Inflating needs more memory at once than allowed.
    Window,
}

/// Inflates all of `src` onto the end of `out`, at most `limit` bytes.
pub fn decompress(codec: Codec, src: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), BatchError> {
    let done = match codec {
        Codec::None if src.len() > limit => Err(Stop::Limit),
        Codec::None => {
            out.extend_from_slice(src);
            Ok(())
        }
        Codec::Gzip => gzip::decompress(src, limit, out),
        Codec::Snappy => snappy::decompress(src, limit, out),
        Codec::Lz4 => lz4::decompress(src, limit, out),
        Codec::Zstd => zstd::decompress(src, limit, out),
    };
    done.map_err(|stop| match stop {
        Stop::Corrupt(reason) => BatchError::Inflate { codec, reason },
        Stop::Limit => BatchError::InflateLimit { limit },
        Stop::Window => BatchError::InflateWindow,
    })
}

/// Compresses `src` onto the end of `out`. A level is clamped to the codec's range; snappy has no level, and lz4 only
/// one.
pub fn compress(codec: Codec, level: Option<i32>, src: &[u8], out: &mut Vec<u8>) -> Result<(), BatchError> {
    let done = match codec {
        Codec::None => {
            out.extend_from_slice(src);
            Some(())
        }
        Codec::Gzip => gzip::compress(level, src, out),
        Codec::Snappy => snappy::compress(src, out),
        Codec::Lz4 => lz4::compress(src, out),
        Codec::Zstd => zstd::compress(level, src, out),
    };
    done.ok_or(BatchError::Deflate { codec })
}
