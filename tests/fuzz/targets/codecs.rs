//! The codecs, each as a batch's payload reaches it.

use record::{BatchError, Codec, compress, decompress};

use super::take::Take;

/// Bytes that a payload may inflate to.
const LIMITS: [usize; 4] = [0, 100, 64 << 10, 1 << 20];
/// Memory beside the limit: what a codec asks for before it knows more.
const SLACK_BYTES: usize = 64 << 10;

/// A limit, a level, and a payload of gzip.
pub fn gzip(data: &[u8]) {
    codec(Codec::Gzip, data);
}

/// The same of snappy.
pub fn snappy(data: &[u8]) {
    codec(Codec::Snappy, data);
}

/// The same of lz4.
pub fn lz4(data: &[u8]) {
    codec(Codec::Lz4, data);
}

/// The same of zstd.
pub fn zstd(data: &[u8]) {
    codec(Codec::Zstd, data);
}

fn inflated(codec: Codec, bytes: &[u8], limit: usize) -> Result<Vec<u8>, BatchError> {
    let mut out = Vec::new();
    let done = decompress(codec, bytes, limit, &mut out);
    assert!(out.len() <= limit.saturating_add(1), "{} bytes of {limit}", out.len());
    assert!(
        out.capacity() <= SLACK_BYTES + 4 * limit,
        "{} bytes of memory",
        out.capacity()
    );
    done.map(|()| out)
}

fn codec(codec: Codec, data: &[u8]) {
    let mut take = Take(data);
    let (limit, level) = (take.one(&LIMITS), take.byte() as i8);
    if let Ok(plain) = inflated(codec, take.0, limit) {
        assert!(plain.len() <= limit);
        assert_eq!(
            inflated(codec, take.0, plain.len()).as_ref(),
            Ok(&plain),
            "the limit is exact"
        );
        if let Some(limit) = plain.len().checked_sub(1) {
            assert_eq!(inflated(codec, take.0, limit), Err(BatchError::InflateLimit { limit }));
        }
        round_trip(codec, None, &plain);
    }
    // high levels of zstd take megabytes for a few bytes
    round_trip(codec, Some(i32::from(level.clamp(-20, 9))), take.0);
}

fn round_trip(codec: Codec, level: Option<i32>, plain: &[u8]) {
    let mut packed = Vec::new();
    assert_eq!(compress(codec, level, plain, &mut packed), Ok(()));
    assert_eq!(inflated(codec, &packed, plain.len()).as_deref(), Ok(plain));
}
