//! How this broker reaches other brokers: TLS, and what proves who it is. Set once before the first connection;
//! certificates may be renewed. Holds no connection.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;

use super::login::Login;
use super::tls::outgoing::OutgoingTls;

/// See the module. What is not set is not used: no TLS, no proof.
#[derive(Default)]
pub struct ToBrokers {
    /// TLS of new connections.
    pub tls: OnceLock<Arc<ArcSwap<OutgoingTls>>>,
    /// What proves who this broker is.
    pub login: OnceLock<Arc<Login>>,
}
