//! What is listed of log directories, and the sentences about what is none.

use std::fs;
use std::io::ErrorKind;

use super::super::testing::*;
use super::super::{ScanError, list_partitions};
use ::io::OsFileSystem;
use base::place::Offset;

#[test]
fn partitions_are_listed_with_sizes_offsets_and_times() {
    let bench = Bench::new(&[]);
    fill(&bench, &[10, 40, 20, 30, 15], 1, 2);
    for ignored in [
        "topic-1.0123456789abcdef-delete",
        "topic-2.0123456789abcdef-future",
        "lost+found",
    ] {
        fs::create_dir(bench.dir.path().join(ignored)).unwrap();
    }
    let found = list_partitions(&OsFileSystem, &[bench.dir.path().to_path_buf()], None).unwrap();
    let [only] = &found[..] else { panic!("{found:?}") };
    let sizes: u64 = segment_files(&bench.path())
        .iter()
        .map(|path| fs::metadata(path).unwrap().len())
        .sum();
    assert_eq!(only.partition.to_string(), "topic-0");
    assert_eq!((only.segments, only.size_bytes), (3, sizes));
    assert_eq!((only.log_start_offset, only.end_offset), (Offset(0), Offset(5)));
    assert_eq!(only.log_end_offset, Offset(5));
    assert_eq!((only.first_timestamp_ms, only.max_timestamp_ms), (10, 40));
    assert!(
        list_partitions(&OsFileSystem, &[bench.dir.path().to_path_buf()], Some("other"))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn log_end_offset_is_that_of_the_last_whole_batch_however_far_behind_the_high_watermark_is() {
    let bench = Bench::new(&[]);
    fill(&bench, &[10, 40, 20, 30, 15], 1, 2);
    let ends = || {
        let found = list_partitions(&OsFileSystem, &[bench.dir.path().to_path_buf()], None).unwrap();
        (found[0].end_offset, found[0].log_end_offset)
    };
    for high_watermark in [0, 1, 4, 5] {
        write_high_watermark(&bench, high_watermark);
        assert_eq!(ends(), (Offset(high_watermark), Offset(5)));
    }
    write_high_watermark(&bench, 4);
    let last = segment_files(&bench.path()).pop().unwrap();
    let bytes = fs::read(&last).unwrap();
    fs::write(&last, [&bytes[..], &bytes[..bytes.len() - 1]].concat()).unwrap();
    assert_eq!(
        ends(),
        (Offset(4), Offset(5)),
        "a batch that is cut short does not count"
    );
}

#[test]
fn a_partition_in_two_log_directories_names_both() {
    let (one, other) = (Bench::new(&[]), Bench::new(&[]));
    fill(&one, &[START_MS], 1, 1);
    fill(&other, &[START_MS], 1, 1);
    let dirs = [one.dir.path().to_path_buf(), other.dir.path().to_path_buf()];
    let said = list_partitions(&OsFileSystem, &dirs, None).err().unwrap().to_string();
    assert!(dirs.iter().all(|dir| said.contains(dir.to_str().unwrap())), "{said}");
}

#[test]
fn a_path_that_is_no_log_directory_is_refused_in_a_sentence() {
    let bench = Bench::new(&[]);
    fill(&bench, &[START_MS], 1, 1);
    let empty = tempfile::tempdir().unwrap();
    let list = |path: std::path::PathBuf| list_partitions(&OsFileSystem, &[path], None).err().unwrap();
    let missing = list(bench.dir.path().join("none"));
    assert!(
        matches!(&missing, ScanError::NotFound(said) if said.contains("none")),
        "{missing}"
    );
    let file = list(bench.file(0, ".log"));
    assert!(
        matches!(&file, ScanError::Io { source, .. } if source.kind() == ErrorKind::NotADirectory),
        "{file}"
    );
    let other = list(empty.path().to_path_buf()).to_string();
    assert!(other.contains("no log directory"), "{other}");
    let partition = list(bench.path()).to_string();
    assert!(partition.contains("is a partition's directory"), "{partition}");
    assert!(list_partitions(&OsFileSystem, &[], None).is_err());
}

#[test]
fn an_unknown_topic_is_refused_with_a_list_of_topics() {
    let bench = Bench::new(&[]);
    fill(&bench, &[START_MS], 1, 1);
    let mut request = request(&bench);
    request.topic = "flights".to_owned();
    let error = plan(&request).err().unwrap();
    assert!(
        matches!(&error, ScanError::NotFound(said) if said.contains("flights") && said.ends_with("there are topic"))
    );
}
