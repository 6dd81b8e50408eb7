use std::net::{TcpListener, TcpStream};

use super::*;

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn connect(listener: &TcpListener) -> (TcpStream, TcpStream, SocketAddr) {
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (socket, peer) = listener.accept().unwrap();
    (socket, client, peer)
}

fn accepted() -> (TcpStream, TcpStream, SocketAddr) {
    connect(&TcpListener::bind("127.0.0.1:0").unwrap())
}

#[cfg(target_os = "linux")]
fn prepared() -> (SocketOptions, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut options = SocketOptions::new(&Options::default());
    options.prepare(&listener);
    (options, listener)
}

#[cfg(target_os = "linux")] // macOS has one congestion control
#[test]
fn a_client_of_this_host_is_sent_to_without_pacing_from_its_first_moment() {
    let (options, listener) = prepared();
    let (socket, _client, peer) = connect(&listener);
    let control = || sockopt::tcp_congestion(&socket).unwrap();
    assert_eq!(control(), PLAIN_CONGESTION_CONTROL); // what once paced goes on pacing, so before anything is applied
    options.apply(&socket, socket.local_addr().ok(), peer);
    assert_eq!(control(), PLAIN_CONGESTION_CONTROL);
    assert!(sockopt::tcp_nodelay(&socket).unwrap());
}

#[cfg(target_os = "linux")] // macOS has one congestion control
#[test]
fn a_client_elsewhere_gets_the_systems_congestion_control_back() {
    let (unprepared, _other, _) = accepted();
    let systems = sockopt::tcp_congestion(&unprepared).unwrap();
    let (options, listener) = prepared();
    let (socket, _client, _) = connect(&listener);
    options.apply(&socket, socket.local_addr().ok(), address("192.0.2.7:40000"));
    assert_eq!(sockopt::tcp_congestion(&socket).unwrap(), systems);
}

#[test]
fn this_host_is_known_by_loopback_and_by_its_own_address() {
    let ours = Some(address("10.0.0.5:9092"));
    assert!(is_this_host(ours, address("127.0.0.1:40000")));
    assert!(is_this_host(ours, address("[::ffff:127.0.0.1]:40000")));
    assert!(is_this_host(ours, address("[::1]:40000")));
    assert!(is_this_host(ours, address("10.0.0.5:40000")));
    assert!(is_this_host(
        Some(address("[::ffff:10.0.0.5]:9092")),
        address("10.0.0.5:40000")
    ));
    assert!(!is_this_host(ours, address("10.0.0.6:40000")));
    assert!(!is_this_host(None, address("10.0.0.5:40000")));
}

#[test]
fn buffers_are_set_only_where_the_configuration_differs_from_kafkas_default() {
    let (socket, _client, peer) = accepted();
    let before = sockopt::socket_send_buffer_size(&socket).unwrap();
    SocketOptions::new(&Options::default()).apply(&socket, None, peer);
    assert_eq!(sockopt::socket_send_buffer_size(&socket).unwrap(), before);
    let options = Options {
        socket_send_buffer_bytes: 65_536,
        ..Options::default()
    };
    SocketOptions::new(&options).apply(&socket, None, peer);
    assert_eq!(sockopt::socket_send_buffer_size(&socket).unwrap(), 2 * 65_536); // the kernel doubles it for its own use
}
