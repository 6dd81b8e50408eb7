use super::*;

#[test]
fn varint_of_more_than_32_bits_is_refused() {
    for (bytes, expected) in [
        (&[0x00][..], Ok(0)),
        (&[0x7f], Ok(127)),
        (&[0x80, 0x01], Ok(128)),
        (&[0xff, 0xff, 0xff, 0xff, 0x0f], Ok(u32::MAX)),
        (&[0xff, 0xff, 0xff, 0xff, 0x10], Err(WireError::VarintTooLong)),
        (&[0x80; 11], Err(WireError::VarintTooLong)),
        (&[0x80, 0x80], Err(WireError::Truncated)),
        (&[], Err(WireError::Truncated)),
    ] {
        assert_eq!(Reader::new(bytes, true).unsigned_varint(), expected, "{bytes:x?}");
    }
}

fn not_text(is_flexible: bool) -> WireError {
    WireError::InvalidUtf8 {
        length_at: 0,
        is_flexible,
    }
}

#[test]
fn string_is_null_cut_negative_or_not_utf8() {
    for (flexible, bytes, expected) in [
        (false, &[0, 2, b'h', b'i'][..], Ok(Some(2..4))),
        (false, &[0xff, 0xff], Ok(None)),
        (false, &[0xff, 0xfe], Err(WireError::NegativeLength)),
        (false, &[0x7f, 0xff, 0], Err(WireError::Truncated)),
        (false, &[0, 1, 0xff], Err(not_text(false))),
        (true, &[3, b'h', b'i'], Ok(Some(1..3))),
        (true, &[0], Ok(None)),
        (true, &[0xff, 0xff, 0xff, 0xff, 0x0f], Err(WireError::Truncated)),
        (true, &[3, 0xc3, 0x28], Err(not_text(true))),
        (true, &[3, 0xc3, 0xa9], Ok(Some(1..3))),
    ] {
        assert_eq!(Reader::new(bytes, flexible).nullable_string(), expected, "{bytes:x?}");
    }
}

#[test]
fn string_above_32767_bytes_is_refused() {
    let mut bytes = vec![0x81, 0x80, 0x02]; // 32768 + 1
    bytes.resize(40_000, b'a');
    assert_eq!(Reader::new(&bytes, true).string(), Err(WireError::StringTooLong));
}

#[test]
fn count_fits_the_bytes_that_remain() {
    for (flexible, bytes, min, expected) in [
        (false, &[0, 0, 0, 2, 1, 1, 1, 1][..], 2, Ok(Some(2))),
        (false, &[0, 0, 0, 3, 1, 1, 1, 1], 2, Err(WireError::CountTooLarge)),
        (false, &[0x7f, 0xff, 0xff, 0xff], 0, Err(WireError::CountTooLarge)),
        (false, &[0xff, 0xff, 0xff, 0xff], 1, Ok(None)),
        (false, &[0x80, 0, 0, 0], 1, Err(WireError::NegativeLength)),
        (true, &[0], 1, Ok(None)),
        (true, &[1], 1, Ok(Some(0))),
        (true, &[0xff, 0xff, 0xff, 0xff, 0x0f], 1, Err(WireError::CountTooLarge)),
    ] {
        assert_eq!(Reader::new(bytes, flexible).nullable_count(min), expected, "{bytes:x?}");
    }
}

#[test]
fn tags_are_ascending_and_have_their_declared_size() {
    let read = |bytes: &[u8]| {
        let mut seen = Vec::new();
        let mut reader = Reader::new(bytes, true);
        let result = reader.tags(|tag, reader| {
            seen.push(tag);
            if tag == 1 {
                reader.i16().map(|_| true)
            } else {
                Ok(false)
            }
        });
        result.map(|()| (seen, reader.remaining()))
    };
    assert_eq!(read(&[0]), Ok((vec![], 0)));
    assert_eq!(read(&[2, 0, 1, 9, 1, 2, 0, 0, 7]), Ok((vec![0, 1], 1)));
    assert_eq!(read(&[2, 1, 2, 0, 0, 1, 2, 0, 0]), Err(WireError::UnsortedTags));
    assert_eq!(read(&[2, 3, 0, 1, 0]), Err(WireError::UnsortedTags));
    assert_eq!(read(&[1, 1, 1, 0]), Err(WireError::TagSizeMismatch));
    assert_eq!(read(&[1, 1, 3, 0, 0, 0]), Err(WireError::TagSizeMismatch));
    assert_eq!(read(&[1, 5, 3, 0]), Err(WireError::Truncated));
    assert_eq!(
        read(&[0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0]),
        Err(WireError::CountTooLarge)
    );
}
