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
    let mut receiver = Transport::plain(receiver);
    let mut input = Input::default();
    input.keep_copy(&[0; 8], 100 << 20, &mut BufferPool::default());
    sender.write_all(&[1; 1000]).unwrap();
    assert!(input.receive(&mut receiver).unwrap() > 0);
    assert!(
        input.kept.capacity() < 1 << 20,
        "{} bytes for 1,008",
        input.kept.capacity()
    );
}

#[test]
fn a_frame_that_is_still_arriving_is_not_looked_at_until_it_is_whole() {
    let (mut sender, receiver) = UnixStream::pair().unwrap();
    let mut receiver = Transport::plain(receiver);
    let mut input = Input::default();
    input.keep_copy(&[0, 0, 0, 4, 1], 8, &mut BufferPool::default());
    for byte in 2..=4 {
        assert!(!input.may_be_served());
        sender.write_all(&[byte]).unwrap();
        assert_eq!(input.receive(&mut receiver).unwrap(), 1);
    }
    assert!(input.may_be_served());
}

#[test]
fn what_had_to_wait_for_an_answer_is_looked_at_again() {
    let mut input = Input::default();
    input.keep(vec![9, 0, 0], 1, 0, &mut BufferPool::default());
    assert!(input.may_be_served());
}

#[test]
fn what_is_not_served_is_kept() {
    let mut input = Input::default();
    let mut pool = BufferPool::default();
    input.keep(vec![1, 2, 3, 4], 2, 0, &mut pool);
    assert_eq!(input.take(), [3, 4]);
    input.keep(vec![1, 2], 2, 0, &mut pool);
    assert!(input.is_empty());
}

#[test]
fn a_served_buffer_is_used_for_the_next_frame() {
    let (mut input, mut pool) = (Input::default(), BufferPool::default());
    input.keep_copy(&[0; 8], 1 << 20, &mut pool);
    let first = input.take();
    let place = first.as_ptr();
    input.keep(first, 8, 0, &mut pool);
    input.keep_copy(&[0; 8], 1 << 20, &mut pool);
    let second = input.take();
    assert_eq!(second.as_ptr(), place);
}

#[test]
fn huge_buffers_are_not_pooled() {
    let (mut input, mut pool) = (Input::default(), BufferPool::default());
    input.keep(vec![0; 3 << 20], 3 << 20, 0, &mut pool);
    assert!(pool.free.is_empty());
}
