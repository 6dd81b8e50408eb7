use proptest::prelude::*;

use super::random::{self, Random};
use crate::codec::table::{MESSAGES, Message};
use crate::codec::{EncodeError, Limits, Schema, Value, ValueBuilder, decode, encode, table};
use crate::error::WireError;

fn schemas() -> impl Iterator<Item = (&'static Message, &'static Schema)> {
    MESSAGES.iter().flat_map(|message| {
        (message.versions.first..=message.versions.last).map(move |version| (message, message.schema(version).unwrap()))
    })
}

pub(super) fn read(schema: &'static Schema, bytes: &[u8]) -> Result<Value, WireError> {
    let mut builder = ValueBuilder {
        message: schema.message,
    };
    decode(schema, bytes, Limits::NONE, &mut builder)
}

#[test]
fn every_message_is_read_as_it_was_written_in_every_version() {
    let mut random = Random(7);
    for (message, schema) in schemas() {
        for _ in 0..20 {
            let value = random::structure(schema, 0, &mut random);
            let bytes = encode(schema, &value).unwrap();
            assert_eq!(
                read(schema, &bytes).as_ref(),
                Ok(&value),
                "{} {}",
                message.name,
                schema.version
            );
        }
    }
}

#[test]
fn every_typed_message_is_written_as_it_was_read_in_every_version_and_never_read_beyond_its_end() {
    let mut random = Random(9);
    let mut versions = 0;
    for (message, schema) in schemas() {
        for nth in 0..50 {
            let bytes = encode(schema, &random::structure(schema, 0, &mut random)).unwrap();
            let Some(again) = crate::messages::again(message.name, schema.version, &bytes) else {
                break;
            };
            assert_eq!(again.as_ref(), Ok(&bytes), "{} {}", message.name, schema.version);
            for end in 0..bytes.len().min(200) {
                let cut = crate::messages::again(message.name, schema.version, &bytes[..end]);
                assert!(cut.unwrap().is_err(), "{} {}: {end}", message.name, schema.version);
            }
            versions += usize::from(nth == 0);
        }
    }
    assert_eq!(versions, 107);
}

#[test]
fn every_truncation_and_extension_is_refused_in_every_version() {
    let mut random = Random(8);
    for (message, schema) in schemas() {
        let value = random::structure(schema, 0, &mut random);
        let mut bytes = encode(schema, &value).unwrap();
        for end in 0..bytes.len().min(500) {
            assert!(
                read(schema, &bytes[..end]).is_err(),
                "{} {}",
                message.name,
                schema.version
            );
        }
        bytes.push(7);
        assert_eq!(read(schema, &bytes), Err(WireError::TrailingBytes), "{}", message.name);
    }
}

#[test]
fn defaults_are_written_as_the_schema_says() {
    for (message, schema) in schemas() {
        let value = Value::default_struct(message, 0);
        let Ok(bytes) = encode(schema, &value) else {
            continue; // null is the default of a field that may not be null in this version
        };
        let expected: Vec<u8> = schema.layouts[0]
            .slots
            .iter()
            .flat_map(|slot| slot.default_bytes.to_vec())
            .collect();
        assert_eq!(bytes[..expected.len()], expected, "{} {}", message.name, schema.version);
        assert_eq!(
            bytes.len(),
            expected.len() + usize::from(schema.is_flexible),
            "{}",
            message.name
        );
    }
}

fn set(message: &'static Message, name: &str, value: Value) -> Value {
    let Value::Struct(mut fields) = Value::default_struct(message, 0) else {
        unreachable!()
    };
    let index = message.structs[0]
        .fields
        .iter()
        .position(|field| field.name == name)
        .unwrap();
    fields[index] = value;
    Value::Struct(fields)
}

#[test]
fn request_with_a_value_that_its_version_cannot_carry_is_refused_unless_it_is_ignorable() {
    let join = table::request(11).unwrap();
    let with_instance = set(join, "GroupInstanceId", Value::Text("i".to_owned()));
    assert_eq!(
        encode(join.schema(4).unwrap(), &with_instance),
        Err(EncodeError::NotInVersion {
            of: "JoinGroupRequest",
            field: "group_instance_id",
            version: 4
        })
    );
    assert!(encode(join.schema(5).unwrap(), &with_instance).is_ok());
    let with_timeout = set(join, "RebalanceTimeoutMs", Value::Integer(5));
    assert!(encode(join.schema(0).unwrap(), &with_timeout).is_ok());
}

#[test]
fn long_string_is_cut_between_characters_in_a_response_and_refused_in_a_request() {
    let long = Value::Text("\u{20ac}".repeat(20_000));
    let join = table::response(11).unwrap();
    let bytes = encode(join.schema(9).unwrap(), &set(join, "Leader", long.clone())).unwrap();
    let Ok(Value::Struct(fields)) = read(join.schema(9).unwrap(), &bytes) else {
        panic!()
    };
    assert!(fields.contains(&Value::Text("\u{20ac}".repeat(10_922))));
    let request = table::request(11).unwrap();
    assert!(matches!(
        encode(request.schema(9).unwrap(), &set(request, "GroupId", long)),
        Err(EncodeError::StringTooLong { .. })
    ));
}

#[test]
fn field_of_another_version_has_its_default_when_it_is_read() {
    let join = table::request(11).unwrap();
    let bytes = encode(join.schema(0).unwrap(), &Value::default_struct(join, 0)).unwrap();
    assert_eq!(
        read(join.schema(0).unwrap(), &bytes),
        Ok(Value::default_struct(join, 0))
    );
}

proptest! {
    #[test]
    fn any_seed_gives_values_that_are_read_as_written(seed in 1_u64.., nth in 0..MESSAGES.len()) {
        let message = &MESSAGES[nth];
        for version in message.versions.first..=message.versions.last {
            let schema = message.schema(version).unwrap();
            let value = random::structure(schema, 0, &mut Random(seed));
            let bytes = encode(schema, &value).unwrap();
            prop_assert_eq!(read(schema, &bytes), Ok(value));
        }
    }
}
