//! The addresses that Java gets, followed as Java follows them.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::{Array, ArrayRef, BinaryArray, Int32Array, Int64Array, RecordBatch, UInt8Array};
use arrow_schema::{DataType, Field, Fields};

use super::Addresses;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn headers() -> ArrayRef {
    let fields = Fields::from(vec![
        Field::new("key", DataType::Utf8, true),
        Field::new("value", DataType::Binary, true),
    ]);
    let makers: Vec<Box<dyn arrow_array::builder::ArrayBuilder>> =
        vec![Box::new(StringBuilder::new()), Box::new(BinaryBuilder::new())];
    let mut list = ListBuilder::new(StructBuilder::new(fields, makers));
    let element = list.values();
    element.field_builder::<StringBuilder>(0).unwrap().append_value("trace");
    element.field_builder::<BinaryBuilder>(1).unwrap().append_null();
    element.append(true);
    list.append(true);
    list.append(false);
    Arc::new(list.finish())
}

#[test]
fn a_column_has_six_numbers_and_headers_twenty_four() {
    let batch = batch(vec![
        ("offset", Arc::new(Int64Array::from(vec![5, 6]))),
        ("value", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"abc"), None]))),
        ("headers", headers()),
    ]);
    let offsets = batch.column(0).to_data().buffers()[0].as_ptr().addr() as i64;
    let values = batch.column(1).to_data();
    let found = Addresses::of(batch).unwrap();
    assert_eq!(found.rows(), 2);
    let columns: Vec<&[i64]> = found.numbers.chunks(6).collect();
    assert_eq!(columns.len(), 6);
    assert_eq!(columns[0], [offsets, 0, 0, 0, 0, 16]);
    let address = |at: usize| values.buffers()[at].as_ptr().addr() as i64;
    assert_eq!(columns[1][..2], [address(1), address(0)]);
    assert_ne!(columns[1][2], 0);
    assert_eq!(columns[1][3..], [0, 1, 3]);
    let [list, element, key, value] = columns[2..] else {
        panic!("{columns:?}")
    };
    assert_eq!((list[0], list[4], list[5]), (0, 1, 0));
    assert!(list[1] != 0 && list[2] != 0);
    assert_eq!(element, [0; 6]);
    assert_eq!((key[2], key[4], key[5]), (0, 0, 5));
    assert_eq!((value[4], value[5]), (1, 0));
}

#[test]
fn addresses_of_a_sliced_column_begin_with_its_first_row() {
    let whole = Int32Array::from((0..20).map(|n| (n % 3 != 0).then_some(n)).collect::<Vec<_>>());
    let start = whole.values().as_ptr().addr() as i64;
    let bitmap = whole.nulls().unwrap().inner().values().as_ptr().addr() as i64;
    let found = Addresses::of(batch(vec![("partition", Arc::new(whole.slice(8, 3)))])).unwrap();
    assert_eq!(found.numbers, [start + 32, 0, bitmap + 1, 0, 1, 12]);
    // a bitmap that begins within a byte is copied
    let found = Addresses::of(batch(vec![("partition", Arc::new(whole.slice(9, 3)))])).unwrap();
    assert_eq!((found.numbers[0], found.numbers[3]), (start + 36, 0));
    assert_eq!(found.kept.len(), 1);
    assert_eq!(found.numbers[2], found.kept[0].as_ptr().addr() as i64);
    assert_eq!(found.kept[0].as_slice()[0] & 0b111, 0b110);
    let without_nulls = Addresses::of(batch(vec![("partition", Arc::new(whole.slice(1, 2)))])).unwrap();
    assert_eq!(without_nulls.numbers[2..5], [0, 0, 0]);
}

#[test]
fn a_type_that_no_scan_gives_is_refused() {
    let refused = Addresses::of(batch(vec![("day", Arc::new(UInt8Array::from(vec![1])))]));
    assert!(refused.err().unwrap().contains("UInt8"));
}
