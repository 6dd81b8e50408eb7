//! What every crate here knows: [`place`], where something stands in a partition, and [`error`], Kafka's error codes
//! and the engine's one error; [`system`], what Linux and macOS call differently, files left out.

#![forbid(unsafe_code)]

pub mod error;
pub mod place;

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "macos.rs")]
pub mod system;

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!("kafkastore runs on Linux and macOS; elsewhere take its container image (docs/packages.md)");
