//! The memory of this process on macOS. Its allocator returns freed memory by itself, and chooses the pages.

use std::io;

/// Bytes of this process in memory that belong to no file, those that the system has compressed among them.
#[expect(unsafe_code, reason = "a call of the system that no safe wrapper has")]
pub fn resident_bytes() -> io::Result<u64> {
    // SAFETY: a structure of integers, of which zero is a value.
    let mut usage: libc::rusage_info_v2 = unsafe { std::mem::zeroed() };
    // SAFETY: the pid is this process's, and the system writes a `rusage_info_v2`, as the flavor says.
    let told = unsafe { libc::proc_pid_rusage(libc::getpid(), libc::RUSAGE_INFO_V2, (&raw mut usage).cast()) };
    if told != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(usage.ri_phys_footprint)
}

/// Does nothing: the allocator keeps no large blocks.
pub fn keep_no_large_blocks() {}

/// Does nothing: the allocator returns free pages.
pub fn give_back() {}

/// Does nothing: no advice asks for large pages.
pub fn prefer_large_pages<T>(_memory: &mut Vec<T>) {}
