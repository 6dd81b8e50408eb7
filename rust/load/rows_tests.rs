use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::{Int32Array, Int64Array, TimestampMicrosecondArray};
use arrow_schema::{Field, Fields, Schema};

use super::super::builder::tests::settings;
use super::super::topic::SegmentTarget;
use super::*;
use ::io::{FileSystem, OsFileSystem};
use record::Batches;

type Found = (i64, Option<Vec<u8>>, Option<Vec<u8>>, Vec<(Vec<u8>, Option<Vec<u8>>)>);

fn header_lists() -> ArrayRef {
    let fields = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Binary, true),
    ]);
    let entries = StructBuilder::new(
        fields,
        vec![Box::new(StringBuilder::new()), Box::new(BinaryBuilder::new())],
    );
    let mut lists = ListBuilder::new(entries);
    for (key, value) in [("a", Some(b"1".as_slice())), ("b", None)] {
        lists
            .values()
            .field_builder::<StringBuilder>(0)
            .unwrap()
            .append_value(key);
        lists
            .values()
            .field_builder::<BinaryBuilder>(1)
            .unwrap()
            .append_option(value);
        lists.values().append(true);
    }
    lists.append(true);
    lists.append(false);
    lists.append(true);
    Arc::new(lists.finish())
}

fn rows(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

fn load(rows: &RecordBatch) -> Result<Vec<Vec<Found>>> {
    let temp = tempfile::tempdir().unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(OsFileSystem);
    let dirs: Vec<_> = (0..2).map(|at| temp.path().join(format!("{at}"))).collect();
    let targets: Vec<_> = dirs
        .iter()
        .map(|dir| SegmentTarget {
            dir: dir.clone(),
            known: 0,
        })
        .collect();
    let mut builder = TopicBuilder::new(&fs, "topic", settings(), &targets, 2);
    append_rows(&mut builder, rows, 99)?;
    builder.finish()?;
    let found = |dir: &std::path::PathBuf| {
        let Ok(bytes) = std::fs::read(dir.join(format!("{:020}.log", 0))) else {
            return Vec::new();
        };
        let mut records = Vec::new();
        for batch in Batches::new(&bytes) {
            for record in batch.unwrap().records(&mut Vec::new(), usize::MAX).unwrap() {
                let record = record.unwrap();
                let headers = record
                    .headers
                    .map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)));
                let (key, value) = (record.key.map(<[u8]>::to_vec), record.value.map(<[u8]>::to_vec));
                records.push((record.timestamp, key, value, headers.collect()));
            }
        }
        records
    };
    Ok(dirs.iter().map(found).collect())
}

#[test]
fn every_column_reaches_its_record() {
    let keys: ArrayRef = Arc::new(StringArray::from(vec![Some("k"), None, Some("")]));
    let values: ArrayRef = Arc::new(BinaryViewArray::from(vec![
        Some(b"v".as_slice()),
        None,
        Some(&[0xff; 20]),
    ]));
    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![Some(7_999), None, Some(-1)]));
    let partitions: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(1), Some(0)]));
    let ignored: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let rows = rows(vec![
        ("key", keys),
        ("value", values),
        ("timestamp", times),
        ("headers", header_lists()),
        ("partition", partitions),
        ("offset", ignored),
    ]);
    let headers = vec![(b"a".to_vec(), Some(b"1".to_vec())), (b"b".to_vec(), None)];
    let expected = vec![
        vec![(-1, Some(vec![]), Some(vec![0xff; 20]), vec![])],
        vec![
            (7, Some(b"k".to_vec()), Some(b"v".to_vec()), headers),
            (99, None, None, vec![]),
        ],
    ];
    assert_eq!(load(&rows).unwrap(), expected);
}

#[test]
fn column_of_a_wrong_type_or_name_is_named() {
    let values: ArrayRef = Arc::new(StringArray::from(vec!["v"]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let cases = [
        (vec![("key", values.clone())], "there is no column value: name one"),
        (
            vec![("value", numbers.clone())],
            "column value is of type Int64; make it binary or string",
        ),
        (
            vec![("value", values.clone()), ("partition", numbers.clone())],
            "column partition is of type Int64; make it int32",
        ),
        (
            vec![("value", values.clone()), ("timestamp", values.clone())],
            "column timestamp is of type Utf8; make it a timestamp, or int64 in milliseconds",
        ),
        (
            vec![("value", values.clone()), ("headers", values.clone())],
            "column headers is of type Utf8; make it a list of structs of key (string) and value (binary)",
        ),
        (
            vec![("value", values), ("price", numbers)],
            "column price: a load takes key, value, timestamp, headers and partition; leave it out",
        ),
    ];
    for (columns, expected) in cases {
        assert_eq!(load(&rows(columns)).unwrap_err().to_string(), expected);
    }
}
