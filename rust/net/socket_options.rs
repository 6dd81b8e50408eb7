//! The options that are set on each listener and on each accepted socket.
//!
//! A client on this very host gets plain congestion control: on loopback there is no congestion, and a congestion
//! control that paces (BBR) arms a timer for every segment, which on loopback costs three times the processor time of
//! sending. It must be set before the connection begins: a socket that began with BBR is paced for ever, whatever
//! congestion control is set later. So the listener is set to plain congestion control, which its sockets inherit, and
//! sockets of clients on other hosts are set back to the system's. Setting options never fails: an option that cannot
//! be set leaves a slower socket, not a broken one.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use rustix::net::sockopt;

use super::system::{congestion_control, raise_no_signal, set_congestion_control};
use broker::Options;

/// Kafka's default of `socket.send.buffer.bytes` and `socket.receive.buffer.bytes`; with this value the system's own
/// sizing, which is never worse without pacing, is left alone.
const DEFAULT_SOCKET_BUFFER_BYTES: i64 = 102_400;
/// Congestion control that does not pace; every Linux kernel has it and lets anyone choose it.
const PLAIN_CONGESTION_CONTROL: &str = "reno";

/// See the module.
pub struct SocketOptions {
    send_buffer: Option<usize>,
    receive_buffer: Option<usize>,
    systems_control: Option<String>,
}

impl SocketOptions {
    /// As configured.
    pub fn new(options: &Options) -> Self {
        let buffer = |bytes: i64| {
            (bytes != DEFAULT_SOCKET_BUFFER_BYTES)
                .then(|| usize::try_from(bytes).ok())
                .flatten()
        };
        Self {
            send_buffer: buffer(options.socket_send_buffer_bytes),
            receive_buffer: buffer(options.socket_receive_buffer_bytes),
            systems_control: None,
        }
    }

    /// Sets plain congestion control on `listener`, which its accepted sockets inherit, and notes the system's own.
    pub fn prepare(&mut self, listener: impl AsFd) {
        let listener = listener.as_fd();
        self.systems_control = congestion_control(listener).ok();
        let _ = set_congestion_control(listener, PLAIN_CONGESTION_CONTROL);
    }

    /// Sets the options on the socket between `local` and `peer`, which a prepared listener accepted.
    pub fn apply(&self, socket: impl AsFd, local: Option<SocketAddr>, peer: SocketAddr) {
        let socket = socket.as_fd();
        raise_no_signal(socket);
        let _ = sockopt::set_tcp_nodelay(socket, true);
        let _ = sockopt::set_socket_keepalive(socket, true);
        if let Some(control) = &self.systems_control
            && !is_this_host(local, peer)
        {
            let _ = set_congestion_control(socket, control);
        }
        if let Some(bytes) = self.send_buffer {
            let _ = sockopt::set_socket_send_buffer_size(socket, bytes);
        }
        if let Some(bytes) = self.receive_buffer {
            let _ = sockopt::set_socket_recv_buffer_size(socket, bytes);
        }
    }
}

/// Whether both ends of a connection are on this host.
fn is_this_host(local: Option<SocketAddr>, peer: SocketAddr) -> bool {
    let peer = peer.ip().to_canonical();
    peer.is_loopback() || local.is_some_and(|local| local.ip().to_canonical() == peer)
}

#[cfg(test)]
#[path = "socket_options_tests.rs"]
mod tests;
