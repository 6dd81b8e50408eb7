//! The window: whatever is asked for stands at its front, and it never grows beyond need.

use super::*;
use crate::io::{FileSystem, OpenMode, OsFileSystem};
use crate::scan::test_batches::file;

fn source(len: usize, start: u64, end: u64) -> (Source, Vec<u8>) {
    let bytes: Vec<u8> = (0..len).map(|i| (i * 7 + i / 251) as u8).collect();
    let file = file(&bytes);
    let mut source = Source::default();
    source.start(OsFileSystem.open(&file.path, OpenMode::Read).unwrap(), start, end);
    (source, bytes)
}

#[test]
fn pieces_of_any_size_come_in_order() {
    let len = 3 * WINDOW_BYTES + 17;
    let (mut source, bytes) = source(len, 5, len as u64);
    let mut at = 5;
    for step in [1, 1000, WINDOW_BYTES - 7, 3, WINDOW_BYTES + 9, 61].into_iter().cycle() {
        let step = step.min(len - at);
        if step == 0 {
            break;
        }
        source.fill(step).unwrap();
        assert_eq!(source.bytes(step), &bytes[at..at + step]);
        assert_eq!((source.position(), source.remaining()), (at as u64, (len - at) as u64));
        source.consume(step);
        at += step;
    }
    assert!(source.capacity() <= WINDOW_BYTES + 9);
}

#[test]
fn bytes_passed_over_are_not_read() {
    let len = 4 * WINDOW_BYTES;
    let (mut source, bytes) = source(len, 0, len as u64);
    source.fill(10).unwrap();
    source.consume(3 * WINDOW_BYTES);
    source.fill(10).unwrap();
    assert_eq!(source.bytes(10), &bytes[3 * WINDOW_BYTES..3 * WINDOW_BYTES + 10]);
}

#[test]
fn a_file_that_ends_early_is_truncated_and_keeps_what_there_was() {
    let (mut source, bytes) = source(100, 0, 200);
    assert!(matches!(source.fill(101), Err(ReadError::Truncated)));
    source.fill(100).unwrap();
    assert_eq!(source.bytes(100), &bytes[..]);
}

#[test]
fn integers_are_peeked_only_where_the_window_has_them() {
    let (mut source, bytes) = source(20, 0, 20);
    assert_eq!(source.peek_i64(0), None);
    source.fill(20).unwrap();
    assert_eq!(
        source.peek_i64(12),
        bytes[12..].first_chunk().map(|it| i64::from_be_bytes(*it))
    );
    assert_eq!(source.peek_i64(13), None);
}
