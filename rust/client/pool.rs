//! Connections between two questions, kept for the next question to the same server by the same login: to connect
//! takes a handshake of TLS and a login, a hundred times what a question takes.
//!
//! A connection that the broker has closed meanwhile is not given out. One that is not used for [`MAX_IDLE`] is closed,
//! by a thread that ends with the last of them. Never: gives a connection to two callers, or to a process that was
//! forked off.

use std::sync::{Arc, LazyLock, Weak};
use std::time::{Duration, Instant};
use std::{process, thread};

use parking_lot::Mutex;

use crate::connection::Connection;
use crate::security::Security;
use crate::servers::Server;

/// Below `connections.max.idle.ms` of brokers, which is ten minutes.
const MAX_IDLE: Duration = Duration::from_mins(1);
/// More than an executor has tasks that read.
const MAX_CONNECTIONS: usize = 256;

struct Idle {
    connection: Connection,
    since: Instant,
    process: u32,
}

#[derive(Default)]
struct Kept {
    idle: Vec<Idle>,
    /// The process that has a thread which closes them.
    closer: Option<u32>,
}

impl Kept {
    fn close_old(&mut self) {
        let (now, process) = (Instant::now(), process::id());
        self.idle
            .retain(|one| one.process == process && now.duration_since(one.since) < MAX_IDLE);
    }
}

/// See the module.
#[derive(Default)]
pub struct Pool(Mutex<Kept>);

static SHARED: LazyLock<Arc<Pool>> = LazyLock::new(Arc::default);

impl Pool {
    /// The pool of all tasks of this process.
    pub fn shared() -> Arc<Self> {
        Arc::clone(&SHARED)
    }

    /// A connection whose every request has its answer; it waits for `timeout` from now on.
    pub fn take(&self, server: &Server, client_id: &str, security: &Security, timeout: Duration) -> Option<Connection> {
        let kept = &mut *self.0.lock();
        kept.close_old();
        let idle = &mut kept.idle;
        while let Some(at) = idle
            .iter()
            .rposition(|one| one.connection.is_to(server, client_id, security))
        {
            let mut connection = idle.remove(at).connection;
            if connection.is_quiet() && connection.set_timeout(timeout).is_ok() {
                return Some(connection);
            }
        }
        None
    }

    /// Keeps a connection, if every request has its answer.
    pub fn give(self: &Arc<Self>, connection: Connection) {
        if !connection.is_answered() {
            return;
        }
        let mut kept = self.0.lock();
        if kept.idle.len() >= MAX_CONNECTIONS {
            kept.idle.remove(0);
        }
        let process = process::id();
        kept.idle.push(Idle {
            connection,
            since: Instant::now(),
            process,
        });
        if kept.closer != Some(process) {
            let pool = Arc::downgrade(self);
            let begun = thread::Builder::new().name("kafkastore-idle".to_owned());
            // without a thread the next question closes what is old
            kept.closer = begun.spawn(move || close_idle(&pool)).ok().map(|_| process);
        }
    }
}

fn close_idle(pool: &Weak<Pool>) {
    loop {
        thread::sleep(MAX_IDLE);
        let Some(pool) = pool.upgrade() else {
            return;
        };
        let mut kept = pool.0.lock();
        kept.close_old();
        if kept.idle.is_empty() {
            kept.closer = None;
            return;
        }
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
