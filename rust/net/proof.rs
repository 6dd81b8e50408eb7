//! Which connections may act as a broker: decided when a connection is accepted, and again when its client proves who
//! it is.
//!
//! A connection may fetch as a follower and send inter-broker requests when it was accepted on
//! `inter.broker.listener.name` and
//! A. brokers have nothing to prove there, or their secret is not required yet; or
//! B. `SaslHandshake` and two `SaslAuthenticate` have proven that its client knows the secret, and to the client that
//!    we do; or
//! C. each client of the listener proves who it is, by SASL or by its certificate, and it is the user that this broker
//!    is to others, or a super user. No ACL makes a client a broker.
//! All other requests on that listener are served as on any other listener. A broker that is alone, without a metadata
//! store that others share, gives itself its orders without a connection: no client of it is a broker.
//!
//! A handshake for the secret is answered with `ILLEGAL_SASL_STATE` when there is no secret; a wrong mechanism or a
//! failed proof closes the connection. The verifier is made once: an attempt costs a few hashes, not 4096.

use std::collections::HashSet;
use std::io;

use broker::Options;
use client::random;
use protocol::scram::server::{ScramCredential, ScramExchange, ScramMechanism};

/// The principals that are brokers in case C: `User:kafka`.
pub type BrokerUsers = HashSet<String>;

/// The broker's side of the proof, on the listener of the brokers.
pub struct Proof {
    listener: String,
    by: BrokerTest,
}

/// What tells a broker from a client.
enum BrokerTest {
    /// There is no other broker: every client is a client.
    NoBrokers,
    /// Nothing: case A.
    Nothing,
    /// Case B; case A while it is not required.
    Secret {
        verifier: ScramCredential,
        is_required: bool,
    },
    /// Case C.
    Principal(BrokerUsers),
}

/// How far a connection is with its proof.
#[derive(Default)]
pub enum ProofStage {
    /// No handshake was sent, or the proof is done.
    #[default]
    Idle,
    /// The mechanism was agreed on.
    Agreed,
    /// The client has to answer the server's first message.
    Challenged(Box<ScramExchange>),
}

impl Proof {
    /// From this broker's configuration. `users`: who is a broker, where each client of the listener proves who it is.
    pub fn new(options: &Options, users: Option<BrokerUsers>) -> io::Result<Self> {
        let by = match (users, &options.inter_broker_secret) {
            (Some(users), _) => BrokerTest::Principal(users),
            (None, Some(secret)) => BrokerTest::Secret {
                verifier: ScramCredential::of_password(ScramMechanism::Sha256, secret.expose(), random()?.to_vec()),
                is_required: options.is_inter_broker_secret_required,
            },
            (None, None) if options.is_alone => BrokerTest::NoBrokers,
            (None, None) => BrokerTest::Nothing,
        };
        Ok(Self {
            listener: options.inter_broker_listener.clone(),
            by,
        })
    }

    /// Whether a client of this listener may act as a broker before it has proven anything more than its principal;
    /// `None` stands for a client that has to prove it first.
    pub fn trusts(&self, listener: &str, principal: Option<&str>) -> bool {
        listener == self.listener
            && match &self.by {
                BrokerTest::NoBrokers => false,
                BrokerTest::Nothing => true,
                BrokerTest::Secret { is_required, .. } => !is_required,
                BrokerTest::Principal(users) => principal.is_some_and(|principal| users.contains(principal)),
            }
    }

    /// Whether brokers have something to prove.
    pub fn is_asked_for(&self) -> bool {
        !matches!(self.by, BrokerTest::NoBrokers | BrokerTest::Nothing)
    }

    /// What tells a client of this listener that knows the secret: case B.
    pub fn verifier_for(&self, listener: &str) -> Option<&ScramCredential> {
        match &self.by {
            BrokerTest::Secret { verifier, .. } if *listener == *self.listener => Some(verifier),
            _ => None,
        }
    }
}
