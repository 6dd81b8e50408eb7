use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::*;

fn is_readable(queue: &EventQueue) -> bool {
    let signal = queue.signal();
    let mut fds = [PollFd::new(&signal, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 1
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
