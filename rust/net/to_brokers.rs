//! How this broker reaches other brokers: TLS, and what proves who it is. Set once before the first connection;
//! certificates may be renewed. Holds no connection.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;

use client::tls::outgoing::OutgoingTls;
use client::{Login, Security};

/// See the module. What is not set is not used: no TLS, no proof.
#[derive(Default)]
pub struct ToBrokers {
    /// TLS of new connections.
    pub tls: OnceLock<Arc<ArcSwap<OutgoingTls>>>,
    /// What proves who this broker is.
    pub login: OnceLock<Arc<Login>>,
}

impl ToBrokers {
    /// Of the next connection.
    pub fn security(&self) -> Security {
        Security {
            tls: self.tls.get().map(|tls| tls.load_full()),
            login: self.login.get().cloned(),
        }
    }
}
