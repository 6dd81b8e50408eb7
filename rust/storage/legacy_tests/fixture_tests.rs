//! Partition directories that Apache Kafka 0.10.2 wrote: `tests/fixtures/legacy`, whose README has the recipe.

use std::fs;
use std::path::PathBuf;

use super::{Seen, assert_reads, records_of};
use crate::Wait;
use crate::header_scan::named_by;
use crate::testing::Bench;
use ::io::{FileSystem, OpenMode, OsFileSystem};
use base::place::{Offset, Position};
use index::OffsetPosition;
use record::{Batches, TimestampType};

/// A record as Kafka's consumer read it: offset, timestamp, timestamp type, key, value.
pub type Row = (i64, i64, String, Option<String>, Option<String>);

const TOPICS: [&str; 3] = ["mixed", "append_time", "compacted"];

fn fixture(name: &str) -> PathBuf {
    [
        env!("CARGO_MANIFEST_DIR"),
        "..",
        "..",
        "tests",
        "fixtures",
        "legacy",
        name,
    ]
    .iter()
    .collect()
}

fn expected(topic: &str) -> Vec<Row> {
    let text = fs::read_to_string(fixture(&format!("{topic}.tsv"))).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let text = |field: &str| (field != "\\N").then(|| field.to_owned());
        (
            fields[0].parse().unwrap(),
            fields[1].parse().unwrap(),
            fields[2].to_owned(),
            text(fields[3]),
            text(fields[4]),
        )
    };
    text.lines().map(row).collect()
}

fn rows_in(bytes: &[u8]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in Batches::new(bytes) {
        let batch = batch.unwrap();
        batch.verify_crc().unwrap();
        let timestamp_type = match (batch.header().magic, batch.header().timestamp_type()) {
            (0, _) => "NoTimestampType",
            (_, TimestampType::CreateTime) => "CreateTime",
            (_, TimestampType::LogAppendTime) => "LogAppendTime",
        };
        let mut scratch = Vec::new();
        for record in batch.records(&mut scratch, 1 << 20).unwrap() {
            let record = record.unwrap();
            let text = |bytes: Option<&[u8]>| bytes.map(|it| String::from_utf8(it.to_vec()).unwrap());
            rows.push((
                record.offset.get(),
                record.timestamp,
                timestamp_type.to_owned(),
                text(record.key),
                text(record.value),
            ));
        }
    }
    rows
}

/// The partition's directory, copied.
fn copied(topic: &str) -> Bench {
    let config = [("segment.bytes", "1000"), ("cleanup.policy", "compact")];
    let bench = Bench::new(&config[..if topic == "compacted" { 2 } else { 1 }]);
    fs::create_dir(bench.path()).unwrap();
    for entry in fs::read_dir(fixture(&format!("logs/{topic}-0"))).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), bench.path().join(entry.file_name())).unwrap();
    }
    bench
}

#[test]
fn records_are_those_that_kafkas_consumer_read() {
    for topic in TOPICS {
        let bench = copied(topic);
        let rows: Vec<Row> = bench
            .base_offsets()
            .iter()
            .flat_map(|base| rows_in(&fs::read(bench.file(*base, ".log")).unwrap()))
            .collect();
        assert_eq!(rows, expected(topic));
    }
}

#[test]
fn fixtures_have_both_magics_every_codec_and_gaps_in_wrappers() {
    let mut seen = std::collections::BTreeSet::new();
    let mut has_gap = false;
    for topic in TOPICS {
        let bench = copied(topic);
        for base in bench.base_offsets() {
            for batch in Batches::new(&fs::read(bench.file(base, ".log")).unwrap()) {
                let batch = batch.unwrap();
                let header = batch.full_header(&mut Vec::new(), 1 << 20).unwrap();
                has_gap |= header.record_count <= header.last_offset_delta;
                seen.insert((header.magic, header.codec().unwrap().name()));
            }
        }
    }
    assert_eq!(seen.len(), 8, "{seen:?}");
    assert!(has_gap);
}

#[test]
fn directory_is_opened_after_kafkas_clean_stop_and_after_a_crash() {
    for topic in TOPICS {
        for (recovery_point, is_clean) in [(0, true), (0, false), (30, false)] {
            let bench = copied(topic);
            let end = expected(topic).last().unwrap().0 + 1;
            let recovery_point = recovery_point.min(end);
            let log = bench.open(recovery_point, is_clean).unwrap();
            assert_eq!(log.log_end_offset(), Offset(end), "{topic}");
            assert_eq!((log.report().bytes_cut, log.report().notes.len()), (0, 0), "{topic}");
            assert_reads(&log, &bench.path());
            let all: Vec<Seen> = expected(topic).iter().map(|row| (row.1, row.0)).collect();
            assert_eq!(records_of(&bench.path()), all);
        }
    }
}

#[test]
fn entries_of_kafkas_offset_indexes_are_believed() {
    let mut count = 0;
    for topic in TOPICS {
        let bench = copied(topic);
        for base in bench.base_offsets() {
            let index = fs::read(bench.file(base, ".index")).unwrap();
            let path = bench.file(base, ".log");
            let file = OsFileSystem.open(&path, OpenMode::Read).unwrap();
            let end = Position(file.len().unwrap());
            for entry in index.chunks(8) {
                let field = |at: usize| u32::from_be_bytes(entry[at..at + 4].try_into().unwrap());
                let entry = OffsetPosition {
                    offset: Offset(base + i64::from(field(0))),
                    position: Position(u64::from(field(4))),
                };
                assert!(
                    named_by(&*file, &path, entry, end, Wait::Yes).unwrap().is_some(),
                    "{topic}: {entry:?}"
                );
                count += 1;
            }
        }
    }
    assert!(count > 8);
}
