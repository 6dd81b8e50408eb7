use super::*;

#[test]
fn the_structure_is_as_large_as_the_kernels() {
    assert_eq!(size_of::<SchedAttr>(), ATTR_BYTES as usize);
}

#[test]
fn a_thread_may_ask_and_keeps_its_policy() {
    let asked = std::thread::spawn(|| ask_for_turns_of(500_000)).join().unwrap();
    // A kernel or a sandbox may refuse; what it must not do is to take the request for another one.
    if let Err(error) = asked {
        let refusals = [libc::EPERM, libc::EINVAL, libc::ENOSYS];
        assert!(refusals.contains(&error.raw_os_error().unwrap_or(0)), "{error}");
    }
}
