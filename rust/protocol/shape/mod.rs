//! Checks a request body against the shape of its version before a general decoder sees it.
//!
//! The control plane decodes with a library that allocates by declared counts (one array length of five bytes can abort
//! the process) and that raises on tagged fields it does not know. A [`Shape`] is compiled once at start from that
//! library's own schema; [`Shape::sanitize`] then proves that every length and count of a body fits the bytes that
//! follow, and drops the tagged fields that the decoder does not know. Values are not interpreted further, and the body
//! is copied only when it must be changed.

mod program;
mod walk;

pub use program::Shape;
pub use walk::{MAX_TIMEDELTA_MS, MIN_TIMEDELTA_MS};

#[cfg(test)]
mod tests;
