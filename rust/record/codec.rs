//! The codecs of a batch, by their ids and names.

use std::fmt;

pub(super) const CODEC_MASK: i16 = 0x07;

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
