use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::*;
use crate::Budget;

fn is_readable(queue: &EventQueue) -> bool {
    let signal = queue.signal();
    let mut fds = [PollFd::new(&signal, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 1
}

fn request(token: u64, bytes: usize) -> Event {
    Event::Request(ControlRequest {
        token,
        api_key: 32,
        api_version: 4,
        correlation_id: 0,
        client: Arc::new(ClientInfo::nobody()),
        body: vec![0; bytes],
        charge: Budget::new(0).account(),
    })
}

#[test]
fn large_requests_are_taken_one_at_a_time() {
    let queue = EventQueue::new().unwrap();
    for token in 0..3 {
        queue.push(request(token, MAX_TAKEN_BYTES + 1));
    }
    queue.push(request(3, 1));
    queue.push(request(4, 1));
    assert_eq!([queue.take(10).len(), queue.take(10).len()], [1, 1]);
    assert!(is_readable(&queue));
    assert_eq!(queue.take(10).len(), 1);
    assert_eq!(queue.take(10).len(), 2);
    assert!(!is_readable(&queue));
}

#[test]
fn the_signal_is_readable_exactly_while_something_waits() {
    let queue = EventQueue::new().unwrap();
    assert!(!is_readable(&queue));
    for i in 0..3 {
        queue.push(Event::Log(i.to_string()));
    }
    assert!(is_readable(&queue));
    assert_eq!(queue.take(2), [Event::Log("0".into()), Event::Log("1".into())]);
    assert!(is_readable(&queue));
    assert_eq!(queue.take(2), [Event::Log("2".into())]);
    assert!(!is_readable(&queue));
    queue.push(Event::Log("again".into()));
    assert!(is_readable(&queue));
}
