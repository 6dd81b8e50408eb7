use std::path::Path;

use super::super::builder::record_bytes;
use super::super::builder::tests::settings;
use super::*;
use ::io::OsFileSystem;

/// The partition that a row names, its key and value.
type Named<'a> = (Option<i32>, Option<&'a [u8]>, &'a [u8]);

fn builder(dir: &Path, count: usize, threads: usize) -> TopicBuilder {
    let fs: Arc<dyn FileSystem> = Arc::new(OsFileSystem);
    let target = |at| SegmentTarget {
        dir: dir.join(format!("{at}")),
        known: 0,
    };
    let targets: Vec<_> = (0..count).map(target).collect();
    TopicBuilder::new(&fs, "topic", settings(), &targets, threads)
}

fn append(load: &mut TopicBuilder, rows: &[Named<'_>]) -> Result<()> {
    for (at, (partition, key, value)) in rows.iter().enumerate() {
        load.place(at, *partition, *key, record_bytes(*key, Some(value), &[]))?;
    }
    load.build(|at, _| Ok((1, rows[at].1, Some(rows[at].2))))
}

fn counts(mut load: TopicBuilder) -> Vec<i32> {
    load.finish().unwrap().iter().map(|one| one.records).collect()
}

/// Every file that was built, by its path below the folder.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for partition in std::fs::read_dir(dir).unwrap() {
        for file in std::fs::read_dir(partition.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.strip_prefix(dir).unwrap().display().to_string();
            found.push((name, std::fs::read(path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn rows_go_to_the_named_partition_to_that_of_their_key_or_in_turn() {
    let temp = tempfile::tempdir().unwrap();
    let mut load = builder(temp.path(), 3, 2);
    let key = Some(b"foobar".as_slice()); // murmur2 & 0x7fffffff is 1357151166, % 3 is 0
    append(&mut load, &[(Some(2), key, b"some value"), (None, key, b"some value")]).unwrap();
    assert_eq!(counts(load), [1, 0, 1]);
    let temp = tempfile::tempdir().unwrap();
    let mut load = builder(temp.path(), 3, 2);
    for _ in 0..6 {
        append(&mut load, &[(None, None, b"some value".as_slice()); 8]).unwrap(); // at most 50 bytes each, 8 fit 400
    }
    assert_eq!(counts(load), [16, 16, 16]);
}

#[test]
fn several_threads_build_the_same_files_as_one() {
    let value = vec![b'v'; 300];
    let keys: Vec<_> = (0..5_000_u32).map(u32::to_be_bytes).collect();
    let keyed = keys.iter().map(|key| (None, Some(key.as_slice()), value.as_slice()));
    let rows: Vec<Named<'_>> = keyed
        .chain(std::iter::repeat_n((None, None, value.as_slice()), 500))
        .collect();
    let build = |threads| {
        let temp = tempfile::tempdir().unwrap();
        let mut load = builder(temp.path(), 7, threads);
        for _ in 0..2 {
            append(&mut load, &rows).unwrap();
        }
        assert_eq!(counts(load).iter().sum::<i32>(), 11_000);
        files(temp.path())
    };
    let of_one = build(1);
    assert!(of_one.len() > 1000, "{}", of_one.len());
    assert!(build(4) == of_one);
}

#[test]
fn failure_names_its_partition_with_any_number_of_threads() {
    let (large, value) = (vec![b'v'; 2000], vec![b'v'; 900]);
    for threads in [1, 4] {
        let temp = tempfile::tempdir().unwrap();
        let mut load = builder(temp.path(), 4, threads);
        let mut rows: Vec<Named<'_>> = vec![(Some(1), None, value.as_slice()); 2000];
        rows.push((Some(1), None, &large));
        let told = append(&mut load, &rows).unwrap_err().to_string();
        assert!(told.starts_with("topic-1: record 2000 has 2040 bytes"), "{told}");
    }
}

#[test]
fn partition_that_the_topic_has_not_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let mut load = builder(temp.path(), 3, 1);
    for wrong in [3, -1, i32::MAX] {
        let refused = append(&mut load, &[(Some(wrong), None, b"v")]).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!("column partition: topic topic has no partition {wrong}; it has 3")
        );
    }
}
