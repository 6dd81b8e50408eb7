use super::super::builder::tests::settings;
use super::*;
use crate::io::OsFileSystem;

fn builder(dir: &std::path::Path, count: usize) -> TopicBuilder {
    let fs: Arc<dyn FileSystem> = Arc::new(OsFileSystem);
    let target = |at| Target {
        dir: dir.join(format!("{at}")),
        known: 0,
    };
    TopicBuilder::new(&fs, "topic", settings(), &(0..count).map(target).collect::<Vec<_>>())
}

fn row(key: Option<&[u8]>) -> Row<'_> {
    Row {
        timestamp: 1,
        key,
        value: Some(b"some value"),
        headers: &[],
    }
}

#[test]
fn rows_go_to_the_named_partition_to_that_of_their_key_or_in_turn() {
    let temp = tempfile::tempdir().unwrap();
    let mut load = builder(temp.path(), 3);
    load.append(Some(2), &row(Some(b"foobar"))).unwrap();
    load.append(None, &row(Some(b"foobar"))).unwrap(); // murmur2 & 0x7fffffff is 1357151166, % 3 is 0
    let counts = |built: Vec<Built>| built.iter().map(|one| one.records).collect::<Vec<_>>();
    assert_eq!(counts(load.finish().unwrap()), [1, 0, 1]);
    let temp = tempfile::tempdir().unwrap();
    let mut load = builder(temp.path(), 3);
    for _ in 0..48 {
        load.append(None, &row(None)).unwrap(); // 50 bytes each at most, 8 fit a turn of 400
    }
    assert_eq!(counts(load.finish().unwrap()), [16, 16, 16]);
}

#[test]
fn partition_that_the_topic_has_not_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let mut load = builder(temp.path(), 3);
    for wrong in [3, -1, i32::MAX] {
        let refused = load.append(Some(wrong), &row(None)).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!("column partition: topic topic has no partition {wrong}; it has 3")
        );
    }
}
