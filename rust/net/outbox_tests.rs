use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::*;
use crate::warm::read_ahead;
use ::io::{FileSystem, OpenMode, OsFileSystem};

/// A file of so many bytes that tell their position.
fn file(len: usize) -> (tempfile::TempDir, Arc<dyn File>) {
    let dir = tempfile::tempdir().unwrap();
    let file = create(dir.path(), len);
    (dir, file)
}

fn create(dir: &Path, len: usize) -> Arc<dyn File> {
    let path = dir.join("0.log");
    let mut out = std::fs::File::create(&path).unwrap();
    out.write_all(&(0..len).map(|i| (i % 251) as u8).collect::<Vec<_>>())
        .unwrap();
    out.sync_all().unwrap();
    OsFileSystem.open(&path, OpenMode::Read).unwrap()
}

fn range(file: &Arc<dyn File>, position: u64, len: usize) -> FileRange {
    FileRange {
        file: Arc::clone(file),
        position,
        len,
    }
}

fn pair() -> (Transport<UnixStream>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    (Transport::plain(ours), theirs)
}

/// Flushes until all is sent, reading at the other end; returns what arrived and how often it was cold.
fn send_all(mut outbox: Outbox) -> (Vec<u8>, usize) {
    let (mut ours, mut theirs) = pair();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        theirs.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let mut cold = 0;
    loop {
        match outbox.flush(&mut ours).unwrap() {
            SendProgress::All => break,
            SendProgress::Blocked => std::thread::yield_now(),
            SendProgress::Cold(range) => {
                cold += 1;
                read_ahead(&range);
                outbox.warmed();
            }
        }
    }
    assert!(outbox.is_empty() && !outbox.has_files());
    drop(ours);
    (reader.join().unwrap(), cold)
}

#[test]
fn bytes_and_ranges_leave_in_order() {
    let (_dir, file) = file(3_000_000);
    let mut outbox = Outbox::default();
    outbox.tail().extend_from_slice(b"head");
    outbox.push_file(range(&file, 5, 2_500_000));
    outbox.tail().extend_from_slice(b"middle");
    outbox.push_file(range(&file, 0, 3));
    assert!(outbox.has_files());
    assert_eq!(outbox.buffered_bytes(), 10);
    let (arrived, _) = send_all(outbox);
    assert_eq!(arrived.len(), 10 + 2_500_003);
    assert_eq!(arrived[..4], *b"head");
    assert!(
        arrived[4..2_500_004]
            .iter()
            .enumerate()
            .all(|(i, &b)| b == ((i + 5) % 251) as u8)
    );
    assert_eq!(arrived[2_500_004..], *b"middle\x00\x01\x02");
}

#[test]
fn a_full_socket_keeps_the_rest_for_later() {
    let (mut ours, mut theirs) = pair();
    let mut outbox = Outbox::default();
    outbox.tail().resize(4 << 20, 7);
    assert!(matches!(outbox.flush(&mut ours).unwrap(), SendProgress::Blocked));
    outbox.tail().push(8); // behind what is partly sent
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        theirs.read_to_end(&mut bytes).unwrap();
        bytes
    });
    while !matches!(outbox.flush(&mut ours).unwrap(), SendProgress::All) {
        std::thread::yield_now();
    }
    drop(ours);
    let arrived = reader.join().unwrap();
    assert_eq!(arrived.len(), (4 << 20) + 1);
    assert_eq!(arrived.last(), Some(&8));
    assert!(arrived[..4 << 20].iter().all(|&b| b == 7));
}

/// Pages that the kernel was told to drop are asked for, chunk by chunk; on a file system without a disk there are
/// none.
#[cfg(target_os = "linux")] // macOS does not tell cold pages
#[test]
fn cold_pages_are_asked_for_and_never_read_here() {
    let (_dir, file) = file(3 << 20);
    let mut advised = Ok(());
    file.with_fd(&mut |fd| advised = rustix::fs::fadvise(fd, 0, None, rustix::fs::Advice::DontNeed))
        .unwrap();
    advised.unwrap();
    let is_dropped = !is_in_memory(&range(&file, 0, 3 << 20), 3 << 20);
    let mut outbox = Outbox::default();
    outbox.push_file(range(&file, 0, 3 << 20));
    let (arrived, cold) = send_all(outbox);
    assert_eq!(arrived.len(), 3 << 20);
    assert!(arrived.iter().enumerate().all(|(i, &b)| b == (i % 251) as u8));
    assert_eq!(cold > 0, is_dropped, "cold {cold} times");
}

/// A range that stays cold (the read ahead failed, or memory is short) is sent nevertheless.
#[cfg(target_os = "linux")] // macOS does not tell cold pages
#[test]
fn a_range_is_asked_for_once_and_then_sent() {
    let (_dir, file) = file(1000);
    let mut advised = Ok(());
    file.with_fd(&mut |fd| advised = rustix::fs::fadvise(fd, 0, None, rustix::fs::Advice::DontNeed))
        .unwrap();
    advised.unwrap();
    let (mut ours, _theirs) = pair();
    let mut outbox = Outbox::default();
    outbox.push_file(range(&file, 0, 1000));
    if let SendProgress::Cold(asked) = outbox.flush(&mut ours).unwrap() {
        assert_eq!((asked.position, asked.len), (0, 1000));
        outbox.warmed();
        assert!(matches!(outbox.flush(&mut ours).unwrap(), SendProgress::All));
    }
}

/// A file that cannot be probed counts as in memory: the error shows when it is sent.
#[test]
fn a_file_shorter_than_its_range_is_an_error() {
    let (_dir, file) = file(10);
    let (mut ours, _theirs) = pair();
    let mut outbox = Outbox::default();
    outbox.push_file(range(&file, 0, 20));
    let error = outbox.flush(&mut ours).err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn a_closed_socket_is_an_error_and_no_signal() {
    let (mut ours, theirs) = pair();
    drop(theirs);
    let mut outbox = Outbox::default();
    outbox.tail().push(1);
    assert_eq!(outbox.flush(&mut ours).err().unwrap().kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn an_outbox_behind_another_keeps_its_order() {
    let (_dir, file) = file(10);
    let (mut first, mut second) = (Outbox::default(), Outbox::default());
    first.tail().extend_from_slice(b"a");
    second.tail().extend_from_slice(b"b");
    second.push_file(range(&file, 1, 1));
    second.tail().extend_from_slice(b"c");
    first.append(&mut second);
    assert!(second.is_empty());
    assert_eq!(first.pieces.len(), 3, "neighbouring bytes are one piece");
    assert_eq!(send_all(first).0, b"ab\x01c");
}

#[test]
fn a_sent_buffer_is_used_again_unless_it_is_large() {
    let (mut ours, _theirs) = pair();
    let mut outbox = Outbox::default();
    outbox.tail().extend_from_slice(&[1; 1000]);
    let at = outbox.tail().as_ptr();
    assert!(matches!(outbox.flush(&mut ours).unwrap(), SendProgress::All));
    assert_eq!(outbox.tail().as_ptr(), at);
    let mut outbox = Outbox::default();
    outbox.tail().reserve(KEEP_BYTES + 1);
    assert!(matches!(outbox.flush(&mut ours).unwrap(), SendProgress::All));
    assert!(outbox.spare.capacity() <= KEEP_BYTES);
}
