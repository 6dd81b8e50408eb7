//! Fields of JSON objects; what is expected is what Spark 4.2 gives.

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, StructArray};

use super::JsonReader;
use crate::columns::Structs;
use crate::types::parse_ddl;
use crate::verdict::{Reasons, Verdict};
use crate::zone::Zone;

fn row(schema: &str, value: &str) -> (StructArray, Verdict) {
    let fields = parse_ddl("schema", schema).unwrap();
    let mut rows = Structs::new(&fields).unwrap();
    let mut reader = JsonReader::new(&fields, Zone::UTC);
    let verdict = reader.append(value.as_bytes(), &mut rows, &mut Reasons::default());
    (rows.finish().unwrap(), verdict)
}

#[test]
fn a_text_field_has_the_text_of_any_value() {
    let cases = [
        ("1", Some("1")),
        ("1.10", Some("1.1")),
        ("1e400", Some("\"Infinity\"")),
        ("-0", Some("0")),
        ("123456789012345678901234567890", Some("123456789012345678901234567890")),
        ("null", None),
        (
            r#"{"a": 1, "b":[1, 2.50,"x\u0041\n/é"]}"#,
            Some(r#"{"a":1,"b":[1,2.5,"xA\n/é"]}"#),
        ),
        ("[ 1 , {} , [ ] ]", Some("[1,{},[]]")),
        (r#""a\ud800b""#, Some("a?b")),
        (r#""\ud83d\ude00\\\"""#, Some("😀\\\"")),
    ];
    for (value, expected) in cases {
        let (row, verdict) = row("s STRING", &format!("{{\"s\":{value}}}"));
        assert_eq!(verdict, Verdict::Good, "{value}");
        let column = row.column(0).as_string::<i32>();
        assert_eq!(column.is_valid(0).then(|| column.value(0)), expected, "{value}");
    }
}

#[test]
fn a_list_or_map_with_a_bad_element_is_null_and_a_struct_keeps_its_other_fields() {
    let schema = "l ARRAY<INT>, m MAP<STRING, INT>, s STRUCT<x: INT, y: STRING>, b INT";
    let (row, verdict) = row(
        schema,
        r#"{"l":[1,"x"],"m":{"a":1,"b":"x"},"s":{"x":"q","y":"ok"},"b":7}"#,
    );
    assert_eq!(verdict, Verdict::Bad);
    assert!(row.column(0).is_null(0) && row.column(1).is_null(0));
    let nested = row.column(2).as_struct();
    assert!(nested.is_valid(0) && nested.column(0).is_null(0));
    assert_eq!(nested.column(1).as_string::<i32>().value(0), "ok");
    assert_eq!(row.column(3).as_primitive::<Int32Type>().value(0), 7);
    row.to_data().validate_full().unwrap();
    let (row, verdict) = self::row("l ARRAY<STRUCT<x: INT, y: INT>>", r#"{"l":[{"x":"q","y":2},null]}"#);
    assert_eq!(
        (verdict, row.column(0).as_list::<i32>().value(0).len()),
        (Verdict::Bad, 2)
    );
}

#[test]
fn numbers_that_do_not_fit_are_bad() {
    let good = [
        ("BIGINT", "9223372036854775807"),
        ("TINYINT", "-128"),
        ("DOUBLE", "\"NaN\""),
        ("FLOAT", "1e40"),
    ];
    let bad = [
        ("BIGINT", "9223372036854775808"),
        ("BIGINT", "1.0"),
        ("BIGINT", "\"5\""),
        ("TINYINT", "200"),
        ("DOUBLE", "\"1.5\""),
        ("DECIMAL(4,2)", "100"),
        ("BOOLEAN", "1"),
        ("DATE", "20240203"),
        ("BINARY", "\"!\""),
    ];
    for (cases, expected) in [(&good[..], Verdict::Good), (&bad[..], Verdict::Bad)] {
        for (kind, value) in cases {
            let (row, verdict) = row(&format!("a {kind}"), &format!("{{\"a\":{value}}}"));
            assert_eq!(
                (verdict, row.column(0).is_null(0)),
                (expected, expected == Verdict::Bad),
                "{kind} {value}"
            );
        }
    }
}
