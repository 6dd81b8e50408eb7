use super::*;

#[derive(Default)]
struct Owner(Mutex<Vec<u64>>);

impl Wake for Owner {
    fn wake(&self, operation: u64) {
        self.0.lock().push(operation);
    }
}

fn setup() -> (Arc<Owner>, Waiters, impl Fn(u64) -> Waiter) {
    let owner = Arc::new(Owner::default());
    let watcher = Arc::clone(&owner);
    (owner, Waiters::default(), move |operation| Waiter {
        owner: watcher.clone(),
        operation,
    })
}

#[test]
fn a_wake_up_calls_each_waiter_of_its_kind_once() {
    let (owner, waiters, waiter) = setup();
    waiters.watch(WaitKind::Fetch, waiter(1));
    waiters.watch(WaitKind::Fetch, waiter(2));
    waiters.watch(WaitKind::Produce, waiter(3));
    waiters.wake_all(WaitKind::Fetch);
    waiters.wake_all(WaitKind::Fetch);
    assert_eq!(*owner.0.lock(), [1, 2]);
    assert_eq!((waiters.len(WaitKind::Fetch), waiters.len(WaitKind::Produce)), (0, 1));
}

#[test]
fn a_forgotten_operation_is_not_called() {
    let (owner, waiters, waiter) = setup();
    waiters.watch(WaitKind::Produce, waiter(1));
    waiters.watch(WaitKind::Produce, waiter(2));
    waiters.forget(WaitKind::Produce, 1, &waiter(1).owner);
    waiters.wake_all(WaitKind::Produce);
    assert_eq!(*owner.0.lock(), [2]);
}

#[test]
fn the_same_number_of_another_owner_is_another_operation() {
    let (owner, waiters, waiter) = setup();
    let (_, _, other) = setup();
    waiters.watch(WaitKind::Fetch, waiter(7));
    waiters.forget(WaitKind::Fetch, 7, &other(7).owner);
    waiters.wake_all(WaitKind::Fetch);
    assert_eq!(*owner.0.lock(), [7]);
}
