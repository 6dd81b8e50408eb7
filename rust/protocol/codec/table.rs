//! The table of all messages: facts of Kafka, as statics.
//!
//! `build.rs` makes the statics out of `messages/**/*.txt`; the grammar of those files is in `build/grammar.rs`. The
//! table is the union of Kafka 3.9 and 4.4, and of this project's own `AdoptSegments`. Which versions are served is
//! said elsewhere. Invariants, checked by the build: a struct's place is its index in its message, structs do not
//! nest in themselves, tagged fields are in flexible versions only, only what may be null has null as its default.

use std::sync::OnceLock;

use crate::codec::schema::Schema;

pub use facts::{MESSAGES, STRUCT_COUNT};

#[expect(clippy::unreadable_literal, reason = "made by a program")]
mod facts {
    use super::{Field, Kind, Literal, Message, MessageKind, Schema, Struct, Versions};

    include!(concat!(env!("OUT_DIR"), "/messages.rs"));
}

/// A range of versions, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// The first.
    pub first: i16,
    /// The last; the greatest number where there is no end.
    pub last: i16,
}

impl Versions {
    /// Whether a version is one of these.
    pub const fn has(self, version: i16) -> bool {
        self.first <= version && version <= self.last
    }
}

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// A request's body.
    Request,
    /// A response's body.
    Response,
    /// What stands before a body.
    Header,
    /// Bytes inside of records or of other messages.
    Data,
    /// The key of a coordinator's record; the message's key is the version that stands before it.
    CoordinatorKey,
    /// The value of a coordinator's record.
    CoordinatorValue,
}

/// One message in all its versions.
#[derive(Debug)]
pub struct Message {
    /// What it is for.
    pub kind: MessageKind,
    /// Kafka's name.
    pub name: &'static str,
    /// The name of its file in the table, without the suffix.
    pub module: &'static str,
    /// The API's key, or the kind of record.
    pub key: Option<i16>,
    /// The versions of the table.
    pub versions: Versions,
    /// The versions with varint lengths and tagged fields (KIP-482).
    pub flexible: Option<Versions>,
    /// The versions that Kafka offers only when it is told to.
    pub unstable: Option<Versions>,
    /// Kafka's listeners that take this request.
    pub listeners: &'static [&'static str],
    /// The first has the message's own fields.
    pub structs: &'static [Struct],
    pub(crate) schemas: &'static [OnceLock<Schema>],
}

/// The fields of a message or of a part of it.
#[derive(Debug)]
pub struct Struct {
    /// Kafka's name.
    pub name: &'static str,
    /// Its number among all structs, below [`STRUCT_COUNT`].
    pub number: usize,
    /// Its index in [`Message::structs`].
    pub place: usize,
    /// All fields of all versions, in the order in which they are written.
    pub fields: &'static [Field],
}

/// One field.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Field {
    /// Kafka's name.
    pub name: &'static str,
    /// The name in words with underscores.
    pub snake_name: &'static str,
    /// The type of it, or of its elements.
    pub kind: Kind,
    /// Whether it is an array.
    pub is_array: bool,
    /// The versions that have it.
    pub versions: Versions,
    /// The tag of a tagged field.
    pub tag: Option<u32>,
    /// The versions in which it may be null.
    pub nullable: Option<Versions>,
    /// The default, where Kafka says one.
    pub default: Option<Literal>,
    /// Whether another value than the default may be left out in a version that has not the field.
    pub is_ignorable: bool,
    /// Whether the array is a set by this field.
    pub is_key: bool,
    /// Whether a length is never a varint.
    pub is_plain: bool,
}

/// The type of a field or of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One byte; all but 0 is true.
    Bool,
    /// One byte.
    Int8,
    /// Two bytes.
    Int16,
    /// Two bytes without a sign.
    UInt16,
    /// Four bytes.
    Int32,
    /// Four bytes without a sign.
    UInt32,
    /// Eight bytes.
    Int64,
    /// Eight bytes.
    Float64,
    /// An int16 that is one of Kafka's error codes.
    ErrorCode,
    /// Sixteen bytes; all zero is none.
    Uuid,
    /// UTF-8 of at most 32767 bytes.
    Text,
    /// Bytes.
    Bytes,
    /// Record batches.
    Records,
    /// The struct of the message at this place.
    Struct(usize),
}

/// A default that the table says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Literal {
    /// Null.
    Null,
    /// The empty string.
    Empty,
    /// A truth value.
    Bool(bool),
    /// A number.
    Integer(i64),
}

impl Message {
    /// One version, laid out; `None` for a version that the table has not. Laid out once, at the first call.
    pub fn schema(&'static self, version: i16) -> Option<&'static Schema> {
        let nth = usize::try_from(i32::from(version) - i32::from(self.versions.first)).ok()?;
        Some(self.schemas.get(nth)?.get_or_init(|| Schema::new(self, version)))
    }

    /// Whether a version has varint lengths and tagged fields.
    pub fn is_flexible(&self, version: i16) -> bool {
        self.flexible.is_some_and(|versions| versions.has(version))
    }

    /// The struct of this name.
    pub fn struct_named(&self, name: &str) -> Option<&'static Struct> {
        self.structs.iter().find(|one| one.name == name)
    }
}

impl Field {
    /// Whether null is its default.
    pub fn is_null_by_default(&self) -> bool {
        self.default == Some(Literal::Null) || (self.kind == Kind::Records && !self.is_array)
    }

    /// Whether it may be null in a version.
    pub fn is_nullable(&self, version: i16) -> bool {
        self.nullable.is_some_and(|versions| versions.has(version))
    }
}

/// The request of an API.
pub fn request(api_key: i16) -> Option<&'static Message> {
    found(facts::REQUESTS, api_key)
}

/// The response of an API.
pub fn response(api_key: i16) -> Option<&'static Message> {
    found(facts::RESPONSES, api_key)
}

/// The message of this name.
pub fn message(name: &str) -> Option<&'static Message> {
    let nth = facts::NAMES.binary_search_by(|(one, _)| (*one).cmp(name)).ok()?;
    MESSAGES.get(facts::NAMES.get(nth)?.1)
}

fn found(index: &'static [(i16, usize)], key: i16) -> Option<&'static Message> {
    let nth = index.binary_search_by_key(&key, |(one, _)| *one).ok()?;
    MESSAGES.get(index.get(nth)?.1)
}
