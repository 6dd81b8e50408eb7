//! The data plane as a whole, without Python: a started broker, its network loops, and clients that talk raw TCP.
//!
//! `fixture` starts a broker on temporary directories and does what the control plane would do (APIs, image, leases);
//! `client` frames requests and reads answers; every other file is one theme. Nothing sleeps: tests wait on sockets and
//! on conditions with a limit.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod budgets;
mod client;
mod corruption;
mod durability;
mod fetch;
mod fixture;
mod frames;
mod held_sync;
mod lifecycle;
mod pipelining;
mod produce;
mod quotas;
mod replication;
mod requests;
mod responses;
mod sessions;
mod thunder;
mod transactions;
mod waiting;
