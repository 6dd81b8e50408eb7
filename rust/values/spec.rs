//! How values are parsed: the options, checked, with all that a reader on another machine needs.
//!
//! [`ValueSpec::parse`] reads schema files and asks a registry, on the driver; the spec is sent to the readers as JSON.
//! Names of options are those of Spark's `from_json`, `from_avro` and `from_protobuf` and of Confluent's serializers.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

use arrow_schema::{DataType, Field, Fields};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::{Result, invalid};
use super::registry::SchemaRegistry;
use super::types::{parse_ddl, parse_spark_json, sql_name, to_spark_json};
use super::zone::Zone;
use super::{avro, protobuf};

/// Every option that is about values.
pub const OPTION_NAMES: [&str; 13] = [
    "valueFormat",
    "valueSchema",
    "valueSchemaFile",
    "messageName",
    "schemaRegistryUrl",
    "schemaRegistrySubject",
    "schemaRegistryBasicAuthUserInfo",
    "schemaRegistrySslCaLocation",
    "valueFraming",
    "mode",
    "columnNameOfCorruptRecord",
    "timeZone",
    "sep",
];
/// Those that have no meaning without `valueFormat`, and none elsewhere in Spark.
const ONLY_OF_VALUES: [&str; 8] = [
    "valueSchema",
    "valueSchemaFile",
    "messageName",
    "schemaRegistryUrl",
    "schemaRegistrySubject",
    "schemaRegistryBasicAuthUserInfo",
    "schemaRegistrySslCaLocation",
    "valueFraming",
];
/// Spark's default of `columnNameOfCorruptRecord`.
const CORRUPT_RECORD: &str = "_corrupt_record";
/// Bytes of a schema file at most.
const MAX_SCHEMA_BYTES: u64 = 16 << 20;

/// What values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueFormat {
    /// One JSON object.
    Json,
    /// One line of CSV.
    Csv,
    /// Avro's binary encoding, without a file's header.
    Avro,
    /// One Protocol Buffers message.
    Protobuf,
}

/// What is done with a value that does not fit; Spark's modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Mode {
    /// What does not fit is null.
    Permissive,
    /// The record is left out.
    DropMalformed,
    /// The read fails.
    FailFast,
}

/// What stands before a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueFraming {
    /// Nothing.
    None,
    /// Confluent's: a 0 byte and the schema's id in four bytes; before a Protocol Buffers message also its indexes.
    Confluent,
    /// Apicurio's: a 0 byte and the schema's global id in eight bytes.
    Apicurio,
}

/// How values are parsed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValueSpec {
    pub(super) format: ValueFormat,
    /// Spark's JSON, with the column of bad values.
    schema: Value,
    pub(super) mode: Mode,
    /// The field of the schema that has the values that do not fit.
    pub(super) corrupt_column: Option<String>,
    pub(super) framing: ValueFraming,
    time_zone: String,
    pub(super) separator: char,
    /// The schema of Avro's reader, as JSON.
    pub(super) avro_schema: Option<String>,
    /// The file descriptor set of Protocol Buffers, in base64.
    pub(super) descriptors: Option<String>,
    pub(super) message_name: Option<String>,
    pub(super) registry: Option<SchemaRegistry>,
}

/// The options by lower-case name.
struct OptionMap<'a> {
    values: BTreeMap<String, &'a str>,
    /// The topics that are read, as `subscribe` names them.
    subscribed: Option<&'a str>,
}

impl<'a> OptionMap<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.values.get(&name.to_lowercase()).copied();
        found.map(str::trim).filter(|value| !value.is_empty())
    }

    fn one_of<T: Copy>(&self, name: &str, default: T, known: &[(&str, T)]) -> Result<T> {
        let Some(value) = self.get(name) else {
            return Ok(default);
        };
        if let Some((_, found)) = known.iter().find(|(word, _)| word.eq_ignore_ascii_case(value)) {
            return Ok(*found);
        }
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        invalid(format!("{name}: {value} is none; say {}", words.join(", ")))
    }
}

const MODES: [(&str, Mode); 3] = [
    ("PERMISSIVE", Mode::Permissive),
    ("DROPMALFORMED", Mode::DropMalformed),
    ("FAILFAST", Mode::FailFast),
];
const FRAMINGS: [(&str, ValueFraming); 3] = [
    ("none", ValueFraming::None),
    ("confluent", ValueFraming::Confluent),
    ("apicurio", ValueFraming::Apicurio),
];
const FORMATS: [(&str, ValueFormat); 4] = [
    ("json", ValueFormat::Json),
    ("csv", ValueFormat::Csv),
    ("avro", ValueFormat::Avro),
    ("protobuf", ValueFormat::Protobuf),
];

impl ValueSpec {
    /// `None` when the options have no `valueFormat`: values are bytes.
    pub fn parse(options: &BTreeMap<String, String>) -> Result<Option<Self>> {
        let values: BTreeMap<_, _> = options
            .iter()
            .map(|(name, it)| (name.to_lowercase(), it.as_str()))
            .collect();
        let subscribed = values.get("subscribe").copied();
        let given = OptionMap { values, subscribed };
        if given.get("valueFormat").is_none() {
            if let Some(name) = ONLY_OF_VALUES.into_iter().find(|name| given.get(name).is_some()) {
                return invalid(format!(
                    "{name}: means nothing without valueFormat; set it to json, csv, avro or protobuf"
                ));
            }
            return Ok(None);
        }
        let format = given.one_of("valueFormat", ValueFormat::Json, &FORMATS)?;
        let time_zone = given.get("timeZone").unwrap_or("UTC").to_owned();
        let mut spec = Self {
            format,
            schema: Value::Null,
            mode: given.one_of("mode", Mode::Permissive, &MODES)?,
            corrupt_column: None,
            framing: given.one_of("valueFraming", ValueFraming::None, &FRAMINGS)?,
            time_zone,
            separator: separator_of(&given)?,
            avro_schema: None,
            descriptors: None,
            message_name: given.get("messageName").map(str::to_owned),
            registry: registry_of(&given)?,
        };
        let fields = match format {
            ValueFormat::Json | ValueFormat::Csv => spec.text_fields(&given)?,
            ValueFormat::Avro => {
                let schema = spec.avro_schema_of(&given)?;
                let fields = avro::fields_of(&schema)?;
                spec.avro_schema = Some(schema);
                spec.with_corrupt_column(&given, fields)?
            }
            ValueFormat::Protobuf => {
                let (descriptors, fields) = protobuf::load(given.get("valueSchemaFile"), given.get("messageName"))?;
                spec.descriptors = Some(descriptors);
                spec.with_corrupt_column(&given, fields)?
            }
        };
        spec.check_zone(&fields)?;
        spec.schema = to_spark_json(&fields)?;
        Ok(Some(spec))
    }

    fn text_fields(&mut self, given: &OptionMap<'_>) -> Result<Fields> {
        let (option, text) = schema_text(
            given,
            "Spark's DDL, as id BIGINT, name STRING, or what StructType.json gives",
        )?;
        let fields = if text.trim_start().starts_with('{') {
            parse_spark_json(option, &text)?
        } else {
            parse_ddl(option, &text)?
        };
        let name = given.get("columnNameOfCorruptRecord").unwrap_or(CORRUPT_RECORD);
        if let Some(field) = fields.iter().find(|field| field.name() == name) {
            if *field.data_type() != DataType::Utf8 {
                return invalid(format!(
                    "columnNameOfCorruptRecord: {name} is not of the type STRING in {option}; make it STRING"
                ));
            }
            self.corrupt_column = Some(name.to_owned());
        }
        if let Some(field) = fields.iter().find(|field| has_other_keys(field.data_type())) {
            return invalid(format!(
                "{option}: field {} has a map whose keys are not of the type STRING, as the names in JSON are; make \
                 them STRING",
                field.name()
            ));
        }
        if self.format == ValueFormat::Csv
            && let Some(field) = fields.iter().find(|field| field.data_type().is_nested())
        {
            return invalid(format!(
                "{option}: field {} is of the type {}, which CSV cannot have; read it as STRING",
                field.name(),
                sql_name(field.data_type())
            ));
        }
        Ok(fields)
    }

    /// The fields of a schema that is not Spark's have the column of bad values only when it is asked for.
    fn with_corrupt_column(&mut self, given: &OptionMap<'_>, fields: Fields) -> Result<Fields> {
        let Some(name) = given.get("columnNameOfCorruptRecord") else {
            return Ok(fields);
        };
        if fields.iter().any(|field| field.name() == name) {
            return invalid(format!(
                "columnNameOfCorruptRecord: the schema of values has a field {name}; give another name"
            ));
        }
        self.corrupt_column = Some(name.to_owned());
        let bad = Field::new(name, DataType::Binary, true);
        Ok(fields.iter().map(|field| field.as_ref().clone()).chain([bad]).collect())
    }

    fn avro_schema_of(&self, given: &OptionMap<'_>) -> Result<String> {
        let is_given = given.get("valueSchema").is_some() || given.get("valueSchemaFile").is_some();
        match &self.registry {
            Some(registry) if !is_given => registry.latest(&subject_of(given)?),
            _ => Ok(schema_text(given, "an Avro schema as JSON, or schemaRegistryUrl")?.1),
        }
    }

    fn check_zone(&self, fields: &Fields) -> Result<()> {
        let is_text = matches!(self.format, ValueFormat::Json | ValueFormat::Csv);
        if is_text && has_moments(fields) && Zone::parse(&self.time_zone).is_none() {
            return invalid(format!(
                "timeZone: {} is none; say UTC, an offset such as +02:00, or a region such as Europe/Paris",
                self.time_zone
            ));
        }
        Ok(())
    }

    /// The fields of a value.
    pub fn fields(&self) -> Result<Fields> {
        parse_spark_json("valueSchema", &self.schema.to_string())
    }

    /// The schema as Spark's JSON.
    pub const fn schema(&self) -> &Value {
        &self.schema
    }

    /// Whether a record may be left out because of its value.
    pub fn drops_records(&self) -> bool {
        self.mode == Mode::DropMalformed
    }

    /// Whether a bad value ends the read.
    pub fn fails(&self) -> bool {
        self.mode == Mode::FailFast
    }

    pub(super) fn zone(&self) -> Zone {
        Zone::parse(&self.time_zone).unwrap_or(Zone::UTC)
    }
}

fn registry_of(given: &OptionMap<'_>) -> Result<Option<SchemaRegistry>> {
    let (user_info, authorities) = ("schemaRegistryBasicAuthUserInfo", "schemaRegistrySslCaLocation");
    let Some(url) = given.get("schemaRegistryUrl") else {
        return match [user_info, authorities]
            .into_iter()
            .find(|name| given.get(name).is_some())
        {
            Some(name) => invalid(format!(
                "{name}: means nothing without schemaRegistryUrl; name the registry"
            )),
            None => Ok(None),
        };
    };
    SchemaRegistry::new(url, given.get(user_info), given.get(authorities)).map(Some)
}

fn has_moments(fields: &Fields) -> bool {
    fields.iter().any(|field| is_or_has_moments(field.data_type()))
}

fn is_or_has_moments(data_type: &DataType) -> bool {
    match data_type {
        DataType::Timestamp(_, zone) => zone.is_some(),
        DataType::List(inner) | DataType::Map(inner, _) => is_or_has_moments(inner.data_type()),
        DataType::Struct(fields) => has_moments(fields),
        _ => false,
    }
}

/// Whether there is a map within the type whose keys are no texts.
fn has_other_keys(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(element) => has_other_keys(element.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_other_keys(field.data_type())),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) if pair.len() == 2 => {
                *pair[0].data_type() != DataType::Utf8 || has_other_keys(pair[1].data_type())
            }
            _ => true,
        },
        _ => false,
    }
}

fn separator_of(given: &OptionMap<'_>) -> Result<char> {
    // Not trimmed: a tab or a space may be one.
    let text = given.values.get("sep").copied().unwrap_or(",");
    let text = if text == "\\t" { "\t" } else { text };
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(one), None) if one.is_ascii() && !matches!(one, '"' | '\\' | '\n' | '\r' | '\0') => Ok(one),
        _ => invalid(format!("sep: {text:?} is not one ASCII character; give one, such as ;")),
    }
}

/// The schema with the name of the option that has it.
fn schema_text<'a>(given: &OptionMap<'_>, wanted: &str) -> Result<(&'a str, String)> {
    match (given.get("valueSchema"), given.get("valueSchemaFile")) {
        (Some(_), Some(_)) => invalid("valueSchema, valueSchemaFile: both are given; give one of them"),
        (Some(text), None) => Ok(("valueSchema", text.to_owned())),
        (None, Some(path)) => {
            let bytes = read_schema_file(path)?;
            match String::from_utf8(bytes) {
                Ok(text) => Ok(("valueSchemaFile", text)),
                Err(_) => invalid(format!("valueSchemaFile: {path} is no text; give a file with {wanted}")),
            }
        }
        (None, None) => invalid(format!("valueSchema: missing; give {wanted}")),
    }
}

pub(super) fn read_schema_file(path: &str) -> Result<Vec<u8>> {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let read = fs::metadata(path).and_then(|found| {
        if !found.is_file() {
            return Err(std::io::Error::other("it is not a file"));
        }
        let file = fs::File::open(path)?;
        // not by the length that the file tells, which may grow
        let mut bytes = Vec::new();
        file.take(MAX_SCHEMA_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_SCHEMA_BYTES {
            return Err(std::io::Error::other("it is larger than 16 MiB"));
        }
        Ok(bytes)
    });
    read.or_else(|error| {
        invalid(format!(
            "valueSchemaFile: {path} cannot be read ({error}); name a file that the driver sees"
        ))
    })
}

/// The subject whose latest schema is the reader's: the option, else that of the only topic.
fn subject_of(given: &OptionMap<'_>) -> Result<String> {
    if let Some(subject) = given.get("schemaRegistrySubject") {
        return Ok(subject.to_owned());
    }
    let topics: Vec<&str> = given.subscribed.unwrap_or_default().split(',').map(str::trim).collect();
    match topics[..] {
        [topic] if !topic.is_empty() => Ok(format!("{topic}-value")),
        _ => invalid(
            "schemaRegistrySubject: missing, and several topics may be read; name the subject whose latest schema the \
             columns have, or give valueSchema",
        ),
    }
}
