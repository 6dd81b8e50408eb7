//! Plain values of any message, for Rust and for tests.

use crate::codec::decode::Builder;
use crate::codec::table::{Kind, Literal, Message, Struct};
use crate::error::WireError;

/// A value of any type of the table.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Null.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number of any width.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A string.
    Text(String),
    /// Bytes or records.
    Bytes(Vec<u8>),
    /// A UUID; all zero is none.
    Uuid([u8; 16]),
    /// The elements of an array.
    Array(Vec<Value>),
    /// The fields of a struct, by index in the table.
    Struct(Vec<Value>),
}

impl Value {
    /// The default of a field: Kafka's, or where Kafka says none the zero of its type.
    pub fn default_of(message: &Message, of: &Struct, index: usize) -> Self {
        let Some(field) = of.fields.get(index) else {
            return Self::Null;
        };
        if field.is_null_by_default() {
            return Self::Null;
        }
        if field.is_array {
            return Self::Array(Vec::new());
        }
        match (field.kind, field.default) {
            (Kind::Bool, default) => Self::Bool(default == Some(Literal::Bool(true))),
            (Kind::Float64, _) => Self::Float(0.0),
            (Kind::Uuid, _) => Self::Uuid([0; 16]),
            (Kind::Text, _) => Self::Text(String::new()),
            (Kind::Bytes | Kind::Records, _) => Self::Bytes(Vec::new()),
            (Kind::Struct(place), _) => Self::default_struct(message, place),
            (_, Some(Literal::Integer(number))) => Self::Integer(number),
            _ => Self::Integer(0),
        }
    }

    /// A struct of defaults.
    pub fn default_struct(message: &Message, place: usize) -> Self {
        let Some(of) = message.structs.get(place) else {
            return Self::Null;
        };
        Self::Struct(
            (0..of.fields.len())
                .map(|index| Self::default_of(message, of, index))
                .collect(),
        )
    }
}

/// Builds [`Value`]s.
#[derive(Debug)]
pub struct ValueBuilder {
    /// The message that is read.
    pub message: &'static Message,
}

type Built = Result<Value, WireError>;

impl Builder for ValueBuilder {
    type Value = Value;
    type Fields = Vec<Value>;
    type Items = Vec<Value>;
    type Error = WireError;

    fn null(&mut self) -> Value {
        Value::Null
    }

    fn boolean(&mut self, value: bool) -> Built {
        Ok(Value::Bool(value))
    }

    fn integer(&mut self, value: i64) -> Built {
        Ok(Value::Integer(value))
    }

    fn float(&mut self, value: f64) -> Built {
        Ok(Value::Float(value))
    }

    fn text(&mut self, value: &str) -> Built {
        Ok(Value::Text(value.to_owned()))
    }

    fn bytes(&mut self, value: &[u8]) -> Built {
        Ok(Value::Bytes(value.to_vec()))
    }

    fn uuid(&mut self, value: &[u8; 16]) -> Built {
        Ok(Value::Uuid(*value))
    }

    fn default(&mut self, of: &'static Struct, index: usize) -> Built {
        Ok(Value::default_of(self.message, of, index))
    }

    fn begin_struct(&mut self, of: &'static Struct) -> Result<Vec<Value>, WireError> {
        Ok(vec![Value::Null; of.fields.len()])
    }

    fn set(&mut self, fields: &mut Vec<Value>, index: usize, value: Value) {
        if let Some(field) = fields.get_mut(index) {
            *field = value;
        }
    }

    fn end_struct(&mut self, fields: Vec<Value>) -> Built {
        Ok(Value::Struct(fields))
    }

    fn begin_array(&mut self, count: usize) -> Result<Vec<Value>, WireError> {
        Ok(Vec::with_capacity(count))
    }

    fn push(&mut self, items: &mut Vec<Value>, value: Value) {
        items.push(value);
    }

    fn end_array(&mut self, items: Vec<Value>) -> Built {
        Ok(Value::Array(items))
    }
}
