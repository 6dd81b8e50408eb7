use super::*;

fn first_string(bytes: &[u8], is_flexible: bool) -> Result<&str, WireError> {
    Reader::new(bytes, is_flexible).str()
}

#[test]
fn malformed_bytes_become_what_java_reads() {
    for (bytes, expected) in [
        (&b"caf\xe9"[..], "caf\u{fffd}"),
        (b"\xff\xfe", "\u{fffd}\u{fffd}"),
        (b"\xc3\x28", "\u{fffd}("),
        (b"\xf0\x80\x80", "\u{fffd}\u{fffd}\u{fffd}"),
        (b"\xf0\x90\x80", "\u{fffd}"),
        (b"\xed\xa0\x80\xed\xb0\x80", "\u{fffd}\u{fffd}"),
        (b"\xed\xa0A", "\u{fffd}A"),
        (b"\xed\xbf", "\u{fffd}"),
        (b"\xed\x9f\xbf", "\u{d7ff}"),
        (b"\xe1\xed\xa0\xed", "\u{fffd}\u{fffd}\u{fffd}"),
    ] {
        assert_eq!(lossy(bytes), expected, "{bytes:x?}");
    }
}

#[test]
fn string_is_mended_in_its_place_and_length() {
    for is_flexible in [false, true] {
        let mut bytes = vec![7; 3];
        let text = [&[b'a'; 60][..], b"\xff\xfe\xff"].concat();
        if is_flexible {
            bytes.push(64);
        } else {
            bytes.extend_from_slice(&63u16.to_be_bytes());
        }
        bytes.extend_from_slice(&text);
        bytes.extend_from_slice(b"after");
        let mut reader = Reader::within(&bytes, &(3..bytes.len()));
        reader.set_flexible(is_flexible);
        let error = reader.nullable_string().unwrap_err();
        let new = mended(&bytes, error).unwrap();
        assert!(new.starts_with(&[7; 3]) && new.ends_with(b"after"));
        let expected = format!("{}\u{fffd}\u{fffd}\u{fffd}", "a".repeat(60));
        assert_eq!(first_string(&new[3..], is_flexible), Ok(&*expected));
        assert_eq!(new.len(), bytes.len() + 6, "the length of 70 takes as many bytes");
    }
}

#[test]
fn string_that_is_too_long_then_and_other_errors_are_left() {
    let length = 20_000u16;
    let bytes = [&length.to_be_bytes()[..], &vec![0xff; length.into()]].concat();
    let error = first_string(&bytes, false).unwrap_err();
    assert_eq!(mended(&bytes, error), None);
    assert_eq!(mended(&bytes, WireError::Truncated), None);
}
