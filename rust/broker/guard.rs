//! The end of a thread that others wait for: [`guarded`] tells of it, whatever ended it; and a panic in a call from
//! outside, which [`Watched`] tells of.
//!
//! A panic unwinds one thread only, and whoever waits for that thread would wait for ever. So every thread of the data
//! plane runs within a guard, and the control plane, told by [`Event::ThreadFailed`], ends the process (as Kafka's
//! `Exit.halt` does). It never ends the process itself: who embeds the engine decides.

use std::any::Any;
use std::io;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use super::events::{Event, EventQueue};

/// Runs a thread's work; a panic or an error in it becomes one [`Event::ThreadFailed`].
pub fn guarded(events: &EventQueue, work: impl FnOnce() -> io::Result<()>) {
    // Unwind safety: nothing that the panic may have left half done is used for long, as the process is to end.
    let reason = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(panic) => format!("panic: {}", message_of(&*panic)),
    };
    let thread = thread::current().name().unwrap_or_default().to_owned();
    events.push(Event::ThreadFailed { thread, reason });
}

/// Something of the engine for the time of one call from outside. A panic in it goes on to the caller, who may not know
/// what to do with it, and leaves state half done, as one in a thread of ours does: so it becomes one
/// [`Event::ThreadFailed`] too.
pub struct Watched<'a, T> {
    target: &'a T,
    events: &'a EventQueue,
}

impl<'a, T> Watched<'a, T> {
    /// Watches as long as it lives; to be held until the call has returned.
    pub fn new(target: &'a T, events: &'a EventQueue) -> Self {
        Self { target, events }
    }
}

impl<T> Deref for Watched<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.target
    }
}

impl<T> Drop for Watched<'_, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            let thread = thread::current().name().unwrap_or("of the caller").to_owned();
            let reason = "panic in a call, its message is on standard error".to_owned();
            self.events.push(Event::ThreadFailed { thread, reason });
        }
    }
}

/// What a panic says.
pub fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

#[cfg(test)]
mod tests;
