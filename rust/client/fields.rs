//! Fields of requests and answers whose versions have no tagged fields. The bytes of an answer are unchecked: every
//! read is bounded by the bytes that are left.

/// An answer that does not follow the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// Reads big-endian fields from the front of an answer.
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// Of the body of an answer.
    pub const fn new(answer: &'a [u8]) -> Self {
        Self(answer)
    }

    /// The next `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.bytes(N)?.try_into().map_err(|_| Malformed)
    }

    /// An `INT16`.
    pub fn i16(&mut self) -> Result<i16, Malformed> {
        self.array().map(i16::from_be_bytes)
    }

    /// An `INT32`.
    pub fn i32(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_be_bytes)
    }

    /// An `INT64`.
    pub fn i64(&mut self) -> Result<i64, Malformed> {
        self.array().map(i64::from_be_bytes)
    }

    /// A `BOOLEAN`.
    pub fn flag(&mut self) -> Result<bool, Malformed> {
        self.array().map(|[byte]| byte != 0)
    }

    /// A `STRING`; empty for a null one.
    pub fn string(&mut self) -> Result<String, Malformed> {
        let len = usize::try_from(self.i16()?).unwrap_or_default();
        Ok(String::from_utf8_lossy(self.bytes(len)?).into_owned())
    }

    /// A `RECORDS` field; empty for a null one.
    pub fn records(&mut self) -> Result<&'a [u8], Malformed> {
        let len = usize::try_from(self.i32()?).unwrap_or_default();
        self.bytes(len)
    }

    /// The length of an array; 0 for a null one. An element takes at least two bytes.
    pub fn count(&mut self) -> Result<usize, Malformed> {
        let count = usize::try_from(self.i32()?).unwrap_or_default();
        if count.saturating_mul(2) > self.0.len() {
            return Err(Malformed);
        }
        Ok(count)
    }

    /// An array of `INT32`.
    pub fn i32s(&mut self) -> Result<Vec<i32>, Malformed> {
        (0..self.count()?).map(|_| self.i32()).collect()
    }
}

/// Appends a `STRING`; false, and nothing is appended, when it is longer than one can be.
#[must_use]
pub fn push_string(bytes: &mut Vec<u8>, text: &str) -> bool {
    let Ok(len) = i16::try_from(text.len()) else {
        return false;
    };
    bytes.extend(len.to_be_bytes());
    bytes.extend(text.as_bytes());
    true
}

/// Appends the length of an array.
pub fn push_array(bytes: &mut Vec<u8>, len: usize) {
    bytes.extend((len as i32).to_be_bytes());
}
