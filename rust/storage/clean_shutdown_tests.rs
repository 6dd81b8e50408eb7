use std::fs;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::test_fixtures::{fixture, fixture_text};
use ::io::{Fault, FaultFileSystem, OsFileSystem};

#[test]
fn the_marker_is_byte_for_byte_kafkas() {
    let epoch = decode(&fixture("kafka_cleanshutdown")).unwrap();
    assert_eq!(encode(epoch, None), fixture_text("kafka_cleanshutdown").trim_end());
}

#[test]
fn a_marker_is_taken_once() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(take(&OsFileSystem, dir.path()).unwrap(), Shutdown::default());
    write(&OsFileSystem, dir.path(), 42, None).unwrap();
    assert_eq!(
        take(&OsFileSystem, dir.path()).unwrap(),
        Shutdown {
            is_clean: true,
            broker_epoch: Some(42),
            closed_logs: None,
        }
    );
    assert_eq!(take(&OsFileSystem, dir.path()).unwrap(), Shutdown::default());
}

#[test]
fn a_marker_without_epoch_is_still_clean() {
    for text in [
        "",
        "{}",
        "{\"version\":0}",
        "{\"version\":0,\"brokerEpoch\":null}",
        "garbage",
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(CLEAN_SHUTDOWN), text).unwrap();
        assert_eq!(
            take(&OsFileSystem, dir.path()).unwrap(),
            Shutdown {
                is_clean: true,
                broker_epoch: None,
                closed_logs: None,
            },
            "{text}"
        );
    }
    assert_eq!(decode(b"{ \"brokerEpoch\" : 7 , \"version\" : 0 }"), Some(7));
    assert_eq!(decode(b"{\"brokerEpoch\":-1,\"more\":{}}"), Some(-1));
}

#[test]
fn a_marker_that_cannot_be_removed_for_good_does_not_count() {
    for label in ["read:.kafka_cleanshutdown", "remove:.kafka_cleanshutdown", "sync:dir"] {
        let dir = tempfile::tempdir().unwrap();
        write(&OsFileSystem, dir.path(), 42, None).unwrap();
        let faulty = FaultFileSystem::new(Arc::new(OsFileSystem));
        faulty.arm(label, 1, Fault::InputOutput);
        assert!(take(&faulty, dir.path()).is_err(), "{label}");
        assert!(faulty.has_fired());
    }
}

proptest! {
    #[test]
    fn every_epoch_survives(epoch: i64) {
        prop_assert_eq!(decode(encode(epoch, None).as_bytes()), Some(epoch));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        let _ = decode(&bytes);
        let _ = decode(&[b"\"brokerEpoch\":", &bytes[..]].concat());
    }
}
