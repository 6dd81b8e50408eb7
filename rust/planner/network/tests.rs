//! What a reader makes of the answers of brokers: cut batches, moves, losses. The broker is a socket with prepared
//! answers; what a real one answers, tests/spark reads.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::BrokerLog;
use crate::testing::{NODE, epoch_end, fetched, metadata, offset};
use base::place::{LeaderEpoch, Offset};
use client::Security;
use record::{BatchBuilder, Codec};
use scan::{Column, LostRange, LostRanges, Remote, Result, ScanError, ScanOptions, Split, SplitReader};

const FETCH: i16 = 1;
const LIST_OFFSETS: i16 = 2;
const METADATA: i16 = 3;
const EPOCH_END: i16 = 23;

/// Ten records from an offset on, in one batch.
fn batch(at: i64) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Codec::None);
    for _ in 0..10 {
        builder.append(0, None, Some(b"value"), &[]);
    }
    builder.build(Offset(at), LeaderEpoch(0))
}

type Answer = Option<Vec<u8>>;

/// Answers each request with the next of the script, which names its api; `None` closes the connection.
fn broker(script: impl Fn(u16) -> Vec<(i16, Answer)>) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut script = script(port).into_iter().peekable();
    let served = thread::spawn(move || {
        while script.peek().is_some() {
            let (mut stream, _) = listener.accept().unwrap();
            let mut size = [0; 4];
            while stream.read_exact(&mut size).is_ok() {
                let mut request = vec![0; i32::from_be_bytes(size) as usize];
                stream.read_exact(&mut request).unwrap();
                let Some((api_key, answer)) = script.next() else { return };
                assert_eq!(i16::from_be_bytes([request[0], request[1]]), api_key);
                let Some(answer) = answer else { break };
                let mut sent = ((answer.len() + 4) as i32).to_be_bytes().to_vec();
                sent.extend(&request[4..8]);
                sent.extend(answer);
                stream.write_all(&sent).unwrap();
            }
        }
    });
    (port, served)
}

/// Offsets that are read of 0 to 40, planned in epoch 3, and those that are lost.
fn read(fail_on_data_loss: bool, script: impl Fn(u16) -> Vec<(i16, Answer)>) -> (Result<Vec<i64>>, Vec<(i64, i64)>) {
    let (port, served) = broker(script);
    let split = Split {
        topic: "t".into(),
        partition: 0,
        start_offset: Offset(0),
        end_offset: Offset(40),
        slices: Vec::new(),
        leader_epoch: LeaderEpoch::NONE,
        remote: Some(Remote {
            bootstrap_servers: format!("127.0.0.1:{port}"),
            client_rack: String::new(),
            leader_epoch: LeaderEpoch(3),
            size_bytes: 0,
            log_dirs: Vec::<PathBuf>::new(),
            cluster_id: String::new(),
            planned_dir: None,
            in_sync: Vec::new(),
        }),
        aborted: None,
    };
    let mut options = ScanOptions::new(&[Column::Offset]).unwrap();
    options.fail_on_data_loss = fail_on_data_loss;
    options.remote_log = Some(Arc::new(BrokerLog::new(Security::plaintext())));
    let lost = LostRanges::default();
    let reader = SplitReader::new(Arc::new(split), Arc::new(options), Arc::clone(&lost));
    let batches: Result<Vec<_>> = reader.collect();
    served.join().unwrap();
    let offsets = batches.map(|batches| {
        let columns = batches.iter().map(|batch| batch.column(0).clone());
        columns
            .flat_map(|column| {
                let offsets =
                    arrow_array::cast::AsArray::as_primitive::<arrow_array::types::Int64Type>(&column).clone();
                offsets.values().to_vec()
            })
            .collect()
    });
    let range = |range: &LostRange| (range.from.get(), range.to.get());
    let lost = lost.lock().iter().map(range).collect();
    (offsets, lost)
}

fn all() -> Vec<i64> {
    (0..40).collect()
}

#[test]
fn batches_come_whole_and_a_cut_one_is_fetched_again() {
    let two = [batch(0), batch(10)].concat();
    let cut = [&two[..], &batch(20)[..30]].concat();
    let rest = [batch(20), batch(30), batch(40)].concat();
    let (offsets, lost) = read(true, |port| {
        vec![
            (METADATA, Some(metadata(port, 0, NODE, 3))),
            (FETCH, Some(fetched(0, &cut))),
            (FETCH, Some(fetched(0, &rest))),
        ]
    });
    assert_eq!((offsets.unwrap(), lost), (all(), Vec::new()));
}

#[test]
fn a_leader_that_moves_or_dies_is_looked_for_again() {
    let (first, rest) = ([batch(0), batch(10)].concat(), [batch(20), batch(30)].concat());
    let (offsets, lost) = read(true, |port| {
        vec![
            (METADATA, Some(metadata(port, 0, NODE, 3))),
            (FETCH, Some(fetched(0, &first))),
            (FETCH, Some(fetched(6, &[]))),
            (METADATA, Some(metadata(port, 0, NODE, 3))),
            (FETCH, None),
            (METADATA, Some(metadata(port, 0, NODE, 4))),
            (EPOCH_END, Some(epoch_end(90))),
            (FETCH, Some(fetched(0, &rest))),
        ]
    });
    assert_eq!((offsets.unwrap(), lost), (all(), Vec::new()));
}

#[test]
fn offsets_below_the_log_start_are_lost_and_the_rest_is_read() {
    let rest = [batch(20), batch(30)].concat();
    let script = |port| {
        vec![
            (METADATA, Some(metadata(port, 0, NODE, 3))),
            (FETCH, Some(fetched(1, &[]))),
            (METADATA, Some(metadata(port, 0, NODE, 3))),
            (LIST_OFFSETS, Some(offset(0, 100))),
            (LIST_OFFSETS, Some(offset(0, 100))),
            (LIST_OFFSETS, Some(offset(0, 23))), // within a batch, which comes whole
            (METADATA, Some(metadata(port, 0, NODE, 3))),
            (FETCH, Some(fetched(0, &rest))),
        ]
    };
    let (offsets, lost) = read(false, script);
    assert_eq!((offsets.unwrap(), lost), ((23..40).collect(), vec![(0, 23)]));
    let (error, _) = read(true, |port| script(port).into_iter().take(6).collect());
    let error = error.err().unwrap();
    assert!(matches!(error, ScanError::Lost { .. }));
    assert_eq!(
        error.to_string(),
        "t-0: offsets 0 to 23 are lost: the log starts at 23 by now"
    );
}

#[test]
fn offsets_that_a_later_leader_has_cut_off_are_lost_whatever_stands_there_now() {
    let first = [batch(0), batch(10), batch(20)].concat();
    let (offsets, lost) = read(false, |port| {
        vec![
            (METADATA, Some(metadata(port, 0, NODE, 5))),
            (EPOCH_END, Some(epoch_end(20))),
            (FETCH, Some(fetched(0, &first))),
        ]
    });
    assert_eq!((offsets.unwrap(), lost), ((0..20).collect(), vec![(20, 40)]));
}
