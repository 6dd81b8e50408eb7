//! kafkastore: the storage engine and the data plane of a Kafka broker.
//!
//! The map, in the order of imports (each may use only what stands before it): `place` → `error` → `client` → `io` →
//! `record` → `index` → `storage` → `values`, `load` → `scan` → `spark` → `wire` → `producer`, `broker` → `coordinator`
//! → `net` → `py` and `jni`. Python decides and publishes; this crate executes and reports. It never holds policy.

pub mod broker;
pub mod client;
pub mod coordinator;
pub mod error;
pub mod index;
pub mod io;
#[cfg(feature = "jni")]
mod jni;
pub mod load;
pub mod net;
pub mod place;
pub mod producer;
#[cfg(feature = "python")]
pub mod py;
pub mod record;
pub mod scan;
pub mod spark;
pub mod storage;
pub mod values;
pub mod wire;
