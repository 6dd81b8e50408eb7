use super::*;
use ::io::OsFileSystem;
use base::error::Error;
use base::error::shortage::out_of_descriptors;
use std::io::ErrorKind;
use std::path::Path;

fn shortage() -> Error {
    Error::io("open", Path::new("a"), out_of_descriptors())
}

#[test]
fn shortage_that_passes_is_not_reported() {
    let mut failures = 2;
    let done = patiently(&OsFileSystem, || {
        failures -= 1;
        if failures >= 0 { Err(shortage()) } else { Ok("done") }
    });
    assert_eq!(done.unwrap(), "done");
}

#[test]
fn failing_disk_is_reported_at_once() {
    let mut calls = 0;
    let failed: Result<()> = patiently(&OsFileSystem, || {
        calls += 1;
        Err(Error::io("open", Path::new("a"), ErrorKind::NotFound.into()))
    });
    assert!(failed.is_err() && calls == 1);
}

#[test]
fn failed_fsync_is_no_shortage_but_failing_to_open_what_is_synced_is() {
    let no_memory = || base::error::shortage::out_of_memory();
    let of = |op, error| Error::io(op, Path::new("a"), error);
    assert!(of("write", no_memory()).is_shortage());
    assert!(!of("fsync", no_memory()).is_shortage());
    assert!(of("fsync", base::error::shortage::not_opened(no_memory())).is_shortage());
    assert!(of("fsync", out_of_descriptors()).is_shortage());
    assert!(!of("fsync", ErrorKind::Interrupted.into()).is_shortage());
    assert!(of("read", base::error::shortage::removed(Path::new("a"))).is_shortage());
}
