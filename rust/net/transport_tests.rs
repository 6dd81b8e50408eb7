use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::*;
use ::io::{FileSystem, OpenMode, OsFileSystem};

fn pair() -> (Transport<UnixStream>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    (Transport::plain(ours), theirs)
}

fn file(bytes: &[u8]) -> (tempfile::TempDir, Arc<dyn File>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.log");
    std::fs::write(&path, bytes).unwrap();
    let file = OsFileSystem.open(&path, OpenMode::Read).unwrap();
    (dir, file)
}

#[test]
fn full_socket_takes_a_part_of_what_is_sent_and_nothing_of_a_file() {
    let (mut ours, _theirs) = pair();
    let bytes = vec![7; 4 << 20];
    let sent = ours.send(&bytes, false).unwrap();
    assert!((1..bytes.len()).contains(&sent), "{sent} bytes");
    let (_dir, file) = file(b"0123456789");
    assert_eq!(ours.send_file(&*file, 0, 10).unwrap(), None);
}

#[test]
fn range_of_a_file_is_sent_from_its_position_on_to_the_end_of_the_file() {
    let (mut ours, mut theirs) = pair();
    let (_dir, file) = file(b"0123456789");
    assert_eq!(ours.send_file(&*file, 7, 100).unwrap(), Some(3));
    assert_eq!(ours.send_file(&*file, 10, 1).unwrap(), Some(0), "the end");
    let mut arrived = [0; 3];
    theirs.read_exact(&mut arrived).unwrap();
    assert_eq!(&arrived, b"789");
}

#[test]
fn peeked_bytes_are_received_afterwards_and_the_end_is_no_bytes() {
    let (mut ours, mut theirs) = pair();
    theirs.write_all(b"abcdef").unwrap();
    let (mut front, mut buffer) = ([0; 2], [0; 3]);
    assert_eq!((ours.peek(&mut front).unwrap(), &front), (2, b"ab"));
    assert_eq!((ours.receive(&mut buffer).unwrap(), &buffer), (3, b"abc"));
    let mut kept = Vec::with_capacity(10);
    kept.push(b'-');
    assert_eq!(ours.receive_behind(&mut kept).unwrap(), 3);
    assert_eq!(kept, b"-def");
    assert_eq!(ours.receive(&mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    drop(theirs);
    assert_eq!(ours.receive(&mut buffer).unwrap(), 0);
}
