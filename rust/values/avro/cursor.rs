//! The bytes of one value. Nothing is read beyond them.
//!
//! Source: Apache Avro 1.12 specification, "Binary encoding".

/// Why a value is no Avro of its schema.
pub(super) type AvroFault = &'static str;

const SHORT: AvroFault = "it ends too early";

pub(super) struct AvroCursor<'a>(pub(super) &'a [u8]);

impl<'a> AvroCursor<'a> {
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], AvroFault> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], AvroFault> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// A zigzag number of at most ten bytes.
    #[inline]
    pub(super) fn long(&mut self) -> Result<i64, AvroFault> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(SHORT)?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok((number >> 1) as i64 ^ -((number & 1) as i64));
            }
        }
        Err("a number is too long")
    }

    pub(super) fn int(&mut self) -> Result<i32, AvroFault> {
        i32::try_from(self.long()?).map_err(|_| "an int is too large")
    }

    pub(super) fn boolean(&mut self) -> Result<bool, AvroFault> {
        match self.array::<1>()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err("a boolean is neither 0 nor 1"),
        }
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], AvroFault> {
        let len = usize::try_from(self.long()?).map_err(|_| "a length is negative")?;
        self.take(len)
    }

    /// The items of the next block of an array or a map, 0 at its end. An item of no bytes costs its writer nothing, so
    /// there may not be more of them than `MAX_EMPTY_ITEMS`.
    pub(super) fn block(&mut self) -> Result<usize, AvroFault> {
        const MAX_EMPTY_ITEMS: usize = 4096;
        let mut count = self.long()?;
        if count < 0 {
            count = count.checked_neg().ok_or("a count is too large")?;
            self.long()?; // the block's bytes
        }
        let count = usize::try_from(count).map_err(|_| "a count is too large")?;
        if count > self.0.len().max(MAX_EMPTY_ITEMS) {
            return Err("a count is larger than what is left");
        }
        Ok(count)
    }
}
