//! Random values of any message.

use crate::codec::schema::{Layout, Schema, Slot};
use crate::codec::table::Kind;
use crate::codec::values::Value;

/// A small generator of random numbers: xorshift, so that tests are the same each time.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    fn is(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A value that this version can carry; fields that it has not have their defaults.
pub fn structure(schema: &Schema, place: usize, random: &mut Random) -> Value {
    let layout: &Layout = &schema.layouts[place];
    let mut fields: Vec<Value> = (0..layout.of.fields.len())
        .map(|index| Value::default_of(schema.message, layout.of, index))
        .collect();
    for slot in layout.slots.iter().chain(&layout.tagged) {
        if slot.field.tag.is_none() || random.is(50) {
            fields[slot.index] = field(schema, slot, random);
        } else if fields[slot.index] == Value::Null && !slot.is_nullable {
            fields[slot.index] = Value::Array(Vec::new());
        }
    }
    Value::Struct(fields)
}

fn field(schema: &Schema, slot: &Slot, random: &mut Random) -> Value {
    if slot.is_nullable && random.is(20) {
        return Value::Null;
    }
    if slot.field.is_array {
        // a length of more than 126 has a varint of two bytes
        let count = if random.is(1) { 130 } else { [0, 1, 3][random.below(3)] };
        return Value::Array((0..count).map(|_| element(schema, slot.field.kind, random)).collect());
    }
    element(schema, slot.field.kind, random)
}

fn element(schema: &Schema, kind: Kind, random: &mut Random) -> Value {
    let number = random.number();
    match kind {
        Kind::Bool => Value::Bool(random.is(50)),
        Kind::Int8 => Value::Integer((number as i8).into()),
        Kind::Int16 | Kind::ErrorCode => Value::Integer((number as i16).into()),
        Kind::UInt16 => Value::Integer((number as u16).into()),
        Kind::Int32 => Value::Integer((number as i32).into()),
        Kind::UInt32 => Value::Integer((number as u32).into()),
        Kind::Int64 => Value::Integer(number as i64),
        Kind::Float64 => Value::Float(number as f64),
        Kind::Uuid => Value::Uuid([number as u8; 16]),
        Kind::Text => Value::Text("a\u{e9}\u{20ac}\u{1d11e}".repeat([0, 1, 13][random.below(3)])),
        Kind::Bytes | Kind::Records => Value::Bytes(vec![number as u8; [0, 1, 126, 127, 300][random.below(5)]]),
        Kind::Struct(place) => structure(schema, place, random),
    }
}
