//! The table's codec against bytes that another codec made (`tests/fixtures/wire`), in both directions; what is read by
//! hand against bytes that nobody should send. What is read and written by hand is compared with the table's codec in
//! `rust/protocol/by_hand`.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its fixture has to stop")]

mod fixtures;
mod mutations;
mod table;
