//! Damaged batch headers met while a broker serves: whoever reads there is told, everything else goes on.
//!
//! The damage is done in the files behind a started broker, one field of one batch at a time, and undone before the
//! next. Batches of a rolled segment and of the active one are hit: one before the first index entry, one behind it,
//! and the last one.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use protocol::ApiTable;
use protocol::list_offsets::{FOLLOWER_VERSION, decode_follower_response, encode_follower_request, timestamp};
use record::{BatchBuilder, Batches, Codec};

use crate::client::Client;
use crate::fixture::{TOPIC, TestBroker};
use crate::requests::{Fetch, Produce, Wanted, batch};

const FIRST_TIMESTAMP: i64 = 1_700_000_000_000;
const BATCHES: i64 = 60;
const ALLOWED: [i16; 2] = [ErrorCode::NONE.0, ErrorCode::CORRUPT_MESSAGE.0];

/// A batch in a segment's file.
struct Place {
    path: PathBuf,
    position: u64,
    offset: i64,
    head: Vec<u8>,
}

/// What is written over a header, and whether a reader may be sent past the batch: its offsets say that it is not what
/// is asked for.
struct Damage {
    name: &'static str,
    at: usize,
    bytes: Vec<u8>,
    moves: bool,
}

fn damages(place: &Place) -> Vec<Damage> {
    let length = i32::from_be_bytes(place.head[8..12].try_into().unwrap());
    let damage = |name, at, bytes: &[u8]| Damage {
        name,
        at,
        bytes: bytes.to_vec(),
        moves: at == 0 || at == 23,
    };
    vec![
        damage("base offset up", 0, &(place.offset + 1_000_000).to_be_bytes()),
        damage("base offset down", 0, &(place.offset - 1000).to_be_bytes()),
        damage("base offset greatest", 0, &i64::MAX.to_be_bytes()),
        damage("base offset least", 0, &i64::MIN.to_be_bytes()),
        damage("length up", 8, &(length + 16).to_be_bytes()),
        damage("length down", 8, &(length - 16).to_be_bytes()),
        damage("length zero", 8, &0_i32.to_be_bytes()),
        damage("length negative", 8, &(-length).to_be_bytes()),
        damage("length huge", 8, &(length | 1 << 30).to_be_bytes()),
        damage("length greatest", 8, &i32::MAX.to_be_bytes()),
        damage("epoch", 12, &77_i32.to_be_bytes()),
        damage("epoch negative", 12, &i32::MIN.to_be_bytes()),
        damage("magic 3", 16, &[3]),
        damage("magic 0", 16, &[0]),
        damage("crc", 17, &[0; 4]),
        damage("codec unknown", 21, &7_i16.to_be_bytes()),
        damage("codec gzip", 21, &1_i16.to_be_bytes()),
        damage("codec zstd", 21, &4_i16.to_be_bytes()),
        damage("attributes all", 21, &(-1_i16).to_be_bytes()),
        damage("last offset delta greatest", 23, &i32::MAX.to_be_bytes()),
        damage("last offset delta least", 23, &i32::MIN.to_be_bytes()),
        damage("base timestamp greatest", 27, &i64::MAX.to_be_bytes()),
        damage("base timestamp least", 27, &i64::MIN.to_be_bytes()),
        damage("max timestamp greatest", 35, &i64::MAX.to_be_bytes()),
        damage("max timestamp least", 35, &i64::MIN.to_be_bytes()),
        damage("count greatest", 57, &i32::MAX.to_be_bytes()),
        damage("count negative", 57, &(-1_i32).to_be_bytes()),
    ]
}

fn at_time(offset: i64) -> i64 {
    FIRST_TIMESTAMP + offset * 1000
}

fn places(dir: &Path) -> Vec<Vec<Place>> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "log")).collect();
    paths.sort();
    let of = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        let mut position = 0;
        let mut found = Vec::new();
        for batch in Batches::new(&bytes).map(Result::unwrap) {
            found.push(Place {
                path: path.clone(),
                position,
                offset: batch.header().base_offset.get(),
                head: batch.bytes()[..61].to_vec(),
            });
            position += batch.bytes().len() as u64;
        }
        found
    };
    paths.iter().map(of).collect()
}

fn write(place: &Place, at: usize, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(&place.path).unwrap();
    file.write_all_at(bytes, place.position + at as u64).unwrap();
}

/// The error code of a `ListOffsets` by timestamp.
fn list_offsets(client: &mut Client, timestamp: i64) -> i16 {
    let mut body = Vec::new();
    encode_follower_request(&mut body, -1, (TOPIC, 0), 0, timestamp);
    client.send(ApiTable::LIST_OFFSETS, FOLLOWER_VERSION, true, &body);
    let (_, answer) = client.receive();
    decode_follower_response(&answer[1..]).unwrap().error.0
}

/// Fetches at an offset that the log has; whether it was told that the log is corrupt.
fn fetch(client: &mut Client, offset: i64, (max_bytes, isolation_level): (i32, u8), damage: &Damage) -> bool {
    let wanted = Wanted {
        max_bytes,
        ..Wanted::new(0, offset)
    };
    let request = Fetch {
        isolation_level,
        ..Fetch::of(vec![wanted, Wanted::new(1, 0)])
    };
    let answer = client.fetch(&request);
    let (hit, other) = (&answer.partitions[0], &answer.partitions[1]);
    let name = damage.name;
    assert!(ALLOWED.contains(&hit.error), "{name}: Fetch at {offset}: {}", hit.error);
    assert_eq!(other.error, 0, "{name}: the other partition");
    assert_eq!(other.base_offsets().first(), Some(&0), "{name}: the other partition");
    let is_corrupt = hit.error == ErrorCode::CORRUPT_MESSAGE.0;
    if !is_corrupt && !damage.moves {
        // Nothing is passed over: what comes begins with what was asked for, whatever it is.
        let first = i64::from_be_bytes(hit.records[..8].try_into().unwrap());
        assert_eq!(first, offset, "{name}: Fetch at {offset}");
    }
    is_corrupt
}

/// Asks for everything around a damaged batch, twice; whether anybody was told.
fn ask_around(broker: &TestBroker, client: &mut Client, place: &Place, damage: &Damage) -> bool {
    let mut is_told = false;
    let around = [0, place.offset - 1, place.offset, place.offset + 1, BATCHES - 1];
    for offset in around.into_iter().chain(around) {
        let offset = offset.min(BATCHES - 1);
        for limits in [(1 << 20, 0), (1 << 20, 1), (1, 0)] {
            is_told |= fetch(client, offset, limits, damage);
        }
        for time in [at_time(offset), at_time(offset) - 1, timestamp::MAX] {
            let code = list_offsets(client, time);
            assert!(ALLOWED.contains(&code), "{}: ListOffsets {time}: {code}", damage.name);
            is_told |= code == ErrorCode::CORRUPT_MESSAGE.0;
        }
        let ends = broker
            .partition(0)
            .end_offset_for_epoch(LeaderEpoch(0), LeaderEpoch(0))
            .unwrap();
        assert_eq!(ends, (LeaderEpoch(0), Offset(BATCHES)), "{}", damage.name);
    }
    is_told
}

/// A broker with a rolled segment and an active one, and another partition.
fn with_two_segments(client_of: &TestBroker) -> Vec<Vec<Place>> {
    client_of.create(2, &[("segment.bytes", "13000"), ("index.interval.bytes", "3000")]);
    let mut client = client_of.connect();
    client.produce(&Produce::of(1, vec![(1, Some(batch(10)))]));
    for offset in 0..BATCHES {
        let mut builder = BatchBuilder::new(Codec::None);
        builder.append(at_time(offset), Some(b"key"), Some(&[b'v'; 300]), &[]);
        assert_eq!(
            client
                .produce(&Produce::one(1, builder.build(Offset(0), LeaderEpoch::NONE)))
                .outcomes(),
            [(0, offset)]
        );
    }
    let segments = places(&client_of.dirs[0].join(format!("{TOPIC}-0")));
    assert_eq!(segments.len(), 2);
    assert!(segments.iter().all(|segment| segment.len() > 20));
    segments
}

#[test]
fn a_damaged_header_is_an_error_for_its_readers_and_takes_nothing_offline() {
    let broker = TestBroker::start();
    let segments = with_two_segments(&broker);
    let mut client = broker.connect();
    let (mut lines, mut told) = (Vec::new(), HashSet::new());
    for segment in &segments {
        for place in [&segment[2], &segment[11], &segment[segment.len() - 1]] {
            for damage in damages(place) {
                write(place, damage.at, &damage.bytes);
                let is_told = ask_around(&broker, &mut client, place, &damage);
                write(place, 0, &place.head);
                if is_told {
                    told.insert(&place.path);
                }
                assert!(broker.broker().logs().dirs().failed().is_empty(), "{}", damage.name);
                assert!(!broker.partition(0).leadership().is_offline(), "{}", damage.name);
                lines.extend(broker.log_lines());
            }
        }
    }
    assert_eq!(told.len(), 2, "both segments' readers are told");
    for path in told {
        let begins = format!("{} is corrupt at position ", path.display());
        let of_file: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix(&begins)).collect();
        let distinct: HashSet<&str> = of_file.iter().map(|line| line.split(':').next().unwrap()).collect();
        assert!(!of_file.is_empty(), "{lines:?}");
        assert_eq!(of_file.len(), distinct.len(), "each place is told once: {of_file:?}");
    }
    let mended = client.fetch(&Fetch::now(0));
    assert_eq!(mended.only().base_offsets()[0], 0);
    assert_eq!(client.produce(&Produce::one(1, batch(10))).outcomes(), [(0, BATCHES)]);
}
