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

use std::fmt;

pub(super) use stream::Source;

use super::BatchError;
use super::header::CODEC_MASK;

/// How a batch's records are compressed; the id is the lowest three bits of the attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Codec {
    /// Not at all.
    #[default]
    None,
    /// RFC 1952, one member or several.
    Gzip,
    /// Raw snappy, or the framing of snappy-java ("xerial").
    Snappy,
    /// An LZ4 frame.
    Lz4,
    /// Zstandard frames.
    Zstd,
}

impl Codec {
    /// The codec of a batch's attributes; `None` for unknown ids.
    #[inline]
    pub const fn from_attributes(attributes: i16) -> Option<Self> {
        Some(match attributes & CODEC_MASK {
            0 => Self::None,
            1 => Self::Gzip,
            2 => Self::Snappy,
            3 => Self::Lz4,
            4 => Self::Zstd,
            _ => return None,
        })
    }

    /// Its bits in the attributes.
    #[inline]
    pub const fn attribute_bits(self) -> i16 {
        self as i16
    }

    /// The codec of a `compression.type`; `None` for "producer" and for unknown names.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd]
            .into_iter()
            .find(|codec| match codec {
                Self::None => matches!(name, "none" | "uncompressed"),
                codec => codec.name() == name,
            })
    }

    /// Kafka's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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
