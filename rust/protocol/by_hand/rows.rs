//! Random messages, and their fields by name.

use std::ops::{Range, RangeInclusive};

use base::error::ErrorCode;

use crate::codec::table::{self, Kind, Message, Struct};
use crate::codec::tests::random::{self, Random};
use crate::codec::{Schema, Value};
use crate::topic::{NodeEndpoint, TopicId, TopicKey};

/// Values of each version.
const VALUES: usize = 40;

/// Calls `with` for random values of a message in each of these versions.
pub fn for_random(name: &str, versions: RangeInclusive<i16>, mut with: impl FnMut(&'static Schema, Value)) {
    let message = table::message(name).unwrap();
    let mut random = Random(11);
    for version in versions {
        let schema = message.schema(version).unwrap();
        for _ in 0..VALUES {
            with(schema, random::structure(schema, 0, &mut random));
        }
    }
}

/// No message that ends early is read.
pub fn assert_cuts_are_refused(body: &[u8], mut is_refused: impl FnMut(&[u8]) -> bool) {
    for end in 0..body.len().min(300) {
        assert!(is_refused(&body[..end]), "cut at {end} of {}", body.len());
    }
}

/// A message, or a struct in it, that is looked at.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    message: &'static Message,
    of: &'static Struct,
    fields: &'a [Value],
}

impl<'a> Row<'a> {
    pub fn new(message: &'static Message, value: &'a Value) -> Self {
        Self::at(message, 0, value)
    }

    fn at(message: &'static Message, place: usize, value: &'a Value) -> Self {
        let Value::Struct(fields) = value else {
            panic!("{value:?} is no struct");
        };
        let of = &message.structs[place];
        Self { message, of, fields }
    }

    fn get(&self, name: &str) -> (Kind, &'a Value) {
        let index = index(self.of, name);
        (self.of.fields[index].kind, &self.fields[index])
    }

    pub fn int<T: TryFrom<i64>>(&self, name: &str) -> T {
        let (_, Value::Integer(number)) = self.get(name) else {
            panic!("{name} is no number");
        };
        T::try_from(*number).ok().unwrap()
    }

    pub fn error(&self, name: &str) -> ErrorCode {
        ErrorCode(self.int(name))
    }

    pub fn is(&self, name: &str) -> bool {
        self.get(name).1 == &Value::Bool(true)
    }

    pub fn is_null(&self, name: &str) -> bool {
        self.get(name).1 == &Value::Null
    }

    pub fn text(&self, name: &str) -> Option<&'a str> {
        match self.get(name).1 {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn bytes(&self, name: &str) -> Option<&'a [u8]> {
        match self.get(name).1 {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub fn uuid(&self, name: &str) -> TopicId {
        match self.get(name).1 {
            Value::Uuid(id) => *id,
            other => panic!("{name} is {other:?}"),
        }
    }

    pub fn row(&self, name: &str) -> Row<'a> {
        let (Kind::Struct(place), value) = self.get(name) else {
            panic!("{name} is no struct");
        };
        Self::at(self.message, place, value)
    }

    /// The elements; none for null.
    pub fn rows(&self, name: &str) -> Vec<Row<'a>> {
        match self.get(name) {
            (Kind::Struct(place), Value::Array(rows)) => {
                rows.iter().map(|row| Self::at(self.message, place, row)).collect()
            }
            _ => Vec::new(),
        }
    }

    pub fn ints<T: TryFrom<i64>>(&self, name: &str) -> Vec<T> {
        let Value::Array(numbers) = self.get(name).1 else {
            return Vec::new();
        };
        let number = |value: &Value| match value {
            Value::Integer(number) => T::try_from(*number).ok().unwrap(),
            other => panic!("{name} has {other:?}"),
        };
        numbers.iter().map(number).collect()
    }

    /// Two numbers of a tagged struct; `None` when they are the defaults, which are left out.
    pub fn pair<A, B>(&self, name: &str, first: &str, second: &str) -> Option<(A, B)>
    where
        A: TryFrom<i64>,
        B: TryFrom<i64>,
    {
        let row = self.row(name);
        let is_default = [first, second].iter().all(|field| row.int::<i64>(field) == -1);
        (!is_default).then(|| (row.int(first), row.int(second)))
    }

    pub fn endpoints(&self, name: &str) -> Vec<NodeEndpoint<'a>> {
        let endpoint = |row: Row<'a>| NodeEndpoint {
            node_id: row.int("NodeId"),
            host: row.text("Host").unwrap(),
            port: row.int("Port"),
            rack: row.text("Rack"),
        };
        self.rows(name).into_iter().map(endpoint).collect()
    }
}

/// A message, or a struct in it, that is changed: to what the code by hand is for.
pub struct Change<'a> {
    message: &'static Message,
    of: &'static Struct,
    value: &'a mut Value,
}

impl<'a> Change<'a> {
    pub fn new(message: &'static Message, value: &'a mut Value) -> Self {
        let of = &message.structs[0];
        Self { message, of, value }
    }

    pub fn set(&mut self, name: &str, to: Value) {
        let Value::Struct(fields) = &mut *self.value else {
            return;
        };
        fields[index(self.of, name)] = to;
    }

    /// Sets a field to `to` where it is null.
    pub fn fill(&mut self, name: &str, to: &str) {
        if Row::at(self.message, self.of.place, self.value).is_null(name) {
            self.set(name, text(to));
        }
    }

    /// Calls `with` for each element of an array of structs.
    pub fn each(&mut self, name: &str, mut with: impl FnMut(usize, &mut Change<'_>)) {
        let index = index(self.of, name);
        let (Kind::Struct(place), Value::Struct(fields)) = (self.of.fields[index].kind, &mut *self.value) else {
            return;
        };
        let of = &self.message.structs[place];
        if let Value::Array(rows) = &mut fields[index] {
            for (nth, value) in rows.iter_mut().enumerate() {
                let message = self.message;
                with(nth, &mut Change { message, of, value });
            }
        }
    }

    /// Drops the topics that have no partitions.
    pub fn without_empty(&mut self, topics: &str, partitions: &str) {
        let index = index(self.of, topics);
        let (Kind::Struct(place), Value::Struct(fields)) = (self.of.fields[index].kind, &mut *self.value) else {
            return;
        };
        if let Value::Array(rows) = &mut fields[index] {
            let of = &self.message.structs[place];
            rows.retain(|row| Row::at(self.message, of.place, row).get(partitions).1 != &Value::Array(Vec::new()));
        }
    }
}

/// A value of defaults but for some fields of its first struct.
pub fn made<const N: usize>(message: &'static Message, fields: [(&str, Value); N]) -> Value {
    made_part(message, message.structs[0].name, fields)
}

/// As [`made`], of a struct in it.
pub fn made_part<const N: usize>(message: &'static Message, name: &str, fields: [(&str, Value); N]) -> Value {
    let of = message.struct_named(name).unwrap();
    let Value::Struct(mut values) = Value::default_struct(message, of.place) else {
        unreachable!();
    };
    for (name, value) in fields {
        values[index(of, name)] = value;
    }
    Value::Struct(values)
}

/// As [`made_part`], of a topic that is named by its name in the field `name`, or by its id.
pub fn made_topic(
    message: &'static Message,
    of: &str,
    (name, topic): (&str, &TopicKey),
    body: &[u8],
    (partitions, rows): (&str, Vec<Value>),
) -> Value {
    let key = match topic {
        TopicKey::Name(at) => (name, text_at(body, Some(at))),
        TopicKey::Id(id) => ("TopicId", Value::Uuid(*id)),
    };
    made_part(message, of, [key, (partitions, Value::Array(rows))])
}

/// The text at a position of a body.
pub fn text_at(body: &[u8], at: Option<&Range<usize>>) -> Value {
    at.map_or(Value::Null, |at| text(std::str::from_utf8(&body[at.clone()]).unwrap()))
}

/// The bytes at a position of a body.
pub fn bytes_at(body: &[u8], at: Option<&Range<usize>>) -> Value {
    at.map_or(Value::Null, |at| Value::Bytes(body[at.clone()].to_vec()))
}

fn index(of: &Struct, name: &str) -> usize {
    let found = of.fields.iter().position(|field| field.name == name);
    found.unwrap_or_else(|| panic!("{} has no {name}", of.name))
}

/// A number of any width.
pub fn number(number: impl Into<i64>) -> Value {
    Value::Integer(number.into())
}

/// A string.
pub fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}
