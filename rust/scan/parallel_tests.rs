//! Threads give what one thread gives, in its order, and stop when nobody listens.

use super::super::test_batches::{NOW_MS, file, options, rows_of, split};
use super::super::{Failure, ScanStream};
use super::*;
use base::place::{LeaderEpoch, Offset, Position};
use record::{BatchBuilder, Codec};

const SPLITS: usize = 20;
const RECORDS: i64 = 30;

/// A file of [`SPLITS`] equal batches, and a split for each.
fn splits(change: impl FnOnce(&mut Vec<u8>)) -> (super::super::test_batches::TestFile, Arc<[Arc<Split>]>) {
    let batch = |index: usize| {
        let mut builder = BatchBuilder::new(Codec::None);
        for i in 0..RECORDS {
            builder.append(NOW_MS + i, Some(b"k"), Some(b"v"), &[]);
        }
        builder.build(Offset(index as i64 * RECORDS), LeaderEpoch(0))
    };
    let mut bytes: Vec<u8> = (0..SPLITS).flat_map(batch).collect();
    let size = bytes.len() / SPLITS;
    change(&mut bytes);
    let file = file(&bytes);
    let splits = (0..SPLITS).map(|index| {
        let mut split = split(&file.path, ((index + 1) * size) as u64);
        split.slices[0].start = Position((index * size) as u64);
        split.start_offset = Offset(index as i64 * RECORDS);
        split.end_offset = split.start_offset + RECORDS;
        Arc::new(split)
    });
    let splits = splits.collect();
    (file, splits)
}

fn reader(splits: &Arc<[Arc<Split>]>, threads: usize) -> ScanReader {
    let mut options = options();
    (options.threads, options.batch_rows) = (threads, 2);
    ScanReader::new(Arc::clone(splits), Arc::new(options), LostRanges::default()).unwrap()
}

#[test]
fn rows_come_in_the_order_of_the_splits() {
    let (_file, splits) = splits(|_| ());
    for threads in [1, 2, 3, 64] {
        let mut reader = reader(&splits, threads);
        let mut offsets = Vec::new();
        while let Some(batch) = reader.next_batch() {
            offsets.extend(rows_of(&batch.unwrap()).iter().map(|row| row.offset));
        }
        assert_eq!(
            offsets,
            (0..SPLITS as i64 * RECORDS).collect::<Vec<_>>(),
            "{threads} threads"
        );
        assert!(reader.next_batch().is_none());
    }
}

#[test]
fn an_error_comes_after_the_rows_before_it_and_is_the_last() {
    let (_file, splits) = splits(|bytes| {
        let at = bytes.len() / SPLITS * 11 - 1;
        bytes[at] ^= 1;
    });
    for threads in [1, 3] {
        let mut reader = reader(&splits, threads);
        let mut rows = 0;
        let error = loop {
            match reader.next_batch().unwrap() {
                Ok(batch) => rows += batch.num_rows() as i64,
                Err(error) => break error,
            }
        };
        assert_eq!(rows, 10 * RECORDS, "{threads} threads");
        assert!(matches!(error, ScanError::CorruptBatch { .. }), "{error}");
        assert!(reader.next_batch().is_none());
    }
}

#[test]
fn a_stream_ends_with_the_sentence_and_keeps_the_error() {
    let (_file, splits) = splits(|bytes| bytes[100] ^= 1);
    let failure = Failure::default();
    let mut stream = ScanStream::new(reader(&splits, 1), Arc::clone(&failure));
    let told = stream.next().unwrap().unwrap_err().to_string();
    let kept = failure.lock().take().unwrap();
    assert!(
        matches!(
            kept,
            ScanError::CorruptBatch {
                position: Position::START,
                ..
            }
        ),
        "{kept}"
    );
    assert!(told.ends_with(&kept.to_string()), "{told}");
    assert!(stream.next().is_none() && failure.lock().is_none());
}

#[test]
fn dropping_the_reader_stops_threads_that_wait() {
    let (_file, splits) = splits(|_| ());
    for taken in 0..3 {
        let mut reader = reader(&splits, 4);
        for _ in 0..taken {
            reader.next_batch().unwrap().unwrap();
        }
        let Way::Threads(threads) = &reader.way else {
            panic!("no threads");
        };
        let shared = Arc::downgrade(&threads.shared);
        drop(reader);
        assert!(shared.upgrade().is_none(), "a thread still runs");
    }
}

#[test]
fn no_thread_runs_far_ahead_of_the_consumer() {
    let (_file, splits) = splits(|_| ());
    let mut reader = reader(&splits, 2);
    reader.next_batch().unwrap().unwrap();
    let Way::Threads(threads) = &reader.way else {
        panic!("no threads");
    };
    let state = threads.shared.state.lock();
    assert!(state.next_split <= 3);
    assert!(
        state
            .queues
            .iter()
            .all(|queue| queue.batches.len() <= *QUEUE_BATCHES.end())
    );
}

#[test]
fn no_split_is_an_empty_stream_with_a_schema() {
    let reader = &mut reader(&Vec::new().into(), 4);
    assert!(reader.next_batch().is_none());
    assert_eq!(reader.schema().fields().len(), 8);
}
