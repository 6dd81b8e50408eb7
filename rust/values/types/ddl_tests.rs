//! Schemas as users write them, read and given to Spark as its JSON.

use super::parse_ddl;
use crate::types::{parse_spark_json, to_spark_json};

#[test]
fn every_type_of_a_schema_survives_sparks_json() {
    let text = "a BOOLEAN, b TINYINT NOT NULL, c SMALLINT, d INT COMMENT 'it''s', e bigint, f FLOAT, g DOUBLE, \
                h DECIMAL(20, 4), i DECIMAL, j STRING, k BINARY, l DATE, m TIMESTAMP, n TIMESTAMP_NTZ, \
                `odd ``name` ARRAY<ARRAY<INT>>, p MAP<STRING, STRUCT<x: DOUBLE, `y z` INT>>, q STRUCT<>";
    let text = text.replace("'it''s'", "'it is'");
    let fields = parse_ddl("valueSchema", &text).unwrap();
    assert_eq!(fields.len(), 17);
    assert_eq!(fields[14].name(), "odd `name");
    let json = to_spark_json(&fields).unwrap();
    assert_eq!(json["fields"][7]["type"], "decimal(20,4)");
    assert_eq!(json["fields"][15]["type"]["valueType"]["fields"][1]["name"], "y z");
    assert_eq!(parse_spark_json("valueSchema", &json.to_string()).unwrap(), fields);
}

#[test]
fn a_mistake_in_a_schema_names_the_option_and_the_place() {
    let cases = [
        ("", "names no field"),
        ("id", "no such type"),
        ("id BIGINT,", "a name is due"),
        ("id BIGINT name STRING", "a comma or the end is due"),
        ("id BIGINT, id STRING", "named twice"),
        ("tags ARRAY<STRING", "> is due"),
        ("x DECIMAL(39,2)", "DECIMAL(39,2)"),
        ("x DECIMAL(5,6)", "DECIMAL(5,6)"),
        ("`x BIGINT", "back quote"),
        ("é BLOB", "character 3"),
    ];
    for (text, reason) in cases {
        let error = parse_ddl("valueSchema", text).unwrap_err().to_string();
        assert!(
            error.starts_with("valueSchema: ") && error.contains(reason),
            "{text}: {error}"
        );
    }
    let deep = format!("x {}INT{}", "ARRAY<".repeat(500), ">".repeat(500));
    assert!(
        parse_ddl("valueSchema", &deep)
            .unwrap_err()
            .to_string()
            .contains("too deep")
    );
}
