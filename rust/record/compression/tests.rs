//! Each codec both ways, its bounds, and the streams of other writers.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use base::error::ErrorCode;

const CODECS: [Codec; 4] = [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

fn packed(codec: Codec, plain: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    compress(codec, None, plain, &mut out).unwrap();
    out
}

fn inflated(codec: Codec, bytes: &[u8], limit: usize) -> Result<Vec<u8>, BatchError> {
    let mut out = Vec::new();
    decompress(codec, bytes, limit, &mut out).map(|()| out)
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

proptest! {
    #[test]
    fn codecs_give_back_what_they_took(seed in vec(any::<u8>(), 0..300), times in 0usize..1500, level in -5i32..25) {
        let plain = seed.repeat(times);
        for codec in CODECS {
            let mut bytes = b"before".to_vec();
            compress(codec, Some(level), &plain, &mut bytes).unwrap();
            let mut out = b"kept".to_vec();
            decompress(codec, &bytes[6..], plain.len(), &mut out).unwrap();
            prop_assert!(out[4..] == plain && out.starts_with(b"kept") && bytes.starts_with(b"before"), "{}", codec);
        }
    }

    #[test]
    fn noise_comes_back_whole(plain in vec(any::<u8>(), 0..5_000)) {
        for codec in CODECS {
            prop_assert_eq!(&inflated(codec, &packed(codec, &plain), plain.len()).unwrap(), &plain);
        }
    }
}

#[test]
fn the_limit_is_exact() {
    for plain in [vec![0u8; 1 << 20], (0..=255).cycle().take(70_000).collect()] {
        for codec in CODECS.into_iter().chain([Codec::None]) {
            let bytes = packed(codec, &plain);
            assert_eq!(inflated(codec, &bytes, plain.len()).as_ref(), Ok(&plain), "{codec}");
            let limit = plain.len() - 1;
            assert_eq!(
                inflated(codec, &bytes, limit),
                Err(BatchError::InflateLimit { limit }),
                "{codec}"
            );
        }
    }
}

#[test]
fn a_bomb_takes_no_more_memory_than_the_limit() {
    let bomb = vec![0u8; 64 << 20];
    for codec in CODECS {
        let bytes = packed(codec, &bomb);
        let mut out = Vec::new();
        let limit = 100_000;
        assert_eq!(
            decompress(codec, &bytes, limit, &mut out),
            Err(BatchError::InflateLimit { limit }),
            "{codec}"
        );
        assert!(out.capacity() <= 4 * limit, "{codec} took {}", out.capacity());
    }
}

#[test]
fn a_false_declared_size_allocates_no_memory() {
    // Raw snappy that declares 4 GB − 1.
    let mut out = Vec::new();
    assert!(decompress(Codec::Snappy, &[0xff, 0xff, 0xff, 0xff, 0x0f, 0], usize::MAX, &mut out).is_err());
    assert!(out.capacity() < 1024);
}

#[test]
fn cut_streams_are_refused_at_every_byte() {
    let plain: Vec<u8> = (0..2_000u32).flat_map(|i| (i * 7919).to_le_bytes()).collect();
    for codec in CODECS {
        let bytes = packed(codec, &plain);
        for cut in 1..bytes.len() {
            let read = inflated(codec, &bytes[..cut], plain.len());
            assert!(
                read.is_err() || read.is_ok_and(|it| it.len() < plain.len()),
                "{codec} cut at {cut}"
            );
        }
    }
}

#[test]
fn gzip_reads_several_members_and_ignores_what_follows_them() {
    let bytes = [
        packed(Codec::Gzip, b"one "),
        packed(Codec::Gzip, b"two"),
        b"rest".to_vec(),
    ]
    .concat();
    assert_eq!(inflated(Codec::Gzip, &bytes, 7).unwrap(), b"one two");
    assert_eq!(
        inflated(Codec::Gzip, &bytes, 6),
        Err(BatchError::InflateLimit { limit: 6 })
    );
}

#[test]
fn zstd_reads_several_frames() {
    let bytes = [packed(Codec::Zstd, b"one "), packed(Codec::Zstd, b"two")].concat();
    assert_eq!(inflated(Codec::Zstd, &bytes, 7).unwrap(), b"one two");
}

#[test]
fn zstd_reads_a_frame_that_does_not_tell_its_size() {
    use std::io::Write;
    let plain: Vec<u8> = (0..300_000u32).flat_map(|i| (i / 3).to_le_bytes()).collect();
    let mut encoder = zstd_stream(Vec::new());
    encoder.write_all(&plain).unwrap();
    let bytes = encoder.finish().unwrap();
    assert_eq!(inflated(Codec::Zstd, &bytes, plain.len()).unwrap(), plain);
    assert!(inflated(Codec::Zstd, &bytes, plain.len() - 1).is_err());
}

fn zstd_stream(out: Vec<u8>) -> ::zstd::stream::write::Encoder<'static, Vec<u8>> {
    ::zstd::stream::write::Encoder::new(out, 1).unwrap()
}

#[test]
fn snappy_reads_raw_blocks_as_librdkafka_writes_them() {
    let raw = snap::raw::Encoder::new().compress_vec(b"hello hello hello").unwrap();
    assert_eq!(inflated(Codec::Snappy, &raw, 17).unwrap(), b"hello hello hello");
}

#[test]
fn snappy_is_written_with_the_framing_in_blocks_of_32_kb() {
    let bytes = packed(Codec::Snappy, &vec![7; 32 * 1024 + 1]);
    assert_eq!(bytes[..16], hex("82534e41505059000000000100000001"));
    let first = u32::from_be_bytes([bytes[16], bytes[17], bytes[18], bytes[19]]) as usize;
    assert_eq!(snap::raw::decompress_len(&bytes[20..20 + first]).unwrap(), 32 * 1024);
}

#[test]
fn snappy_streams_may_be_joined() {
    let bytes = [packed(Codec::Snappy, b"one "), packed(Codec::Snappy, b"two")].concat();
    assert_eq!(inflated(Codec::Snappy, &bytes, 7).unwrap(), b"one two");
}

// Kafka's Java reader refuses linked blocks.
#[test]
fn lz4_frames_are_of_independent_blocks_without_checksums() {
    let bytes = packed(Codec::Lz4, &vec![7; 200_000]);
    assert_eq!(bytes[..7], hex("04224d18604082"));
    assert_eq!(bytes[bytes.len() - 4..], [0; 4]);
}

#[test]
fn lz4_matches_the_librarys_own_frames() {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
    use std::io::{Read, Write};
    let plain: Vec<u8> = (0..100_000u32).flat_map(|i| (i / 5).to_le_bytes()).collect();
    let mut read = Vec::new();
    FrameDecoder::new(&packed(Codec::Lz4, &plain)[..])
        .read_to_end(&mut read)
        .unwrap();
    assert_eq!(read, plain);
    for (has_checksums, size) in [
        (false, BlockSize::Max64KB),
        (true, BlockSize::Max256KB),
        (true, BlockSize::Max4MB),
    ] {
        let info = FrameInfo::new()
            .block_mode(BlockMode::Independent)
            .block_size(size)
            .block_checksums(has_checksums)
            .content_checksum(has_checksums)
            .content_size(has_checksums.then_some(plain.len() as u64));
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(&plain).unwrap();
        let bytes = encoder.finish().unwrap();
        assert_eq!(inflated(Codec::Lz4, &bytes, plain.len()).as_ref(), Ok(&plain));
    }
}

fn linked_lz4(plain: &[u8]) -> Vec<u8> {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    use std::io::Write;
    let info = FrameInfo::new()
        .block_mode(BlockMode::Linked)
        .block_size(BlockSize::Max64KB)
        .content_checksum(true);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// Kafka's reader refuses linked blocks and looks at nothing behind the first frame; librdkafka's takes both.
#[test]
fn lz4_of_other_libraries_is_read_but_does_not_pass_a_check() {
    let plain: Vec<u8> = (0..100_000u32).flat_map(|i| (i / 5 * 7).to_le_bytes()).collect();
    let linked = linked_lz4(&plain);
    assert_eq!(inflated(Codec::Lz4, &linked, plain.len()).as_ref(), Ok(&plain));
    assert!(inflated(Codec::Lz4, &linked, plain.len() - 1).is_err());
    assert!(Source::new(Codec::Lz4, &linked).is_err());
    let two = [
        linked.clone(),
        packed(Codec::Lz4, &plain),
        linked.clone(),
        b"more".to_vec(),
    ]
    .concat();
    assert_eq!(inflated(Codec::Lz4, &two, 3 * plain.len()), Ok(plain.repeat(3)));
    let limit = inflated(Codec::Lz4, &two, 3 * plain.len() - 1);
    assert!(matches!(limit, Err(BatchError::InflateLimit { .. })), "{limit:?}");
    let damaged = [linked.clone(), linked[..linked.len() - 1].to_vec()].concat();
    assert!(inflated(Codec::Lz4, &damaged, 2 * plain.len()).is_err());
    let (mut source, mut first) = (Source::new(Codec::Lz4, &two[linked.len()..]).unwrap(), Vec::new());
    let mut buffer = [0; 5000];
    while let count @ 1.. = source.read(&mut buffer).unwrap() {
        first.extend_from_slice(&buffer[..count]);
    }
    assert_eq!(first, plain, "one frame");
}

#[test]
fn names_are_kafkas() {
    for (name, codec) in [
        ("none", Codec::None),
        ("uncompressed", Codec::None),
        ("gzip", Codec::Gzip),
        ("zstd", Codec::Zstd),
    ] {
        assert_eq!(Codec::from_name(name), Some(codec));
    }
    assert_eq!(Codec::from_name("producer"), None);
    assert_eq!(Codec::from_attributes(0x7ff8 | 3), Some(Codec::Lz4));
    assert_eq!(Codec::from_attributes(5), None);
}

/// A frame by RFC 8878: a window descriptor, then the payload as it is in one block.
fn zstd_frame(window_log: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, (window_log - 10) << 3];
    let block = (u32::try_from(payload.len()).unwrap() << 3) | 1;
    frame.extend_from_slice(&block.to_le_bytes()[..3]);
    frame.extend_from_slice(payload);
    frame
}

/// Clients split a batch on this error; `UNKNOWN_SERVER_ERROR` told them nothing.
#[test]
fn zstd_frame_with_a_window_beyond_the_limit_is_too_large_and_not_damaged() {
    let mut out = [0; 16];
    let mut read = |frame: &[u8]| Source::new(Codec::Zstd, frame)?.read(&mut out);
    assert_eq!(read(&zstd_frame(25, b"payload")), Ok(7));
    let refused = read(&zstd_frame(27, b"payload")).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::MESSAGE_TOO_LARGE);
    assert!(refused.to_string().contains("window"), "{refused}");
}

/// Found by fuzzing (docs/internals/fuzzing.md): each thread that met such a frame kept 128 MB.
#[test]
fn memory_for_a_large_window_of_zstd_is_not_kept() {
    assert_eq!(
        inflated(Codec::Zstd, &zstd_frame(27, b"payload"), 100),
        Ok(b"payload".to_vec())
    );
    assert!(zstd::kept_bytes() < 32 << 20, "{} bytes", zstd::kept_bytes());
}
