//! A request's body that is kept while the request is served elsewhere than in its loop.

use std::sync::Arc;

use broker::{Budget, Charge};

/// A request's body, in the buffer in which it was received.
pub struct RequestBody {
    bytes: Vec<u8>,
    at: usize,
    charge: Option<Charge>,
}

impl RequestBody {
    /// The body that begins at position `at` of `bytes`.
    pub fn new(bytes: Vec<u8>, at: usize) -> Self {
        Self {
            bytes,
            at,
            charge: None,
        }
    }

    /// Counts the body in the budget `queued`.
    pub fn charge(&mut self, queued: &Arc<Budget>) {
        let mut charge = queued.account();
        charge.set(self.bytes.capacity());
        self.charge = Some(charge);
    }

    /// The body alone.
    pub fn into_vec(mut self) -> Vec<u8> {
        self.bytes.drain(..self.at.min(self.bytes.len()));
        self.bytes
    }

    /// The body.
    pub fn get(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The body, to be patched in place.
    pub fn get_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.at..).unwrap_or_default()
    }
}
