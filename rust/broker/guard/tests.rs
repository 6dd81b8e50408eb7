use std::io;

use super::guarded;
use crate::broker::{Event, EventQueue};

fn told(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> Vec<Event> {
    let queue = EventQueue::new().unwrap();
    std::thread::scope(|scope| {
        let run = || guarded(&queue, work);
        let thread = std::thread::Builder::new()
            .name("disk-7".into())
            .spawn_scoped(scope, run);
        thread.unwrap().join().unwrap();
    });
    queue.take(9)
}

fn failed(reason: &str) -> Vec<Event> {
    vec![Event::ThreadFailed {
        thread: "disk-7".to_owned(),
        reason: reason.to_owned(),
    }]
}

#[test]
fn a_thread_that_ends_well_tells_nothing() {
    assert_eq!(told(|| Ok(())), []);
}

#[test]
fn a_panic_is_told_with_its_message() {
    assert_eq!(told(|| panic!("a constant")), failed("panic: a constant"));
    let number = std::hint::black_box(5);
    assert_eq!(told(move || panic!("index {number}")), failed("panic: index 5"));
    let odd = || std::panic::panic_any(5);
    assert_eq!(told(odd), failed("panic: without a message"));
}

#[test]
fn an_error_is_told_as_well() {
    assert_eq!(told(|| Err(io::Error::other("poll is gone"))), failed("poll is gone"));
}
