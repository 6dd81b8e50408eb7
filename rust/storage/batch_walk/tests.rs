//! The walk against a naive twin that reads the file whole, and what a window holds.

use proptest::prelude::*;

use super::*;
use ::io::{FileSystem, OpenMode, OsFileSystem};
use base::place::Offset;
use record::LOG_OVERHEAD;

/// Small, so that few bytes cross many pieces.
const PIECE: usize = 1024;

fn on_disk(bytes: &[u8]) -> (tempfile::TempDir, Arc<dyn File>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("00000000000000000000.log");
    std::fs::write(&path, bytes).unwrap();
    (dir, OsFileSystem.open(&path, OpenMode::Read).unwrap())
}

/// Bytes that no two places share with the places around them.
fn unlike(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// A batch by its header; its payload means nothing.
fn batch(base_offset: i64, payload: usize, magic: u8) -> Vec<u8> {
    let mut bytes = unlike(BATCH_HEADER + payload);
    bytes[..8].copy_from_slice(&base_offset.to_be_bytes());
    let length = (bytes.len() - LOG_OVERHEAD) as i32;
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    bytes[16] = magic;
    bytes
}

/// Every step of a walk over `bytes[..end]`, and where it stands; ends with what stops it.
fn naive(bytes: &[u8], end: usize) -> Vec<(Position, Step)> {
    let (mut steps, mut at) = (Vec::new(), 0);
    loop {
        let rest = &bytes[at..end];
        let step = if rest.is_empty() {
            Step::End
        } else if rest.len() < BATCH_HEADER {
            Step::Short(None)
        } else {
            match BatchHeader::parse(rest) {
                Ok(header) if header.size_bytes() > rest.len() => Step::Short(Some(header)),
                Ok(header) => Step::Batch(header),
                Err(error) => Step::Invalid(error),
            }
        };
        steps.push((Position(at as u64), step));
        let Step::Batch(header) = step else { return steps };
        at += header.size_bytes();
    }
}

fn walked<R: Room>(file: &Arc<dyn File>, end: usize, piece: Piece, room: R, holds: &[bool]) -> Vec<(Position, Step)> {
    let mut walk = BatchWalk::new(Arc::clone(file), Position::START..Position(end as u64), piece, room);
    let mut steps = Vec::new();
    loop {
        let step = walk.step().unwrap();
        steps.push((walk.position(), step));
        let Step::Batch(header) = step else {
            assert_eq!(walk.step().unwrap(), step, "the same again");
            assert_eq!(walk.next_position(), walk.position());
            return steps;
        };
        if holds[steps.len() % holds.len()] {
            walk.hold_batch().unwrap();
            assert_eq!(walk.held_batch().unwrap().bytes().len(), header.size_bytes());
            let mut bytes = Vec::new();
            read_batch(&**file, walk.position(), &header, &mut bytes).unwrap();
            assert_eq!(walk.held_batch().unwrap().bytes(), bytes);
        }
    }
}

proptest! {
    #[test]
    fn walk_matches_naive(
        payloads in prop::collection::vec(prop_oneof![0usize..40, 200usize..700, 900usize..5000], 0..40),
        ending in 0u8..4,
        cut in 0usize..200,
        holds in prop::collection::vec(any::<bool>(), 1..5),
    ) {
        let mut bytes = Vec::new();
        for (n, payload) in payloads.iter().enumerate() {
            bytes.extend(batch(n as i64, *payload, 2));
        }
        match ending {
            0 => {}
            1 => bytes.extend(vec![0; cut]),
            2 => bytes.extend(batch(99, cut, 1)),
            _ => bytes.truncate(bytes.len().saturating_sub(cut)),
        }
        let (_dir, file) = on_disk(&bytes);
        let expected = naive(&bytes, bytes.len());
        let all = Piece::of_batches(PIECE);
        prop_assert_eq!(&walked(&file, bytes.len(), all, Vec::new(), &holds), &expected);
        prop_assert_eq!(&walked(&file, bytes.len(), all, &mut vec![0; 3 * PIECE], &holds), &expected);
        prop_assert_eq!(&walked(&file, bytes.len(), Piece::HEADERS, [0; HEADER_PIECE], &[false]), &expected);
    }
}

fn window(len: usize) -> (tempfile::TempDir, Arc<dyn File>, Vec<u8>) {
    let bytes = unlike(len);
    let (dir, file) = on_disk(&bytes);
    (dir, file, bytes)
}

fn walk_over(file: &Arc<dyn File>, range: Range<u64>) -> BatchWalk<Arc<dyn File>, Vec<u8>> {
    let range = Position(range.start)..Position(range.end);
    BatchWalk::new(Arc::clone(file), range, Piece::of_batches(PIECE), Vec::new())
}

#[test]
fn pieces_of_any_size_are_held_whole_and_the_room_grows_for_the_largest_only() {
    let len = 40 * PIECE + 17;
    let (_dir, file, bytes) = window(len);
    let mut walk = walk_over(&file, 5..len as u64);
    let mut at = 5;
    for size in [1, 100, PIECE - 7, 3, PIECE + 9, 61].into_iter().cycle() {
        let size = size.min(len - at);
        if size == 0 {
            break;
        }
        walk.hold(size).unwrap();
        assert_eq!(walk.held()[..size], bytes[at..at + size]);
        assert_eq!((walk.position().get(), walk.rest()), (at as u64, (len - at) as u64));
        at += size;
        walk.go_to(Position(at as u64));
        walk.position = walk.next;
    }
    assert!(walk.room_bytes() <= PIECE + 9, "{}", walk.room_bytes());
}

#[test]
fn a_file_that_ends_early_gives_what_it_has_and_says_where_it_ends() {
    let (_dir, file, bytes) = window(100);
    let mut walk = walk_over(&file, 0..200);
    let error = walk.hold(101).unwrap_err();
    assert!(matches!(&error, ReadError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof));
    walk.hold(60).unwrap();
    walk.hold(101).unwrap_err();
    assert_eq!(walk.held(), &bytes[..60], "they stay in the window");
    walk.hold(100).unwrap();
    assert_eq!(walk.held(), &bytes[..]);
}

#[test]
fn a_walk_that_goes_to_another_file_gives_that_files_bytes() {
    let files = [batch(7, 9, 2), batch(8, 9, 2)].map(|bytes| on_disk(&bytes));
    let end = (BATCH_HEADER + 9) as u64;
    let mut walk = walk_over(&files[0].1, 0..end);
    for (number, base_offset) in [(0, 7), (1, 8), (0, 7)] {
        walk.restart(Arc::clone(&files[number].1), Position::START..Position(end));
        let Step::Batch(header) = walk.step().unwrap() else {
            panic!("there is a batch in file {number}");
        };
        assert_eq!(header.base_offset.0, base_offset);
    }
}

#[test]
fn a_walk_behind_its_end_stops_there_and_a_header_is_peeked_only_before_it() {
    let bytes = [batch(0, 9, 2), batch(1, 9, 2)].concat();
    let (_dir, file) = on_disk(&bytes);
    let second = (bytes.len() / 2) as u64;
    let mut walk = walk_over(&file, second + 5..second);
    assert_eq!(walk.step().unwrap(), Step::Short(None));
    let walk = walk_over(&file, 0..bytes.len() as u64);
    let offset = |header: Option<BatchHeader>| header.map(|header| header.base_offset);
    assert_eq!(offset(walk.peek_header(Position(second)).unwrap()), Some(Offset(1)));
    assert_eq!(offset(walk.peek_header(Position(second + 1)).unwrap()), None);
    assert_eq!(
        offset(walk.peek_header(Position(second + 10)).unwrap()),
        None,
        "no header fits there"
    );
    let walk = walk_over(&file, 0..second + 5);
    assert_eq!(
        offset(walk.peek_header(Position(second)).unwrap()),
        None,
        "the header ends behind the walk's end"
    );
}

#[test]
fn zeros_up_to_the_end_are_distinguished_from_other_bytes() {
    let endings = [
        (0, 0),
        (10, 0),
        (10, 1),
        (ZEROS_PIECE, 0),
        (ZEROS_PIECE + 1, 0),
        (ZEROS_PIECE + 1, 1),
        (2 * ZEROS_PIECE, 1),
    ];
    for (zeros, last) in endings {
        let mut bytes = vec![0; zeros];
        bytes.push(last);
        let (_dir, file) = on_disk(&bytes);
        let walk = walk_over(&file, 0..bytes.len() as u64);
        assert_eq!(walk.is_rest_zero().unwrap(), last == 0, "{zeros} and {last}");
    }
}
