//! Every message in every version: what is written is read again, and bytes that are wrong are refused.

mod limits;
pub mod random;
mod round_trip;
mod stubs;
mod table;
