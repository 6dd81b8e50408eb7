//! A network loop that does not run, for unit tests of what it does.

use super::*;

/// The only loop of a network without listeners.
pub fn reactor(broker: &Arc<Broker>) -> Reactor {
    let poll = Poll::new().unwrap();
    let mailbox = Mailbox::new(0, Waker::new(poll.registry(), WAKER).unwrap());
    let options = broker.options();
    let shared = Shared {
        broker: Arc::clone(broker),
        max_frame_bytes: options.socket_request_max_bytes,
        max_idle: options.connections_max_idle,
        next_connection_id: AtomicU64::new(1),
        proof: Proof::new(&options, None).unwrap(),
        limits: ConnectionLimits::new(0),
        descriptors: None,
        listeners: Vec::new(),
        tls: Vec::new(),
        handshakes: None,
        sasl: Vec::new(),
        credentials: Arc::default(),
        refusals: Refusals::default(),
        mailboxes: vec![Arc::clone(&mailbox)],
        spread: Spread::new(1, 1),
    };
    Reactor::new(Arc::new(shared), mailbox, poll, None, 1)
}
