//! Reads the bytes of a message under limits, and builds values through a [`Builder`].
//!
//! One walk over the bytes, after a [`Schema`]. Every count is checked against the bytes that remain, by the fewest
//! bytes of an element, before anything is made for it: what is built is never larger than what the bytes that came
//! can hold. The depth of the walk is that of the table. Unknown tagged fields are dropped. A bool of any value but 0
//! is true. A string that is not UTF-8 is read as Java reads it. Nothing is interpreted further, and nothing is kept.

use crate::codec::java_text::lossy;
use crate::codec::put::{MAX_STRING_BYTES, NULL_STRUCT, STRUCT};
use crate::codec::schema::{Layout, Schema, Slot, fixed_width};
use crate::codec::table::{Kind, MessageKind, Struct};
use crate::error::WireError;
use crate::reader::Reader;

/// The most elements of arrays in one request or response of any API.
pub const MAX_ELEMENTS: usize = 1 << 20;
/// How many numbers of an array count as one row: eight decoded numbers take as much memory as one row.
const NUMBERS_A_ROW: usize = 8;

/// How much one message may ask for.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most elements of all arrays together.
    pub max_elements: usize,
    /// The most rows: elements of arrays at any depth, of which a number is an eighth.
    pub max_rows: usize,
}

impl Limits {
    /// Bounded by the bytes alone: for what this broker itself has stored.
    pub const NONE: Self = Self {
        max_elements: usize::MAX,
        max_rows: usize::MAX,
    };

    /// Those of a request or a response.
    pub fn of_body(max_rows: Option<usize>) -> Self {
        Self {
            max_elements: MAX_ELEMENTS,
            max_rows: max_rows.unwrap_or(usize::MAX),
        }
    }
}

/// Makes the values of one kind of receiver. The walk calls it in the order of the bytes, but for the fields that are
/// not there, which come last in each struct.
pub trait Builder {
    /// A finished value.
    type Value;
    /// A struct that is being filled.
    type Fields;
    /// An array that is being filled.
    type Items;
    /// What may go wrong, here or in the bytes.
    type Error: From<WireError>;

    /// Null.
    fn null(&mut self) -> Self::Value;
    /// A truth value.
    fn boolean(&mut self, value: bool) -> Result<Self::Value, Self::Error>;
    /// A number of any width.
    fn integer(&mut self, value: i64) -> Result<Self::Value, Self::Error>;
    /// A number with a fraction.
    fn float(&mut self, value: f64) -> Result<Self::Value, Self::Error>;
    /// A string.
    fn text(&mut self, value: &str) -> Result<Self::Value, Self::Error>;
    /// Bytes or records.
    fn bytes(&mut self, value: &[u8]) -> Result<Self::Value, Self::Error>;
    /// A UUID; all zero is none.
    fn uuid(&mut self, value: &[u8; 16]) -> Result<Self::Value, Self::Error>;
    /// The default of a field that these bytes have not.
    fn default(&mut self, of: &'static Struct, index: usize) -> Result<Self::Value, Self::Error>;
    /// Begins a struct.
    fn begin_struct(&mut self, of: &'static Struct) -> Result<Self::Fields, Self::Error>;
    /// Sets a field; every index once.
    fn set(&mut self, fields: &mut Self::Fields, index: usize, value: Self::Value);
    /// Ends a struct.
    fn end_struct(&mut self, fields: Self::Fields) -> Result<Self::Value, Self::Error>;
    /// Begins an array of as many items.
    fn begin_array(&mut self, count: usize) -> Result<Self::Items, Self::Error>;
    /// Adds the next item.
    fn push(&mut self, items: &mut Self::Items, value: Self::Value);
    /// Ends an array.
    fn end_array(&mut self, items: Self::Items) -> Result<Self::Value, Self::Error>;
}

/// Reads one message. All bytes must be of it.
pub fn decode<B: Builder>(
    schema: &'static Schema,
    bytes: &[u8],
    limits: Limits,
    builder: &mut B,
) -> Result<B::Value, B::Error> {
    let mut walk = Walk {
        schema,
        reader: Reader::new(bytes, schema.is_flexible),
        left: limits,
        builder,
    };
    let value = walk.structure(0)?;
    match walk.reader.rest() {
        [] => Ok(value),
        // librdkafka ends AlterUserScramCredentials with a second, empty list of tags
        [0] if schema.is_flexible && is_body(schema.message.kind) => Ok(value),
        _ => Err(WireError::TrailingBytes.into()),
    }
}

fn is_body(kind: MessageKind) -> bool {
    matches!(kind, MessageKind::Request | MessageKind::Response)
}

struct Walk<'a, 'b, B> {
    schema: &'static Schema,
    reader: Reader<'a>,
    left: Limits,
    builder: &'b mut B,
}

impl<B: Builder> Walk<'_, '_, B> {
    fn structure(&mut self, place: usize) -> Result<B::Value, B::Error> {
        let layout = &self.schema.layouts[place];
        let mut fields = self.builder.begin_struct(layout.of)?;
        for slot in &layout.slots {
            let value = self.field(slot)?;
            self.builder.set(&mut fields, slot.index, value);
        }
        if self.schema.is_flexible {
            self.tags(layout, &mut fields)?;
        }
        for index in &layout.missing {
            let value = self.builder.default(layout.of, *index)?;
            self.builder.set(&mut fields, *index, value);
        }
        self.builder.end_struct(fields)
    }

    #[inline]
    fn field(&mut self, slot: &Slot) -> Result<B::Value, B::Error> {
        if slot.field.is_array {
            return self.array(slot);
        }
        if slot.is_nullable && matches!(slot.field.kind, Kind::Struct(_)) {
            match self.reader.array::<1>()? {
                [NULL_STRUCT] => return Ok(self.builder.null()),
                [STRUCT] => {}
                _ => return Err(WireError::InvalidValue.into()),
            }
        }
        self.element(slot, slot.is_nullable)
    }

    #[inline]
    fn element(&mut self, slot: &Slot, is_nullable: bool) -> Result<B::Value, B::Error> {
        match slot.field.kind {
            Kind::Bool => {
                let [byte] = self.reader.array()?;
                self.builder.boolean(byte != 0)
            }
            Kind::Int8 => {
                let value = self.reader.i8()?;
                self.builder.integer(value.into())
            }
            Kind::Int16 | Kind::ErrorCode => {
                let value = self.reader.i16()?;
                self.builder.integer(value.into())
            }
            Kind::UInt16 => {
                let value = u16::from_be_bytes(self.reader.array()?);
                self.builder.integer(value.into())
            }
            Kind::Int32 => {
                let value = self.reader.i32()?;
                self.builder.integer(value.into())
            }
            Kind::UInt32 => {
                let value = u32::from_be_bytes(self.reader.array()?);
                self.builder.integer(value.into())
            }
            Kind::Int64 => {
                let value = self.reader.i64()?;
                self.builder.integer(value)
            }
            Kind::Float64 => {
                let value = f64::from_be_bytes(self.reader.array()?);
                self.builder.float(value)
            }
            Kind::Uuid => {
                let value = self.reader.uuid()?;
                self.builder.uuid(&value)
            }
            Kind::Text => self.text(slot, is_nullable),
            Kind::Bytes | Kind::Records => match self.reader.length(slot.is_compact, false)? {
                Some(length) => {
                    let bytes = self.reader.slice(length)?;
                    self.builder.bytes(bytes)
                }
                None if is_nullable => Ok(self.builder.null()),
                None => Err(WireError::UnexpectedNull.into()),
            },
            Kind::Struct(place) => self.structure(place),
        }
    }

    fn text(&mut self, slot: &Slot, is_nullable: bool) -> Result<B::Value, B::Error> {
        let Some(length) = self.reader.length(slot.is_compact, true)? else {
            return if is_nullable {
                Ok(self.builder.null())
            } else {
                Err(WireError::UnexpectedNull.into())
            };
        };
        let bytes = self.reader.slice(length)?;
        if length > MAX_STRING_BYTES {
            return Err(WireError::StringTooLong.into());
        }
        if let Ok(text) = std::str::from_utf8(bytes) {
            return self.builder.text(text);
        }
        let text = lossy(bytes);
        if text.len() > MAX_STRING_BYTES {
            return Err(WireError::StringTooLong.into());
        }
        self.builder.text(&text)
    }

    fn array(&mut self, slot: &Slot) -> Result<B::Value, B::Error> {
        let Some(count) = self.reader.length(slot.is_compact, false)? else {
            return if slot.is_nullable {
                Ok(self.builder.null())
            } else {
                Err(WireError::UnexpectedNull.into())
            };
        };
        if count > self.reader.remaining() / slot.min_element_bytes.max(1) {
            return Err(WireError::CountTooLarge.into());
        }
        self.spend(slot.field.kind, count)?;
        let mut items = self.builder.begin_array(count)?;
        for _ in 0..count {
            let value = self.element(slot, false)?;
            self.builder.push(&mut items, value);
        }
        self.builder.end_array(items)
    }

    fn spend(&mut self, kind: Kind, count: usize) -> Result<(), WireError> {
        let is_number = kind != Kind::Bool && fixed_width(kind).is_some();
        let rows = if is_number {
            count.div_ceil(NUMBERS_A_ROW)
        } else {
            count
        };
        self.left.max_elements = self
            .left
            .max_elements
            .checked_sub(count)
            .ok_or(WireError::TooManyElements)?;
        self.left.max_rows = self.left.max_rows.checked_sub(rows).ok_or(WireError::TooManyRows)?;
        Ok(())
    }

    /// The tagged fields of a struct; those that are not there get their defaults.
    fn tags(&mut self, layout: &'static Layout, fields: &mut B::Fields) -> Result<(), B::Error> {
        let count = self.reader.unsigned_varint()?;
        if count as usize > self.reader.remaining() / 2 {
            return Err(WireError::CountTooLarge.into());
        }
        let mut known = layout.tagged.iter();
        let mut next = known.next();
        let mut previous = None;
        for _ in 0..count {
            let tag = self.reader.unsigned_varint()?;
            if previous.is_some_and(|previous| tag <= previous) {
                return Err(WireError::UnsortedTags.into());
            }
            previous = Some(tag);
            let size = self.reader.unsigned_varint()? as usize;
            let content = self.reader.slice(size)?;
            while let Some(slot) = next
                && slot.field.tag <= Some(tag)
            {
                let value = if slot.field.tag == Some(tag) {
                    self.tag(slot, content)?
                } else {
                    self.builder.default(layout.of, slot.index)?
                };
                self.builder.set(fields, slot.index, value);
                next = known.next();
            }
        }
        while let Some(slot) = next {
            let value = self.builder.default(layout.of, slot.index)?;
            self.builder.set(fields, slot.index, value);
            next = known.next();
        }
        Ok(())
    }

    fn tag(&mut self, slot: &Slot, content: &[u8]) -> Result<B::Value, B::Error> {
        let mut inner = Walk {
            schema: self.schema,
            reader: Reader::new(content, true),
            left: self.left,
            builder: &mut *self.builder,
        };
        let value = inner.field(slot)?;
        let (left, rest) = (inner.left, inner.reader.remaining());
        self.left = left;
        if rest > 0 {
            return Err(WireError::TagSizeMismatch.into());
        }
        Ok(value)
    }
}
