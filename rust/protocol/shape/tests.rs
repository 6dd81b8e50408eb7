use std::borrow::Cow;

use super::super::error::WireError;
use super::super::reader::MAX_ELEMENTS;
use super::*;

/// `flexible { bool, timedelta, nullable compact [compact string], tag 1: { int16, tags } }`
const PROGRAM: &[u8] = &[1, 1, 3, 2, 3, 6, 3, 4, 2, 1, 0, 1, 7, 1, 1, 1, 2, 0];

fn shape() -> Shape {
    Shape::parse(PROGRAM).unwrap()
}

fn body(boolean: u8, timedelta: i64, rest: &[u8]) -> Vec<u8> {
    [&[boolean][..], &timedelta.to_be_bytes(), rest].concat()
}

#[test]
fn good_body_is_returned_as_it_is() {
    for rest in [&[0, 0][..], &[1, 0], &[3, 1, 2, b'a', 0], &[0, 1, 1, 3, 9, 9, 0]] {
        let body = body(1, 5, rest);
        assert!(
            matches!(shape().sanitize(&body), Ok(Cow::Borrowed(same)) if same == body),
            "{rest:x?}"
        );
    }
}

#[test]
fn every_truncation_and_every_extension_is_refused() {
    let body = body(1, 5, &[3, 1, 2, b'a', 1, 1, 3, 9, 9, 0]);
    assert!(shape().sanitize(&body).is_ok());
    for end in 0..body.len() {
        assert!(shape().sanitize(&body[..end]).is_err(), "{end}");
    }
    for more in [&[1][..], &[0, 0]] {
        assert_eq!(
            shape().sanitize(&[&body[..], more].concat()),
            Err(WireError::TrailingBytes)
        );
    }
}

#[test]
fn a_second_empty_list_of_tags_is_dropped() {
    let body = body(1, 5, &[3, 1, 2, b'a', 0]);
    let more = [&body[..], &[0]].concat();
    assert_eq!(shape().sanitize(&more).as_deref(), Ok(&body[..]));
}

#[test]
fn unknown_tags_are_dropped_at_every_level() {
    let cases: [(&[u8], &[u8]); 5] = [
        (&[0, 1, 0, 0], &[0, 0]),
        (&[0, 3, 0, 1, 7, 1, 3, 9, 9, 0, 2, 2, 7, 7], &[0, 1, 1, 3, 9, 9, 0]),
        (&[0, 1, 1, 8, 9, 9, 2, 0, 1, 7, 5, 0], &[0, 1, 1, 3, 9, 9, 0]),
        (
            &[0, 3, 0, 0, 1, 8, 9, 9, 2, 0, 1, 7, 5, 0, 9, 0],
            &[0, 1, 1, 3, 9, 9, 0],
        ),
        // A count and a size written longer than they need to be.
        (
            &[0, 0x82, 0, 0, 0, 1, 0x86, 0, 9, 9, 1, 4, 1, 7],
            &[0, 1, 1, 3, 9, 9, 0],
        ),
    ];
    for (rest, expected) in cases {
        assert_eq!(
            shape().sanitize(&body(0, -5, rest)).as_deref(),
            Ok(&body(0, -5, expected)[..]),
            "{rest:x?}"
        );
    }
}

#[test]
fn dropped_section_of_200_tags_shrinks_its_count_and_the_size_around_it() {
    let mut inner = vec![9, 9, 0xc8, 0x01];
    for tag in 0..200_u32 {
        inner.extend(if tag < 128 {
            vec![tag as u8]
        } else {
            vec![tag as u8 | 0x80, 1]
        });
        inner.push(0);
    }
    let size = inner.len();
    let mut rest = vec![0, 1, 1, size as u8 | 0x80, (size >> 7) as u8];
    rest.extend(inner);
    assert_eq!(
        shape().sanitize(&body(0, 0, &rest)).as_deref(),
        Ok(&body(0, 0, &[0, 1, 1, 3, 9, 9, 0])[..])
    );
}

#[test]
fn booleans_and_durations_become_what_the_decoder_can_hold() {
    let sane = |boolean, timedelta| {
        shape()
            .sanitize(&body(boolean, timedelta, &[0, 0]))
            .unwrap()
            .into_owned()
    };
    assert_eq!(sane(7, 5), body(1, 5, &[0, 0]));
    assert_eq!(sane(0, i64::MAX), body(0, MAX_TIMEDELTA_MS, &[0, 0]));
    assert_eq!(sane(2, i64::MIN), body(1, MIN_TIMEDELTA_MS, &[0, 0]));
}

#[test]
fn lengths_and_counts_beyond_the_bytes_are_refused() {
    for (rest, expected) in [
        (&[0xff, 0xff, 0xff, 0xff, 0x0f][..], WireError::CountTooLarge),
        (&[2, 9, 0], WireError::Truncated),
        (&[2, 0, 0], WireError::UnexpectedNull),
        (
            &[2, 2, 0xff, 0],
            WireError::InvalidUtf8 {
                length_at: 10,
                is_flexible: true,
            },
        ),
        (&[0, 0xff, 0xff, 0xff, 0xff, 0x0f], WireError::CountTooLarge),
        (&[0, 2, 1, 3, 9, 9, 0, 1, 3, 9, 9, 0], WireError::UnsortedTags),
        (&[0, 1, 1, 4, 9, 9, 0, 0], WireError::TagSizeMismatch),
        (&[0, 1, 1, 2, 9, 9], WireError::Truncated),
        (&[0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], WireError::VarintTooLong),
    ] {
        assert_eq!(shape().sanitize(&body(0, 0, rest)), Err(expected), "{rest:x?}");
    }
}

#[test]
fn elements_in_all_are_bounded() {
    let shape = Shape::parse(&[1, 0, 2, 6, 0, 1, 1, 6, 0, 1, 1]).unwrap();
    let array = |count: usize| [&(count as u32).to_be_bytes()[..], &vec![0; count]].concat();
    let half = MAX_ELEMENTS / 2;
    assert!(shape.sanitize(&[array(half), array(half)].concat()).is_ok());
    assert_eq!(
        shape.sanitize(&[array(half), array(half + 1)].concat()),
        Err(WireError::TooManyElements)
    );
}

#[test]
fn rows_in_all_are_bounded_and_eight_numbers_are_one() {
    let shape = Shape::parse(&[1, 0, 2, 6, 0, 4, 0, 6, 0, 1, 4])
        .unwrap()
        .with_max_rows(5);
    let body = |names: u32, numbers: u32| {
        let mut body = names.to_be_bytes().to_vec();
        body.extend([0, 0].repeat(names as usize));
        body.extend(numbers.to_be_bytes());
        body.extend([0; 4].repeat(numbers as usize));
        body
    };
    for (names, numbers, is_taken) in [
        (5, 0, true),
        (6, 0, false),
        (0, 40, true),
        (0, 41, false),
        (3, 16, true),
        (3, 17, false),
    ] {
        let expected = if is_taken { Ok(()) } else { Err(WireError::TooManyRows) };
        assert_eq!(
            shape.sanitize(&body(names, numbers)).map(drop),
            expected,
            "{names} {numbers}"
        );
    }
}

#[test]
fn nullable_struct_is_there_or_not() {
    let shape = Shape::parse(&[1, 0, 1, 8, 0, 1, 1, 2]).unwrap();
    assert!(shape.sanitize(&[0xff]).is_ok());
    assert!(shape.sanitize(&[1, 0, 0]).is_ok());
    assert_eq!(shape.sanitize(&[1, 0]), Err(WireError::Truncated));
    assert_eq!(shape.sanitize(&[0, 0, 0]), Err(WireError::InvalidValue));
}

#[test]
fn malformed_programs_are_refused() {
    let mut deep = vec![1, 0, 1];
    deep.extend([7, 0, 1].repeat(20));
    deep.push(2);
    for program in [
        &[][..],
        &[2, 0, 0],
        &[1, 2, 0],
        &[1, 0, 1, 0],
        &[1, 0, 1, 9],
        &[1, 0, 1, 1, 0],
        &[1, 0, 1, 1, 17],
        &[1, 0, 1, 4, 4],
        &[1, 0, 0, 0],
        &[1, 0, 1, 6, 0, 7, 0, 0],
        &[1, 1, 0, 2, 0, 1, 2, 0, 1, 2],
        &deep,
    ] {
        assert_eq!(Shape::parse(program), Err(WireError::BadProgram), "{program:x?}");
    }
    for end in 0..PROGRAM.len() {
        assert_eq!(Shape::parse(&PROGRAM[..end]), Err(WireError::BadProgram), "{end}");
    }
}
