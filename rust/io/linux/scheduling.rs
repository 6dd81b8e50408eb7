//! The length of a thread's turn on the processor.
//!
//! Since Linux 6.12 a thread of the fair scheduler may ask for shorter turns than the default 3 ms. It gets no more of
//! the processor, but waits less for it: a network loop beside busy threads answers within its own turn's length rather
//! than theirs. On older kernels, and where it is not allowed, nothing changes.

use std::io;

/// Bytes of the kernel's `sched_attr`, version 1.
const ATTR_BYTES: u32 = 56;

/// The kernel's `struct sched_attr`.
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
    util_min: u32,
    util_max: u32,
}

/// Asks for turns of this length for the calling thread; policy and nice value stay.
#[expect(unsafe_code, reason = "two system calls that no safe wrapper has")]
pub fn ask_for_turns_of(nanoseconds: u64) -> io::Result<()> {
    let mut attr = SchedAttr::default();
    // SAFETY: pid 0 is this thread, and the kernel writes at most ATTR_BYTES, the size of `attr`.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attr, ATTR_BYTES, 0) };
    if got != 0 {
        return Err(io::Error::last_os_error());
    }
    attr.size = ATTR_BYTES;
    attr.runtime_ns = nanoseconds;
    // SAFETY: the kernel reads `attr.size` bytes of `attr`, which is as large.
    let set = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) };
    if set == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
#[path = "scheduling_tests.rs"]
mod tests;
