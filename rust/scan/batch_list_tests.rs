//! Listing shows every batch, tells a bad CRC and goes on, names the place of what cannot be walked.

use std::fs;

use super::*;
use base::place::{LeaderEpoch, Offset};
use record::{BatchBuilder, Codec};

/// Three batches of two records, as bytes.
fn segment() -> Vec<Vec<u8>> {
    [0, 2, 4]
        .map(|base_offset| {
            let mut builder = BatchBuilder::new(Codec::None);
            builder.append(1_000 + base_offset, Some(b"k"), Some(b"value"), &[]);
            builder.append(1_001 + base_offset, None, None, &[]);
            builder.build(Offset(base_offset), LeaderEpoch(0)).clone()
        })
        .to_vec()
}

fn listed(bytes: &[u8]) -> (Vec<(u64, i64, bool)>, Result<u64>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("00000000000000000000.log");
    fs::write(&path, bytes).unwrap();
    let mut list = BatchList::open(&path).unwrap();
    let mut found = Vec::new();
    loop {
        match list.next_batch() {
            Ok(Some(one)) => found.push((one.position.get(), one.header.base_offset.get(), one.is_valid)),
            Ok(None) => return (found, Ok(list.rest())),
            Err(error) => return (found, Err(error)),
        }
    }
}

#[test]
fn every_batch_is_listed_with_its_position() {
    let batches = segment();
    let size = batches[0].len() as u64;
    let (found, rest) = listed(&batches.concat());
    assert_eq!(found, [(0, 0, true), (size, 2, true), (2 * size, 4, true)]);
    assert_eq!(rest.unwrap(), 0);
}

#[test]
fn a_bad_crc_is_listed_and_the_walk_goes_on() {
    let mut batches = segment();
    *batches[1].last_mut().unwrap() ^= 1;
    let (found, rest) = listed(&batches.concat());
    assert_eq!(found.iter().map(|one| one.2).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(rest.unwrap(), 0);
}

#[test]
fn a_batch_cut_short_ends_the_walk_and_its_bytes_are_the_rest() {
    let whole = segment().concat();
    let size = whole.len() / 3;
    for cut in 1..size {
        let (found, rest) = listed(&whole[..whole.len() - cut]);
        assert_eq!((found.len(), rest.unwrap()), (2, (size - cut) as u64));
    }
}

#[test]
fn a_length_that_cannot_be_is_named_with_its_position() {
    let mut batches = segment();
    batches[1][8..12].copy_from_slice(&3_i32.to_be_bytes());
    let (found, rest) = listed(&batches.concat());
    assert_eq!(found.len(), 1);
    let size = batches[0].len() as u64;
    assert!(matches!(rest, Err(ScanError::Corrupt { position, .. }) if position.get() == size));
}
