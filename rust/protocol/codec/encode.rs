//! Writes plain values as the bytes of a message.
//!
//! A request is written strictly: a value that the version cannot carry is an error unless the table lets it be
//! ignored. Elsewhere such a value is left out, and a string that is too long is cut.

use crate::codec::put;
use crate::codec::schema::{Layout, Schema, Slot};
use crate::codec::table::{Kind, MessageKind};
use crate::codec::values::Value;

/// Why a value cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The value is of another type than the field, or out of its range.
    #[error("{of}.{field} has a value that is not of its type")]
    WrongValue {
        /// The struct.
        of: &'static str,
        /// The field.
        field: &'static str,
    },
    /// The version has not the field, and the value is not its default.
    #[error("version {version} has no {of}.{field}, and it may not be left out")]
    NotInVersion {
        /// The struct.
        of: &'static str,
        /// The field.
        field: &'static str,
        /// The version.
        version: i16,
    },
    /// A string is too long.
    #[error("{of}.{field} is longer than 32767 bytes")]
    StringTooLong {
        /// The struct.
        of: &'static str,
        /// The field.
        field: &'static str,
    },
}

type Result<T> = std::result::Result<T, EncodeError>;

/// The bytes of a message.
pub fn encode(schema: &Schema, value: &Value) -> Result<Vec<u8>> {
    let writing = Writing {
        schema,
        is_strict: schema.message.kind == MessageKind::Request,
    };
    let mut out = Vec::new();
    writing.structure(&mut out, 0, value, ("", ""))?;
    Ok(out)
}

struct Writing<'a> {
    schema: &'a Schema,
    is_strict: bool,
}

type Name = (&'static str, &'static str);

fn wrong((of, field): Name) -> EncodeError {
    EncodeError::WrongValue { of, field }
}

impl Writing<'_> {
    fn structure(&self, out: &mut Vec<u8>, place: usize, value: &Value, name: Name) -> Result<()> {
        let layout = self.schema.layouts.get(place).ok_or_else(|| wrong(name))?;
        let fields = match value {
            Value::Struct(fields) if fields.len() == layout.of.fields.len() => fields,
            _ => return Err(wrong(name)),
        };
        for slot in &layout.slots {
            self.field(out, slot, &fields[slot.index], (layout.of.name, slot.field.snake_name))?;
        }
        self.check_missing(layout, fields)?;
        if self.schema.is_flexible {
            self.tags(out, layout, fields)?;
        }
        Ok(())
    }

    fn check_missing(&self, layout: &Layout, fields: &[Value]) -> Result<()> {
        for index in &layout.missing {
            let field = &layout.of.fields[*index];
            if self.is_strict
                && !field.is_ignorable
                && fields[*index] != Value::default_of(self.schema.message, layout.of, *index)
            {
                return Err(EncodeError::NotInVersion {
                    of: layout.of.name,
                    field: field.snake_name,
                    version: self.schema.version,
                });
            }
        }
        Ok(())
    }

    fn tags(&self, out: &mut Vec<u8>, layout: &Layout, fields: &[Value]) -> Result<()> {
        let mut contents = Vec::new();
        for slot in &layout.tagged {
            let mut content = Vec::new();
            self.field(
                &mut content,
                slot,
                &fields[slot.index],
                (layout.of.name, slot.field.snake_name),
            )?;
            if *content != *slot.default_bytes {
                contents.push((slot.field.tag.unwrap_or_default(), content));
            }
        }
        put::varint(out, contents.len() as u32);
        for (tag, content) in contents {
            put::varint(out, tag);
            put::varint(out, content.len() as u32);
            out.extend_from_slice(&content);
        }
        Ok(())
    }

    fn field(&self, out: &mut Vec<u8>, slot: &Slot, value: &Value, name: Name) -> Result<()> {
        if slot.field.is_array {
            let items = match value {
                Value::Array(items) => Some(items),
                Value::Null if slot.is_nullable => None,
                _ => return Err(wrong(name)),
            };
            put::length(out, items.map(Vec::len), slot.is_compact, false);
            for item in items.into_iter().flatten() {
                self.element(out, slot, item, name)?;
            }
            return Ok(());
        }
        match (value, slot.field.kind) {
            (Value::Null, Kind::Struct(_)) if slot.is_nullable => out.push(put::NULL_STRUCT),
            (Value::Null, kind) if slot.is_nullable => {
                put::length(out, None, slot.is_compact, kind == Kind::Text);
            }
            (_, Kind::Struct(_)) if slot.is_nullable => {
                out.push(put::STRUCT);
                self.element(out, slot, value, name)?;
            }
            _ => self.element(out, slot, value, name)?,
        }
        Ok(())
    }

    fn element(&self, out: &mut Vec<u8>, slot: &Slot, value: &Value, name: Name) -> Result<()> {
        let fits = match (slot.field.kind, value) {
            (Kind::Bool, Value::Bool(value)) => {
                out.push(u8::from(*value));
                true
            }
            (Kind::Float64, Value::Float(value)) => {
                out.extend_from_slice(&value.to_be_bytes());
                true
            }
            (Kind::Uuid, Value::Uuid(value)) => {
                out.extend_from_slice(value);
                true
            }
            (Kind::Text, Value::Text(text)) => {
                if self.is_strict && text.len() > put::MAX_STRING_BYTES {
                    let (of, field) = name;
                    return Err(EncodeError::StringTooLong { of, field });
                }
                let text = put::cut(text);
                put::length(out, Some(text.len()), slot.is_compact, true);
                out.extend_from_slice(text.as_bytes());
                true
            }
            (Kind::Bytes | Kind::Records, Value::Bytes(bytes)) => {
                put::length(out, Some(bytes.len()), slot.is_compact, false);
                out.extend_from_slice(bytes);
                true
            }
            (Kind::Struct(place), value) => return self.structure(out, place, value, name),
            (kind, Value::Integer(value)) => put::integer(out, kind, *value),
            _ => false,
        };
        if fits { Ok(()) } else { Err(wrong(name)) }
    }
}
