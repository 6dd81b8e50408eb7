//! Which fetched batches are committed.

use super::{AbortedFrom, OpenAborts};
use crate::{BatchBuilder, Batches, Codec, end_transaction_marker, set_offset_and_epoch};
use base::place::{LeaderEpoch, Offset};

const ABORT: bool = false;

fn batch(producer_id: Option<i64>, at: i64) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Codec::None);
    if let Some(id) = producer_id {
        builder = builder.producer(id, 0, 0).transactional(true);
    }
    builder.append(0, None, Some(b"value"), &[]);
    builder.build(Offset(at), LeaderEpoch(0))
}

fn marker(commit: bool, producer_id: i64, at: i64) -> Vec<u8> {
    let mut bytes = end_transaction_marker(commit, producer_id, 0, 0, 0);
    set_offset_and_epoch(&mut bytes, Offset(at), LeaderEpoch(0));
    bytes
}

fn left(aborts: &mut OpenAborts, batches: &[Vec<u8>], aborted: &[(i64, i64)]) -> Vec<i64> {
    let mut memory = b"before".to_vec();
    memory.extend(batches.concat());
    let aborted = aborted.iter().map(|(producer_id, first)| AbortedFrom {
        producer_id: *producer_id,
        first_offset: Offset(*first),
    });
    let range = 6..memory.len();
    let end = aborts.drop_aborted(&mut memory, range, aborted.collect()).unwrap();
    let kept = Batches::new(&memory[6..end]).map(|batch| batch.unwrap().header().base_offset.get());
    kept.collect()
}

#[test]
fn batches_of_an_aborted_transaction_are_dropped_up_to_its_marker() {
    let batches = [
        batch(Some(1), 0),
        batch(Some(2), 1),
        batch(None, 2),
        batch(Some(1), 3),
        marker(ABORT, 1, 4),
        batch(Some(1), 5),
        marker(true, 2, 6),
        marker(true, 1, 7),
    ];
    assert_eq!(left(&mut OpenAborts::default(), &batches, &[(1, 0)]), [1, 2, 5]);
}

#[test]
fn a_transaction_goes_on_from_one_answer_to_the_next() {
    let mut aborts = OpenAborts::default();
    assert_eq!(
        left(&mut aborts, &[batch(Some(1), 0), batch(Some(2), 1)], &[(1, 0)]),
        [1]
    );
    let next = [batch(Some(1), 2), marker(ABORT, 1, 3), batch(Some(1), 4)];
    assert_eq!(left(&mut aborts, &next, &[]), [4]);
}

#[test]
fn a_transaction_that_is_aborted_later_in_the_log_counts_from_its_first_offset() {
    let batches = [
        batch(Some(1), 0),
        marker(true, 1, 1),
        batch(Some(1), 2),
        batch(Some(1), 3),
    ];
    assert_eq!(left(&mut OpenAborts::default(), &batches, &[(1, 2)]), [0]);
}
