//! A cursor over a request's bytes: every read is checked against the remaining bytes; nothing is copied or allocated.
//!
//! One reader serves both encodings of the protocol: `flexible` (KIP-482) has varint lengths and tagged fields, the
//! older has int16/int32 lengths. Ranges that it returns are positions in the slice given to [`Reader::new`].

use std::ops::Range;

use super::codec::put::MAX_STRING_BYTES;
use super::error::WireError;
use super::topic::{TopicId, TopicKey};

/// The most topics or partitions that a request of the data plane may name: while it is served, each takes some 500
/// bytes. Less than Kafka recommends for a whole cluster, and thirty times what it recommends for a broker.
pub const MAX_ROWS: usize = 1 << 17;

type Result<T> = std::result::Result<T, WireError>;

/// The cursor.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    flexible: bool,
    elements_left: usize,
}

impl<'a> Reader<'a> {
    /// A cursor at the start of `bytes`; `flexible` picks the encoding.
    pub fn new(bytes: &'a [u8], flexible: bool) -> Self {
        Self {
            bytes,
            at: 0,
            flexible,
            elements_left: usize::MAX,
        }
    }

    /// A cursor over a part of `bytes`, in the older encoding; an empty one when the part is not in it.
    pub fn within(bytes: &'a [u8], part: &Range<usize>) -> Self {
        let end = part.end.min(bytes.len());
        Self {
            bytes: &bytes[..end],
            at: part.start.min(end),
            flexible: false,
            elements_left: usize::MAX,
        }
    }

    /// With at most so many elements of all arrays together that are counted by [`Reader::elements`].
    #[must_use]
    pub fn with_limit(self, elements_left: usize) -> Self {
        Self { elements_left, ..self }
    }

    /// The position in the slice.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Whether lengths are varints and tagged fields follow each struct.
    pub fn is_flexible(&self) -> bool {
        self.flexible
    }

    /// Sets the encoding of the length fields that follow.
    pub fn set_flexible(&mut self, flexible: bool) {
        self.flexible = flexible;
    }

    /// `length` bytes as a range of the slice.
    #[inline]
    pub fn take(&mut self, length: usize) -> Result<Range<usize>> {
        if length > self.remaining() {
            return Err(WireError::Truncated);
        }
        let start = self.at;
        self.at += length;
        Ok(start..self.at)
    }

    /// `length` bytes as a slice.
    #[inline]
    pub fn slice(&mut self, length: usize) -> Result<&'a [u8]> {
        let range = self.take(length)?;
        Ok(&self.bytes[range])
    }

    /// The bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// A fixed number of bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let chunk = self
            .bytes
            .get(self.at..)
            .and_then(<[u8]>::first_chunk::<N>)
            .ok_or(WireError::Truncated)?;
        self.at += N;
        Ok(*chunk)
    }

    /// A boolean: any byte but 0 is true, as in Kafka.
    pub fn boolean(&mut self) -> Result<bool> {
        Ok(self.array::<1>()? != [0])
    }

    /// An int8.
    #[inline]
    pub fn i8(&mut self) -> Result<i8> {
        Ok(i8::from_be_bytes(self.array()?))
    }

    /// An int16.
    #[inline]
    pub fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    /// An int32.
    #[inline]
    pub fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// An int64.
    #[inline]
    pub fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// A UUID.
    #[inline]
    pub fn uuid(&mut self) -> Result<TopicId> {
        self.array()
    }

    /// An unsigned varint of at most five bytes and 32 bits.
    #[inline]
    pub fn unsigned_varint(&mut self) -> Result<u32> {
        let [first] = self.array()?;
        if first < 0x80 {
            return Ok(u32::from(first));
        }
        self.long_varint(u32::from(first & 0x7f))
    }

    fn long_varint(&mut self, mut value: u32) -> Result<u32> {
        for shift in [7, 14, 21] {
            let [byte] = self.array()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        let [last] = self.array()?;
        if last > 0x0f {
            return Err(WireError::VarintTooLong);
        }
        Ok(value | (u32::from(last) << 28))
    }

    /// The varint of a compact length: 0 is null, n + 1 is n.
    #[inline]
    pub fn compact_length(&mut self) -> Result<Option<usize>> {
        Ok((self.unsigned_varint()? as usize).checked_sub(1))
    }

    /// The int16 length of an older string: -1 is null.
    #[inline]
    pub fn legacy_string_length(&mut self) -> Result<Option<usize>> {
        match self.i16()? {
            -1 => Ok(None),
            length => usize::try_from(length).map(Some).map_err(|_| WireError::NegativeLength),
        }
    }

    /// The int32 length of older bytes and arrays: -1 is null.
    #[inline]
    pub fn legacy_length(&mut self) -> Result<Option<usize>> {
        match self.i32()? {
            -1 => Ok(None),
            length => usize::try_from(length).map(Some).map_err(|_| WireError::NegativeLength),
        }
    }

    /// The length of a string (`is_short`), of bytes or of an array; null is `None`.
    #[inline]
    pub fn length(&mut self, is_compact: bool, is_short: bool) -> Result<Option<usize>> {
        match (is_compact, is_short) {
            (true, _) => self.compact_length(),
            (false, true) => self.legacy_string_length(),
            (false, false) => self.legacy_length(),
        }
    }

    /// A nullable string; its range holds valid UTF-8 of at most 32767 bytes.
    #[inline]
    pub fn nullable_string(&mut self) -> Result<Option<Range<usize>>> {
        let text = self.nullable_str()?;
        Ok(text.map(|text| self.at - text.len()..self.at))
    }

    /// A nullable string as text instead of as a range.
    #[inline]
    pub fn nullable_str(&mut self) -> Result<Option<&'a str>> {
        let length_at = self.at;
        let length = self.length(self.flexible, true)?;
        match length {
            None => Ok(None),
            Some(length) => self.text(length_at, length).map(Some),
        }
    }

    /// A string that must not be null.
    #[inline]
    pub fn string(&mut self) -> Result<Range<usize>> {
        self.nullable_string()?.ok_or(WireError::UnexpectedNull)
    }

    /// A string that must not be null, as text.
    #[inline]
    pub fn str(&mut self) -> Result<&'a str> {
        self.nullable_str()?.ok_or(WireError::UnexpectedNull)
    }

    #[inline]
    fn text(&mut self, length_at: usize, length: usize) -> Result<&'a str> {
        if length > MAX_STRING_BYTES {
            return Err(if length > self.remaining() {
                WireError::Truncated
            } else {
                WireError::StringTooLong
            });
        }
        let range = self.take(length)?;
        std::str::from_utf8(&self.bytes[range]).map_err(|_| WireError::InvalidUtf8 {
            length_at: length_at as u32, // no request has 4 GiB
            is_flexible: self.flexible,
        })
    }

    /// Nullable bytes (records too).
    #[inline]
    pub fn nullable_bytes(&mut self) -> Result<Option<Range<usize>>> {
        let length = self.length(self.flexible, false)?;
        match length {
            None => Ok(None),
            Some(length) => self.take(length).map(Some),
        }
    }

    /// The count of a nullable array whose elements take at least `min_element_bytes` each: elements of the returned
    /// count fit the remaining bytes.
    #[inline]
    pub fn nullable_count(&mut self, min_element_bytes: usize) -> Result<Option<usize>> {
        let count = self.length(self.flexible, false)?;
        match count {
            Some(count) if count > self.remaining() / min_element_bytes.max(1) => Err(WireError::CountTooLarge),
            count => Ok(count),
        }
    }

    /// The count of an array that must not be null.
    #[inline]
    pub fn count(&mut self, min_element_bytes: usize) -> Result<usize> {
        self.nullable_count(min_element_bytes)?.ok_or(WireError::UnexpectedNull)
    }

    /// As [`Reader::nullable_count`], and the elements count towards the limit of the whole message.
    pub fn nullable_elements(&mut self, min_element_bytes: usize) -> Result<Option<usize>> {
        let count = self.nullable_count(min_element_bytes)?;
        let left = self.elements_left.checked_sub(count.unwrap_or_default());
        self.elements_left = left.ok_or(WireError::TooManyElements)?;
        Ok(count)
    }

    /// As [`Reader::count`], and the elements count towards the limit of the whole message.
    pub fn elements(&mut self, min_element_bytes: usize) -> Result<usize> {
        self.nullable_elements(min_element_bytes)?
            .ok_or(WireError::UnexpectedNull)
    }

    /// Nullable bytes as a slice instead of as a range.
    pub fn nullable_slice(&mut self) -> Result<Option<&'a [u8]>> {
        let found = self.nullable_bytes()?;
        Ok(found.map(|range| &self.bytes[range]))
    }

    /// Bytes that must not be null, as a slice.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        self.nullable_slice()?.ok_or(WireError::UnexpectedNull)
    }

    /// The marker of a nullable struct: whether the struct is there.
    pub fn is_there(&mut self) -> Result<bool> {
        match self.i8()? {
            -1 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError::InvalidValue),
        }
    }

    /// A topic by name or by id.
    #[inline]
    pub fn topic_key(&mut self, by_id: bool) -> Result<TopicKey> {
        if by_id {
            self.uuid().map(TopicKey::Id)
        } else {
            self.string().map(TopicKey::Name)
        }
    }

    /// Skips a tagged-field section whose tags are all unknown; does nothing in the older encoding.
    #[inline]
    pub fn skip_tags(&mut self) -> Result<()> {
        self.tags(|_, _| Ok(false))
    }

    /// Walks a tagged-field section; does nothing in the older encoding. `known(tag, reader)` reads the content of a
    /// tag that it knows and returns true (the content must then have exactly its declared size), or returns false
    /// without reading, and the tag is skipped.
    #[inline]
    pub fn tags(&mut self, known: impl FnMut(u32, &mut Reader<'a>) -> Result<bool>) -> Result<()> {
        if !self.flexible {
            return Ok(());
        }
        match self.unsigned_varint()? {
            0 => Ok(()),
            count => self.some_tags(count, known),
        }
    }

    #[cold]
    fn some_tags(&mut self, count: u32, mut known: impl FnMut(u32, &mut Reader<'a>) -> Result<bool>) -> Result<()> {
        if count as usize > self.remaining() / 2 {
            return Err(WireError::CountTooLarge);
        }
        let mut previous = None;
        for _ in 0..count {
            let tag = self.unsigned_varint()?;
            if previous.is_some_and(|previous| tag <= previous) {
                return Err(WireError::UnsortedTags);
            }
            previous = Some(tag);
            let size = self.unsigned_varint()? as usize;
            let content = self.take(size)?;
            let mut inner = Reader {
                bytes: &self.bytes[..content.end],
                at: content.start,
                flexible: true,
                elements_left: self.elements_left,
            };
            let read = known(tag, &mut inner);
            self.elements_left = inner.elements_left;
            match read {
                Ok(false) => {}
                Ok(true) if inner.remaining() == 0 => {}
                Ok(true) | Err(WireError::Truncated | WireError::CountTooLarge) => {
                    return Err(WireError::TagSizeMismatch);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
