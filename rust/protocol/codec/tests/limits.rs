use proptest::prelude::*;

use super::random::{self, Random};
use super::round_trip::read;
use crate::codec::decode::{Builder, MAX_ELEMENTS};
use crate::codec::table::{MESSAGES, Struct};
use crate::codec::{Limits, Value, ValueBuilder, decode, encode, table};
use crate::error::WireError;

/// Counts what a reader would make, and makes nothing.
struct Counting {
    items: usize,
    bytes: usize,
}

type Counted = Result<(), WireError>;

impl Builder for Counting {
    type Value = ();
    type Fields = ();
    type Items = ();
    type Error = WireError;

    fn null(&mut self) {}

    fn boolean(&mut self, _: bool) -> Counted {
        Ok(())
    }

    fn integer(&mut self, _: i64) -> Counted {
        Ok(())
    }

    fn float(&mut self, _: f64) -> Counted {
        Ok(())
    }

    fn text(&mut self, value: &str) -> Counted {
        self.bytes(value.as_bytes())
    }

    fn bytes(&mut self, value: &[u8]) -> Counted {
        self.bytes += value.len();
        Ok(())
    }

    fn uuid(&mut self, _: &[u8; 16]) -> Counted {
        Ok(())
    }

    fn default(&mut self, _: &'static Struct, _: usize) -> Counted {
        Ok(())
    }

    fn begin_struct(&mut self, _: &'static Struct) -> Counted {
        Ok(())
    }

    fn set(&mut self, (): &mut (), _: usize, (): ()) {}

    fn end_struct(&mut self, (): ()) -> Counted {
        Ok(())
    }

    fn begin_array(&mut self, count: usize) -> Counted {
        self.items += count;
        Ok(())
    }

    fn push(&mut self, (): &mut (), (): ()) {}

    fn end_array(&mut self, (): ()) -> Counted {
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn reader_of_any_bytes_makes_no_more_than_they_can_hold(
        bytes in proptest::collection::vec(any::<u8>(), 0..200), nth in 0..MESSAGES.len()
    ) {
        check(nth, &bytes)?;
    }

    #[test]
    fn reader_of_damaged_bytes_makes_no_more_than_they_can_hold(
        seed in 1_u64.., nth in 0..MESSAGES.len(), at in any::<prop::sample::Index>(), byte in any::<u8>()
    ) {
        let message = &MESSAGES[nth];
        for version in message.versions.first..=message.versions.last {
            let schema = message.schema(version).unwrap();
            let mut bytes = encode(schema, &random::structure(schema, 0, &mut Random(seed))).unwrap();
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            check(nth, &bytes)?;
        }
    }
}

fn check(nth: usize, bytes: &[u8]) -> Result<(), TestCaseError> {
    let message = &MESSAGES[nth];
    for version in message.versions.first..=message.versions.last {
        let schema = message.schema(version).unwrap();
        let mut counting = Counting { items: 0, bytes: 0 };
        let is_good = decode(schema, bytes, Limits::NONE, &mut counting).is_ok();
        // arrays in arrays may each claim the bytes that remain, but only as deep as the table is
        prop_assert!(counting.items <= bytes.len() * 8, "{} {version}", message.name);
        prop_assert!(counting.bytes <= bytes.len() * 3);
        if is_good {
            prop_assert!(counting.items <= bytes.len());
        }
        let value = read(schema, bytes);
        prop_assert_eq!(value.is_ok(), is_good);
        // what was read is written and read again as the same; NaN is not equal to itself
        if let Ok(value) = value
            && !format!("{value:?}").contains("NaN")
        {
            let again = encode(schema, &value).unwrap();
            prop_assert_eq!(read(schema, &again), Ok(value));
        }
    }
    Ok(())
}

/// `ListGroups` 4: the states, then the tags.
fn list_groups(body: &[u8]) -> Result<Value, WireError> {
    read(table::request(16).unwrap().schema(4).unwrap(), body)
}

#[test]
fn lengths_and_counts_beyond_the_bytes_are_refused() {
    for (body, expected) in [
        (&[0xff, 0xff, 0xff, 0xff, 0x0f, 0][..], WireError::CountTooLarge),
        (&[2, 9, 0], WireError::Truncated),
        (&[0, 0], WireError::UnexpectedNull),
        (&[2, 0, 0], WireError::UnexpectedNull),
        (&[0xff, 0xff, 0xff, 0xff, 0x1f, 0], WireError::VarintTooLong),
        (&[1, 0xff, 0xff, 0xff, 0xff, 0x0f], WireError::CountTooLarge),
        (&[1, 2, 5, 0, 5, 0], WireError::UnsortedTags),
        (&[1, 2, 5, 0, 4, 0], WireError::UnsortedTags),
        (&[1, 1, 5, 9, 0], WireError::Truncated),
        (&[1, 0, 0, 0], WireError::TrailingBytes),
    ] {
        assert_eq!(list_groups(body), Err(expected), "{body:x?}");
    }
}

#[test]
fn unknown_tags_and_a_second_empty_list_of_tags_are_dropped() {
    let plain = list_groups(&[2, 2, b'a', 0]).unwrap();
    assert_eq!(list_groups(&[2, 2, b'a', 2, 5, 1, 9, 7, 0]).as_ref(), Ok(&plain));
    assert_eq!(list_groups(&[2, 2, b'a', 0, 0]).as_ref(), Ok(&plain));
    // counts and sizes written longer than they need to be
    assert_eq!(
        list_groups(&[0x82, 0, 2, b'a', 0x81, 0, 5, 0x81, 0, 9]).as_ref(),
        Ok(&plain)
    );
}

#[test]
fn known_tag_of_a_wrong_size_or_given_twice_is_refused() {
    // ApiVersions response 3: error code, no keys, throttle time, tags; tag 1 is an int64, tag 3 a bool
    let body = |tags: &[u8]| [&[0, 0, 1, 0, 0, 0, 0][..], tags].concat();
    let schema = table::response(18).unwrap().schema(3).unwrap();
    assert!(read(schema, &body(&[1, 3, 1, 1])).is_ok());
    for (tags, expected) in [
        (&[1, 3, 2, 1, 1][..], WireError::TagSizeMismatch),
        (&[1, 3, 0], WireError::Truncated),
        (&[1, 1, 4, 0, 0, 0, 0], WireError::Truncated),
        (&[2, 3, 1, 1, 3, 1, 1], WireError::UnsortedTags),
    ] {
        assert_eq!(read(schema, &body(tags)), Err(expected), "{tags:?}");
    }
}

#[test]
fn bool_of_any_value_but_0_is_true() {
    // DescribeGroups 3: groups, whether operations are wanted
    let schema = table::request(15).unwrap().schema(3).unwrap();
    for (byte, is_true) in [(0, false), (1, true), (2, true), (0xff, true)] {
        let Ok(Value::Struct(fields)) = read(schema, &[0, 0, 0, 0, byte]) else {
            panic!()
        };
        assert_eq!(fields[1], Value::Bool(is_true));
    }
}

#[test]
fn string_that_is_not_utf8_is_read_as_java_reads_it() {
    for (bytes, text) in [
        (&b"a\xffb"[..], "a\u{fffd}b"),
        (b"\xed\xa0\x80b", "\u{fffd}b"),
        (b"\xed\xa0b", "\u{fffd}b"),
        (b"\xe2\x82", "\u{fffd}"),
    ] {
        let body = [&[2, bytes.len() as u8 + 1][..], bytes, &[0]].concat();
        let Ok(Value::Struct(fields)) = list_groups(&body) else {
            panic!()
        };
        assert_eq!(fields[0], Value::Array(vec![Value::Text(text.to_owned())]));
    }
    let body = [&[2, 0x81, 0x80, 1][..], &[0xff; 16 * 1024], &[0]].concat();
    assert_eq!(list_groups(&body), Err(WireError::StringTooLong));
    let body = [&[2, 0x81, 0x80, 2][..], &vec![b'a'; 32 * 1024], &[0]].concat();
    assert_eq!(list_groups(&body), Err(WireError::StringTooLong));
}

#[test]
fn nullable_struct_is_there_or_not() {
    // DescribeTopicPartitions: topics, limit, cursor, tags
    let schema = table::request(75).unwrap().schema(0).unwrap();
    let body = |cursor: &[u8]| [&[1, 0, 0, 0, 9][..], cursor, &[0]].concat();
    assert!(read(schema, &body(&[0xff])).is_ok());
    assert!(read(schema, &body(&[1, 2, b't', 0, 0, 0, 0, 0])).is_ok());
    for marker in [0, 2, 0xfe] {
        assert_eq!(
            read(schema, &body(&[marker, 2, b't', 0, 0, 0, 0, 0])),
            Err(WireError::InvalidValue)
        );
    }
}

#[test]
fn rows_in_all_are_bounded_and_eight_numbers_are_one() {
    // DeleteRecords 0 has topics with partitions that are structs; LeaveGroup and others take names
    let schema = table::request(35).unwrap().schema(1).unwrap(); // DescribeLogDirs: topics with numbers
    let body = |topics: u32, numbers: u32| {
        let mut body = topics.to_be_bytes().to_vec();
        for nth in 0..topics {
            let count = if nth == 0 { numbers } else { 0 };
            body.extend([0, 0]);
            body.extend(count.to_be_bytes());
            body.extend([0; 4].repeat(count as usize));
        }
        body
    };
    let read = |body: &[u8], max_rows| {
        let mut builder = ValueBuilder {
            message: schema.message,
        };
        decode(schema, body, Limits::of_body(Some(max_rows)), &mut builder).map(drop)
    };
    for (topics, numbers, is_taken) in [(5, 0, true), (6, 0, false), (1, 32, true), (1, 33, false)] {
        let expected = if is_taken { Ok(()) } else { Err(WireError::TooManyRows) };
        assert_eq!(read(&body(topics, numbers), 5), expected, "{topics} {numbers}");
    }
    let most = MAX_ELEMENTS as u32 - 1;
    assert_eq!(read(&body(1, most), usize::MAX), Ok(()));
    assert_eq!(read(&body(1, most + 1), usize::MAX), Err(WireError::TooManyElements));
}
