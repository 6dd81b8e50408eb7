//! Accepting connections: the sockets that listen, and the pauses between.

use std::io;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use mio::{Interest, Registry, Token};

use super::limits::RejectedConnections;
use super::network::Network;
use super::socket_options::SocketOptions;
use base::error::shortage::is_out_of_descriptors;
use broker::Admission;

/// The first listener's token.
pub const FIRST_LISTENER: usize = 1;

/// Connections that a turn of the loop accepts from one listener: a few milliseconds.
const ACCEPTED_A_TURN: usize = 128;

/// How long accepting pauses when there is no file descriptor for another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often that is logged at most.
const LOG_AGAIN: Duration = Duration::from_mins(1);

/// Files closed when the system has no free descriptor although the budget has.
const FREED: usize = 32;

/// The accepting side, owned by the first loop.
pub struct Acceptor {
    listeners: Vec<mio::net::TcpListener>,
    /// When accepting goes on: after a pause, or in the next turn.
    resume_at: Option<Instant>,
    /// Until when each listener accepts nothing, since connections came faster than its rate.
    paused: Vec<Option<Instant>>,
    turned_away: RejectedConnections,
    /// When a pause was last logged.
    logged_at: Option<Instant>,
    options: SocketOptions,
}

impl Acceptor {
    /// Watches these sockets by `registry`.
    pub fn new(sockets: Vec<TcpListener>, registry: &Registry, mut options: SocketOptions) -> io::Result<Self> {
        let mut listeners = Vec::new();
        for (i, socket) in sockets.into_iter().enumerate() {
            options.prepare(&socket);
            let mut socket = mio::net::TcpListener::from_std(socket);
            registry.register(&mut socket, Token(FIRST_LISTENER + i), Interest::READABLE)?;
            listeners.push(socket);
        }
        Ok(Self {
            resume_at: None,
            paused: vec![None; listeners.len()],
            listeners,
            turned_away: RejectedConnections::default(),
            logged_at: None,
            options,
        })
    }

    /// See [`Self::retry`].
    pub fn retry_at(&self) -> Option<Instant> {
        let paused = self.paused.iter().copied().flatten().min();
        [self.resume_at, paused, self.turned_away.next()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Goes on accepting when the pause is over, and closes connections that were turned away.
    pub fn retry(&mut self, now: Instant, network: &Network) {
        for _ in 0..self.turned_away.close_due(now) {
            network.give_back_descriptor();
        }
        for listener in 0..self.listeners.len() {
            if self.paused[listener].is_some_and(|at| at <= now) {
                self.paused[listener] = None;
                self.accept(listener, network);
            }
        }
        if self.resume_at.is_some_and(|at| at <= now) {
            self.resume_at = None;
            for listener in 0..self.listeners.len() {
                self.accept(listener, network);
            }
        }
    }

    /// Accepts connections that wait on a listener: [`ACCEPTED_A_TURN`] now, the others in the next turn of the loop.
    pub fn accept(&mut self, listener: usize, network: &Network) {
        for _ in 0..ACCEPTED_A_TURN {
            let Some(from) = self.listeners.get(listener).filter(|_| self.paused[listener].is_none()) else {
                return;
            };
            if !network.take_descriptor(listener) {
                return self.pause(network, None);
            }
            let accepted = from.accept();
            if accepted.is_err() {
                network.give_back_descriptor();
            }
            match accepted {
                Ok((socket, peer)) => {
                    let (ip, now) = (peer.ip().to_canonical(), Instant::now());
                    match network.admit(ip, listener, now) {
                        Some(Admission::Served(pause)) => {
                            network.note_open();
                            self.options.apply(&socket, socket.local_addr().ok(), peer);
                            network.hand_over(socket.into(), ip, listener);
                            self.paused[listener] = (!pause.is_zero()).then_some(now + pause);
                        }
                        Some(Admission::Closed(after)) if self.turned_away.has_room() => {
                            self.turned_away.push(socket, now + after);
                        }
                        Some(Admission::Closed(_)) | None => network.give_back_descriptor(),
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == io::ErrorKind::Interrupted || e.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(e) => {
                    if let Some(descriptors) = network.descriptors().filter(|_| is_out_of_descriptors(&e)) {
                        descriptors.close_idle(FREED);
                    }
                    return self.pause(network, Some(&e));
                }
            }
        }
        self.resume_at = Some(Instant::now());
    }

    /// Pauses accepting; new connections meanwhile wait in the backlog of the listener.
    fn pause(&mut self, network: &Network, error: Option<&io::Error>) {
        let now = Instant::now();
        self.resume_at = Some(now + ACCEPT_PAUSE);
        if self.logged_at.is_some_and(|at| now.duration_since(at) < LOG_AGAIN) {
            return;
        }
        self.logged_at = Some(now);
        let (open, limit) = (
            network.open_connections(),
            network.descriptors().map_or(0, |it| it.limit()),
        );
        network.broker.log(&match error {
            Some(error) => format!("accepting connections pauses, {open} are open: {error}"),
            None => format!(
                "accepting connections pauses until some are closed: {open} are open, as many as the limit of {limit} \
                 descriptors has room for beside files; raise it (ulimit -n, or LimitNOFILE= of systemd)"
            ),
        });
    }
}
