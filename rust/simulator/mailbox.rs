//! What a network loop is to the operations that wait.

use parking_lot::Mutex;

use broker::Wake;

/// The operations that were woken and may be able to complete, in the order of the calls: in place of the mailbox of a
/// network loop.
#[derive(Default)]
pub(super) struct WokenOperations(pub(super) Mutex<Vec<u64>>);

impl Wake for WokenOperations {
    fn wake(&self, operation: u64) {
        self.0.lock().push(operation);
    }
}
