//! The pieces that every writer puts together: lengths, varints, strings.

use crate::codec::table::Kind;

/// The longest string of the protocol, with either kind of length.
pub const MAX_STRING_BYTES: usize = i16::MAX as usize;
/// The marker of a nullable struct that is null.
pub const NULL_STRUCT: u8 = 0xff;
/// The marker of a nullable struct that is there.
pub const STRUCT: u8 = 1;

/// An unsigned varint.
#[inline]
pub fn varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A length or a count, `None` for null. The caller has checked that it fits: 32767 where it is short, else 2^31 - 2.
#[inline]
pub fn length(out: &mut Vec<u8>, length: Option<usize>, is_compact: bool, is_short: bool) {
    if is_compact {
        varint(out, length.map_or(0, |length| length as u32 + 1));
    } else if is_short {
        out.extend_from_slice(&length.map_or(-1, |length| length as i16).to_be_bytes());
    } else {
        out.extend_from_slice(&length.map_or(-1, |length| length as i32).to_be_bytes());
    }
}

/// The longest beginning of a text that a string can hold; it ends between two characters.
pub fn cut(text: &str) -> &str {
    if text.len() <= MAX_STRING_BYTES {
        return text;
    }
    &text[..text.floor_char_boundary(MAX_STRING_BYTES)]
}

/// A number of one of the kinds of integers; false, and nothing written, when it does not fit or the kind is another.
#[inline]
pub fn integer(out: &mut Vec<u8>, kind: Kind, value: i64) -> bool {
    fn put<const N: usize, T>(out: &mut Vec<u8>, value: Result<T, impl Sized>, bytes: fn(T) -> [u8; N]) -> bool {
        value.is_ok_and(|value| {
            out.extend_from_slice(&bytes(value));
            true
        })
    }
    match kind {
        Kind::Int8 => put(out, i8::try_from(value), i8::to_be_bytes),
        Kind::Int16 | Kind::ErrorCode => put(out, i16::try_from(value), i16::to_be_bytes),
        Kind::UInt16 => put(out, u16::try_from(value), u16::to_be_bytes),
        Kind::Int32 => put(out, i32::try_from(value), i32::to_be_bytes),
        Kind::UInt32 => put(out, u32::try_from(value), u32::to_be_bytes),
        Kind::Int64 => {
            out.extend_from_slice(&value.to_be_bytes());
            true
        }
        _ => false,
    }
}
