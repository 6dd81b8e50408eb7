//! The requests that wait for a home.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::testing::World;
use broker::{WaitKind, Waiter, Wake};

/// The operations that were woken.
#[derive(Default)]
struct Woken(Mutex<Vec<u64>>);

impl Wake for Woken {
    fn wake(&self, operation: u64) {
        self.0.lock().push(operation);
    }
}

#[test]
fn request_that_waits_for_a_home_is_woken_when_the_home_is_begun_anew_or_closed() {
    let world = World::new();
    let (homes, woken) = (&world.groups().homes, Arc::new(Woken::default()));
    let waiter = |operation| Waiter {
        owner: Arc::clone(&woken) as Arc<dyn Wake>,
        operation,
    };
    let partition = Arc::clone(&homes.of(0).unwrap().partition);
    partition.waiters().watch(WaitKind::Produce, waiter(1));
    homes.begin(&world.fixture.broker, 0).unwrap();
    assert_eq!(std::mem::take(&mut *woken.0.lock()), [1]);
    partition.waiters().watch(WaitKind::Produce, waiter(2));
    homes.close(0);
    assert_eq!(*woken.0.lock(), [2]);
}
