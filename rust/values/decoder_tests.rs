//! Columns of values in every format and mode, hostile values among them.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, BinaryArray, StructArray};
use arrow_schema::Fields;
use proptest::prelude::*;

use super::{DecodeError, Decoded, ValueDecoder};
use crate::ValueSpec;
use crate::types::parse_ddl;

pub(crate) fn spec(options: &[(&str, &str)]) -> ValueSpec {
    let options: BTreeMap<_, _> = options
        .iter()
        .map(|(name, it)| ((*name).to_owned(), (*it).to_owned()))
        .collect();
    ValueSpec::parse(&options).unwrap().unwrap()
}

fn json(schema: &str, mode: &str) -> ValueSpec {
    spec(&[("valueFormat", "json"), ("valueSchema", schema), ("mode", mode)])
}

fn decoded(spec: &ValueSpec, values: &[Option<&str>]) -> Result<Decoded, DecodeError> {
    let bytes = values.iter().map(|value| value.map(str::as_bytes)).collect::<Vec<_>>();
    ValueDecoder::new(spec, &spec.fields().unwrap())
        .unwrap()
        .decode(&BinaryArray::from_opt_vec(bytes))
}

fn longs(rows: &StructArray, name: &str) -> Vec<Option<i64>> {
    rows.column_by_name(name)
        .unwrap()
        .as_primitive::<Int64Type>()
        .iter()
        .collect()
}

fn texts(rows: &StructArray, name: &str) -> Vec<Option<String>> {
    let column = rows.column_by_name(name).unwrap().as_string::<i32>();
    column.iter().map(|text| text.map(str::to_owned)).collect()
}

#[test]
fn a_tombstone_is_null_and_a_bad_value_a_struct_of_nulls() {
    let spec = json("a BIGINT, b STRING, _corrupt_record STRING", "permissive");
    let values = [
        Some(r#"{"b":1.50,"a":7}"#),
        None,
        Some("{"),
        Some(r#"{"a":"x","b":"y"}"#),
        Some(""),
    ];
    let found = decoded(&spec, &values).unwrap();
    assert_eq!(found.bad, [2, 3]);
    let rows = &found.values;
    let nulls: Vec<bool> = (0..5).map(|row| rows.is_null(row)).collect();
    assert_eq!(nulls, [false, true, false, false, true]);
    assert_eq!(longs(rows, "a"), [Some(7), None, None, None, None]);
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(texts(rows, "b"), [text("1.5"), None, None, text("y"), None]);
    let bad = texts(rows, "_corrupt_record");
    assert_eq!(bad, [None, None, text("{"), text(r#"{"a":"x","b":"y"}"#), None]);
}

#[test]
fn each_value_stands_alone() {
    let spec = json("a BIGINT, b BIGINT", "PERMISSIVE");
    let values = [
        Some(r#"{"a":1"#),
        Some(r#","b":2}"#),
        Some(r#"{"a":1}{"a":2}"#),
        Some(r#"{"a":1} 2"#),
        Some(r#"{"a":5}"#),
    ];
    let found = decoded(&spec, &values).unwrap();
    assert_eq!(found.bad, [0, 1, 2, 3]);
    assert_eq!(longs(&found.values, "a"), [None, None, None, None, Some(5)]);
}

#[test]
fn failing_fast_names_the_row_and_the_reason() {
    let spec = json("a BIGINT, b BIGINT", "FAILFAST");
    for (value, reason) in [(r#"{"a":1"#, "byte 6"), (r#"{"a":1,"b":"x"}"#, "field b has \"x\"")] {
        match decoded(&spec, &[Some("{}"), Some(value)]) {
            Err(DecodeError::Bad { row: 1, reason: found }) => assert!(found.contains(reason), "{found}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn whether_a_value_is_bad_does_not_depend_on_the_wanted_fields() {
    let values = BinaryArray::from_opt_vec(vec![Some(br#"{"a":1,"b":"x"}"#.as_slice())]);
    let wanted = parse_ddl("wanted", "a BIGINT").unwrap();
    for (mode, bad) in [("DROPMALFORMED", vec![0]), ("PERMISSIVE", vec![])] {
        let spec = json("a BIGINT, b BIGINT", mode);
        let found = ValueDecoder::new(&spec, &wanted).unwrap().decode(&values).unwrap();
        assert_eq!(found.bad, bad, "{mode}");
        assert_eq!(found.values.fields(), &wanted);
        assert_eq!(longs(&found.values, "a"), [Some(1)]);
    }
}

#[test]
fn nested_fields_are_narrowed_to_the_wanted_ones() {
    let schema = "s STRUCT<x: BIGINT, y: STRING>, l ARRAY<STRUCT<p: BIGINT, q: BIGINT>>, _corrupt_record STRING";
    let spec = json(schema, "PERMISSIVE");
    let wanted = parse_ddl(
        "wanted",
        "_corrupt_record STRING, l ARRAY<STRUCT<q: BIGINT>>, s STRUCT<y: STRING>",
    )
    .unwrap();
    let value = br#"{"l":[{"p":1,"q":2},{"q":3}],"s":{"x":"bad","y":"good"}}"#;
    let values = BinaryArray::from_opt_vec(vec![Some(value.as_slice())]);
    let found = ValueDecoder::new(&spec, &wanted).unwrap().decode(&values).unwrap();
    assert_eq!(found.values.fields(), &wanted);
    assert_eq!(found.bad, [0]);
    assert_eq!(
        texts(found.values.column(2).as_struct(), "y"),
        [Some("good".to_owned())]
    );
    assert_eq!(
        longs(found.values.column(1).as_list::<i32>().value(0).as_struct(), "q"),
        [Some(2), Some(3)]
    );
}

#[test]
fn bytes_that_are_no_utf8_are_read_as_java_reads_them() {
    let spec = json("a STRING", "PERMISSIVE");
    let values = BinaryArray::from_opt_vec(vec![Some(b"{\"a\":\"x\xff\xe2\x82y\"}".as_slice())]);
    let found = ValueDecoder::new(&spec, &spec.fields().unwrap())
        .unwrap()
        .decode(&values)
        .unwrap();
    assert_eq!(texts(&found.values, "a"), [Some("x\u{fffd}\u{fffd}y".to_owned())]);
}

#[test]
fn names_in_another_order_and_with_escapes_are_the_same_fields() {
    let spec = json("a BIGINT, b BIGINT", "PERMISSIVE");
    let values = [
        r#"{"a":1,"b":2}"#,
        r#"{"b":4,"a":3}"#,
        r#"{"\u0061":5,"x":0,"b":6}"#,
        r#"{"b":8,"a":0,"a":7}"#,
    ];
    let found = decoded(&spec, &values.map(Some)).unwrap();
    assert_eq!(longs(&found.values, "a"), [1, 3, 5, 7].map(Some));
    assert_eq!(longs(&found.values, "b"), [2, 4, 6, 8].map(Some));
}

#[test]
fn csv_fields_are_taken_by_their_place() {
    let options = [
        ("valueFormat", "csv"),
        ("valueSchema", "a BIGINT, b STRING, c DOUBLE"),
        ("sep", ";"),
    ];
    let values = ["1;x;2.5", "1;\"x;\\\"y\";", "1;\"\";2", "q;x;1", "1;x", "1;x;2;3"];
    let found = decoded(&spec(&options), &values.map(Some)).unwrap();
    assert_eq!(found.bad, [3, 4, 5]);
    assert_eq!(
        longs(&found.values, "a"),
        [Some(1), Some(1), Some(1), None, Some(1), Some(1)]
    );
    let expected = [Some("x"), Some("x;\"y"), None, Some("x"), Some("x"), Some("x")].map(|it| it.map(str::to_owned));
    assert_eq!(texts(&found.values, "b"), expected);
    let doubles: Vec<_> = found.values.column(2).as_primitive::<Float64Type>().iter().collect();
    assert_eq!(doubles, [Some(2.5), None, Some(2.0), Some(1.0), None, Some(2.0)]);
}

fn every_spec() -> Vec<ValueSpec> {
    let schema = "a BIGINT, b STRING, c DECIMAL(20,3), d DATE, e TIMESTAMP, f BINARY, g BOOLEAN, h DOUBLE";
    let nested =
        format!("{schema}, l ARRAY<STRUCT<x: INT, y: ARRAY<STRING>>>, m MAP<STRING, INT>, _corrupt_record STRING");
    let avro = r#"{"type":"record","name":"r","fields":[{"name":"a","type":["null","long"]},
        {"name":"b","type":"string"},
        {"name":"l","type":{"type":"array","items":{"type":"map","values":["null","double","string"]}}},
        {"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}}]}"#;
    ["none", "confluent", "apicurio"]
        .into_iter()
        .flat_map(|framing| {
            let with = |format, schema: &str| {
                spec(&[
                    ("valueFormat", format),
                    ("valueSchema", schema),
                    ("valueFraming", framing),
                ])
            };
            [with("json", &nested), with("csv", schema), with("avro", avro)]
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn there_is_a_row_for_each_value_whatever_its_bytes(
        values in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..60)), 0..20),
        document in r#"\{("[a-m]":(-?[0-9]{1,25}(\.[0-9]{1,9})?|"[ -~]{0,9}"|\[\{"x":[0-9]\}\]|null),?){0,6}\}"#,
    ) {
        let raw = values.iter().map(Option::as_deref).chain([Some(document.as_bytes())]);
        let array: BinaryArray = raw.collect();
        for spec in every_spec() {
            let all: Fields = spec.fields().unwrap();
            for wanted in [all.clone(), all.iter().take(1).cloned().collect()] {
                let found = ValueDecoder::new(&spec, &wanted).unwrap().decode(&array).unwrap();
                prop_assert_eq!(found.values.len(), array.len());
                prop_assert!(found.bad.is_sorted() && found.bad.iter().all(|row| array.is_valid(*row)));
                for row in 0..array.len() {
                    prop_assert!(array.is_valid(row) || found.values.is_null(row));
                }
                found.values.to_data().validate_full().unwrap();
            }
        }
    }
}
