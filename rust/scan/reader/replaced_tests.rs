//! Files that a cleaner, a deletion or a move has put in the place of planned ones.

use std::fs;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use super::super::LostRanges;
use super::*;
use crate::test_batches::{NOW_MS, split};
use crate::{Column, ScanOptions};
use ::io::OsFileSystem;
use base::place::{LeaderEpoch, Position};
use record::{BatchBuilder, Codec};

fn one_batch(offset: i64) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Codec::None);
    builder.append(NOW_MS, Some(b"k"), Some(b"value"), &[]);
    builder.build(Offset(offset), LeaderEpoch(0))
}

/// Segments with their base offsets, in one directory; of each the records with these offsets, one to a batch.
fn write_segments(dir: &std::path::Path, segments: &[(i64, &[i64])]) {
    for entry in fs::read_dir(dir).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    for (base, offsets) in segments {
        let bytes: Vec<u8> = offsets.iter().flat_map(|at| one_batch(*at)).collect();
        fs::write(dir.join(format!("{base:020}.log")), bytes).unwrap();
    }
}

/// What is read of offsets 2 to 8, planned over segments that begin at 0, 4 and 6, when other files have come into
/// their place; and what of them is lost.
fn after(segments: &[(i64, &[i64])]) -> (Vec<i64>, Vec<(i64, i64)>) {
    let dir = tempfile::tempdir().unwrap();
    let planned: [(i64, &[i64]); 3] = [(0, &[0, 1, 2, 3]), (4, &[4, 5]), (6, &[6, 7, 8, 9])];
    write_segments(dir.path(), &planned);
    let kept = dir.path().with_extension("kept"); // no other file gets their inodes
    fs::create_dir(&kept).unwrap();
    let mut split = split(dir.path(), 0);
    (split.start_offset, split.end_offset) = (Offset(2), Offset(9));
    split.slices.clear();
    for (number, (base, offsets)) in planned.iter().enumerate() {
        let path = dir.path().join(format!("{base:020}.log"));
        let file = OsFileSystem.open(&path, OpenMode::Read).unwrap();
        let one = one_batch(0).len() as u64;
        split.slices.push(Slice {
            identity: Some(file.identity().unwrap()),
            next_base_offset: planned.get(number + 1).map_or(Offset::MAX, |next| Offset(next.0)),
            start: Position(if number == 0 { 2 * one } else { 0 }),
            end: Position(one * offsets.len() as u64),
            path: path.clone(),
            ..Slice::nothing(Offset(*base))
        });
        fs::hard_link(&path, kept.join(base.to_string())).unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(20)); // more than a tick of the clock of file systems
    write_segments(dir.path(), segments);
    let mut lenient = ScanOptions::new(&[Column::Offset]).unwrap();
    lenient.fail_on_data_loss = false;
    let lost = LostRanges::default();
    let reader = SplitReader::new(Arc::new(split), Arc::new(lenient), Arc::clone(&lost));
    let read = |batch: Result<RecordBatch>| batch.unwrap().column(0).as_primitive::<Int64Type>().values().to_vec();
    let found = reader.flat_map(read).collect();
    fs::remove_dir_all(&kept).unwrap();
    let ranges = lost.lock().iter().map(|it| (it.from.get(), it.to.get())).collect();
    (found, ranges)
}

#[test]
fn files_that_a_cleaner_put_in_place_of_planned_ones_are_read_where_their_batches_are() {
    assert_eq!(
        after(&[(0, &[3]), (4, &[5]), (6, &[6, 8, 9])]),
        (vec![3, 5, 6, 8], vec![])
    );
    assert_eq!(after(&[(0, &[1, 3, 5, 8])]), (vec![3, 5, 8], vec![]), "all in one");
    assert_eq!(after(&[(0, &[2, 4]), (6, &[7])]), (vec![2, 4, 7], vec![]), "two in one");
    assert_eq!(after(&[(0, &[]), (6, &[9])]), (vec![], vec![]));
}

#[test]
fn a_segment_that_is_removed_from_between_its_neighbours_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let (one, bytes) = (one_batch(0).len() as u64, [one_batch(0), one_batch(1)].concat());
    let older = dir.path().join("00000000000000000000.log");
    fs::write(&older, &bytes).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let removed = dir.path().join("00000000000000000002.log");
    fs::write(&removed, one_batch(2)).unwrap();
    let mut split = split(&removed, one);
    (split.start_offset, split.end_offset) = (Offset(2), Offset(3));
    split.slices[0].base_offset = Offset(2);
    let file = OsFileSystem.open(&removed, OpenMode::Read).unwrap();
    split.slices[0].identity = Some(file.identity().unwrap());
    fs::remove_file(&removed).unwrap();
    let reader = SplitReader::new(
        Arc::new(split),
        Arc::new(ScanOptions::new(&[Column::Offset]).unwrap()),
        LostRanges::default(),
    );
    let read: Result<Vec<_>> = reader.collect();
    assert!(matches!(
        read,
        Err(ScanError::Lost {
            from: Offset(2),
            to: Offset(3),
            ..
        })
    ));
}

#[test]
fn other_segments_of_a_replica_that_moved_away_and_back_are_read_each_once() {
    let again: [(i64, &[i64]); 3] = [(0, &[0, 1, 2]), (3, &[3, 4, 5, 6, 7]), (8, &[8, 9])];
    assert_eq!(after(&again), ((2..9).collect(), vec![]));
}

#[test]
fn of_deleted_segments_only_what_no_other_has_is_lost() {
    assert_eq!(
        after(&[(4, &[4, 5]), (6, &[6, 7, 8])]),
        ((4..9).collect(), vec![(2, 4)])
    );
    assert_eq!(after(&[(5, &[5, 7, 8])]), (vec![5, 7, 8], vec![(2, 4), (4, 5)]));
    assert_eq!(after(&[(9, &[9])]), (vec![], vec![(2, 4), (4, 6), (6, 9)]));
    assert_eq!(after(&[]), (vec![], vec![(2, 4), (4, 6), (6, 9)]));
}
