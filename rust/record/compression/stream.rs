//! Inflating piece by piece, so that a payload that is validated while it is inflated is never in memory as a whole.
//!
//! A [`Source`] yields the inflated bytes of one payload in order. Its own memory is bounded by the codec's unit: a
//! zstd frame's window (32 MB at most), an LZ4 block (4 MB), a snappy block (32 times its bytes), the 32 KB of gzip.

use std::io::Read;

use flate2::bufread::GzDecoder;
use zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

use super::{Stop, gzip, lz4, snappy};
use crate::BatchError;
use crate::codec::Codec;

/// The largest window of a zstd frame: level 20 of 22 writes 32 MB.
const ZSTD_WINDOW_LOG_MAX: u32 = 25;
/// `ZSTD_error_frameParameter_windowTooLarge`, which libzstd gives negated.
const ZSTD_WINDOW_TOO_LARGE: usize = 16;

/// The inflated bytes of one payload, in order.
pub(crate) struct Source<'a> {
    codec: Codec,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Plain(&'a [u8]),
    Gzip(Option<Box<GzDecoder<&'a [u8]>>>),
    Zstd {
        context: Box<DCtx<'static>>,
        input: InBuffer<'a>,
        is_whole: bool,
    },
    /// For the codecs with blocks: the inflated block and how much of it was read.
    Blocks {
        next: Blocks<'a>,
        block: Vec<u8>,
        given: usize,
    },
}

enum Blocks<'a> {
    Lz4(lz4::Blocks<'a>),
    Snappy(snappy::Blocks<'a>),
}

impl<'a> Source<'a> {
    /// Over a payload.
    pub(crate) fn new(codec: Codec, src: &'a [u8]) -> Result<Self, BatchError> {
        let blocks = |next| Kind::Blocks {
            next,
            block: Vec::new(),
            given: 0,
        };
        let kind = match codec {
            Codec::None => Ok(Kind::Plain(src)),
            Codec::Gzip => Ok(Kind::Gzip(Some(Box::new(GzDecoder::new(src))))),
            Codec::Snappy => Ok(blocks(Blocks::Snappy(snappy::Blocks::new(src)))),
            Codec::Lz4 => lz4::Blocks::new(src).map(|next| blocks(Blocks::Lz4(next))),
            Codec::Zstd => zstd_source(src),
        };
        let kind = kind.map_err(|stop| failed(codec, stop))?;
        Ok(Self { codec, kind })
    }

    /// Fills the front of `out`; 0 is the end.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize, BatchError> {
        let codec = self.codec;
        self.kind.read(out).map_err(|stop| failed(codec, stop))
    }
}

fn failed(codec: Codec, stop: Stop) -> BatchError {
    match stop {
        Stop::Corrupt(reason) => BatchError::Inflate { codec, reason },
        Stop::Limit => BatchError::InflateLimit { limit: usize::MAX },
        Stop::Window => BatchError::InflateWindow,
    }
}

fn zstd_source(src: &[u8]) -> Result<Kind<'_>, Stop> {
    let mut context = Box::new(DCtx::create());
    context
        .set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))
        .map_err(|_| Stop::Corrupt("no context"))?;
    Ok(Kind::Zstd {
        context,
        input: InBuffer::around(src),
        is_whole: true,
    })
}

impl Kind<'_> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, Stop> {
        match self {
            Self::Plain(rest) => Ok(rest.read(out).unwrap_or(0)),
            Self::Gzip(member) => read_gzip(member, out),
            Self::Zstd {
                context,
                input,
                is_whole,
            } => read_zstd(context, input, is_whole, out),
            Self::Blocks { next, block, given } => {
                while *given == block.len() {
                    block.clear();
                    *given = 0;
                    let has_more = match next {
                        Blocks::Lz4(blocks) => blocks.inflate_next(usize::MAX, block)?,
                        Blocks::Snappy(blocks) => blocks.inflate_next(usize::MAX, block)?,
                    };
                    if !has_more {
                        return Ok(0);
                    }
                }
                let count = out.len().min(block.len() - *given);
                out[..count].copy_from_slice(&block[*given..*given + count]);
                *given += count;
                Ok(count)
            }
        }
    }
}

fn read_gzip(member: &mut Option<Box<GzDecoder<&[u8]>>>, out: &mut [u8]) -> Result<usize, Stop> {
    while let Some(decoder) = member {
        match decoder.read(out) {
            Err(_) => return Err(gzip::DAMAGED),
            Ok(0) => {
                // As in Java's reader, bytes behind a member that are no member are ignored.
                let rest = *decoder.get_ref();
                *member = gzip::starts_member(rest).then(|| Box::new(GzDecoder::new(rest)));
            }
            Ok(count) => return Ok(count),
        }
    }
    Ok(0)
}

/// The stop for an error of libzstd. A frame that needs too large a window is valid, so it gets [`Stop::Window`]: the
/// client may split the batch.
fn stop_of_zstd(code: usize) -> Stop {
    if code == ZSTD_WINDOW_TOO_LARGE.wrapping_neg() {
        Stop::Window
    } else {
        Stop::Corrupt("the zstd frame is damaged")
    }
}

fn read_zstd(
    context: &mut DCtx<'static>,
    input: &mut InBuffer<'_>,
    is_whole: &mut bool,
    out: &mut [u8],
) -> Result<usize, Stop> {
    while !(*is_whole && input.pos == input.src.len()) {
        let mut output = OutBuffer::around(&mut *out);
        let hint = context.decompress_stream(&mut output, input).map_err(stop_of_zstd)?;
        let count = output.pos();
        *is_whole = hint == 0;
        if count > 0 {
            return Ok(count);
        }
        if input.pos == input.src.len() && !*is_whole {
            return Err(Stop::Corrupt("the zstd frame is cut short"));
        }
    }
    Ok(0)
}
