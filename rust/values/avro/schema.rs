//! Avro schemas, and the types that Spark gives them.
//!
//! Source: Apache Avro 1.12 specification, "Schema Declaration"; Spark's `SchemaConverters`. A schema that contains
//! itself has no type in Spark and none here.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, Fields};
use serde_json::Value;

use crate::error::{Result, invalid};
use crate::types::{MAX_NESTING, MAX_PARTS, decimal, list_of, map_of, named, timestamp};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Avro {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    Text,
    Fixed(usize),
    Enum(Vec<String>),
    Date,
    /// Milliseconds (`true`) or microseconds; a moment (`true`) or a clock's reading.
    Timestamp {
        is_millis: bool,
        is_moment: bool,
    },
    /// The unscaled value, big-endian, in bytes or in a fixed number of them.
    Decimal {
        fixed: Option<usize>,
        precision: u8,
        scale: i8,
    },
    Array(Box<Avro>),
    Map(Box<Avro>),
    Union(Vec<Avro>),
    Record(Vec<AvroField>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct AvroField {
    pub(super) name: String,
    pub(super) aliases: Vec<String>,
    pub(super) schema: Avro,
    pub(super) default: Option<Value>,
}

/// The fields that a value of the schema has in Spark.
pub(crate) fn fields_of(schema: &str) -> Result<Fields> {
    match data_type_of(&parse(schema)?)? {
        DataType::Struct(fields) if !fields.is_empty() => Ok(fields),
        _ => invalid("valueSchema: the Avro schema is no record with fields; give a record"),
    }
}

pub(super) fn parse(text: &str) -> Result<Avro> {
    let Ok(json) = serde_json::from_str::<Value>(text) else {
        return invalid(format!("valueSchema: {text:?} is no JSON; give an Avro schema"));
    };
    let mut parser = SchemaParser {
        named: HashMap::new(),
        parts: 0,
    };
    parser.schema(&json, "", 0)
}

struct SchemaParser {
    /// By full name, with its extent; `None` while the type is being read.
    named: HashMap<String, Option<(Avro, SchemaExtent)>>,
    parts: usize,
}

/// How deep a schema is nested, and how many parts it has.
#[derive(Debug, Clone, Copy)]
struct SchemaExtent {
    nesting: usize,
    parts: usize,
}

impl SchemaExtent {
    fn of(schema: &Avro) -> Self {
        let within = match schema {
            Avro::Array(inner) | Avro::Map(inner) => Self::deepest([&**inner]),
            Avro::Union(branches) => Self::deepest(branches),
            Avro::Record(fields) => Self::deepest(fields.iter().map(|field| &field.schema)),
            _ => return Self { nesting: 0, parts: 1 },
        };
        Self {
            nesting: within.nesting + 1,
            parts: within.parts + 1,
        }
    }

    fn deepest<'a>(schemas: impl IntoIterator<Item = &'a Avro>) -> Self {
        let none = Self { nesting: 0, parts: 0 };
        schemas.into_iter().map(Self::of).fold(none, |one, other| Self {
            nesting: one.nesting.max(other.nesting),
            parts: one.parts + other.parts,
        })
    }
}

impl SchemaParser {
    fn schema(&mut self, json: &Value, namespace: &str, depth: usize) -> Result<Avro> {
        self.count(depth, SchemaExtent { nesting: 0, parts: 1 })?;
        match json {
            Value::String(name) => self.named(name, namespace, depth),
            Value::Array(branches) => {
                let branches = branches.iter().map(|branch| self.schema(branch, namespace, depth + 1));
                Ok(Avro::Union(branches.collect::<Result<_>>()?))
            }
            Value::Object(_) => self.object(json, namespace, depth),
            other => invalid(format!("valueSchema: {other} is no Avro schema")),
        }
    }

    /// Counts a schema that stands at this depth.
    fn count(&mut self, depth: usize, extent: SchemaExtent) -> Result<()> {
        if depth + extent.nesting > MAX_NESTING {
            return invalid("valueSchema: the Avro schema is nested too deep");
        }
        self.parts += extent.parts;
        if self.parts > MAX_PARTS {
            return invalid(format!(
                "valueSchema: the Avro schema has more than {MAX_PARTS} parts, with those of named types wherever they \
                 are used; give a smaller one"
            ));
        }
        Ok(())
    }

    fn named(&mut self, name: &str, namespace: &str, depth: usize) -> Result<Avro> {
        Ok(match name {
            "null" => Avro::Null,
            "boolean" => Avro::Boolean,
            "int" => Avro::Int,
            "long" => Avro::Long,
            "float" => Avro::Float,
            "double" => Avro::Double,
            "bytes" => Avro::Bytes,
            "string" => Avro::Text,
            _ => {
                let found = self
                    .named
                    .get(&full_name(name, namespace))
                    .or_else(|| self.named.get(name));
                return match found {
                    Some(Some((schema, extent))) => {
                        let (schema, extent) = (schema.clone(), *extent);
                        self.count(depth, extent)?;
                        Ok(schema)
                    }
                    Some(None) => invalid(format!(
                        "valueSchema: the Avro type {name} contains itself, which has no type in Spark"
                    )),
                    None => invalid(format!("valueSchema: there is no Avro type {name}")),
                };
            }
        })
    }

    fn object(&mut self, json: &Value, namespace: &str, depth: usize) -> Result<Avro> {
        let Some(kind) = json["type"].as_str() else {
            return self.schema(&json["type"], namespace, depth + 1);
        };
        match kind {
            "array" => Ok(Avro::Array(Box::new(self.schema(
                &json["items"],
                namespace,
                depth + 1,
            )?))),
            "map" => Ok(Avro::Map(Box::new(self.schema(
                &json["values"],
                namespace,
                depth + 1,
            )?))),
            "record" | "error" | "enum" | "fixed" => {
                let Some(name) = json["name"].as_str() else {
                    return invalid(format!("valueSchema: an Avro type {kind} has no name"));
                };
                let full = full_name(name, json["namespace"].as_str().unwrap_or(namespace));
                let inner = full.rsplit_once('.').map_or("", |(namespace, _)| namespace).to_owned();
                self.named.insert(full.clone(), None);
                let schema = self.declared(kind, json, &inner, depth)?;
                self.named
                    .insert(full, Some((schema.clone(), SchemaExtent::of(&schema))));
                Ok(schema)
            }
            plain => logical(self.named(plain, namespace, depth)?, json),
        }
    }

    fn declared(&mut self, kind: &str, json: &Value, namespace: &str, depth: usize) -> Result<Avro> {
        match kind {
            "enum" => Ok(Avro::Enum(texts(&json["symbols"]))),
            "fixed" => match json["size"].as_u64().and_then(|size| usize::try_from(size).ok()) {
                Some(size) => logical(Avro::Fixed(size), json),
                None => invalid("valueSchema: an Avro type fixed has no size"),
            },
            _ => {
                let Some(given) = json["fields"].as_array() else {
                    return invalid("valueSchema: an Avro record has no fields");
                };
                let field_of = |field: &Value| {
                    let Some(name) = field["name"].as_str() else {
                        return invalid("valueSchema: a field of an Avro record has no name");
                    };
                    Ok(AvroField {
                        name: name.to_owned(),
                        aliases: texts(&field["aliases"]),
                        schema: self.schema(&field["type"], namespace, depth + 1)?,
                        default: field.get("default").cloned(),
                    })
                };
                Ok(Avro::Record(given.iter().map(field_of).collect::<Result<_>>()?))
            }
        }
    }
}

fn texts(json: &Value) -> Vec<String> {
    let texts = json.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

fn full_name(name: &str, namespace: &str) -> String {
    if name.contains('.') || namespace.is_empty() {
        return name.to_owned();
    }
    format!("{namespace}.{name}")
}

/// The schema with its logical type; one that is not known, or does not fit, is ignored, as Avro demands.
fn logical(schema: Avro, json: &Value) -> Result<Avro> {
    let timestamp = |is_millis, is_moment| Avro::Timestamp { is_millis, is_moment };
    Ok(match (json["logicalType"].as_str(), &schema) {
        (Some("date"), Avro::Int) => Avro::Date,
        (Some("timestamp-millis"), Avro::Long) => timestamp(true, true),
        (Some("timestamp-micros"), Avro::Long) => timestamp(false, true),
        (Some("local-timestamp-millis"), Avro::Long) => timestamp(true, false),
        (Some("local-timestamp-micros"), Avro::Long) => timestamp(false, false),
        (Some("decimal"), Avro::Bytes | Avro::Fixed(_)) => {
            let precision = json["precision"].as_u64().unwrap_or_default();
            let scale = json["scale"].as_u64().unwrap_or_default();
            decimal("valueSchema", precision, scale)?;
            let fixed = if let Avro::Fixed(size) = schema {
                Some(size)
            } else {
                None
            };
            Avro::Decimal {
                fixed,
                precision: precision as u8,
                scale: scale as i8,
            }
        }
        _ => schema,
    })
}

/// The branches that are not null, each with its place in the union.
pub(super) fn branches(union: &[Avro]) -> Vec<(usize, &Avro)> {
    union.iter().enumerate().filter(|(_, it)| **it != Avro::Null).collect()
}

/// Spark's type of a schema.
pub(super) fn data_type_of(schema: &Avro) -> Result<DataType> {
    Ok(match schema {
        Avro::Null => return invalid("valueSchema: an Avro field that is always null has no type; leave it out"),
        Avro::Boolean => DataType::Boolean,
        Avro::Int => DataType::Int32,
        Avro::Long => DataType::Int64,
        Avro::Float => DataType::Float32,
        Avro::Double => DataType::Float64,
        Avro::Bytes | Avro::Fixed(_) => DataType::Binary,
        Avro::Text | Avro::Enum(_) => DataType::Utf8,
        Avro::Date => DataType::Date32,
        Avro::Timestamp { is_moment, .. } => timestamp(*is_moment),
        Avro::Decimal { precision, scale, .. } => DataType::Decimal128(*precision, *scale),
        Avro::Array(items) => list_of(data_type_of(items)?),
        Avro::Map(values) => map_of(DataType::Utf8, data_type_of(values)?),
        Avro::Record(fields) => {
            let field_of = |field: &AvroField| Ok(named(&field.name, data_type_of(&field.schema)?));
            DataType::Struct(fields.iter().map(field_of).collect::<Result<Vec<Field>>>()?.into())
        }
        Avro::Union(union) => match branches(union)[..] {
            [(_, only)] => data_type_of(only)?,
            [(_, Avro::Int | Avro::Long), (_, Avro::Int | Avro::Long)] => DataType::Int64,
            [(_, Avro::Float | Avro::Double), (_, Avro::Float | Avro::Double)] => DataType::Float64,
            [] => return data_type_of(&Avro::Null),
            ref several => {
                let members = several.iter().enumerate();
                let member_of = |(at, (_, branch)): (usize, &(usize, &Avro))| {
                    Ok(named(&format!("member{at}"), data_type_of(branch)?))
                };
                DataType::Struct(members.map(member_of).collect::<Result<Vec<Field>>>()?.into())
            }
        },
    })
}
