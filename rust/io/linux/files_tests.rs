use super::*;
use crate::{FileSystem, OpenMode, OsFileSystem};

#[test]
fn a_volume_holds_the_files_below_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    let Some(volume) = OsFileSystem.open_volume(dir.path()).unwrap() else {
        return;
    };
    let file = OsFileSystem.open(&dir.path().join("a"), OpenMode::CreateNew).unwrap();
    let other = OsFileSystem.open("/proc/self/stat".as_ref(), OpenMode::Read).unwrap();
    assert!(volume.holds(&*file) && !volume.holds(&*other));
    volume.sync().unwrap();
}

#[test]
fn kernel_versions_are_read_from_releases() {
    for (release, version) in [
        ("5.8.0", Some((5, 8))),
        ("6.12.3-amd64+x", Some((6, 12))),
        ("4.19-rc1", Some((4, 19))),
        ("x", None),
    ] {
        assert_eq!(kernel_version(release), version, "{release}");
    }
}

// KAFKA-7504
#[test]
fn a_page_of_a_map_is_resident_once_the_file_is_read() {
    const PAGE: usize = 64 << 10; // the largest of any system
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index");
    let file = OsFileSystem.open(&path, OpenMode::CreateNew).unwrap();
    file.write_all_at(&vec![7; 8 * PAGE], 0).unwrap();
    file.sync_data().unwrap();
    let mut advised = Ok(());
    file.with_fd(&mut |fd| advised = rustix::fs::fadvise(fd, 0, None, rustix::fs::Advice::DontNeed))
        .unwrap();
    advised.unwrap();
    let map = OsFileSystem.map_read(&*file, (8 * PAGE) as u64).unwrap();
    let is_resident = map.is_resident(5 * PAGE); // on a file system without a disk it always is
    let is_cached = file.read_exact_if_cached(&mut [0], (5 * PAGE) as u64).unwrap();
    // The attempt itself begins to read ahead, and a fast disk has the page there before it returns.
    assert!(is_cached || !is_resident);
    file.read_exact_at(&mut vec![0; PAGE], (5 * PAGE) as u64).unwrap();
    assert!(map.is_resident(5 * PAGE));
    assert_eq!(map[5 * PAGE], 7);
    assert!(map.is_resident(9 * PAGE), "nothing is there to wait for");
}
