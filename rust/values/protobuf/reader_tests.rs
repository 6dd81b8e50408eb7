//! Messages of a `.proto` file.

use std::fs;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, BinaryArray};
use proptest::prelude::*;
use prost_reflect::prost::Message;
use prost_reflect::{DynamicMessage, MapKey, Value};

use super::super::schema::{message_of, pool_of};
use crate::{ValueDecoder, ValueSpec};

const PROTO: &str = r#"
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Order {
  enum State { NEW = 0; PAID = 1; }
  message Item { string sku = 1; int32 quantity = 2; }
  int64 id = 1;
  State state = 2;
  repeated Item items = 3;
  map<int32, string> notes = 4;
  google.protobuf.Timestamp at = 5;
  repeated sint64 deltas = 6;
  optional string remark = 7;
  uint32 count = 8;
}
"#;

fn spec(folder: &tempfile::TempDir) -> ValueSpec {
    let file = folder.path().join("order.proto");
    fs::write(&file, PROTO).unwrap();
    crate::decoder::tests::spec(&[
        ("valueFormat", "protobuf"),
        ("valueSchemaFile", file.to_str().unwrap()),
        ("messageName", "shop.Order"),
        ("columnNameOfCorruptRecord", "bad"),
    ])
}

fn order(spec: &ValueSpec) -> DynamicMessage {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::STANDARD.decode(spec.descriptors.as_ref().unwrap());
    let pool = pool_of(&bytes.unwrap()).unwrap();
    let mut order = DynamicMessage::new(message_of(&pool, Some("shop.Order")).unwrap());
    let mut item = DynamicMessage::new(pool.get_message_by_name("shop.Order.Item").unwrap());
    item.set_field_by_name("sku", Value::String("x".to_owned()));
    let mut at = DynamicMessage::new(pool.get_message_by_name("google.protobuf.Timestamp").unwrap());
    at.set_field_by_name("seconds", Value::I64(5));
    at.set_field_by_name("nanos", Value::I32(7_000));
    order.set_field_by_name("id", Value::I64(-3));
    order.set_field_by_name("state", Value::EnumNumber(1));
    order.set_field_by_name("items", Value::List(vec![Value::Message(item)]));
    let notes = [
        (MapKey::I32(2), Value::String("b".to_owned())),
        (MapKey::I32(1), Value::String("a".to_owned())),
    ];
    order.set_field_by_name("notes", Value::Map(notes.into_iter().collect()));
    order.set_field_by_name("at", Value::Message(at));
    order.set_field_by_name("deltas", Value::List(vec![Value::I64(-1), Value::I64(1)]));
    order.set_field_by_name("count", Value::U32(u32::MAX));
    order
}

#[test]
fn messages_have_sparks_types_and_nulls() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(&folder);
    let value = order(&spec).encode_to_vec();
    let cut = &value[..value.len() - 1];
    let values = BinaryArray::from_opt_vec(vec![Some(&value[..]), Some(cut), None, Some(&[])]);
    let mut decoder = ValueDecoder::new(&spec, &spec.fields().unwrap()).unwrap();
    let found = decoder.decode(&values).unwrap();
    assert_eq!(found.bad, [1]);
    let column = |name: &str| found.values.column_by_name(name).unwrap().clone();
    assert_eq!(column("id").as_primitive::<Int64Type>().value(0), -3);
    assert_eq!(column("state").as_string::<i32>().value(0), "PAID");
    let items = column("items").as_list::<i32>().value(0);
    assert_eq!(items.as_struct().column(0).as_string::<i32>().value(0), "x");
    assert!(items.as_struct().column(1).is_null(0)); // a default that is not set
    let notes = column("notes").as_map().value(0);
    assert_eq!(notes.column(0).as_primitive::<Int32Type>().values(), &[1, 2]);
    assert_eq!(
        column("at").as_primitive::<TimestampMicrosecondType>().value(0),
        5_000_007
    );
    assert_eq!(
        column("deltas")
            .as_list::<i32>()
            .value(0)
            .as_primitive::<Int64Type>()
            .values(),
        &[-1, 1]
    );
    assert_eq!(column("count").as_primitive::<Int32Type>().value(0), -1);
    assert!(column("remark").is_null(0));
    assert_eq!(column("bad").as_binary::<i32>().value(1), cut);
    assert_eq!(
        (0..4).map(|row| found.values.is_null(row)).collect::<Vec<_>>(),
        [false, false, true, false]
    );
    assert_eq!(column("items").as_list::<i32>().value(3).len(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn mutated_messages_never_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let folder = tempfile::tempdir().unwrap();
        let spec = spec(&folder);
        let mut value = order(&spec).encode_to_vec();
        for (at, byte) in flips {
            let at = at.index(value.len());
            value[at] = byte;
        }
        let values = BinaryArray::from_opt_vec(vec![Some(&value[..])]);
        let found = ValueDecoder::new(&spec, &spec.fields().unwrap()).unwrap().decode(&values).unwrap();
        prop_assert_eq!(found.values.len(), 1);
    }
}
