use super::*;

fn ip(last: u8) -> IpAddr {
    IpAddr::from([127, 0, 0, last])
}

#[test]
fn all_connections_together_are_limited() {
    let limits = ConnectionLimits::new(2, usize::MAX);
    assert!(limits.admit(ip(1)) && limits.admit(ip(2)));
    assert!(!limits.admit(ip(3)));
    assert_eq!(limits.open(), 2, "a refused one is not counted");
    limits.release(ip(1));
    assert!(limits.admit(ip(3)));
}

#[test]
fn each_address_is_limited_by_itself() {
    let limits = ConnectionLimits::new(usize::MAX, 1);
    assert!(limits.admit(ip(1)) && limits.admit(ip(2)));
    assert!(!limits.admit(ip(1)));
    limits.release(ip(2));
    assert!(!limits.admit(ip(1)));
    limits.release(ip(1));
    assert!(limits.admit(ip(1)));
}

#[test]
fn an_address_without_connections_takes_no_memory() {
    let limits = ConnectionLimits::new(10, 10);
    assert!(limits.admit(ip(1)));
    limits.release(ip(1));
    limits.release(ip(1));
    assert_eq!((limits.open(), limits.counts.lock().by_ip.len()), (0, 0));
}
