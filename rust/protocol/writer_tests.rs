use super::super::reader::Reader;
use super::*;

#[test]
fn varint_round_trips() {
    for value in [
        0,
        1,
        127,
        128,
        16_383,
        16_384,
        2_097_151,
        2_097_152,
        268_435_455,
        268_435_456,
        u32::MAX,
    ] {
        let mut out = Vec::new();
        Writer::new(&mut out, true).unsigned_varint(value);
        let mut reader = Reader::new(&out, true);
        assert_eq!(reader.unsigned_varint(), Ok(value));
        assert_eq!(reader.remaining(), 0);
    }
}

#[test]
fn tag_puts_the_size_before_content_of_any_length() {
    for length in [0, 1, 127, 128, 20_000] {
        let mut out = vec![9];
        Writer::new(&mut out, true).tag(3, |w| w.raw(&vec![7; length]));
        let mut reader = Reader::new(&out[1..], true);
        assert_eq!(reader.unsigned_varint(), Ok(3));
        assert_eq!(reader.unsigned_varint(), Ok(length as u32));
        assert!(out[1 + reader.position()..].iter().all(|byte| *byte == 7));
        assert_eq!(reader.remaining(), length);
    }
}

#[test]
fn string_above_the_limit_is_cut_at_a_character() {
    let text = "é".repeat(20_000);
    for flexible in [false, true] {
        let mut out = Vec::new();
        Writer::new(&mut out, flexible).string(&text);
        let range = Reader::new(&out, flexible).string().unwrap();
        assert_eq!(range.len(), 32_766);
    }
}
