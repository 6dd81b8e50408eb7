//! One walk over a body. It reads forward once, and copies the body only from the first edit on:
//!
//! `out` holds the result of `body[..copied]`, and nothing was changed while `copied` is 0. An edit first copies the
//! bytes between `copied` and the edit. When the content of a tagged section or a tagged field has changed, its count
//! or size is rewritten in `out` afterwards, when `out` ends with it. The result is never longer than the body.

use std::borrow::Cow;
use std::mem;
use std::ops::Range;

use super::super::error::WireError;
use super::super::reader::{MAX_ELEMENTS, Reader};
use super::super::writer::Writer;
use super::program::{Field, Flags, Struct};

/// The most milliseconds that the decoder's durations hold: it counts microseconds in 64 bits, some 292,000 years.
pub const MAX_TIMEDELTA_MS: i64 = i64::MAX / 1000;
/// The least number of milliseconds that the decoder's durations hold.
pub const MIN_TIMEDELTA_MS: i64 = -MAX_TIMEDELTA_MS;

/// How many numbers of an array count as one row.
const NUMBERS_A_ROW: usize = 8;

type Result<T> = std::result::Result<T, WireError>;

pub(super) struct Walk<'a> {
    body: &'a [u8],
    reader: Reader<'a>,
    out: Vec<u8>,
    copied: usize,
    elements: usize,
    rows: usize,
    max_rows: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(body: &'a [u8], max_rows: usize) -> Self {
        Self {
            body,
            reader: Reader::new(body, false),
            out: Vec::new(),
            copied: 0,
            elements: 0,
            rows: 0,
            max_rows,
        }
    }

    pub(super) fn run(mut self, root: &Struct) -> Result<Cow<'a, [u8]>> {
        self.walk_struct(root)?;
        let end = self.body.len() - self.reader.remaining();
        match &self.body[end..] {
            [] => {}
            // librdkafka ends AlterUserScramCredentials with a second, empty list of tags
            [0] if root.flexible => {}
            _ => return Err(WireError::TrailingBytes),
        }
        if self.copied == 0 {
            return Ok(Cow::Borrowed(&self.body[..end]));
        }
        self.copy_to(end);
        Ok(Cow::Owned(self.out))
    }

    fn walk_struct(&mut self, shape: &Struct) -> Result<()> {
        for field in &shape.fields {
            self.walk_field(field)?;
        }
        if shape.flexible { self.walk_tags(shape) } else { Ok(()) }
    }

    fn walk_field(&mut self, field: &Field) -> Result<()> {
        match field {
            Field::Fixed(width) => self.reader.take(*width).map(drop),
            Field::Bool => self.walk_bool(),
            Field::Timedelta => self.walk_timedelta(),
            Field::String(flags) => {
                self.reader.set_flexible(flags.compact);
                let text = self.reader.nullable_string()?;
                if text.is_none() && !flags.nullable {
                    Err(WireError::UnexpectedNull)
                } else {
                    Ok(())
                }
            }
            Field::Bytes(flags) => {
                self.reader.set_flexible(flags.compact);
                let bytes = self.reader.nullable_bytes()?;
                if bytes.is_none() && !flags.nullable {
                    Err(WireError::UnexpectedNull)
                } else {
                    Ok(())
                }
            }
            Field::Array {
                flags,
                element,
                min_element_bytes,
            } => self.walk_array(*flags, element, *min_element_bytes),
            Field::Struct(inner) => self.walk_struct(inner),
            Field::NullableStruct(inner) => match self.reader.i8()? {
                -1 => Ok(()),
                1 => self.walk_struct(inner),
                _ => Err(WireError::InvalidValue),
            },
        }
    }

    fn walk_bool(&mut self) -> Result<()> {
        let start = self.reader.position();
        let [value] = self.reader.array()?;
        if value > 1 {
            self.replace(start..start + 1, &[1]);
        }
        Ok(())
    }

    fn walk_timedelta(&mut self) -> Result<()> {
        let start = self.reader.position();
        let value = self.reader.i64()?;
        let clamped = value.clamp(MIN_TIMEDELTA_MS, MAX_TIMEDELTA_MS);
        if clamped != value {
            self.replace(start..start + size_of::<i64>(), &clamped.to_be_bytes());
        }
        Ok(())
    }

    fn walk_array(&mut self, flags: Flags, element: &Field, min_element_bytes: usize) -> Result<()> {
        self.reader.set_flexible(flags.compact);
        let Some(count) = self.reader.nullable_count(min_element_bytes)? else {
            return if flags.nullable {
                Ok(())
            } else {
                Err(WireError::UnexpectedNull)
            };
        };
        self.elements += count;
        if self.elements > MAX_ELEMENTS {
            return Err(WireError::TooManyElements);
        }
        self.rows += if matches!(element, Field::Fixed(_)) {
            count.div_ceil(NUMBERS_A_ROW)
        } else {
            count
        };
        if self.rows > self.max_rows {
            return Err(WireError::TooManyRows);
        }
        if let Field::Fixed(width) = element {
            return self.reader.take(count * width).map(drop);
        }
        for _ in 0..count {
            self.walk_field(element)?;
        }
        Ok(())
    }

    fn walk_tags(&mut self, shape: &Struct) -> Result<()> {
        let count_at = self.reader.position();
        let count = self.reader.unsigned_varint()?;
        let first_at = self.reader.position();
        if count as usize > self.reader.remaining() / 2 {
            return Err(WireError::CountTooLarge);
        }
        let count_in_out = self.position_in_out(count_at);
        let mut previous = None;
        let mut dropped = 0;
        for _ in 0..count {
            let tag_at = self.reader.position();
            let tag = self.reader.unsigned_varint()?;
            if previous.is_some_and(|previous| tag <= previous) {
                return Err(WireError::UnsortedTags);
            }
            previous = Some(tag);
            if let Ok(nth) = shape.tags.binary_search_by_key(&tag, |(tag, _)| *tag) {
                if let Some((_, field)) = shape.tags.get(nth) {
                    self.walk_tag(field)?;
                }
            } else {
                let size = self.reader.unsigned_varint()? as usize;
                let content = self.reader.take(size)?;
                self.replace(tag_at..content.end, &[]);
                dropped += 1;
            }
        }
        if dropped > 0 {
            self.rewrite_varint(count_in_out, first_at - count_at, count - dropped);
        }
        Ok(())
    }

    fn walk_tag(&mut self, field: &Field) -> Result<()> {
        let size_at = self.reader.position();
        let size = self.reader.unsigned_varint()? as usize;
        let content = self.reader.take(size)?;
        let size_bytes = content.start - size_at;
        let size_in_out = self.position_in_out(size_at);
        let copied_before = self.copied;
        let after = mem::replace(&mut self.reader, Reader::within(self.body, &content));
        self.walk_field(field)?;
        if self.reader.remaining() > 0 {
            return Err(WireError::TagSizeMismatch);
        }
        self.reader = after;
        if self.copied != copied_before {
            self.copy_to(content.end);
            let new_size = self.out.len() - size_in_out - size_bytes;
            self.rewrite_varint(size_in_out, size_bytes, new_size as u32);
        }
        Ok(())
    }

    /// The present or future position in `out` of `at`, which is not before `copied`.
    fn position_in_out(&self, at: usize) -> usize {
        self.out.len() + (at - self.copied)
    }

    fn copy_to(&mut self, at: usize) {
        if self.out.capacity() == 0 {
            self.out.reserve_exact(self.body.len());
        }
        self.out
            .extend_from_slice(self.body.get(self.copied..at).unwrap_or_default());
        self.copied = at;
    }

    fn replace(&mut self, range: Range<usize>, with: &[u8]) {
        self.copy_to(range.start);
        self.out.extend_from_slice(with);
        self.copied = range.end;
    }

    /// Replaces a varint of `old_bytes` in `out` by `value`, which is smaller, and moves the bytes behind it.
    fn rewrite_varint(&mut self, at: usize, old_bytes: usize, value: u32) {
        let mut varint = Vec::with_capacity(5);
        Writer::new(&mut varint, true).unsigned_varint(value);
        self.out.splice(at..at + old_bytes, varint);
    }
}
