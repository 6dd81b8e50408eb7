use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::testing::Calls;

/// An answer that is there after so many attempts; it counts who watches.
struct After {
    attempts: usize,
    watchers: AtomicUsize,
}

impl Delayed for After {
    fn watch(&self, _: &Waiter) {
        self.watchers.fetch_add(1, Ordering::Relaxed);
    }

    fn forget(&self, _: &Waiter) {
        self.watchers.store(0, Ordering::Relaxed);
    }

    fn try_complete(&mut self, _: &Attempt<'_>, _: &mut Vec<u8>) -> Tried {
        unreachable!("the tests try it by themselves")
    }

    fn deadline(&self) -> Instant {
        unreachable!("nobody asks")
    }
}

fn after(attempts: usize) -> After {
    After {
        attempts,
        watchers: AtomicUsize::new(0),
    }
}

fn waiter() -> Waiter {
    Waiter {
        owner: Arc::new(Calls::default()),
        operation: 1,
    }
}

/// Tries, and notes how many watched at each attempt.
fn attempt(watched: &mut Vec<usize>) -> impl FnMut(&mut dyn Delayed) -> Tried {
    |delayed| {
        let it: &mut dyn Any = delayed;
        let it = it.downcast_mut::<After>().unwrap();
        watched.push(it.watchers.load(Ordering::Relaxed));
        it.attempts -= 1;
        if it.attempts == 0 {
            Tried::Answered(Rest::Nothing)
        } else {
            Tried::Waits
        }
    }
}

// The event that it waits for may come between the serving and the watching.
#[test]
fn answer_that_starts_to_wait_watches_before_it_is_tried_and_not_after_it_is_given() {
    for (attempts, is_answered, watchers) in [(1, true, 0), (2, false, 1)] {
        let (mut delayed, mut watched) = (after(attempts), Vec::new());
        let tried = start_waiting(&mut delayed, &waiter(), &mut attempt(&mut watched));
        assert_eq!(matches!(tried, Tried::Answered(_)), is_answered);
        assert_eq!(watched, [1]);
        assert_eq!(delayed.watchers.into_inner(), watchers);
    }
}

#[test]
fn answer_that_goes_on_waiting_is_tried_once_more_while_it_watches() {
    for (attempts, expected, watchers) in [(1, &[0][..], 0), (2, &[0, 1], 0), (3, &[0, 1], 1)] {
        let (mut delayed, mut watched) = (after(attempts), Vec::new());
        delayed.watch(&waiter());
        let tried = go_on_waiting(&mut delayed, &waiter(), &mut attempt(&mut watched));
        assert_eq!(matches!(tried, Tried::Answered(_)), attempts < 3);
        assert_eq!(watched, expected);
        assert_eq!(delayed.watchers.into_inner(), watchers);
    }
}
