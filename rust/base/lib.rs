//! What every crate here knows: [`place`], where something stands in a partition, and [`error`], Kafka's error codes
//! and the engine's one error.

#![forbid(unsafe_code)]

pub mod error;
pub mod place;
