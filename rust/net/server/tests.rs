//! Binding listeners.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use super::bind_each;

fn loopback(last: u8, port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), port)
}

#[test]
fn every_address_of_a_name_is_bound_once_and_to_one_port() {
    let sockets = bind_each(&[loopback(1, 0), loopback(2, 0), loopback(1, 0)]).unwrap();
    let bound: Vec<_> = sockets.iter().map(|s| s.local_addr().unwrap()).collect();
    let port = bound[0].port();
    assert_ne!(port, 0);
    assert_eq!(bound, [loopback(1, port), loopback(2, port)]);
}

#[test]
fn an_address_that_this_machine_lacks_is_left_out_unless_it_is_the_only_one() {
    let elsewhere = SocketAddr::from(([192, 0, 2, 1], 0)); // TEST-NET-1: nobody has it
    assert_eq!(bind_each(&[elsewhere, loopback(1, 0)]).unwrap().len(), 1);
    assert_eq!(bind_each(&[elsewhere]).unwrap_err().kind(), ErrorKind::AddrNotAvailable);
}

#[test]
fn a_port_in_use_on_one_address_of_a_name_fails_the_listener() {
    let other = TcpListener::bind(loopback(2, 0)).unwrap();
    let port = other.local_addr().unwrap().port();
    assert_eq!(
        bind_each(&[loopback(1, port), loopback(2, port)]).unwrap_err().kind(),
        ErrorKind::AddrInUse
    );
}
