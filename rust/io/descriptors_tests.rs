//! The budget, and files that are closed and opened again.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::*;
use crate::{Fault, FaultFileSystem, File, FileSystem, KeptFileSystem, OpenMode, OsFileSystem};
use base::error::shortage::is_out_of_descriptors;

struct Disk {
    dir: tempfile::TempDir,
    faults: FaultFileSystem,
    descriptors: Arc<Descriptors>,
    fs: KeptFileSystem,
}

impl Disk {
    fn with(total: usize) -> Self {
        let faults = FaultFileSystem::new(Arc::new(OsFileSystem));
        let descriptors = Descriptors::new(total, total);
        Self {
            dir: tempfile::tempdir().unwrap(),
            fs: KeptFileSystem::new(Arc::new(faults.clone()), Arc::clone(&descriptors)),
            faults,
            descriptors,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn create(&self, name: &str) -> Arc<dyn File> {
        self.fs.open_kept(&self.path(name), OpenMode::Create).unwrap()
    }

    /// With `text` in it, on disk.
    fn synced(&self, name: &str, text: &[u8]) -> Arc<dyn File> {
        let file = self.create(name);
        file.write_all_at(text, 0).unwrap();
        file.sync_data().unwrap();
        file
    }

    fn close_all(&self) {
        while self.descriptors.close_idle(10) > 0 {}
    }
}

fn text(file: &Arc<dyn File>) -> Vec<u8> {
    let mut text = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut text, 0).unwrap();
    text
}

/// Descriptors of this process below `dir`.
fn open_below(dir: &Path) -> usize {
    let fds = std::fs::read_dir("/dev/fd").unwrap();
    fds.filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok())
        .filter(|path| path.starts_with(dir))
        .count()
}

#[test]
fn more_files_than_the_budget_are_read_and_written_with_no_more_open() {
    let disk = Disk::with(4);
    let files: Vec<_> = (0..40u8).map(|n| disk.synced(&n.to_string(), &[n])).collect();
    for round in 0..3u8 {
        for (n, file) in (0..).zip(&files) {
            assert_eq!(text(file), [n + round]);
            file.write_all_at(&[n + round + 1], 0).unwrap();
            file.sync_data().unwrap();
            assert!(open_below(disk.dir.path()) <= 4 && disk.descriptors.files() <= 4);
        }
    }
    drop(files);
    assert_eq!((disk.descriptors.files(), open_below(disk.dir.path())), (0, 0));
}

#[test]
fn file_in_use_stays_open_beside_files_that_are_not() {
    let disk = Disk::with(8);
    let busy = disk.synced("busy", b"busy");
    for n in 0..100 {
        busy.len().unwrap();
        disk.synced(&n.to_string(), b"idle");
    }
    assert_eq!(disk.faults.counts().get("open:busy"), Some(&1));
}

#[test]
fn unsynced_file_is_not_closed_before_it_is_synced() {
    let disk = Disk::with(2);
    let files: Vec<_> = ["a", "b"].map(|name| disk.create(name)).into();
    for file in &files {
        file.write_all_at(b"unsynced", 0).unwrap();
    }
    let refused = disk.fs.open_kept(&disk.path("c"), OpenMode::Create);
    assert!(is_out_of_descriptors(&refused.err().unwrap()));
    assert_eq!(disk.descriptors.files(), 2, "the refused one is not counted");
    disk.fs.relieve();
    assert_eq!(disk.faults.counts().get("sync:a"), Some(&1));
    disk.create("c");
    assert_eq!(text(&files[0]), b"unsynced");
}

#[test]
fn files_of_a_volume_are_synced_with_one_call() {
    let disk = Disk::with(100);
    let volume = disk.fs.open_volume(disk.dir.path()).unwrap();
    let files: Vec<_> = (0..20).map(|n| disk.create(&n.to_string())).collect();
    for file in &files {
        file.write_all_at(b"unsynced", 0).unwrap();
    }
    disk.descriptors.sync_open_files();
    let counts = disk.faults.counts();
    if volume.is_some() {
        assert_eq!((counts.get("sync:volume"), counts.get("sync:0")), (Some(&1), None));
    }
    disk.close_all();
    assert_eq!(disk.descriptors.files(), 0);
}

#[test]
fn failed_sync_of_a_file_before_its_close_is_reported_to_its_log() {
    let disk = Disk::with(4);
    let file = disk.create("a");
    file.write_all_at(b"lost", 0).unwrap();
    disk.faults.arm("sync:a", 1, Fault::InputOutput);
    disk.descriptors.sync_open_files();
    assert!(disk.faults.has_fired());
    for _ in 0..2 {
        assert_eq!(file.sync_data().unwrap_err().raw_os_error(), Some(5));
        assert_eq!(file.write_all_at(b"more", 4).unwrap_err().raw_os_error(), Some(5));
    }
}

#[test]
fn write_that_began_before_a_sync_and_ends_after_it_leaves_the_file_unsynced() {
    let disk = Disk::with(4);
    let file = disk.synced("a", b"1");
    file.note_unsynced(); // as a write does before it begins
    file.sync_data().unwrap();
    file.note_unsynced(); // and when it has ended
    disk.close_all();
    assert_eq!(disk.descriptors.files(), 1);
}

#[test]
fn sync_of_a_closed_file_is_done_already_unless_an_earlier_process_wrote_it() {
    let disk = Disk::with(4);
    let (ours, theirs) = (disk.synced("ours", b"1"), disk.synced("theirs", b"1"));
    drop(theirs);
    let theirs = disk.fs.open_kept(&disk.path("theirs"), OpenMode::ReadWrite).unwrap();
    disk.close_all();
    disk.faults.arm("none", 1, Fault::InputOutput); // counts anew
    ours.sync_data().unwrap();
    theirs.sync_data().unwrap();
    let counts = disk.faults.counts();
    assert_eq!((counts.get("sync:ours"), counts.get("sync:theirs")), (None, Some(&1)));
}

#[test]
fn closed_file_is_found_under_its_new_name() {
    let disk = Disk::with(4);
    let file = disk.synced("a", b"text");
    disk.close_all();
    {
        let _names = disk.fs.hold_names();
        disk.fs.rename(&disk.path("a"), &disk.path("b")).unwrap();
        file.moved_to(&disk.path("b"));
    }
    assert_eq!(text(&file), b"text");
}

#[test]
fn closed_file_that_was_replaced_is_refused() {
    let disk = Disk::with(4);
    let file = disk.synced("a", b"text");
    disk.close_all();
    std::fs::write(disk.path("b"), b"fake").unwrap();
    std::fs::rename(disk.path("b"), disk.path("a")).unwrap();
    let refused = file.len().unwrap_err();
    assert!(refused.to_string().contains("replaced") && !base::error::shortage::is_shortage(&refused));
    assert_eq!(disk.descriptors.files(), 0);
}

#[test]
fn retired_file_is_read_to_its_end_while_open_and_refused_once_closed() {
    let disk = Disk::with(4);
    let (open, closed) = (disk.synced("open", b"text"), disk.synced("closed", b"text"));
    disk.close_all();
    assert_eq!(text(&open), b"text");
    for (file, name) in [(&open, "open"), (&closed, "closed")] {
        file.retire();
        disk.fs.remove_file(&disk.path(name)).unwrap();
    }
    disk.close_all();
    assert_eq!(text(&open), b"text");
    assert!(base::error::shortage::is_shortage(&closed.len().unwrap_err()));
}

#[test]
fn call_without_a_descriptor_closes_files_and_is_repeated() {
    let disk = Disk::with(4);
    let files = ["a", "b"].map(|name| disk.synced(name, b"text"));
    for (label, fault) in [
        ("open:c", Fault::NoDescriptor),
        ("read:dir", Fault::NoDescriptor),
        ("sync:dir", Fault::Interrupted),
        ("read:a", Fault::Interrupted),
    ] {
        for file in &files {
            file.len().unwrap();
        }
        disk.faults.arm(label, 1, fault);
        disk.fs.open(&disk.path("c"), OpenMode::Create).unwrap();
        disk.fs.read_dir(disk.dir.path()).unwrap();
        disk.fs.sync_dir(disk.dir.path()).unwrap();
        assert_eq!(text(&files[0]), b"text");
        assert!(disk.faults.has_fired(), "{label}");
    }
}

#[test]
fn connections_leave_a_quarter_to_files_and_brokers_get_some_more() {
    let descriptors = Descriptors::new(100, 80);
    assert_eq!((0..100).filter(|_| descriptors.admit_connection(false)).count(), 60);
    assert_eq!((0..100).filter(|_| descriptors.admit_connection(true)).count(), 10);
    descriptors.release_connection();
    assert!(!descriptors.admit_connection(false));
    (0..10).for_each(|_| descriptors.release_connection());
    assert!(descriptors.admit_connection(false));
}

#[test]
fn connection_takes_the_descriptor_of_an_idle_file() {
    let disk = Disk::with(8);
    let files: Vec<_> = (0..8).map(|n| disk.synced(&n.to_string(), b"text")).collect();
    assert_eq!(disk.descriptors.files(), 8);
    assert!(disk.descriptors.admit_connection(false));
    assert_eq!(disk.descriptors.files(), 7);
    assert!(files.iter().all(|file| text(file) == b"text"));
    assert!(disk.descriptors.files() <= 7);
}

#[test]
fn files_that_come_and_go_leave_nothing_in_the_ring() {
    let disk = Disk::with(100);
    for n in 0..1000 {
        disk.create(&(n % 10).to_string());
    }
    assert!(disk.descriptors.ring.lock().slots.len() <= TOGETHER + 1);
}

#[test]
fn readers_and_writers_beside_closing_lose_nothing() {
    let disk = Disk::with(8);
    let files: Vec<_> = (0..32u64)
        .map(|n| disk.synced(&n.to_string(), &n.to_be_bytes()))
        .collect();
    std::thread::scope(|scope| {
        for seed in 1..4u64 {
            let (files, descriptors) = (&files, &disk.descriptors);
            scope.spawn(move || {
                let mut random = seed;
                for _ in 0..2000 {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let n = (random >> 33) % 32;
                    let mut bytes = [0; 8];
                    match files[n as usize].read_exact_at(&mut bytes, 0) {
                        Ok(()) => assert_eq!(u64::from_be_bytes(bytes), n),
                        Err(error) => assert!(is_out_of_descriptors(&error) && error.kind() != ErrorKind::NotFound),
                    }
                    if n == 7 {
                        drop(files[n as usize].write_all_at(&n.to_be_bytes(), 0));
                        descriptors.sync_open_files();
                    }
                }
            });
        }
    });
    drop(files);
    assert_eq!((disk.descriptors.files(), open_below(disk.dir.path())), (0, 0));
}
