//! One fault in a good directory: the check names its file and its position, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use super::world::{World, batches, change, copy_dir, faults, flip};
use base::place::Offset;
use storage::format::{INDEX_ENTRY, TIME_INDEX_ENTRY, TXN_INDEX_ENTRY, file_path};

/// Where the fault is.
type Place = (PathBuf, Option<u64>);
/// Its name, and what makes it.
type Planted = (String, Box<dyn Fn(&World) -> Place>);

const SEALED: usize = 2;

fn planted(name: impl Into<String>, plant: impl Fn(&World) -> Place + 'static) -> Planted {
    (name.into(), Box::new(plant))
}

/// A batch in the middle of a sealed segment whose base offset has this parity.
fn middle(path: &Path, parity: i64) -> (u64, usize) {
    let all = batches(path);
    let (position, header) = all[3..all.len() - 3]
        .iter()
        .find(|(_, header)| header.base_offset.get() % 2 == parity)
        .unwrap();
    (*position, header.size_bytes())
}

fn bit(name: &str, at: u64, bits: u8, parity: i64) -> Planted {
    planted(name, move |world| {
        let path = world.file("events", SEALED, ".log");
        let (position, _) = middle(&path, parity);
        flip(&path, position + at, bits);
        (path, Some(position))
    })
}

fn in_batches() -> Vec<Planted> {
    let mut all = vec![
        bit("base offset far too high", 6, 1, 0),
        bit("base offset a little too high", 7, 1, 0),
        bit("base offset a little too low", 7, 1, 1),
        bit("length one off", 11, 1, 0),
        bit("length beyond the file", 8, 0x40, 0),
        bit("length negative", 8, 0x80, 0),
        bit("leader epoch of a later leader", 15, 1, 0),
        bit("magic", 16, 1, 0),
        bit("crc", 17, 1, 0),
        bit("attributes", 22, 1, 0),
        bit("last offset delta", 26, 1, 0),
        bit("base timestamp", 34, 1, 0),
        bit("max timestamp", 42, 1, 0),
        bit("producer id", 50, 1, 0),
        bit("producer epoch", 52, 1, 0),
        bit("base sequence", 56, 1, 0),
        bit("record count", 60, 1, 0),
        bit("first byte of the records", 61, 1, 0),
        planted("last byte of the records", |world| {
            let path = world.file("events", SEALED, ".log");
            let (position, size) = middle(&path, 0);
            flip(&path, position + size as u64 - 1, 0x80);
            (path, Some(position))
        }),
        planted("leader epoch of an earlier leader", |world| {
            let path = world.file("events", world.bases("events").len() - 2, ".log");
            let (position, _) = middle(&path, 0);
            flip(&path, position + 15, 1);
            (path, Some(position))
        }),
        planted("swapped batches", |world| {
            let path = world.file("events", SEALED, ".log");
            let (position, size) = middle(&path, 0);
            change(&path, |bytes| {
                let rest = &bytes[position as usize + size..];
                let other = batches_size(rest);
                bytes[position as usize..position as usize + size + other].rotate_left(size);
            });
            (path, Some(position))
        }),
        planted("a batch twice", |world| {
            let path = world.file("events", SEALED, ".log");
            let (position, size) = middle(&path, 0);
            let at = position as usize;
            change(&path, |bytes| {
                let copy = bytes[at..at + size].to_vec();
                bytes.splice(at + size..at + size, copy);
            });
            (path, Some(position + size as u64))
        }),
    ];
    all.extend(["events", "tx"].map(|topic| {
        planted(format!("first batch of {topic}"), move |world| {
            let path = world.file(topic, 0, ".log");
            flip(&path, 70, 4);
            (path, Some(0))
        })
    }));
    all
}

fn batches_size(bytes: &[u8]) -> usize {
    record::BatchHeader::parse(bytes).unwrap().size_bytes()
}

fn last_batch(path: &Path) -> u64 {
    batches(path).last().unwrap().0
}

fn at_ends() -> Vec<Planted> {
    vec![
        planted("a sealed segment ends within a batch", |world| {
            let path = world.file("events", SEALED, ".log");
            let last = last_batch(&path);
            change(&path, |bytes| bytes.truncate(bytes.len() - 10));
            (path, Some(last))
        }),
        planted("a sealed segment lacks its last batch", |world| {
            let path = world.file("events", SEALED, ".log");
            let last = last_batch(&path);
            change(&path, |bytes| bytes.truncate(last as usize));
            (path, Some(last))
        }),
        planted("a sealed segment is empty", |world| {
            let path = world.file("events", SEALED, ".log");
            change(&path, Vec::clear);
            (path, Some(0))
        }),
        planted("bytes left over in a sealed segment", |world| {
            tail(world, SEALED, &[7; 10])
        }),
        planted("zeros left over in a sealed segment", |world| {
            tail(world, SEALED, &[0; 100])
        }),
        planted("the last segment of a clean stop ends within a batch", |world| {
            let path = world.active("events", ".log");
            let last = last_batch(&path);
            change(&path, |bytes| bytes.truncate(bytes.len() - 1));
            (path, Some(last))
        }),
        planted("the last segment of a clean stop has bytes left over", |world| {
            tail(world, world.bases("events").len() - 1, b"left over")
        }),
        planted("the last batch is damaged", |world| {
            let path = world.active("events", ".log");
            let last = last_batch(&path);
            flip(&path, last + 80, 1);
            (path, Some(last))
        }),
    ]
}

fn tail(world: &World, segment: usize, more: &[u8]) -> Place {
    let path = world.file("events", segment, ".log");
    let len = fs::metadata(&path).unwrap().len();
    change(&path, |bytes| bytes.extend_from_slice(more));
    (path, Some(len))
}

/// Adds to a byte of the entry at `index` of an index of `entry` bytes each.
fn lie(
    name: &str,
    topic: &'static str,
    suffix: &'static str,
    entry: usize,
    (index, byte, add): (usize, usize, u8),
) -> Planted {
    planted(name, move |world| {
        let path = index_of(world, topic, suffix, entry * (index + 1));
        change(&path, |bytes| {
            let at = entry * index + byte;
            bytes[at] = bytes[at].wrapping_add(add);
        });
        (path, Some((entry * index) as u64))
    })
}

/// A sealed segment's index with that many bytes at least.
fn index_of(world: &World, topic: &str, suffix: &str, least: usize) -> PathBuf {
    let sealed = world.bases(topic).len() - 1;
    let paths = (0..sealed).map(|segment| world.file(topic, segment, suffix));
    let mut long = paths.filter(|path| fs::metadata(path).is_ok_and(|it| it.len() as usize >= least));
    long.next().expect("an index that long")
}

fn edit(name: &str, suffix: &'static str, edit: fn(&mut Vec<u8>) -> Option<u64>) -> Planted {
    planted(name, move |world| {
        let path = index_of(world, if suffix == ".txnindex" { "tx" } else { "events" }, suffix, 30);
        let mut position = None;
        change(&path, |bytes| position = edit(bytes));
        (path, position)
    })
}

fn swap(bytes: &mut [u8], entry: usize) -> u64 {
    bytes[..2 * entry].rotate_left(entry);
    entry as u64
}

fn in_offset_and_time_indexes() -> Vec<Planted> {
    const I: usize = INDEX_ENTRY;
    const T: usize = TIME_INDEX_ENTRY;
    vec![
        lie("index offset one too high", "events", ".index", I, (1, 3, 1)),
        lie("index offset one too low", "events", ".index", I, (1, 3, 255)),
        lie("index position within a batch", "events", ".index", I, (1, 7, 1)),
        lie("index position beyond the log", "events", ".index", I, (2, 4, 1)),
        planted("index position of the batch behind", |world| {
            let path = index_of(world, "events", ".index", 3 * I);
            let log = path.with_extension("log");
            change(&path, |bytes| {
                let position = u32::from_be_bytes(bytes[I + 4..2 * I].try_into().unwrap());
                let behind = batches(&log)
                    .into_iter()
                    .find(|(at, _)| *at > u64::from(position))
                    .unwrap();
                bytes[I + 4..2 * I].copy_from_slice(&(behind.0 as u32).to_be_bytes());
            });
            (path, Some(I as u64))
        }),
        edit("index entries swapped", ".index", |bytes| Some(swap(bytes, I))),
        edit("index entry twice", ".index", |bytes| {
            let at = bytes.len();
            bytes.extend_from_within(at - I..);
            Some(at as u64)
        }),
        edit("index ends within an entry", ".index", |bytes| {
            bytes.extend([0; 3]);
            Some(bytes.len() as u64 - 3)
        }),
        edit("zeros in a sealed index", ".index", |bytes| {
            bytes.extend([0; I]);
            Some((bytes.len() - I) as u64)
        }),
        lie("time index timestamp too late", "events", ".timeindex", T, (1, 7, 1)),
        lie("time index timestamp too early", "events", ".timeindex", T, (1, 7, 255)),
        lie(
            "time index timestamp in another age",
            "events",
            ".timeindex",
            T,
            (1, 1, 1),
        ),
        lie(
            "time index offset of the batch behind",
            "events",
            ".timeindex",
            T,
            (1, 11, 3),
        ),
        lie("time index offset beyond the log", "events", ".timeindex", T, (1, 9, 1)),
        edit("time index entries swapped", ".timeindex", |bytes| Some(swap(bytes, T))),
        edit("time index ends within an entry", ".timeindex", |bytes| {
            bytes.extend([1; 5]);
            Some(bytes.len() as u64 - 5)
        }),
        edit("time index lacks its last entry", ".timeindex", |bytes| {
            bytes.truncate(bytes.len() - T);
            Some((bytes.len() - T) as u64)
        }),
        missing(".index"),
        missing(".timeindex"),
    ]
}

fn missing(suffix: &'static str) -> Planted {
    planted(format!("{suffix} missing"), move |world| {
        let path = world.file("events", SEALED, suffix);
        fs::remove_file(&path).unwrap();
        (path, None)
    })
}

fn in_transaction_indexes() -> Vec<Planted> {
    const X: usize = TXN_INDEX_ENTRY;
    vec![
        lie("txnindex version", "tx", ".txnindex", X, (0, 1, 1)),
        lie("txnindex producer", "tx", ".txnindex", X, (0, 9, 2)),
        lie("txnindex first offset within a batch", "tx", ".txnindex", X, (0, 17, 1)),
        lie(
            "txnindex first offset behind the marker",
            "tx",
            ".txnindex",
            X,
            (0, 16, 9),
        ),
        lie("txnindex last offset is no marker", "tx", ".txnindex", X, (0, 25, 255)),
        lie(
            "txnindex last offset in another segment",
            "tx",
            ".txnindex",
            X,
            (0, 20, 1),
        ),
        lie("txnindex last stable offset too high", "tx", ".txnindex", X, (0, 31, 1)),
        edit("txnindex ends within an entry", ".txnindex", |bytes| {
            bytes.extend([0; 9]);
            Some(bytes.len() as u64 - 9)
        }),
        planted("txnindex lacks an entry", |world| {
            let path = index_of(world, "tx", ".txnindex", X);
            change(&path, |bytes| drop(bytes.drain(..X)));
            (path, None)
        }),
    ]
}

fn snapshot(world: &World) -> PathBuf {
    let bases = world.bases("tx");
    file_path(&world.topic("tx"), Offset(bases[bases.len() - 1]), ".snapshot")
}

fn text(path: PathBuf, from: &str, to: &str) -> Place {
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{} has no {from:?}: {text}", path.display());
    fs::write(&path, text.replacen(from, to, 1)).unwrap();
    (path, None)
}

fn in_state_files() -> Vec<Planted> {
    let mut all = vec![
        planted("snapshot crc", |world| {
            flip(&snapshot(world), 20, 1);
            (snapshot(world), Some(2))
        }),
        planted("snapshot version", |world| {
            flip(&snapshot(world), 1, 2);
            (snapshot(world), Some(0))
        }),
        planted("snapshot of an offset beyond the log", |world| {
            let path = file_path(&world.topic("tx"), Offset(1_000_000), ".snapshot");
            fs::copy(snapshot(world), &path).unwrap();
            (path, None)
        }),
        planted("epochs that are none", |world| text(epochs(world), "1 120", "one 120")),
        planted("epochs of another version", |world| text(epochs(world), "0\n2", "9\n2")),
        planted("epochs that go back", |world| {
            (text(epochs(world), "1 120", "0 120").0, Some(8))
        }),
        planted("epoch that starts too late", |world| {
            (text(epochs(world), "1 120", "1 123").0, Some(8))
        }),
        planted("epoch that starts too early", |world| {
            (text(epochs(world), "1 120", "1 117").0, Some(8))
        }),
        planted("epoch beyond the log", |world| {
            (
                text(epochs(world), "2\n0 0\n1 120\n", "3\n0 0\n1 120\n2 9999\n").0,
                Some(14),
            )
        }),
        planted("partition.metadata", |world| {
            text(
                world.topic("events").join("partition.metadata"),
                "topic_id: ",
                "topic: ",
            )
        }),
        planted("meta.properties", |world| {
            text(world.dir.join("meta.properties"), "node.id=1", "node.id=one")
        }),
        planted("a checkpoint that promises more", |world| {
            text(world.dir.join("replication-offset-checkpoint"), "0\n2\n", "0\n3\n")
        }),
        planted("a checkpoint that is no text", |world| {
            let path = world.dir.join("recovery-point-offset-checkpoint");
            flip(&path, 4, 0x80);
            (path, Some(4))
        }),
    ];
    let line = |name: &'static str| {
        planted(format!("{name} beyond the log"), move |world| {
            let path = world.dir.join(name);
            fs::write(&path, "0\n1\nevents 0 99999\n").unwrap();
            (path, Some(4))
        })
    };
    all.extend([
        line("recovery-point-offset-checkpoint"),
        line("replication-offset-checkpoint"),
        line("log-start-offset-checkpoint"),
        line("cleaner-offset-checkpoint"),
    ]);
    all
}

fn epochs(world: &World) -> PathBuf {
    world.topic("events").join("leader-epoch-checkpoint")
}

fn in_names() -> Vec<Planted> {
    vec![
        planted("a segment whose name has too few digits", |world| {
            let path = world.topic("events").join("42.log");
            fs::copy(world.file("events", 0, ".log"), &path).unwrap();
            (path, None)
        }),
        planted("an index without its log", |world| {
            let path = file_path(&world.topic("events"), Offset(1), ".index");
            fs::copy(world.file("events", 0, ".index"), &path).unwrap();
            (path, None)
        }),
        planted("a partition in two directories", |world| {
            let other = world.dir.parent().unwrap().join("other").join("tx-0");
            copy_dir(&world.topic("tx"), &other);
            (other, None)
        }),
        planted("a copied log directory", |world| {
            let other = world.dir.parent().unwrap().join("other");
            fs::create_dir_all(&other).unwrap();
            fs::copy(world.dir.join("meta.properties"), other.join("meta.properties")).unwrap();
            (other.join("meta.properties"), None)
        }),
    ]
}

#[test]
fn each_planted_fault_is_named_and_nothing_else() {
    let good = World::new();
    let all: Vec<Planted> = [
        in_batches(),
        at_ends(),
        in_offset_and_time_indexes(),
        in_transaction_indexes(),
        in_state_files(),
        in_names(),
    ]
    .into_iter()
    .flatten()
    .collect();
    assert!(all.len() >= 50, "{} faults", all.len());
    let mut missed = Vec::new();
    for (name, plant) in &all {
        let world = good.copy();
        let (path, position) = plant(&world);
        let other = world.dir.parent().unwrap().join("other");
        let mut paths = vec![world.dir.clone()];
        paths.extend(other.exists().then_some(other));
        let report = World::check_with(&paths, false);
        let found = faults(&report);
        let is_named = found.iter().any(|it| it.path == path && it.position == position);
        if !is_named || found.iter().any(|it| it.path != path) {
            missed.push(format!(
                "{name}: {} at {position:?}, but found {found:#?}",
                path.display()
            ));
        }
    }
    assert!(
        missed.is_empty(),
        "{} of {}:\n{}",
        missed.len(),
        all.len(),
        missed.join("\n")
    );
}
