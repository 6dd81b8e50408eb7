//! What clients and other brokers ask: one module for each API, and what they share.

pub mod adopt_segments;
pub mod api;
pub mod authorization;
pub mod budget;
pub mod caller;
pub mod fetch;
pub mod fetch_session;
pub mod list_offsets;
pub mod metadata;
pub mod produce;
pub mod quotas;
pub mod verifier;
pub mod waiters;
