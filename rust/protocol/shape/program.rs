//! The compact program that describes one version of one request, and its parsed form.
//!
//! ```text
//! program  := 0x01 struct                               the format's version; nothing may follow
//! struct   := flexible:u8 count:u8 field{count}         flexible is 0 or 1
//!             (flexible: count:u8 (tag:u16 field){count})   tags ascending
//! field    := 0x01 width:u8                             FIXED: 1 to 16 bytes of any value
//!           | 0x02                                      BOOL: one byte; a true of any value becomes 1
//!           | 0x03                                      TIMEDELTA: int64 ms, clamped to what the decoder can hold
//!           | 0x04 flags:u8                             STRING: UTF-8 of at most 32767 bytes
//!           | 0x05 flags:u8                             BYTES: bytes or records
//!           | 0x06 flags:u8 field                       ARRAY of that field, which takes at least one byte
//!           | 0x07 struct                               STRUCT
//!           | 0x08 struct                               NULLABLE STRUCT: a marker of -1 (null) or 1, then the struct
//! flags    := bit 0: null is allowed; bit 1: compact (varint) length
//! ```
//! Numbers are big-endian. Neighbouring fields of fixed width are merged as they are parsed.

use std::borrow::Cow;

use super::super::error::WireError;
use super::super::reader::{MAX_ELEMENTS, Reader};
use super::walk::Walk;

const FORMAT: u8 = 1;
const FIXED: u8 = 1;
const BOOL: u8 = 2;
const TIMEDELTA: u8 = 3;
const STRING: u8 = 4;
const BYTES: u8 = 5;
const ARRAY: u8 = 6;
const STRUCT: u8 = 7;
const NULLABLE_STRUCT: u8 = 8;
const MAX_WIDTH: u8 = 16;
/// The deepest nesting of a program, and so of the walk over any body; Kafka's deepest request has six.
const MAX_DEPTH: usize = 16;

/// The shape of one request version. Immutable; walks may overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    root: Struct,
    max_rows: usize,
}

/// A parsed struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Struct {
    pub(super) flexible: bool,
    pub(super) fields: Vec<Field>,
    /// By ascending tag.
    pub(super) tags: Vec<(u32, Field)>,
}

/// A parsed field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    Fixed(usize),
    Bool,
    Timedelta,
    String(Flags),
    Bytes(Flags),
    Array {
        flags: Flags,
        element: Box<Field>,
        min_element_bytes: usize,
    },
    Struct(Struct),
    NullableStruct(Struct),
}

/// How a length is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) nullable: bool,
    pub(super) compact: bool,
}

impl Shape {
    /// Parses a program; [`WireError::BadProgram`] when it does not follow the grammar.
    pub fn parse(program: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(program, false);
        let root = match byte(&mut reader)? {
            FORMAT => parse_struct(&mut reader, 0)?,
            _ => return Err(WireError::BadProgram),
        };
        if reader.remaining() > 0 {
            return Err(WireError::BadProgram);
        }
        Ok(Self {
            root,
            max_rows: MAX_ELEMENTS,
        })
    }

    /// Refuses bodies with more rows than this ([`WireError::TooManyRows`]). A row is an element of an array at any
    /// depth; a number counts an eighth of a row, since eight decoded numbers take as much memory as one row.
    #[must_use]
    pub fn with_max_rows(mut self, max_rows: usize) -> Self {
        self.max_rows = max_rows;
        self
    }

    /// Checks a body. In the returned body every count is backed by bytes, so that decoding cannot allocate too much.
    /// The returned body is `body` itself unless unknown tagged fields were dropped or values normalised.
    pub fn sanitize<'a>(&self, body: &'a [u8]) -> Result<Cow<'a, [u8]>, WireError> {
        Walk::new(body, self.max_rows).run(&self.root)
    }
}

impl Struct {
    fn min_bytes(&self) -> usize {
        self.fields.iter().map(Field::min_bytes).sum::<usize>() + usize::from(self.flexible)
    }
}

impl Field {
    fn min_bytes(&self) -> usize {
        match self {
            Self::Fixed(width) => *width,
            Self::Bool | Self::NullableStruct(_) => 1,
            Self::Timedelta => 8,
            Self::String(flags) => {
                if flags.compact {
                    1
                } else {
                    2
                }
            }
            Self::Bytes(flags) | Self::Array { flags, .. } => {
                if flags.compact {
                    1
                } else {
                    4
                }
            }
            Self::Struct(inner) => inner.min_bytes(),
        }
    }
}

fn byte(reader: &mut Reader<'_>) -> Result<u8, WireError> {
    reader.array().map(|[byte]| byte).map_err(|_| WireError::BadProgram)
}

fn parse_struct(reader: &mut Reader<'_>, depth: usize) -> Result<Struct, WireError> {
    let flexible = match byte(reader)? {
        0 => false,
        1 => true,
        _ => return Err(WireError::BadProgram),
    };
    let mut fields: Vec<Field> = Vec::new();
    for _ in 0..byte(reader)? {
        match (fields.last_mut(), parse_field(reader, depth + 1)?) {
            (Some(Field::Fixed(before)), Field::Fixed(width)) => *before += width,
            (_, field) => fields.push(field),
        }
    }
    let mut tags: Vec<(u32, Field)> = Vec::new();
    for _ in 0..if flexible { byte(reader)? } else { 0 } {
        let tag = u32::from(u16::from_be_bytes([byte(reader)?, byte(reader)?]));
        if tags.last().is_some_and(|(last, _)| tag <= *last) {
            return Err(WireError::BadProgram);
        }
        tags.push((tag, parse_field(reader, depth + 1)?));
    }
    Ok(Struct { flexible, fields, tags })
}

fn parse_field(reader: &mut Reader<'_>, depth: usize) -> Result<Field, WireError> {
    if depth > MAX_DEPTH {
        return Err(WireError::BadProgram);
    }
    match byte(reader)? {
        FIXED => match byte(reader)? {
            width @ 1..=MAX_WIDTH => Ok(Field::Fixed(usize::from(width))),
            _ => Err(WireError::BadProgram),
        },
        BOOL => Ok(Field::Bool),
        TIMEDELTA => Ok(Field::Timedelta),
        STRING => parse_flags(reader).map(Field::String),
        BYTES => parse_flags(reader).map(Field::Bytes),
        ARRAY => {
            let flags = parse_flags(reader)?;
            let element = parse_field(reader, depth + 1)?;
            let min_element_bytes = element.min_bytes();
            if min_element_bytes == 0 {
                return Err(WireError::BadProgram);
            }
            Ok(Field::Array {
                flags,
                element: Box::new(element),
                min_element_bytes,
            })
        }
        STRUCT => parse_struct(reader, depth).map(Field::Struct),
        NULLABLE_STRUCT => parse_struct(reader, depth).map(Field::NullableStruct),
        _ => Err(WireError::BadProgram),
    }
}

fn parse_flags(reader: &mut Reader<'_>) -> Result<Flags, WireError> {
    match byte(reader)? {
        flags @ 0..=3 => Ok(Flags {
            nullable: flags & 1 != 0,
            compact: flags & 2 != 0,
        }),
        _ => Err(WireError::BadProgram),
    }
}
