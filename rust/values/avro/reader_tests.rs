//! Avro values of a writer's schema, read with the schemas of readers.

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, StructArray};
use arrow_schema::DataType;

use super::super::cursor::Cursor;
use super::super::default::encode;
use super::super::plan::Plan;
use super::super::schema::{data_type_of, parse};
use crate::columns::Structs;
use crate::decoder::Decoded;
use crate::{ValueDecoder, ValueSpec};

/// The row that a writer's value has with a reader's schema.
fn resolved(writer: &str, reader: &str, value: &serde_json::Value) -> StructArray {
    let (writer, reader) = (parse(writer).unwrap(), parse(reader).unwrap());
    let bytes = encode(&writer, value, "value").unwrap();
    let DataType::Struct(fields) = data_type_of(&reader).unwrap() else {
        panic!("no record")
    };
    let wanted = DataType::Struct(fields.clone());
    let plan = Plan::of(&writer, Some(&reader), Some(&wanted)).unwrap();
    let Plan::Record(record) = plan else {
        panic!("no record")
    };
    let mut rows = Structs::new(&fields).unwrap();
    let mut cursor = Cursor(&bytes);
    record.append(&mut cursor, &mut rows).unwrap();
    assert!(cursor.0.is_empty());
    rows.finish().unwrap()
}

#[test]
fn a_readers_schema_promotes_renames_skips_and_fills_in() {
    let writer = r#"{"type":"record","name":"w","fields":[
        {"name":"skipped","type":{"type":"array","items":"string"}},
        {"name":"n","type":"int"}, {"name":"old","type":["null","float"]},
        {"name":"day","type":{"type":"int","logicalType":"date"}}]}"#;
    let reader = r#"{"type":"record","name":"r","fields":[
        {"name":"new","aliases":["old"],"type":["null","double"]},
        {"name":"n","type":"long"},
        {"name":"added","type":"string","default":"é"},
        {"name":"tags","type":{"type":"array","items":"string"},"default":["a","b"]},
        {"name":"absent","type":["null","long"],"default":null},
        {"name":"day","type":{"type":"int","logicalType":"date"}}]}"#;
    let value = serde_json::json!({"skipped": ["x", "y"], "n": -7, "old": 1.5, "day": 19782});
    let row = resolved(writer, reader, &value);
    assert_eq!(row.column(0).as_primitive::<Float64Type>().values(), &[1.5]);
    assert_eq!(row.column(1).as_primitive::<Int64Type>().value(0), -7);
    assert_eq!(row.column(2).as_string::<i32>().value(0), "é");
    assert_eq!(row.column(3).as_list::<i32>().value(0).as_string::<i32>().value(1), "b");
    assert!(row.column(4).is_null(0));
    assert_eq!(row.column(5).as_primitive::<Date32Type>().value(0), 19782);
}

#[test]
fn schemas_that_do_not_fit_are_refused() {
    let of = |kind: &str| {
        parse(&format!(
            r#"{{"type":"record","name":"r","fields":[{{"name":"a","type":{kind}}}]}}"#
        ))
    };
    let plan = |writer: &str, reader: &str| {
        let reader = of(reader).unwrap();
        let wanted = data_type_of(&reader).unwrap();
        Plan::of(&of(writer).unwrap(), Some(&reader), Some(&wanted)).map(drop)
    };
    assert!(plan("\"int\"", "\"double\"").is_ok());
    for (writer, reader) in [
        ("\"double\"", "\"int\""),
        ("\"string\"", "\"long\""),
        ("{\"type\":\"array\",\"items\":\"int\"}", "\"int\""),
    ] {
        let error = plan(writer, reader).unwrap_err().to_string();
        assert!(error.contains("cannot be read as"), "{error}");
    }
    let own = r#"{"type":"record","name":"r","fields":[{"name":"next","type":["null","r"]}]}"#;
    assert!(parse(own).unwrap_err().to_string().contains("contains itself"));
}

/// A thousand types, each within the next, overflowed the stack of a thread of Java's.
#[test]
fn schemas_that_their_named_types_make_too_large_are_refused() {
    let of = |names: usize, uses: &[&str]| {
        let first = r#"{"name":"f0","type":{"type":"record","name":"R0","fields":[{"name":"a","type":"int"}]}}"#;
        let mut fields = vec![first.to_owned()];
        for n in 1..=names {
            let inner: Vec<String> = uses
                .iter()
                .map(|name| format!(r#"{{"name":"{name}","type":"R{}"}}"#, n - 1))
                .collect();
            let inner = inner.join(",");
            fields.push(format!(
                r#"{{"name":"f{n}","type":{{"type":"record","name":"R{n}","fields":[{inner}]}}}}"#
            ));
        }
        parse(&format!(
            r#"{{"type":"record","name":"r","fields":[{}]}}"#,
            fields.join(",")
        ))
    };
    assert!(of(50, &["x"]).is_ok());
    assert!(of(10, &["x", "y"]).is_ok());
    let error = of(1000, &["x"]).unwrap_err().to_string();
    assert!(error.contains("nested too deep"), "{error}");
    let error = of(40, &["x", "y"]).unwrap_err().to_string();
    assert!(error.contains("more than 20000 parts"), "{error}");
}

fn decoded(spec: &ValueSpec, values: &[&[u8]]) -> Decoded {
    let mut array = BinaryBuilder::new();
    for value in values {
        array.append_value(value);
    }
    ValueDecoder::new(spec, &spec.fields().unwrap())
        .unwrap()
        .decode(&array.finish())
        .unwrap()
}

#[test]
fn values_that_are_cut_or_lie_about_their_lengths_are_bad() {
    let schema = r#"{"type":"record","name":"r","fields":[{"name":"s","type":"string"},
        {"name":"l","type":{"type":"array","items":"null"}},
        {"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}},
        {"name":"d","type":{"type":"fixed","name":"f","size":3,"logicalType":"decimal","precision":5,"scale":2}}]}"#;
    let schema = schema.replace("\"items\":\"null\"", "\"items\":\"long\"");
    let spec = crate::decoder::tests::spec(&[("valueFormat", "avro"), ("valueSchema", &schema)]);
    let good: &[u8] = &[2, b'x', 0, 4, 0xff, 0xff, 0x9c];
    let values: Vec<Vec<u8>> = vec![
        good.to_vec(),
        good[..6].to_vec(),
        [good, &[0]].concat(),
        vec![0xfe, 0xff, 0xff, 0xff, 0x0f, b'x'],          // a length of 2 GiB
        vec![0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], // a count of 2^47
        vec![1, b'x', 0, 4, 0, 0, 0],                      // a negative length
        vec![2, 0xff, 0, 4, 0, 0, 0],                      // no UTF-8
        vec![0, 0, 4, 0x7f, 0xff, 0xff],                   // too many digits
        vec![
            0, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0, 0, 0,
        ], // too late for microseconds
        vec![0xff; 40],
    ];
    let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
    let found = decoded(&spec, &values);
    assert_eq!(found.bad, (1..values.len()).collect::<Vec<_>>());
    assert_eq!(found.values.column(0).as_string::<i32>().value(0), "x");
    assert_eq!(
        found
            .values
            .column(2)
            .as_primitive::<TimestampMicrosecondType>()
            .value(0),
        2000
    );
    assert_eq!(found.values.column(3).as_primitive::<Decimal128Type>().value(0), -100);
}
