//! One partition's log: segments of record batches with their indexes, and the state files beside them.
//!
//! Knows files, not clusters: no leases, high watermarks are passed in, nothing here opens a socket.

pub mod config;
pub mod format;

pub use config::{Compression, LogConfig};
