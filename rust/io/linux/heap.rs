//! Returning freed memory to the operating system, and the pages that large memory is made of.
//!
//! The allocator keeps freed memory for later requests. After one large request that can be hundreds of megabytes for
//! good: one used block above them is enough. So a caller that knows that the broker is idle calls [`give_back`].
//!
//! Never decides when to return memory. Where the C library is not glibc, these functions do nothing.

use std::io;

/// Bytes of this process in memory that belong to no file.
pub fn resident_bytes() -> io::Result<u64> {
    let line = std::fs::read_to_string("/proc/self/statm")?;
    let mut pages = line.split_ascii_whitespace().skip(1).map(str::parse::<u64>);
    match (pages.next(), pages.next()) {
        (Some(Ok(resident)), Some(Ok(of_files))) => Ok(resident.saturating_sub(of_files) * page_bytes()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, line)),
    }
}

#[expect(unsafe_code, reason = "a system call that no safe wrapper has")]
fn page_bytes() -> u64 {
    // SAFETY: it reads a constant of the system and touches no memory of ours.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// From now on, freed large blocks go back to the system. Otherwise the allocator keeps large blocks once the first of
/// them is freed, and requests of a megabyte that another thread frees leave holes of hundreds of megabytes.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "a call of the C library that no safe wrapper has")]
pub fn keep_no_large_blocks() {
    const LARGE: libc::c_int = 256 << 10;
    const KEPT_AT_THE_END: libc::c_int = 2 << 20;
    // SAFETY: it may be called at any time; blocks in use stay as they are.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_AT_THE_END);
    }
}

/// Does nothing: only glibc keeps large blocks.
#[cfg(not(target_env = "gnu"))]
pub fn keep_no_large_blocks() {}

/// Returns every free page to the system. Another thread that allocates waits meanwhile: some milliseconds for 100 MB.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "a call of the C library that no safe wrapper has")]
pub fn give_back() {
    // SAFETY: it may be called at any time from any thread; blocks in use stay where they are.
    unsafe { libc::malloc_trim(0) };
}

/// Gives back every page that holds nothing.
#[cfg(not(target_env = "gnu"))]
pub fn give_back() {}

/// Asks for large pages behind memory that is read at random: else nearly every read waits for the address of its page,
/// too. Only the part of the vector that is not used yet counts, from a large page's first byte on.
#[expect(unsafe_code, reason = "a system call that no safe wrapper has")]
pub fn prefer_large_pages<T>(memory: &mut Vec<T>) {
    const LARGE_PAGE: usize = 2 << 20;
    let spare = memory.spare_capacity_mut();
    let (bytes, start) = (size_of_val(spare), spare.as_mut_ptr().cast::<u8>());
    let skipped = start.align_offset(LARGE_PAGE);
    let whole = bytes.saturating_sub(skipped) / LARGE_PAGE * LARGE_PAGE;
    if whole > 0 {
        // SAFETY: the range is memory of the vector, and the advice changes nothing that it holds. A system that cannot
        // follow the advice gives small pages.
        unsafe { libc::madvise(start.add(skipped).cast(), whole, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(test)]
#[path = "heap_tests.rs"]
mod tests;
