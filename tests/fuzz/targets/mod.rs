//! The fuzz targets: each is a function of bytes that nobody should send or write, and panics when the crate breaks a
//! promise about such bytes. docs/internals/fuzzing.md says what each asserts.
//!
//! The smoke in `tests/fuzz/main.rs` and cargo-fuzz in `fuzz/target.rs` call the same functions. A target knows no
//! fuzzer, keeps nothing between two calls but caches, and gives the same result for the same bytes.

mod acls;
mod batches;
mod codecs;
mod fetch;
mod frames;
mod indexes;
mod legacy;
mod messages;
mod produce;
mod proofs;
mod requests;
mod state_files;
mod take;
mod tls;
mod topic_records;

/// A target.
pub type Target = fn(&[u8]);

/// Every target, by name.
pub const TARGETS: [(&str, Target); 21] = [
    ("acls", acls::acls),
    ("batches", batches::batches),
    ("bearer", proofs::bearer),
    ("checkpoints", state_files::checkpoints),
    ("fetch", fetch::fetch),
    ("fetch_response", fetch::fetch_response),
    ("frames", frames::frames),
    ("gzip", codecs::gzip),
    ("headers", frames::headers),
    ("indexes", indexes::indexes),
    ("legacy", legacy::legacy),
    ("lz4", codecs::lz4),
    ("messages", messages::messages),
    ("produce", produce::produce),
    ("requests", requests::requests),
    ("sasl", proofs::sasl),
    ("scram", proofs::scram),
    ("snappy", codecs::snappy),
    ("tls", tls::tls),
    ("topic_records", topic_records::topic_records),
    ("zstd", codecs::zstd),
];

/// The target of this name.
pub fn named(name: &str) -> Target {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.map_or_else(|| panic!("no target has the name {name}"), |(_, target)| *target)
}
