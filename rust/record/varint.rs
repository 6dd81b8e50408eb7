//! Zig-zag variable-length integers, as records use them: seven bits a byte, least significant group first.
//!
//! ```text
//! varint  := { 0x80 | low7 }* low7      at most 5 bytes (varint) or 10 (varlong)
//! zigzag  := (n << 1) ^ (n >> 31)       the sign moves to the lowest bit
//! ```
//! Bits beyond the type's width in the last byte are dropped, and a longer form than needed is read: as Kafka does.

/// Most bytes of a 32-bit value.
const MAX_VARINT: usize = 5;
/// Most bytes of a 64-bit value.
const MAX_VARLONG: usize = 10;

/// Takes a zig-zag 32-bit value off the front; `None` (and the input moved anywhere) when truncated or too long.
#[inline]
pub fn read_varint(input: &mut &[u8]) -> Option<i32> {
    let raw = match **input {
        [low, ref rest @ ..] if low < 0x80 => {
            *input = rest;
            u32::from(low)
        }
        [low, high, ref rest @ ..] if high < 0x80 => {
            *input = rest;
            u32::from(low & 0x7f) | u32::from(high) << 7
        }
        _ => {
            let (raw, rest) = read_long_form(input, MAX_VARINT)?;
            *input = rest;
            raw as u32
        }
    };
    Some((raw >> 1) as i32 ^ -((raw & 1) as i32))
}

/// Takes a zig-zag 64-bit value off the front; `None` when truncated or too long.
#[inline]
pub fn read_varlong(input: &mut &[u8]) -> Option<i64> {
    let raw = match **input {
        [low, ref rest @ ..] if low < 0x80 => {
            *input = rest;
            u64::from(low)
        }
        [low, high, ref rest @ ..] if high < 0x80 => {
            *input = rest;
            u64::from(low & 0x7f) | u64::from(high) << 7
        }
        _ => {
            let (raw, rest) = read_long_form(input, MAX_VARLONG)?;
            *input = rest;
            raw
        }
    };
    Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
}

/// The rare form of three and more bytes, out of line to keep the callers small. It takes and returns the input by
/// value: a reference would force the callers' cursor out of the registers.
#[cold]
#[inline(never)]
fn read_long_form(input: &[u8], max_bytes: usize) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (index, &byte) in input.iter().take(max_bytes).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some((value, input.get(index + 1..)?));
        }
    }
    None
}

/// Appends a zig-zag 32-bit value.
#[inline]
pub(super) fn write_varint(value: i32, out: &mut Vec<u8>) {
    write_unsigned(u64::from((value as u32) << 1 ^ (value >> 31) as u32), out);
}

/// Appends a zig-zag 64-bit value.
#[inline]
pub(super) fn write_varlong(value: i64, out: &mut Vec<u8>) {
    write_unsigned((value as u64) << 1 ^ (value >> 63) as u64, out);
}

fn write_unsigned(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Bytes that [`write_varint`] appends.
#[inline]
pub(super) const fn size_of_varint(value: i32) -> usize {
    size_of_varlong(value as i64)
}

/// Bytes that [`write_varlong`] appends.
#[inline]
pub(super) const fn size_of_varlong(value: i64) -> usize {
    let zigzag = (value as u64) << 1 ^ (value >> 63) as u64;
    (70 - (zigzag | 1).leading_zeros() as usize) / 7
}
