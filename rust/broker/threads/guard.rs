//! Reports failures to the control plane: [`guarded`] reports a thread that a panic or an error ended, and [`Watched`]
//! reports a panic in a call from outside.
//!
//! A panic unwinds one thread only, and requests that wait for that thread would wait for ever. So every thread of the
//! data plane runs within a guard; on [`Event::ThreadFailed`] the control plane ends the process (as Kafka's
//! `Exit.halt` does). This module never ends the process: the program that embeds the engine decides.

use std::any::Any;
use std::io;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::threads::events::{Event, EventQueue};

/// Runs a thread's work; a panic or an error in it becomes one [`Event::ThreadFailed`].
pub fn guarded(events: &EventQueue, work: impl FnOnce() -> io::Result<()>) {
    // Unwind safety: the panic may leave state half done, but the process is to end soon.
    let reason = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(panic) => format!("panic: {}", message_of(&*panic)),
    };
    let thread = thread::current().name().unwrap_or_default().to_owned();
    events.push(Event::ThreadFailed { thread, reason });
}

/// A part of the engine during one call from outside. A panic in the call unwinds into the caller, which may not handle
/// it, and leaves state half done, as a panic in a thread of the engine does. So it becomes one [`Event::ThreadFailed`]
/// too.
pub struct Watched<'a, T> {
    target: &'a T,
    events: &'a EventQueue,
}

impl<'a, T> Watched<'a, T> {
    /// Watches until it is dropped; hold it until the call has returned.
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

/// The message of a panic.
pub fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
