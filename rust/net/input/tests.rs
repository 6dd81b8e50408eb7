use std::io::Write;
use std::os::unix::net::UnixStream;

use super::*;

#[test]
fn a_frame_is_whole_partial_or_bad() {
    assert_eq!(front(&[], 100), Front::Partial(4));
    assert_eq!(front(&[0, 0, 0], 100), Front::Partial(4));
    assert_eq!(front(&[0, 0, 0, 2, 9], 100), Front::Partial(6));
    assert_eq!(front(&[0, 0, 0, 2, 9, 9, 7], 100), Front::Frame(2));
    assert_eq!(front(&[0, 0, 0, 0], 100), Front::Bad(0));
    assert_eq!(front(&[255, 255, 255, 255], 100), Front::Bad(-1));
    assert_eq!(front(&[0, 0, 0, 101], 100), Front::Bad(101));
    assert_eq!(front(&[0, 0, 0, 100], 100), Front::Partial(104));
}

#[test]
fn a_buffer_grows_with_what_arrives_and_not_by_what_is_claimed() {
    let (mut sender, receiver) = UnixStream::pair().unwrap();
    receiver.set_nonblocking(true).unwrap();
    let mut input = Input::default();
    input.keep_copy(&[0; 8], 100 << 20);
    sender.write_all(&[1; 1000]).unwrap();
    assert!(input.receive(&receiver, 100 << 20).unwrap() > 0);
    assert!(
        input.kept.capacity() < 1 << 20,
        "{} bytes for 1,008",
        input.kept.capacity()
    );
}

#[test]
fn what_is_not_served_is_kept() {
    let mut input = Input::default();
    input.keep(vec![1, 2, 3, 4], 2);
    assert_eq!(input.take(), [3, 4]);
    input.keep(vec![1, 2], 2);
    assert!(input.is_empty());
}
