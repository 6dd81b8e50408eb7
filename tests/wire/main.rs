//! The wire codecs against bytes that another codec made (`tests/fixtures/wire`), in both directions, and against bytes
//! that nobody should send.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its fixture has to stop")]

mod api_versions;
mod fetch;
mod fixtures;
mod list_offsets;
mod metadata;
mod mutations;
mod produce;
mod table;
mod transactions;
