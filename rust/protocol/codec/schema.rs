//! One version of one message, laid out for a reader or a writer.
//!
//! A [`Schema`] is made out of the table at its first use and kept for ever: [`Message::schema`]. Its layouts have the
//! fields of this version alone, in the order of the wire, so neither a reader nor a writer compares versions.
//! Invariant: the layout of a struct has the struct's place.

use crate::codec::put;
use crate::codec::table::{Field, Kind, Literal, Message, Struct};

/// One version of one message.
#[derive(Debug)]
pub struct Schema {
    /// The message.
    pub message: &'static Message,
    /// Its version.
    pub version: i16,
    /// Whether lengths are varints and tagged fields follow each struct.
    pub is_flexible: bool,
    /// By place; the first is the message itself.
    pub layouts: Box<[Layout]>,
}

/// A struct in one version.
#[derive(Debug)]
pub struct Layout {
    /// The struct.
    pub of: &'static Struct,
    /// The fields without a tag, in the order of the wire.
    pub slots: Box<[Slot]>,
    /// The fields with a tag, by tag.
    pub tagged: Box<[Slot]>,
    /// The indexes of the fields that this version has not.
    pub missing: Box<[usize]>,
    /// Whether it has neither arrays nor structs.
    pub is_flat: bool,
}

/// A field in one version.
#[derive(Debug)]
pub struct Slot {
    /// The field.
    pub field: &'static Field,
    /// Its index in its struct.
    pub index: usize,
    /// Whether null is allowed.
    pub is_nullable: bool,
    /// Whether lengths are varints.
    pub is_compact: bool,
    /// The fewest bytes that an element takes, when it is an array.
    pub min_element_bytes: usize,
    /// Its default as it is written.
    pub default_bytes: Box<[u8]>,
    /// Whether a writer may leave it out.
    pub is_optional: bool,
}

impl Schema {
    pub(crate) fn new(message: &'static Message, version: i16) -> Self {
        let is_flexible = message.is_flexible(version);
        let sizes = Sizes {
            message,
            version,
            is_flexible,
        };
        let mut layouts: Vec<Layout> = message.structs.iter().map(|one| layout(one, &sizes)).collect();
        for place in 0..layouts.len() {
            let defaults = |slots: &[Slot]| -> Vec<Box<[u8]>> {
                slots
                    .iter()
                    .map(|slot| default_bytes(slot, &layouts, is_flexible))
                    .collect()
            };
            let (plain, tagged) = (defaults(&layouts[place].slots), defaults(&layouts[place].tagged));
            let layout = &mut layouts[place];
            for (slot, bytes) in layout
                .slots
                .iter_mut()
                .zip(plain)
                .chain(layout.tagged.iter_mut().zip(tagged))
            {
                slot.default_bytes = bytes;
            }
        }
        Self {
            message,
            version,
            is_flexible,
            layouts: layouts.into_boxed_slice(),
        }
    }
}

struct Sizes {
    message: &'static Message,
    version: i16,
    is_flexible: bool,
}

impl Sizes {
    fn of_struct(&self, place: usize) -> usize {
        let Some(one) = self.message.structs.get(place) else {
            return 0;
        };
        let fields = one
            .fields
            .iter()
            .filter(|field| field.tag.is_none() && field.versions.has(self.version));
        fields.map(|field| self.of_field(field)).sum::<usize>() + usize::from(self.is_flexible)
    }

    fn of_field(&self, field: &Field) -> usize {
        let is_compact = self.is_flexible && !field.is_plain;
        match field.kind {
            _ if field.is_array => {
                if is_compact {
                    1
                } else {
                    4
                }
            }
            Kind::Struct(_) if field.is_nullable(self.version) => 1,
            kind => self.of_element(kind, is_compact),
        }
    }

    fn of_element(&self, kind: Kind, is_compact: bool) -> usize {
        match kind {
            Kind::Text | Kind::Bytes | Kind::Records if is_compact => 1,
            Kind::Text => 2,
            Kind::Bytes | Kind::Records => 4,
            Kind::Struct(place) => self.of_struct(place),
            kind => fixed_width(kind).unwrap_or(0),
        }
    }
}

/// The bytes of a kind that always takes as many.
pub fn fixed_width(kind: Kind) -> Option<usize> {
    match kind {
        Kind::Bool | Kind::Int8 => Some(1),
        Kind::Int16 | Kind::UInt16 | Kind::ErrorCode => Some(2),
        Kind::Int32 | Kind::UInt32 => Some(4),
        Kind::Int64 | Kind::Float64 => Some(8),
        Kind::Uuid => Some(16),
        Kind::Text | Kind::Bytes | Kind::Records | Kind::Struct(_) => None,
    }
}

fn layout(of: &'static Struct, sizes: &Sizes) -> Layout {
    let mut slots = Vec::new();
    let mut tagged = Vec::new();
    let mut missing = Vec::new();
    for (index, field) in of.fields.iter().enumerate() {
        if !field.versions.has(sizes.version) {
            missing.push(index);
            continue;
        }
        let is_compact = sizes.is_flexible && !field.is_plain;
        let slot = Slot {
            field,
            index,
            is_nullable: field.is_nullable(sizes.version),
            is_compact,
            min_element_bytes: sizes.of_element(field.kind, is_compact),
            default_bytes: Box::default(),
            is_optional: is_optional(field),
        };
        if field.tag.is_some() {
            tagged.push(slot);
        } else {
            slots.push(slot);
        }
    }
    tagged.sort_by_key(|slot| slot.field.tag);
    let is_flat = |slot: &Slot| !slot.field.is_array && !matches!(slot.field.kind, Kind::Struct(_));
    Layout {
        of,
        is_flat: slots.iter().all(is_flat) && tagged.iter().all(is_flat),
        slots: slots.into_boxed_slice(),
        tagged: tagged.into_boxed_slice(),
        missing: missing.into_boxed_slice(),
    }
}

/// A writer may leave out what has a tag, or a default in the table, or an array without structs, or the throttle time.
fn is_optional(field: &Field) -> bool {
    let is_plain_array = field.is_array && !matches!(field.kind, Kind::Struct(_));
    field.tag.is_some() || field.default.is_some() || is_plain_array || field.name == "ThrottleTimeMs"
}

/// A field's default as it is written. A field that is null by default where null is not allowed is empty there.
fn default_bytes(slot: &Slot, layouts: &[Layout], is_flexible: bool) -> Box<[u8]> {
    let mut out = Vec::new();
    put_default(&mut out, slot, layouts, is_flexible);
    out.into_boxed_slice()
}

fn put_default(out: &mut Vec<u8>, slot: &Slot, layouts: &[Layout], is_flexible: bool) {
    let field = slot.field;
    let is_null = slot.is_nullable && field.is_null_by_default();
    if field.is_array {
        put::length(out, if is_null { None } else { Some(0) }, slot.is_compact, false);
        return;
    }
    let number = match field.default {
        Some(Literal::Integer(number)) => number,
        Some(Literal::Bool(is_true)) => i64::from(is_true),
        _ => 0,
    };
    match field.kind {
        Kind::Text | Kind::Bytes | Kind::Records => {
            let is_short = field.kind == Kind::Text;
            put::length(out, if is_null { None } else { Some(0) }, slot.is_compact, is_short);
        }
        Kind::Struct(_) if is_null => out.push(put::NULL_STRUCT),
        Kind::Struct(place) => {
            if slot.is_nullable {
                out.push(put::STRUCT);
            }
            if let Some(layout) = layouts.get(place) {
                for part in &layout.slots {
                    put_default(out, part, layouts, is_flexible);
                }
            }
            if is_flexible {
                out.push(0);
            }
        }
        kind => {
            let width = fixed_width(kind).unwrap_or(0);
            let bytes = i128::from(number).to_be_bytes();
            out.extend_from_slice(&bytes[bytes.len() - width..]);
        }
    }
}
