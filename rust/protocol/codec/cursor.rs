//! A cursor over bytes: every read is checked against the bytes that remain; nothing is copied or allocated.

use crate::codec::malformed::Malformed;

type Result<T> = std::result::Result<T, Malformed>;

/// The cursor. What is not read yet is all that it has.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    /// An unsigned varint of at most five bytes and 32 bits.
    #[inline]
    pub fn varint(&mut self) -> Result<u32> {
        let [first] = *self.array()?;
        if first < 0x80 {
            return Ok(u32::from(first));
        }
        let mut value = u32::from(first & 0x7f);
        for shift in [7, 14, 21] {
            let [byte] = *self.array()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        let [last] = *self.array()?;
        if last > 0x0f {
            return Err(Malformed::VarintTooLong);
        }
        Ok(value | (u32::from(last) << 28))
    }

    /// A length that is a varint (0 is null, n + 1 is n), or an int16 or int32 (-1 is null).
    #[inline]
    pub fn length(&mut self, is_compact: bool, is_short: bool) -> Result<Option<usize>> {
        if is_compact {
            return Ok((self.varint()? as usize).checked_sub(1));
        }
        let length = if is_short {
            i32::from(i16::from_be_bytes(*self.array()?))
        } else {
            i32::from_be_bytes(*self.array()?)
        };
        match length {
            -1 => Ok(None),
            length => usize::try_from(length).map(Some).map_err(|_| Malformed::NegativeLength),
        }
    }
}
