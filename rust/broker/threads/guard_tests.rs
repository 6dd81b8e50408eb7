use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Watched, guarded};
use crate::{Event, EventQueue};

fn events_of(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> Vec<Event> {
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

#[test]
fn a_panic_in_a_watched_call_is_reported_and_goes_on_to_the_caller() {
    let queue = EventQueue::new().unwrap();
    let number = 5_i32;
    let call = |divisor: i32| {
        catch_unwind(AssertUnwindSafe(|| {
            Watched::new(&number, &queue).checked_rem(divisor).unwrap()
        }))
    };
    assert_eq!(call(2).ok(), Some(1));
    assert_eq!(queue.take(9), [], "a call that returns tells nothing");
    assert!(call(0).is_err());
    let events = queue.take(9);
    let [Event::ThreadFailed { reason, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(reason, "panic in a call, its message is on standard error");
}

fn failed(reason: &str) -> Vec<Event> {
    vec![Event::ThreadFailed {
        thread: "disk-7".to_owned(),
        reason: reason.to_owned(),
    }]
}

#[test]
fn a_thread_that_ends_well_reports_nothing() {
    assert_eq!(events_of(|| Ok(())), []);
}

#[test]
fn a_panic_is_reported_with_its_message() {
    assert_eq!(events_of(|| panic!("a constant")), failed("panic: a constant"));
    let number = std::hint::black_box(5);
    assert_eq!(events_of(move || panic!("index {number}")), failed("panic: index 5"));
    let odd = || std::panic::panic_any(5);
    assert_eq!(events_of(odd), failed("panic: without a message"));
}

#[test]
fn an_error_is_reported_as_well() {
    assert_eq!(
        events_of(|| Err(io::Error::other("poll is gone"))),
        failed("poll is gone")
    );
}
